"""The figures of docs/results: curves over phases and painted messages say what their CSV files hold."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from docs.results.__main__ import RECIPES, pages
from docs.results.attention import SHARES, Looks, read_looks, share_lines
from docs.results.curve_picture import Panel, Stretch, common_ticks, panels
from docs.results.curves import Curves, curves_files, read_curves
from docs.results.painted import COLUMNS, DARKEST, LETTER, PaintedWord, painted
from docs.results.recipe import read_recipe
from test_documents import TOP, load_benchmark
from weft.comparison.arms import make_arms
from weft.comparison.grid import read_grid
from weft.config.document import read_document
from weft.reports.record import EvaluationRecord, RunRecord


def write(file: Path, lines: Iterable[Sequence[Any]]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows(lines)
    return file


def arm(table: str, name: str) -> dict[str, Any]:
    """One config of a table."""
    return next(one.document for one in make_arms(read_grid(RECIPES / "tables" / table)) if one.name == name)


@pytest.mark.parametrize("name", sorted(name for name in pages() if re.match("figures/.*svg", name)))
def test_a_picture_is_sound_xml_and_turns_its_colours_on_dark_screens(name: str) -> None:
    style = ElementTree.fromstring(pages()[name])[0]
    light, dark = (style.text or "").split("@media (prefers-color-scheme:dark)")
    assert light.count("--ink:") == dark.count("--ink:") == 1


# curves over phases


@pytest.fixture
def curve_file(tmp_path: Path) -> Path:
    """Two seeds: in the second phase sentiment gains, paraphrase falls with both, similarity with one of them."""
    lines: list[Sequence[Any]] = [("seed", "phase", "epoch", "task", "metric", "score")]
    scores = {
        1: {"sentiment": (0.3, 0.4, 0.5, 0.5), "paraphrase": (0.6, 0.7, 0.6, 0.7), "similarity": (0.5, 0.6, 0.4, 0.8)},
        2: {"sentiment": (0.3, 0.5, 0.7, 0.6), "paraphrase": (0.6, 0.6, 0.5, 0.6), "similarity": (0.5, 0.6, 0.6, 0.8)},
    }
    for seed, tasks in scores.items():
        for task, values in tasks.items():
            places = zip(((1, 1), (1, 2), (2, 1), (3, 1)), values, strict=True)
            lines += [(seed, phase, epoch, task, "accuracy", value) for (phase, epoch), value in places]
    return write(tmp_path / "ogada_curves.csv", lines)


@pytest.fixture
def curves(curve_file: Path) -> Curves:
    everything = frozenset({"sentiment", "paraphrase", "similarity"})
    return read_curves(curve_file, [everything, frozenset({"sentiment"}), frozenset({"similarity"})])


def test_a_phase_changes_what_lies_between_the_ends_of_two_phases(curves: Curves) -> None:
    assert curves.ends() == [(1, 2), (2, 1), (3, 1)]
    assert curves.change("sentiment", 2) == pytest.approx([0.1, 0.2])
    assert curves.change("similarity", 3) == pytest.approx([0.4, 0.2])


def test_a_page_of_curves_has_every_epoch_and_every_fall(curve_file: Path) -> None:
    recipe = read_recipe(RECIPES / "figures" / "ogada_curves.toml")
    made = curves_files(recipe, curve_file.parent)
    page = made["ogada_curves.md"].splitlines()
    assert "| all in turn | 2 | 0.450 (0.400 to 0.500) | 0.650 (0.600 to 0.700) | 0.600 (0.600 to 0.600) |" in page
    fell = "+15.0 (+10.0 to +20.0), 0 of 2 | −10.0 (−10.0 to −10.0), 2 of 2 | −10.0 (−20.0 to 0.0), 1 of 2 |"
    assert f"| sentiment alone | {fell}" in page
    assert "Mean over 2 seeds (lowest to highest), on rows that nothing was learned from." in page
    assert made["ogada_curves.svg"].count("<rect ") == 5, "three tasks learn in the first phase, then one and one"


def test_a_panel_is_shaded_where_its_task_learns() -> None:
    stretches = [Stretch("a", 0.5, 2.5), Stretch("b", 2.5, 3.5)]
    values = [[0.1, 0.2], [0.2, 0.3], [0.3, 0.4]]
    drawn = [Panel("both", values, [True, True]), Panel("first", values, [True, False])]
    whole = ElementTree.fromstring(panels(drawn, stretches, "Title"))
    widths = [float(one.attrib["width"]) for one in whole.iter("rect")]
    assert widths == pytest.approx([widths[0], widths[0] / 2, widths[0]], abs=0.2)


def test_a_band_reaches_from_the_lowest_seed_to_the_highest() -> None:
    panel = Panel("one", [[0.0, 1.0], [0.5, 0.5]], [True])
    whole = ElementTree.fromstring(panels([panel], [Stretch("a", 0.5, 2.5)], "Title"))
    (band,) = whole.iter("polygon")
    (mean,) = whole.iter("polyline")
    upper, middle, _, lower = [float(point.split(",")[1]) for point in band.attrib["points"].split()]
    assert lower - upper == pytest.approx(120, abs=0.2)  # the panel's height
    assert [float(point.split(",")[1]) for point in mean.attrib["points"].split()] == [middle, middle]


def test_a_point_is_as_high_in_every_panel() -> None:
    wide, narrow = common_ticks([(0.21, 0.78), (0.61, 0.63)])
    assert wide == [0.2, 0.4, 0.6, 0.8]
    assert narrow == [0.6, 0.8, 1.0, 1.2]


def test_the_curves_are_those_of_the_tables_last_model() -> None:
    curves, table = (
        read_document(RECIPES / "figures" / "ogada_curves.toml"),
        arm("ogada_table1.toml", "F then similarity"),
    )
    watching = {"dev", "test", "test_limit", "metric"}  # neither changes what is learned
    for name, task in table["tasks"].items():
        learned = {key: value for key, value in task.items() if key not in watching}
        assert {key: value for key, value in curves["tasks"][name].items() if key not in watching} == learned
        assert curves["tasks"][name]["dev"] == task["test"]
    assert curves["phases"] == table["phases"]
    assert curves["training"].items() >= table["training"].items()


def test_a_run_is_written_down_epoch_by_epoch() -> None:
    benchmark = load_benchmark(TOP / "benchmarks" / "interference.py")
    history = [EvaluationRecord.model_validate({"step": 3, "phase": 1, "epoch": 2, "dev": {"a": 0.25}})]
    tasks = {"a": {"name": "a", "kind": "similarity", "metric": "pearson"}}
    record = RunRecord.model_validate({"seed": 4, "tasks": tasks, "history": history})
    expected = {"seed": 4, "phase": 2, "epoch": 2, "task": "a", "metric": "pearson", "score": "0.25000"}
    assert list(benchmark.lines_of(record)) == [expected]


def test_only_rows_that_epochs_look_at_are_answered(tmp_path: Path) -> None:
    benchmark = load_benchmark(TOP / "benchmarks" / "interference.py")
    document = read_document(benchmark.RECIPE)
    for task in document["tasks"].values():
        (tmp_path / task["dev"]).parent.mkdir(exist_ok=True)
        write(tmp_path / task["dev"], [["sentence"], *([str(number)] for number in range(1800))])
    made = benchmark.recipe(tmp_path)
    assert [row["sentence"] for row in made["tasks"]["paraphrase"]["dev"]] == [str(3 * i) for i in range(600)]


# painted messages


@pytest.fixture
def looks(tmp_path: Path) -> Looks:
    """Two seeds on two messages: label attention doubles what falls on the symptom of the first."""
    spans = [[[3, 8, "symptom"], [3, 8, "body"]], [[0, 4, "symptom"], [6, 8, "time"]]]
    texts = ["my chest hurts", "pain, so"]
    rows = [
        json.dumps({"message": text, "urgency": "urgent", "spans": some})
        for text, some in zip(texts, spans, strict=True)
    ]
    (tmp_path / "test.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    runs = ("plain 1", "label attention 1", "plain 2", "label attention 2")
    weights = [
        ("line", "start", "end", "word", *runs),
        (1, 0, 2, "my", 0.1, 0.1, 0.1, 0.1),
        (1, 3, 8, "chest", 0.2, 0.4, 0.3, 0.6),
        (1, 9, 14, "hurts", 0.1, 0.1, 0.1, 0.1),
        (2, 0, 4, "pain", 0.5, 0.5, 0.5, 0.5),
        (2, 4, 5, ",", 0.05, 0.05, 0.05, 0.05),
        (2, 6, 8, "so", 0.05, 0.05, 0.05, 0.05),
    ]
    answers = [("line", *runs), (1, "urgent", "urgent", "medium", "urgent"), (2, *["urgent"] * 4)]
    return read_looks(
        write(tmp_path / "weights.csv", weights), write(tmp_path / "answers.csv", answers), tmp_path / "test.jsonl"
    )


def test_shares_of_attention_are_those_of_marked_words_other_words_and_special_tokens(looks: Looks) -> None:
    first = looks.messages[0]
    found = {share.name: share.of(first, "label attention").tolist() for share in SHARES}
    assert found["words of symptoms"] == pytest.approx([0.4, 0.6])
    assert found["other words"] == pytest.approx([0.2, 0.2])
    assert found["special tokens"] == pytest.approx([0.4, 0.2])
    assert found["symptoms, of what falls on words"] == pytest.approx([0.4 / 0.6, 0.6 / 0.8])


def test_a_share_is_held_against_that_of_the_same_seed_on_the_same_messages(looks: Looks) -> None:
    assert looks.variants == ("plain", "label attention")
    assert looks.differences[0].by_seed == pytest.approx([0.1, 0.15])
    assert looks.differences[2].mean == pytest.approx(-0.125)


def test_only_symptoms_are_marked(looks: Looks) -> None:
    assert [[*message.marked] for message in looks.messages] == [[False, True, False], [True, False, False]]


def test_answers_and_strongest_words_are_counted(looks: Looks) -> None:
    assert (looks.urgent("plain"), looks.urgent("label attention")) == ("1 to 2", "2 to 2")
    assert looks.same_strongest() == 2
    turned = {**looks.messages[0].weights, "plain": looks.messages[0].weights["plain"][:, ::-1] * [[3, 1, 1]]}
    assert Looks([replace(looks.messages[0], weights=turned), looks.messages[1]]).same_strongest() == 1


def test_weights_of_another_message_are_refused(looks: Looks, tmp_path: Path) -> None:
    rows = (tmp_path / "test.jsonl").read_text(encoding="utf-8").replace("chest", "thumb")
    (tmp_path / "test.jsonl").write_text(rows, encoding="utf-8")
    with pytest.raises(ValueError, match="line 1 is not the one"):
        read_looks(tmp_path / "weights.csv", tmp_path / "answers.csv", tmp_path / "test.jsonl")


def grounds(picture: str) -> list[tuple[float, float, float]]:
    """Left edge, width and opacity of what lies under words."""
    found = [one.attrib for one in ElementTree.fromstring(picture).iter("rect") if "fill-opacity" in one.attrib]
    return [(float(one["x"]), float(one["width"]), float(one["fill-opacity"])) for one in found]


def test_a_ground_lies_under_its_word_and_is_as_dark_as_its_share() -> None:
    words = [PaintedWord(0, 2, 0.2), PaintedWord(3, 8, 0.4), PaintedWord(9, 14, 0.01)]
    found = grounds(painted("my chest hurts", words, 0.4, "plain", ()))
    expected = [(6.0, 2 * LETTER, DARKEST / 2), (6 + 3 * LETTER, 5 * LETTER, DARKEST)]  # the last is too faint
    assert [*map(list, found)] == [pytest.approx(one) for one in map(list, expected)]


def test_a_message_is_broken_at_spaces_and_nothing_of_it_is_lost() -> None:
    message = "a first line that is long enough to be broken, and  then a second one"
    words = [PaintedWord(found.start(), found.end(), 0.1) for found in re.finditer(r"\w+", message)]
    picture = ElementTree.fromstring(painted(message, words, 0.1, "", ()))
    _, *lines = ["".join(one.itertext()) for one in picture.iter("text")]
    assert " ".join(lines).split() == message.split()
    assert max(map(len, lines)) <= COLUMNS
    assert len(grounds(painted(message, words, 0.1, "", ()))) == len(words)


def test_marked_words_are_bold() -> None:
    picture = painted("my chest hurts", [PaintedWord(3, 8, 0.4, bold=True)], 0.4, "plain", ())
    assert [one.text for one in ElementTree.fromstring(picture).iter("tspan")] == ["chest"]


def test_both_pictures_are_made_of_the_tables_models() -> None:
    for one in make_arms(read_grid(RECIPES / "figures" / "wang_figure2.toml")):
        table = arm("wang_table2.toml", f"{one.name} - urgency")
        assert one.document["tasks"] == table["tasks"]
        assert one.document["training"].items() >= table["training"].items()
        assert one.document.get("conditioning") == table.get("conditioning")


def test_a_further_run_is_a_further_column(tmp_path: Path) -> None:
    benchmark = load_benchmark(TOP / "benchmarks" / "attention.py")
    file, found = tmp_path / "found.csv", {}
    for name in ("plain 1", "label attention 1"):
        benchmark.add(found, name, {("10", "a, b"): f"{name}!"})
        benchmark.write(file, ("line", "word"), found)
        found = benchmark.read(file, 2)
    assert file.read_text(encoding="utf-8").splitlines()[1:] == ['10,"a, b",plain 1!,label attention 1!']


def test_a_line_of_the_table_counts_seeds_and_messages_with_a_larger_share(looks: Looks) -> None:
    _, _, symptoms, others, *_ = share_lines(looks)
    assert symptoms[:3] == ["words of symptoms", "0.375 (0.350 to 0.400)", "0.500 (0.450 to 0.550)"]
    assert (symptoms[3], *symptoms[5:]) == ("+12.5", "2 of 2", "1 of 2")
    assert others[5:] == ["0 of 2", "0 of 2"]
