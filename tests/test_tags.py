"""Tags and spans of words say the same, and what tags cannot say is refused or mended and counted."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from weft.checkpoints.source import find_folder
from weft.data.bio import WordSpan, allowed_transitions, spans_of_tags, tags_of_spans
from weft.tokenization.tokenizer import Tokenizer
from weft.tokenization.words import find_words, join_words, word_range

KINDS = ("minilm", "wordpiece", "bytes", "unigram")
LABELS = ("PER", "LOC", "a-b", "span", "Ä ö")
BIO = ["O", "B-x", "I-x", "B-y", "I-y"]
ANY = [*BIO, "E-x", "S-x", "L-y", "U-y", "E-y", "S-y"]
odd_text = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(list("abc fox,.'  \t\n\r\x00\x07\u0301\u0308\u200b\u200d\ufe0f👩🏽🏳é日א\u202eم한")),
    ),
    max_size=60,
)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def kinds(tiny_tokenizers: dict[str, Tokenizer]) -> dict[str, Tokenizer]:
    return {"minilm": Tokenizer.from_folder(find_folder("minilm")), **tiny_tokenizers}


@st.composite
def disjoint_spans(draw: st.DrawFn, size: int) -> list[WordSpan]:
    """Spans in order, between any chosen cuts; touching ones of the same label too."""
    cuts = sorted(draw(st.lists(st.integers(0, size), unique=True, max_size=10)))
    return [(start, end, draw(st.sampled_from(LABELS))) for start, end in pairwise(cuts) if draw(st.booleans())]


def bioes_of(spans: list[WordSpan], size: int, end: str = "E", single: str = "S") -> list[str]:
    """BIOES tags, written by hand."""
    tags = ["O"] * size
    for start, stop, label in spans:
        letters = [single] if stop - start == 1 else ["B", *"I" * (stop - start - 2), end]
        tags[start:stop] = [f"{letter}-{label}" for letter in letters]
    return tags


@given(size=st.integers(0, 20), data=st.data())
def test_spans_survive_the_way_through_tags(size: int, data: st.DataObject) -> None:
    spans = data.draw(disjoint_spans(size))
    tags = tags_of_spans(data.draw(st.permutations(spans)), size)
    assert len(tags) == size
    assert spans_of_tags(tags) == (spans, 0)
    assert spans_of_tags(bioes_of(spans, size)) == (spans, 0)
    assert spans_of_tags(bioes_of(spans, size, "L", "U")) == (spans, 0)
    assert spans_of_tags(tags, repair=True) == (spans, 0)


def test_tags_are_the_ones_everybody_writes() -> None:
    assert tags_of_spans([(3, 4, "LOC"), (0, 2, "PER"), (2, 3, "PER")], 5) == ["B-PER", "I-PER", "B-PER", "B-LOC", "O"]
    assert tags_of_spans([], 2) == ["O", "O"]


def parses(tags: list[str]) -> bool:
    try:
        spans_of_tags(tags)
    except ValueError:
        return False
    return True


@given(st.lists(st.sampled_from(BIO), max_size=8))
def test_the_steps_allow_exactly_the_sequences_that_parse(tags: list[str]) -> None:
    steps = allowed_transitions(BIO)
    edge = len(BIO)
    path = [edge, *map(BIO.index, tags), edge]
    assert all(steps[a][b] for a, b in pairwise(path)) == parses(tags)


def test_the_steps_are_these() -> None:
    yes, no = True, False
    assert allowed_transitions(BIO) == [
        # O, B-x, I-x, B-y, I-y, end
        [yes, yes, no, yes, no, yes],  # O
        [yes, yes, yes, yes, no, yes],  # B-x
        [yes, yes, yes, yes, no, yes],  # I-x
        [yes, yes, no, yes, yes, yes],  # B-y
        [yes, yes, no, yes, yes, yes],  # I-y
        [yes, yes, no, yes, no, yes],  # start
    ]


def by_hand(tags: list[str]) -> tuple[list[WordSpan], int]:
    """Spans and mended tags, by turning every tag into BIO first: E continues and closes, S begins and closes."""
    bio: list[str] = []
    open_label, repairs = "", 0
    for tag in tags:
        letter, _, label = tag.partition("-")
        letter = {"L": "E", "U": "S"}.get(letter, letter)
        if letter in "IE" and label != open_label:
            repairs += 1
            bio.append(f"B-{label}")
        elif letter == "O":
            bio.append("O")
        else:
            bio.append(f"{'I' if letter in 'IE' else 'B'}-{label}")
        open_label = label if letter in "BI" else ""
    starts = [place for place, tag in enumerate(bio) if tag[0] == "B"]
    spans = []
    for start in starts:
        end = start + 1
        while end < len(bio) and bio[end][0] == "I":
            end += 1
        spans.append((start, end, bio[start][2:]))
    return spans, repairs


@given(st.lists(st.sampled_from(ANY), max_size=10))
def test_any_known_tags_are_read_as_their_bio_and_every_mended_one_is_counted(tags: list[str]) -> None:
    spans, repairs = by_hand(tags)
    assert spans_of_tags(tags, repair=True) == (spans, repairs)
    assert parses(tags) == (repairs == 0)


@pytest.mark.parametrize(
    ("tags", "spans", "repairs"),
    [
        (["I-x", "I-x", "O", "I-x"], [(0, 2, "x"), (3, 4, "x")], 2),
        (["B-x", "I-y", "I-y"], [(0, 1, "x"), (1, 3, "y")], 1),
        (["B-x", "what", "I-x"], [(0, 1, "x"), (2, 3, "x")], 2),
        (["B-", "B-x", "", "o", "X-x"], [(1, 2, "x")], 4),
        (["E-x", "I-x"], [(0, 1, "x"), (1, 2, "x")], 2),
        (["S-x", "I-x"], [(0, 1, "x"), (1, 2, "x")], 1),
        (["B", "I", "O", "S"], [(0, 2, "span"), (3, 4, "span")], 0),
        (["B-a-b", "I-a-b", "I-a"], [(0, 2, "a-b"), (2, 3, "a")], 1),
        ([], [], 0),
    ],
)
def test_what_continues_nothing_begins_a_span_and_what_is_unknown_is_outside(
    tags: list[str], spans: list[WordSpan], repairs: int
) -> None:
    assert spans_of_tags(tags, repair=True) == (spans, repairs)
    assert parses(tags) == (repairs == 0)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (["O", "I-x"], "word 2 has a tag with I-, which continues nothing; allowed: only after B- or I- of the same"),
        (["B-x", "O", "E-x"], "word 3 has a tag with E-, which continues nothing"),
        (["PER"], "word 1 has a text of 3 characters for its tag; allowed: O, or B-, I-, E-, S-, L-, U- and a label"),
        (["O", "B-"], "word 2 has a text of 2 characters for its tag; allowed"),
        (["z" * 41], "word 1 has a text of 41 characters for its tag; allowed"),
    ],
)
def test_a_wrong_tag_is_named_with_its_word_and_what_is_allowed(tags: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spans_of_tags(tags)


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((1, 3, "x"), r"the span of words \[1, 3\) overlaps another at word 3"),
        ((1, 1, "x"), r"the span of words \[1, 1\) is not within \[0, 4\), or is empty"),
        ((3, 5, "x"), r"\[3, 5\) is not within \[0, 4\)"),
        ((-1, 1, "x"), r"\[-1, 1\) is not within \[0, 4\)"),
    ],
)
def test_spans_that_tags_cannot_say_are_refused(span: WordSpan, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tags_of_spans([(2, 4, "y"), span], 4)


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(text=odd_text, words=st.none() | st.lists(odd_text, max_size=8), data=st.data())
def test_tags_survive_the_way_through_characters_of_any_text(
    kinds: dict[str, Tokenizer], kind: str, text: str, words: list[str] | None, data: st.DataObject
) -> None:
    spans_given = None
    if words is not None:
        text, spans_given = join_words(words)
    found = find_words(kinds[kind].encode([text], max_length=100_000, offsets=True)[0], spans_given)
    size = len(found.char_starts)
    assume(size)
    spans = data.draw(disjoint_spans(size))
    characters = [(found.char_starts[start], found.char_ends[end - 1], label) for start, end, label in spans]
    back = [(word_range(found, start, end), label) for start, end, label in characters]
    assert back == [((start, end), label) for start, end, label in spans]
    again, repairs = spans_of_tags(tags_of_spans([(*reach, label) for reach, label in back if reach], size))
    assert repairs == 0
    assert [(found.char_starts[start], found.char_ends[end - 1], label) for start, end, label in again] == characters
