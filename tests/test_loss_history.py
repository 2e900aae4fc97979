"""The course of the losses: a bounded number of points, evenly spread, the same with and without a break."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from weft.training.loss_history import LossHistory


def learned(history: LossHistory, first: int, last: int) -> LossHistory:
    """The losses of the steps first … last: one batch in five is of b, the others of a; the loss is the step."""
    for step in range(first, last + 1):
        history.add(step, "b" if step % 5 == 0 else "a", float(step))
    return history


def test_a_short_run_keeps_every_batch() -> None:
    history = learned(LossHistory(), 1, 500)
    assert history.points == [(step, "b" if step % 5 == 0 else "a", float(step)) for step in range(1, 501)]


@pytest.mark.parametrize("steps", [5_000, 100_000])
def test_however_long_a_run_its_points_are_bounded_even_and_means_of_all_batches(steps: int) -> None:
    history = learned(LossHistory(), 1, steps)
    assert [step for step, _, _ in history.points] == sorted(step for step, _, _ in history.points)
    for task, batches in (("a", steps - steps // 5), ("b", steps // 5)):
        points = [(step, loss) for step, name, loss in history.points if name == task]
        assert 256 <= len(points) < 512
        stride = history.strides[task]
        assert len(points) == batches // stride
        own = [step for step in range(1, steps + 1) if (step % 5 == 0) == (task == "b")]
        parts = [own[start : start + stride] for start in range(0, len(points) * stride, stride)]
        assert points == [(part[-1], pytest.approx(sum(part) / stride)) for part in parts]
    assert len(json.dumps(asdict(history))) < 80_000


@pytest.mark.parametrize("broken_off", [1, 3, 1023, 1024, 1500, 2999])
def test_a_break_changes_nothing(broken_off: int) -> None:
    through = learned(LossHistory(), 1, 3000)
    stored = json.loads(json.dumps(asdict(learned(LossHistory(), 1, broken_off))))
    assert learned(LossHistory(**stored), broken_off + 1, 3000) == through


def test_the_mean_of_an_epoch_is_over_all_of_its_batches_however_few_points_are_kept() -> None:
    history = learned(LossHistory(), 1, 3000)
    history.start_epoch()
    assert history.mean("a") is None
    learned(history, 3001, 3010)
    assert history.mean("b") == (3005 + 3010) / 2
    assert history.mean("c") is None
