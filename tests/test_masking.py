"""Masking: the shares, the laws and the borders of what is hidden, measured over a million tokens."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.corpus.masking import Masked, Unigrams, length_law, mask_spans, mask_tokens, mask_words

VOCABULARY, CLS, SEP, MASK = 200, 1, 2, 3
ORDINARY = 5  # ids from here on
COUNTS = np.where(np.arange(VOCABULARY) < ORDINARY, 0, 20_000 // (1 + np.arange(VOCABULARY)))
UNIGRAMS = Unigrams.from_counts(COUNTS)


class Line:
    """A packed line of rows [CLS] … [SEP], with words of one to four tokens."""

    def __init__(self, lengths: list[int], seed: int = 0, special: bool = True) -> None:
        rng = np.random.default_rng(seed)
        ids, barred, words, rows, word = [], [], [], [], 0
        for row, length in enumerate(lengths):
            begins = rng.random(length) < 0.7
            numbers = word + np.cumsum(begins)
            word = int(numbers[-1]) + 1 if length else word
            body = rng.integers(ORDINARY, VOCABULARY, length)
            ends = ([CLS], [SEP]) if special else ([], [])
            ids.append(np.concatenate([ends[0], body, ends[1]]).astype(np.int64))
            barred.append(np.isin(ids[-1], (CLS, SEP)))
            words.append(np.full(len(ids[-1]), -1))
            words[-1][~barred[-1]] = numbers
            rows.append(np.full(len(ids[-1]), len(lengths) - row))  # rows need not be in order
        self.ids, self.special = np.concatenate(ids), np.concatenate(barred)
        self.word_of, self.row_of = np.concatenate(words), np.concatenate(rows)

    def mask(self, kind: str, seed: int = 1, **options: float) -> Masked:
        rng = np.random.default_rng(seed)
        if kind == "tokens":
            return mask_tokens(self.ids, self.special, MASK, UNIGRAMS, rng, **options)
        if kind == "words":
            return mask_words(self.ids, self.special, self.word_of, MASK, UNIGRAMS, rng, **options)
        return mask_spans(self.ids, self.special, self.word_of, self.row_of, MASK, UNIGRAMS, rng, **options)  # type: ignore[arg-type]


KINDS = ["tokens", "words", "spans"]


@pytest.fixture(scope="module")
def million() -> tuple[Line, dict[str, Masked]]:
    line = Line([126] * 8000)
    return line, {kind: line.mask(kind) for kind in KINDS}


def spans_of(masked: Masked) -> list[tuple[int, int]]:
    """First place and end of each span, from the outside places."""
    assert masked.spans is not None
    return [(left + 1, right) for left, right in dict.fromkeys(map(tuple, masked.spans.tolist()))]


def fates(line: Line, masked: Masked, places: list[int]) -> str:
    """How the places of one unit were treated, judged as a whole."""
    hidden, gold = masked.ids[places], line.ids[places]
    if (hidden == MASK).all():
        return "masked"
    assert not (hidden == MASK).any()
    return "kept" if (hidden == gold).all() else "replaced"


@pytest.mark.parametrize("kind", KINDS)
def test_fifteen_percent_of_a_million_tokens_are_chosen_and_never_a_special_one(
    kind: str, million: tuple[Line, dict[str, Masked]]
) -> None:
    line, masked = million[0], million[1][kind]
    assert abs(len(masked.positions) / np.count_nonzero(~line.special) - 0.15) < 0.001
    assert not line.special[masked.positions].any()
    assert (np.diff(masked.positions) > 0).all()
    assert (masked.gold == line.ids[masked.positions]).all()
    others = np.setdiff1d(np.arange(len(line.ids)), masked.positions)
    assert (masked.ids[others] == line.ids[others]).all()
    assert not np.isin(masked.ids[masked.positions], (CLS, SEP)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_of_the_chosen_80_percent_are_masked_10_replaced_and_10_kept(
    kind: str, million: tuple[Line, dict[str, Masked]]
) -> None:
    masked = million[1][kind]
    hidden = masked.ids[masked.positions]
    changed = (hidden != masked.gold) & (hidden != MASK)
    # A replacement that happens to be the token itself looks as if it were kept.
    same = 0.1 * (COUNTS[masked.gold] / COUNTS.sum()).mean()
    assert abs((hidden == MASK).mean() - 0.8) < 0.005
    assert abs(changed.mean() + same - 0.1) < 0.005
    assert abs((hidden == masked.gold).mean() - same - 0.1) < 0.005


@pytest.mark.parametrize("kind", KINDS)
def test_replacements_follow_the_unigram_counts(kind: str, million: tuple[Line, dict[str, Masked]]) -> None:
    masked = million[1][kind]
    hidden = masked.ids[masked.positions]
    drawn = hidden[(hidden != masked.gold) & (hidden != MASK)]
    got = np.bincount(drawn, minlength=VOCABULARY)
    share = COUNTS / COUNTS.sum()
    # The line's own ids are uniform, so every id is lost to itself in the same proportion.
    lost = share * (1 - 1 / (VOCABULARY - ORDINARY))
    expected = lost / lost.sum() * len(drawn)
    assert not got[:ORDINARY].any()
    chi_square = ((got - expected)[ORDINARY:] ** 2 / expected[ORDINARY:]).sum()
    freedom = VOCABULARY - ORDINARY - 1
    assert abs(chi_square - freedom) < 5 * np.sqrt(2 * freedom)


def test_unigrams_are_drawn_by_their_share_and_never_where_the_count_is_zero() -> None:
    drawn = Unigrams.from_counts(np.array([0, 3, 0, 1, 0])).draw(np.random.default_rng(0), 40_000)
    assert set(drawn.tolist()) == {1, 3}
    assert abs((drawn == 1).mean() - 0.75) < 0.01


@pytest.mark.parametrize("counts", [[], [0, 0], [1, -1, 3]])
def test_counts_of_nothing_are_refused(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="counts"):
        Unigrams.from_counts(np.array(counts, np.int64))


@pytest.mark.parametrize("kind", ["words", "spans"])
def test_no_word_is_split(kind: str, million: tuple[Line, dict[str, Masked]]) -> None:
    line, masked = million[0], million[1][kind]
    chosen = np.zeros(len(line.ids), np.bool_)
    chosen[masked.positions] = True
    sizes = np.bincount(line.word_of[~line.special])
    hidden = np.bincount(line.word_of[chosen], minlength=len(sizes))
    assert ((hidden == 0) | (hidden == sizes)).all()


def test_the_tokens_of_a_word_share_their_fate() -> None:
    line = Line([126] * 100)
    masked = line.mask("words")
    words: dict[int, list[int]] = {}
    for place in masked.positions.tolist():
        words.setdefault(int(line.word_of[place]), []).append(place)
    got = [fates(line, masked, places) for places in words.values()]
    assert {fate: round(got.count(fate) / len(got), 1) for fate in set(got)} == {
        "masked": 0.8,
        "replaced": 0.1,
        "kept": 0.1,
    }


@pytest.mark.parametrize("kind", ["words", "spans"])
def test_a_unit_is_masked_kept_or_replaced_as_a_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line([126] * 100)
    line.ids = np.where(line.special, line.ids, ORDINARY + line.ids % 50)
    others = Unigrams.from_counts(np.where(np.arange(VOCABULARY) < 100, 0, COUNTS))  # none of which occurs in the line
    monkeypatch.setitem(globals(), "UNIGRAMS", others)
    masked = line.mask(kind)
    units: dict[int, list[int]] = {}
    for place in masked.positions.tolist():
        units.setdefault(int(line.word_of[place]), []).append(place)
    if kind == "spans":
        units = {start: list(range(start, end)) for start, end in spans_of(masked)}
    found: Counter[tuple[str, bool]] = Counter()
    for places in units.values():
        now, gold = masked.ids[places], line.ids[places]
        ways = {"masked": (now == MASK).all(), "kept": (now == gold).all(), "replaced": (now >= 100).all()}
        assert sum(ways.values()) == 1, (now, gold)
        found[next(way for way, is_so in ways.items() if is_so), len(places) > 1] += 1
    assert all(found[way, True] > 20 for way in ("masked", "kept", "replaced"))  # units of several tokens, of each


def test_long_words_are_chosen_as_often_as_short_ones(million: tuple[Line, dict[str, Masked]]) -> None:
    line, masked = million[0], million[1]["words"]
    sizes = np.bincount(line.word_of[~line.special])
    chosen = np.unique(line.word_of[masked.positions])
    for size in (1, 2, 3):
        assert abs((sizes[chosen] == size).sum() / (sizes == size).sum() - 0.15) < 0.004


def test_span_lengths_follow_the_truncated_geometric_law(million: tuple[Line, dict[str, Masked]]) -> None:
    line, masked = million[0], million[1]["spans"]
    lengths = [len(set(line.word_of[start:end].tolist())) for start, end in spans_of(masked)]
    got = np.bincount(lengths, minlength=11) / len(lengths)
    weights = [0.2 * 0.8 ** (length - 1) for length in range(1, 11)]
    expected = [0.0] + [weight / sum(weights) for weight in weights]
    assert len(got) == 11
    assert np.abs(got - expected).max() < 0.01
    assert np.allclose(length_law(0.2, 10), expected[1:])


def test_span_lengths_keep_their_law_where_rows_have_hardly_room_for_the_longest() -> None:
    lengths = []
    line = Line([18] * 400)
    for seed in range(15):
        masked = line.mask("spans", seed)
        lengths += [len(set(line.word_of[start:end].tolist())) for start, end in spans_of(masked)]
    got = np.bincount(lengths, minlength=11)[1:] / len(lengths)
    assert np.abs(got - length_law(0.2, 10)).max() < 0.015


@pytest.mark.parametrize(
    ("kind", "rows"),
    [("tokens", [9]), ("tokens", [40]), ("words", [40]), ("spans", [126, 126]), ("spans", [14] * 20)],
)
def test_small_batches_meet_the_share_on_average(kind: str, rows: list[int]) -> None:
    line = Line(rows)
    chosen = [len(line.mask(kind, seed).positions) for seed in range(1000)]
    assert abs(np.mean(chosen) / sum(rows) - 0.15) < 0.01


def check_spans(line: Line, masked: Masked) -> None:
    """Everything the borders of spans must keep, place by place."""
    assert masked.spans is not None
    assert masked.offset is not None
    chosen = set(masked.positions.tolist())
    spans = sorted(spans_of(masked))
    assert sorted(chosen) == [place for start, end in spans for place in range(start, end)]
    for start, end in spans:
        assert 0 <= start - 1 < end < len(line.ids)
        assert len(set(line.row_of[start - 1 : end + 1].tolist())) == 1
        assert not {start - 1, end} & chosen
        assert not line.special[start:end].any()
        assert line.word_of[start - 1] != line.word_of[start]
        assert line.word_of[end - 1] != line.word_of[end]
        assert len(set(line.word_of[start:end].tolist())) <= 10
        fates(line, masked, list(range(start, end)))
    assert all(end < start for (_, end), (start, _) in pairwise(spans))
    for place, (left, right), offset in zip(masked.positions, masked.spans, masked.offset, strict=True):
        assert left < place < right
        assert offset == place - left - 1


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 1000), st.booleans(), st.floats(0.05, 0.6))
def test_spans_keep_to_their_row_never_touch_and_have_one_fate(
    lengths: list[int], seed: int, special: bool, share: float
) -> None:
    if not lengths:
        return
    line = Line(lengths, seed, special)
    masked = line.mask("spans", seed, share=share)
    check_spans(line, masked)
    if special and any(lengths):
        assert len(masked.positions)


def test_spans_do_not_run_over_a_special_token_within_a_row() -> None:
    line = Line([60, 60])
    line.row_of[:] = 0  # [CLS] a [SEP] [CLS] b [SEP], one row
    for seed in range(100):
        check_spans(line, line.mask("spans", seed, share=0.4))


def test_every_part_of_a_row_is_hidden_about_as_often() -> None:
    line = Line([60])
    chosen = np.zeros(62)
    for seed in range(2000):
        chosen[line.mask("spans", seed).positions] += 1
    thirds = [part.mean() / 2000 for part in np.split(chosen[7:-7], 3)]
    assert max(thirds) - min(thirds) < 0.03


@pytest.mark.parametrize("kind", KINDS)
@given(length=st.integers(1, 6), seed=st.integers(0, 500))
def test_at_least_one_place_is_chosen_where_there_is_an_ordinary_token(kind: str, length: int, seed: int) -> None:
    assert len(Line([0, length, 0], seed).mask(kind, seed).positions) >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_special_tokens_only_is_left_alone(kind: str) -> None:
    line = Line([0, 0])
    masked = line.mask(kind)
    assert len(masked.positions) == len(masked.gold) == 0
    assert (masked.ids == line.ids).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_and_the_input_is_not_changed(kind: str) -> None:
    line = Line([50, 20, 90])
    before = line.ids.copy()
    one, same, other = line.mask(kind, 5), line.mask(kind, 5), line.mask(kind, 6)
    assert (line.ids == before).all()
    assert (one.ids == same.ids).all()
    assert (one.positions == same.positions).all()
    assert one.positions.tolist() != other.positions.tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_an_impossible_share_is_refused(kind: str, share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        Line([5]).mask(kind, share=share)
