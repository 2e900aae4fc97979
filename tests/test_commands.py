"""Every command from its arguments to what it prints, its exit code and the files it leaves."""

from __future__ import annotations

import contextlib
import html
import io
import json
import random
import re
import shutil
import signal
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import weft
from weft.checkpoints.safetensors import digest, read_file
from weft.cli import main as cli
from weft.demo import FOLDER as DEMO
from weft.model.devices import choose_device
from weft.model.folder import learned_from, reported_on
from weft.reports.record import RunRecord
from weft.reports.summary import verdict
from weft.training.progress import Callback, ProgressCallback

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]
LONG = "the quick brown fox jumps over the lazy dog"  # more tokens than the task `fox` reads
FILES = {
    *("README.md", "metrics.json", "model.safetensors", "outcomes.safetensors", "report.html", "report.json"),
    *("tokenizer.json", "weft.json"),
}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def run(*arguments: object) -> Done:
    """Run `weft` in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["weft", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as caught:
            cli.main()
    finally:
        sys.argv = before
    assert "Traceback" not in err.getvalue()
    return Done(int(caught.value.code or 0), out.getvalue(), err.getvalue())


def cells(text: str) -> list[list[str]]:
    """The lines of a printed table as words, without its rules."""
    return [re.sub(r"[│┃|]", " ", line).split() for line in text.splitlines()]


def sentences(count: int, seed: int = 0) -> list[str]:
    """Different texts of 2 to 6 words."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(rng.choices(WORDS, k=rng.randint(2, 6)))] = None
    return list(found)


def write_csv(path: Path, rows: list[tuple[Any, ...]]) -> None:
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, small_encoder: str) -> Path:
    """A folder with `triage.toml`, and beside it `rows/` with the files of its three tasks."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "rows").mkdir()
    texts = sentences(80)
    marked = [(text, "yes" if "fox" in text else "no", len(text.split()) % 2) for text in texts]
    for name, part in (("train", marked[:40]), ("dev", marked[40:60]), ("test", marked[60:])):
        write_csv(folder / "rows" / f"{name}.csv", [("text", "fox", "odd"), *part])
    pairs = [(one, other, "ab"[number % 2]) for number, (one, other) in enumerate(zip(texts, texts[40:], strict=False))]
    write_csv(folder / "rows" / "pairs.csv", [("sentence1", "sentence2", "label"), *pairs[:24]])
    (folder / "triage.toml").write_text(
        f"""
        data = "rows"
        phases = [{{}}]
        [encoder]
        from = {json.dumps(small_encoder)}
        [tasks.fox]
        kind = "classification"
        train = "train.csv"
        dev = "dev.csv"
        test = "test.csv"
        label = "fox"
        loss = "focal"
        max_length = 8
        [tasks.odd]
        kind = "classification"
        train = "train.csv"
        dev = "dev.csv"
        label = "odd"
        [tasks.same]
        kind = "pair_classification"
        encode = "siamese"
        train = "pairs.csv"
        dev = "pairs.csv"
        [training]
        epochs = 1
        learning_rate = 1e-3
        choose_from = 1
        """,
        encoding="utf-8",
    )
    return folder


@dataclass(frozen=True)
class Trained:
    """A finished `weft train`."""

    done: Done
    folder: Path

    @property
    def record(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "report.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def trained(home: Path) -> Trained:
    """The model of `triage.toml`, trained by the command with two values changed and another seed."""
    changes = ("--set", "training.epochs=2", "--set", "tasks.fox.loss.gamma=1")
    folder = home / "new" / "triage"
    return Trained(run("train", home / "triage.toml", "-o", folder, *changes, "--seed", 7, "--device", "cpu"), folder)


# weft train


def test_train_ends_well_and_leaves_a_whole_folder_and_nothing_unfinished(trained: Trained) -> None:
    assert trained.done.code == 0
    assert {path.name for path in trained.folder.iterdir() if path.is_file()} >= FILES
    assert [path.name for path in trained.folder.parent.iterdir()] == ["triage"]
    assert not list(trained.folder.glob("state*"))


def test_train_prints_the_results_of_the_report_and_where_they_are(trained: Trained) -> None:
    record = trained.record
    rows = cells(trained.done.out)
    for name, task in record["tasks"].items():
        result, part = task["result"], task["reported_on"]
        value = result["measures"]["scores"][result["metric"]]
        row = next(row for row in rows if row[:1] == [name])
        assert row[:3] == [name, result["metric"], f"{value:.3f}"]
        assert row[-2:] == [str(result["rows"]), part]
    said = " ".join(trained.done.out.split())
    assert all(" ".join(sentence.split()) in said for sentence in verdict(RunRecord.from_dict(record)))
    page = trained.folder / "report.html"
    assert f"model and report: {trained.folder} (open {page})" in trained.done.err


def test_train_measures_on_the_test_rows_and_else_on_the_dev_rows(trained: Trained) -> None:
    reported = {name: (task["reported_on"], task["result"]["rows"]) for name, task in trained.record["tasks"].items()}
    assert reported == {"fox": ("test", 20), "odd": ("dev", 20), "same": ("dev", 24)}


def test_train_tells_each_evaluation_while_it_runs(trained: Trained) -> None:
    lines = re.findall(r"epoch .*?(?=\nepoch |\nmeasuring )", trained.done.err, re.DOTALL)
    history = trained.record["history"]
    assert len(lines) == len(history) == 2
    for line, entry in zip(lines, history, strict=True):
        scores = " · ".join(f"{task} {value:.3f}" for task, value in entry["dev"].items())
        assert " ".join(line.split()).startswith(f"epoch {entry['epoch']}: dev {scores} · overall gain")


def test_train_takes_changes_a_seed_and_the_configs_data(trained: Trained, home: Path) -> None:
    config = tomllib.loads(trained.record["config"])
    assert (trained.record["seed"], config["seed"]) == (7, 7)
    assert config["training"]["epochs"] == 2
    assert config["tasks"]["fox"]["loss"]["gamma"] == 1.0
    assert trained.record["data"] == str((home / "rows").resolve())


@pytest.fixture(scope="module")
def bare(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The model of `triage.toml` without baselines, one task without a dev file, where the command puts it."""
    here = tmp_path_factory.mktemp("bare")
    changes = ("--set", "training.baselines=false", "--set", "tasks.odd.dev=0.3")
    shutil.copytree(home / "rows", here / "moved")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        return Trained(run("train", home / "triage.toml", "--data", "moved", *changes), here / "runs" / "triage")


def test_train_without_output_makes_a_folder_of_the_configs_name_in_runs(bare: Trained) -> None:
    assert bare.done.code == 0
    assert (bare.folder / "weft.json").is_file()
    assert f"model and report: {Path('runs/triage')} (open" in bare.done.err
    assert bare.record["data"] == str((bare.folder.parent.parent / "moved").resolve())


def test_train_without_baselines_says_that_nothing_was_compared(bare: Trained) -> None:
    assert "fox, odd and same were not compared with a baseline" in " ".join(bare.done.out.split())
    assert all(task["result"]["baselines"] == {} for task in bare.record["tasks"].values())


def test_train_sets_the_share_asked_for_aside(bare: Trained) -> None:
    assert bare.record["tasks"]["odd"]["rows"] == {"train": 28, "dev": 12, "test": 0}


def test_train_interrupted_is_exit_130_and_resume_ends_with_the_same_weights(
    home: Path, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ("--set", "training.epochs=2", "--set", "tasks.fox.loss.gamma=1", "--seed", 7)
    command = ("train", home / "triage.toml", "-o", tmp_path / "model", *changes)
    seen: list[str] = []

    def stop_at_the_third(self: Callback, epoch: str, task: str, loss: float, rows: int) -> None:
        seen.append(task)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(ProgressCallback, "step", stop_at_the_third)
        stopped = run(*command)
    assert (stopped.code, stopped.out, len(seen)) == (130, "", 3)
    assert f"weft: interrupted; everything so far is in {tmp_path / 'model'}.running" in stopped.err
    assert "--resume" in stopped.err
    again = run(*command)
    assert (again.code, again.out) == (1, "")
    assert "go on with it with --resume" in again.err
    done = run(*command, "--resume")
    assert (done.code, done.out) == (0, trained.done.out)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    ended, whole = (read_file(folder / "model.safetensors") for folder in (tmp_path / "model", trained.folder))
    assert digest(ended) == digest(whole)


def test_brackets_in_the_name_of_an_output_are_printed_as_they_are(trained: Trained, tmp_path: Path) -> None:
    from weft.cli.screen import show_run

    folder = tmp_path / "[bold]model[/]"
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps(trained.record), encoding="utf-8")
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        show_run(folder)
    assert f"model and report: {folder} (open {folder / 'report.html'})" in err.getvalue()


@pytest.mark.parametrize("command", ["train", "evaluate", "predict", "embed"])
def test_a_device_that_is_asked_for_is_never_another(
    trained: Trained, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    arguments: dict[str, tuple[object, ...]] = {
        "train": (home / "triage.toml", "-o", tmp_path / "model"),
        "evaluate": (trained.folder,),
        "predict": (trained.folder, "--text", "fox"),
        "embed": (trained.folder, "-i", home / "rows" / "test.csv", "-o", tmp_path / "vectors.npy"),
    }
    done = run(command, *arguments[command], "--device", "cuda")
    assert (done.code, done.out) == (1, "")
    assert "--device cuda was asked for, but torch sees no GPU here" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("wanted", "found"), [("auto", "cuda"), ("cuda", "cuda"), ("cpu", "cpu")])
def test_a_gpu_is_taken_unless_the_processor_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, wanted: Any, found: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert choose_device(wanted).type == found


@pytest.mark.parametrize("tracker", ["tensorboard", "mlflow", "wandb"])
def test_a_tracker_that_is_not_installed_is_named_with_the_command_that_installs_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: str
) -> None:
    monkeypatch.setitem(sys.modules, tracker, None)
    change = f'training.report_to=["{tracker}"]'
    done = run("train", home / "triage.toml", "-o", tmp_path / "model", "--set", change)
    assert (done.code, done.out) == (1, "")
    assert f"training.report_to: {tracker} is not installed; run: pip install 'weft[track]'" in done.err
    assert list(tmp_path.iterdir()) == []
    extras = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert any(one.startswith(tracker) for one in extras["project"]["optional-dependencies"]["track"])


# weft evaluate


def table_rows(out: str, task: str) -> dict[str, list[str]]:
    """The rows of a task in the table of `weft evaluate`, by metric."""
    return {row[1]: row[2:] for row in cells(out) if row[:1] == [task]}


def test_evaluate_measures_on_the_files_of_the_run_and_says_what_the_run_said(trained: Trained, tmp_path: Path) -> None:
    target = tmp_path / "scores" / "new.json"
    done = run("evaluate", trained.folder, "--task", "fox", "--json", target)
    assert done.code == 0
    result = trained.record["tasks"]["fox"]["result"]
    found = table_rows(done.out, "fox")
    assert found.keys() == result["measures"]["scores"].keys()
    for metric, value in result["measures"]["scores"].items():
        low, high = result["measures"]["intervals"].get(metric, (None, None))
        middle = [] if low is None else [f"{low:.3f}", "…", f"{high:.3f}"]
        assert found[metric] == [f"{value:.3f}", *middle, "20"]
    written = json.loads(target.read_text(encoding="utf-8"))
    assert written == {"fox": json.loads((trained.folder / "metrics.json").read_text(encoding="utf-8"))["fox"]}


def test_evaluate_writes_what_the_run_wrote_with_intervals_baselines_and_labels(
    trained: Trained, tmp_path: Path
) -> None:
    target = tmp_path / "results.json"
    assert run("evaluate", trained.folder, "--details", target).code == 0
    found = json.loads(target.read_text(encoding="utf-8"))
    assert found["fox"] == json.loads((trained.folder / "results.json").read_text(encoding="utf-8"))["fox"]
    fox, result = found["fox"], trained.record["tasks"]["fox"]["result"]
    assert (fox["metric"], fox["value"], fox["rows"], fox["measured_on"]) == (
        *("f1_macro", result["measures"]["scores"]["f1_macro"]),
        *(20, "test"),
    )
    assert fox["scores"] == result["measures"]["scores"]
    assert fox["intervals"] == result["measures"]["intervals"]
    assert fox["baselines"] == result["baselines"]
    assert {"majority", "tfidf"} <= fox["baselines"].keys()
    assert fox["labels"]["yes"].keys() == {"precision", "recall", "f1", "support"}


def test_evaluate_on_other_rows_has_no_baselines_of_the_run(trained: Trained, home: Path, tmp_path: Path) -> None:
    target, page, copy = tmp_path / "results.json", tmp_path / "page.html", tmp_path / "test.csv"
    copy.write_bytes((home / "rows" / "test.csv").read_bytes())
    asked = ("--task", "fox", "--data", copy, "--details", target, "--page", page)
    assert run("evaluate", trained.folder, *asked).code == 0
    fox = json.loads(target.read_text(encoding="utf-8"))["fox"]
    assert (fox["baselines"], fox["measured_on"]) == ({}, "given")
    text = page.read_text(encoding="utf-8")
    assert "Evaluation · " in text
    assert "Per-class metrics" in text
    assert "20 given" in text
    assert "the quick" not in text


def test_evaluate_on_the_file_of_the_report_has_the_baselines_of_the_run(
    trained: Trained, home: Path, tmp_path: Path
) -> None:
    target, file = tmp_path / "results.json", home / "rows" / ".." / "rows" / "test.csv"
    run("evaluate", trained.folder, "--data", file, "--details", target)
    found = json.loads(target.read_text(encoding="utf-8"))
    assert found["fox"] == json.loads((trained.folder / "results.json").read_text(encoding="utf-8"))["fox"]
    assert (found["odd"]["baselines"], found["odd"]["measured_on"]) == ({}, "given")  # it reported on dev.csv
    for other in ("--data", file), ():  # columns that are named may be others than those of the report
        asked = (*other, "--task", "fox", "--label", "fox", "--details", target)
        assert run("evaluate", trained.folder, *asked).code == 0
        assert json.loads(target.read_text(encoding="utf-8"))["fox"]["baselines"] == {}


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"test": "rows.csv"}, ["a"]),
        ({"dev": "rows.csv"}, ["a"]),
        ({"test": "other.csv", "dev": "rows.csv"}, []),
        ({"test": ["rows.csv", "other.csv"]}, []),  # of which the file is a part
        ({"test": ["rows.csv"]}, ["a"]),
        ({"train": "rows.csv", "dev": 0.2}, []),
        ({"test": "gone.csv"}, []),
        ({}, []),
    ],
)
def test_what_a_report_is_about_is_found_however_it_is_named(
    named: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    for name in ("rows.csv", "other.csv"):
        (tmp_path / name).write_text("text\n")
    config = tomli_w.dumps({"tasks": {"a": named, "b": {"test": "other.csv"}}})
    (tmp_path / "report.json").write_text(json.dumps({"data": str(tmp_path), "config": config}))
    assert reported_on(tmp_path, tmp_path / "rows.csv", ["a", "b"]) == expected
    assert reported_on(tmp_path, tmp_path / "gone.csv", ["a", "b"]) == []
    assert reported_on(tmp_path, None, ["a", "b"]) == ["a", "b"]
    (tmp_path / "report.json").unlink()
    assert reported_on(tmp_path, tmp_path / "rows.csv", ["a"]) == []


def test_evaluate_shows_each_label_and_writes_a_page(trained: Trained, tmp_path: Path) -> None:
    plain = run("evaluate", trained.folder, "--task", "fox")
    done = run("evaluate", trained.folder, "--task", "fox", "--per-label", "--page", tmp_path / "page.html")
    assert "fox: each label" in done.out
    assert "each label" not in plain.out
    labels = json.loads((trained.folder / "results.json").read_text(encoding="utf-8"))["fox"]["labels"]
    found = {row[0]: row[1:] for row in cells(done.out) if row and row[0] in labels}
    assert found.keys() == labels.keys()
    for label, figures in labels.items():
        assert found[label][-1] == str(int(figures["support"]))
    assert "majority" in (tmp_path / "page.html").read_text(encoding="utf-8")
    wrong = run("evaluate", trained.folder, "--page", tmp_path / "page.pdf")
    assert (wrong.code, wrong.out) == (2, "")


def test_evaluate_asks_all_tasks_unless_some_are_named(trained: Trained, home: Path, tmp_path: Path) -> None:
    every = run("evaluate", trained.folder)
    assert every.code == 0
    assert [bool(table_rows(every.out, name)) for name in ("fox", "odd", "same")] == [True, True, True]
    two = run("evaluate", trained.folder, "-t", "odd", "-t", "fox")
    assert [bool(table_rows(two.out, name)) for name in ("fox", "odd", "same")] == [True, True, False]


def test_evaluate_measures_on_another_file_where_one_is_named(trained: Trained, home: Path, tmp_path: Path) -> None:
    rows = (home / "rows" / "test.csv").read_text(encoding="utf-8").splitlines()[:8]
    (tmp_path / "new.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = run("evaluate", trained.folder, "--task", "fox", "--data", tmp_path / "new.csv", "--json", tmp_path / "a")
    texts, golds = zip(*(row.split(",")[:2] for row in rows[1:]), strict=True)
    with pytest.warns(weft.TruncationWarning):
        given = [one["label"] for one in weft.load(trained.folder).predict(texts, task="fox")]
    right = sum(one == gold for one, gold in zip(given, golds, strict=True)) / 7
    assert table_rows(done.out, "fox")["accuracy"][-1] == "7"
    assert json.loads((tmp_path / "a").read_text())["fox"]["accuracy"] == pytest.approx(right)


def test_evaluate_says_which_tasks_learned_from_these_very_rows(trained: Trained, home: Path, tmp_path: Path) -> None:
    said = "learned from these very rows, so the figures say what is remembered"
    own = next((home / "rows").glob("train.*"))
    copy = tmp_path / own.name
    copy.write_bytes(own.read_bytes())
    assert f"fox: {said}" in " ".join(run("evaluate", trained.folder, "-t", "fox", "--data", own).err.split())
    assert said not in " ".join(run("evaluate", trained.folder, "-t", "fox", "--data", copy).err.split())
    assert said not in " ".join(run("evaluate", trained.folder, "-t", "fox").err.split())


@pytest.mark.parametrize(
    ("named", "expected"),
    [("rows.csv", ["a"]), ("row*.csv", ["a"]), (["gone.csv"], []), (["other.csv", "rows.csv"], ["a"]), (None, [])],
)
def test_what_a_model_learned_from_is_found_however_it_is_named(
    named: str | list[str] | None, expected: list[str], tmp_path: Path
) -> None:
    for name in ("rows.csv", "other.csv"):
        (tmp_path / name).write_text("text\n")
    config = tomli_w.dumps({"tasks": {"a": {} if named is None else {"train": named}, "b": {"train": "other.csv"}}})
    (tmp_path / "report.json").write_text(json.dumps({"data": str(tmp_path), "config": config}))
    assert learned_from(tmp_path, tmp_path / "rows.csv", ["a", "b"]) == expected
    assert learned_from(tmp_path, tmp_path / "gone.csv", ["a", "b"]) == []
    (tmp_path / "report.json").write_text('{"data": 1, "config": "tasks = 2"}')
    assert learned_from(tmp_path, tmp_path / "rows.csv", ["a"]) == []


def test_evaluate_without_a_file_of_its_own_asks_for_one(bare: Trained, tmp_path: Path) -> None:
    done = run("evaluate", bare.folder, "--task", "odd")
    assert (done.code, done.out) == (1, "")
    assert "the task odd had no file of its own to measure on; name one with --data" in done.err
    weft.load(bare.folder).save(tmp_path / "saved")  # the model alone, without its report
    lost = run("evaluate", tmp_path / "saved")
    assert (lost.code, lost.out) == (1, "")
    assert "does not say what it was trained on (it has no report.json); name a file with --data" in lost.err
    (tmp_path / "saved" / "report.json").write_text('{"data": 1, "config": "tasks = 2"}')
    damaged = run("evaluate", tmp_path / "saved")
    assert (damaged.code, damaged.out) == (1, "")
    assert "report.json does not say where the rows are; name a file with --data" in damaged.err


# weft predict


@pytest.mark.parametrize("order", [("fox", "odd"), ("odd", "fox")])
def test_a_row_is_truncated_where_any_task_did_not_read_all_of_it(
    trained: Trained, tmp_path: Path, order: tuple[str, str]
) -> None:
    (tmp_path / "new.csv").write_text(f"text\n{LONG}\nfox\n", encoding="utf-8")
    tasks = [argument for name in order for argument in ("--task", name)]
    done = run("predict", trained.folder, "-i", tmp_path / "new.csv", *tasks)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [list(row) for row in rows] == [["text", *order, "truncated", "empty"]] * 2
    assert [row["truncated"] for row in rows] == [True, False]
    whole = run("predict", trained.folder, "-i", tmp_path / "new.csv", "--task", "odd")
    assert [json.loads(line)["truncated"] for line in whole.out.splitlines()] == [False, False]


def test_predict_answers_as_python_does_and_gives_all_scores_only_where_asked(trained: Trained) -> None:
    model = weft.load(trained.folder)
    plain = json.loads(run("predict", trained.folder, "--text", LONG).out)
    full = json.loads(run("predict", trained.folder, "--text", LONG, "--scores").out)
    with pytest.warns(weft.TruncationWarning):
        assert plain == {"text": LONG, **model.predict([LONG])[0]}
    with pytest.warns(weft.TruncationWarning):
        assert full == {"text": LONG, **model.predict([LONG], scores=True)[0]}
    assert plain["truncated"] is True
    assert (full["fox"]["scores"].keys(), "scores" in plain["fox"]) == ({"yes", "no"}, False)
    pair = json.loads(run("predict", trained.folder, "--text", "fox", "--text-pair", "dog").out)
    answer = model.predict([("fox", "dog")])[0]
    assert pair == {"text": "fox", "text_pair": "dog", **answer}
    assert list(answer) == ["same", "truncated", "empty"]


def test_predict_leaves_out_tasks_that_a_file_lacks_columns_for_unless_they_are_named(
    trained: Trained, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text("text\nfox\n", encoding="utf-8")
    some = run("predict", trained.folder, "-i", tmp_path / "new.csv")
    assert list(json.loads(some.out)) == ["text", "fox", "odd", "truncated", "empty"]
    assert "left out: task 'same' reads the columns 'sentence1', 'sentence2'" in " ".join(some.err.split())
    named = run("predict", trained.folder, "-i", tmp_path / "new.csv", "--task", "fox", "--task", "same")
    assert (named.code, named.out) == (1, "")
    assert "task 'same' reads the columns 'sentence1', 'sentence2'; its columns are: text" in named.err


def test_predict_says_how_many_rows_went_where_in_one_piece(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.cli.screen.console._width", 40)
    (tmp_path / "new.txt").write_text("fox\ndog\nlazy fox\n", encoding="utf-8")
    target = tmp_path / ("long" * 30) / "answers.jsonl"
    done = run("predict", trained.folder, "-i", tmp_path / "new.txt", "-o", target)
    assert (done.code, done.out) == (0, "")
    assert f"3 rows → {target}" in done.err
    assert [json.loads(line)["text"] for line in target.read_text().splitlines()] == ["fox", "dog", "lazy fox"]


# weft check


def test_check_of_a_good_config_counts_rows_and_labels_and_is_exit_0(home: Path) -> None:
    done = run("check", home / "triage.toml", "--set", "tasks.fox.max_length=32")
    assert done.code == 0
    assert re.search(r"0 errors, \d+ warnings?, \d+ notes?: ready to train", done.out)
    table = [row for row in cells(done.out) if row]
    start = next(place for place, row in enumerate(table) if row == ["fox"])
    assert table[start + 2] == ["train", "dev", "test"]
    rows = {row[0]: row[1:] for row in table[start + 4 : start + 7]}
    assert rows["rows"] == ["40", "20", "20"]
    golds = {name: (home / "rows" / f"{name}.csv").read_text("utf-8").splitlines() for name in ("train", "dev", "test")}
    for label in ("yes", "no"):
        assert rows[f"'{label}'"] == [str(sum(f",{label}," in row for row in part)) for part in golds.values()]


def test_check_takes_changes_and_another_folder_and_is_exit_1_where_training_is_impossible(
    home: Path, tmp_path: Path
) -> None:
    moved = run("check", home / "triage.toml", "--data", tmp_path)
    assert moved.code == 1
    assert "training is not possible yet" in moved.out
    assert all(f"tasks.{name}.train" in moved.out for name in ("fox", "odd", "same"))
    changed = run("check", home / "triage.toml", "--set", "tasks.fox.label=wolf")
    assert changed.code == 1
    assert "has no column 'wolf'" in " ".join(changed.out.split())


def test_check_warns_of_texts_over_the_limit_of_the_task_or_the_encoder(home: Path) -> None:
    def said(*changes: str) -> str:
        done = run("check", home / "triage.toml", *(part for one in changes for part in ("--set", one)))
        return " ".join(re.sub(r"[│┃]", " ", done.out).split())

    assert "over the limit of 4 tokens and will be cut" in said("tasks.fox.max_length=4")
    assert "900 is more than the encoder takes, so 32 holds" in said("tasks.fox.max_length=900")


def test_check_of_an_encoder_that_is_not_there_still_looks_at_the_rows(home: Path) -> None:
    done = run("check", home / "triage.toml", "--set", "encoder.from=./nowhere")
    assert done.code == 1
    assert "encoder.from" in done.out
    assert ["rows", "40", "20", "20"] in cells(done.out)
    assert "1 error, " in done.out
    assert "without its tokenizer, texts were not held against the limit" in " ".join(
        word for row in cells(done.out) for word in row if word != "encoder.from"
    )


# weft inspect, embed, vocab


def test_inspect_shows_a_text_and_writes_a_page_that_holds_it(trained: Trained, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "page.html"
    done = run("inspect", trained.folder, "--task", "odd", "--text", LONG, "--layer", 0, "--heads", "max", "-o", page)
    assert done.code == 0
    answer = weft.load(trained.folder).predict([LONG], task="odd")[0]["label"]
    assert re.match(rf"odd {answer}\b.*attention of layer 0, max over heads", " ".join(done.out.split()))
    assert LONG in " ".join(done.out.split())
    assert f"page with the texts → {page}" in done.err
    written = html.unescape(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8")))
    assert LONG in " ".join(written.split())


def test_inspect_shows_the_first_rows_of_a_file_beside_another_model_and_says_how_many_are_left(
    trained: Trained, home: Path
) -> None:
    rows = home / "rows" / "test.csv"
    done = run("inspect", trained.folder, "-t", "fox", "-i", rows, "--limit", 3, "--beside", trained.folder)
    assert done.code == 0
    assert re.findall(r"row (\d)", done.out) == ["1", "2", "3"]
    assert len(re.findall(r"attention\s+of\s+layer\s+1", done.out)) == 6
    assert "17 more rows are not shown; --limit takes more" in done.err


def test_embed_takes_the_encoder_of_a_trained_model(trained: Trained, home: Path, tmp_path: Path) -> None:
    target = tmp_path / "vectors.npy"
    done = run("embed", trained.folder, "-i", home / "rows" / "pairs.csv", "--column", "sentence2", "-o", target)
    assert (done.code, done.out) == (0, "")
    assert f"24 texts → {target}" in done.err
    texts = [row.split(",")[1] for row in (home / "rows" / "pairs.csv").read_text("utf-8").splitlines()[1:]]
    np.testing.assert_array_equal(np.load(target), weft.load(trained.folder).embed(texts))


def test_embed_cuts_texts_as_asked(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(LONG + "\nfox\n", encoding="utf-8")
    for kept in ("head", "tail", "head_tail"):
        target = tmp_path / f"{kept}.npy"
        command = ("embed", trained.folder, "-i", tmp_path / "long.txt", "-o", target, "--max-length", 6)
        done = run(*command, "--truncation", kept)
        assert f"1 of 2 texts were longer than 6 tokens and were cut ({kept} kept)" in " ".join(done.err.split())
        with pytest.warns(weft.TruncationWarning):
            expected = weft.load(trained.folder).embed([LONG, "fox"], max_length=6, truncation=kept)
        np.testing.assert_array_equal(np.load(target), expected)
    heads, tails = (np.load(tmp_path / f"{kept}.npy")[0] for kept in ("head", "tail"))
    assert np.abs(heads - tails).max() > 0.01


def test_vocab_learns_from_every_file_and_cuts_words(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("fox fox fox\nfoxes foxes jump\n" * 3, encoding="utf-8")
    (tmp_path / "two.csv").write_text("text\n" + "quick dogs\n" * 4, encoding="utf-8")
    folder = tmp_path / "pieces"
    files = (tmp_path / "one.txt", tmp_path / "two.csv")
    done = run("vocab", *files, "--size", 60, "-o", folder, "--show", "fox foxes")
    assert done.code == 0
    rows = {tuple(row[:2]): row[2:] for row in cells(done.out) if len(row) > 2}
    assert (rows["texts", "read"], rows["words", "read"]) == (["10"], ["26"])
    assert ["fox", "fox"] in cells(done.out)
    assert f"tokenizer: {folder}" in done.err
    shown = run("vocab", "-o", folder, "--show", "fox")
    assert (shown.code, ["fox", "fox"] in cells(shown.out)) == (0, True)


def test_vocab_reads_the_column_and_makes_the_kind_asked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("text,note\n" + "zzz,fox fox\n" * 4, encoding="utf-8")
    found = {}
    for kind in ("wordpiece", "bpe", "unigram"):
        command = ("vocab", tmp_path / "notes.csv", "--column", "note", "--kind", kind, "--size", 300)
        done = run(*command, "-o", tmp_path / kind, "--show", "fox zzz")
        rows = {row[0]: row[1:] for row in cells(done.out) if row}
        found[kind] = (done.code, rows["kind"], rows["fox"], rows["zzz"])
    assert found == {  # a character that was never seen is unknown, but for byte pairs
        "wordpiece": (0, ["wordpiece"], ["fox"], ["[UNK]"]),
        "bpe": (0, ["bpe"], ["▁fox"], ["▁", "z", "z", "z"]),
        "unigram": (0, ["unigram"], ["▁", "f", "o", "x"], ["▁", "[UNK]"]),
    }


def test_vocab_keeps_capitals_and_accents_only_where_asked(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("Café Café Café\n" * 4, encoding="utf-8")

    def pieces(*options: str) -> list[str]:
        folder = tmp_path / "-".join(("v", *options))
        done = run("vocab", tmp_path / "texts.txt", "--size", 40, "-o", folder, *options, "--show", "Café")
        return next(row[1:] for row in cells(done.out) if row[:1] == ["Café"])

    assert pieces() == ["cafe"]
    assert pieces("--accents") == ["café"]
    assert pieces("--cased") == ["Café"]
    assert pieces("--cased", "--no-accents") == ["Cafe"]
    assert pieces("--min-frequency", "50") != ["cafe"]


# weft demo


@pytest.fixture
def _small_demo(small_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo with few messages and a small encoder."""
    document = (DEMO / "triage.toml").read_text(encoding="utf-8").replace('"minilm"', json.dumps(small_encoder))
    (tmp_path / "triage.toml").write_text(document.replace("epochs = 8", "epochs = 2"), encoding="utf-8")
    for part in ("train", "dev", "test"):
        rows = (DEMO / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
        short = sorted(rows, key=len)[: len(rows) // 8] + [row for row in rows if '"urgent"' in row][:4]
        medium = [row for row in rows if '"medium"' in row][:4]
        (tmp_path / f"{part}.jsonl").write_text("\n".join([*short, *medium]) + "\n", encoding="utf-8")
    monkeypatch.setattr("weft.demo.CONFIG", tmp_path / "triage.toml")


@pytest.mark.usefixtures("_small_demo")
def test_demo_trains_shows_results_and_answers_three_messages(tmp_path: Path) -> None:
    done = run("demo", "-o", tmp_path / "out", "--seed", 5)
    assert done.code == 0
    assert "short look" not in done.err
    record = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert record["seed"] == 5
    assert [row[0] for row in cells(done.out) if len(row) > 1][1:4] == ["urgency", "acknowledgement", "findings"]
    assert "not for medical use" in done.err
    assert f'Next: weft predict {tmp_path / "out"} --text "your own message"' in done.err
    said = re.findall(r"^(\S.*)\n  → urgency (\S+) \((\d+)%\)\n  → acknowledgement (\S+) \((\d+)%\)", done.out, re.M)
    answers = weft.load(tmp_path / "out").predict([text for text, *_ in said])
    assert len(said) == 3
    for (_, *shown), answer in zip(said, answers, strict=True):
        expected = [(answer[name]["label"], f"{answer[name]['score']:.0%}") for name in ("urgency", "acknowledgement")]
        assert [(shown[0], f"{shown[1]}%"), (shown[2], f"{shown[3]}%")] == expected


@pytest.mark.usefixtures("_small_demo")
def test_the_quick_demo_learns_from_half_of_the_messages_once_and_says_so(tmp_path: Path) -> None:
    done = run("demo", "-o", tmp_path / "out", "--quick")
    assert done.code == 0
    assert "short look: figures and answers are far from what weft demo reaches" in " ".join(done.err.split())
    record = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    training = tomllib.loads(record["config"])
    assert training["training"]["epochs"] == 1
    assert [task["limit"] for task in training["tasks"].values()] == [208] * 3


@pytest.mark.usefixtures("_small_demo")
def test_an_interrupted_demo_goes_on_by_the_command_that_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def stop_at_the_first(self: Callback, epoch: str, task: str, loss: float, rows: int) -> None:
        seen.append(task)
        if len(seen) == 1:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(ProgressCallback, "step", stop_at_the_first)
        stopped = run("demo", "--quick", "-o", tmp_path / "out")
    command = f"weft demo --output {tmp_path / 'out'} --resume"
    assert stopped.code == 130
    assert stopped.err.count(f"Go on with: {command}\n") == 2  # at once, and in the end
    again = run("demo", "--quick", "-o", tmp_path / "out")
    assert again.code == 1
    assert "go on with it with --resume" in again.err
    done = run(*command.split()[1:])
    assert done.code == 0
    assert "short look" in done.err  # what was begun with --quick
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]


def test_the_demo_reads_its_own_messages() -> None:
    done = run("check", DEMO / "triage.toml")
    assert done.code == 0
    assert ["rows", "415", "108", "148"] in cells(done.out)
