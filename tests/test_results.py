"""The pages of docs/results: what stands there follows from the committed figures, and marks say what they claim."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from docs.results.__main__ import FOLDER, pages
from docs.results.draws import Size, read_sizes

NAMES = {"ours": "ours", "theirs": "theirs", "few": "few"}


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_what_its_figures_make_it(name: str) -> None:
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == pages()[name]


def write_runs(folder: Path, method: str, runs: dict[tuple[str, int], str]) -> None:
    """Runs on 16 test rows: which rows are right, by set and seed."""
    with (folder / f"{method}.csv").open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(("set", "per_class", "seed", "rows", "seconds", "right"))
        writer.writerows((name, 8, seed, 16, 2.5 * seed, right) for (name, seed), right in runs.items())


@pytest.fixture
def size(tmp_path: Path) -> Size:
    """Ten draws of two sets: on `a` the first method answers half of the rows more, on `b` the same ones."""
    draws = range(1, 11)
    ours = {("a", seed): "ff0f" if seed % 2 else "f0ff" for seed in draws} | {("b", seed): "ff00" for seed in draws}
    theirs = {("a", seed): "1000" for seed in draws} | {("b", seed): "ff00" for seed in draws}
    write_runs(tmp_path, "ours", ours)
    write_runs(tmp_path, "theirs", theirs)
    write_runs(tmp_path, "few", {("a", 1): "fff0"})
    return read_sizes(tmp_path, ("a", "b", "never run"), NAMES)[8]


def test_a_mark_says_how_the_first_method_compares(size: Size) -> None:
    heading, _, ours, theirs, few = size.overview().splitlines()
    assert heading == "|  | a | b | mean of sets |"
    assert ours == "| ours | 0.750 | 0.500 | 0.625 |"
    assert theirs == "| theirs | 0.062 ▲ | 0.500 · | 0.281 |"
    assert few == "| few | 0.750 (1) | – | – |", "one draw bears no verdict"


def test_a_difference_has_its_interval_and_verdict(size: Size) -> None:
    _, _, a, b, both = size.differences().splitlines()
    assert a.startswith("| theirs | a | 10 | +68.8 | ")
    assert a.endswith("| better |")
    assert b.startswith("| theirs | b | 10 | 0.0 | ")
    assert b.endswith("| 1.00 | cannot tell |")
    assert both.startswith("| theirs | **mean of 2 sets** | 20 | +34.4 | ")
    assert both.endswith("| better |")


def test_a_mean_over_sets_can_be_worse_or_not_to_be_told(tmp_path: Path) -> None:
    worse = {(name, seed): "0fff" if seed % 2 else "f0ff" for name in "ab" for seed in range(1, 11)}
    mixed = {(name, seed): "ffff" if seed % 2 else "0000" for name in "ab" for seed in range(1, 11)}
    write_runs(tmp_path, "ours", {(name, seed): "000f" for name in "ab" for seed in range(1, 11)})
    write_runs(tmp_path, "theirs", worse)
    write_runs(tmp_path, "few", mixed)
    lines = [line for line in read_sizes(tmp_path, "ab", NAMES)[8].differences().splitlines() if "mean of" in line]
    assert [line.split(" | ")[-1] for line in lines] == ["worse |", "cannot tell |"]


def test_seconds_are_means_over_draws_and_are_summed_over_sets(size: Size) -> None:
    _, _, ours, theirs, few = size.seconds().splitlines()
    assert ours == "| ours | 13.8 | 13.8 | 28 |" == theirs.replace("theirs", "ours")
    assert few == "| few | 2.5 | – | – |"
