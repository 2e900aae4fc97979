"""Many runs of one process: what they share is made once, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft
from shared_runs import CONFIGS, FOX, LONG, TAGS, Run, make_files, result, runner
from weft.checkpoints.safetensors import digest, read_file
from weft.data.dataset import StoredRows
from weft.data.records import Example
from weft.errors import ConfigError, DataError
from weft.metrics.outcomes.file import OUTCOMES, read_outcomes
from weft.model.evaluate import measure_baselines
from weft.spec import parse
from weft.targets.tags import BioTarget, TagsTarget
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer
from weft.training import shared as sharing
from weft.training.progress import Callback
from weft.training.shared import Shared
from weft.training.task_data import Fold, load_data


@pytest.fixture
def files(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> Path:
    """The folder of the files."""
    return make_files(tmp_path, tiny_tokenizers["wordpiece"])


@pytest.fixture
def run(files: Path, small_encoder: str) -> Run:
    """Trains a config on the files."""
    return runner(files, small_encoder)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_run_gives_the_same_bytes_with_what_others_have_made(run: Run, name: str) -> None:
    shared = Shared()
    alone = result(run(CONFIGS[name]))
    assert result(run(CONFIGS[name], shared)) == alone
    assert result(run(CONFIGS[name], shared)) == alone  # now with everything that the first has made


def test_it_does_not_matter_what_a_process_has_run_before(run: Run) -> None:
    shared = Shared()
    for before in CONFIGS.values():
        run({**before, "seed": 7}, shared)
    mixed = {"tasks": {"fox": {**FOX, "limit": 20, "loss": {"kind": "focal"}}, "words": TAGS}}
    assert result(run(mixed, shared)) == result(run(mixed))


def test_encoder_files_and_baselines_are_made_once_for_many_runs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **named: [made.append(name), function(*given, **named)][1]

    for name in ("read_files", "measure_baselines"):
        monkeypatch.setattr(sharing, name, counted(name, getattr(sharing, name)))
    monkeypatch.setattr("weft.training.prepare.load_encoder", counted("load", weft.load_encoder))
    shared = Shared()
    for rate in (1e-3, 1e-4):
        run({"tasks": {"fox": FOX}, "training": {"epochs": 1, "learning_rate": rate}}, shared)
    assert sorted(made) == ["load", "measure_baselines", "read_files"]


def test_texts_are_tokenized_once_for_many_runs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    encodings = Tokenizer.encodings

    def counted(self: Tokenizer, texts: Any, **options: Any) -> Any:
        seen.extend(texts)
        return encodings(self, texts, **options)

    shared = Shared()
    run({"tasks": {"long": LONG}}, shared)
    monkeypatch.setattr(Tokenizer, "encodings", counted)
    run({"tasks": {"long": LONG}, "seed": 3}, shared)
    known = len(set(seen))
    assert known <= 32  # the test rows, which the written model is asked about with its own tokenizer


def test_a_file_that_was_written_anew_is_read_anew(run: Run, tmp_path: Path) -> None:
    shared = Shared()
    run({"tasks": {"fox": FOX}}, shared)
    with (tmp_path / "rows.csv").open("a", encoding="utf-8") as file:
        file.write("the café,no,short\n")
    report = json.loads((run({"tasks": {"fox": FOX}}, shared) / "report.json").read_text(encoding="utf-8"))
    assert sum(report["tasks"]["fox"]["rows"].values()) == 49


def test_tasks_that_read_other_columns_of_a_file_share_no_rows(run: Run) -> None:
    shared = Shared()
    run({"tasks": {"one": FOX}}, shared)
    other = {"tasks": {"one": {**FOX, "label": "long"}}}
    assert result(run(other, shared)) == result(run(other))


def test_baselines_are_those_of_a_runs_own_rows(files: Path) -> None:
    shared, task = Shared(), parse(Task, LONG)
    rows = load_data({"long": task}, files, 5)["long"]
    target = task.target().fit([row.gold for row in rows.train])
    for train, measured in ((rows.train, rows.test), (rows.test, rows.test), (rows.test, rows.train)):
        assert shared.baselines(target, train, measured) == measure_baselines(target, train, measured)


def test_baselines_of_other_kinds_or_options_are_not_shared() -> None:
    rows = [Example((text,), ((0, 3, "AB"[row % 2]),), row) for row, text in enumerate(("fox runs", "dog sits") * 4)]
    golds = [row.gold for row in rows]
    shared = Shared()
    for target in (TagsTarget().fit(golds), BioTarget().fit(golds)):
        assert shared.baselines(target, StoredRows(rows), rows) == measure_baselines(target, StoredRows(rows), rows)
    shared.baselines(BioTarget(flat=False).fit(golds), StoredRows(rows), rows)
    assert len(shared._baselines) == 3


def test_faults_are_the_same_with_shared_rows(run: Run) -> None:
    wrong = {"tasks": {"fox": {**FOX, "label": "nothing"}, "gone": {**FOX, "train": "gone.csv"}, "long": LONG}}
    messages = []
    for shared in (None, Shared()):
        with pytest.raises(weft.WeftError) as caught:
            run(wrong, shared)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "nothing" in messages[0]
    assert "gone.csv" in messages[0]


class Watching(Callback):
    """Notes what stands in the folder of a run after each epoch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seen = folder, set[str]()

    def evaluated(self, entry: dict[str, Any]) -> None:
        self.seen |= {path.name for path in self.folder.glob("*.running/*")}


def test_a_run_that_need_not_go_on_writes_nothing_on_the_way_and_gives_the_same(run: Run, tmp_path: Path) -> None:
    many = {"epochs": 6, "batch_size": 4, "learning_rate": 5e-3}  # so that each task has a best epoch of its own
    config = {"tasks": {"fox": FOX, "long": LONG, "words": TAGS}, "training": many, "seed": 3}
    usual, watching = run(config), Watching(tmp_path)
    quick = run(config, resumable=False, callback=watching)
    assert watching.seen == {"weft.toml", "started.json", "metrics.jsonl"}
    assert result(quick) == result(usual)
    files = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) for folder in (quick, usual)]
    assert files[0] == files[1]
    own = [path.parent for path in (usual / "best").glob("*/weft.json")]
    assert own
    for folder in own:
        assert digest(read_file(folder / "model.safetensors")) == digest(
            read_file(quick / "best" / folder.name / "model.safetensors")
        )


# Folds


def test_every_row_is_tested_in_one_fold_and_never_learned_from_there(files: Path) -> None:
    spelled = {**LONG, "train": "./rows.csv"}  # the same file
    tasks = {name: parse(Task, task) for name, task in {"fox": FOX, "long": spelled}.items()}
    tested: list[int] = []
    for index in range(4):
        data = load_data(tasks, files, 5, fold=Fold(4, index))
        lines = {name: [{row.line for row in part} for part in vars(splits).values()] for name, splits in data.items()}
        assert lines["fox"][1:] == lines["long"][1:]  # no task learns from what another is chosen by or tested on
        for train, dev, test in lines.values():
            assert len(train) + len(dev) + len(test) == len(train | dev | test) == 48
        tested += lines["fox"][2]
    assert sorted(tested) == list(range(2, 50))


def test_more_folds_than_different_texts_are_a_fault_of_every_task_of_the_file(files: Path) -> None:
    tasks = {name: parse(Task, task) for name, task in {"fox": FOX, "long": LONG}.items()}
    with pytest.raises(ConfigError) as caught:
        load_data(tasks, files, 5, fold=Fold(49, 0))
    assert [fault.path for fault in caught.value.located[:2]] == ["tasks.fox.train", "tasks.long.train"]
    assert "too few for 49 folds" in caught.value.faults[0]


def test_a_fold_without_an_answer_to_a_task_is_a_fault_and_never_measured_on_dev_rows(files: Path) -> None:
    lines = (files / "rows.csv").read_text(encoding="utf-8").splitlines()
    few = [f"{line},{'ab'[row % 2] if row < 9 else ''}" for row, line in enumerate(lines[1:])]
    (files / "rows.csv").write_text("\n".join([f"{lines[0]},few", *few]) + "\n", encoding="utf-8")
    tasks = {name: parse(Task, {**LONG, "label": name, "dev": "test.csv"}) for name in ("long", "few")}
    (files / "test.csv").write_text("text,long,few\nthe fox,short,a\nthe dog,long,b\n", encoding="utf-8")
    found: list[str] = []
    for index in range(12):
        try:
            assert load_data(tasks, files, 5, fold=Fold(12, index))["few"].test
        except DataError as error:
            found += str(error).splitlines()
    assert len(found) >= 3
    assert set(found) == {
        "tasks.few.train: rows.csv: none of the rows of a fold has an answer; ask for fewer than 12 folds"
    }


def test_outcomes_of_all_folds_call_a_label_the_same(run: Run, files: Path) -> None:
    lines = (files / "rows.csv").read_text(encoding="utf-8").splitlines()
    long = "a label of more than forty characters, so perhaps a text"
    labels = [("none", "some", "few", f'"{long}"')[3 if row in (4, 20, 33) else row % 3] for row in range(48)]
    texts = [line.split(",")[0] for line in lines[1:]]
    rows = [f"{text},{label}" for text, label in zip(texts, labels, strict=True)]
    (files / "rows.csv").write_text("\n".join(["text,long", *rows]) + "\n", encoding="utf-8")
    task = {key: value for key, value in LONG.items() if key != "test"}
    outputs = [run({"tasks": {"long": {**task, "dev": 0.2}}}, fold=Fold(5, index)) for index in range(5)]
    seen = {read_outcomes(output / OUTCOMES)["long"].labels for output in outputs}
    assert seen == {(long, "few", "none", "some")}  # which every fold would have hidden that answers one of its three


def test_a_run_reports_on_the_rows_of_its_fold(run: Run) -> None:
    rows = [
        json.loads((run({"tasks": {"long": LONG}}, fold=fold) / "report.json").read_text(encoding="utf-8"))
        for fold in (Fold(3, 0), Fold(3, 2), None)
    ]
    tested = [report["tasks"]["long"]["rows"]["test"] for report in rows]
    assert tested[0] + tested[1] < 40
    assert tested[2] == 32
    assert all(report["tasks"]["long"]["reported_on"] == "test" for report in rows)
