"""`weft embed`: vectors for the texts of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import DeviceChoice, FileEncoding


def embed(
    model: Annotated[
        str, typer.Argument(help="[bold]minilm[/] (packaged), a folder of weft's or Hugging Face's, or a Hub id.")
    ],
    input: Annotated[
        Path, typer.Option("--input", "-i", help="Texts: .txt (one per line), .csv, .tsv, .jsonl, .parquet.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Vectors: .npy (sentences), .parquet or .jsonl.")],
    column: Annotated[str, typer.Option(help="Column that holds the text.")] = "text",
    level: Annotated[
        Literal["sentence", "word", "token"], typer.Option(help="One vector per text, per word, or per token.")
    ] = "sentence",
    pooling: Annotated[
        Literal["mean", "cls"], typer.Option(help="A sentence is the mean of its tokens, or its first.")
    ] = "mean",
    layers: Annotated[Literal["last", "last4"], typer.Option(help="Last layer, or mean of the last four.")] = "last",
    normalize: Annotated[bool, typer.Option("--normalize", help="Scale vectors to length 1.")] = False,
    truncation: Annotated[
        Literal["head", "tail", "head_tail"], typer.Option(help="Which part of a text that is too long stays.")
    ] = "head",
    max_length: Annotated[
        int | None, typer.Option(min=3, help="Tokens per text; as many as the encoder takes by default.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a Hub id.")] = None,
    encoding: FileEncoding = "utf-8",
    device: DeviceChoice = "auto",
) -> None:
    """Turn every text of a file into vectors, in the order of the file.

    Example: [cyan]weft embed minilm --input messages.csv --column message --output vectors.npy[/]

    An --output that exists is replaced when all vectors are there.
    """
    from weft.cli.screen import console, counting
    from weft.data.formats import check_apart, read_column
    from weft.data.vectors import check_target, write_vectors
    from weft.model.embed import EmbedOptions, TextVectors, load_encoder, truncation_notice

    options = EmbedOptions(level, pooling, layers, normalize, truncation, max_length)
    check_target(output, level)
    check_apart(input, output)
    encoder = load_encoder(model, revision=revision, device=device)
    limit = encoder.limit(options)
    rows = cut = 0

    def watched() -> Iterator[TextVectors]:
        nonlocal rows, cut
        for vectors in counting(encoder.stream(read_column(input, column, encoding), options), None, "texts"):
            rows += 1
            cut += vectors.dropped > 0
            yield vectors

    replaced = " (replaced)" if output.exists() else ""
    write_vectors(output, watched(), encoder.encoder.config.hidden_size, level)
    if cut:
        console.print(f"[yellow]{truncation_notice(cut, rows, limit)} ({truncation} kept)[/]")
    console.print(f"{rows:,} text{'' if rows == 1 else 's'} → {output}{replaced}", markup=False, soft_wrap=True)
