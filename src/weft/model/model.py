"""Model: what users hold in Python; predicts, evaluates, embeds, inspects, saves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from weft.corpus.loading import CorpusLoader
from weft.data.records import Example, Input, Prediction
from weft.errors import CheckpointError, DataError
from weft.model.devices import Device, choose_device
from weft.model.embed import TextEncoder, TextVectors
from weft.model.evaluate import TaskResult, evaluate
from weft.model.folder import DOCUMENT, load_network, save_network
from weft.model.inspect import Inspection, inspect
from weft.model.network import Network
from weft.model.predict import choose_tasks, predict, shown
from weft.tasks.base.corpus import CorpusTask
from weft.tasks.base.examples import read_examples
from weft.tokenization.tokenizer import Text, check_texts


class Model:
    """A trained network with all its tasks."""

    def __init__(self, network: Network) -> None:
        self.network = network.eval()

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks."""
        return list(self.network.tasks)

    def predict(self, texts: Sequence[Text], task: str | None = None, *, scores: bool = False) -> list[Prediction]:
        """A prediction per text, or per pair where a text is a 2-tuple.

        With a `task`, each is that task's answer: `{"label", "score"}`, `{"labels"}`, `{"score"}`, or for words
        and spans a list of `{"start", "end", "text", "label", "score"}`. Without, each holds the answers of all tasks
        that read such texts, by task. `scores` adds the probability of every label.
        """
        check_texts(texts)
        wanted = None if task is None else [task]
        if not texts:
            choose_tasks(self.network, wanted)
            return []
        pair = isinstance(texts[0], tuple)
        if any(isinstance(text, tuple) != pair for text in texts):
            raise DataError("received texts and pairs mixed; predict them one after the other")
        names = choose_tasks(self.network, wanted, pair)
        inputs = (Input(text if isinstance(text, tuple) else (text,)) for text in texts)
        rows = (dict.fromkeys(names, input) for input in inputs)
        answers = (answer.predictions for answer in predict(self.network, rows))
        found = [{name: shown(one, scores) for name, one in answer.items()} for answer in answers]
        return found if task is None else [one[task] for one in found]

    def evaluate(self, files: dict[str, str | os.PathLike[str] | Sequence[Example]]) -> dict[str, TaskResult]:
        """Each task's result on the gold rows of a file, or on examples."""
        choose_tasks(self.network, list(files))
        with TemporaryDirectory() as cache:
            loader = CorpusLoader(self.network.tokenizer, self.network.encoder.config.max_length, Path(cache))

            def rows_of(name: str, rows: str | os.PathLike[str] | Sequence[Example]) -> Sequence[Example]:
                if not isinstance(rows, str | os.PathLike):
                    return rows
                task = self.network.tasks[name]
                if isinstance(task, CorpusTask):
                    return task.rows(loader, Path(rows))
                return read_examples(name, task, Path(rows))

            return evaluate(self.network, {name: rows_of(name, rows) for name, rows in files.items()})

    def embed(self, texts: Sequence[Text], **options: Any) -> np.ndarray | list[TextVectors]:
        """Vectors from the trained encoder; see `TextEncoder.embed`."""
        return TextEncoder(self.network.encoder, self.network.tokenizer).embed(texts, **options)

    def inspect(self, text: Text, *, task: str, layer: int | None = None) -> Inspection:
        """What a task looked at in a text, or in a pair (a 2-tuple): attention and attribution, word by word.

        `layer` is whose attention to show, 0 the lowest; the last by default.
        """
        check_texts([text])
        return inspect(self.network, task, text if isinstance(text, tuple) else (text,), layer)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder that `weft.load` reads."""
        save_network(self.network, Path(folder))


def load(folder: str | os.PathLike[str], *, device: Device = "auto") -> Model:
    """The model in a folder that training wrote; on a GPU where there is one, unless another `device` is asked for."""
    path = Path(folder)
    if not (path / DOCUMENT).is_file():
        problem = "is no weft model (it has no weft.json)" if path.exists() else "does not exist"
        raise CheckpointError(f"{path} {problem}; name a folder that `weft train` wrote")
    where = choose_device(device)
    return Model(load_network(path).to(where))
