"""Whole runs with every conditioning method: trained, broken off and resumed, loaded, measured, asked, looked into."""

from __future__ import annotations

import json
import random
import re
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import weft
from weft.checkpoints.safetensors import read_file
from weft.cli import main as cli
from weft.conditioning import Conditioning
from weft.config.document import parse_experiment
from weft.encoder.encoder import Encoder
from weft.metrics import bootstrap
from weft.training.initial import set_initial_values
from weft.training.interrupt import Interrupted
from weft.training.prepare import prepare
from weft.training.progress import Callback

Run = Callable[..., tuple[str, str]]
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]
TEXTS = ["the quick fox", "a lazy dog jumps", "over", "the café, don't! " * 9]
PAIRS = [("the quick fox", "a lazy dog jumps over"), ("over", "over the café"), ("brown " * 20, "dog " * 30)]
TASKS: dict[str, dict[str, Any]] = {
    "fox": {"kind": "classification"},
    "animals": {"kind": "classification", "multilabel": True, "label": "labels"},
    "same": {"kind": "pair_classification", "encode": "cross", "text": ["text", "other"], "label": "relation"},
    "alike": {"kind": "similarity", "text": ["text", "other"], "score": "shared"},  # siamese
}
# Every kind from its defaults, and lists of methods.
METHODS: dict[str, Any] = {
    **{kind: {"kind": kind} for kind in Conditioning.kinds() if kind != "combined"},
    "label_attention and task_qkv": [{"kind": "label_attention"}, {"kind": "task_qkv"}],
    "label_attention and lora": [{"kind": "label_attention", "init": "class_mean"}, {"kind": "lora"}],
}
OFTEN = ("none", "label_attention", "task_attention", "label_attention and task_qkv")  # the rest among the slow tests


class StopAfter(Callback):
    """Asks for a stop after some steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        self.left -= 1
        if not self.left:
            signal.raise_signal(signal.SIGINT)


@dataclass(frozen=True)
class Trained:
    """A run with one method, and the folder of its model."""

    method: str
    document: dict[str, Any]
    data: Path
    folder: Path

    def train(self, name: str = "through", callback: Callback | None = None, resume: bool = False) -> Path:
        """Run it into a folder of this name."""
        output = self.folder.with_name(name)
        weft.train(self.document, output, data=self.data, device="cpu", callback=callback or Callback(), resume=resume)
        return output

    @property
    def model(self) -> weft.Model:
        return weft.load(self.folder)


@pytest.fixture(scope="module", autouse=True)
def _few_resamples() -> Iterator[None]:
    """Intervals, which are tested elsewhere, would take half of the time."""
    draw = bootstrap._resamples
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "_resamples", lambda size, seed, _: draw(size, seed, 20))
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose rows answer all tasks: is there a fox, which animals, does the other text share words, how many."""
    folder, rng = tmp_path_factory.mktemp("data"), random.Random(0)
    for name, rows in (("train", 16), ("dev", 12), ("test", 12)):
        lines = []
        for _ in range(rows):
            text, other = (" ".join(rng.choices(WORDS, k=rng.randint(2, 6))) for _ in range(2))
            animals = [animal for animal in ("dog", "fox") if animal in text]
            shared = len({*text.split()} & {*other.split()})
            answers: dict[str, Any] = {"label": "yes" if "fox" in text else "no", "labels": animals}
            answers |= {"relation": "some" if shared else "none", "shared": shared}
            lines.append(json.dumps({"text": text, "other": other, **answers}) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=METHODS)
def trained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, data: Path, small_encoder: str
) -> Trained:
    """A finished run that was never broken off."""
    files = {part: f"{part}.jsonl" for part in ("train", "dev", "test")}
    document = {
        "encoder": {"from": small_encoder},
        "conditioning": METHODS[request.param],
        "tasks": {name: {**options, **files} for name, options in TASKS.items()},
        "training": {"epochs": 2, "batch_size": 8, "learning_rate": 3e-3, "baselines": False},
    }
    run = Trained(request.param, document, data, tmp_path_factory.mktemp("runs") / "through")
    run.train()
    return run


@pytest.fixture
def run(trained: Trained, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the model: standard output and standard error."""

    def call(command: str, *arguments: object) -> tuple[str, str]:
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["weft", command, str(trained.folder), *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert not caught.value.code, err
        return out, err

    return call


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The task of each pass of any encoder from now on."""
    found: list[str] = []
    forward = Encoder.forward

    def counted(self: Encoder, batch: Any, *arguments: Any, **options: Any) -> Any:
        found.append(batch.task)
        return forward(self, batch, *arguments, **options)

    monkeypatch.setattr(Encoder, "forward", counted)
    return found


def weights(folder: Path) -> dict[str, Tensor]:
    return read_file(folder / "model.safetensors")


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text("utf-8"))


FLAGS = {"truncated", "empty"}


def close(prediction: dict[str, Any]) -> dict[str, Any]:
    """A prediction whose numbers may be a little off: other sums of a batch round otherwise; without its flags."""
    exact, said = ("label", "labels"), {key: value for key, value in prediction.items() if key not in FLAGS}
    return {key: value if key in exact else pytest.approx(value, abs=1e-5) for key, value in said.items()}


def test_everything_a_method_adds_has_learned(trained: Trained) -> None:
    experiment = parse_experiment(trained.document)
    data, network = prepare(experiment, trained.data).complete()
    set_initial_values(network, experiment, {name: rows.train for name, rows in data.items()})
    start = network.state_dict()
    learned = weights(trained.folder)
    assert learned.keys() == start.keys()
    added = [name for name in start if name.startswith("conditioner.")]
    assert bool(added) == (trained.method != "none")
    # A key's bias shifts all scores of a softmax alike, so there is nothing for it to learn.
    still = [name for name in added if torch.equal(learned[name], start[name]) and not name.endswith("key.bias")]
    assert not still


@pytest.mark.parametrize(
    "trained",
    [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in METHODS],
    indirect=True,
)
def test_a_resumed_run_ends_with_the_same_bits(trained: Trained) -> None:
    with pytest.raises(Interrupted):
        trained.train("broken", StopAfter(5))
    broken = trained.train("broken", resume=True)
    ours, theirs = weights(trained.folder), weights(broken)
    assert ours.keys() == theirs.keys()
    assert not [name for name in ours if not torch.equal(ours[name], theirs[name])]
    assert read(broken, "metrics.json") == read(trained.folder, "metrics.json")
    assert read(broken, "weft.json") == read(trained.folder, "weft.json")  # with what was calibrated
    for name in ("history", "loss_history", "best"):
        assert read(broken, "report.json")[name] == read(trained.folder, "report.json")[name]


def test_the_loaded_model_measures_what_the_run_said(trained: Trained, run: Run, tmp_path: Path) -> None:
    said = read(trained.folder, "metrics.json")
    assert said.keys() == TASKS.keys()
    results = trained.model.evaluate(dict.fromkeys(TASKS, trained.data / "test.jsonl"))
    assert {name: result.measures.scores for name, result in results.items()} == said
    out, _ = run("evaluate", "--json", tmp_path / "scores.json")
    assert read(tmp_path, "scores.json") == said
    for name, result in results.items():
        assert re.search(rf"{name} +│ {result.metric} +│ +{result.value:.3f} ", out)


@pytest.mark.filterwarnings("ignore::weft.TruncationWarning")
@pytest.mark.parametrize("texts", [TEXTS, PAIRS], ids=["texts", "pairs"])
def test_all_tasks_and_rows_at_once_answer_as_each_alone(trained: Trained, texts: list[Any]) -> None:
    model = trained.model
    together = model.predict(texts, scores=True)
    tasks = together[0].keys() - FLAGS
    assert len(tasks) == 2
    for task in tasks:
        answers = [answer[task] for answer in together]
        assert answers == [close(answer) for answer in model.predict(texts, task, scores=True)]
        by_row = [model.predict([text], task, scores=True)[0] for text in texts]
        assert answers == [close(answer) for answer in by_row]


@pytest.mark.filterwarnings("ignore::weft.TruncationWarning")
def test_the_command_answers_and_says_how_many_passes_it_takes(
    trained: Trained, run: Run, passes: list[str], tmp_path: Path
) -> None:
    out, err = run("predict", "--text", TEXTS[0], "--scores")
    answer = json.loads(out)
    assert len(passes) == (1 if trained.method == "none" else 2)
    assert re.findall(r"(\d) tasks need (\d) passes", err) == ([] if len(passes) == 1 else [("2", "2")])
    (expected,) = trained.model.predict(TEXTS[:1], scores=True)
    tasks = expected.keys() - FLAGS
    assert {name: answer[name] for name in tasks} == {name: close(expected[name]) for name in tasks}

    passes.clear()
    _, err = run("predict", "--input", trained.data / "test.jsonl", "--output", tmp_path / "answers.jsonl")
    assert len(passes) == (3 if trained.method == "none" else 4)  # a pair is read in two ways in any case
    assert f"4 tasks need {len(passes)} passes" in err
    rows = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 12
    pairs = [(row["text"], row["other"]) for row in rows]
    for task in TASKS:
        alone = trained.model.predict(pairs if task in ("same", "alike") else [row["text"] for row in rows], task)
        assert [row[task] for row in rows] == [close(one) for one in alone]


@pytest.mark.parametrize("task", TASKS)
def test_every_task_can_be_looked_into(trained: Trained, task: str) -> None:
    text = PAIRS[0] if task in ("same", "alike") else TEXTS[1]
    model = trained.model
    found = model.inspect(text, task=task)
    (expected,) = model.predict([text], task, scores=True)
    assert found.prediction.to_dict(scores=True) == close(expected)
    for row in found.rows:
        words = [word.attention for one in row.texts for word in one.words]
        assert sum(words) + row.special_attention == pytest.approx(1, abs=1e-5)
    assert bool(found.labels) == ("label_attention" in trained.method and task != "alike")


def test_the_command_shows_a_pair_and_writes_its_page(trained: Trained, run: Run, tmp_path: Path) -> None:
    first, second = PAIRS[0]
    page = tmp_path / "page.html"
    out, _ = run("inspect", "--task", "alike", "--text", first, "--text-pair", second, "--output", page)
    (expected,) = trained.model.predict(PAIRS[:1], "alike")
    assert f"alike {expected['score']:.2f}" in out
    assert first in out
    assert second in out
    assert "Second text" in page.read_text("utf-8")
