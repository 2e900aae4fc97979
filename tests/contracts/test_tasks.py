"""What every task kind promises; kinds and their variants come from the registry, so a new one is covered or fails."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch

import weft
from checking import read_measured
from weft.checkpoints.safetensors import digest, read_file
from weft.data.records import Example, Input
from weft.metrics.outcomes.file import read_outcomes, write_outcomes
from weft.model.embed import load_encoder
from weft.model.evaluate import evaluate
from weft.model.folder import load_network, save_network
from weft.model.network import Network
from weft.model.predict import score
from weft.spec import parse
from weft.tasks import Task
from weft.tasks.base.files import TaskFiles
from weft.tensors import Batch, Scores
from weft.training.progress import Callback
from weft.training.reading import read_examples

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]

# The chance level of the metric a kind is chosen by, and how far from it noise of 200 dev rows may lie.
CHANCE = {"accuracy": 0.5, "f1_macro": 0.5, "f1_micro": 0.55, "pearson": 0.0, "f1": 0.5}
NOISE = 0.2
PATIENCE = 30  # times 20 steps; eleven seeds took 1 to 9 times


def variants() -> list[dict[str, Any]]:
    """Every kind that reads rows as they are written, with the options that it says matter."""
    kinds = [(kind, cls) for kind, cls in Task.kinds().items() if parse(Task, {"kind": kind}).format is None]
    return [{"kind": kind, **options} for kind, cls in kinds for options in cls.variants()]


def name_of(options: dict[str, Any]) -> str:
    return " ".join(str(key if value is True else value) for key, value in options.items())


@dataclass(frozen=True)
class Case:
    """A task with 32 rows that answer it."""

    options: dict[str, Any]
    encoder: str

    @property
    def task(self) -> Task:
        return parse(Task, self.options)

    def examples(self, rows: int = 32, seed: int = 0) -> list[Example]:
        """Texts of different lengths at random, and answers in turn."""
        rng = random.Random(seed)
        drawn = (rng.choices(WORDS, k=rng.randint(2, 6)) for _ in range(10_000))
        distinct = list(dict.fromkeys(map(tuple, drawn)))  # the same text with two answers could not be learned
        inputs = self.task.example_inputs(distinct[: rows * self.task.text_count])
        golds = self.task.target().example_golds(inputs)
        return [
            Example(input.texts, gold, number, words=input.words, spans=input.spans)
            for number, (input, gold) in enumerate(zip(inputs, golds, strict=True), 1)
        ]

    def network(self, seed: int = 0) -> Network:
        source = load_encoder(self.encoder)
        source.encoder.pooler = None
        torch.manual_seed(seed)
        target = self.task.target().fit(one.gold for one in self.examples())
        return Network(source.encoder, source.tokenizer, {"t": self.task}, {"t": target}).eval()

    def batch(self, network: Network) -> Batch:
        """All rows with their gold answers."""
        tokenized = network.encode("t", self.examples())
        gold = torch.cat(network.targets["t"].gold_tensors(self.examples(), tokenized))
        return replace(network.collate("t", tokenized), gold=gold)

    def write(self, path: Path, rows: list[Example]) -> str:
        path.write_text("".join(json.dumps(self.task.to_row(one)) + "\n" for one in rows), encoding="utf-8")
        return path.name

    def train(self, folder: Path, rows: list[Example], dev: list[Example], seed: int = 13, **training: Any) -> Path:
        """Train on rows and return the model's folder."""
        options = {"train": self.write(folder / "train.jsonl", rows), "dev": self.write(folder / "dev.jsonl", dev)}
        head = {} if "head" in self.task.idle_options() else {"head": {"kind": "linear", "dropout": 0.0}}
        output = folder / f"run-{len(list(folder.iterdir()))}"
        weft.train(
            {
                "encoder": {"from": self.encoder},
                "tasks": {"t": {**self.options, **options, **head}},
                "training": {"batch_size": 8, "baselines": False, **training},
            },
            output,
            data=folder,
            seed=seed,
            device="cpu",
            callback=Callback(),
        )
        return output


@pytest.fixture(params=variants(), ids=name_of)
def case(request: pytest.FixtureRequest, small_encoder: str) -> Case:
    return Case(request.param, small_encoder)


@pytest.fixture(
    params=[pytest.param(one, marks=pytest.mark.slow if len(one) > 1 else ()) for one in variants()], ids=name_of
)
def trained_case(request: pytest.FixtureRequest, small_encoder: str) -> Case:
    """A kind at its defaults, and with options only among the slow tests: for what takes whole trainings."""
    return Case(request.param, small_encoder)


def scores(network: Network, rows: Sequence[Input]) -> Scores:
    return score(network, {"t": network.encode("t", rows)})["t"]


def test_a_spec_builds_from_its_defaults_and_survives_toml(case: Case) -> None:
    task = case.task
    again = tomllib.loads(tomli_w.dumps(task.to_dict()))
    assert parse(Task, again) == task
    assert parse(Task, again).to_dict() == task.to_dict()
    assert task.target().default_metric in case.network().targets["t"].metrics


def test_gold_survives_a_file_and_blank_cells_are_no_answer(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    case.write(path, case.examples())
    assert read_examples(case.task, path) == read_measured(case.task, path) == case.examples()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    column = case.task.gold_column(rows[0])
    for blank in (None, " "):
        path.write_text("".join(json.dumps({**row, column: blank}) + "\n" for row in rows[1:]) + json.dumps(rows[0]))
        assert [one.gold for one in read_examples(case.task, path)] == [case.examples()[0].gold]
        assert read_measured(case.task, path) == read_examples(case.task, path)


def test_neither_padding_nor_order_nor_neighbours_matter(case: Case) -> None:
    network, rows = case.network(), case.examples()
    together = scores(network, rows)
    turned = scores(network, rows[::-1])
    backward = torch.cat(turned.values.split(turned.sizes)[::-1])
    alone = torch.cat([scores(network, [one]).values for one in rows])
    assert len(together.sizes) == len(rows)
    torch.testing.assert_close(backward, together.values, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(alone, together.values, atol=1e-5, rtol=1e-5)


def test_every_parameter_gets_a_gradient(case: Case) -> None:
    network = case.network()
    batch = case.batch(network)
    network.losses()["t"](network(batch), batch).backward()
    # A key's bias shifts all scores of a softmax alike, so its true gradient is zero, but it has one.
    assert not [name for name, parameter in network.named_parameters() if parameter.grad is None]
    silent = [n for n, p in network.named_parameters() if p.grad is not None and not p.grad.any()]
    assert not silent


def test_scores_that_differ_disagree_and_the_same_do_not(case: Case) -> None:
    network = case.network()
    batch, target = case.batch(network), network.targets["t"]
    first = network(batch)
    other = replace(first, values=first.values.detach() + torch.randn(first.values.shape) / 2)
    assert target.disagreement(first, first, batch).abs() < 1e-9
    apart = target.disagreement(first, other, batch)
    torch.testing.assert_close(apart, target.disagreement(other, first, batch))
    assert apart > 0
    apart.backward()
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in network.encoder.parameters())


def test_a_saved_network_predicts_the_same_bits_elsewhere_and_without_the_encoder_it_came_from(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, rows = case.network(), case.examples()
    scored = scores(network, rows)
    network.targets["t"] = network.targets["t"].calibrate(scored, rows, network.encode("t", rows), network.metric("t"))
    save_network(network, tmp_path / "here")
    stored = json.loads((tmp_path / "here" / "weft.json").read_text())["tasks"]["t"]
    assert not TaskFiles.model_fields.keys() & stored.keys()  # where rows came from is nobody's business
    shutil.copytree(tmp_path / "here", tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "here")
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    loaded = load_network(tmp_path / "elsewhere")
    assert loaded.tasks == network.tasks
    assert loaded.targets == network.targets
    assert torch.equal(scores(loaded, rows).values, scores(network, rows).values)
    given = [one.texts if len(one.texts) == 2 else one.texts[0] for one in rows]
    if any(case.task.lacks(Input(one.texts)) for one in rows):  # a bare text has no spans to ask about
        return
    assert weft.load(tmp_path / "elsewhere").predict(given, "t") == weft.Model(network).predict(given, "t")


def test_perfect_scores_are_decoded_to_the_gold(case: Case) -> None:
    network = case.network()
    target, golds = network.targets["t"], [one.gold for one in case.examples()]
    tokenized = network.encode("t", case.examples())
    answers = network.collate("t", tokenized).outputs_per_example
    steps = network.transitions["<t>"]() if "<t>" in network.transitions else None
    gold = torch.cat(target.gold_tensors(case.examples(), tokenized))
    perfect = Scores(target.perfect_scores(gold, case.task.target().default_loss), answers, steps)
    predictions = target.decode(target.compact(perfect, tokenized), tokenized)
    for prediction, expected in zip(predictions, golds, strict=True):
        same = case.task.target().key(prediction.gold) == case.task.target().key(expected)
        assert same or prediction.gold == pytest.approx(expected, abs=1e-6)  # a number is given as nearly as it can be
    assert target.measure(golds, predictions).scores[network.metric("t")] == pytest.approx(1.0)


def test_outcomes_give_the_scores_of_any_resample_of_the_rows_and_survive_a_file(case: Case, tmp_path: Path) -> None:
    network, rows = case.network(), case.examples()
    target = network.targets["t"]
    tokenized = network.encode("t", rows)
    answers = target.decode(scores(network, rows), tokenized)
    found = evaluate(network, {"t": rows})["t"].outcomes
    assert found is not None
    write_outcomes(tmp_path / "x.safetensors", {"t": found})
    outcomes = read_outcomes(tmp_path / "x.safetensors")["t"]
    assert outcomes.lines.tolist() == [one.line for one in rows]
    assert network.metric("t") in outcomes.metrics
    drawn = np.random.default_rng(0).integers(len(rows), size=(4, len(rows)))
    weights = np.stack([np.bincount(one, minlength=len(rows)) for one in drawn]).astype(np.float64)
    for place, one in enumerate(drawn):
        measures = target.measure([rows[row].gold for row in one], [answers[row] for row in one], intervals=False)
        assert measures.scores.keys() == set(outcomes.metrics)
        for metric, value in measures.scores.items():
            assert outcomes.measure(metric, weights)[place] == pytest.approx(value, abs=1e-9), metric


def test_it_learns_32_rows_by_heart(trained_case: Case) -> None:
    network, rows = trained_case.network(), trained_case.examples()  # without dropout, which would only make it slower
    batch = trained_case.batch(network)
    loss, optimizer = network.losses()["t"], torch.optim.Adam(network.parameters(), lr=5e-3)
    for _ in range(PATIENCE):
        for _ in range(20):
            optimizer.zero_grad()
            loss(network(batch), batch).backward()
            optimizer.step()
        if evaluate(network, {"t": rows}, intervals=False)["t"].value > 0.97:
            return
    pytest.fail(f"not learned by heart in {PATIENCE * 20} steps")


def test_nothing_is_learned_from_answers_at_random(trained_case: Case, tmp_path: Path) -> None:
    dev = trained_case.examples(200, seed=1)
    folder = trained_case.train(tmp_path, trained_case.examples(), dev, epochs=3, learning_rate=5e-3)
    result = evaluate(load_network(folder), {"t": dev}, intervals=False)["t"]
    assert result.value < CHANCE[result.metric] + NOISE
    assert result.value > CHANCE[result.metric] - NOISE or result.metric == "f1"  # nothing marked is no guess at all


def test_the_seed_decides_every_weight(trained_case: Case, tmp_path: Path) -> None:
    rows = trained_case.examples()

    def weights(seed: int) -> str:
        return digest(read_file(trained_case.train(tmp_path, rows, rows, seed=seed, epochs=1) / "model.safetensors"))

    first = weights(1)
    assert weights(1) == first
    assert weights(2) != first
