"""The pages of docs/results: what stands there follows from the committed figures, and marks say what they claim."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.results.__main__ import FOLDER, RECIPES, pages
from docs.results.draws import Size, read_sizes
from docs.results.few_labels import SINGLE, few_labels_page
from docs.results.recipe import Recipe, read_recipe
from docs.results.tables import overview, table_files

NAMES = {"ours": "ours", "theirs": "theirs", "few": "few"}


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_what_its_figures_make_it(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name]


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
    assert theirs == "| theirs | 0.062\u00a0▲ | 0.500\u00a0· | 0.281 |"
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


def test_single_draws_have_figures_and_no_differences(tmp_path: Path) -> None:
    for method in ("weft", "probe"):
        write_runs(tmp_path, method, {("trec", 1): "fff0", ("sst5", 1): "ff00"})
    page = few_labels_page(tmp_path)
    assert "| **weft, as it comes** | 0.750 | 0.500 | 0.625 |" in page
    assert SINGLE in page
    assert "### Differences" not in page


def test_seconds_are_means_over_draws_and_are_summed_over_sets(size: Size) -> None:
    _, _, ours, theirs, few = size.seconds().splitlines()
    assert ours == "| ours | 13.8 | 13.8 | 28 |" == theirs.replace("theirs", "ours")
    assert few == "| few | 2.5 | – | – |"


@pytest.fixture
def triage(tmp_path: Path) -> Recipe:
    """A table whose figures are in `tables/` of a folder; its tasks are those of an earlier comparison."""
    (tmp_path / "tables").mkdir()
    figures = (FOLDER / "label_attention.csv").read_text(encoding="utf-8")
    (tmp_path / "tables" / "wang_table2.csv").write_text(figures, encoding="utf-8")
    return replace(read_recipe(RECIPES / "tables" / "wang_table2.toml"), found="It cannot be told. Look at more rows.")


def test_the_head_of_a_recipe_is_read_in_parts() -> None:
    recipe = read_recipe(RECIPES / "tables" / "slp_vocabulary.toml")
    assert recipe.question == "Which kind of vocabulary should an encoder from nothing have?"
    assert [command.split()[1] for command in recipe.commands] == ["vocab"] * 3 + ["compare"]
    assert recipe.source.startswith("Jurafsky and Martin, ")
    assert recipe.here.startswith("an encoder of 4 layers")
    assert recipe.takes.startswith("about ")
    assert recipe.runs == 24
    asked = replace(recipe, question="Which kind? Of three; 24 runs.")
    assert (asked.title, asked.about, recipe.about) == ("Which kind?", "Of three; 24 runs.", "")


def test_a_table_has_a_page_and_a_picture(triage: Recipe, tmp_path: Path) -> None:
    made = table_files(triage, tmp_path / "tables")
    page, picture = made["wang_table2.md"], made["wang_table2.svg"]
    assert page.startswith(f"# {triage.question}\n\n32 runs, {triage.takes.rstrip('.')}.\n")
    order = ["```sh\nweft compare ", "**The source.**", "**Here.**", "**Found.**", "(wang_table2.svg)", "## `urgency`"]
    assert [page.index(part) for part in order] == sorted(page.index(part) for part in order)
    assert ElementTree.fromstring(picture)[0].tag.endswith("style")
    assert "urgency · label attention" in picture
    assert "−0.6 ○ cannot tell" in picture


def test_the_overview_shows_what_was_run_and_what_was_not(triage: Recipe, tmp_path: Path) -> None:
    other = read_recipe(RECIPES / "tables" / "wang_sizes.toml")
    figure = replace(other, path=other.path.with_name("wang_figure2.toml"), found="It looks there. At times.")
    told = overview([other, triage], tmp_path, [], [figure])
    assert "Of 2 tables 1 have been run" in told
    assert f"| not run yet | 96 runs, {other.takes} |" in told
    assert "(tables/wang_table2.md)" in told
    assert "| label attention: 2 cannot tell | It cannot be told. |" in told
    assert f"| [wang_figure2](figures/wang_figure2.md) | {other.question} | It looks there. |" in told


def test_the_overview_has_no_column_in_which_nothing_is_said(triage: Recipe, tmp_path: Path) -> None:
    earlier = overview([], tmp_path / "tables", [replace(triage, found="")], []).split("## Earlier comparisons")[1]
    assert "| table | question | verdicts |\n|---|---|---|\n| [wang_table2]" in earlier
    assert overview([triage], tmp_path, [], []).count("| verdicts | what it says |\n|---|---|---|---|\n") == 1
