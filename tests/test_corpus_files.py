"""Corpora of several files, and faults that are found before the work is done."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers

from conftest import tiny_tokenizer
from weft.corpus import corpus as module
from weft.corpus import packing
from weft.corpus import pairs as walking
from weft.corpus.corpus import load_corpus
from weft.corpus.files import corpus_files
from weft.corpus.loading import CorpusLoader
from weft.corpus.packing import pack_rows
from weft.corpus.rows import PairRows, ResampledRows
from weft.data.formats import READABLE
from weft.errors import CheckpointError, ConfigError, DataError, WeftError
from weft.spec import parse
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer

WORDPIECE = tiny_tokenizer("wordpiece")
SECRET = "patientword"
STORY = "The quick fox. The lazy dog jumps.\nOver the dog.\n\nThe fox jumps. The dog.\n"  # two blocks, three lines
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files, by default all with the same text, and return their folder."""

    def run(*names: str, text: str = STORY, folder: str = "texts") -> Path:
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in names:
            (tmp_path / folder / name).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / folder / name).write_text(text, encoding="utf-8")
        return tmp_path / folder

    return run


def reader(folder: Path, tokenizer: Tokenizer = WORDPIECE) -> CorpusLoader:
    return CorpusLoader(tokenizer, 32, folder / "cache")


def task(kind: str = "masked_words", **options: Any) -> Task:
    return parse(Task, {"kind": kind, **options})


def named(found: list[Path], folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in found]


# Which files


def test_a_file_stands_for_itself_even_if_its_name_looks_like_a_pattern(write: Write) -> None:
    folder = write("a.txt", "b[a].txt", "ba.txt")
    for name in ("a.txt", "b[a].txt"):
        assert corpus_files(folder / name) == [folder / name]


def test_a_folder_stands_for_its_own_files_of_known_types_by_name(write: Write) -> None:
    folder = write("b.txt", "a.TXT", "c.csv", "d.doc", ".hidden.txt", "deeper/e.txt", "sub.txt/f.txt", "README")
    assert named(corpus_files(folder), folder) == ["a.TXT", "b.txt", "c.csv"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["a1.txt", "a2.txt", "b1.txt"]),
        ("a?.txt", ["a1.txt", "a2.txt"]),
        ("[!a]*.txt", ["b1.txt"]),
        ("*/x.txt", ["d/x.txt", "e/x.txt"]),
        ("[d]/*", ["d/x.txt", "d/y.txt"]),
        ("**/*.txt", ["a1.txt", "a2.txt", "b1.txt", "d/x.txt", "d/y.txt", "e/x.txt"]),
        ("**/**/x.txt", ["d/x.txt", "e/x.txt"]),
        ("**", ["a1.txt", "a2.txt", "b1.txt", "d/x.txt", "d/y.txt", "e/x.txt"]),
        ("d/**", ["d/x.txt", "d/y.txt"]),
        ("d/../a1*", ["a1.txt"]),
    ],
)
@pytest.mark.parametrize("place", ["texts", "texts[1]*"])
def test_a_pattern_stands_for_the_files_it_matches(write: Write, place: str, pattern: str, expected: list[str]) -> None:
    names = ("b1.txt", "a2.txt", "a1.txt", ".a3.txt", "e/x.txt", "d/x.txt", "d/y.txt", ".d/x.txt", "n.txt/.z")
    folder = write(*names, folder=place)
    found = [path.resolve() for path in corpus_files(folder / pattern)]
    assert named(found, folder) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("texts", "holds no file to read"),
        ("texts/*.txt", "no file matches"),
        ("none/*.txt", "no file matches"),
        ("texts/*", "no file matches"),
        ("texts/a**.txt", "cannot be searched"),
        ("texts/none", "no such file or folder"),
        ("none.txt", "no such file or folder"),
    ],
)
def test_where_nothing_is_found_the_message_says_where_and_what_was_looked_for(
    write: Write, tmp_path: Path, name: str, message: str
) -> None:
    write(".hidden.txt", "sub/deep.txt")
    with pytest.raises(DataError) as caught:
        corpus_files(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    assert message in str(caught.value)
    if "no file" in message:
        assert all(suffix in str(caught.value) for suffix in READABLE)


# Corpora of several files


@pytest.mark.parametrize(("documents", "expected"), [("file", 3), ("blocks", 6), ("rows", 9)])
@pytest.mark.parametrize("place", ["texts", "texts/*.txt"])
def test_folders_and_patterns_are_divided_like_files(
    write: Write, tmp_path: Path, documents: str, expected: int, place: str
) -> None:
    write("a.txt", "b.txt", "c.txt")
    rows = task(documents=documents).rows(reader(tmp_path), tmp_path / place)
    assert rows.corpus.sentence_documents[-1] + 1 == expected
    splits = task(documents=documents, train=place, dev=place, test=place).load(reader(tmp_path), tmp_path, 1)
    assert len(splits.train) == len(splits.dev) == len(splits.test) == len(rows)


def test_tables_of_a_folder_are_read_row_by_row(write: Write, tmp_path: Path) -> None:
    write("a.csv", "b.csv", text="text,label\nthe fox,x\nthe dog,y\n")
    rows = task(documents="rows").rows(reader(tmp_path), tmp_path / "texts")
    assert rows.corpus.sentence_documents.tolist() == [0, 1, 2, 3]


def test_a_share_of_nothing_learns_from_all_of_it_also_from_a_single_document(write: Write, tmp_path: Path) -> None:
    write("one.txt", text="The fox jumps. The dog.\n", folder=".")
    with pytest.raises(ConfigError, match="set dev = 0 to hold nothing out"):
        task(train="one.txt").load(reader(tmp_path), tmp_path, 1)
    splits = task(train="one.txt", dev=0).load(reader(tmp_path), tmp_path, 1)
    assert (len(splits.train) > 0, len(splits.dev), len(splits.test)) == (True, 0, 0)
    write("two.txt", text=STORY, folder=".")
    two = task(train="two.txt", dev=0).load(reader(tmp_path), tmp_path, 1)
    assert two.train.corpus.sentence_documents.max() == 1


@pytest.mark.parametrize("kind", ["masked_words", "next_sentence"])
def test_a_share_sets_whole_files_aside(write: Write, tmp_path: Path, kind: str) -> None:
    words = ["quick", "brown", "fox", "jumps", "over", "lazy", "dog", "the"]
    for number in range(20):
        write(f"{number:02}.txt", text=f"The {words[number % 8]} {words[number // 8]}.\nThe fox.\n\nThe dog.\n" * 4)
    splits = task(kind, documents="file", train="texts", dev=0.1).load(reader(tmp_path), tmp_path, 1)

    def tokens(rows: Any) -> list[int]:
        assert isinstance(rows, ResampledRows)
        begin, end = rows.corpus.sentences[[0, -1]]
        return rows.corpus.tokens[begin:end].tolist()

    def expected(numbers: range) -> list[int]:
        texts = [(tmp_path / "texts" / f"{number:02}.txt").read_text() for number in numbers]
        return [i for text in texts for i in WORDPIECE.backend.encode(text, add_special_tokens=False).ids]

    assert tokens(splits.train) == expected(range(18))
    assert tokens(splits.dev) == expected(range(18, 20))
    if kind == "next_sentence":
        assert isinstance(splits.train, PairRows)
        a, b, follows = splits.train.pairs[:, 0], splits.train.pairs[:, 2], splits.train.pairs[:, 4]
        corpus = splits.train.corpus
        owner = np.repeat(corpus.sentence_documents, np.diff(corpus.sentences))
        assert ((owner[a] == owner[b]) == (follows == 1)).all()
        assert {example.gold for example in splits.dev} == {"next", "elsewhere"}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (" \n", {}, "holds no text"),
        ("☃☃\n", {}, "knows no character"),
        (STORY, {"documents": "file", "kind": "next_sentence"}, "2 documents"),
        (STORY, {"documents": "file", "dev": 0.1}, "a folder"),
    ],
)
@pytest.mark.parametrize("place", ["texts", "texts/*"])
def test_an_error_about_all_files_names_what_the_user_named(
    write: Write, tmp_path: Path, text: str, options: dict[str, Any], message: str, place: str
) -> None:
    write("a.txt", text=text)
    if text != STORY:
        write("b.txt", text=text)
    with pytest.raises((ConfigError, DataError), match=message) as caught:
        task(**{"train": place, "dev": place, **options}).load(reader(tmp_path), tmp_path, 1)
    assert str(caught.value).removeprefix("dev: ").startswith(f"{tmp_path / place}: ")


def test_an_error_about_one_of_the_files_names_it(write: Write, tmp_path: Path) -> None:
    write("a.txt", "b.txt")
    (tmp_path / "texts" / "b.txt").write_bytes(STORY.encode() + b"\xff\n")
    with pytest.raises(DataError, match=r"b\.txt, line 5: is not UTF-8"):
        task().rows(reader(tmp_path), tmp_path / "texts")


# Faults before the work


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be tokenized into a cache."""

    def refuse(*_: object) -> None:
        raise AssertionError("tokenized before all was checked")

    monkeypatch.setattr(module, "write_cache", refuse)


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ({"dev": "none.txt"}, ["none.txt: there is no such file"]),
        ({"dev": "a.csv"}, ["a.csv: ", 'documents = "rows"']),
        ({"test": "a.doc"}, ["a.doc: unknown file type '.doc'"]),
        ({"test": "none/*.txt"}, ["none/*.txt: no file matches"]),
        ({"dev": "none.txt", "test": "a.doc"}, ["none.txt: there", "\n", "a.doc: unknown"]),
        ({"dev": "empty.txt"}, ["empty.txt: the corpus holds no text"]),
        ({"documents": "rows", "dev": "a.csv", "text": "body"}, ["a.csv: has no column 'body'"]),
        ({"dev": "binary.txt"}, ["binary.txt, line 1: holds a NUL byte"]),
        ({"train": None}, ["is required to train"]),
        ({"kind": "next_sentence", "dev": "dev.txt", "max_length": 4}, ["max_length"]),
        ({"dev": "many"}, [*(f"{number:02}.csv" for number in range(10)), "and 5 more files"]),
    ],
)
def test_cheap_faults_are_found_before_anything_is_tokenized(
    write: Write, tmp_path: Path, options: dict[str, Any], messages: list[str]
) -> None:
    write("train.txt", "dev.txt", "a.doc", folder=".")
    write("a.csv", *(f"many/{number:02}.csv" for number in range(15)), text=f"text\n{SECRET}\n", folder=".")
    write("empty.txt", text="\n \n", folder=".")
    write("binary.txt", text="\0", folder=".")
    with pytest.raises((DataError, ConfigError)) as caught:
        task(**{"train": "train.txt", "dev": 0.1, **options}).load(reader(tmp_path), tmp_path, 1)
    assert not [one for one in messages if one not in str(caught.value)], str(caught.value)
    assert SECRET not in str(caught.value)
    assert "10.csv" not in str(caught.value)
    assert not (tmp_path / "cache").exists()


def word_level(*special: str) -> tokenizers.Tokenizer:
    words = [*special, "the", "fox", "dog", "."]
    backend = tokenizers.Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return backend


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("kind", ["masked_words", "span_boundary"])
def test_a_tokenizer_without_a_mask_is_refused_before_anything_is_tokenized(
    write: Write, tmp_path: Path, kind: str
) -> None:
    write("a.txt")
    with pytest.raises(CheckpointError, match="no mask token"):
        task(kind, train="texts").load(reader(tmp_path, Tokenizer(word_level("[UNK]"))), tmp_path, 1)


def test_a_tokenizer_without_a_mask_serves_tasks_that_hide_nothing(write: Write, tmp_path: Path) -> None:
    write("a.txt")
    rows = task("next_sentence", train="texts", dev="texts")
    assert len(rows.load(reader(tmp_path, Tokenizer(word_level("[UNK]"))), tmp_path, 1).train) > 1


# Tokenizers that cannot encode a text


def word_piece() -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.WordPiece({"the": 0, "fox": 1}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return backend


def unigram() -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer(models.Unigram([(piece, -1.0) for piece in ("the", "fox", *"the fox")], None, False))


@pytest.mark.parametrize("build", [word_level, word_piece, unigram])
def test_a_tokenizer_without_an_unknown_token_is_one_message_and_leaves_nothing(
    write: Write, tmp_path: Path, build: Callable[[], tokenizers.Tokenizer]
) -> None:
    tokenizer, known = Tokenizer(build()), write("a.txt", text="the fox")
    assert len(load_corpus([known / "a.txt"], tokenizer, tmp_path / "known", max_tokens=8)) == 1
    folder = write("b.txt", text=f"the {SECRET} fox\n")
    with pytest.raises(WeftError, match=r"has no unknown token.*weft vocab") as caught:
        load_corpus([folder / "b.txt"], tokenizer, tmp_path / "cache", max_tokens=8)
    assert isinstance(caught.value, CheckpointError)
    assert str(folder / "b.txt") in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__
    assert list((tmp_path / "cache").iterdir()) == []


# Memory

LENGTHS = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=8), max_size=6)


def laid_out(documents: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *(length for document in documents for length in document)])
    return offsets, np.array([number for number, document in enumerate(documents) for _ in document], np.int64)


def packed(documents: list[list[int]], room: int, begins: np.ndarray) -> list[list[int]]:
    """Rows in two steps: long sentences cut to pieces, each before the last word that leaves, then pieces joined."""
    rows: list[list[int]] = []
    at = 0
    for document in documents:
        pieces = []
        for length in document:
            end = at + length
            while end - at > room:
                cut = next((place for place in range(at + room, at, -1) if begins[place]), at + room)
                pieces.append([at, cut])
                at = cut
            pieces.append([at, end])
            at = end
        joined = pieces[:1]
        for start, end in pieces[1:]:
            if end - joined[-1][0] <= room:
                joined[-1][1] = end
            else:
                joined.append([start, end])
        rows += joined
    return rows


@given(LENGTHS, st.integers(1, 15), st.integers(1, 9), st.integers(0, 1000))
def test_chunks_do_not_change_the_rows(documents: list[list[int]], room: int, chunk: int, seed: int) -> None:
    offsets, of = laid_out(documents)
    begins = np.random.default_rng(seed).random(offsets[-1]) < 0.5
    begins[offsets[:-1]] = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_CHUNK", chunk)
        rows = pack_rows(offsets, of, room, begins)
    assert rows.tolist() == packed(documents, room, begins)
    assert (rows.dtype, rows.shape[1:]) == (np.int64, (2,))


@given(LENGTHS, st.integers(1, 15), st.integers(1, 9))
def test_chunks_do_not_change_what_follows_a_side(documents: list[list[int]], room: int, chunk: int) -> None:
    offsets, of = laid_out(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walking, "_CHUNK", chunk)
        following = walking._following(offsets, of, room)
        chain = walking._chain(following)
    for place, found in enumerate(following.tolist()):
        end = place + 1
        while end < len(of) and of[end] == of[place] and offsets[end + 1] - offsets[place] <= room:
            end += 1
        assert found == end
    expected = [0] if len(of) else []
    while expected and following[expected[-1]] < len(of):
        expected.append(int(following[expected[-1]]))
    assert chain.tolist() == expected


@pytest.mark.parametrize("room", [100, 15])
def test_packing_takes_little_memory_beside_the_rows(room: int) -> None:
    sentences = 400_000
    offsets, documents = np.arange(sentences + 1) * 20, np.arange(sentences) // 50
    tracemalloc.start()
    try:
        rows = pack_rows(offsets, documents, room)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(rows) >= sentences / 5
    assert peak < 3 * rows.nbytes + 20_000_000
