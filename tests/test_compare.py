"""`weft compare`: runs that can be broken off anywhere, and tables that follow from what was kept."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

import weft
from conftest import RunWeft, make_tiny_folder
from weft.comparison.grid import read_grid
from weft.comparison.jobs import Job, list_jobs
from weft.comparison.plan import expand
from weft.comparison.progress import ComparisonCallback, LiveTable, MeanSoFar
from weft.comparison.worker import Worker
from weft.errors import ConfigError, DivergedError, WeftError
from weft.metrics.outcomes.file import read_outcomes
from weft.reports.comparison_csv import read_csv
from weft.reports.comparison_record import read_comparison
from weft.training.interrupt import Interrupted
from weft.training.shared import Shared

KEY = "[0-9a-f]" * 24  # the pattern of a run's name
PLANTED = "zanzibar"  # in every text, and nowhere else
Whole = tuple[dict[str, Any], list[dict[str, str]]]
WORDS = ("apple", "pear", "plum", "fig")
WILD = {"training.learning_rate": 1e30}  # diverges


class Silent(ComparisonCallback):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.runs: list[int] = []
        self.known: list[MeanSoFar] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def begin(self, runs: int, seconds: float) -> None:
        self.runs.append(runs)
        assert seconds > 0

    def update(self, done: float, under_way: Any, seconds_left: float, known: Any) -> None:
        self.known = list(known)
        assert seconds_left >= 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A grid, and the table that it gives when nothing disturbs it."""
    place = tmp_path_factory.mktemp("whole")
    grid = make_grid(place, make_tiny_folder(place))
    run(grid, place / "out")
    return grid, table(place / "out")


@pytest.fixture
def grid(tmp_path: Path, tiny_folder: Path) -> dict[str, Any]:
    """Two variants and two seeds of a small task, with an encoder that learns in no time."""
    return make_grid(tmp_path, tiny_folder)


def make_grid(tmp_path: Path, tiny_folder: Path) -> dict[str, Any]:
    for name, rows in (("train", 24), ("test", 12)):
        lines = [f"{PLANTED} {WORDS[row % 4]} {row},{'good' if row % 3 else 'bad'}" for row in range(rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *lines]) + "\n", encoding="utf-8")
    task = {"kind": "classification", "train": "train.csv", "test": "test.csv", "text": "text", "label": "label"}
    base = {"data": str(tmp_path), "encoder": {"from": str(tiny_folder)}, "tasks": {"fruit": task}}
    training = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3}
    variants = {"plain": {}, "fast": {"training.learning_rate": 1e-2}}
    return {"base": {**base, "training": training}, "variants": variants, "seeds": 2}


def run(grid: dict[str, Any], output: Path, **options: Any) -> weft.Comparison:
    return weft.compare(grid, output, callback=Silent(), device="cpu", **options)


def table(folder: Path) -> list[dict[str, str]]:
    """`compare.csv` but for what takes time."""
    text = (folder / "compare.csv").read_text(encoding="utf-8")
    return [
        {key: value for key, value in line.items() if key != "seconds"} for line in csv.DictReader(io.StringIO(text))
    ]


def test_a_comparison_gives_a_table_a_page_and_a_record(grid: dict[str, Any], tmp_path: Path) -> None:
    found = run(grid, tmp_path / "out")
    assert [(row["task"], row["variant"], row["size"], row["seeds"]) for row in found.rows] == [
        ("fruit", "plain", None, 2),
        ("fruit", "fast", None, 2),
    ]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("compare.csv", "compare.html", "compare.json", "compare.md", "results"),
    }
    record = read_comparison(tmp_path / "out" / "compare.json")
    assert record.cells == found.record.cells
    fast = found.cell("fruit", "fast")
    assert fast.difference == pytest.approx(fast.mean - (found.cell("fruit", "plain").mean or 0))
    assert fast.trained_parameters > fast.parameters > 0
    assert fast.verdict in ("cannot tell", "equivalent")  # two seeds can never say more
    assert "fast" in repr(found)
    assert "compare.html" in repr(found)
    with pytest.raises(KeyError, match="fast"):
        found.cell("fruit", "slow")


def test_a_run_of_a_grid_is_what_weft_train_gives(grid: dict[str, Any], tmp_path: Path) -> None:
    found = run(grid, tmp_path / "out")
    alone = []
    for seed in (1, 2):
        weft.train({**grid["base"], "seed": seed}, tmp_path / f"alone{seed}", device="cpu")
        alone.append(json.loads((tmp_path / f"alone{seed}" / "metrics.json").read_text())["fruit"]["f1_macro"])
    assert found.cell("fruit", "plain").mean == pytest.approx(sum(alone) / 2, abs=1e-12)


def test_a_grid_that_was_checked_is_not_checked_again_unless_something_changed(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []

    def check(arms: object, *_: object) -> dict[str, int]:
        looked.append(arms)
        return {"fruit": 24}

    run(grid, tmp_path / "out")
    before = table(tmp_path / "out")
    monkeypatch.setattr("weft.comparison.plan.check_rows", check)
    run(grid, tmp_path / "out")
    assert not looked
    assert table(tmp_path / "out") == before
    monkeypatch.setattr("weft.comparison.run._Comparing.run", lambda *_: None)
    shutil.copy(tmp_path / "test.csv", tmp_path / "train.csv")
    run(grid, tmp_path / "out")
    assert len(looked) == 1
    (tmp_path / "out" / "results" / "checked.json").write_text("[]", encoding="utf-8")
    run(grid, tmp_path / "out")
    assert len(looked) == 2


def test_a_finished_grid_answers_without_training(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(grid, tmp_path / "out")
    before = table(tmp_path / "out")
    for name in ("compare.csv", "compare.json"):
        (tmp_path / "out" / name).unlink()

    def train(*_: object, **__: object) -> None:
        raise AssertionError("it trains")

    monkeypatch.setattr("weft.comparison.worker.train_one_of_many", train)
    run(grid, tmp_path / "out")
    assert table(tmp_path / "out") == before


@pytest.mark.parametrize("kind", ["json", "safetensors"])
def test_a_result_that_is_damaged_says_so_and_one_that_is_removed_is_made_again(
    whole: Whole, tmp_path: Path, kind: str
) -> None:
    grid, expected = whole
    run(grid, tmp_path / "out")
    damaged = min((tmp_path / "out" / "results").glob(f"{KEY}.{kind}"))
    damaged.write_bytes(b"{")
    with pytest.raises(WeftError, match=f"{damaged.name} .*; remove it, and it is run again"):
        run(grid, tmp_path / "out")
    damaged.unlink()
    watch = Silent()
    weft.compare(grid, tmp_path / "out", callback=watch, device="cpu")
    assert watch.runs == [1]
    assert table(tmp_path / "out") == expected


def test_only_what_changed_runs_again(grid: dict[str, Any], tmp_path: Path) -> None:
    run(grid, tmp_path / "out")

    def runs_made(changed: dict[str, Any]) -> list[int]:
        watch = Silent()
        weft.compare(changed, tmp_path / "out", callback=watch, device="cpu")
        return watch.runs

    assert runs_made(grid) == []
    assert runs_made({**grid, "seeds": 3}) == [2]
    assert runs_made({**grid, "variants": {**grid["variants"], "slow": {"training.learning_rate": 1e-5}}}) == [2]
    test = tmp_path / "test.csv"
    test.write_text(test.read_text(encoding="utf-8").replace(",bad", ",good", 1), encoding="utf-8")
    assert runs_made(grid) == [4]


def kill_at(monkeypatch: pytest.MonkeyPatch, count: int, kill: Callable[[], None]) -> None:
    """Kill before the `count`-th time that a file or folder would get its name."""
    replace, rename, seen = Path.replace, Path.rename, [0]

    def counted(function: Callable[[Path, Any], Path]) -> Callable[[Path, Any], Path]:
        def call(self: Path, target: Any) -> Path:
            seen[0] += 1
            if seen[0] == count:
                kill()
            return function(self, target)

        return call

    monkeypatch.setattr(Path, "replace", counted(replace))
    monkeypatch.setattr(Path, "rename", counted(rename))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("count", [1, 3, 5, 8, 11, 14, 17, 20, 25, 30, 36, 42, 50])
def test_a_grid_that_is_killed_anywhere_gives_the_same_table_when_it_is_called_again(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    grid, expected = whole
    child = os.fork()
    if child == 0:  # SIGKILL: no handler, no finally
        try:
            kill_at(monkeypatch, count, lambda: os.kill(os.getpid(), signal.SIGKILL))
            run(grid, tmp_path / "broken")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "it ended before it could be killed"
    run(grid, tmp_path / "broken")
    assert table(tmp_path / "broken") == expected


def test_ctrl_c_says_how_to_go_on_and_keeps_what_is_finished(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, expected = whole
    watch = Silent()

    def update(done: float, *_: object) -> None:
        if done > 1:
            monkeypatch.undo()
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(watch, "update", update)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have had ignored
    with pytest.raises(Interrupted, match=r"weft\.compare\(grid") as caught:
        weft.compare(grid, tmp_path / "broken", callback=watch, device="cpu")
    signal.signal(signal.SIGINT, before)
    assert caught.value.exit_code == 130
    again = Silent()
    weft.compare(grid, tmp_path / "broken", callback=again, device="cpu")
    assert again.runs == [3]
    assert table(tmp_path / "broken") == expected


def test_the_command_to_go_on_has_all_that_was_said(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tomli_w

    class Impatient(Silent):
        def begin(self, runs: int, seconds: float) -> None:
            raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    Path("my grid.toml").write_text(tomli_w.dumps(grid), encoding="utf-8")
    for options, said in (
        ({}, ""),
        (
            {"overrides": ["seeds=3"], "quick": True, "data": ".", "jobs": 2, "keep": "all", "device": "cpu"},
            " --quick --set seeds=3 --data . --jobs 2 --keep all --device cpu",
        ),
    ):
        with pytest.raises(Interrupted) as caught:
            weft.compare("my grid.toml", "out", callback=Impatient(), **options)
        assert f"weft compare 'my grid.toml' --output out{said}" in str(caught.value).splitlines()[-1]


def test_any_folder_can_hold_a_comparison_but_a_file_is_refused_at_once(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Silent()
    with pytest.raises(WeftError, match=r"cannot write .*test\.csv"):
        weft.compare(grid, tmp_path / "test.csv", callback=watch, device="cpu")
    assert watch.runs == []
    monkeypatch.chdir(tmp_path)
    run(grid, Path())
    assert (tmp_path / "compare.html").exists()
    assert not list(tmp_path.rglob("*.lock"))


@pytest.mark.slow
def test_several_processes_give_the_same_table_and_survive_the_loss_of_one(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.comparison import processes

    grid, expected = whole
    started: list[Any] = []
    start = processes.Processes._start

    def kill_the_first(self: Any) -> Any:
        member = start(self)
        started.append(member)
        if len(started) == 1:
            member.process.kill()
        return member

    monkeypatch.setattr(processes.Processes, "_start", kill_the_first)
    run(grid, tmp_path / "two", jobs=2)
    assert len(started) == 3
    assert table(tmp_path / "two") == expected


def test_a_single_run_has_as_many_cores_as_it_had_beside_others(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.comparison import processes
    from weft.comparison.run import _Comparing

    monkeypatch.setattr(processes, "available_cores", lambda: 8)
    comparing = _Comparing(
        expand(read_grid(grid)), "grid", tmp_path / "out", "local", 2, "cpu", Shared(), ComparisonCallback()
    )
    engine, at_once = comparing._engine(True, 1)
    assert isinstance(engine, processes.Processes)
    assert (engine.arguments[3], at_once) == (4, 1)


def test_time_is_told_of_runs_on_as_many_cores_as_they_will_have(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.comparison import processes
    from weft.comparison.run import _Comparing

    def timed(self: _Comparing, jobs: Sequence[Job], at_once: int) -> dict[Any, float]:
        timed_on.append(torch.get_num_threads())
        return {}

    timed_on: list[int] = []
    before = torch.get_num_threads()
    monkeypatch.setattr(processes, "available_cores", lambda: 2 * (before + 1))
    monkeypatch.setattr(processes.Processes, "run", lambda self, jobs, listener: None)
    monkeypatch.setattr(_Comparing, "_expected", timed)
    plan = expand(read_grid(grid))
    comparing = _Comparing(plan, "grid", tmp_path / "out", "local", 2, "cpu", Shared(), ComparisonCallback())
    comparing._finish(list_jobs(plan, "cpu"), keep=False)
    assert (timed_on, torch.get_num_threads()) == ([before + 1], before)


@pytest.mark.slow
def test_a_ray_cluster_gives_the_same_table_and_survives_the_loss_of_an_actor(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    from weft.comparison import ray_cluster

    grid, expected = whole
    run_there, lost = ray_cluster._Actor.run, tmp_path / "lost"

    def die_once(self: Any, job: Any) -> Any:
        if not lost.exists():
            lost.touch()
            os._exit(1)
        return run_there(self, job)

    monkeypatch.setattr(ray_cluster._Actor, "run", die_once)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        run(grid, tmp_path / "ray", engine="ray", jobs=2)
    finally:
        ray.shutdown()
    assert lost.exists()
    assert table(tmp_path / "ray") == expected


def test_a_missing_ray_says_how_to_get_it(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'weft\[ray\]'"):
        run(grid, tmp_path / "out", engine="ray")


def test_a_run_that_cannot_be_finished_is_named_and_the_others_are_kept(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = Worker._train

    def fail(self: Worker, job: Job, *args: Any) -> None:
        if job.arm == "wild":
            raise WeftError("the disk is full")
        train(self, job, *args)

    monkeypatch.setattr(Worker, "_train", fail)
    with pytest.raises(WeftError, match=r"2 of 6 runs could not be finished.*wild, seed 1"):
        run({**grid, "variants": {**grid["variants"], "wild": WILD}}, tmp_path / "out")
    record = read_comparison(tmp_path / "out" / "compare.json")
    assert record.unfinished == 2
    assert [cell.seeds for cell in record.cells] == [2, 2, 0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_diverges_is_kept_as_such_and_neither_made_again_nor_judged(
    grid: dict[str, Any], tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wild = {**grid, "variants": {**grid["variants"], "wild": WILD}}
    found = run(wild, tmp_path / "out", jobs=jobs, keep="all")
    assert found.record.unfinished == 0
    assert [(cell.seeds, cell.diverged, cell.verdict) for cell in found.record.cells][2] == (0, 2, "")
    assert [(cell.seeds, cell.diverged) for cell in found.record.cells[:2]] == [(2, 0)] * 2
    assert found.record.cells[1].verdict  # the others are
    said = "training of wild diverged with 2 of 2 seeds, so it has no verdict"
    page = (tmp_path / "out" / "compare.html").read_text("utf-8")
    for output in (repr(found), (tmp_path / "out" / "compare.md").read_text("utf-8"), page):
        assert said in output.replace("\n", " ")
        assert "diverged 2 of 2" in output
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 4
    assert read_csv((tmp_path / "out" / "compare.csv").read_text("utf-8")).cells[2].diverged == 2

    monkeypatch.setattr(Worker, "run", None)
    assert run(wild, tmp_path / "out", keep="all").record.cells == found.record.cells


def test_seeds_with_which_nothing_diverged_are_shown_but_not_judged(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, seeds = Worker._train, {**grid, "seeds": 3}
    plan = expand(read_grid(seeds), device="cpu")

    def fail(self: Worker, job: Job, *args: Any) -> None:
        if job.seed == plan.seeds[-1] and job.arm == arm:
            raise DivergedError("the loss is nan")
        train(self, job, *args)

    monkeypatch.setattr(Worker, "_train", fail)
    for arm in [one.name for one in plan.arms]:
        cells = run(seeds, tmp_path / arm).record.cells
        assert sorted((cell.seeds, cell.diverged) for cell in cells) == [(2, 1), (3, 0)]
        assert cells[1].difference is not None
        assert [cell.verdict for cell in cells] == ["", ""]


def test_a_second_grid_on_the_same_folder_is_refused(grid: dict[str, Any], tmp_path: Path) -> None:
    from weft.training.lock import locked

    with locked(tmp_path / "out" / "compare.lock", "comparing"), pytest.raises(ConfigError, match="another process"):
        run(grid, tmp_path / "out")


def test_nothing_that_is_kept_holds_a_text(grid: dict[str, Any], tmp_path: Path) -> None:
    run(grid, tmp_path / "out")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) >= 12
    assert not [path for path in files if PLANTED.encode() in path.read_bytes()]


def test_a_run_that_is_whole_is_not_made_again(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = list_jobs(expand(read_grid(grid), device="cpu"), "cpu")[0]
    before = Worker(tmp_path / "out", "cpu", keep=True).run(job, lambda part: None)

    def train(*_: object, **__: object) -> None:
        raise AssertionError("it trains")

    monkeypatch.setattr("weft.comparison.worker.train_one_of_many", train)
    assert Worker(tmp_path / "out", "cpu", keep=False).run(job, lambda part: None).result == before.result


def test_folds_answer_every_row_once(grid: dict[str, Any], tmp_path: Path) -> None:
    task = {key: value for key, value in grid["base"]["tasks"]["fruit"].items() if key != "test"}
    folded = {**grid, "base": {**grid["base"], "tasks": {"fruit": task}}, "folds": 3}
    found = run(folded, tmp_path / "out")
    assert found.record.cells[0].rows == 24
    assert found.record.folds == 3
    results = list((tmp_path / "out" / "results").glob("*.safetensors"))
    assert len(results) == 2 * 2 * 3
    answered = Counter(line for file in results for line in read_outcomes(file)["fruit"].lines.tolist())
    assert len(answered) == 24
    assert set(answered.values()) == {2 * 2}


def test_sizes_make_a_learning_curve(grid: dict[str, Any], tmp_path: Path) -> None:
    found = run({**grid, "sizes": [8, "all"]}, tmp_path / "out")
    assert [(cell.variant, cell.size) for cell in found.record.cells] == [
        ("plain", 8),
        ("plain", None),
        ("fast", 8),
        ("fast", None),
    ]


@pytest.mark.parametrize(("keep", "models"), [("none", 0), ("best", 1), ("all", 4)])
def test_models_stay_only_where_that_is_asked_for(grid: dict[str, Any], tmp_path: Path, keep: Any, models: int) -> None:
    run(grid, tmp_path / "out")
    run(grid, tmp_path / "out", keep=keep)
    kept = list((tmp_path / "out").glob("runs/*/model.safetensors"))
    assert len(kept) == models
    for model in kept:
        assert weft.load(model.parent, device="cpu").predict(["apple"])


def test_a_best_model_that_cannot_be_made_is_said(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    run(grid, tmp_path / "out")

    def no_room(*_: object) -> None:
        raise WeftError("the disk is full")

    monkeypatch.setattr(Worker, "run", no_room)
    with pytest.raises(WeftError, match=r"1 of 1 runs could not be finished, the first: .*: the disk is full"):
        run(grid, tmp_path / "out", keep="best")


def test_the_best_are_made_once_more_under_a_bar_of_their_own(grid: dict[str, Any], tmp_path: Path) -> None:
    screen, before = io.StringIO(), sys.stdout
    watch = LiveTable(Console(file=screen, force_terminal=True))
    weft.compare(grid, tmp_path / "out", keep="best", callback=watch, device="cpu")
    assert sys.stdout is before  # a bar that goes on would take all that is printed
    assert "4/4" in screen.getvalue()
    assert "1/1" in screen.getvalue()


def test_the_last_line_of_a_comparison_leaves_nothing_to_wait_for() -> None:
    screen = io.StringIO()
    watch = LiveTable(Console(file=screen, width=80))
    watch.begin(2, 60.0)
    for done in (1, 2):
        watch.update(done, [], 30.0, [])
    assert screen.getvalue().splitlines() == ["1 of 2 runs done, about 30 s left", "2 of 2 runs done"]


def test_an_encoder_or_tokenizer_that_was_written_anew_makes_other_runs(
    grid: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")  # where a tokenizer is found, too, that is not beside the data
    shutil.copytree(tmp_path / "tiny", "pieces")
    scratch = {"tokenizer": "pieces", "num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2}
    for encoder, file in (
        ({"scratch": scratch}, Path("pieces/tokenizer.json")),
        ({"from": "pieces"}, Path("pieces/model.safetensors")),
    ):
        plan = expand(read_grid({**grid, "base": {**grid["base"], "encoder": encoder}}))
        before = [job.key for job in list_jobs(plan, "cpu")]
        assert [job.key for job in list_jobs(plan, "cpu")] == before
        file.write_bytes(file.read_bytes() + b" ")
        assert not {job.key for job in list_jobs(plan, "cpu")} & set(before)


def test_raw_text_is_learned_from_and_such_runs_can_go_on(grid: dict[str, Any], tmp_path: Path) -> None:

    (tmp_path / "raw.txt").write_text("\n\n".join(f"{' '.join(WORDS)} {row}. The end." for row in range(60)))
    tasks = {**grid["base"]["tasks"], "words": {"kind": "masked_words", "train": "raw.txt"}}
    both = {"plain": {}, "words": {"tasks.words": tasks["words"]}}
    seen: dict[str, bool] = {}
    with pytest.MonkeyPatch.context() as patch:
        make = Worker.run
        patch.setattr(
            Worker, "run", lambda self, job, tell: [seen.update({job.arm: job.resumable}), make(self, job, tell)][1]
        )
        found = run({**grid, "variants": both}, tmp_path / "out")
    assert [(cell.task, cell.variant, cell.seeds) for cell in found.record.cells] == [
        ("fruit", "plain", 2),
        ("fruit", "words", 2),
    ]
    assert seen == {"plain": False, "words": True}  # how long it takes cannot be told, and it may be hours


def test_tasks_alone_and_together(grid: dict[str, Any], tmp_path: Path) -> None:
    tasks = {"fruit": grid["base"]["tasks"]["fruit"], "other": grid["base"]["tasks"]["fruit"]}
    found = run({"base": {**grid["base"], "tasks": tasks}, "together": True, "seeds": 2}, tmp_path / "out")
    assert [(cell.task, cell.variant) for cell in found.record.cells] == [
        ("fruit", "alone"),
        ("fruit", "together"),
        ("other", "alone"),
        ("other", "together"),
    ]
    assert found.record.grouping == (("fruit", "other"),)
    assert [(pair.task, pair.other) for pair in found.record.matrix] == [("fruit", "other"), ("other", "fruit")]
    assert all(pair.agreement is not None for pair in found.record.matrix)


def test_the_command_prints_the_plan_the_table_and_where_it_is(
    grid: dict[str, Any], tmp_path: Path, run_weft: RunWeft
) -> None:
    import tomli_w

    (tmp_path / "grid.toml").write_text(tomli_w.dumps(grid), encoding="utf-8")
    code, out, err = run_weft("compare", tmp_path / "grid.toml", "--output", tmp_path / "out", "--quick")
    assert code == 0
    assert "4 runs (2 variants × 2 seeds)" in err
    assert "2 seeds, 1 comparison: no difference can be called better or worse" in err
    assert "Quick look" in out
    assert "compare.html" in err
    code, out, err = run_weft("compare", tmp_path / "grid.toml", "--use", "fast")
    assert code == 0
    assert tomllib.loads(out)["training"]["learning_rate"] == 1e-2
    run_weft("compare", tmp_path / "grid.toml", "--use", "fast", "--output", tmp_path / "fast.toml")
    assert (tmp_path / "fast.toml").read_text(encoding="utf-8") == out
    code, _, err = run_weft("check", tmp_path / "fast.toml")
    assert code == 0, err


def test_rows_in_memory_are_compared_and_known_by_what_they_hold(grid: dict[str, Any], tmp_path: Path) -> None:
    rows = [{"text": f"{WORDS[row % 4]} {row}", "label": "good" if row % 3 else "bad"} for row in range(24)]
    task = {**grid["base"]["tasks"]["fruit"], "train": rows, "test": rows[:12]}
    given = {**grid, "base": {**grid["base"], "tasks": {"fruit": task}}}
    assert [cell.rows for cell in run(given, tmp_path / "out").record.cells] == [12, 12]

    def runs_made() -> list[int]:
        watch = Silent()
        weft.compare(given, tmp_path / "out", callback=watch, device="cpu")
        return watch.runs

    assert runs_made() == []
    rows[0]["label"] = "good"
    assert runs_made() == [4]


def test_options_that_are_not_possible_are_refused_all_at_once(grid: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        weft.compare(grid, jobs=0, engine="rai", keep="some")  # type: ignore[arg-type]
    dict_needs, jobs, engine, keep = caught.value.faults
    assert "say where to" in dict_needs
    assert "at least 1" in jobs
    assert "local, ray" in engine
    assert "none, best, all" in keep
    with pytest.raises(ConfigError, match="but this is a list"):
        weft.compare([grid])  # type: ignore[arg-type]


def test_axes_may_stand_without_quotes(grid: dict[str, Any]) -> None:
    text = "[axes]\ntraining.learning_rate = [1e-5, 1e-4]\n'training.epochs' = [1]\n"
    axes = read_grid({"base": grid["base"], **tomllib.loads(text)}).axes
    assert axes == {"training.learning_rate": [1e-5, 1e-4], "training.epochs": [1]}


def test_no_file_is_overwritten_by_a_variant(grid: dict[str, Any], tmp_path: Path, run_weft: RunWeft) -> None:
    import tomli_w

    (tmp_path / "grid.toml").write_text(tomli_w.dumps(grid), encoding="utf-8")
    code, _, err = run_weft("compare", tmp_path / "grid.toml", "--use", "fast", "--output", tmp_path / "grid.toml")
    assert code == 1
    assert "exists already" in err
    assert tomllib.loads((tmp_path / "grid.toml").read_text(encoding="utf-8")) == grid
