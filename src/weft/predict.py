"""From texts to scores and predictions: the one path that everything predicts through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from weft.embed import batches_by_length
from weft.errors import ConfigError, DataError
from weft.network import Network
from weft.records import Content, Prediction
from weft.spec import nearest
from weft.tensors import Scores
from weft.text.readings import Reading

_WINDOW = 1024  # rows looked at together, so that rows of similar length share a batch
_BATCH_TOKENS = 4096


@dataclass(frozen=True)
class Answer:
    """What the tasks say about one row, and which of them did not read all of it."""

    predictions: dict[str, Prediction]
    truncated: bool


def predict(network: Network, rows: Iterable[Mapping[str, Content]]) -> Iterator[Answer]:
    """An answer per row, in order; a row says for each of the tasks to answer what it reads.

    Tasks that read the same tokens share one pass of the encoder, as far as conditioning allows. All rows must name the
    same tasks.
    """
    network.eval()
    remaining = iter(rows)
    while window := list(islice(remaining, _WINDOW)):
        answers: list[dict[str, Prediction]] = [{} for _ in window]
        truncated = [False] * len(window)
        for readings in groups(network, window):
            for task, scores in score(network, readings).items():
                for place, prediction in enumerate(network.targets[task].predictions(scores, readings[task])):
                    answers[place][task] = prediction
                truncated = [cut or one.dropped > 0 for cut, one in zip(truncated, readings[task], strict=True)]
        yield from (Answer(answer, cut) for answer, cut in zip(answers, truncated, strict=True))


def groups(network: Network, window: Sequence[Mapping[str, Content]]) -> list[dict[str, list[Reading]]]:
    """The tasks that may share a pass, and what each makes of the rows: the same tokens."""
    found: dict[Any, dict[str, list[Reading]]] = {}
    for task in window[0]:
        readings = network.encode(task, [row[task] for row in window])
        tokens = tuple(tuple(row.ids) for reading in readings for row in reading.rows)
        found.setdefault((network.conditioner.pass_key(task), tokens), {})[task] = readings
    return list(found.values())


@torch.inference_mode()
def score(network: Network, readings: Mapping[str, Sequence[Reading]]) -> dict[str, Scores]:
    """The scores of tasks that read the same tokens, in the order of the readings."""
    first = next(iter(readings.values()))
    device = next(network.parameters()).device
    parts: dict[str, list[Scores]] = {task: [] for task in readings}
    order: list[int] = []
    for places in batches_by_length([one.tokens for one in first], _BATCH_TOKENS):
        batches = {
            task: network.collate(task, [some[place] for place in places]).to(device) for task, some in readings.items()
        }
        for task, scores in network.scores(batches).items():
            parts[task].append(scores.detached())
        order += places
    return {task: Scores.join(found, order) for task, found in parts.items()}


def choose_tasks(network: Network, wanted: Sequence[str] | None, pair: bool | None = None) -> list[str]:
    """The tasks asked for, or all that read what there is to read; raises for names that are none."""
    known = list(network.tasks)
    unknown = [name for name in wanted or () if name not in network.tasks]
    if unknown:
        raise ConfigError(
            *(f"this model has no task {name!r}; it has: {', '.join(known)}{nearest(name, known)}" for name in unknown)
        )
    chosen = list(wanted) if wanted else known
    if pair is None:
        return chosen
    fitting = [name for name in chosen if network.tasks[name].several_texts == pair]
    if not fitting or (wanted and len(fitting) < len(chosen)):
        needed = "two texts (a pair)" if not pair else "one text"
        which = [name for name in chosen if name not in fitting]
        raise DataError(f"the task {', '.join(which)} reads {needed}, but received {'two' if pair else 'one'}")
    return fitting


def shown(prediction: Prediction, scores: bool) -> Prediction:
    """A prediction with or without the probabilities of all labels."""
    if scores or isinstance(prediction, list):
        return prediction
    return {key: value for key, value in prediction.items() if key != "scores"}
