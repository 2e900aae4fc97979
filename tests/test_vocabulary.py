"""Vocabularies: byte pairs merge as they should by hand, and three kinds are learned, written and read alike."""

from __future__ import annotations

import doctest
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tokenizers
import transformers
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from weft.corpus.subwords import SPECIAL, Kind
from weft.corpus.vocabulary import LONGEST_TEXT, learn_vocabulary, parts
from weft.corpus.vocabulary import save_vocabulary as save
from weft.corpus.vocabulary_stats import measure, segment_word
from weft.errors import ConfigError, DataError, WeftError
from weft.tokenization.tokenizer import Tokenizer

BYTE_PAIRS = (Path(__file__).parent.parent / "docs" / "byte_pairs.md").read_text(encoding="utf-8")
PAGE: dict[str, Any] = {}  # what the page defines
exec("\n".join(re.findall(r"^```python\n(.*?)^```", BYTE_PAIRS, re.DOTALL | re.MULTILINE)), PAGE)
learn_merges: Callable[[dict[str, int], int], list[tuple[str, str]]] = PAGE["learn_merges"]
segment: Callable[[str, list[tuple[str, str]]], list[str]] = PAGE["segment"]

KINDS: tuple[Kind, ...] = ("wordpiece", "bpe", "unigram")
EXAMPLE = {"low": 5, "lowest": 2, "newer": 6, "wider": 3, "new": 2}
counted_words = st.dictionaries(st.text("abcdé", min_size=1, max_size=8), st.integers(1, 20), min_size=1, max_size=12)
quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
Run = Callable[..., tuple[int, str, str]]


def invented_texts(count: int = 400) -> list[str]:
    """Sentences of made-up words with common endings, accents, capitals, marks and other scripts."""
    rng = random.Random(5)
    roots = ["".join(rng.choices("abdeéghilmnoöprstuñ", k=rng.randint(2, 6))) for _ in range(150)]
    endings = ["", "s", "ed", "ing", "er", "est", "ness"]

    def word() -> str:
        made = rng.choice(roots) + rng.choice(endings)
        return made.capitalize() if rng.random() < 0.1 else made

    return [
        " ".join(word() for _ in range(8)) + rng.choice([".", "!", ", 日本語", " — don't", " 42"]) for _ in range(count)
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "texts.txt"
    path.write_text("\n".join(invented_texts()) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def learned(corpus: Path) -> dict[Kind, Tokenizer]:
    return {kind: learn_vocabulary([corpus], kind, 400) for kind in KINDS}


def pieces_of(tokenizer: Tokenizer) -> list[str]:
    vocabulary = tokenizer.backend.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


# Byte pairs, merge by merge


def test_the_worked_example_is_learned_merge_by_merge() -> None:
    assert learn_merges(EXAMPLE, 8) == [
        ("e", "r"),
        ("er", "_"),
        ("n", "e"),
        ("ne", "w"),
        ("l", "o"),
        ("lo", "w"),
        ("new", "er_"),
        ("low", "_"),
    ]


def test_a_new_word_is_cut_into_pieces_of_known_ones() -> None:
    merges = learn_merges(EXAMPLE, 8)
    assert segment("lower", merges) == ["low", "er_"]
    assert segment("newer", merges) == ["newer_"]
    assert segment("zz", merges) == ["z", "z", "_"]


def test_what_the_page_on_byte_pairs_shows_is_true() -> None:
    shown = "".join(re.findall(r"^```pycon\n(.*?)^```", BYTE_PAIRS, re.DOTALL | re.MULTILINE))
    examples = doctest.DocTestParser().get_doctest(shown, dict(PAGE), "byte_pairs.md", None, None)
    found = doctest.DocTestRunner().run(examples)
    assert found.attempted == 9
    assert found.failed == 0


def test_learning_ends_when_every_word_is_one_piece() -> None:
    assert learn_merges({"ab": 1}, 100) == [("a", "b"), ("ab", "_")]
    assert learn_merges({}, 5) == learn_merges({"ab": 0}, 5) == learn_merges({"ab": 3}, 0) == []


@quick
@given(counted_words, st.integers(0, 15), st.text("abcdéx_ ", max_size=12))
def test_pieces_put_together_are_the_word(counts: dict[str, int], merges: int, word: str) -> None:
    assert "".join(segment(word, learn_merges(counts, merges))) == word + "_"


def brute_counts(lines: dict[str, int]) -> Counter[tuple[str, str]]:
    """Pairs of neighbours in words spelled with blanks between their symbols, in the order they are met."""
    found: Counter[tuple[str, str]] = Counter()
    for line, count in lines.items():
        for pair in pairwise(line.split()):
            found[pair] += count
    return found


def brute_merge(lines: dict[str, int], pair: tuple[str, str]) -> dict[str, int]:
    pattern = re.compile(rf"(?<!\S){re.escape(pair[0])} {re.escape(pair[1])}(?!\S)")
    return {pattern.sub("".join(pair), line): count for line, count in lines.items()}


@quick
@given(counted_words)
@example({"aaa": 3, "aaaa": 2})
def test_every_merge_joins_a_most_frequent_pair_and_the_first_of_them(counts: dict[str, int]) -> None:
    lines = {" ".join([*word, "_"]): count for word, count in counts.items()}
    for merge in learn_merges(counts, 12):
        found = brute_counts(lines)
        assert merge == next(pair for pair, count in found.items() if count == max(found.values()))
        lines = brute_merge(lines, merge)


def library_merges(counts: dict[str, int], merges: int) -> list[tuple[str, str]]:
    """What the library learns from the same words, their end mark spelled out."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    size = len(set("".join(counts)) | {"_"}) + merges
    backend.train_from_iterator(
        [f"{word}_" for word, count in counts.items() for _ in range(count)],
        trainers.BpeTrainer(vocab_size=size, min_frequency=0, show_progress=False),
    )
    return [tuple(pair) for pair in json.loads(backend.to_str())["model"]["merges"]]


@quick
@given(counted_words)
@example({"banana": 7, "band": 4, "cab": 2})
def test_the_library_learns_the_same_merges_up_to_the_first_tie(counts: dict[str, int]) -> None:
    lines = {" ".join([*word, "_"]): count for word, count in counts.items()}
    ours, certain = learn_merges(counts, 10), 0
    for merge in ours:
        top = brute_counts(lines).most_common(2)
        if len(top) == 2 and top[0][1] == top[1][1]:
            break
        certain += 1
        lines = brute_merge(lines, merge)
    assert library_merges(counts, 10)[:certain] == ours[:certain]


@quick
@given(counted_words, st.text("abcdé", min_size=1, max_size=12))
def test_the_library_segments_alike_with_the_same_merges(counts: dict[str, int], word: str) -> None:
    merges = learn_merges(counts, 10)
    symbols = dict.fromkeys([*"abcdé_", *("".join(pair) for pair in merges)])
    model = models.BPE({symbol: place for place, symbol in enumerate(symbols)}, merges)
    assert [token.value for token in model.tokenize(word + "_")] == segment(word, merges)


# The three kinds


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_come_first_and_the_size_is_kept(learned: dict[Kind, Tokenizer], kind: Kind) -> None:
    assert pieces_of(learned[kind])[:5] == list(SPECIAL)
    assert learned[kind].size == len(pieces_of(learned[kind]))
    assert learned[kind].size == 400 or (kind == "unigram" and 300 < learned[kind].size < 400)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_reads_as_bert_reads_it(learned: dict[Kind, Tokenizer], kind: Kind) -> None:
    row = learned[kind].encode([("aber", "den")], max_length=100, offsets=True)[0]
    first, second = (row.texts.tolist().count(text) for text in (0, 1))
    assert row.segments is not None
    assert row.segments.tolist() == [0] * (first + 2) + [1] * (second + 1)
    assert [row.ids[place] for place in (0, first + 1, len(row.ids) - 1)] == [2, 3, 3]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_transformers_loads_the_folder_and_gives_the_same_ids(
    corpus: Path, tmp_path: Path, kind: Kind, lowercase: bool
) -> None:
    ours = learn_vocabulary([corpus], kind, 400, lowercase=lowercase)
    save(ours, tmp_path / "made" / "pieces")
    theirs: Any = transformers.AutoTokenizer.from_pretrained(tmp_path / "made" / "pieces")
    again = Tokenizer.from_folder(tmp_path / "made" / "pieces")
    texts = [*invented_texts(30), "", "  Ünseen ŵords\t한국어 👩‍👩‍👧\n", "a [MASK] b [SEP]", "x" * 300]
    expected = theirs(texts)["input_ids"]
    assert [row.ids.tolist() for row in ours.encode(texts, max_length=10**6)] == expected
    assert [row.ids.tolist() for row in again.encode(texts, max_length=10**6)] == expected
    pair = theirs("aber den", "Über")
    row = ours.encode([("aber den", "Über")], max_length=100)[0]
    assert row.segments is not None
    assert (row.ids.tolist(), row.segments.tolist()) == (pair["input_ids"], pair["token_type_ids"])
    assert theirs.is_fast
    assert theirs.model_max_length == 512
    special = (theirs.pad_token, theirs.unk_token, theirs.cls_token, theirs.sep_token, theirs.mask_token)
    assert special == SPECIAL
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["pieces"]


def hide_word(tokenizer: Tokenizer, text: str, start: int, end: int) -> list[int] | None:
    """The ids of a text where one mask stands for the tokens of a word and the blank before it, as training hides it.

    None where a token covers more than that.
    """
    encoding = tokenizer.backend.encode(text)
    start -= text[:start].endswith(" ")
    hidden = [
        place
        for place, (first, last) in enumerate(encoding.offsets)
        if encoding.sequence_ids[place] is not None and first < end and last > start
    ]
    if encoding.offsets[hidden[0]][0] < start or encoding.offsets[hidden[-1]][1] > end:
        return None
    return [*encoding.ids[: hidden[0]], SPECIAL.index("[MASK]"), *encoding.ids[hidden[-1] + 1 :]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_in_a_text_reads_as_a_word_hidden_in_training(
    learned: dict[Kind, Tokenizer], tmp_path: Path, kind: Kind
) -> None:
    save(learned[kind], tmp_path / "pieces")
    again = Tokenizer.from_folder(tmp_path / "pieces")
    auto: Any = transformers.AutoTokenizer.from_pretrained(tmp_path / "pieces")
    fast: Any = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / "pieces")
    compared = 0
    for text in invented_texts(20):
        for word in list(re.finditer(r"\w+", text))[:8]:
            expected = hide_word(learned[kind], text, *word.span())
            if expected is None:
                continue
            masked = text[: word.start()] + "[MASK]" + text[word.end() :]
            assert learned[kind].encode([masked], max_length=10**6)[0].ids.tolist() == expected
            assert again.encode([masked], max_length=10**6)[0].ids.tolist() == expected
            assert auto(masked)["input_ids"] == fast(masked)["input_ids"] == expected
            compared += 1
    assert compared > 100


def test_the_blank_before_a_mask_is_no_token_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("Please turn your homework in.\n" * 9)
    tokenizer = learn_vocabulary([file], "bpe", 400)
    row = tokenizer.encode(["Please turn [MASK] homework in."], max_length=99, offsets=True)[0]
    pieces = [tokenizer.backend.id_to_token(id) for id in row.ids[1:-1]]
    assert pieces == ["please", "Ġturn", "[MASK]", "Ġhomework", "Ġin", "."]
    assert row.offsets[3].tolist() == [12, 18]


@pytest.mark.parametrize("front", ["\u200e", "\ufeff", " \x07", "\x07 ", "\u0301", "\ufffd", " \u3000\t"])
def test_what_is_cleaned_away_in_front_of_a_word_does_not_change_it(learned: dict[Kind, Tokenizer], front: str) -> None:
    for text in ("aber den", "[MASK] den"):
        plainly, odd = learned["unigram"].encode([text, front + text], max_length=99)
        assert odd.ids.tolist() == plainly.ids.tolist()


def test_vocab_txt_lists_the_pieces_by_id_and_alone_reads_the_same(
    learned: dict[Kind, Tokenizer], tmp_path: Path
) -> None:
    save(learned["wordpiece"], tmp_path / "pieces")
    assert (tmp_path / "pieces" / "vocab.txt").read_text("utf-8").split("\n")[:-1] == pieces_of(learned["wordpiece"])
    (tmp_path / "pieces" / "tokenizer.json").unlink()
    text = invented_texts(1)
    alone = Tokenizer.from_folder(tmp_path / "pieces").encode(text, max_length=99)
    assert alone[0].ids.tolist() == learned["wordpiece"].encode(text, max_length=99)[0].ids.tolist()


def plain(text: str) -> str:
    """Letters only, small and without accents, to compare a piece with the characters it covers."""
    decomposed = tokenizers.normalizers.NFKD().normalize_str(text)
    return "".join(letter for letter in decomposed.lower() if letter.isalnum() and letter.isascii())


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_cut_the_original_text(learned: dict[Kind, Tokenizer], kind: Kind) -> None:
    for text in invented_texts(50):
        text = f"  {text}\t {text}"
        row = learned[kind].encode([text], max_length=10**6, offsets=True)[0]
        spans = row.offsets[row.texts >= 0].tolist()
        pieces = [learned[kind].backend.id_to_token(id) for id in row.ids[1:-1]]
        for (start, end), piece in zip(spans, pieces, strict=True):
            if piece.isascii() or kind != "bpe":
                assert plain(text[start:end]) == plain(piece)
        covered = {place for start, end in spans for place in range(start, end)}
        assert {place for place, letter in enumerate(text) if not letter.isspace()} == covered


@pytest.fixture(scope="module")
def exact(corpus: Path) -> Tokenizer:
    return learn_vocabulary([corpus], "bpe", 400, lowercase=False)


@quick
@given(text=st.text(st.characters(codec="utf-8"), max_size=50))
@example(text="  two  blanks \n\t é e\u0301 日本 👩‍👩‍👧 \x00\x85\u2028 don't ")
def test_byte_pairs_give_every_text_back_and_know_every_character(exact: Tokenizer, text: str) -> None:
    assume(not any(name in text for name in SPECIAL))  # a text that writes [UNK] is read as saying so
    ids = exact.backend.encode(text, add_special_tokens=False).ids
    assert exact.backend.decode(ids, skip_special_tokens=False) == text
    assert SPECIAL.index("[UNK]") not in ids


@pytest.mark.parametrize("kind", KINDS)
def test_case_and_accents_are_kept_or_dropped_as_asked(tmp_path: Path, kind: Kind) -> None:
    file = tmp_path / "t.txt"
    file.write_text("Café CAFÉ café cafe\n" * 20, encoding="utf-8")

    def same(first: str, second: str, **choices: Any) -> bool:
        rows = learn_vocabulary([file], kind, 300, **choices).encode([first, second], max_length=99)
        return rows[0].ids.tolist() == rows[1].ids.tolist()

    assert same("CAFÉ", "cafe")
    assert same("CAFÉ", "café", strip_accents=False)
    assert not same("café", "cafe", strip_accents=False)
    assert not same("CAFE", "cafe", lowercase=False)
    assert not same("café", "cafe", lowercase=False)
    assert same("Café", "Cafe", lowercase=False, strip_accents=True)
    assert not same("CAFE", "cafe", lowercase=False, strip_accents=True)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_pairs_below_the_minimum_frequency_are_not_joined(tmp_path: Path, kind: Kind) -> None:
    file = tmp_path / "t.txt"
    file.write_text("xyz\n" * 3 + "uvw\n" * 4)
    pieces = pieces_of(learn_vocabulary([file], kind, 300, min_frequency=4))
    assert "uvw" in pieces
    assert not {"xy", "xyz", "##yz", "yz"} & set(pieces)


def test_unknown_characters_are_unknown_and_known_words_are_pieces(learned: dict[Kind, Tokenizer]) -> None:
    assert segment_word(learned["wordpiece"], "жж") == ["[UNK]"]
    assert segment_word(learned["unigram"], "жж") == ["▁", "[UNK]"]
    assert "[UNK]" not in segment_word(learned["bpe"], "жж")
    for kind in KINDS:
        spelled = "".join(piece.removeprefix("##") for piece in segment_word(learned[kind], "Häding"))
        assert spelled.removeprefix("▁") == "hading"


def test_pieces_of_bytes_are_shown_as_characters(exact: Tokenizer) -> None:
    assert "".join(segment_word(exact, "ñoé")) == "▁ñoé"


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_in_the_texts_are_not_learned(tmp_path: Path, kind: Kind) -> None:
    file = tmp_path / "t.txt"
    file.write_text("go[SEP] now[SEP] so[SEP] [SEP] low[SEP]\n" * 30)
    tokenizer = learn_vocabulary([file], kind, 300, lowercase=False)
    assert [tokenizer.backend.token_to_id(token) for token in SPECIAL] == [0, 1, 2, 3, 4]
    assert kind == "bpe" or not [piece for piece in pieces_of(tokenizer)[5:] if "[" in piece or "E" in piece]


PRINT = """
import hashlib, sys
from pathlib import Path
from weft.corpus.vocabulary import learn_vocabulary
for kind in ("wordpiece", "bpe", "unigram"):
    backend = learn_vocabulary([Path(sys.argv[1])], kind, 450, lowercase=False).backend
    print(hashlib.sha256(backend.to_str().encode()).hexdigest())
"""


def test_the_same_file_gives_the_same_vocabulary_in_every_process(corpus: Path) -> None:
    here = [
        hashlib.sha256(learn_vocabulary([corpus], kind, 450, lowercase=False).backend.to_str().encode()).hexdigest()
        for kind in KINDS
    ]
    for threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PRINT, str(corpus)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "RAYON_NUM_THREADS": threads},
        )
        assert done.stdout.split() == here


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_column_of_any_file_teaches_what_its_lines_would(corpus: Path, tmp_path: Path, suffix: str) -> None:
    texts = invented_texts()
    file = tmp_path / f"rows{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.table({"note": texts}), file)
    elif suffix == ".jsonl":
        file.write_text("".join(json.dumps({"note": text}) + "\n" for text in texts))
    else:
        mark = {".csv": ",", ".tsv": "\t"}[suffix]
        file.write_text(f"id{mark}note\n" + "".join(f'1{mark}"{text}"\n' for text in texts), encoding="utf-8")
    made, expected = (
        learn_vocabulary(files, "wordpiece", 300, column=column)
        for files, column in (([file], "note"), ([corpus], "text"))
    )
    assert made.backend.to_str() == expected.backend.to_str()


def test_two_files_teach_what_both_hold(corpus: Path, tmp_path: Path) -> None:
    texts = invented_texts()
    halves = tmp_path / "a.txt", tmp_path / "b.txt"
    for half, lines in zip(halves, (texts[:100], texts[100:]), strict=True):
        half.write_text("\n".join(lines), encoding="utf-8")
    made, expected = (learn_vocabulary(files, "bpe", 400) for files in (halves, [corpus]))
    assert made.backend.to_str() == expected.backend.to_str()


def test_progress_sees_every_text_twice(corpus: Path) -> None:
    seen: list[tuple[int, int | None]] = []

    def progress(texts: Any, total: int | None) -> Any:
        listed = list(texts)
        seen.append((len(listed), total))
        return listed

    learn_vocabulary([corpus], "unigram", 200, progress=progress)
    assert seen == [(400, None), (400, 400)]


@quick
@given(st.lists(st.tuples(st.integers(0, 2 * LONGEST_TEXT), st.sampled_from(["", " ", "  "])), max_size=5))
def test_parts_of_a_long_text_are_short_and_whole_together(runs: list[tuple[int, str]]) -> None:
    text = "".join("x" * length + blank for length, blank in runs)
    cut = list(parts(text))
    assert "".join(cut) == text
    assert max(map(len, cut)) <= LONGEST_TEXT
    words = Counter(word for word in text.split() if len(word) < LONGEST_TEXT // 2)
    assert not words - Counter(word for part in cut for word in part.split())


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_without_end_is_learned_from_in_parts(tmp_path: Path, kind: Kind) -> None:
    file = tmp_path / "t.txt"
    rng = random.Random(0)
    length = 20_000 if kind == "unigram" else 300_000  # unigram tries every string that repeats
    file.write_text("".join(rng.choices("abcdefgh", k=length)) + " low low lowly lowly")
    tokenizer = learn_vocabulary([file], kind, 400)
    assert max(map(len, pieces_of(tokenizer))) <= 102
    assert tokenizer.size == 400


def test_a_giant_line_teaches_what_short_ones_would_and_is_never_held_whole(tmp_path: Path) -> None:
    texts = invented_texts() * 30
    giant, short = tmp_path / "giant.txt", tmp_path / "short.txt"
    giant.write_text(" ".join(texts), encoding="utf-8")
    short.write_text("\n".join(texts), encoding="utf-8")
    longest = 0

    def progress(items: Any, total: int | None) -> Any:
        nonlocal longest
        for item in items:
            longest = max(longest, len(item))
            yield item

    made = learn_vocabulary([giant], "wordpiece", 400, progress=progress)
    assert made.backend.to_str() == learn_vocabulary([short], "wordpiece", 400).backend.to_str()
    assert measure(made, [giant]).words == sum(len(text.split()) for text in texts)
    assert longest < 140_000 < giant.stat().st_size / 4


@pytest.mark.parametrize(("wrong", "message"), [(b"\0", "holds a NUL"), (b"\xfc", "is not UTF-8 .byte 0xfc")])
def test_a_fault_far_into_a_giant_line_is_named_with_file_and_line(tmp_path: Path, wrong: bytes, message: str) -> None:
    file = tmp_path / "t.txt"
    file.write_bytes(b"fine\n\n" + b"secret words " * 20_000 + wrong + b" secret\n")
    found = fault([file])
    assert re.search(rf"t\.txt, line 3: {message}", found)
    assert "secret" not in found


def test_plain_text_has_no_other_column(corpus: Path) -> None:
    assert re.search("has no column 'note'", fault([corpus], column="note"))


def test_a_vocabulary_is_measured_on_the_first_texts(tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("low low\n" * 10)
    tokenizer = learn_vocabulary([file], "wordpiece", 100)
    file.write_text("low lowo ж\nж low\n", encoding="utf-8")  # low, low ##o, [UNK]; [UNK], low
    first, both = (measure(tokenizer, [file], texts=texts) for texts in (1, 2))
    assert (first.words, first.tokens, first.unknown) == (3, 4, 1)
    assert (both.words, both.tokens, both.unknown) == (5, 6, 2)


# Faults


def fault(files: list[Path], kind: Kind = "wordpiece", size: int = 300, **choices: Any) -> str:
    with pytest.raises((ConfigError, DataError)) as caught:
        learn_vocabulary(files, kind, size, **choices)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", ["", "\n\n", "  \t \n \u3000\n"])
def test_texts_without_words_are_refused(tmp_path: Path, kind: Kind, content: str) -> None:
    file = tmp_path / "t.txt"
    file.write_text(content, encoding="utf-8")
    assert "no word" in fault([file], kind)


@pytest.mark.parametrize(
    ("kind", "needed"),
    [("wordpiece", 5 + 3 + 3), ("bpe", 5 + 256), ("unigram", 5 + 5 + 1)],  # l n o; ##o ##w ##e; l o n e w and ▁
)
def test_a_size_below_the_alphabet_is_refused_with_the_size_needed(tmp_path: Path, kind: Kind, needed: int) -> None:
    file = tmp_path / "t.txt"
    file.write_text("low ne ow\nlow Né\n" * 9, encoding="utf-8")
    if kind == "wordpiece":
        needed += 2  # the library keeps every character as the beginning of a word too: e and w
    assert f"more than {needed:,}" in fault([file], kind, needed - 1)
    assert learn_vocabulary([file], kind, needed).size == needed
    if kind != "unigram":  # it knows no piece that repeats in different words here
        assert learn_vocabulary([file], kind, needed + 1).size == needed + 1


@quick
@given(words=st.lists(st.text("abcdeé!", min_size=1, max_size=7), min_size=1, max_size=20), spare=st.integers(0, 12))
@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_no_texts_make_more_pieces_than_asked_for(tmp_path: Path, kind: Kind, words: list[str], spare: int) -> None:
    file = tmp_path / "t.txt"
    signs = {"a", *(sign for word in words for sign in word.replace("é", "e"))}
    file.write_text(" ".join([*words, "a"]) + "\n", encoding="utf-8")
    needed = 5 + (len(signs) + 1 if kind == "unigram" else 2 * len(signs))  # ▁, or all signs also with ##
    tokenizer = learn_vocabulary([file], kind, needed + spare)
    assert 5 + len(signs) <= tokenizer.size <= needed + spare
    assert SPECIAL.index("[UNK]") not in tokenizer.encode([" ".join(words)], max_length=10**6)[0].ids


def test_impossible_choices_are_all_named(corpus: Path) -> None:
    faults = fault([], "sentencepiece", 5, min_frequency=0).split("\n")  # type: ignore[arg-type]
    assert len(faults) == 4
    assert "wordpiece, bpe, unigram" in faults[1]
    assert "always asks for 2" in fault([corpus], "unigram", min_frequency=5)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.txt", b"fine\nalso\0this\n", r"t\.txt, line 2: holds a NUL"),
        ("t.txt", "fine\nüber\n".encode() + "über\n".encode("latin-1"), r"t\.txt, line 3: is not UTF-8"),
        ("t.csv", b"id,note\n1,x\n", r"t\.csv: has no column 'text'; its columns are: id, note; say --column note"),
        ("t.docx", b"PK", "unknown file type"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_cannot_be_read_are_named_with_the_line(
    tmp_path: Path, corpus: Path, kind: Kind, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert re.search(message, fault([corpus, tmp_path / name], kind))


def test_a_folder_that_exists_is_left_alone(learned: dict[Kind, Tokenizer], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="exists already"):
        save(learned["bpe"], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fails", [False, True])
def test_folders_beside_the_new_one_are_neither_published_nor_removed(
    learned: dict[Kind, Tokenizer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    beside = tmp_path / "pieces.unfinished"
    beside.mkdir()
    (beside / "notes.txt").write_text("mine")
    if fails:

        def refuse(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "rename", refuse)
        with pytest.raises(WeftError, match="cannot write .*pieces: No space left"):
            save(learned["wordpiece"], tmp_path / "pieces")
    else:
        save(learned["wordpiece"], tmp_path / "pieces")
        written = sorted(path.name for path in (tmp_path / "pieces").iterdir())
        assert written == ["tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    assert (beside / "notes.txt").read_text() == "mine"
    expected = {"pieces.unfinished"} if fails else {"pieces", "pieces.unfinished"}
    assert {path.name for path in tmp_path.iterdir()} == expected


@pytest.mark.parametrize("mask", [0o022, 0o027])
def test_the_folder_has_the_usual_permissions(learned: dict[Kind, Tokenizer], tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        save(learned["bpe"], tmp_path / "pieces")
    finally:
        os.umask(before)
    assert (tmp_path / "pieces").stat().st_mode & 0o777 == 0o777 & ~mask


# The command


@pytest.fixture
def run(run_weft: Run) -> Run:
    return run_weft


def table(out: str) -> dict[str, str]:
    rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in out.splitlines() if line.startswith("│")]
    return dict(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_learns_writes_measures_and_shows(run: Run, corpus: Path, tmp_path: Path, kind: Kind) -> None:
    target = tmp_path / "pieces"
    options = ["--kind", kind, "--size", 400, "--cased", "--no-accents", "--output", target, "--show", "aber [b]"]
    code, out, err = run("vocab", corpus, *options)
    expected = learn_vocabulary([corpus], kind, 400, lowercase=False, strip_accents=True)
    assert code == 0, err
    assert Tokenizer.from_folder(target).backend.to_str() == expected.backend.to_str()
    rows = table(out)
    assert (rows["kind"], rows["pieces"], rows["texts read"]) == (kind, "400", "400")
    assert rows["words read"] == f"{sum(len(text.split()) for text in invented_texts()):,}"
    assert rows["unknown tokens"] == "0.00%"
    assert rows["aber"].split() == segment_word(expected, "aber")
    assert rows["[b]"].split() == segment_word(expected, "[b]")
    assert str(target) in err.replace("\n", "")


def test_the_command_shows_words_by_a_folder_that_is_there(
    run: Run, learned: dict[Kind, Tokenizer], tmp_path: Path
) -> None:
    save(learned["unigram"], tmp_path / "pieces")
    code, out, _ = run("vocab", "--output", tmp_path / "pieces", "--show", "aber")
    assert code == 0
    assert table(out)["aber"].split() == segment_word(learned["unigram"], "aber")


def test_fewer_pieces_than_asked_for_are_said_and_no_text_is_printed(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("secretword otherword\n" * 5)
    code, out, err = run("vocab", file, "--output", tmp_path / "pieces")
    assert code == 0
    assert "of 30,000 asked for" in out
    assert "fewer pieces than asked for" in err
    assert "secret" not in out + err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.txt", "-o", "new"], 1, "there is no such file"),
        (["t.txt", "-o", "."], 1, "exists already"),
        (["t.txt", "-o", "new", "--size", "8"], 1, "too small"),
        (["t.txt", "-o", "new", "--size", "5"], 2, "--size"),
        (["t.txt", "-o", "new", "--kind", "words"], 2, "wordpiece"),
        (["t.txt", "-o", "t.txt/new"], 1, "cannot write"),
        (["t.txt"], 2, "--output"),
        (["-o", "new"], 2, "FILE"),
        (["-o", "new", "--show", "word"], 1, "tokenizer.json"),
    ],
)
def test_faults_of_the_command_are_messages(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("low lower lowest\n" * 5)
    ended, _, err = run("vocab", *arguments)
    assert ended == code
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "new").exists()


def test_help_needs_no_tokenizers() -> None:
    code = (
        "import sys; sys.argv = ['weft', 'vocab', '--help']\n"
        "from weft.cli.main import main\n"
        "try: main()\n"
        "finally: print([name for name in ('tokenizers', 'torch', 'numpy') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")
    assert "--min-frequency" in done.stdout
