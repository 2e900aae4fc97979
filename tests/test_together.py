"""Tasks that ask different questions of the same rows learn from them in one pass of the encoder."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from recorder import HEAD, TEXTS, Place, Recorder, at_weights, gradients_of, interrupt_after, make_place
from weft.tokenization.tokenizer import Tokenizer
from weft.training.interrupt import Interrupted

PLAIN = {"lr_scheduler_type": "constant", "warmup_ratio": 0.0, "max_grad_norm": 0.0}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("together"), tiny_tokenizers["wordpiece"], 0.0)


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("dropping"), tiny_tokenizers["wordpiece"], 0.3)


def same_texts(place: Place, names: str = "ab", count: int = 6, **options: Any) -> dict[str, Any]:
    """Tasks with the same texts and other answers, each in a file of its own."""
    given = {"a": "xy", "b": "xxy", "c": "yxxx"}
    tasks = {}
    for name in names:
        rows = [(text, given[name][number % len(given[name])]) for number, text in enumerate(TEXTS[:count])]
        file = place.rows(f"same-{name}.jsonl", rows)
        tasks[name] = {"kind": "classification", "train": file, "dev": file, "head": HEAD, **options}
    return tasks


def passes(seen: Recorder) -> list[list[str]]:
    """The tasks of each pass that was learned from."""
    return [update.tasks for update in seen.updates]


def test_one_pass_serves_all_tasks_and_its_gradient_is_the_mean_of_their_weighted_losses(place: Place) -> None:
    tasks = same_texts(place)
    tasks["a"]["weight"] = 3.0
    seen = place.learn(tasks, "mean", training=PLAIN)
    assert passes(seen) == [["a", "b"]] * 3
    assert seen.shared[:3] == [["a", "b"]] * 3  # and not one after the other
    for update in seen.updates:
        one, other = update.batches
        assert torch.equal(one.ids, other.ids)
        network = at_weights(seen, update.before)
        losses = [F.cross_entropy(network(batch).values, batch.gold) for batch in update.batches]
        expected = gradients_of(network, (3.0 * losses[0] + losses[1]) / 2)
        assert update.gradients.keys() == expected.keys()
        for name, gradient in expected.items():
            torch.testing.assert_close(update.gradients[name], gradient, rtol=1e-4, atol=1e-6)


def test_every_row_has_the_answer_of_each_task(place: Place) -> None:
    seen = place.learn(same_texts(place), "answers", training={"epochs": 2})
    answers: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for update in seen.updates:
        one, other = update.batches
        starts = zip(one.row_offsets.tolist(), one.lengths.tolist(), strict=True)
        for row, (start, length) in enumerate(starts):
            both = (int(one.gold[row]), int(other.gold[row]))
            answers.setdefault(tuple(one.ids[start : start + length].tolist()), set()).add(both)
    assert all(len(both) == 1 for both in answers.values())
    assert sorted(next(iter(both)) for both in answers.values()) == sorted((i % 2, i % 3 // 2) for i in range(6))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"conditioning": "task_input"}, [["a"], ["b"]] * 3, id="told apart inside the encoder"),
        pytest.param({"training": {"conflict": "pcgrad"}}, [["a", "b"]] * 3, id="gradients apart"),
        pytest.param(
            {"phases": [{"loss": "supervised_contrastive", "steps": 2, "batch_size": 4}]},
            [["a"], ["b"]] * 2,
            id="rows drawn by labels",
        ),
        pytest.param({"phases": [{"tasks": ["b"]}]}, [["b"]] * 3, id="one of them in the phase"),
        pytest.param({"training": {"gradient_accumulation_steps": 2}}, [["a", "b"] * 2, ["a", "b"]], id="two passes"),
        pytest.param({"encoder": {"train_layers": 0}}, [["a", "b"]] * 3, id="nothing but heads"),
    ],
)
def test_tasks_learn_together_only_where_one_pass_can_serve_them(
    place: Place, change: dict[str, Any], expected: list[list[str]]
) -> None:
    name = "-".join(map(str, change)) + str(len(expected)) + expected[0][0]
    training = {**PLAIN, **change.pop("training", {})}
    seen = place.learn(same_texts(place), f"apart-{name}", training=training, **change)
    assert passes(seen) == expected
    alone = "pcgrad" in str(training) or len(expected[0]) == 1
    assert all((len(tasks) == 1) == alone for tasks in seen.shared[: len(expected)])


def test_other_rows_or_another_length_keep_tasks_apart(place: Place) -> None:
    both = same_texts(place)
    shorter = {**both, "b": {**both["b"], "max_length": 4}}
    fewer = {**both, "b": {**both["b"], "limit": 5}}
    for name, tasks in {"shorter": shorter, "fewer": fewer}.items():
        seen = place.learn(tasks, name, training=PLAIN)
        assert all(len(update.tasks) == 1 for update in seen.updates), name


def test_tasks_that_come_in_later_keep_step_with_those_that_were_there(place: Place) -> None:
    phases = [{"tasks": ["b"]}, {"tasks": ["b", "c"]}, {}]
    seen = place.learn(same_texts(place, "abc"), "later", phases=phases, training={**PLAIN, "epochs": 2})
    assert passes(seen) == [["b"]] * 6 + [["b", "c"]] * 6 + [["a", "b", "c"]] * 6
    for update in seen.updates:
        assert all(torch.equal(batch.ids, update.batches[0].ids) for batch in update.batches)
    assert len({tuple(update.batches[0].ids.tolist()) for update in seen.updates}) > 6  # in another order each epoch


def test_tokens_are_counted_once_and_losses_of_each_task(place: Place) -> None:
    seen = place.train(same_texts(place), "counted", training=PLAIN)
    report = place.report("counted")
    assert report["tokens"] == sum(len(update.batches[0].ids) for update in seen.updates)
    assert seen.tasks == ["a", "b"] * 3
    assert seen.began == [(6, 0)]
    assert [task for _, task, _ in report["loss_history"]] == ["a", "b"] * 3


@pytest.mark.parametrize("stop", [1, 4, 6, 9])
def test_a_run_of_tasks_together_that_is_broken_off_ends_with_the_same_bytes(dropping: Place, stop: int) -> None:
    options = {"phases": [{"tasks": ["b"]}, {}], "training": {"epochs": 2}}
    tasks = same_texts(dropping)
    whole = dropping.train(tasks, f"whole-{stop}", **options)
    with pytest.raises(Interrupted):
        dropping.train(tasks, f"broken-{stop}", callback=Recorder(interrupt_after(stop)), **options)
    dropping.train(tasks, f"broken-{stop}", resume=True, **options)
    one, other = (dropping.weights(name) for name in (f"whole-{stop}", f"broken-{stop}"))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert len(whole.updates) == 12


def test_texts_and_words_that_are_the_same_tokens_learn_together(place: Place) -> None:
    """Spans are marked in the very text that another task classifies."""
    rows = [
        {"text": text, "label": "xy"[number % 2], "spans": [[0, text.index(" "), "uw"[number % 2]]]}
        for number, text in enumerate(TEXTS[:6])
    ]
    tasks = {
        "a": {"kind": "classification", "train": rows, "dev": 0, "head": HEAD},
        "s": {"kind": "spans", "train": rows, "dev": 0},
    }
    seen = place.learn(tasks, "spans", training=PLAIN)
    assert seen.shared[:3] == [["a", "s"]] * 3
