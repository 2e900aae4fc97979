"""`weft vocab`: a vocabulary of word pieces, learned from texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from weft.corpus.vocabulary_stats import TokenCounts
    from weft.tokenization.tokenizer import Tokenizer


def vocab(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to make; without FILE, the folder that --show reads.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Texts: .txt (one per line), .csv, .tsv, .jsonl, .parquet; or a folder."),
    ] = None,
    kind: Annotated[
        Literal["wordpiece", "bpe", "unigram"],
        typer.Option(help="BERT's pieces, byte pairs (no character is unknown), or the likeliest pieces."),
    ] = "wordpiece",
    criterion: Annotated[
        Literal["count", "likelihood"],
        typer.Option(help="Of wordpiece: join two pieces that meet most often, or that make the texts likeliest."),
    ] = "count",
    size: Annotated[
        int, typer.Option(min=6, help="Pieces at most, of which 5 are special tokens and others single characters.")
    ] = 30_000,
    min_frequency: Annotated[
        int, typer.Option(min=1, help="Two pieces are joined where they meet this often; with unigram always 2.")
    ] = 2,
    lowercase: Annotated[bool, typer.Option("--lowercase/--cased", help="Read all letters as small ones.")] = True,
    accents: Annotated[
        bool | None,
        typer.Option("--accents/--no-accents", help="Keep accents or strip them; kept only if --cased by default."),
    ] = None,
    column: Annotated[str, typer.Option(help="Column that holds the text.")] = "text",
    show: Annotated[str | None, typer.Option(help="Words to cut into pieces when done.")] = None,
) -> None:
    """Learn a vocabulary from texts, for an encoder that is to be trained from scratch.

    Example: [cyan]weft vocab notes.txt more.csv --kind bpe --size 8000 --output pieces --show "unbelievable"[/]

    Files may be of any size. The folder is a tokenizer that weft and
    transformers load. With --show and no FILE, the vocabulary of an existing
    folder cuts the words.
    """
    from weft.corpus.files import corpus_files
    from weft.tokenization.tokenizer import Tokenizer

    if not files and show is None:
        raise typer.BadParameter("give at least one FILE to learn from, or --show to cut words by an existing folder")
    if files:
        texts = [file for path in files for file in corpus_files(path)]
        tokenizer = _learn(texts, kind, criterion, size, min_frequency, lowercase, accents, column, output)
    else:
        tokenizer = Tokenizer.from_folder(output)
    if show is not None:
        _show_words(tokenizer, show)


def _learn(
    files: list[Path],
    kind: Literal["wordpiece", "bpe", "unigram"],
    criterion: Literal["count", "likelihood"],
    size: int,
    min_frequency: int,
    lowercase: bool,
    accents: bool | None,
    column: str,
    target: Path,
) -> Tokenizer:
    """Learn, write and measure, with a bar for what can be counted and a clock for the rest."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from weft.cli.screen import console, counting
    from weft.corpus.vocabulary import learn_vocabulary, parts, save_vocabulary
    from weft.corpus.vocabulary_stats import measure
    from weft.data.atomic import refuse_existing

    refuse_existing(target)
    texts = words = 0
    clock = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True
    )

    def end_clock() -> None:
        if clock.live.is_started:  # else it would print a blank line
            clock.stop()

    def watched(items: Iterable[str], total: int | None) -> Iterator[str]:
        nonlocal texts, words
        for text in counting(items, total, "reading" if total is None else "counting words"):
            if total is None:
                texts += 1
                words += sum(len(part.split()) for part in parts(text))
            yield text
        if total is not None:
            clock.add_task(f"choosing {size:,} pieces")
            clock.start()

    def chosen(pieces: Iterable[str], most: int) -> Iterator[str]:
        rest = iter(pieces)
        first = list(islice(rest, 1))  # all words are counted before it
        end_clock()
        yield from counting(chain(first, rest), most, "pieces")

    try:
        tokenizer = learn_vocabulary(
            files,
            kind,
            size,
            criterion=criterion,
            min_frequency=min_frequency,
            lowercase=lowercase,
            strip_accents=None if accents is None else not accents,
            column=column,
            progress=watched,
            choosing=chosen,
        )
    finally:
        end_clock()
    save_vocabulary(tokenizer, target)
    counts = {"texts read": f"{texts:,}", "words read": f"{words:,}"}
    likely = criterion == "likelihood"
    name = f"{kind}, by likelihood" if likely else kind
    unneeded = "hardly need more" if kind == "unigram" else f"have no more that occur {min_frequency} times"
    reason = f"{unneeded} and make them likelier" if likely else unneeded
    _print_vocabulary(tokenizer.size, size, name, reason, counts, measure(tokenizer, files, column))
    console.print(f"tokenizer: {target}", markup=False, soft_wrap=True)
    return tokenizer


def _print_vocabulary(
    pieces: int, wanted: int, kind: str, reason: str, counts: dict[str, str], sample: TokenCounts
) -> None:
    """What was learned from how much, how it cuts the texts, and the reason where there are not enough pieces."""
    from weft.cli.screen import console

    rows = {
        "kind": kind,
        "pieces": f"{pieces:,}" + (f" (of {wanted:,} asked for)" if pieces < wanted else ""),
        **counts,
        "tokens per word": f"{sample.tokens / max(1, sample.words):.2f}",
        "unknown tokens": f"{sample.unknown / max(1, sample.tokens):.2%}",
    }
    _print_table(rows, "vocabulary")
    if pieces < wanted:
        console.print(f"The texts {reason}: there are fewer pieces than asked for.", style="yellow", soft_wrap=True)


def _show_words(tokenizer: Tokenizer, words: str) -> None:
    from weft.corpus.vocabulary_stats import segment_word

    _print_table({word: " ".join(segment_word(tokenizer, word)) for word in words.split()}, "word", "pieces")


def _print_table(rows: dict[str, str], first: str, second: str = "") -> None:
    """Two columns, nothing in them read as markup or emoji, and nothing cut off."""
    from rich.table import Table
    from rich.text import Text

    from weft.cli.screen import output

    table = Table(first, second)
    for name, value in rows.items():
        table.add_row(Text(name, overflow="fold"), Text(value, overflow="fold"))
    output.print(table)
