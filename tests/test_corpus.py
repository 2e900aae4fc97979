"""From raw text to rows and pairs: nothing lost, no document crossed, the cache found again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import tiny_tokenizer
from weft.corpus import cache as cache_module
from weft.corpus import corpus as module
from weft.corpus import documents as documents_module
from weft.corpus.corpus import Corpus, load_corpus, special_ids
from weft.corpus.documents import Documents, read_pieces
from weft.corpus.packing import pack_rows
from weft.corpus.pairs import sentence_pairs
from weft.corpus.sentences import split_sentences
from weft.errors import ConfigError, DataError
from weft.tokenization.tokenizer import Tokenizer

BLOCKS = "The quick fox. The lazy dog jumps!\nOver the dog.\n\n\nA café, über-coffee? Don't.\n \nfox\n"
WORDPIECE = tiny_tokenizer("wordpiece")
Load = Callable[..., Corpus]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write a text and load it as a corpus."""

    def run(text: str = BLOCKS, tokenizer: Tokenizer = WORDPIECE, max_tokens: int = 8, **options: object) -> Corpus:
        (tmp_path / "text.txt").write_text(text, encoding="utf-8", newline="")
        return load_corpus([tmp_path / "text.txt"], tokenizer, tmp_path / "cache", max_tokens=max_tokens, **options)  # type: ignore[arg-type]

    return run


def caches(folder: Path) -> list[Path]:
    return sorted((folder / "cache").iterdir())


# Documents


def read_documents(path: Path, documents: Documents, column: str = "text") -> list[list[str]]:
    """Each document as its lines."""
    found = groupby(read_pieces(path, documents, column), key=lambda piece: piece[0])
    return [[text.strip() for _, text in pieces] for _, pieces in found]


def row_documents(corpus: Corpus) -> list[int]:
    """The document of each row's first token."""
    owner = np.repeat(corpus.sentence_documents, np.diff(corpus.sentences))
    return owner[corpus.rows[:, 0]].tolist()


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ("blocks", [["a b", "c"], ["d"], ["e"]]),
        ("file", [["a b", "c", "d", "e"]]),
        ("rows", [["a b"], ["c"], ["d"], ["e"]]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_plain_text_is_divided_as_asked(
    tmp_path: Path, documents: Documents, expected: list[list[str]], end: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + end.join(["", "a b", "c", "", " \t", "d", "", "e"]).encode())
    assert read_documents(path, documents) == expected


def test_a_row_of_a_table_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text\n1,"x y\nz"\n2,w\n')
    (tmp_path / "a.jsonl").write_text('{"text": "x y\\nz"}\n{"text": "w"}\n')
    pq.write_table(pa.table({"text": ["x y\nz", "w"]}), tmp_path / "a.parquet")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        assert read_documents(tmp_path / name, "rows") == [["x y", "z"], ["w"]]
    with pytest.raises(DataError, match="rows"):
        read_documents(tmp_path / "a.csv", "blocks")
    with pytest.raises(DataError, match="column 'body'"):
        read_documents(tmp_path / "a.csv", "rows", "body")


@given(st.text(alphabet="ab. é日", max_size=300), st.integers(5, 40))
def test_a_giant_line_is_cut_without_losing_or_splitting_a_character(text: str, piece: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents_module, "_PIECE", piece)
        path = Path(folder) / "a.txt"
        path.write_text(text + "\n" + text, encoding="utf-8")
        lines: dict[int, str] = {}
        for line, part, _ in documents_module._line_pieces(path):
            assert len(part.encode()) <= 2 * piece + 3  # a character that the cut went through goes to the next piece
            lines[line] = lines.get(line, "") + part
        assert "".join(lines.values()) == text + "\n" + text
        assert [len(document) > 0 for document in read_documents(path, "rows")] == [True, True][
            : 2 * bool(text.strip())
        ]


def test_a_giant_line_is_one_document_and_keeps_its_words(load: Load) -> None:
    whole = load("the quick brown fox " * 20_000 + "\n\nfox", max_tokens=64)  # 400 KB in a line
    assert whole.sentence_documents[-1] == 1
    expected = WORDPIECE.backend.encode("the quick brown fox " * 20_000, add_special_tokens=False).ids
    assert whole.tokens[: len(expected)].tolist() == expected


@pytest.mark.parametrize("content", ["", "\n\n \n", "\ufeff"])
def test_an_empty_corpus_is_refused(load: Load, content: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"text\.txt: the corpus holds no text"):
        load(content)
    assert caches(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"good\nb\0d\n", "line 2: holds a NUL byte"),
        ("good\nfein\nschön\n".encode("cp1252"), "line 3: is not UTF-8 .byte 0xf6 at position 4"),
    ],
)
def test_binary_files_and_other_encodings_are_refused_by_their_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_corpus([tmp_path / "a.txt"], WORDPIECE, tmp_path / "cache", max_tokens=8)
    assert caches(tmp_path) == []


def test_missing_files_unknown_kinds_and_impossible_choices_are_refused(tmp_path: Path, load: Load) -> None:
    for name, message in (("no.txt", "no such file"), ("no.doc", "unknown file type")):
        with pytest.raises(DataError, match=message):
            load_corpus([tmp_path / name], WORDPIECE, tmp_path, max_tokens=8)
    with pytest.raises(ConfigError, match="blocks, file, rows"):
        load(documents="pages")
    with pytest.raises(ConfigError, match="at least 1 is needed"):
        load(max_tokens=0)


# Tokens and their cache


@pytest.mark.parametrize("kind", ["wordpiece", "bytes"])
def test_the_tokens_are_those_of_the_whole_text_and_words_begin_where_the_tokenizer_says(load: Load, kind: str) -> None:
    tokenizer = tiny_tokenizer(kind)
    got = load("The fox. The dog jumps! Über-coffee?\nDon't.", tokenizer, max_tokens=1000)
    whole = tokenizer.backend.encode("The fox. The dog jumps! Über-coffee? Don't.", add_special_tokens=False)
    assert got.ids(0).tolist() == whole.ids
    begins = [True] + [one != other for one, other in pairwise(whole.word_ids)]
    assert got.word_starts(0).tolist() == begins
    assert len(got) == 1


def test_counts_are_those_of_the_tokens_but_zero_for_special_ones(load: Load) -> None:
    got = load("the [MASK] fox the\n\n☃ the [SEP]")
    expected = np.bincount(got.tokens, minlength=WORDPIECE.size)
    special = special_ids(WORDPIECE)
    assert expected[special].sum() == 3
    expected[special] = 0
    assert (got.counts == expected).all()


def test_several_files_make_one_corpus_whose_documents_do_not_mix(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("the fox")
    got = load_corpus([tmp_path / "a.txt", tmp_path / "b.txt"], WORDPIECE, tmp_path, max_tokens=50, documents="file")
    assert row_documents(got) == [0, 1]


def test_the_arrays_are_read_only_views_of_the_mapped_file(load: Load) -> None:
    pool = pa.default_memory_pool()
    load("the quick fox jumps. " * 20_000)
    before = pool.bytes_allocated()
    got = load("the quick fox jumps. " * 20_000)
    assert pool.bytes_allocated() - before < got.tokens.nbytes / 4
    assert not got.tokens.flags.writeable
    assert np.shares_memory(got.ids(3), got.tokens)
    assert np.shares_memory(got.word_starts(3), got.begins_word)


def test_the_cache_is_found_again_and_made_anew_when_anything_that_shaped_it_changes(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    real = module.write_cache
    monkeypatch.setattr(module, "write_cache", lambda *args: (written.append(1), real(*args)))
    first = load()
    again = load(max_tokens=5)
    assert len(written) == 1
    assert (first.tokens == again.tokens).all()
    load(BLOCKS.replace("fox", "dog"))
    load(tokenizer=tiny_tokenizer("bytes"))
    load(documents="rows")
    assert len(written) == len(caches(tmp_path)) == 4
    load()
    assert len(written) == 4


def flip(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 0x55]) + raw[at + 1 :]


def test_a_damaged_cache_is_made_anew(load: Load, tmp_path: Path) -> None:
    text = BLOCKS * 20
    good = load(text)
    tokens, rows = good.tokens.tolist(), good.rows.tolist()
    (cache,) = caches(tmp_path)
    raw = cache.read_bytes()
    ids = raw.index(good.tokens.tobytes())
    for damaged in (
        b"",
        b"ARROW1",
        raw[: len(raw) // 2],
        raw[:-1],
        flip(raw, ids),
        flip(raw, ids + 3),
        b"x" * len(raw),
        raw.replace(b'"counts"', b'"cOunts"'),
        raw.replace(b'"tokens"', b'"tOkens"'),
        raw.replace(b'"words"', b'"wOrds"'),
    ):
        assert damaged != raw
        cache.unlink()
        cache.write_bytes(damaged)
        repairs = load(text)
        assert repairs.tokens.tolist() == tokens
        assert repairs.rows.tolist() == rows
        assert cache.read_bytes() == raw
    assert caches(tmp_path) == [cache]


def test_a_build_that_fails_leaves_nothing_behind(load: Load, tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(progress=stop)
    assert caches(tmp_path) == []


def test_progress_grows_to_the_size_of_the_files(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_BATCH", 20)
    calls: list[int] = []
    load(progress=calls.append)
    assert len(calls) > 3
    assert calls == sorted(calls)
    assert calls[-1] == (tmp_path / "text.txt").stat().st_size


# Rows

LENGTHS = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=8), max_size=6)


def laid_out(documents: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *(length for document in documents for length in document)])
    return offsets, np.array([number for number, document in enumerate(documents) for _ in document], np.int64)


def packed_one_by_one(documents: list[list[int]], room: int) -> list[list[int]]:
    """Rows by walking over the sentences."""
    rows, at = [], 0
    for document in documents:
        start = at
        for length in document:
            if at - start + length > room and at > start:
                rows.append([start, at])
                start = at
            at += length
            while at - start > room:
                rows.append([start, start + room])
                start += room
        rows.append([start, at])
    return rows


@given(LENGTHS, st.integers(1, 15))
def test_rows_are_those_of_a_walk_over_the_sentences(documents: list[list[int]], room: int) -> None:
    assert pack_rows(*laid_out(documents), room).tolist() == packed_one_by_one(documents, room)


@given(LENGTHS, st.integers(1, 15), st.integers(0, 1000))
def test_every_token_is_in_one_row_no_row_crosses_documents_and_words_are_cut_only_if_they_must_be(
    documents: list[list[int]], room: int, seed: int
) -> None:
    offsets, of = laid_out(documents)
    begins = np.random.default_rng(seed).random(offsets[-1]) < 0.5
    begins[offsets[:-1]] = True
    owner = np.repeat(of, np.diff(offsets))
    rows = pack_rows(offsets, of, room, begins)
    assert [place for start, end in rows for place in range(start, end)] == list(range(offsets[-1]))
    for start, end in rows:
        assert 1 <= end - start <= room
        assert (owner[start:end] == owner[start]).all()
        if end < offsets[-1] and not begins[end]:
            assert end - start == room
            assert not begins[start + 1 : end].any()


def test_a_corpus_puts_every_token_in_one_row(load: Load) -> None:
    got = load((BLOCKS + "\n") * 5)
    assert np.concatenate([got.ids(row) for row in range(len(got))]).tolist() == got.tokens.tolist()
    assert len(set(row_documents(got))) == 15
    assert all(len(got.ids(row)) <= 8 for row in range(len(got)))


# Sentences and pairs


@pytest.mark.parametrize(
    "sentences",
    [
        ["He came at 5 p.m. on Monday.", "She left."],
        ["Mr. Smith met Dr. J. R. Jones.", "See No. 5 and p. 7.", "5 came."],
        ['"Is it?" she said.', '"Yes."', "(Really.)"],
        ["It cost 3.5 dollars!", "¿Qué?", "Él vino.", "«Oui.»", "Non."],
        ["It was I.", "You know."],
        ["no capitals. so one sentence"],
    ],
)
def test_sentences_end_where_a_reader_would_end_them(sentences: list[str]) -> None:
    assert [piece.strip() for piece in split_sentences(" ".join(sentences))] == sentences


def test_lines_and_the_marks_of_chinese_and_japanese_end_sentences() -> None:
    assert split_sentences("one\ntwo\n") == ["one\n", "two\n"]
    assert split_sentences("日本語。テキスト！") == ["日本語。", "テキスト！"]


@given(st.text(alphabet="aB .!?\n\"'(5。…", max_size=60))
def test_sentences_joined_are_the_text(text: str) -> None:
    assert "".join(split_sentences(text)) == text
    assert all(split_sentences(text))


@pytest.mark.parametrize("odd", ["x", ".", "\n", ". ", '."', ". (", "a.", "!?", "。"])
def test_odd_texts_take_no_longer_than_others(odd: str) -> None:
    assert "".join(split_sentences(odd * 100_000)) == odd * 100_000  # would take minutes if anything were quadratic


def many_documents() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return laid_out([rng.integers(1, 40, rng.integers(1, 60)).tolist() for _ in range(300)])


def test_half_of_the_pairs_are_neighbours_and_the_others_come_from_other_documents() -> None:
    offsets, of = many_documents()
    owner = np.repeat(of, np.diff(offsets))
    pairs = sentence_pairs(offsets, of, 60, np.random.default_rng(1))
    a_start, a_end, b_start, b_end, is_next = pairs.T
    assert len(pairs) > 5000
    assert abs(is_next.mean() - 0.5) < 0.001
    assert (a_start < a_end).all()
    assert (b_start < b_end).all()
    assert (np.maximum(a_end - a_start, b_end - b_start) <= 30).all()
    assert ((a_end == b_start) == (is_next == 1)).all()
    assert ((owner[a_start] == owner[b_start]) == (is_next == 1)).all()
    assert (owner[a_start] == owner[a_end - 1]).all()
    assert (owner[b_start] == owner[b_end - 1]).all()
    assert np.isin(a_end, offsets).all()  # sides meet at the end of a sentence
    assert np.isin(b_start, offsets).all()


def test_sides_are_filled_and_every_other_document_is_drawn_from() -> None:
    offsets, of = many_documents()
    pairs = sentence_pairs(offsets, of, 100, np.random.default_rng(1))
    assert (pairs[:, 1] - pairs[:, 0]).mean() > 30
    owner = np.repeat(of, np.diff(offsets))
    strangers = pairs[pairs[:, 4] == 0]
    sizes = np.bincount(owner, minlength=300)
    drawn = np.bincount(owner[strangers[:, 2]], minlength=300)
    assert np.corrcoef(sizes, drawn)[0, 1] > 0.7


def test_pairs_are_drawn_anew_but_the_same_for_the_same_seed() -> None:
    offsets, of = many_documents()
    one, same, other = (sentence_pairs(offsets, of, 60, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist()
    true = [{tuple(pair) for pair in pairs[pairs[:, 4] == 1].tolist()} for pairs in (one, other)]
    assert len(true[0] & true[1]) < 0.6 * len(true[0])


@pytest.mark.parametrize(
    ("documents", "message"),
    [([[3, 4, 5]], "2 documents"), ([[3], [4], [5]], "neighbour"), ([], "2 documents")],
)
def test_a_corpus_without_other_documents_or_without_neighbours_is_refused(
    documents: list[list[int]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        sentence_pairs(*laid_out(documents), 8, np.random.default_rng(0), file="text.txt")
