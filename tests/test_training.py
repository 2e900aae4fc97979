"""Training from a config to a folder: what each setting does, what is kept, and going on after a break."""

from __future__ import annotations

import errno
import json
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import weft
from weft.checkpoints import state as checkpointing
from weft.checkpoints.hf import read_encoder
from weft.checkpoints.safetensors import read_file
from weft.config.document import parse_experiment
from weft.data.unicode import normalise
from weft.errors import ConfigError, DataError, WeftError
from weft.model.folder import load_network
from weft.sampling import Sampler
from weft.spec import parse
from weft.tasks import Task
from weft.training.interrupt import Interrupted
from weft.training.progress import Callback
from weft.training.task_data import load_data

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]
Train = Callable[..., Path]


class Log(Callback):
    """Remembers the tasks of all steps and every evaluation; asks for a stop after `stop_after` steps."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.steps: list[str] = []
        self.entries: list[dict[str, Any]] = []
        self.stop_after = stop_after

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        self.steps.append(task)
        if len(self.steps) == self.stop_after:
            signal.raise_signal(signal.SIGINT)

    def evaluated(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)


def write_csv(path: Path, header: list[str], rows: list[tuple[Any, ...]]) -> str:
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path.name


def sentences(count: int, seed: int = 0) -> list[str]:
    """Different texts of 2 to 6 words."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(rng.choices(WORDS, k=rng.randint(2, 6)))] = None
    return list(found)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with fox.csv (is there a fox?), long.csv (how many words?) and pairs.csv (a score, and a label)."""
    texts = sentences(60)
    write_csv(tmp_path / "fox.csv", ["text", "label"], [(t, "yes" if "fox" in t else "no") for t in texts[:32]])
    write_csv(tmp_path / "fox-dev.csv", ["text", "label"], [(t, "yes" if "fox" in t else "no") for t in texts[32:]])
    write_csv(tmp_path / "long.csv", ["text", "label"], [(t, min(len(t.split()), 4)) for t in texts[:20]])
    pairs = [(a, b, len({*a.split()} & {*b.split()})) for a, b in zip(texts[:24], texts[24:48], strict=True)]
    rows = [(a, b, same, "some" if same else "none") for a, b, same in pairs]
    write_csv(tmp_path / "pairs.csv", ["sentence1", "sentence2", "score", "label"], rows)
    return tmp_path


FOX = {"kind": "classification", "train": "fox.csv", "dev": "fox-dev.csv"}
LONG = {"kind": "classification", "train": "long.csv", "dev": "long.csv"}
ALIKE = {"kind": "similarity", "train": "pairs.csv", "dev": "pairs.csv"}
SAME = {"kind": "pair_classification", "train": "pairs.csv", "dev": "pairs.csv", "encode": "cross"}


def config(folder: str, tasks: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """One plain phase, and one rate for all, unless something else is said."""
    given = sections.pop("training", {})
    rate = given.get("learning_rate", 1e-3)
    rates = {"learning_rate": rate, "head_learning_rate": rate}
    training = {"epochs": 1, "batch_size": 8, **rates, "baselines": False, "choose_from": 1, **given}
    encoder = {"from": folder, **sections.pop("encoder", {})}
    return {"encoder": encoder, "tasks": tasks, "training": training, "phases": [{}], **sections}


@pytest.fixture
def run(files: Path, small_encoder: str) -> Train:
    """Train on the files of the folder and return the model's folder."""

    def call(
        tasks: dict[str, Any],
        name: str = "model",
        callback: Callback | None = None,
        resume: bool = False,
        **sections: Any,
    ) -> Path:
        document = config(small_encoder, tasks, **sections)
        output = files / name
        weft.train(document, output, data=files, device="cpu", callback=callback or Callback(), resume=resume)
        return output

    return call


def weights(folder: Path) -> dict[str, Tensor]:
    return read_file(folder / "model.safetensors")


def same(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def changed(folder: Path, encoder: str) -> set[str]:
    """The parts of the encoder that have learned."""
    before = read_encoder(Path(encoder))[0].state_dict()
    after = {name.removeprefix("encoder."): t for name, t in weights(folder).items() if name.startswith("encoder.")}
    return {".".join(name.split(".")[:2]) for name, tensor in after.items() if not torch.equal(tensor, before[name])}


# What the settings do


@pytest.mark.parametrize(
    ("layers", "learned"),
    [
        (0, set()),
        (1, {"blocks.1"}),
        (2, {"blocks.0", "blocks.1"}),
        ("blocks", {"blocks.0", "blocks.1"}),
        ("all", {"blocks.0", "blocks.1", "embeddings.words", "embeddings.norm"}),
    ],
)
def test_only_the_top_layers_learn(run: Train, small_encoder: str, layers: Any, learned: set[str]) -> None:
    folder = run({"fox": FOX}, encoder={"train_layers": layers})
    found = changed(folder, small_encoder)
    assert learned <= found
    assert {part for part in found if part.startswith("blocks")} == {p for p in learned if p.startswith("blocks")}
    if layers != "all":
        assert found == learned


def test_phases_have_their_own_tasks_epochs_sampler_learning_rate_and_layers(run: Train, small_encoder: str) -> None:
    log = Log()
    phases = [
        {"tasks": ["fox"], "epochs": 2, "head_learning_rate": 1e-2, "train_layers": 0},
        {"tasks": ["fox", "long"], "sampling": "proportional", "learning_rate": 1e-4, "train_layers": 1},
    ]
    folder = run({"fox": FOX, "long": LONG}, callback=log, phases=phases, training={"lr_scheduler_type": "constant"})
    assert log.steps[:8] == ["fox"] * 8
    assert sorted(log.steps[8:]) == ["fox"] * 4 + ["long"] * 3
    assert [(e["phase"], e["epoch"], e["learning_rate"]) for e in log.entries] == [
        (0, 1, 1e-2),
        (0, 2, 1e-2),
        (1, 1, 1e-4),
    ]
    assert changed(folder, small_encoder) <= {"blocks.1"}


@pytest.mark.parametrize("kind", Sampler.kinds())
def test_every_sampler_trains_every_task(run: Train, kind: str) -> None:
    log = Log()
    run({"fox": FOX, "long": LONG}, callback=log, sampling=kind, training={"epochs": 2})
    assert set(log.steps) == {"fox", "long"}
    if kind == "round_robin":
        assert log.steps == ["fox", "long"] * 8


def test_accumulating_makes_one_step_of_several_batches(run: Train) -> None:
    """The first step of AdamW moves no weight by more than the learning rate, whatever the gradient."""
    rate, head = 1e-3, "heads.<fox>.1.weight"
    settings = {"lr_scheduler_type": "constant", "warmup_ratio": 0.0, "weight_decay": 0.0}
    start = weights(run({"fox": FOX}, "start", training={**settings, "learning_rate": 1e-12}))[head]
    one = weights(
        run({"fox": FOX}, "one", training={**settings, "learning_rate": rate, "gradient_accumulation_steps": 4})
    )[head]
    four = weights(run({"fox": FOX}, "four", training={**settings, "learning_rate": rate}))[head]
    assert (one - start).abs().max() == pytest.approx(rate, rel=1e-2)
    assert (four - start).abs().max() > 2 * rate


def test_pcgrad_differs_from_plain_training_and_leaves_the_heads_of_absent_tasks_alone(run: Train) -> None:
    tasks = {"fox": FOX, "long": LONG, "same": SAME}
    plain = weights(run(tasks, "plain", training={"gradient_accumulation_steps": 3}))
    projected = weights(run(tasks, "projected", training={"conflict": "pcgrad"}))
    assert not same(plain, projected)
    phases = [{"tasks": ["fox", "long"]}]
    fresh = load_network(run(tasks, "tiny", phases=phases, training={"conflict": "pcgrad", "learning_rate": 1e-9}))
    moved = load_network(run(tasks, "moved", phases=phases, training={"conflict": "pcgrad", "learning_rate": 1e-2}))
    absent, present = "heads.<same>.1.weight", "heads.<fox>.1.weight"
    assert torch.equal(fresh.state_dict()[absent], moved.state_dict()[absent])
    assert not torch.equal(fresh.state_dict()[present], moved.state_dict()[present])


def test_pcgrad_projects_only_what_tasks_share(run: Train, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.training import phase

    sizes: list[int] = []
    real = phase.project_conflicts

    def spy(gradients: Any, generator: Any) -> Tensor:
        sizes.append(len(gradients[0]))
        return real(gradients, generator)

    monkeypatch.setattr(phase, "project_conflicts", spy)
    settings = {"conflict": "pcgrad", "batch_size": 32, "loss_weights": "uncertainty"}
    network = load_network(run({"fox": FOX, "long": LONG}, training=settings))
    encoder = sum(parameter.numel() for parameter in network.encoder.parameters())
    assert sizes == [encoder]
    run(flipping(files), "shared", training=settings)
    assert sizes[1:] == [encoder + 2 * 32 + 2]


def test_to_pcgrad_the_head_of_masked_words_belongs_to_the_tasks_that_mask(
    run: Train, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.training import phase

    sizes: list[int] = []
    real = phase.project_conflicts

    def spy(gradients: Any, generator: Any) -> Tensor:
        sizes.append(len(gradients[0]))
        return real(gradients, generator)

    monkeypatch.setattr(phase, "project_conflicts", spy)
    (files / "raw.txt").write_text("the quick brown fox jumps over the lazy dog\n\n" * 20)
    masked = {"kind": "masked_words", "train": "raw.txt", "dev": 0.2}
    settings = {"conflict": "pcgrad", "batch_size": 64}
    network = load_network(run({"fox": FOX, "words": masked}, training=settings))
    encoder = sum(parameter.numel() for parameter in network.encoder.parameters())
    assert set(sizes) == {encoder}
    sizes.clear()
    network = load_network(
        run({"words": masked, "spans": {**masked, "kind": "span_boundary"}}, "two", training=settings)
    )
    assert set(sizes) == {encoder + sum(parameter.numel() for parameter in network.heads.parameters())}


def test_uncertainty_weights_are_learned(run: Train) -> None:
    log = Log()
    settings = {"loss_weights": "uncertainty", "epochs": 2, "learning_rate": 1e-2}
    run({"fox": {**FOX, "weight": 2.0}, "long": LONG}, callback=log, training=settings)
    assert log.entries[-1]["weights"]["fox"] != 2.0
    assert log.entries[-1]["weights"]["long"] != log.entries[0]["weights"]["long"]


def test_a_run_stops_when_it_no_longer_gets_better(run: Train) -> None:
    log = Log()
    settings = {"epochs": 9, "early_stopping_patience": 2, "learning_rate": 1e-12}
    folder = run({"fox": FOX}, callback=log, training=settings)
    assert len(log.entries) == 3
    assert json.loads((folder / "report.json").read_text())["stopped"] == "early"


def test_dev_rows_limits_only_what_is_looked_at_after_each_epoch(
    run: Train, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.training import dev_rows as dev

    seen: list[int] = []
    real = dev.evaluate

    def spy(network: Any, rows: Any, intervals: bool = True, **_: Any) -> Any:
        seen.append(len(rows["fox"]))
        return real(network, rows, intervals=intervals)

    monkeypatch.setattr(dev, "evaluate", spy)
    folder = run({"fox": FOX}, training={"max_dev_rows": 5})
    assert seen == [5]
    assert json.loads((folder / "report.json").read_text())["tasks"]["fox"]["result"]["rows"] == 28


def flipping(files: Path) -> dict[str, Any]:
    """Two tasks on the same texts with opposite answers: what makes one better makes the other worse."""
    texts = sentences(24, seed=5)
    write_csv(files / "a.csv", ["text", "label"], [(t, "yes" if "fox" in t else "no") for t in texts])
    write_csv(files / "b.csv", ["text", "label"], [(t, "no" if "fox" in t else "yes") for t in texts])
    head = {"kind": "linear", "dropout": 0.0, "share": "one"}
    return {
        name: {"kind": "classification", "train": f"{name}.csv", "dev": f"{name}.csv", "head": head} for name in "ab"
    }


def test_the_best_weights_are_kept_not_the_last_and_those_of_each_task_beside_them(run: Train, files: Path) -> None:
    phases = [{"tasks": ["a"], "epochs": 6}, {"tasks": ["b"], "epochs": 6}]
    settings = {"choose_by": "a", "learning_rate": 5e-3}
    folder = run(flipping(files), phases=phases, training=settings)
    entries = history(folder)
    values = [entry["dev"]["a"] for entry in entries]
    best = max(range(len(values)), key=values.__getitem__)
    assert best < 6
    assert values[-1] < values[best]
    report = json.loads((folder / "report.json").read_text())
    assert report["best"]["overall"]["step"] == entries[best]["step"]
    assert report["best"]["b"]["step"] == max(entries, key=lambda entry: entry["dev"]["b"])["step"]
    assert not (folder / "best" / "a").exists()
    assert report["best"]["a"]["folder"] == "."
    assert report["best"]["b"]["folder"] == "best/b"
    text = sentences(1)
    assert weft.load(folder).predict(text, "b") != weft.load(folder / "best" / "b").predict(text, "b")


def test_best_per_task_may_be_left_out(run: Train, files: Path) -> None:
    phases = [{"tasks": ["a"], "epochs": 2}, {"tasks": ["b"], "epochs": 2}]
    settings = {"keep_best_per_task": False, "choose_by": "a", "learning_rate": 5e-3}
    folder = run(flipping(files), phases=phases, training=settings)
    assert not (folder / "best").exists()
    assert not list(folder.glob("state*"))


def test_tasks_that_share_a_head_train_one_module(run: Train, files: Path) -> None:
    folder = run(flipping(files))
    network = load_network(folder)
    assert list(network.heads) == ["<one>"]
    phases = [{"tasks": ["b"]}]
    other = load_network(run(flipping(files), "only-b", phases=phases))
    assert not torch.equal(network.heads["<one>"][1].weight, other.heads["<one>"][1].weight)


def test_heads_that_do_not_agree_cannot_be_shared(run: Train, files: Path) -> None:
    head = {"kind": "linear", "share": "one"}
    with pytest.raises(ConfigError, match="this one has 3 outputs and that one 2") as caught:
        run({"fox": {**FOX, "head": head}, "long": {**LONG, "head": head}})
    assert "3 outputs" in str(caught.value)
    assert not list(files.glob("model*"))


def test_a_loss_that_is_no_number_ends_the_run_with_one_message(run: Train) -> None:
    with pytest.raises(WeftError, match="diverged"):
        run({"fox": FOX}, training={"learning_rate": 1e30, "epochs": 4, "max_grad_norm": 0, "warmup_ratio": 0})


# Data


def splits_of(files: Path, **options: Any) -> Any:
    return load_data({"t": parse(Task, {"kind": "classification", **options})}, files, 13)["t"]


def test_fraction_and_limit_keep_every_label(files: Path) -> None:
    whole = splits_of(files, train="fox.csv", dev="fox-dev.csv")
    half = splits_of(files, train="fox.csv", dev="fox-dev.csv", fraction=0.5)
    few = splits_of(files, train="fox.csv", dev="fox-dev.csv", fraction=0.5, limit=4)
    assert (len(whole.train), len(half.train), len(few.train)) == (32, 16, 4)
    assert {one.gold for one in few.train} == {"yes", "no"}
    assert len(few.dev) == len(whole.dev) == 28


def test_a_share_set_aside_keeps_duplicates_on_one_side(tmp_path: Path) -> None:
    texts = [text for text in sentences(30) for _ in range(2)]
    shouted = [text.upper() + "!" if i % 2 else text for i, text in enumerate(texts)]
    write_csv(tmp_path / "a.csv", ["text", "label"], [(t, "ab"[i // 2 % 2]) for i, t in enumerate(shouted)])
    splits = splits_of(tmp_path, train="a.csv", dev=0.4)
    train, dev = ({normalise(one.texts[0]) for one in part} for part in (splits.train, splits.dev))
    assert len(splits.dev) == 24
    assert not train & dev


def test_too_few_rows_to_set_any_aside_are_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", ["text", "label"], [("one", "a"), ("two", "b"), ("three", "a")])
    with pytest.raises(DataError, match=r"tasks\.t\.dev: .* name a dev file"):
        splits_of(tmp_path, train="a.csv", dev=0.1)


def test_two_tasks_read_one_file_each_passing_over_its_blanks(run: Train, files: Path) -> None:
    rows = [(text, "ab"[i % 2] if i % 3 else "", "xy"[i % 2] if i % 2 == i % 4 // 2 else "")
            for i, text in enumerate(sentences(36))]  # fmt: skip
    write_csv(files / "both.csv", ["text", "one", "two"], rows)
    both = {"kind": "classification", "train": "both.csv", "dev": "both.csv"}
    folder = run({"one": {**both, "label": "one"}, "two": {**both, "label": "two"}})
    report = json.loads((folder / "report.json").read_text())["tasks"]
    assert report["one"]["rows"]["train"] == sum(bool(row[1]) for row in rows)
    assert report["two"]["rows"]["train"] == sum(bool(row[2]) for row in rows)


# The output folder


def test_an_output_that_exists_is_never_touched(run: Train, files: Path) -> None:
    (files / "model").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        run({"fox": FOX})
    with pytest.raises(ConfigError, match="exists already"):
        run({"fox": FOX}, name=".")
    assert not list((files / "model").iterdir())
    assert not (files / "model.running").exists()


def test_faults_before_the_first_step_leave_no_folder(run: Train, files: Path) -> None:
    before = sorted(files.iterdir())
    for task in (
        {**FOX, "train": "none.csv"},
        {**FOX, "loss": "mse"},
        {**FOX, "loss": {"kind": "cross_entropy", "class_weights": [1.0]}},
        {**SAME, "max_length": 3},
    ):
        with pytest.raises(WeftError):
            run({"fox": task})
    with pytest.raises(WeftError):
        run({"fox": FOX}, encoder={"from": str(files / "no-encoder")})
    assert sorted(files.iterdir()) == before


def test_an_unfinished_run_is_resumed_only_when_asked_and_with_its_own_config(run: Train, files: Path) -> None:
    with pytest.raises(ConfigError, match="no unfinished run"):
        run({"fox": FOX}, resume=True)
    with pytest.raises(Interrupted, match="resume=True"):
        run({"fox": FOX}, callback=Log(stop_after=2))
    assert (files / "model.running").is_dir()
    assert not (files / "model").exists()
    with pytest.raises(ConfigError, match="holds an unfinished run"):
        run({"fox": FOX})
    with pytest.raises(ConfigError, match="another config: training.epochs was 1 and is 2 now"):
        run({"fox": FOX}, resume=True, training={"epochs": 2})
    assert run({"fox": FOX}, resume=True).is_dir()
    assert not (files / "model.running").exists()


@pytest.mark.parametrize(
    ("stop_after", "settings"),
    [
        pytest.param(3, {}, id="in the middle of an epoch"),
        pytest.param(8, {}, id="at the end of an epoch", marks=pytest.mark.slow),
        pytest.param(18, {}, id="in the second phase", marks=pytest.mark.slow),
        pytest.param(16, {}, id="between two phases"),
        pytest.param(3, {"gradient_accumulation_steps": 3}, id="accumulating", marks=pytest.mark.slow),
        pytest.param(11, {"conflict": "pcgrad", "loss_weights": "uncertainty"}, id="pcgrad and learned weights"),
        pytest.param(31, {"batch_tokens": 24, "batch_size": 99}, id="batches by tokens"),
    ],
)
def test_a_resumed_run_ends_with_the_same_bits(
    run: Train, files: Path, stop_after: int, settings: dict[str, Any]
) -> None:
    document: dict[str, Any] = {
        "training": {"epochs": 2, **settings},
        "phases": [{}, {"tasks": ["fox"], "learning_rate": 1e-3, "train_layers": 1}],
        "sampling": "proportional" if "batch_tokens" in settings else "round_robin",
    }
    tasks = {"fox": FOX, "long": LONG}
    through = run(tasks, "through", **document)
    with pytest.raises(Interrupted):
        run(tasks, "broken", callback=Log(stop_after), **document)
    broken = run(tasks, "broken", resume=True, **document)
    assert history(broken) == history(through)
    assert same(weights(broken), weights(through))
    curves = [json.loads((folder / "report.json").read_text())["loss_history"] for folder in (broken, through)]
    assert curves[0] == curves[1]


def test_a_run_that_had_stopped_early_does_not_go_on_when_resumed(
    run: Train, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.training.run import Run

    settings = {"epochs": 6, "early_stopping_patience": 1, "learning_rate": 1e-12}

    def fail(*_: Any) -> None:
        raise WeftError("the lights went out")

    with monkeypatch.context() as patch:
        patch.setattr(Run, "finish", fail)
        with pytest.raises(WeftError, match="lights"):
            run({"fox": FOX}, training=settings)
    assert len(history(run({"fox": FOX}, resume=True, training=settings))) == 2


def test_a_full_disk_is_one_message_and_the_last_state_stays(
    run: Train, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"epochs": 3}
    through = run({"fox": FOX}, "through", training=settings)
    real, saved = checkpointing.write_tensors, []

    def write(tensors: dict[str, Tensor], path: Path) -> None:
        saved.append(path)
        if len(saved) == 2:
            raise WeftError(f"cannot write {path}: No space left on device")
        real(tensors, path)

    with monkeypatch.context() as patch:
        patch.setattr(checkpointing, "write_tensors", write)
        with pytest.raises(WeftError, match="No space left"):
            run({"fox": FOX}, training=settings)
    assert (files / "model.running" / saved[0].name).exists()
    assert same(weights(run({"fox": FOX}, resume=True, training=settings)), weights(through))


@pytest.mark.parametrize("where", ["save_file", "write_text"])
def test_every_write_that_fails_is_a_weft_error(
    run: Train, files: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    from safetensors import SafetensorError

    def full(*_: Any, **__: Any) -> None:
        if where == "save_file":
            raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
        raise OSError(errno.ENOSPC, "No space left on device")

    callback = Log()
    callback.evaluated = lambda entry: monkeypatch.setattr(  # type: ignore[method-assign]
        *(("weft.checkpoints.safetensors.save_file", full) if where == "save_file" else (Path, "write_text", full))  # type: ignore[arg-type]
    )
    with pytest.raises(WeftError, match="cannot write .*No space left") as caught:
        run({"fox": FOX}, callback=callback)
    assert len(str(caught.value).splitlines()) == 1
    assert not (files / "model").exists()
    assert not list(files.rglob(".*"))


# The models of minBERT, each in a config of its own

MODELS: dict[str, dict[str, Any]] = {
    "A frozen": {"encoder": {"train_layers": 0}, "training": {"learning_rate": 1e-3}},
    "B whole": {"training": {"learning_rate": 1e-5}},
    "C cosine": {"tasks": {"alike": {**ALIKE, "output": "cosine"}}, "training": {"learning_rate": 1e-5}},
    "D siamese": {
        "tasks": {
            "alike": {**ALIKE, "features": ["u", "v", "difference"]},
            "same": {**SAME, "encode": "siamese", "features": ["u", "v", "difference", "product"]},
        }
    },
    "E mlp": {"tasks": {"fox": {**FOX, "head": {"kind": "mlp", "sizes": [16, 8], "activation": "gelu"}}}},
    "F phases": {
        "sampling": "round_robin",
        "phases": [{}, {"tasks": ["fox"]}, {"tasks": ["same"]}, {"tasks": ["alike"], "learning_rate": 1e-5}],
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_the_models_of_minbert_can_be_written_down_and_trained(run: Train, small_encoder: str, name: str) -> None:
    document = {"tasks": {"fox": FOX, "same": SAME, "alike": ALIKE}, **MODELS[name]}
    document["training"] = {"batch_size": 32, **document.get("training", {})}
    experiment = parse_experiment(config(small_encoder, **document))
    assert parse_experiment(experiment.to_dict()) == experiment
    log = Log()
    folder = run(callback=log, **document)
    assert set(log.steps) == set(document["tasks"])
    assert set(json.loads((folder / "metrics.json").read_text())) == set(document["tasks"])


def test_tasks_that_share_a_file_set_the_same_rows_aside(tmp_path: Path) -> None:
    rows = [f"text {i},{'ab'[i % 2]},{'' if i % 5 == 0 else 'xyz'[i % 3]}" for i in range(120)]
    (tmp_path / "both.csv").write_text("\n".join(["text,one,two", *rows]) + "\n")
    tasks = {
        name: parse(Task, {"kind": "classification", "train": "both.csv", "dev": 0.2, "label": name})
        for name in ("one", "two")
    }
    found = load_data(tasks, tmp_path, 13)
    dev = {line for splits in found.values() for line in (row.line for row in splits.dev)}
    train = {line for splits in found.values() for line in (row.line for row in splits.train)}
    assert not dev & train
    assert all(15 <= len(splits.dev) <= 30 for splits in found.values())


def test_a_column_of_texts_is_refused_as_labels_without_showing_them(tmp_path: Path) -> None:
    rows = [f"text {i},{'secret words ' * 10}{i}" for i in range(20)]
    (tmp_path / "odd.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    with pytest.raises(DataError, match="seems to hold texts") as caught:
        load_data({"t": parse(Task, {"kind": "classification", "train": "odd.csv", "dev": "odd.csv"})}, tmp_path, 13)
    assert "secret" not in str(caught.value)
