"""What reaches the optimizer in a run: every update with its batches, weights, gradients and learning rates."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

import weft
from weft.checkpoints.hf import write_encoder
from weft.checkpoints.safetensors import read_file
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.metrics import bootstrap
from weft.model.network import Network
from weft.tensors import Batch
from weft.tokenization.tokenizer import Tokenizer
from weft.training.progress import Callback

HEAD = {"kind": "linear", "dropout": 0.0}
TEXTS = [
    *("the fox", "lazy dog jumps", "quick brown fox jumps", "the dog", "over the lazy dog", "brown dog"),
    *("the quick fox", "fox jumps over the dog", "naïve café", "don't 1234", "lazy café jumps", "quick 1234"),
]


@dataclass
class Update:
    """One step of the optimizer."""

    batches: list[Batch]
    before: dict[str, Tensor]
    gradients: dict[str, Tensor]  # only of the parameters that have one
    rates: dict[str, float]
    decays: dict[str, float]
    learned_before: int  # parameters with moments
    modes: list[bool]  # whether every module was in training mode, for each batch
    after: dict[str, Tensor] = field(default_factory=dict)
    optimizer: int = 0

    @property
    def tasks(self) -> list[str]:
        return [batch.task for batch in self.batches]


class LearnedError(Exception):
    """All phases are over; what would follow takes longer than they did."""


class Recorder(Callback):
    """Sees every update, step and evaluation of a run, and may break it off."""

    def __init__(self, at_step: Callable[[int], None] | None = None) -> None:
        self.updates: list[Update] = []
        self.network: Network
        self.others: list[tuple[Batch, bool]] = []  # batches seen after the last update, and whether in training mode
        self.passes: list[tuple[Batch, bool]] = []
        self.shared: list[list[str]] = []  # the tasks of every pass of the encoder
        self.began: list[tuple[int, int]] = []
        self.steps: list[tuple[str, str, float, int]] = []
        self.entries: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.ended = 0
        self.left_gradients: list[int] = []  # parameters that have one while an evaluation is told
        self.at_step = at_step
        self.only_learn = False

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def begin(self, steps: int, done: int) -> None:
        self.began.append((steps, done))

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        self.steps.append((epoch, task, loss, rows))
        if self.at_step is not None:
            self.at_step(len(self.steps))

    def evaluated(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)
        self.others += self.passes
        self.passes.clear()
        if hasattr(self, "network"):  # which is seen at the first pass; a resumed run may have none before
            self.left_gradients.append(sum(parameter.grad is not None for parameter in self.network.parameters()))

    def end(self) -> None:
        self.ended += 1
        if self.only_learn and sys.exc_info()[0] is None:
            raise LearnedError

    @property
    def tasks(self) -> list[str]:
        """The task of every batch."""
        return [task for _, task, _, _ in self.steps]

    def course(self, parameter: str) -> list[float]:
        """The learning rates of a parameter, update by update."""
        return [update.rates[parameter] for update in self.updates]

    @contextmanager
    def recording(self) -> Iterator[None]:
        real = Network.forward

        def forward(network: Network, batch: Batch | Mapping[str, Batch], features: bool = False) -> Any:
            self.network = network
            batches = [batch] if isinstance(batch, Batch) else list(batch.values())
            self.shared.append([one.task for one in batches])
            self.passes += [(one, all(module.training for module in network.modules())) for one in batches]
            return real(network, batch, features)

        hooks = [register_optimizer_step_pre_hook(self._before), register_optimizer_step_post_hook(self._after)]
        draw = bootstrap._resamples
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Network, "forward", forward)
            # Intervals, which are tested elsewhere, would take half of the time.
            patch.setattr(bootstrap, "_resamples", lambda size, seed, _: draw(size, seed, 20))
            try:
                yield
            finally:
                for hook in hooks:
                    hook.remove()

    def _named(self, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
        """What the optimizer moves, by name; what is outside of the network by the order it comes in."""
        names = {id(parameter): name for name, parameter in self.network.named_parameters()}
        held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        outside = [parameter for parameter in held if id(parameter) not in names]
        names |= {id(parameter): f"outside.{number}" for number, parameter in enumerate(outside)}
        return {names[id(parameter)]: parameter for parameter in held}

    def _before(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if isinstance(optimizer, torch.optim.LBFGS):  # heads are fitted: what was read for it is no step's
            self.others += self.passes
            self.passes.clear()
            return
        named = self._named(optimizer)
        options = {id(p): group for group in optimizer.param_groups for p in group["params"]}
        before = {**dict(self.network.named_parameters()), **named}
        self.updates.append(
            Update(
                batches=[batch for batch, _ in self.passes],
                before={name: p.detach().clone() for name, p in before.items()},
                gradients={name: p.grad.detach().clone() for name, p in named.items() if p.grad is not None},
                rates={name: options[id(p)]["lr"] for name, p in named.items()},
                decays={name: options[id(p)]["weight_decay"] for name, p in named.items()},
                learned_before=len(optimizer.state),
                modes=[mode for _, mode in self.passes],
                optimizer=id(optimizer),
            )
        )
        self.passes.clear()

    def _after(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if isinstance(optimizer, torch.optim.LBFGS):
            return
        named = {**dict(self.network.named_parameters()), **self._named(optimizer)}
        self.updates[-1].after = {name: parameter.detach().clone() for name, parameter in named.items()}


def at_weights(recorder: Recorder, weights: dict[str, Tensor]) -> Network:
    """A copy of the network, in evaluation mode, with other weights."""
    network = deepcopy(recorder.network)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weights[name])
            parameter.grad = None
    return network.requires_grad_(True).eval()


def gradients_of(network: Network, loss: Tensor) -> dict[str, Tensor]:
    """What plain autograd says, for the parameters that the loss reaches."""
    named = dict(network.named_parameters())
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    return {name: one for name, one in zip(named, found, strict=True) if one is not None}


def interrupt_after(step: int) -> Callable[[int], None]:
    """Ctrl-C in this step."""

    def at_step(done: int) -> None:
        if done == step:
            signal.raise_signal(signal.SIGINT)

    return at_step


@dataclass(frozen=True)
class Place:
    """A folder with files of rows, and the encoder to begin from."""

    folder: Path
    encoder: str

    def rows(self, name: str, rows: Sequence[tuple[str, str]]) -> str:
        """Write texts and labels into a file."""
        lines = (json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
        (self.folder / name).write_text("".join(lines), encoding="utf-8")
        return name

    def task(self, name: str, count: int = 8, given: str = "ab", **options: Any) -> dict[str, Any]:
        """A task whose rows are the first texts with the labels in turn; its dev rows are the same.

        Tasks `b`, `c` … begin with the second text, the third …, so that they do not learn from the same rows together.
        """
        begin = (ord(name) - ord("a")) % count if len(name) == 1 else 0
        texts = [*TEXTS[begin:count], *TEXTS[:begin]]
        file = self.rows(f"{name}.jsonl", [(text, given[i % len(given)]) for i, text in enumerate(texts)])
        return {"kind": "classification", "train": file, "dev": file, "head": HEAD, **options}

    def document(self, tasks: dict[str, Any], training: dict[str, Any], **sections: Any) -> dict[str, Any]:
        encoder = {"from": self.encoder, **sections.pop("encoder", {})}
        rate = training.get("learning_rate") or 1e-3
        rates = {"learning_rate": rate, "head_learning_rate": rate}
        settings = {"epochs": 1, **rates, "baselines": False, "batch_size": 2, "choose_from": 1, **training}
        settings = {key: value for key, value in settings.items() if value is not None}
        return {"encoder": encoder, "tasks": tasks, "training": settings, "phases": [{}], **sections}

    def train(
        self,
        tasks: dict[str, Any],
        output: str,
        callback: Callback | None = None,
        resume: bool = False,
        seed: int | None = None,
        **sections: Any,
    ) -> Recorder:
        """Run it into a folder of this name, watched."""
        recorder = callback if isinstance(callback, Recorder) else Recorder()
        document = self.document(tasks, sections.pop("training", {}), **sections)
        with recorder.recording():
            weft.train(
                document,
                self.folder / output,
                data=self.folder,
                device="cpu",
                callback=callback or recorder,
                resume=resume,
                seed=seed,
            )
        return recorder

    def learn(self, tasks: dict[str, Any], output: str, **options: Any) -> Recorder:
        """As `train`, but without measuring and writing the model."""
        recorder = options.pop("callback", None) or Recorder()
        recorder.only_learn = True
        with pytest.raises(LearnedError):
            self.train(tasks, output, callback=recorder, **options)
        return recorder

    def report(self, output: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / output / "report.json").read_text(encoding="utf-8"))
        return found

    def weights(self, output: str) -> dict[str, Tensor]:
        return read_file(self.folder / output / "model.safetensors")


def make_place(folder: Path, tokenizer: Tokenizer, dropout: float) -> Place:
    """A random BERT of two layers, and room for files beside it."""
    torch.manual_seed(0)
    config = EncoderConfig(
        vocab_size=tokenizer.size,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=24,
        initializer_range=0.3,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    write_encoder(Encoder(config), folder / "encoder")
    tokenizer.save(folder / "encoder")
    return Place(folder, str(folder / "encoder"))
