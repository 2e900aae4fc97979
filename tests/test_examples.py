"""The packaged examples: their rows are as is said, and each can be written, checked, trained and asked."""

from __future__ import annotations

import csv
import fnmatch
import json
import re
import shlex
import shutil
import tomllib
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import typer

import weft
from checking import check
from weft.cli import main as cli
from weft.config.document import read_experiment
from weft.data.formats import read_rows
from weft.errors import ConfigError, WeftError
from weft.examples import FOLDER, PackagedExample, all_examples
from weft.model.embed import TextEncoder
from weft.tasks import Task
from weft.tasks.base.examples import read_example
from weft.training.progress import Callback

TOP = Path(__file__).parent.parent
EXAMPLES = all_examples()
PARTS = ("train", "test")
LABELS = {
    "topic": {"account", "billing", "delivery", "product", "returns"},
    "tone": {"angry", "annoyed", "neutral", "pleased"},
    "tags": {"damaged", "late", "login", "question", "refund", "thanks"},
}
Run = Callable[..., tuple[int, str, str]]
each = pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda example: example.name)


def table(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file of the support desk."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def orders(part: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"orders.{part}.jsonl").read_text(encoding="utf-8").splitlines()]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


# the catalogue


def test_every_kind_of_task_has_an_example() -> None:
    own = {kind for kind, task in Task.kinds().items() if task.__module__.startswith("weft.")}  # not those of plugins
    assert {kind for example in EXAMPLES.values() for kind in example.kinds} == own


def test_several_labels_ordered_labels_and_several_tasks_on_one_file_have_an_example() -> None:
    tasks = [list(read_experiment(example.config).tasks.values()) for example in EXAMPLES.values()]
    alone = [some[0].to_dict() for some in tasks if len(some) == 1]
    assert any(task.get("multilabel") for task in alone)
    assert any((task.get("loss") or {}).get("kind") == "ordinal" for task in alone)
    assert any(len(some) > 2 and len({task.train for task in some}) == 1 for some in tasks)


@each
def test_an_example_passes_the_checks_without_a_finding(example: PackagedExample, minilm: TextEncoder) -> None:
    found = check(read_experiment(example.config), example.config.parent, minilm.tokenizer, 512)
    if example.name == "triage":  # few messages are urgent, as in life
        found = [one for one in found if "too few rows" not in one.message]
    assert found == []


# rows


def test_everything_is_small_and_ascii_and_free() -> None:
    files = list(FOLDER.iterdir())
    assert sum(file.stat().st_size for file in files) < 200_000
    assert all(file.read_text(encoding="utf-8").isascii() for file in files)
    assert "CC0" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_readme_counts_rows_as_they_are() -> None:
    said = re.findall(r"^\| (`.*?`) \| ([\d, ]+) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.M)
    counted = {}
    for files, numbers in said:
        counted |= dict(zip(re.findall(r"`(.*?)`", files), map(int, numbers.split(", ")), strict=True))
    data = {file for example in EXAMPLES.values() for file in example.data if file.parent == FOLDER}
    assert counted == {file.name: sum(any(row.columns.values()) for row in read_rows(file)) for file in data}


def test_every_ticket_has_known_labels_and_every_label_has_rows_to_learn_and_to_measure() -> None:
    for part, least in (("train", 8), ("test", 10)):
        counts: dict[tuple[str, str], int] = defaultdict(int)
        for row in table(f"tickets.{part}.csv"):
            for column in LABELS:
                for label in row[column].strip("|").split("|"):
                    counts[column, label] += 1
        assert counts.pop(("tags", "")) > 0, "no ticket without a tag"
        assert set(counts) == {(column, label) for column, labels in LABELS.items() for label in labels}
        assert min(counts.values()) >= least


def test_no_two_tickets_or_orders_are_near_copies() -> None:
    tickets = [row["text"] for part in PARTS for row in table(f"tickets.{part}.csv")]
    for texts in (tickets, [row["text"] for part in PARTS for row in orders(part)]):
        triples = [{tuple(found[i : i + 3]) for i in range(max(1, len(found) - 2))} for found in map(words, texts)]
        assert max(len(a & b) / len(a | b) for a, b in combinations(triples, 2)) < 0.25


@pytest.mark.parametrize(
    ("name", "columns"), [("duplicates", ("question1", "question2")), ("similar", ("sentence1", "sentence2"))]
)
def test_no_text_of_a_pair_is_in_both_files(name: str, columns: tuple[str, str]) -> None:
    train, test = ({row[column] for row in table(f"{name}.{part}.csv") for column in columns} for part in PARTS)
    assert train & test == set()


def test_common_words_do_not_tell_whether_two_questions_are_the_same() -> None:
    for part in PARTS:
        shares = defaultdict(list)
        for row in table(f"duplicates.{part}.csv"):
            a, b = set(words(row["question1"])), set(words(row["question2"]))
            shares[row["same"]].append(len(a & b) / len(a | b))
        assert set(shares) == {"yes", "no"}
        for found in shares.values():  # some of each sort share hardly a word, some most of them
            assert sum(share < 0.2 for share in found) >= 3
            assert sum(share > 0.4 for share in found) >= 3


def test_scores_fill_the_scale() -> None:
    for part in PARTS:
        scores = [float(row["score"]) for row in table(f"similar.{part}.csv")]
        assert 0 <= min(scores) < 1
        assert 4 < max(scores) <= 5
        assert all(any(low <= score <= low + 1 for score in scores) for low in range(5))


def test_spans_of_orders_are_whole_words_apart_from_each_other() -> None:
    for row in (row for part in PARTS for row in orders(part)):
        text = row["text"]
        assert row["spans"] == sorted(row["spans"])
        for start, end, label in row["spans"]:
            assert label in {"product", "quantity", "variant", "date", "order"}
            assert text[start:end] == text[start:end].strip() != ""
            assert not text[start - 1 : start].isalnum()
            assert not text[end : end + 1].isalnum()
            assert (label == "order") == bool(re.fullmatch(r"[ABC]-\d{5}", text[start:end]))
        assert all(before[1] <= after[0] for before, after in combinations(row["spans"], 2))


def test_relations_of_orders_go_from_an_amount_or_a_variant_to_its_product() -> None:
    several = 0
    for row in (row for part in PARTS for row in orders(part)):
        labels = [label for _, _, label in row["spans"]]
        for head, tail, label in row["relations"]:
            assert (labels[head], labels[tail]) == (label.replace("amount", "quantity").removesuffix("_of"), "product")
        told = [head for head, _, _ in row["relations"]]
        assert sorted(told) == [i for i, label in enumerate(labels) if label in ("quantity", "variant")]
        several += labels.count("product") > 1 and bool(told)
    assert several >= 20  # messages in which a product must be chosen


def test_the_tagged_orders_are_the_marked_ones() -> None:
    spans, tagging = (read_experiment(EXAMPLES[name].config).tasks["parts"] for name in ("spans", "tagging"))

    def marked(task: Task, file: str) -> list[list[tuple[str, str]]]:
        path, found = FOLDER / file, []
        for row in read_rows(path):
            read = read_example(task, row, path)
            assert read is not None
            marks = [(read.texts[0][start:end], label) for start, end, label in read.gold]
            found.append([(re.sub(r"\s", "", text), label) for text, label in marks])
        return found

    for part in PARTS:
        assert marked(spans, f"orders.{part}.jsonl") == marked(tagging, f"orders.{part}.conll")


# what the command does


def test_the_list_has_a_line_for_each_example_and_fits_80_columns(run_weft: Run) -> None:
    code, out, _ = run_weft("example")
    head, *lines = out.split("\n\n")[0].splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == list(EXAMPLES)
    assert all(len(line) <= 80 for line in (head, *lines))
    rows = {line.split()[0]: int(line.split()[1]) for line in lines}
    assert (rows["desk"], rows["spans"], rows["tagging"], rows["articles"], rows["triage"]) == (201, 105, 105, 30, 671)
    (desk,) = (line for line in lines if line.startswith("desk"))
    assert re.fullmatch(r"desk +201  classification +Three questions in one pass", desk)


@each
def test_what_is_written_is_complete_and_what_is_printed_can_be_typed(
    run_weft: Run, tmp_path: Path, example: PackagedExample
) -> None:
    place = tmp_path / "new" / "my example"
    code, out, err = run_weft("example", example.name, "--output", place)
    assert (code, out.count("\n")) == (0, 1)
    written = {file.name: file.read_bytes() for file in place.iterdir()}
    assert written == {file.name: file.read_bytes() for file in (example.config, *example.data, place / "README.md")}
    assert [one.path for one in check(read_experiment(place / example.config.name), place)] == ["encoder.from"]
    assert list(place.parent.iterdir()) == [place]
    commands = [shlex.split(line) for line in err.split("Next:\n")[1].splitlines()]
    assert commands[0] == ["cd", str(place)]
    assert [command[:2] for command in commands[1:]] == [["weft", verb] for verb in ("check", "train", "predict")]
    assert (place / commands[1][2]).is_file()
    for _, verb, *arguments in commands[1:]:
        typer.main.get_command(cli.app).commands[verb].make_context(verb, arguments)  # type: ignore[attr-defined]


def test_what_to_do_next_is_no_result_and_may_be_silenced(run_weft: Run, tmp_path: Path) -> None:
    for name in ("", "topic"):
        arguments = (name, "-o", tmp_path / "topic") if name else ()
        code, out, err = run_weft("example", *arguments, "--quiet")
        assert (code, err) == (0, "")
        assert "Next" not in out
    code, out, err = run_weft("example")
    assert "Next" not in out
    assert "Next: weft example topic" in err


def test_an_example_is_written_to_its_name_and_never_over_anything(
    run_weft: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_weft("example", "topic")[0] == 0
    (tmp_path / "topic" / "topic.toml").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for output in ("topic", "file", "file/below"):
        code, out, err = run_weft("example", "topic", "-o", output)
        assert (code, out) == (1, "")
        assert err.startswith(f"weft: the output {output} exists already; name another with --output") or (
            err.startswith(f"weft: cannot write {output}")
        )
    assert (tmp_path / "topic" / "topic.toml").read_text() == (tmp_path / "file").read_text() == "mine"


def test_an_empty_folder_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        EXAMPLES["topic"].write(tmp_path / "empty")


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copyfile

    def fill_up(source: Path, target: Path) -> Any:
        if source.suffix == ".csv":
            raise OSError(28, "No space left on device")
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", fill_up)
    with pytest.raises(WeftError, match="cannot write .*No space left"):
        EXAMPLES["topic"].write(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_does_not_exist_is_answered_with_those_that_do(run_weft: Run, tmp_path: Path) -> None:
    code, _, err = run_weft("example", "topc", "-o", tmp_path / "new")
    assert code == 2
    assert "there is no example 'topc'; there are articles, boundary, desk," in err
    assert "did you mean 'topic'?" in err
    code, _, err = run_weft("example", "-o", tmp_path / "new")
    assert code == 2
    assert "--output needs the NAME of an example" in err
    assert list(tmp_path.iterdir()) == []


@each
def test_an_example_trains_and_answers_what_its_head_asks(
    run_weft: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_encoder: str, example: PackagedExample
) -> None:
    document = tomllib.loads(example.config.read_text(encoding="utf-8"))
    training = {"batch_size": 8, "learning_rate": 1e-3, "baselines": False}
    short = {"encoder": {"from": small_encoder}, "phases": [{"steps": 2}], "training": training}
    if example.name == "triage":
        short["tasks"] = {name: {**task, "dev": 0, "limit": 48} for name, task in document["tasks"].items()}
    weft.train({**document, **short}, tmp_path / "model", data=example.config.parent, callback=Callback())
    monkeypatch.chdir(tmp_path)
    code, out, err = run_weft(*shlex.split(example.question)[1:])
    assert code == 0, err
    answer = json.loads(out)
    asked = re.findall(r"--task (\w+)", example.question)
    assert set(asked or document["tasks"]) <= answer.keys()


def test_the_wheel_takes_every_file_beside_the_source() -> None:
    build = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert build == {"targets": {"wheel": {"packages": ["src/weft"]}}}  # nothing left out, but what git does not see
    ignored = [line.rstrip("/") for line in (TOP / ".gitignore").read_text(encoding="utf-8").splitlines() if line]
    for example in EXAMPLES.values():
        for file in (example.config, *example.data, example.config.parent / "README.md"):
            parts = file.relative_to(TOP / "src").parts
            assert not [(part, pattern) for part in parts for pattern in ignored if fnmatch.fnmatch(part, pattern)]
