"""Words keep their characters and tokens, and windows cover a long row without cutting words."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest
import tokenizers
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers, processors

from conftest import lines_run
from weft.checkpoints.source import find_folder
from weft.errors import ConfigError
from weft.tokenization.tokenizer import TokenizedRow, Tokenizer
from weft.tokenization.windows import Window, cut_windows, deciding_windows
from weft.tokenization.words import Words, find_words, join_words, word_range

KINDS = ("minilm", "wordpiece", "bytes", "unigram", "compatible")
LONG = 1_000_000
odd_text = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(list("abc fox,.'  \t\n\r\x00\x07\u0301\u0308\u200b\u200d\ufe0f👩🏽🏳é日א\u202eم한…½¨ﬁ")),
    ),
    max_size=60,
)
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def compatible() -> Tokenizer:
    """A tokenizer of characters that writes "…" as "..." first, so that several words can lie on one character."""
    backend = tokenizers.Tokenizer(models.WordLevel({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, ".": 3}, unk_token="[UNK]"))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return Tokenizer(backend)


@pytest.fixture(scope="module")
def kinds(tiny_tokenizers: dict[str, Tokenizer]) -> dict[str, Tokenizer]:
    minilm = Tokenizer.from_folder(find_folder("minilm"))
    return {"minilm": minilm, **tiny_tokenizers, "compatible": compatible()}


def encode(tokenizer: Tokenizer, text: str) -> TokenizedRow:
    return tokenizer.encode([text], max_length=LONG, offsets=True)[0]


def check_order(words: Words) -> None:
    assert len(words) == len(words.char_starts) == len(words.char_ends) == len(words.sizes) == len(words.tokens())
    assert all(start < end for start, end in zip(words.char_starts, words.char_ends, strict=True))
    assert all(end <= start for end, start in zip(words.char_ends, words.char_starts[1:], strict=False))
    places = [place for tokens in words.tokens() for place in tokens]
    assert all(words.tokens())
    assert places == sorted(set(places))


def range_by_scan(words: Words, start: int, end: int) -> tuple[int, int] | None:
    wanted = set(range(start, end))
    hit = [n for n in range(len(words.char_starts)) if wanted & set(range(words.char_starts[n], words.char_ends[n]))]
    return (hit[0], hit[-1] + 1) if hit else None


def check_round_trip(words: Words, data: st.DataObject) -> None:
    """Spans of words as characters are the same spans of words again."""
    for _ in range(5):
        first = data.draw(st.integers(0, len(words.char_starts) - 1))
        last = data.draw(st.integers(first, len(words.char_starts) - 1))
        assert word_range(words, words.char_starts[first], words.char_ends[last]) == (first, last + 1)


@given(st.lists(odd_text, max_size=8))
def test_joined_words_are_found_at_their_characters(words: list[str]) -> None:
    text, spans = join_words(words)
    assert [text[start:end] for start, end in spans] == words
    assert all(text[end] == " " and end + 1 == start for (_, end), (start, _) in pairwise(spans))
    assert len(text) == sum(map(len, words)) + max(0, len(words) - 1)


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(text=odd_text, data=st.data())
def test_spans_of_the_tokenizers_words_survive_the_way_through_characters(
    kinds: dict[str, Tokenizer], kind: str, text: str, data: st.DataObject
) -> None:
    row = encode(kinds[kind], text)
    words = find_words(row)
    check_order(words)
    assert sorted(place for tokens in words.tokens() for place in tokens) == sorted(
        place for _, _, places in row.word_groups() for place in places
    )
    for start, end, tokens in zip(words.char_starts, words.char_ends, words.tokens(), strict=True):
        spans = [row.offsets[place] for place in tokens if row.offsets[place][0] < row.offsets[place][1]]
        assert (min(low for low, _ in spans), max(high for _, high in spans)) == (start, end)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert word_range(words, start, end) == range_by_scan(words, start, end)
    if words.char_starts:
        check_round_trip(words, data)


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(given_words=st.lists(odd_text, max_size=8), data=st.data())
def test_spans_of_given_words_survive_the_way_through_characters(
    kinds: dict[str, Tokenizer], kind: str, given_words: list[str], data: st.DataObject
) -> None:
    text, spans = join_words(given_words)
    row = encode(kinds[kind], text)
    words = find_words(row, spans)
    check_order(words)
    by_hand: dict[int, list[int]] = {}
    for place, (start, end) in enumerate(row.offsets):
        if row.texts[place] >= 0 and start < end:
            for number, (low, high) in enumerate(spans):
                if low <= start < high:
                    by_hand.setdefault(number, []).append(place)
    assert list(zip(words.char_starts, words.char_ends, strict=True)) == [spans[number] for number in sorted(by_hand)]
    assert words.tokens() == [by_hand[number] for number in sorted(by_hand)]
    if words.char_starts:
        check_round_trip(words, data)


def test_words_that_share_a_character_are_one(kinds: dict[str, Tokenizer]) -> None:
    row = encode(kinds["compatible"], "so … yes")
    assert len(row.word_groups()) == 5
    words = find_words(row)
    assert [*words.char_starts, *words.char_ends] == [0, 3, 5, 2, 4, 8]
    assert words.tokens() == [[1], [2, 3, 4], [5]]


def test_given_words_of_which_the_tokenizer_keeps_nothing_are_left_out(kinds: dict[str, Tokenizer]) -> None:
    text, spans = join_words(["the", "\u200b", "", " ", "quick-fox", "\x00"])
    words = find_words(encode(kinds["minilm"], text), spans)
    assert words.tokens() == [[1], [2, 3, 4]]
    assert [*words.char_starts, *words.char_ends] == [0, 9, 3, 18]


def test_tokens_of_no_given_word_are_left_out(kinds: dict[str, Tokenizer]) -> None:
    words = find_words(encode(kinds["minilm"], "the quick fox"), [(0, 3), (10, 13)])
    assert words.tokens() == [[1], [3]]
    words = find_words(encode(kinds["minilm"], "quick-fox"), [(0, 5), (6, 9)])  # the dash starts where a word ends
    assert words.tokens() == [[1], [3]]


def test_no_characters_and_blanks_between_words_hit_no_word(kinds: dict[str, Tokenizer]) -> None:
    words = find_words(encode(kinds["minilm"], "the  fox"))
    assert word_range(words, 1, 1) is None
    assert word_range(words, 3, 5) is None
    assert word_range(words, 8, 99) is None
    assert word_range(words, 2, 6) == (0, 2)
    assert word_range(find_words(encode(kinds["minilm"], "")), 0, 5) is None


def made_row(sizes: list[int | None], before: int = 1, after: int = 1) -> TokenizedRow:
    """A row of words of these many tokens (None: one token without a word) between special tokens."""
    words = [-1] * before
    for number, size in enumerate(sizes):
        words += [-1] if size is None else [number] * size
    words += [-1] * after
    positions = np.arange(len(words), dtype=np.int32)
    texts = np.where((positions >= before) & (positions < len(words) - after), 0, -1).astype(np.int8)
    offsets = np.stack([positions, positions + 1], 1)
    segments = (positions % 2).astype(np.uint8)
    return TokenizedRow(1000 + positions, segments, 7, offsets, texts, np.array(words, np.int32))


rows = st.builds(
    made_row,
    st.lists(st.one_of(st.none(), st.integers(1, 4), st.integers(1, 14)), max_size=40),
    st.integers(0, 2),
    st.integers(0, 2),
)


def text_of(row: TokenizedRow, window: Window) -> list[int]:
    return [place for place in window.positions.tolist() if row.texts[place] >= 0]


def word_tokens(row: TokenizedRow) -> list[list[int]]:
    """The places of every word of the text, and of every token without a word."""
    places = np.flatnonzero(row.texts >= 0).tolist()
    groups = groupby(places, lambda place: (row.words[place], place if row.words[place] < 0 else -1))
    return [list(group) for _, group in groups]


@settings(max_examples=400, deadline=None)
@given(row=rows, limit=st.integers(5, 24), overlap=st.integers(0, 24))
def test_windows_cover_the_row_in_order_within_the_limit_and_cut_no_word_that_fits(
    row: TokenizedRow, limit: int, overlap: int
) -> None:
    windows = cut_windows(row, limit, overlap)
    special = np.flatnonzero(row.texts < 0).tolist()
    room = limit - len(special)
    assert {place for window in windows for place in window.positions.tolist()} == set(range(len(row.ids)))
    for window in windows:
        assert len(window.row) == len(window.positions) <= limit
        assert window.row.dropped == 0
        for name in ("ids", "segments", "offsets", "texts", "words"):
            assert np.array_equal(getattr(window.row, name), getattr(row, name)[window.positions])
        assert [place for place in window.positions if row.texts[place] < 0] == special
        text = text_of(row, window)
        assert text == list(range(min(text, default=0), max(text, default=-1) + 1))
        for word in word_tokens(row):
            held = set(word) & set(text)
            assert not held or len(held) == len(word) or len(word) > room
    assert (len(windows) == 1) == (len(row.ids) <= limit)


@settings(max_examples=400, deadline=None)
@given(row=rows, limit=st.integers(5, 24), overlap=st.integers(0, 24))
def test_neighbours_share_what_was_asked_for_and_the_last_window_is_full(
    row: TokenizedRow, limit: int, overlap: int
) -> None:
    windows = cut_windows(row, limit, overlap)
    assume(len(windows) > 1)
    sizes = [len(word) for word in word_tokens(row)]
    room = limit - np.count_nonzero(row.texts < 0)
    wanted = min(overlap, room // 2)
    texts = [text_of(row, window) for window in windows]
    for before, after in pairwise(texts):
        assert before[0] < after[0] <= before[-1] + 1
        assert before[-1] < after[-1]
        if after is not texts[-1]:
            assert before[-1] + 1 - after[0] <= wanted
        if max(sizes) == 1:
            assert before[-1] + 1 - after[0] >= wanted
            assert len(before) == len(after) == room
    assert len(texts[-1]) > room - max((size for size in sizes if size <= room), default=1)


def owner_by_hand(row: TokenizedRow, windows: list[Window], place: int) -> int:
    """The window of one token, from the definition."""
    if row.texts[place] < 0:
        return 0
    texts = [text_of(row, window) for window in windows]
    word = next(word for word in word_tokens(row) if place in word)
    holders = [number for number, text in enumerate(texts) if set(word) <= set(text)]
    if not holders:
        holders, word = [number for number, text in enumerate(texts) if place in text], [place]
    everything = np.flatnonzero(row.texts >= 0)

    def distance(number: int) -> float:
        text = texts[number]
        before = float("inf") if text[0] == everything[0] else word[0] - text[0]
        after = float("inf") if text[-1] == everything[-1] else text[-1] - word[-1]
        return min(before, after)

    return max(holders, key=lambda number: (distance(number), -number))


@settings(max_examples=200, deadline=None)
@given(row=rows, limit=st.integers(5, 24), overlap=st.integers(0, 24))
def test_every_token_belongs_to_the_window_with_most_context_and_words_stay_together(
    row: TokenizedRow, limit: int, overlap: int
) -> None:
    windows = cut_windows(row, limit, overlap)
    found = list(zip(*deciding_windows(row, windows), strict=True))
    assert len(found) == len(row)
    for place, (number, inside) in enumerate(found):
        assert windows[number].positions[inside] == place
        assert windows[number].row.ids[inside] == row.ids[place]
        assert number == owner_by_hand(row, windows, place)
    for word in word_tokens(row):
        if any(set(word) <= set(window.positions.tolist()) for window in windows):
            assert len({found[place][0] for place in word}) == 1


def test_plain_windows_are_where_one_expects_them() -> None:
    row = made_row([1] * 10)
    windows = cut_windows(row, 6, 2)
    assert [window.positions.tolist() for window in windows] == [
        [0, 1, 2, 3, 4, 11],
        [0, 3, 4, 5, 6, 11],
        [0, 5, 6, 7, 8, 11],
        [0, 7, 8, 9, 10, 11],
    ]
    assert deciding_windows(row, windows)[0].tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 0]


@pytest.mark.parametrize("limit", [1, 2])
def test_a_window_without_room_for_text_is_refused(limit: int) -> None:
    with pytest.raises(ConfigError, match=f"a window of {limit} tokens leaves no room for text beside 2 special"):
        cut_windows(made_row([1, 1]), limit, 0)


def test_a_row_without_text_is_one_window() -> None:
    row = made_row([])
    windows = cut_windows(row, 2, 1)
    assert [window.positions.tolist() for window in windows] == [[0, 1]]
    assert [column.tolist() for column in deciding_windows(row, windows)] == [[0, 0], [0, 1]]


def test_a_long_text_is_cut_without_losing_a_token_at_a_cost_that_grows_with_its_length(
    kinds: dict[str, Tokenizer],
) -> None:
    def cut(times: int) -> int:
        row = encode(kinds["minilm"], "unbelievably quick foxes, naïveté! " * times)
        windows = cut_windows(row, 256, 64)
        chosen = zip(*deciding_windows(row, windows), strict=True)
        assert [windows[number].row.ids[inside] for number, inside in chosen] == row.ids.tolist()
        return lines_run(lambda: deciding_windows(row, cut_windows(row, 256, 64)))

    assert cut(600) < 2.2 * cut(300)
