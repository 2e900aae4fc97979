"""From texts to scores and predictions: the one path that everything predicts through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from weft.embed import batches_by_length
from weft.errors import ConfigError, DataError
from weft.network import Network, collate
from weft.records import Prediction
from weft.spec import nearest

Texts = tuple[str, ...]  # one text, or the two of a pair

_WINDOW = 1024  # rows looked at together, so that rows of similar length share a batch
_BATCH_TOKENS = 4096


@dataclass(frozen=True)
class Answer:
    """What the tasks say about one row, and which of them did not read all of it."""

    predictions: dict[str, Prediction]
    truncated: bool


def predict(network: Network, rows: Iterable[Mapping[str, Texts]]) -> Iterator[Answer]:
    """An answer per row, in order; a row says for each of the tasks to answer which texts it reads.

    Tasks that read the same texts in the same way share one pass of the encoder. All rows must name the same tasks.
    """
    network.eval()
    remaining = iter(rows)
    while window := list(islice(remaining, _WINDOW)):
        answers: list[dict[str, Prediction]] = [{} for _ in window]
        truncated = [False] * len(window)
        for tasks in groups(network, window):
            found, dropped = score(network, tasks, [row[tasks[0]] for row in window])
            for task in tasks:
                for place, prediction in enumerate(network.targets[task].decode(found[task])):
                    answers[place][task] = prediction
            truncated = [cut or tokens > 0 for cut, tokens in zip(truncated, dropped, strict=True)]
        yield from (Answer(answer, cut) for answer, cut in zip(answers, truncated, strict=True))


def groups(network: Network, window: Sequence[Mapping[str, Texts]]) -> list[list[str]]:
    """The tasks that may share a pass: same texts, read in the same way."""
    found: dict[Any, list[str]] = {}
    for task in window[0]:
        texts = tuple(row[task] for row in window)
        found.setdefault((network.pass_key(task), texts), []).append(task)
    return list(found.values())


@torch.inference_mode()
def score(network: Network, tasks: Sequence[str], texts: Sequence[Texts]) -> tuple[dict[str, Tensor], list[int]]:
    """The scores of tasks that read the same rows, (rows, O) each, and the tokens dropped of each row."""
    encoded = network.encode(tasks[0], texts)
    lengths = [sum(len(row.ids) for row in rows) for rows in encoded]
    device = next(network.parameters()).device
    parts: dict[str, list[Tensor]] = {task: [] for task in tasks}
    order: list[int] = []
    for places in batches_by_length(lengths, _BATCH_TOKENS):
        batch = collate([encoded[place] for place in places], tasks[0]).to(device)
        for task, scores in network.scores(batch, tasks).items():
            parts[task].append(scores.float().cpu())
        order += places
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order, dtype=torch.long)] = torch.arange(len(order))
    dropped = [sum(row.dropped for row in rows) for rows in encoded]
    return {task: torch.cat(found)[back] for task, found in parts.items()}, dropped


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
    return prediction if scores else {key: value for key, value in prediction.items() if key != "scores"}
