"""What every kind that learns from raw text promises; kinds come from the registry, so a new one is covered."""

from __future__ import annotations

import json
import random
import shutil
import signal
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
from weft.checkpoints.safetensors import digest, read_file
from weft.config.training import Batching
from weft.corpus.loading import CorpusLoader
from weft.corpus.rows import ResampledRows
from weft.data.records import Example, Input
from weft.metrics.outcomes.file import read_outcomes, write_outcomes
from weft.model.embed import load_encoder
from weft.model.evaluate import evaluate
from weft.model.folder import load_network, save_network
from weft.model.network import Network
from weft.model.predict import score
from weft.spec import parse
from weft.tasks import Task
from weft.tasks.base.corpus import MaskedTask
from weft.tensors import Batch, Scores
from weft.training.interrupt import Interrupted
from weft.training.progress import Callback
from weft.training.task_batches import TaskBatches

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]
TRAINING = {"epochs": 2, "batch_size": 4, "learning_rate": 1e-3, "baselines": False}


def document(number: int, sentences: int = 6) -> str:
    rng = random.Random(number)
    drawn = (" ".join(rng.choices(WORDS, k=rng.randint(2, 6))) for _ in range(sentences))
    return "".join(f"{sentence.capitalize()}.\n" for sentence in drawn)


def corpus(documents: range, sentences: int = 6) -> str:
    return "\n".join(document(number, sentences) for number in documents)


def variants() -> list[dict[str, Any]]:
    """Every kind that reads raw text, with the options that it says matter."""
    kinds = [(kind, cls) for kind, cls in Task.kinds().items() if parse(Task, {"kind": kind}).format is not None]
    return [{"kind": kind, **options} for kind, cls in kinds for options in cls.variants()]


def name_of(options: dict[str, Any]) -> str:
    return " ".join(str(key if value is True else value) for key, value in options.items())


class Stop(Callback):
    """Asks for a stop after so many steps."""

    def __init__(self, after: int) -> None:
        self.after, self.transitions = after, 0

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        self.transitions += 1
        if self.transitions == self.after:
            signal.raise_signal(signal.SIGINT)


@dataclass(frozen=True)
class Case:
    """A task with a corpus to learn from and another to choose by."""

    options: dict[str, Any]
    encoder: str
    folder: Path

    @property
    def task(self) -> Task:
        return parse(Task, {**self.options, "train": "train.txt", "dev": "dev.txt"})

    def network(self, seed: int = 0) -> Network:
        source = load_encoder(self.encoder)
        source.encoder.pooler = None
        torch.manual_seed(seed)
        return Network(source.encoder, source.tokenizer, {"t": self.task}, {"t": self.task.target().fit(())}).eval()

    def rows(self, network: Network, seed: int = 13) -> ResampledRows:
        reader = CorpusLoader(network.tokenizer, network.encoder.config.max_length, self.folder / "cache")
        return reader.rows(self.folder / "train.txt", self.task.format, seed)

    def batch(self, network: Network, rows: Sequence[Example]) -> Batch:
        tokenized = network.encode("t", rows)
        gold = torch.cat(network.targets["t"].gold_tensors(rows, tokenized))
        return replace(network.collate("t", tokenized), gold=gold)

    def train(
        self, name: str, callback: Callback | None = None, resume: bool = False, seed: int = 13, **training: Any
    ) -> Path:
        weft.train(
            {
                "encoder": {"from": self.encoder},
                "tasks": {"t": self.task.to_dict()},
                "training": {**TRAINING, **training},
            },
            self.folder / name,
            data=self.folder,
            seed=seed,
            device="cpu",
            callback=callback or Callback(),
            resume=resume,
        )
        return self.folder / name


@pytest.fixture(params=variants(), ids=name_of)
def case(request: pytest.FixtureRequest, small_encoder: str, tmp_path: Path) -> Case:
    (tmp_path / "train.txt").write_text(corpus(range(8)), encoding="utf-8")
    (tmp_path / "dev.txt").write_text(corpus(range(20, 25)), encoding="utf-8")
    return Case(request.param, small_encoder, tmp_path)


def scores(network: Network, rows: Sequence[Input]) -> Scores:
    return score(network, {"t": network.encode("t", rows)})["t"]


def test_predictions_have_one_shape_whether_the_answers_are_known_or_not(case: Case) -> None:
    network = case.network()
    texts = Input(("the quick [MASK]", "the lazy dog")[: case.task.text_count])
    tokenized = [network.encode("t", rows) for rows in (list(case.rows(network)), [texts])]
    answers = [network.targets["t"].decode(score(network, {"t": some})["t"], some) for some in tokenized]
    assert {type(answer) for some in answers for answer in some} == {type(answers[0][0])}


def plain(row: Example) -> list[Any]:
    """A drawn row as it can be compared."""
    assert row.tokens is not None
    return [[part.tolist() for part in row.tokens.ids], row.tokens.seed, row.gold, row.line]


def shown_to_encoder(network: Network, rows: Sequence[Example]) -> list[list[int]]:
    return [list(tokenized_example.rows[0].ids) for tokenized_example in network.encode("t", rows)]


def weights(folder: Path) -> str:
    return digest(read_file(folder / "model.safetensors"))


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_spec_builds_from_its_defaults_and_survives_toml(case: Case) -> None:
    task = case.task
    again = tomllib.loads(tomli_w.dumps(task.to_dict()))
    assert parse(Task, again) == task
    assert parse(Task, again).to_dict() == task.to_dict()
    assert parse(Task, {"kind": case.options["kind"]}).target().default_metric in task.target().fit(()).metrics


def test_neither_padding_nor_order_nor_neighbours_matter(case: Case) -> None:
    network = case.network()
    rows = list(case.rows(network))
    together = scores(network, rows)
    turned = scores(network, rows[::-1])
    backward = torch.cat(turned.values.split(turned.sizes)[::-1])
    alone = torch.cat([scores(network, [one]).values for one in rows])
    assert len(together.sizes) == len(rows)
    torch.testing.assert_close(backward, together.values, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(alone, together.values, atol=1e-5, rtol=1e-5)


def test_every_parameter_gets_a_gradient_the_tied_embeddings_twice(case: Case) -> None:
    network = case.network()
    batch = case.batch(network, list(case.rows(network)))
    network.losses()["t"](network(batch), batch).backward()
    missing = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert not missing
    words = network.encoder.embeddings.words.weight
    assert words.grad is not None
    if isinstance(case.task, MaskedTask):  # as output layer, every token has a gradient, seen or not
        assert words.grad.any(1).all()
    names = [name for name, _ in network.named_parameters()]
    assert sum(tuple(p.shape) == tuple(words.shape) for p in network.parameters()) == 1, names


def test_a_saved_network_predicts_the_same_bits_elsewhere(case: Case, tmp_path: Path) -> None:
    network = case.network()
    rows = list(case.rows(network))
    save_network(network, tmp_path / "here")
    shutil.move(tmp_path / "here", tmp_path / "elsewhere")
    loaded = load_network(tmp_path / "elsewhere")
    assert loaded.tasks == network.tasks
    assert loaded.targets == network.targets
    assert torch.equal(scores(loaded, rows).values, scores(network, rows).values)
    text: Any = ("The fox.", "The dog.") if case.task.text_count == 2 else "The [MASK] jumps."
    assert weft.load(tmp_path / "elsewhere").predict([text], "t") == weft.Model(network).predict([text], "t")


def test_outcomes_give_the_scores_that_are_measured_and_survive_a_file(case: Case, tmp_path: Path) -> None:
    network = case.network()
    rows = list(case.rows(network))
    result = evaluate(network, {"t": rows})["t"]
    assert result.outcomes is not None
    write_outcomes(tmp_path / "x.safetensors", {"t": result.outcomes})
    outcomes = read_outcomes(tmp_path / "x.safetensors")["t"]
    assert outcomes.lines.tolist() == [one.line for one in rows]
    assert result.measures.scores.keys() == set(outcomes.metrics)
    for metric, value in result.measures.scores.items():
        assert outcomes.measure(metric) == pytest.approx([value])


def test_it_learns_a_small_corpus_by_heart(case: Case) -> None:
    network = case.network()
    rows = list(case.rows(network))
    batch, compute = case.batch(network, rows), network.losses()["t"]
    optimizer, values = torch.optim.Adam(network.parameters(), lr=5e-3), []
    for _ in range(100):
        optimizer.zero_grad()
        loss = compute(network(batch), batch)
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    assert values[-1] < values[0] / 5
    result = evaluate(network, {"t": rows}, intervals=False)["t"]
    assert result.measures.scores["accuracy"] > 0.9
    if isinstance(case.task, MaskedTask):
        perplexities = [value for name, value in result.measures.scores.items() if name.endswith("perplexity")]
        assert np.log(perplexities).sum() == pytest.approx(compute(network(batch), batch).item(), abs=1e-4)


def test_turns_are_drawn_anew_and_equal_ones_equal(case: Case) -> None:
    network = case.network()
    rows = case.rows(network)
    first, again, second = rows.epoch(0), case.rows(network).epoch(0), rows.epoch(1)
    assert [plain(one) for one in first] == [plain(one) for one in again]
    assert shown_to_encoder(network, first) == shown_to_encoder(network, again)
    assert shown_to_encoder(network, first) != shown_to_encoder(network, second)
    assert shown_to_encoder(network, first) != shown_to_encoder(network, case.rows(network, seed=14))
    alone = shown_to_encoder(network, [second[3]])
    assert alone == shown_to_encoder(network, second)[3:4]  # what else is in the batch does not matter
    assert len(shown_to_encoder(network, case.rows(network, seed=-5))) > 3


def test_rows_are_never_longer_than_promised_and_batches_count_their_special_tokens(case: Case) -> None:
    network = case.network()
    rows = case.rows(network)
    sizes = [len(ids) for ids in shown_to_encoder(network, rows)]
    assert max(sizes) <= network.max_length("t") == 32
    stream = TaskBatches(network, "t", rows, Batching(batch_tokens=60), 13)
    for _ in range(2 * len(stream)):
        batch = stream.next()
        assert len(batch.ids) <= 60 or batch.rows == 1


def test_a_stream_has_the_size_of_its_first_turn_wherever_it_stands(case: Case) -> None:
    network = case.network()
    stream = TaskBatches(network, "t", case.rows(network), Batching(batch_tokens=60), 13)
    size, turns = len(stream), set()
    for epoch in range(8):
        stream.go_to(epoch, 0)
        turns.add(len(stream.batches))
        assert len(stream) == size
    assert len(turns) > 1  # or there would be nothing to tell apart


def test_training_sees_every_row_of_a_turn_as_that_turn_draws_it(case: Case) -> None:
    network = case.network()
    rows = case.rows(network)
    stream = TaskBatches(network, "t", rows, Batching(batch_size=4), 13)
    for turn in range(3):
        seen: list[list[int]] = []
        while not seen or stream.position[1] < len(stream.batches):
            batch = stream.next()
            starts = batch.row_offsets.tolist()
            seen += [batch.ids[s : s + n].tolist() for s, n in zip(starts, batch.lengths.tolist(), strict=True)]
        assert stream.position[0] == turn
        assert sorted(seen) == sorted(shown_to_encoder(network, rows.epoch(turn)))


def test_the_seed_decides_every_weight(case: Case) -> None:
    first = weights(case.train("first", seed=1, epochs=1))
    assert weights(case.train("again", seed=1, epochs=1)) == first
    assert weights(case.train("other", seed=2, epochs=1)) != first


@pytest.mark.parametrize("turn", [0, 1], ids=["in the first turn", "in the second turn"])
def test_a_run_resumed_in_the_middle_of_a_turn_ends_with_the_same_bits(case: Case, turn: int) -> None:
    through = case.train("through")
    with pytest.raises(Interrupted):
        case.train("broken", callback=Stop(2 + turn * history(through)[0]["step"]))
    broken = case.train("broken", resume=True)
    assert history(broken) == history(through)
    assert weights(broken) == weights(through)
    curves = [json.loads((folder / "report.json").read_text())["loss_history"] for folder in (broken, through)]
    assert curves[0] == curves[1]
    assert history(through)[0]["step"] > 2


def test_evaluating_the_file_again_gives_the_numbers_of_the_report(case: Case) -> None:
    (case.folder / "dev.txt").write_text(corpus(range(20, 50)), encoding="utf-8")  # enough to tune a threshold by
    folder = case.train("model")
    reported = json.loads((folder / "report.json").read_text())["tasks"]["t"]["result"]["measures"]
    result = weft.load(folder).evaluate({"t": case.folder / "dev.txt"})["t"].measures
    assert reported["scores"] == result.scores
    assert {n: tuple(pair) for n, pair in reported["intervals"].items()} == dict(result.intervals)
    again = weft.load(folder).evaluate({"t": case.folder / "dev.txt"})["t"].measures
    assert again.scores == result.scores
