"""A short form of benchmarks/verdicts.py: what the whole of it shows in minutes must not be far off in seconds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PATH = Path(__file__).parent.parent / "benchmarks" / "verdicts.py"


@pytest.fixture(scope="module")
def verdicts() -> Any:
    spec = importlib.util.spec_from_file_location("benchmark_verdicts", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their types
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("index", [0, 2, 6, 8])
def test_intervals_hold_the_truth_about_as_often_as_they_say(verdicts: Any, index: int) -> None:
    for tally in verdicts.simulate(verdicts.SCENARIOS[index], [0.0] * 6, rows=50, tables=40).values():
        assert np.mean(tally.means) >= 0.88
        assert np.mean(tally.differences) >= 0.88
        assert tally.any_of_all <= 0.125 * tally.tables


def test_what_is_better_is_found_and_nothing_is_called_worse(verdicts: Any) -> None:
    found = verdicts.simulate(verdicts.SCENARIOS[0], [0.0, 0.08], rows=500, tables=30)
    assert [found[seeds].share("better") for seeds in (3, 5)] == [0, 0]
    assert found[10].share("better") > 0.8
    assert found[10].share("worse") == 0


@pytest.mark.parametrize("index", range(12))
def test_the_truth_of_a_scenario_is_what_many_of_its_runs_come_to(verdicts: Any, index: int) -> None:
    scenario = (verdicts.SCENARIOS + verdicts.STRESS)[index]
    draw, once = np.random.default_rng(0), np.ones((1, 2000))
    for gain in (0.0, -0.05):
        means = [scenario.scores(np.full(6, gain), once, draw).mean() for _ in range(20)]
        assert np.mean(means) == pytest.approx(scenario.truth(gain), abs=4 * np.std(means) / 20**0.5)
