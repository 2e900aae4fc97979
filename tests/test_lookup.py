"""The lookup marks and tags what training had, by its wording alone, and nothing else."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import lines_run
from weft.baselines.lookup import lookup_spans, lookup_tags
from weft.metrics.spans import Span

pytestmark = pytest.mark.filterwarnings("error")

quick = settings(max_examples=200, deadline=None)


def marked(text: str, **names: str) -> tuple[str, list[Span]]:
    """A text and the spans of the given words in it, each by its first occurrence: label="words"."""
    return text, [(text.index(words), text.index(words) + len(words), label) for label, words in names.items()]


def found(train: list[tuple[str, list[Span]]], text: str) -> list[tuple[str, str]]:
    """The marked words and their labels."""
    return [(text[start:end], label) for start, end, label in lookup_spans(train, [text])[0]]


# Spans


def test_every_occurrence_of_a_training_span_is_marked() -> None:
    train = [marked("Anna went to Paris", PER="Anna", LOC="Paris")]
    assert lookup_spans(train, ["Paris, said Anna, is Paris", "Rome", ""]) == [
        [(0, 5, "LOC"), (12, 16, "PER"), (21, 26, "LOC")],
        [],
        [],
    ]


def test_case_and_the_number_of_blanks_do_not_matter() -> None:
    train = [marked("in New \n York now", LOC="New \n York")]
    assert found(train, "NEW YORK and new\t\tyork") == [("NEW YORK", "LOC"), ("new\t\tyork", "LOC")]


def test_a_blank_is_not_the_same_as_none() -> None:
    train = [marked("the U.S. is big", LOC="U.S.")]
    assert found(train, "u.s. or U. S. or U.S") == [("u.s.", "LOC")]


def test_offsets_hold_where_casefolding_changes_the_length() -> None:
    train = [marked("die Große Straße hier", LOC="Große Straße")]
    assert found(train, "ßß İ GROSSE STRASSE ß") == [("GROSSE STRASSE", "LOC")]


def test_only_whole_words_are_marked() -> None:
    train = [marked("a man from Man", LOC="Man"), marked("off to Man", LOC="Man")]
    assert found(train, "Manchester, German, Man-made, man_made, (Man)") == [("Man", "LOC"), ("Man", "LOC")]


def test_the_commonest_label_wins_and_ties_are_settled_by_name() -> None:
    often = [marked("Jordan plays", PER="Jordan")] * 2 + [marked("to Jordan", LOC="Jordan")]
    assert found(often, "Jordan") == [("Jordan", "PER")]
    tied = [marked("Jordan plays", PER="Jordan"), marked("to Jordan", LOC="Jordan")]
    assert found(tied, "Jordan") == found(tied[::-1], "Jordan") == [("Jordan", "LOC")]


def test_a_wording_needs_to_be_a_span_in_half_of_its_occurrences() -> None:
    half = [marked("May came", PER="May"), ("it may rain", [])]
    assert found(half, "in May") == [("May", "PER")]
    assert found([*half, ("may I", [])], "in May") == []


def test_one_occurrence_with_two_labels_is_one_occurrence() -> None:
    train = [marked("May came", PER="May", DATE="May"), ("it may rain or may not", [])]
    assert found(train, "in May") == []


def test_a_span_named_twice_counts_once() -> None:
    text, spans = marked("Jordan plays", PER="Jordan")
    train = [(text, spans * 3), *[marked("to Jordan", LOC="Jordan")] * 2]
    assert found(train, "Jordan") == [("Jordan", "LOC")]


def test_the_longest_is_marked_first_and_nothing_overlaps_it() -> None:
    train = [
        marked("Bank of England", ORG="Bank of England"),
        marked("England", LOC="England"),
        marked("to England", LOC="England"),
        marked("the England cricket team", TEAM="England cricket team"),
    ]
    # "England cricket team" begins later but is longer than "Bank of England".
    assert found(train, "Bank of England cricket team") == [("England cricket team", "TEAM")]
    assert found(train, "Bank of England in England") == [("Bank of England", "ORG"), ("England", "LOC")]


def test_of_equally_long_ones_the_first_in_the_text_is_marked() -> None:
    train = [marked("aa bb", X="aa bb"), marked("bb cc", Y="bb cc")]
    assert found(train, "aa bb cc") == [("aa bb", "X")]


def test_blanks_at_the_ends_of_a_training_span_are_ignored() -> None:
    text = "to  Paris  now"
    assert found([(text, [(2, 11, "LOC")])], "Paris") == [("Paris", "LOC")]
    assert found([(text, [(3, 10, "LOC")])], "Paris") == [("Paris", "LOC")]
    assert found([(text, [(2, 4, "LOC")])], text) == []


def test_training_spans_within_a_word_are_left_out() -> None:
    assert found([marked("Manchester", LOC="Man")], "Man Manchester") == []
    assert found([marked("the Manchester", LOC="the Man")], "the Man") == []


def test_no_training_spans_mark_nothing_and_no_training_rows_are_refused() -> None:
    assert lookup_spans([("Anna", [])], ["Anna"]) == [[]]
    assert lookup_spans([marked("Anna", PER="Anna")], []) == []
    with pytest.raises(ValueError, match="at least one training row"):
        lookup_spans([], ["Anna"])


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 2), (3, 2), (0, 5)])
def test_spans_outside_of_their_text_are_refused_without_showing_it(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="training row 1 .* 4 characters") as caught:
        lookup_spans([("Otto", []), ("Anna", [(start, end, "PER")])], [])
    assert "Anna" not in str(caught.value)


def plain_occurrences(wording: str, text: str) -> list[tuple[int, int]]:
    """All stretches of `text` between two word boundaries that read as `wording`, by trying every pair of them."""
    words = [(match.start(), match.end()) for match in re.finditer(r"\w+|[^\w\s]", text)]
    return [
        (start, end)
        for place, (start, _) in enumerate(words)
        for _, end in words[place:]
        if " ".join(text[start:end].casefold().split()) == wording
    ]


def plain_lookup(train: list[tuple[str, list[Span]]], text: str) -> list[Span]:
    labels: dict[str, list[str]] = {}
    for words, spans in train:
        for start, end, label in sorted(set(spans)):
            labels.setdefault(" ".join(words[start:end].casefold().split()), []).append(label)
    matches = []
    for wording, names in labels.items():
        places = [
            (start, end) in {span[:2] for span in spans}
            for words, spans in train
            for start, end in plain_occurrences(wording, words)
        ]
        if 2 * sum(places) >= len(places):
            label = min(names, key=lambda name: (-names.count(name), name))
            matches += [(-len(wording), start, end, label) for start, end in plain_occurrences(wording, text)]
    chosen: list[Span] = []
    for _, start, end, label in sorted(matches):
        if all(end <= other[0] or other[1] <= start for other in chosen):
            chosen.append((start, end, label))
    return sorted(chosen)


texts = st.lists(st.sampled_from(["a", "A", "b", "bb", "-", " ", " ", "  ", "\n"]), max_size=12).map("".join)


@st.composite
def rows_with_spans(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(texts)
    words = [(match.start(), match.end()) for match in re.finditer(r"\w+|[^\w\s]", text)]
    spans = []
    for _ in range(draw(st.integers(0, 3)) if words else 0):
        first, last = sorted((draw(st.sampled_from(words)), draw(st.sampled_from(words))))
        spans.append((first[0], last[1], draw(st.sampled_from("XY"))))
    return text, spans


@quick
@given(st.lists(rows_with_spans(), min_size=1, max_size=4), texts)
def test_marks_agree_with_trying_every_stretch_of_text(train: list[tuple[str, list[Span]]], text: str) -> None:
    assert lookup_spans(train, [text]) == [plain_lookup(train, text)]


def test_twice_as_many_wordings_cost_about_twice_as_much() -> None:
    def cost(rows: int) -> int:
        source = random.Random(0)
        words = [f"w{number}" for number in range(5_000)]
        train: list[tuple[str, list[Span]]] = []
        for _ in range(rows):
            text = " ".join(source.choices(words, k=15))
            end = text.index(" ", text.index(" ") + 1)
            train.append((text, [(0, end, "X")]))
        return lines_run(lambda: lookup_spans(train, [text for text, _ in train]))

    assert cost(800) < 2.5 * cost(400)


# Tags


def test_words_get_their_commonest_tag_and_unseen_words_the_overall_one() -> None:
    train = [(["The", "run", "the", "run"], ["D", "N", "D", "N"]), (["dogs", "run", "fast"], ["N", "V", "A"])]
    assert lookup_tags(train, [["THE", "Run", "fast"], [], ["cats"]]) == [["D", "N", "A"], [], ["N"]]


def test_equally_common_tags_are_settled_by_name() -> None:
    train = [(["run", "run"], ["V", "N"])]
    assert lookup_tags(train, [["run", "new"]]) == [["N", "N"]]
    assert lookup_tags([(["run", "run"], ["N", "V"])], [["run", "new"]]) == [["N", "N"]]


def test_the_overall_tag_counts_words_as_often_as_they_occur() -> None:
    train = [(["the"] * 3 + ["dog", "cat"], ["D"] * 3 + ["N", "N"])]
    assert lookup_tags(train, [["new"]]) == [["D"]]


def test_unequal_words_and_tags_are_refused() -> None:
    with pytest.raises(ValueError, match="training row 1 has 2 words but 1 tags"):
        lookup_tags([(["a"], ["X"]), (["a", "b"], ["X"])], [])


def test_tags_need_a_training_word() -> None:
    for train in ([], [([], [])]):
        with pytest.raises(ValueError, match="at least one training word"):
            lookup_tags(train, [["a"]])


def test_the_lookup_needs_no_torch() -> None:
    code = "import sys, weft.baselines.lookup; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
