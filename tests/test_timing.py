"""How long a run would take: what is counted, and that looking changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shared_runs import FOX, LONG, Run, make_files, result, runner
from weft.config.document import parse_experiment
from weft.config.experiment import Experiment
from weft.spec import parse
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer
from weft.training import timing
from weft.training.shared import Shared
from weft.training.task_data import load_data
from weft.training.timing import RunTimer, can_be_timed


@pytest.fixture
def files(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> Path:
    """The folder of the files."""
    return make_files(tmp_path, tiny_tokenizers["wordpiece"])


@pytest.fixture
def run(files: Path, small_encoder: str) -> Run:
    """Trains a config on the files."""
    return runner(files, small_encoder)


def experiment(
    encoder: str, tasks: dict[str, Any], phases: tuple[dict[str, Any], ...] = ({},), **training: Any
) -> Experiment:
    settings = {"batch_size": 8, **training}
    document = {"encoder": {"from": encoder}, "tasks": tasks, "training": settings, "phases": phases}
    return parse_experiment(document, ())


def seconds_per_run(*arguments: Any) -> float:
    """Without the states of layers that do not learn."""
    return RunTimer(*arguments).time().steps


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second for each token that is learned from, a thousandth for each that is read."""
    monkeypatch.setattr(timing, "_ALWAYS", 0.0)
    monkeypatch.setattr(timing._TimedPhase, "_learn", lambda self, task: 1.0)
    monkeypatch.setattr(timing._TimedPhase, "_read", lambda self, task: 0.001)
    monkeypatch.setattr(timing._TimedPhase, "keeping", lambda self: 0.0)
    monkeypatch.setattr(timing.RunTimer, "_beside", lambda self: 0.0)


@pytest.mark.usefixtures("fixed")
def test_every_token_is_counted_once_per_epoch_and_dev_and_test_rows_as_they_are_read(
    files: Path, small_encoder: str, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    splits = load_data({"long": parse(Task, LONG)}, files, 13)["long"]
    encoded = tiny_tokenizers["wordpiece"].encode([row.texts[0] for row in splits.train], max_length=32)
    tokens = sum(map(len, encoded))
    read = (3 * len(splits.dev) + len(splits.test)) * tokens / len(splits.train)
    found = seconds_per_run(experiment(small_encoder, {"long": LONG}, epochs=3), files)
    assert found == pytest.approx(3 * tokens + 0.001 * read)
    few = seconds_per_run(experiment(small_encoder, {"long": LONG}, epochs=3, max_dev_rows=1), files)
    assert found - few == pytest.approx(0.003 * (len(splits.dev) - 1) * tokens / len(splits.train))


@pytest.mark.usefixtures("fixed")
def test_a_step_that_compares_rows_counts_for_as_many_tokens_as_its_batch_holds(
    files: Path, small_encoder: str, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    splits = load_data({"long": parse(Task, LONG)}, files, 13)["long"]
    encoded = tiny_tokenizers["wordpiece"].encode([row.texts[0] for row in splits.train], max_length=32)
    tokens = list(map(len, encoded))
    phase = {"loss": "supervised_contrastive", "steps": 5, "batch_size": 8}
    found = seconds_per_run(experiment(small_encoder, {"long": LONG}, ({**phase, "tasks": ["long"]},)), files)
    assert 5 * 8 * min(tokens) < found < 5 * 8 * max(tokens) < 5 * sum(tokens)


@pytest.mark.usefixtures("fixed")
def test_comparing_gradients_of_several_tasks_counts_too(files: Path, small_encoder: str) -> None:
    both = {"fox": FOX, "long": {**FOX, "label": "long"}}
    found, without = (
        seconds_per_run(experiment(small_encoder, both, epochs=2, gradient_agreement=asked), files)
        for asked in (True, False)
    )
    assert found > 1.9 * without  # which has fewer rows of each task than are compared


def test_looking_at_the_time_changes_no_run(run: Run, files: Path, small_encoder: str) -> None:
    encoder = {"from": small_encoder, "train_layers": 0}
    shared, config = Shared(), {"tasks": {"fox": FOX}, "encoder": encoder, "phases": [{}]}
    seconds = seconds_per_run(parse_experiment(config, ()), files, shared)
    assert 0.3 < seconds < 60
    assert result(run(config, shared)) == result(run(config))


def test_a_batch_that_is_timed_has_at_most_so_many_tokens(
    files: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(timing, "_MOST_TOKENS", 20)
    batch = timing._FirstBatch.next
    monkeypatch.setattr(timing._FirstBatch, "next", lambda self: [b := batch(self), seen.append(len(b.ids))][0])
    seconds_per_run(experiment(small_encoder, {"fox": FOX}), files)
    assert seen
    assert max(seen) <= 20


@pytest.mark.usefixtures("fixed")
def test_rows_that_heads_are_fitted_to_are_read_once_and_dev_rows_after_phases_that_learn_answers(
    files: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "_fit", lambda *_: 100.0)
    contrast = {"loss": "supervised_contrastive", "steps": 5, "batch_size": 8}
    fit, tasks = {"fit": "logistic"}, {"long": LONG}
    alone, both = (
        seconds_per_run(experiment(small_encoder, tasks, phases), files) for phases in ((contrast,), (contrast, fit))
    )
    assert seconds_per_run(experiment(small_encoder, tasks, (contrast,), max_dev_rows=1), files) == alone
    splits = load_data({"long": parse(Task, LONG)}, files, 13)["long"]
    timer = RunTimer(experiment(small_encoder, tasks, (contrast, fit)), files)
    each = timer.streams[1]["long"].tokens_per_row
    assert both - alone == pytest.approx(100 + 0.001 * (len(splits.train) + len(splits.dev)) * each, rel=1e-3)


def test_fitting_is_timed_with_as_many_rows_as_there_are_and_changes_no_head(
    files: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "_MOST_TOKENS", 40)
    fitted: list[int] = []
    monkeypatch.setattr(timing, "fit_layer", lambda layer, parts: fitted.append(len(parts[0].features)))
    timer = RunTimer(experiment(small_encoder, {"long": LONG}, ({"fit": "logistic"},), baselines=False), files)
    timer.time()
    assert len(fitted) == 1
    assert abs(fitted[0] - len(timer.train["long"])) < 6  # a multiple of the rows of a batch


# States of layers that do not learn


def frozen(encoder: str, limit: int | None, seed: int = 13, **training: Any) -> Experiment:
    task = {**LONG, **({} if limit is None else {"limit": limit})}
    document = {"encoder": {"from": encoder, "train_layers": 0}, "tasks": {"long": task}, "seed": seed}
    return parse_experiment({**document, "training": {"epochs": 1, **training}, "phases": [{}]}, ())


def test_states_of_every_row_are_counted_once_whatever_they_are_used_for(files: Path, small_encoder: str) -> None:
    timer = RunTimer(frozen(small_encoder, None), files)
    rows = [row for part in vars(timer.data["long"]).values() for row in part]
    tokens = sum(tokenized.tokens for tokenized in timer.network.encode("long", rows))
    assert sum(timer.windows().values()) == tokens  # also of the probe, which reads the same
    found = timer.time()
    assert found.states.keys() == timer.windows().keys()
    assert min(found.states.values()) > 0


def test_rows_that_another_seed_draws_have_states_of_their_own_and_test_rows_have_not(
    files: Path, small_encoder: str
) -> None:
    """Also where a row to learn from stands in the test file, too."""
    lines = (files / "test.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (files / "rows.csv").write_text((files / "rows.csv").read_text() + "".join(lines[3:7]), encoding="utf-8")
    one, same, other = (RunTimer(frozen(small_encoder, 30, seed), files).windows() for seed in (1, 1, 2))
    assert one == same
    assert len(one.keys() & other.keys()) == 1  # the 32 rows of the test file


def test_of_layers_that_learn_only_what_the_probe_reads_is_known_before(files: Path, small_encoder: str) -> None:
    learning = experiment(small_encoder, {"long": LONG}, epochs=1)
    assert RunTimer(learning, files).windows() == RunTimer(frozen(small_encoder, None), files).windows()
    without = experiment(small_encoder, {"long": LONG}, epochs=1, baselines=False)
    assert RunTimer(without, files).windows() == {}
    assert RunTimer(without, files).time().states == {}


def test_rows_of_raw_text_cannot_be_counted_before(small_encoder: str) -> None:
    words = {"kind": "masked_words", "train": "texts.txt"}
    assert not can_be_timed(experiment(small_encoder, {"words": words, "long": LONG}))
    assert can_be_timed(experiment(small_encoder, {"long": LONG}))
