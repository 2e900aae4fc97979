"""What becomes of an answer without a word: against answers to texts shortened by hand, and beside gradient × input."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

import weft
from weft.data.predictions import LabelPrediction
from weft.data.records import Input
from weft.model import leave_out
from weft.model.embed import load_encoder
from weft.model.inspect import inspect
from weft.model.inspection import Inspection, ReadRow, ReadText, Word
from weft.model.network import Network
from weft.reports.inspect_facts import agreement
from weft.reports.inspect_page import render_attention
from weft.spec import parse
from weft.targets import FittedTarget
from weft.targets.label import FittedLabel
from weft.tasks import Task

TEXT = "the quick brownfox  jumps, don't!"
PAIR = ("the quick fox", "a lazy brown dog jumps over")
TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "size": ({"kind": "classification"}, ["big", "middle", "small"]),
    "fox": ({"kind": "classification", "loss": {"kind": "focal"}}, ["no", "yes"]),
    "topics": ({"kind": "classification", "multilabel": True}, [("a",), ("a", "b")]),
    "same": ({"kind": "pair_classification"}, ["no", "yes"]),
    "apart": ({"kind": "pair_classification", "encode": "siamese"}, ["no", "yes"]),
    "alike": ({"kind": "similarity"}, [0.0, 5.0]),
    "parts": ({"kind": "tagging", "scheme": "plain"}, [((0, 1, "PER"), (0, 1, "LOC"))]),
    "spans": ({"kind": "spans", "max_width": 3}, [((0, 1, "PER"), (0, 1, "LOC"))]),
}


@pytest.fixture(scope="module")
def network(small_encoder: str) -> Network:
    source = load_encoder(small_encoder)
    source.encoder.pooler = None
    tasks = {name: parse(Task, given) for name, (given, _) in TASKS.items()}
    targets = {name: tasks[name].target().fit(golds) for name, (_, golds) in TASKS.items()}
    torch.manual_seed(1)
    network = Network(source.encoder, source.tokenizer, tasks, targets).eval()
    for head in network.heads.parameters():
        torch.nn.init.normal_(head, std=0.5)
    return network


def shortened(text: str, start: int, end: int) -> str:
    """A text without a word, nor the blanks before it."""
    return (text[:start].rstrip() + text[end:]).strip()


def words_of(found: Inspection) -> list[tuple[int, ReadText, Word]]:
    """Every word with its text, and the number of that."""
    texts = [text for row in found.rows for text in row.texts]
    return [(number, text, word) for number, text in enumerate(texts) for word in text.words]


@pytest.mark.parametrize("task", ["size", "fox", "topics", "same", "apart", "alike"])
def test_a_drop_is_the_difference_to_the_answer_for_the_shortened_text(network: Network, task: str) -> None:
    texts: tuple[str, ...] = PAIR if task in ("same", "apart", "alike") else (TEXT,)
    model = weft.Model(network)

    def support(texts: tuple[str, ...]) -> float:
        (given,) = model.predict([texts if len(texts) == 2 else texts[0]], task, scores=True)  # type: ignore[list-item]
        if task == "alike":
            return float(given["score"])
        labels = answer["labels"] or [max(answer["scores"], key=answer["scores"].get)] if task == "topics" else None
        return float(np.mean([given["scores"][label] for label in labels or [answer["label"]]]))

    (answer,) = model.predict([texts if len(texts) == 2 else texts[0]], task, scores=True)  # type: ignore[list-item]
    found = words_of(inspect(network, task, texts))
    assert len(found) > 5
    for number, text, word in found:
        parts = list(texts)
        parts[number] = shortened(text.text, word.start, word.end)
        assert word.left_out == pytest.approx(support(texts) - support(tuple(parts)), abs=1e-5)
    assert len({round(word.left_out or 0.0, 6) for *_, word in found}) > 3  # else the test shows nothing


@pytest.mark.parametrize("task", ["parts", "spans"])
def test_what_is_left_of_a_span_is_found_again_wherever_it_has_moved(network: Network, task: str) -> None:
    text = "fox the quick dog over a lazy fox"
    model = weft.Model(network)
    (given,) = model.predict([text], task)
    assert given
    found = words_of(inspect(network, task, (text,)))
    for _, _, word in found:
        (other,) = model.predict([shortened(text, word.start, word.end)], task)
        gap = word.end - word.start + 1  # with a blank
        total = 0.0
        for span in given:
            start, end = span["start"], span["end"]
            if word.end <= start:
                start, end = start - gap, end - gap
            elif word.start < end:  # in the span
                end -= gap
            total += sum(s["score"] for s in other if (s["start"], s["end"], s["label"]) == (start, end, span["label"]))
        before = sum(span["score"] for span in given)
        assert word.left_out == pytest.approx((before - total) / len(given), abs=1e-5)


def test_words_that_data_gave_stay_words_without_one_of_them() -> None:
    input = Input(("New York-City is",), words=((0, 3), (4, 13), (14, 16)))
    first, hyphen, last = (leave_out.without(input, 0, *word) for word in ((0, 3), (8, 9), (14, 16)))
    assert (first.input.texts, first.input.words) == (("York-City is",), ((0, 9), (10, 12)))
    assert (hyphen.input.texts, hyphen.input.words) == (("New YorkCity is",), ((0, 3), (4, 12), (13, 15)))
    assert (last.input.texts, last.input.words) == (("New York-City",), ((0, 3), (4, 13)))
    for variant in (first, hyphen, last):
        assert "".join(input.texts[0][index] for index in variant.kept) == variant.input.texts[0]


def test_all_words_are_left_out_in_one_pass(network: Network) -> None:
    passes: list[int] = []
    handle = network.encoder.register_forward_hook(lambda _, given, __: passes.append(given[0].rows))
    found = inspect(network, "size", (TEXT,))
    inspect(network, "size", (TEXT,), leave_words_out=False)
    handle.remove()
    assert passes == [1, 1 + len(found.words), 1]
    assert len(found.words) > 5


def test_in_long_texts_neighbours_are_left_out_together_and_that_is_said(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leave_out, "MOST_VARIANTS", 3)
    text = "the quick fox jumps over a lazy dog"
    found = inspect(network, "size", (text,))
    assert found.left_out_together == 3
    drops = [word.left_out for word in found.words]
    assert drops[:3] == [drops[0]] * 3 != drops[3:6] == [drops[3]] * 3
    monkeypatch.setattr(leave_out, "MOST_VARIANTS", 64)
    model = weft.Model(network)
    whole, rest = model.predict([text, "jumps over a lazy dog"], "size", scores=True)
    assert drops[0] == pytest.approx(whole["score"] - rest["scores"][whole["label"]], abs=1e-5)
    assert "in groups of 3" in render_attention([[found]], ["model"])


def test_nothing_is_said_where_nobody_asked_or_nothing_was_given(network: Network) -> None:
    unasked = inspect(network, "size", (TEXT,), leave_words_out=False)
    assert [word.left_out for word in unasked.words] == [None] * len(unasked.words)
    assert unasked.agreement is None
    assert "Leave one word out" not in render_attention([[unasked]], ["model"])
    assert inspect(network, "size", ("",)).words == []
    network.targets["spans"], kept = replace(network.targets["spans"], threshold=1.1), network.targets["spans"]
    nothing = inspect(network, "spans", ("the fox jumps",))
    network.targets["spans"] = kept
    assert nothing.prediction.spans == ()
    assert [word.left_out for word in nothing.words] == [None] * 3


def test_the_network_stays_in_its_mode(network: Network) -> None:
    network.train()
    try:
        inspect(network, "size", (TEXT,))
        assert all(module.training for module in network.modules())
    finally:
        network.eval()


# Beside gradient × input


def inspection(*words: tuple[float, float | None], together: int = 1) -> Inspection:
    """An inspection of words with these attributions and drops."""
    found = tuple(Word(2 * n, 2 * n + 1, 0.1, given, drop, {}) for n, (given, drop) in enumerate(words))
    row = ReadRow((ReadText("x " * len(words), found),), 0.1, 0.1, len(words) + 2, 0)
    answer = LabelPrediction("yes", 0.7, {"yes": 0.7, "no": 0.3})
    return Inspection("fox", answer, (row,), ("yes",), None, 1, 2, "mean", "mean", together)


def test_agreement_is_the_rank_correlation_over_all_words() -> None:
    rng = np.random.default_rng(0)
    pairs = [(float(a), float(b)) for a, b in rng.normal(size=(12, 2))]
    assert inspection(*pairs).agreement == pytest.approx(spearmanr(*zip(*pairs, strict=True)).statistic)
    assert inspection((0.1, 5.0), (0.2, 6.0), (0.9, 7.0)).agreement == pytest.approx(1)
    grouped = [(0.4, 3.0), (-0.3, 3.0), (0.0, 2.0), (0.05, 2.0), (0.0, 1.0)]  # 0.1, 0.05 and 0 together
    assert inspection(*grouped, together=2).agreement == pytest.approx(1)


@pytest.mark.parametrize(
    "words",
    [(), ((0.1, 0.2), (0.3, 0.4)), ((0.1, 0.0), (0.2, 0.0), (0.3, 0.0)), ((0.1, None), (0.2, None), (0.3, None))],
)
def test_what_cannot_be_ranked_has_no_agreement(words: Any) -> None:
    assert inspection(*words).agreement is None


@pytest.mark.parametrize(
    ("drops", "sentence"),
    [
        ((1.0, 2.0, 3.0, 4.0), "Gradient × input ranks the words as leaving them out does (rank correlation 1.00)."),
        (
            (1.0, 4.0, 2.0, 3.0),
            "Gradient × input ranks the words partly as leaving them out does (rank correlation 0.40)",
        ),
        (
            (4.0, 3.0, 2.0, 1.0),
            "Gradient × input contradicts what happens when words are left out (rank correlation −1.00)",
        ),
    ],
)
def test_how_far_the_two_agree_is_one_plain_sentence(drops: tuple[float, ...], sentence: str) -> None:
    found = inspection(*zip((0.1, 0.2, 0.3, 0.4), drops, strict=True))
    (said,) = agreement(found)
    assert said.startswith(sentence)
    assert ("trust" in said) == ("contradicts" in sentence)
    assert sentence in render_attention([[found]], ["model"])


def test_a_kind_that_explains_without_weighing_answers_is_inspected_without_that(network: Network) -> None:
    @dataclass(frozen=True)
    class Explaining(FittedLabel):
        support = FittedTarget.support
        label_loss = FittedTarget.label_loss

    fitted = network.targets["size"]
    plain = Explaining(**{part.name: getattr(fitted, part.name) for part in fields(fitted) if part.init})
    own = Network(network.encoder, network.tokenizer, network.tasks, {**network.targets, "size": plain}).eval()
    found = inspect(own, "size", (TEXT,))
    assert {word.left_out for _, _, word in words_of(found)} == {None}
    assert any(word.attribution for _, _, word in words_of(found))
    assert "Leave one word out" not in render_attention([[found]], ["m"])
    assert plain.label_loss(torch.ones(3, 3)).item() == 0


def test_a_kind_that_does_not_say_where_it_cuts_a_text_is_inspected_as_far_as_one_row_goes(network: Network) -> None:
    with pytest.raises(weft.ConfigError, match="'classification' does not say where it cuts a long text"):
        network.tasks["size"].windows(network.tokenizer.encode(["fox"], max_length=8)[0], 8)
