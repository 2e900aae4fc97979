"""The one door: a file is opened once, a row built once, a text tokenized once; a bad row is named with its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch

import weft
from weft.data import formats
from weft.data.formats import Row
from weft.data.records import Example
from weft.model import inputs as door
from weft.model import predict as prediction
from weft.model.embed import load_encoder
from weft.model.evaluate import with_same_texts
from weft.model.folder import save_network
from weft.model.network import Network
from weft.spec import parse
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer

Run = Callable[..., tuple[int, str, str]]
SECRET = "quick lazy patient words"
TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "fox": ({"kind": "classification", "label": "fox"}, ["no", "yes"]),
    "size": ({"kind": "classification", "label": "size"}, ["1", "2", "3"]),
    "short": ({"kind": "classification", "label": "size", "max_length": 8}, ["1", "2", "3"]),
    "same": ({"kind": "pair_classification", "label": "same"}, ["no", "yes"]),
    "drugs": ({"kind": "tagging"}, [((0, 3, "drug"),)]),
    "links": ({"kind": "relations"}, [(((0, 3), (4, 7), "eases"),)]),
}
ROWS = [
    {"text": "the quick fox", "fox": "yes", "size": "1", "entities": [[0, 3, "drug"], [4, 9, "drug"]], "relations": []},
    {"text": "a lazy dog", "fox": "no", "size": "2", "entities": [[2, 6, "drug"]], "relations": []},
    {"text": "over the lazy dog", "fox": "no", "size": "3", "entities": [], "relations": []},
]


@pytest.fixture(scope="module")
def network(small_encoder: str) -> Network:
    """A network with tasks that read the same column, one that reads less of it, and one of two texts."""
    source = load_encoder(small_encoder)
    source.encoder.pooler = None
    tasks = {name: parse(Task, options) for name, (options, _) in TASKS.items()}
    torch.manual_seed(0)
    targets = {name: tasks[name].target().fit(golds) for name, (_, golds) in TASKS.items()}
    return Network(source.encoder, source.tokenizer, tasks, targets).eval()


@pytest.fixture(scope="module")
def folder(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    save_network(network, place := tmp_path_factory.mktemp("models") / "model")
    return place


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write(tmp_path / "rows.jsonl", ROWS)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every file of rows that is opened."""
    found: list[Path] = []
    real = formats.FORMATS[".jsonl"]

    def read(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
        found.append(path)
        return real.read(path, encoding)

    monkeypatch.setitem(formats.FORMATS, ".jsonl", replace(real, read=read))
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "--output", "answers.jsonl"),
        ("inspect", "--task", "fox", "--limit", 2),
        ("evaluate", "--task", "fox", "--task", "size", "--task", "drugs", "--task", "links"),
    ],
)
def test_every_command_opens_a_file_once(
    run_weft: Run,
    folder: Path,
    rows: Path,
    opened: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[Any, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *options = arguments
    code, _, err = run_weft(command, folder, "--data" if command == "evaluate" else "--input", rows, *options)
    assert code == 0, err
    assert opened == [rows]


def test_embed_opens_its_file_once(run_weft: Run, folder: Path, rows: Path, opened: list[Path], tmp_path: Path) -> None:
    code, _, err = run_weft("embed", folder, "--input", rows, "--output", tmp_path / "vectors.npy")
    assert code == 0, err
    assert "3 texts" in err
    assert opened == [rows]


def test_a_row_is_built_once_for_all_tasks_that_read_the_same_of_it(
    network: Network, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[int] = []
    real = door.read_input

    def read(task: Task, row: Row, path: Path) -> Any:
        built.append(row.line)
        return real(task, row, path)

    monkeypatch.setattr(door, "read_input", read)
    found = list(prediction.predict_rows(network, door.read_inputs(network, ["fox", "size", "short"], file=rows)))
    assert len(found) == 3
    assert built == [1, 2, 3]


def test_a_text_is_tokenized_once_for_all_tasks_with_the_same_limit(
    network: Network, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    real = Tokenizer.encodings

    def encodings(self: Tokenizer, texts: Any, **options: Any) -> Any:
        calls.append(len(texts))
        return real(self, texts, **options)

    monkeypatch.setattr(Tokenizer, "encodings", encodings)
    together = list(prediction.predict_rows(network, door.read_inputs(network, ["fox", "size", "short"], file=rows)))
    assert calls == [3, 3]  # `fox` and `size` together; `short` reads fewer tokens
    for name in ("fox", "size", "short"):
        alone = prediction.predict_rows(network, door.read_inputs(network, [name], file=rows))
        assert [row[name] for row in alone] == [row[name] for row in together]


@pytest.mark.parametrize("order", [("fox", "links"), ("links", "fox")])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entities": None}, "rows.jsonl, line 1501: the task links asks about spans"),
        ({"entities": [[0, 99, "drug"]]}, "rows.jsonl, line 1501, column 'entities': "),
        ({"text": 3}, "rows.jsonl, line 1501, column 'text': a whole number is not a text"),
    ],
)
def test_a_bad_row_far_down_is_named_with_its_line_whichever_task_it_is_bad_for(
    run_weft: Run, folder: Path, tmp_path: Path, order: tuple[str, str], change: dict[str, Any], message: str
) -> None:
    source = write(tmp_path / "rows.jsonl", [ROWS[0]] * 1500 + [{**ROWS[0], **change}])
    output = tmp_path / "answers.jsonl"
    tasks = [argument for name in order for argument in ("--task", name)]
    code, out, err = run_weft("predict", folder, "--input", source, *tasks, "--output", output)
    assert (code, out) == (1, "")
    assert message in " ".join(err.split())
    assert "quick fox" not in err
    assert sorted(tmp_path.iterdir()) == [source]


def test_a_bad_row_names_the_tasks_that_read_it(run_weft: Run, folder: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", [{"text": ["the", "fox"]}])
    code, _, err = run_weft("predict", folder, "--input", source, "--task", "fox", "--task", "drugs", "--task", "size")
    assert code == 1
    assert "(read by the task fox, size)" in " ".join(err.split())


# Gold rows


def test_python_measures_all_tasks_that_a_path_rows_or_a_table_can_serve(network: Network, rows: Path) -> None:
    model = weft.Model(network)
    with pytest.warns(UserWarning, match="left out: task 'same' reads the columns 'sentence1', 'sentence2'"):
        by_path = model.evaluate(str(rows))
    assert list(by_path) == ["fox", "size", "short", "drugs", "links"]
    for data in (rows, ROWS, (row for row in ROWS)):
        with pytest.warns(UserWarning, match="left out"):
            assert model.evaluate(data) == by_path
    table = pa.table({name: [row[name] for row in ROWS] for name in ("text", "fox", "size")})
    assert model.evaluate(table, task=["fox", "size"]) == {name: by_path[name] for name in ("fox", "size")}
    assert model.evaluate(str(rows), task="fox") == {"fox": by_path["fox"]}
    assert model.evaluate(rows, task=["size", "fox"]) == {"fox": by_path["fox"], "size": by_path["size"]}
    assert model.evaluate({"fox": ROWS, "size": str(rows)}, task="size") == {"size": by_path["size"]}


def test_python_opens_a_file_once_that_several_tasks_are_measured_on(
    network: Network, rows: Path, opened: list[Path]
) -> None:
    weft.Model(network).evaluate({"fox": rows, "size": str(rows), "drugs": rows})
    assert opened == [rows]


def test_only_tasks_with_the_same_texts_in_the_same_order_are_measured_together() -> None:
    def rows(*texts: str) -> list[Example]:
        return [Example((text,), "a", line) for line, text in enumerate(texts, 2)]

    parts = {"one": rows("x", "y"), "same": rows("x", "y"), "turned": rows("y", "x"), "more": rows("x", "y", "z")}
    assert with_same_texts(parts) == [["one", "same"], ["turned"], ["more"]]


def test_tasks_measured_on_the_same_texts_share_tokens_and_passes(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = [{**row, "text": f"{row['text']} again"} for row in ROWS]
    data = {"fox": ROWS, "short": other, "size": ROWS, "drugs": ROWS}
    alone = {name: weft.Model(network).evaluate({name: rows})[name] for name, rows in data.items()}
    tokenized: list[int] = []
    passes: list[int] = []
    real = Tokenizer.encodings

    def encodings(self: Tokenizer, texts: Any, **options: Any) -> Any:
        tokenized.append(len(texts))
        return real(self, texts, **options)

    monkeypatch.setattr(Tokenizer, "encodings", encodings)
    handle = network.encoder.register_forward_hook(lambda *_: passes.append(1))
    together = weft.Model(network).evaluate(data)
    handle.remove()
    assert together == alone
    assert tokenized == [3, 3, 3]  # `fox` and `size` together; `drugs`, which reads without a limit; `short`
    assert len(passes) == 2


@pytest.mark.parametrize(
    ("data", "task", "message"),
    [
        ("rows.csv", None, "rows.csv: there is no such file"),
        ([{"text": SECRET}], "fox", "the rows given: task 'fox' has its answers in the column 'fox'"),
        (
            [{"text": SECRET, "fox": "yes"}, SECRET],
            "fox",
            r"the rows given, row 1 \(counted from 0\): is a text, but a row must be a dict",
        ),
        ([SECRET], None, r"the rows given, row 0 \(counted from 0\): is a text"),
        ([], "fox", "the rows given: holds no rows"),
        (3, None, "received a whole number, but needs a file's path, a table, or rows as dicts"),
        ({"fox": [{"text": "fox", "fox": "yes"}]}, "size", "no data for the task size; data was given for: fox"),
        ({"foxes": "rows.csv"}, None, "no task 'foxes'"),
        ("rows.csv", "foxes", "no task 'foxes'"),
    ],
)
def test_python_refuses_what_cannot_be_measured_on(network: Network, data: Any, task: str | None, message: str) -> None:
    with pytest.raises(weft.WeftError, match=message) as caught:
        weft.Model(network).evaluate(data, task)
    assert SECRET not in str(caught.value)


def test_evaluate_leaves_out_a_task_whose_columns_a_file_lacks_and_says_so(
    run_weft: Run, folder: Path, tmp_path: Path
) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("text,fox\nthe quick fox,yes\na lazy dog,no\n", encoding="utf-8")
    code, _, err = run_weft("evaluate", folder, "--data", source, "--json", tmp_path / "scores.json")
    assert code == 0, err
    assert list(json.loads((tmp_path / "scores.json").read_text())) == ["fox"]
    said = " ".join(err.split())
    assert "left out: task 'same' reads the columns 'sentence1', 'sentence2'" in said
    assert "left out: task 'size' has its answers in the column 'size'" in said


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("same", "rows.csv: task 'same' reads the columns 'sentence1', 'sentence2'; its columns are: text, fox, mine"),
        ("size", "rows.csv: task 'size' has its answers in the column 'size'; its columns are: text, fox, mine"),
    ],
)
def test_evaluate_refuses_a_file_without_the_columns_of_a_task_that_was_named(
    run_weft: Run, folder: Path, tmp_path: Path, task: str, message: str
) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("text,fox,mine\nthe quick fox,yes,1\n", encoding="utf-8")
    code, out, err = run_weft("evaluate", folder, "--data", source, "--task", "fox", "--task", task)
    assert (code, out) == (1, "")
    assert message in " ".join(err.split())


def test_evaluate_refuses_a_file_that_serves_no_task(run_weft: Run, folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("text,other\nthe quick fox,yes\n", encoding="utf-8")
    code, out, err = run_weft("evaluate", folder, "--data", source)
    assert (code, out) == (1, "")
    assert "task 'fox' has its answers in the column 'fox'" in " ".join(err.split())


def test_every_fault_of_gold_rows_is_named_with_its_line(run_weft: Run, folder: Path, tmp_path: Path) -> None:
    rows = [ROWS[0], {"text": "", "fox": "yes"}, {"text": SECRET, "size": ["1"]}]
    source = write(tmp_path / "rows.jsonl", rows)
    code, out, err = run_weft("evaluate", folder, "--data", source, "--task", "fox", "--task", "size")
    assert (code, out) == (1, "")
    assert "line 2, column 'text': the text is empty" in err
    assert "line 3, column 'size': a label must be a word or a number, but this is a list" in err
    assert SECRET not in err
