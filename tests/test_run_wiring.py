"""Around the loop: precision and device, the seed in every part, what is measured, reported and told."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from accelerate import Accelerator
from rich.console import Console

import weft
from recorder import HEAD, TEXTS, Place, Recorder, make_place
from weft.config.document import parse_experiment
from weft.errors import ConfigError
from weft.model.evaluate import calibrate, evaluate
from weft.model.folder import load_network
from weft.model.network import Network
from weft.tokenization.tokenizer import Tokenizer
from weft.training import accelerator, progress, run
from weft.training.accelerator import Hardware
from weft.training.phase import count_trainable
from weft.training.progress import Callback, ProgressCallback
from weft.training.task_data import load_data


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("run"), tiny_tokenizers["wordpiece"], 0.2)


# Precision and device


class BuiltError(Exception):
    """The accelerator has been asked for."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the accelerator was asked for, after which a run ends: some processors cannot compute in bf16."""
    found: dict[str, Any] = {}

    def build(device: torch.device, precision: str, trackers: Sequence[str], folder: Path) -> None:
        found.update(device=device, precision=precision, trackers=trackers, folder=folder)
        raise BuiltError

    monkeypatch.setattr(run, "Hardware", build)
    return found


@pytest.mark.parametrize(
    ("device", "able", "precision", "expected"),
    [
        ("cpu", None, "auto", (True, "fp32")),
        ("cpu", None, "fp32", (True, "fp32")),
        ("cpu", None, "bf16", (True, "bf16")),
        ("cpu", True, "auto", (True, "fp32")),  # a GPU that was not asked for
        ("auto", True, "auto", (False, "bf16")),
        ("cuda", True, "auto", (False, "bf16")),
        ("auto", False, "auto", (False, "fp32")),
        ("auto", True, "fp32", (False, "fp32")),
        ("auto", False, "bf16", (False, "bf16")),
        ("auto", None, "auto", (True, "fp32")),
    ],
)
def test_precision_and_device_reach_the_accelerator(
    place: Place,
    asked: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    device: Any,
    able: bool | None,
    precision: str,
    expected: tuple[bool, str],
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: able is not None)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: bool(able))
    document = place.document({"a": place.task("a", 4)}, {"precision": precision})
    with pytest.raises(BuiltError):
        weft.train(
            document,
            place.folder / f"{device}-{able}-{precision}",
            data=place.folder,
            device=device,
            callback=Callback(),
        )
    assert (asked["device"].type == "cpu", asked["precision"]) == expected
    assert asked["trackers"] == ()


def test_the_forward_pass_and_the_loss_are_computed_in_the_precision_asked_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []
    real_forward = Network.forward
    entered = 0

    @contextmanager
    def autocast(self: Hardware) -> Iterator[None]:
        nonlocal entered
        entered += 1
        yield
        entered -= 1

    def forward(network: Network, batch: Any, features: bool = False) -> Any:
        if torch.is_grad_enabled():
            inside.append(bool(entered))
        return real_forward(network, batch, features)

    monkeypatch.setattr(Hardware, "autocast", autocast)
    monkeypatch.setattr(Network, "forward", forward)
    place.train({name: place.task(name, 4) for name in "ab"}, "half", training={"precision": "bf16"})
    assert inside == [True] * 8  # two batches of each task are learned from, then compared
    assert place.report("half")["precision"] == "bf16"


# The seed


def test_the_seed_reaches_the_rows_set_aside_those_used_the_fresh_weights_and_dropout(
    place: Place, tiny_tokenizers: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.rows("split.jsonl", [(text, "ab"[i % 2]) for i, text in enumerate(TEXTS)])
    task = {"kind": "classification", "train": "split.jsonl", "dev": 0.34, "limit": 6, "head": HEAD}
    started: list[int] = []
    real = Network.forward

    def forward(network: Network, batch: Any, features: bool = False) -> Any:
        started.append(torch.initial_seed())
        return real(network, batch, features)

    monkeypatch.setattr(Network, "forward", forward)
    runs = []
    for number, seed in enumerate((5, 5, 6)):
        runs.append(place.learn({"a": task}, f"seed-{number}", seed=seed, training={"batch_size": 3}))
        assert set(started) == {seed}
        started.clear()
        experiment = parse_experiment(place.document({"a": task}, {}))
        found = load_data(experiment.tasks, place.folder, seed)["a"]
        ids = tiny_tokenizers["wordpiece"].encode([one.texts[0] for one in found.train], max_length=24)
        seen = [
            tuple(batch.ids[start : start + size].tolist())
            for update in runs[-1].updates
            for batch in update.batches
            for start, size in zip(batch.row_offsets.tolist(), batch.lengths.tolist(), strict=True)
        ]
        assert sorted(seen) == sorted(tuple(one.ids) for one in ids)
    heads = [run.updates[0].before["heads.<a>.1.weight"] for run in runs]
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])


def test_a_seed_beside_the_config_takes_the_place_of_its_own(place: Place) -> None:
    task = {"a": place.task("a", 4)}
    for output, options in (("own", {"seed": None}), ("beside", {"seed": 8})):
        document = {**place.document(task, {}), "seed": 7}
        weft.train(document, place.folder / output, data=place.folder, device="cpu", callback=Callback(), **options)
    assert place.report("own")["seed"] == 7
    assert place.report("beside")["seed"] == 8
    assert tomllib.loads((place.folder / "beside" / "weft.toml").read_text())["seed"] == 8
    place.train(task, "unsaid")
    assert place.report("unsaid")["seed"] == 13


def test_the_seed_reaches_what_is_drawn_of_raw_text(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.corpus.loading import CorpusLoader

    seeds: list[int] = []
    real = CorpusLoader.load

    def load(self: CorpusLoader, source: Any, format: Any, seed: int) -> Any:
        seeds.append(seed)
        return real(self, source, format, seed)

    monkeypatch.setattr(CorpusLoader, "load", load)
    (place.folder / "text.txt").write_text("\n\n".join(TEXTS * 4), encoding="utf-8")
    words = {"kind": "masked_words", "train": "text.txt", "dev": "text.txt"}
    place.learn({"words": words}, "drawn", seed=21, training={"batch_size": 8})
    assert seeds == [21]


# Raw text, turn by turn


def test_rows_of_raw_text_are_hidden_anew_on_every_turn_and_fill_batches_by_their_tokens(place: Place) -> None:
    (place.folder / "lines.txt").write_text("\n\n".join(TEXTS * 3), encoding="utf-8")
    words = {"kind": "masked_words", "train": "lines.txt", "dev": "lines.txt", "max_length": 12}
    settings = {"batch_size": None, "batch_tokens": 36, "epochs": 2}
    seen = place.learn({"words": words}, "hidden", training=settings)
    batches = [batch for update in seen.updates for batch in update.batches]
    assert all(int(batch.lengths.sum()) <= 36 for batch in batches)
    assert all(int(batch.lengths.max()) <= 12 for batch in batches)
    half = seen.entries[0]["step"]
    turns = [
        sorted(
            tuple(batch.ids[start : start + size].tolist())
            for batch in part
            for start, size in zip(batch.row_offsets.tolist(), batch.lengths.tolist(), strict=True)
        )
        for part in (batches[:half], batches[half:])
    ]
    assert turns[0] != turns[1]
    lengths = [sum(map(len, turn)) for turn in turns]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.1)


# What is measured and written


@pytest.fixture(scope="module")
def measured(place: Place) -> Recorder:
    """One task with test rows and one without, and baselines; dev and test rows have answers of their own."""
    tasks = {"tested": place.task("tested", 12, "aab"), "chosen": place.task("chosen", 12)}
    tasks["tested"]["dev"] = place.rows("dev.jsonl", [(text, "abbb"[i % 4]) for i, text in enumerate(TEXTS)])
    tasks["tested"]["test"] = place.rows("test.jsonl", [(text, "bab"[i % 3]) for i, text in enumerate(TEXTS[:9])])
    tasks["chosen"] |= {"dev": "dev.jsonl", "metric": "accuracy"}
    settings = {"epochs": 2, "learning_rate": 5e-3, "baselines": True, "batch_size": 4}
    return place.train(tasks, "measured", training=settings, seed=3, conditioning="task_input")


def test_thresholds_are_fitted_to_dev_rows_and_dev_rows_are_measured_without_them(
    place: Place, measured: Recorder
) -> None:
    folder = place.folder / "measured"
    experiment = parse_experiment(tomllib.loads((folder / "weft.toml").read_text(encoding="utf-8")))
    data = load_data(experiment.tasks, place.folder, 3)
    network = load_network(folder)
    fitted = dict(network.targets)
    learned = {name: task.target().fit(one.gold for one in data[name].train) for name, task in experiment.tasks.items()}
    network.targets.update(learned)
    assert calibrate(network, {name: splits.dev for name, splits in data.items()}) == fitted
    assert all(fitted[name] != learned[name] for name in fitted)
    network.targets.update(fitted)
    plain = {name: target.without_thresholds() for name, target in fitted.items()}
    chosen = evaluate(network, {"chosen": data["chosen"].dev}, intervals=False, targets=plain)["chosen"]
    bare = evaluate(network, {"chosen": data["chosen"].dev}, intervals=False, targets=learned)["chosen"]
    assert bare.measures.scores != pytest.approx(chosen.measures.scores)
    tested = evaluate(network, {"tested": data["tested"].test}, intervals=False)["tested"]
    written = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert list(written) == ["tested", "chosen"]
    assert written["chosen"] == pytest.approx(chosen.measures.scores)
    assert written["tested"] == pytest.approx(tested.measures.scores)


def test_the_report_says_what_was_done(place: Place, measured: Recorder) -> None:
    report = place.report("measured")
    network = load_network(place.folder / "measured")
    assert report["encoder"] == {
        "name": place.encoder,
        "layers": 2,
        "width": 16,
        "parameters": sum(p.numel() for p in network.encoder.parameters()),
    }
    whole = sum(p.numel() for p in network.parameters())
    assert report["added_parameters"] == whole - report["encoder"]["parameters"] > 0
    assert report["trained_parameters"] == whole
    plain = ("seed", "conditioning", "device", "precision", "stopped", "data")
    assert {key: report[key] for key in plain} == {
        "seed": 3,
        "conditioning": "task_input",
        "device": "cpu",
        "precision": "fp32",
        "stopped": "finished",
        "data": str(place.folder.resolve()),
    }
    tested, chosen = report["tasks"]["tested"], report["tasks"]["chosen"]
    assert (tested["kind"], tested["metric"], tested["reported_on"]) == ("classification", "f1_macro", "test")
    assert (chosen["kind"], chosen["metric"], chosen["reported_on"]) == ("classification", "accuracy", "dev")
    assert tested["rows"] == {"train": 12, "dev": 12, "test": 9}
    assert chosen["rows"] == {"train": 12, "dev": 12, "test": 0}
    assert (tested["result"]["rows"], chosen["result"]["rows"]) == (9, 12)
    methods = {"majority", "tfidf", "probe"}
    assert tested["result"]["baselines"].keys() == chosen["result"]["baselines"].keys() == methods
    # Most training rows are a; of the test rows 3 of 9 are, of the dev rows 3 of 12.
    assert tested["result"]["baselines"]["majority"]["accuracy"] == pytest.approx(3 / 9)
    assert tested["result"]["measures"]["intervals"].keys() >= {"f1_macro", "accuracy"}
    assert report["config"] == (place.folder / "measured" / "weft.toml").read_text(encoding="utf-8")
    assert [entry["epoch"] for entry in report["history"]] == [1, 2]


def test_a_finished_folder_holds_nothing_that_only_a_run_needs(place: Place, measured: Recorder) -> None:
    folder = place.folder / "measured"
    names = {path.name for path in folder.iterdir()} - {"best"}
    assert names == {
        *("model.safetensors", "weft.json", "tokenizer.json", "weft.toml", "metrics.json", "metrics.jsonl"),
        *("results.json", "report.json", "report.html", "README.md", "outcomes.safetensors"),
    }
    assert not (place.folder / "measured.running").exists()


def test_without_baselines_none_are_measured_and_without_a_method_none_is_named(place: Place) -> None:
    seen = place.train({"a": place.task("a", 4)}, "without")
    assert seen.notes == ["measuring the weights that are kept, with intervals"]
    assert place.report("without")["tasks"]["a"]["result"]["baselines"] == {}


def test_the_watcher_is_told_what_a_method_adds_and_that_measuring_takes_time(measured: Recorder) -> None:
    added = measured.network.added_parameters("tested")
    assert added
    assert measured.notes == [
        f"task_input adds parameters: tested {added:,}, chosen {added:,}",
        "measuring the weights that are kept, with intervals and baselines",
    ]
    assert measured.ended == 1
    assert measured.began == [(12, 0)]
    assert [label for label, *_ in measured.steps] == ["epoch 1"] * 6 + ["epoch 2"] * 6


def test_weights_of_a_task_alone_are_calibrated_by_its_dev_rows(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.training import dev_rows as dev

    values = iter([(0.9, 0.1), (0.1, 0.9)])

    def scripted(network: Network, rows: Any, intervals: bool = True, **_: Any) -> Any:
        found = evaluate(network, rows, intervals=intervals)
        for name, value in zip("ab", next(values), strict=True):
            measures = replace(found[name].measures, scores={**found[name].measures.scores, "f1_macro": value})
            found[name] = replace(found[name], measures=measures)
        return found

    monkeypatch.setattr(dev, "evaluate", scripted)
    tasks = {name: place.task(name, 12, given) for name, given in (("a", "ab"), ("b", "aab"))}
    place.train(tasks, "alone", training={"epochs": 2, "choose_by": "a", "learning_rate": 1e-2})
    folder = place.folder / "alone" / "best" / "b"
    experiment = parse_experiment(place.document(tasks, {}))
    data = load_data(experiment.tasks, place.folder, 13)
    network = load_network(folder)
    fitted = dict(network.targets)
    learned = {n: task.target().fit(one.gold for one in data[n].train) for n, task in experiment.tasks.items()}
    network.targets.update(learned)
    assert fitted != learned
    assert calibrate(network, {name: splits.dev for name, splits in data.items()}) == fitted


# Trackers


def test_trackers_are_told_every_evaluation(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[dict[str, float], int]] = []
    calls: list[str] = []
    monkeypatch.setattr(Accelerator, "log", lambda self, values, step: logged.append((values, step)))
    monkeypatch.setattr(Accelerator, "init_trackers", lambda self, name: calls.append(name))
    monkeypatch.setattr(Accelerator, "end_training", lambda self: calls.append("end"))
    tasks = {"a": place.task("a", 4), "b": place.task("b", 4, metric="accuracy")}
    phases = [{}, {"tasks": ["a"]}]
    seen = place.train(tasks, "tracked", phases=phases)
    assert calls == ["weft", "end"]
    assert [step for _, step in logged] == [entry["step"] for entry in seen.entries] == [4, 6]
    first = seen.entries[0]
    assert logged[0][0] == {
        "overall": first["overall"],
        "a/loss": first["losses"]["a"],
        "b/loss": first["losses"]["b"],
        "a/f1_macro": first["dev"]["a"],
        "b/accuracy": first["dev"]["b"],
        "agreement/a~b": first["agreement"]["a~b"],
    }
    assert logged[1][0].keys() == {"overall", "a/loss", "a/f1_macro", "b/accuracy"}
    assert first["dev"] == {"a": first["scores"]["a"]["f1_macro"], "b": first["scores"]["b"]["accuracy"]}


def test_trackers_reach_the_accelerator_and_absent_ones_are_named(
    place: Place, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.training import prepare

    installed: set[str] = {"tensorboard"}
    monkeypatch.setattr(prepare, "find_spec", lambda name: name if name in installed else None)
    settings = {"report_to": ["tensorboard", "mlflow", "wandb"]}
    with pytest.raises(ConfigError, match=r"training.report_to: mlflow, wandb is not installed; run: pip install"):
        place.train({"a": place.task("a", 4)}, "absent", training=settings)
    assert not (place.folder / "absent.running").exists()
    installed |= {"mlflow", "wandb"}
    with pytest.raises(BuiltError):
        place.train({"a": place.task("a", 4)}, "present", training=settings)
    assert asked["trackers"] == ("tensorboard", "mlflow", "wandb")
    assert asked["folder"] == place.folder / "present.running"


@pytest.mark.parametrize("trackers", [(), ("mlflow", "wandb")])
def test_accelerate_is_told_which_trackers_there_are_and_where_they_may_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trackers: tuple[str, ...]
) -> None:
    told = MagicMock(return_value=MagicMock(num_processes=1))
    monkeypatch.setattr(accelerator, "Accelerator", told)
    Hardware(torch.device("cpu"), "fp32", trackers, tmp_path)
    assert told.call_args.kwargs["log_with"] == (list(trackers) or None)
    assert told.call_args.kwargs["project_dir"] == str(tmp_path)


def test_several_processes_are_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Accelerator, "num_processes", property(lambda self: 2))
    with pytest.raises(ConfigError, match="several processes"):
        place.train({"a": place.task("a", 4)}, "processes")


# What a person sees


def test_the_bar_shows_smoothed_losses_how_far_it_is_and_how_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 10.0

        def monotonic(self) -> float:
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    callback = ProgressCallback(Console(file=io.StringIO(), width=120))
    callback.step("epoch 1", "a", 9.0, 99)  # before the beginning there is nothing to show
    callback.begin(10, 4)
    try:
        assert callback.bar is not None
        clock.now += 2
        callback.step("epoch 1", "a", 1.0, 8)
        callback.step("epoch 1", "b", 3.0, 8)
        callback.step("epoch 2", "a", 2.0, 4)
        (line,) = callback.bar.tasks
        assert (line.completed, line.total) == (7, 10)
        assert line.description == "epoch 2 · a 1.100 · b 3.000"
        assert line.fields["speed"] == "10 rows/s"
    finally:
        callback.end()
    assert not callback.bar.live.is_started


def test_an_evaluation_is_a_line_with_every_task_and_the_best_so_far() -> None:
    written = io.StringIO()
    callback = ProgressCallback(Console(file=written, width=120))
    entry = {"epoch": 2, "dev": {"a": 0.51234, "words": -3.0}, "overall": -0.25, "best": False}
    callback.evaluated({**entry, "scores": {"a": {"accuracy": 0.5}, "words": {"perplexity": 20.04}}})
    callback.evaluated({**entry, "overall": 0.25, "best": True})
    callback.note("by the way")
    callback.end()  # without a beginning
    assert written.getvalue().splitlines() == [
        "epoch 2: dev a 0.512 · words perplexity 20.0 · overall gain -0.250",
        "epoch 2: dev a 0.512 · words -3.000 · overall gain +0.250 best so far",
        "by the way",
    ]


# The options themselves

DEFAULTS = {
    "batch_size": 32,
    "group_by_length": False,
    "weight_decay": 0.01,
    "layer_decay": 1.0,
    "warmup_ratio": 0.1,
    "lr_scheduler_type": "linear",
    "max_grad_norm": 1.0,
    "loss_weights": "fixed",
    "conflict": "ignore",
    "gradient_agreement": True,
    "max_dev_rows": 2000,
    "choose_by": "overall",
    "choose_from": 100,
    "keep_best_per_task": True,
    "precision": "auto",
    "baselines": True,
    "report_texts": 0,
}


def test_what_a_config_leaves_out_is_as_the_documentation_says() -> None:
    experiment = parse_experiment({"tasks": {"a": {"kind": "classification", "train": "a.csv"}}})
    found = {key: value for key, value in vars(experiment.training).items() if value not in (None, ())}
    assert found == DEFAULTS
    assert experiment.seed == 13
    assert (experiment.encoder.name, experiment.encoder.train_layers) == ("minilm", "all")
    assert experiment.encoder.gradient_checkpointing is False
    assert experiment.sampling.to_dict()["kind"] == "round_robin"
    assert experiment.conditioning.to_dict()["kind"] == "none"
    assert experiment.phases == ()
    assert experiment.preset.to_dict() == {"kind": "auto"}  # which gives epochs, rates and phases
    assert experiment.tasks["a"].weight == 1.0
    assert experiment.tasks["a"].consistency == 0.0
    assert experiment.tasks["a"].dev is None


@pytest.mark.parametrize(
    ("key", "fine", "wrong"),
    [
        ("training.epochs", 1, 0),
        ("training.learning_rate", 1e-9, 0),
        ("training.head_learning_rate", 1e-9, 0),
        ("training.weight_decay", 0, -0.1),
        ("training.layer_decay", 1, 1.1),
        ("training.layer_decay", 0.1, 0),
        ("training.warmup_ratio", 0, -0.1),
        ("training.warmup_ratio", 1, 1.1),
        ("training.max_grad_norm", 0, -1),
        ("training.gradient_accumulation_steps", 1, 0),
        ("training.max_dev_rows", 1, 0),
        ("training.early_stopping_patience", 1, 0),
        ("training.choose_from", 1, 0),
        ("training.report_texts", 0, -1),
        ("training.batch_size", 1, 0),
        ("training.batch_tokens", 1, 0),
        ("training.choose_by", "a", "c"),
        ("training.choose_by", "overall", "all"),
        ("training.lr_scheduler_type", "cosine", "step"),
        ("training.precision", "bf16", "fp16"),
        ("encoder.train_layers", 0, -1),
        ("encoder.train_layers", "all", "none"),
        ("phases", [{"epochs": 1, "tasks": ["a"]}], [{"epochs": 0}]),
        ("phases", [{"learning_rate": 1e-9}], [{"learning_rate": 0}]),
        ("phases", [{"train_layers": 0}], [{"train_layers": -1}]),
        ("phases", [], [{"tasks": []}]),
        ("phases", [{"tasks": ["a"]}], [{"tasks": ["a", "b"]}]),
    ],
)
def test_what_cannot_be_is_refused_and_what_is_just_possible_is_not(key: str, fine: Any, wrong: Any) -> None:
    document: dict[str, Any] = {"tasks": {"a": {"kind": "classification", "train": "a.csv"}}}
    section, _, name = key.partition(".")

    def with_value(value: Any) -> dict[str, Any]:
        return {**document, section: {name: value} if name else value}

    parse_experiment(with_value(fine))
    with pytest.raises(ConfigError, match=f"{section}|there is no task"):
        parse_experiment(with_value(wrong))


def test_the_parameters_that_learn_are_those_of_the_phase_that_trains_most(place: Place, measured: Recorder) -> None:
    network = load_network(place.folder / "measured")
    network.requires_grad_(False)
    every = sum(p.numel() for p in network.parameters())
    encoder = sum(p.numel() for p in network.encoder.parameters())
    assert count_trainable(network, ["all", 0], network.tasks) == every
    assert count_trainable(network, [0], network.tasks) == every - encoder
    assert not any(p.requires_grad for p in network.parameters())
