"""Marks in texts: read from cells of every form, mended, made tensors, and given back to the character."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from weft.data.annotations import read_spans, read_tags, refuse_overlaps, repair_spans, repair_tags
from weft.data.records import Example, Input, Span
from weft.spec import parse
from weft.targets.tags import BioTarget
from weft.tasks import Task
from weft.tasks.base.words import WordTask
from weft.tensors import Scores
from weft.tokenization.examples import TokenizedExample, read_words
from weft.tokenization.tokenizer import Tokenizer
from weft.tokenization.words import join_words

TINY = ("wordpiece", "bytes", "unigram")
MANY = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = Input(("the quick brown fox",))
WORDS = Input(("the quick brown fox",), words=((0, 3), (4, 9), (10, 15), (16, 19)))

odd = st.one_of(
    st.characters(codec="utf-8"),
    st.sampled_from(list("abc fox,.'\t\n\x00\x07\u0301\u200b\u200d\ufe0f👩🏽é日א\u202eم한…½ﬁ\u00a0\u3000")),
)
odd_text = st.text(odd, min_size=1, max_size=40)
odd_words = st.lists(st.text(odd, min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=12)
labels = st.sampled_from(["per", "loc", "a-b", "I-x", "日"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 22) | st.floats() | st.sampled_from(["", " ", "O", "B-x", "I-x", "x"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["start", "end", "label", "text", "type"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def word_task(kind: str, **options: Any) -> WordTask:
    task = parse(Task, {"kind": kind, **options})
    assert isinstance(task, WordTask)
    return task


@st.composite
def disjoint_spans(draw: st.DrawFn, size: int) -> list[Span]:
    """Spans of words [first, last) that do not overlap, in order."""
    found: list[Span] = []
    place = draw(st.integers(0, 3))
    while place < size:
        width = draw(st.integers(1, 4))
        if place + width <= size:
            found.append((place, place + width, draw(labels)))
        place += width + draw(st.integers(0, 3))
    return found


@st.composite
def any_spans(draw: st.DrawFn, size: int, max_width: int) -> list[Span]:
    """Spans of words [first, last), nested and overlapping ones too; no two with the same ends."""
    every = [(first, last) for first in range(size) for last in range(first + 1, min(size, first + max_width) + 1)]
    chosen = draw(st.lists(st.sampled_from(every), max_size=6, unique=True)) if every else []
    return [(*one, draw(labels)) for one in chosen]


def in_characters(spans: list[Span], starts: Any, ends: Any) -> list[Span]:
    return sorted((starts[first], ends[last - 1], label) for first, last, label in spans)


def there_and_back(task: WordTask, content: Input, gold: list[Span], tokenized_example: TokenizedExample) -> list[Span]:
    """What is given for scores that say nothing but the gold."""
    row = Example(content.texts, tuple(gold), 1, words=content.words)
    target: Any = task.target().fit([row.gold])
    (tensor,) = target.gold_tensors([row], [tokenized_example])
    assert len(tensor) == task.count_outputs(tokenized_example)
    outputs = target.outputs(task.target().default_loss)
    steps = target.build_transitions()
    scores = Scores(torch.nn.functional.one_hot(tensor, outputs) * 20.0, (len(tensor),), steps() if steps else None)
    (given_back,) = (
        one.to_dict() for one in target.decode(target.compact(scores, [tokenized_example]), [tokenized_example])
    )
    assert all(one["text"] == content.texts[0][one["start"] : one["end"]] for one in given_back)
    assert all(0.5 < one["score"] <= 1 + 1e-6 for one in given_back)
    return sorted((one["start"], one["end"], one["label"]) for one in given_back)


@pytest.mark.parametrize("kind", TINY)
@pytest.mark.parametrize(
    "options",
    [
        {"kind": "tagging", "decoder": "greedy"},
        {"kind": "tagging", "decoder": "constrained", "subword_pooling": "combined"},
        {"kind": "tagging", "decoder": "crf"},
        {"kind": "spans", "max_width": 4, "flat": True},
        {"kind": "spans", "max_width": 4},
    ],
    ids=lambda one: " ".join(map(str, one.values())),
)
@pytest.mark.parametrize("given_words", [True, False], ids=["tokens", "text"])
@MANY
@given(data=st.data())
def test_nothing_moves_by_a_character(
    data: st.DataObject, kind: str, options: dict[str, Any], given_words: bool, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    """In texts of any characters, in one row or in many windows, between words of the data or of the tokenizer."""
    task = word_task(**options, stride=data.draw(st.integers(0, 4)))
    if given_words:
        text, places = join_words(data.draw(odd_words))
        content = Input((text,), words=places)
    else:
        content = Input((data.draw(odd_text),))
    limit = data.draw(st.sampled_from([5, 9, 512]))
    (tokenized_example,) = task.encode([content], tiny_tokenizers[kind], limit)
    assert all(len(row.ids) <= limit for row in tokenized_example.rows)
    words = tokenized_example.words
    nested = options["kind"] == "spans" and not options.get("flat")
    marked = data.draw(any_spans(len(words.char_starts), 4) if nested else disjoint_spans(len(words.char_starts)))
    expected = in_characters(marked, words.char_starts, words.char_ends)
    if given_words:  # as a file counts them, in tokens, of which the tokenizer may have dropped some
        number = {start: index for index, (start, _) in enumerate(places)}
        starts = [number[start] for start in words.char_starts]
        cell = [[starts[first], starts[last - 1] + 1, label] for first, last, label in marked]
        gold = task.target().read(cell, content, "entities")
    else:
        gold = task.target().read([[*one] for one in expected], content, "spans")
    assert sorted(gold) == expected  # type: ignore[arg-type, type-var]
    assert there_and_back(task, content, list(gold), tokenized_example) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", TINY)
@MANY
@given(words=odd_words, data=st.data())
def test_plain_tags_come_back_for_every_word_that_has_a_token(
    words: list[str], data: st.DataObject, kind: str, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    task = word_task("tagging", scheme="plain")
    text, places = join_words(words)
    content = Input((text,), words=places)
    tags = data.draw(st.lists(labels, min_size=len(words), max_size=len(words)))
    gold: Any = task.target().read(tags, content, "tags")
    assert [text[start:end] for start, end, _ in gold] == words
    assert [tag for *_, tag in gold] == tags
    (tokenized_example,) = task.encode([content], tiny_tokenizers[kind], 7)
    kept = set(tokenized_example.words.char_starts)
    assert there_and_back(task, content, gold, tokenized_example) == [one for one in gold if one[0] in kept]


@pytest.mark.parametrize("options", [{"kind": "tagging", "scheme": "bio"}, {"kind": "spans"}], ids=["tagging", "spans"])
def test_words_that_the_tokenizer_drops_break_nothing(
    options: dict[str, Any], tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    task = word_task(**options)
    text, places = join_words(["\u200d", "fox", "\x00", "dog", "\x07"])
    content = Input((text,), words=places)
    (tokenized_example,) = task.encode([content], tiny_tokenizers["wordpiece"], 32)
    assert list(tokenized_example.words.char_starts) == [places[1][0], places[3][0]]
    inside = [(places[1][0], places[3][1], "x")]  # begins and ends with what is there, and holds what is not
    assert there_and_back(task, content, inside, tokenized_example) == inside
    gone = [(places[2][0], places[2][1], "x")]
    assert there_and_back(task, content, gone, tokenized_example) == []
    (empty,) = task.encode([Input(("\x00\x07",))], tiny_tokenizers["wordpiece"], 32)
    assert there_and_back(task, Input(("\x00\x07",)), [(0, 2, "x")], empty) == []


def test_a_long_text_is_read_in_windows_of_which_each_word_has_one_with_context(
    tiny_tokenizers: dict[str, Tokenizer],
) -> None:
    words = [f"fox{number}" for number in range(5000)]
    text, places = join_words(words)
    limit, overlap = 32, 10
    (tokenized_example,) = read_words([Input((text,), words=places)], tiny_tokenizers["wordpiece"], limit, overlap)
    found = tokenized_example.by_word
    assert len(found) == 5000
    assert max(len(row.ids) for row in tokenized_example.rows) <= limit
    assert tokenized_example.dropped == 0
    whole = tiny_tokenizers["wordpiece"].encode([text], max_length=10**9, offsets=True)[0]
    ids = whole.ids[whole.texts >= 0].tolist()
    assert [tokenized_example.rows[row].ids[place] for row, place in zip(found.row, found.position, strict=True)] == ids
    kept = tiny_tokenizers["wordpiece"].with_offsets()
    (with_offsets,) = read_words([tokenized_example.input], kept, limit, overlap)
    for number, row, place in zip(found.word, found.row, found.position, strict=True):
        start, end = with_offsets.rows[row].offsets[place]
        assert places[number][0] <= start < end <= places[number][1]
    last = len(tokenized_example.rows) - 1
    for row, place in zip(found.row, found.position, strict=True):  # never at an edge beyond which the text goes on
        assert row == 0 or place > 2
        assert row == last or place < len(tokenized_example.rows[row].ids) - 2


# What cells say


def write_tags(spans: list[Span], size: int, scheme: str) -> list[str]:
    letters = {"bio": "BIIB", "bioes": "BIES", "bilou": "BILU"}[scheme]
    tags = ["O"] * size
    for first, last, label in spans:
        for place in range(first, last):
            kind = 3 if last - first == 1 else 0 if place == first else 2 if place == last - 1 else 1
            tags[place] = f"{letters[kind]}-{label}"
    return tags


@given(words=odd_words, data=st.data())
def test_tags_of_every_scheme_and_spans_say_the_same(words: list[str], data: st.DataObject) -> None:
    text, places = join_words(words)
    content = Input((text,), words=places)
    spans = data.draw(disjoint_spans(len(words)))
    expected = tuple((places[first][0], places[last - 1][1], label) for first, last, label in spans)
    for scheme in ("bio", "bioes", "bilou"):
        tags = write_tags(spans, len(words), scheme)
        assert read_tags(tags, content, plain=False) == expected
        assert repair_tags(tags) == (tags, Counter())
    assert read_spans(spans, content) == expected
    assert read_spans([{"start": a, "end": b, "label": c, "id": 7} for a, b, c in spans[::-1]], content) == expected
    assert read_spans([[*one] for one in expected], Input((text,))) == expected


def test_spans_without_a_label_are_only_marked() -> None:
    assert read_spans([[0, 3]], TEXT) == ((0, 3, "span"),)
    assert read_spans([{"start": 0, "end": 3, "text": "the"}, [4, 9, None]], TEXT) == ((0, 3, "span"), (4, 9, "span"))
    assert read_tags(["B", "I", "O", "B"], WORDS, plain=False) == ((0, 9, "span"), (16, 19, "span"))


def test_what_is_said_twice_counts_once_and_blanks_around_labels_do_not_count() -> None:
    assert read_spans([[4, 9, "x"], [0, 3, " x "], [4, 9, "x"]], TEXT) == ((0, 3, "x"), (4, 9, "x"))
    assert read_tags(["O ", " B-x", "I-x", "O"], WORDS, plain=False) == ((4, 15, "x"),)
    assert read_tags(["a ", " b", "a", "b"], WORDS, plain=True) == read_tags(["a", "b", "a", "b"], WORDS, plain=True)


@pytest.mark.parametrize(
    ("cell", "content", "message"),
    [
        ("fox", TEXT, "must be a list of [start, end, label]"),
        ("fox", TEXT, "this is a text"),
        ({"start": 0, "end": 1}, TEXT, "this is an object"),
        ([3], TEXT, "span 1 is a whole number"),
        ([[0, 3, "x"], "fox"], TEXT, "span 2 is a text, not of the form [start, end, label]"),
        ([[0, 3, "x", 1]], TEXT, "span 1 has 4 parts"),
        ([[]], TEXT, "span 1 has 0 parts"),
        ([[0, 3, "x"], [9, 4, "x"]], TEXT, "span 2 ends at 4, before or where it starts (9); end is exclusive"),
        ([[4, 4, "x"]], TEXT, "span 1 ends at 4, before or where it starts (4)"),
        ([[16, 20, "x"]], TEXT, "span 1 is [16, 20), but the text has 19 characters"),
        ([[-2, 3, "x"]], TEXT, "span 1 is [-2, 3), but the text has 19 characters"),
        ([[2, 5, "x"]], WORDS, "span 1 is [2, 5), but the text has 4 tokens"),
        ([[True, 3, "x"]], TEXT, "span 1: start must be a whole number, but this is a yes or no"),
        ([[0, 3.0, "x"]], TEXT, "span 1: end must be a whole number, but this is a number"),
        ([["0", 3, "x"]], TEXT, "span 1: start must be a whole number, but this is a text"),
        ([[0, None, "x"]], TEXT, "span 1: end must be a whole number, but this is no value"),
        ([[0, 3, 7]], TEXT, "span 1: the label must be a word, but this is a whole number"),
        ([[0, 3, ["x"]]], TEXT, "span 1: the label must be a word, but this is a list"),
        ([[0, 3, " "]], TEXT, "span 1: the label is blank"),
        ([{"start": 0, "label": "x"}], TEXT, "span 1 has no end;"),
        ([{}], TEXT, "span 1 has no start and no end;"),
        ([{"start": 0, "end": 3, "type": "x"}], TEXT, "span 1 has further keys, but none called label"),
    ],
)
def test_spans_that_are_none_are_told_what_they_are(cell: Any, content: Input, message: str) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        read_spans(cell, content)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "content", "message"),
    [
        (["O", "B-x"], WORDS, "there are 4 tokens, but 2 tags; each token needs one tag"),
        (["O"] * 4, TEXT, "tags need tokens"),
        ("O O O O", WORDS, "tags must be a list with a word for each token, but this is a text"),
        (["O", "O", 3, "O"], WORDS, "word 3 has a whole number as its tag"),
        (["O", None, "O", "O"], WORDS, "word 2 has no value as its tag"),
        (["O", "O", "O", " "], WORDS, "word 4 has a blank tag"),
        (["O", "I-x", "O", "O"], WORDS, "word 2 has a tag with I-, which continues nothing"),
        (["B-x", "I-y", "O", "O"], WORDS, "word 2 has a tag with I-, which continues nothing"),
        (["O", "X-y", "O", "O"], WORDS, "word 2 has a text of 3 characters for its tag; allowed: O, or B-"),
        (["O", "B-", "O", "O"], WORDS, "word 2 has a text of 2 characters for its tag; allowed"),
    ],
)
def test_tags_that_are_none_are_told_what_they_are(cell: Any, content: Input, message: str) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        read_tags(cell, content, plain=False)
    assert message in str(caught.value)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)), max_size=5))
def test_overlaps_are_refused_and_nothing_else(drawn: list[tuple[int, int]]) -> None:
    spans = [(start, start + width, "x") for start, width in drawn]
    overlap = any(a[0] < b[1] and b[0] < a[1] for a, b in combinations(spans, 2))
    if not overlap:
        refuse_overlaps(spans)
        return
    with pytest.raises(ValueError, match=r"overlap.*repair = true"):
        refuse_overlaps(spans)


@settings(max_examples=150)
@example(cell=[[0, 3, "x"]], repair=True)
@given(cell=json_values, repair=st.booleans())
@pytest.mark.parametrize("options", [{"kind": "tagging"}, {"kind": "spans"}, {"kind": "spans", "flat": True}], ids=str)
@pytest.mark.parametrize("column", ["tags", "spans"])
def test_whatever_a_cell_holds_it_is_gold_or_a_fault(
    options: dict[str, Any], column: str, cell: Any, repair: bool
) -> None:
    task, content = word_task(**options, repair=repair), WORDS if column == "tags" else TEXT
    try:
        repairs, _ = task.target().repair(cell, content, column)
        gold: Any = task.target().read(repairs, content, column)
    except ValueError:
        return
    assert gold is None or all(0 <= start < end <= 19 and label for start, end, label in gold)


# What can be mended

tag_words = st.sampled_from(["O", "B-x", "I-x", "B-y", "I-y", "E-x", "S-y", "?", "fox"])


@given(st.lists(tag_words, min_size=1, max_size=8))
def test_mended_tags_can_be_read_and_right_ones_stay_as_they_are(tags: list[str]) -> None:
    text, places = join_words(["fox"] * len(tags))
    content = Input((text,), words=places)
    repairs, done = repair_tags(tags)
    spans = read_tags(repairs, content, plain=False)
    try:
        assert read_tags(tags, content, plain=False) == spans
        assert not done
        assert repairs == tags
    except ValueError:
        assert done.total() >= 1
    known = [tag not in ("O", "?", "fox") for tag in tags]
    covered = [any(start <= place[0] < end for start, end, _ in spans) for place in places]
    assert covered == known  # nobody loses a word


def test_i_without_b_begins_a_span_and_is_counted() -> None:
    repairs, done = repair_tags(["I-x", "I-x", "I-y", "fox", "O"])
    assert repairs == ["B-x", "I-x", "B-y", "O", "O"]
    assert done.total() == 3


@given(
    st.lists(st.tuples(st.integers(-4, 24), st.integers(-4, 24), st.sampled_from("xy")), max_size=6),
    st.booleans(),
    st.sampled_from([TEXT, WORDS]),
)
def test_mended_spans_can_be_read_and_right_ones_stay_as_they_are(
    spans: list[Span], flat: bool, content: Input
) -> None:
    repairs, done = repair_spans(spans, content, flat)
    found = read_spans(repairs, content)
    if flat:
        refuse_overlaps(found)
    try:
        right = read_spans(spans, content)
        if flat:
            refuse_overlaps(right)
    except ValueError:
        assert done.total() >= 1
    else:
        assert not done
        assert found == right


def test_every_mending_is_counted_by_what_it_was() -> None:
    cell = [[9, 4, "x"], [10, 99, "y"], [-5, 2, "x"], [30, 40, "x"], [7, 7, "x"], [3, 8, "z"]]
    repairs, done = repair_spans(cell, TEXT, flat=True)
    assert repairs == [[0, 2, "x"], [3, 8, "z"], [10, 19, "y"]]  # of equals the one that ends first
    assert done == {
        "spans that ended before they started, turned": 1,
        "spans that went beyond the text, cut": 3,
        "spans without a character, left out": 2,
        "spans that overlapped longer ones, left out": 1,
    }


@pytest.mark.parametrize(
    ("first", "second", "stays"), [((0, 9), (4, 19), 1), ((0, 15), (10, 19), 0), ((0, 19), (4, 9), 0)]
)
def test_of_two_that_overlap_the_longer_stays(first: tuple[int, int], second: tuple[int, int], stays: int) -> None:
    spans = [[*first, "x"], [*second, "y"]]
    for cell in (spans, spans[::-1]):
        assert repair_spans(cell, TEXT, flat=True)[0] == [spans[stays]]
    assert repair_spans(spans, TEXT, flat=False) == (spans, Counter())


def test_what_is_said_twice_is_nothing_to_mend() -> None:
    assert repair_spans([[0, 3, "x"], [0, 3, "x"]], TEXT, flat=True) == ([[0, 3, "x"]], Counter())


def test_tags_of_further_words_of_a_span_go_on_even_where_two_spans_share_a_word() -> None:
    """Two spans in one word of the tokenizer cannot both be said, and the path stays a possible one."""
    target = BioTarget().fit([((0, 2, "x"), (2, 9, "y"))])
    words = [(0, 3), (4, 9)]
    tokenized_example: Any = type(
        "Read", (), {"by_word": words, "words": type("W", (), {"char_starts": [0, 4], "char_ends": [3, 9]})}
    )
    assert target.tags_of([(0, 2, "x"), (2, 9, "y")], tokenized_example) == ["B-x", "B-y"]
