"""Model: what users hold in Python; predicts, evaluates, embeds, inspects, saves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from weft.checkpoints.hf import CONFIG
from weft.checkpoints.source import DEFAULT, refuse_unfinished
from weft.data.atomic import refuse_existing
from weft.data.frames import frame_builder
from weft.data.predictions import PlainPrediction
from weft.data.tables import RowSource
from weft.errors import CheckpointError, warn_caller
from weft.model.answers import Tally
from weft.model.devices import Device, choose_device
from weft.model.embed import EmbedOptions, Layers, Level, Pooling, TextEncoder, TextVectors, Vectors, describe_encoder
from weft.model.evaluate import evaluate_data
from weft.model.folder import DOCUMENT, load_network, save_network
from weft.model.given import Given, given_inputs
from weft.model.inspect import inspect
from weft.model.inspection import Heads, Inspection
from weft.model.network import Network
from weft.model.other_columns import GivenColumns, GivenLabel, answer_columns, text_columns
from weft.model.predict import answer_rows, by_task, flat_columns, of_task
from weft.model.results import TaskResults
from weft.tokenization.tokenizer import Text, Truncation, check_texts


class Model:
    """A trained network with all its tasks."""

    def __init__(self, network: Network) -> None:
        self.network = network.eval()

    def __repr__(self) -> str:
        tasks = ", ".join(f"{name}: {_in_words(self.network, name)}" for name in self.network.tasks)
        return f"Model({tasks}; {describe_encoder(self.network.encoder)})"

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks."""
        return list(self.network.tasks)

    @overload
    def predict(
        self,
        texts: Given,
        task: str | None = None,
        *,
        scores: bool = False,
        as_frame: Literal[False] = False,
        columns: GivenColumns | None = None,
    ) -> list[PlainPrediction]: ...

    @overload
    def predict(
        self,
        texts: Given,
        task: str | None = None,
        *,
        scores: bool = False,
        as_frame: Literal[True],
        columns: GivenColumns | None = None,
    ) -> Any: ...

    def predict(
        self,
        texts: Given,
        task: str | None = None,
        *,
        scores: bool = False,
        as_frame: bool = False,
        columns: GivenColumns | None = None,
    ) -> list[PlainPrediction] | Any:
        """A prediction per text, or per pair where a text is a 2-tuple.

        `texts` is any iterable of them: a list, a Series, an array, a generator. A frame (pandas, polars, Arrow), a
        `datasets.Dataset`, or rows as dicts are read by the columns that the tasks were trained with, or by `columns`:
        `{"entities": "message"}` by task, of a pair a tuple of two, or one name for all tasks that read one text.

        With a `task`, each is that task's answer: `{"label", "score"}`, `{"labels"}` or `{"score"}`, beside
        `"truncated"`, whether the text was longer than the task reads, and `"empty"`, whether it (or one of the two)
        has nothing to read, so that the answer means nothing. For words, spans and relations it is a list of
        `{"start", "end", "text", "label", "score"}` without these: such tasks read a text of any length whole, and mark
        nothing in an empty one. Without a `task`, each is a dict of the answers of all tasks that read such texts, by
        task, and `"truncated"` and `"empty"`, whether they hold for any of them.

        With `as_frame`, the predictions are a frame of polars where the texts are of polars, else of pandas with the
        index of the texts if they have one. Its columns are called as `weft.data.flat` says: `urgency`,
        `urgency_score`, `truncated`, `empty`.

        A `TruncationWarning` and an `EmptyTextWarning` say once per call how many texts were concerned. `scores` adds
        the probability of every label.
        """
        build = frame_builder(texts) if as_frame else None
        inputs = given_inputs(self.network, texts, task, text_columns(self.network, columns))
        tally = Tally()
        answers = [answer for _, _, answer in answer_rows(self.network, inputs, tally)]
        for warning in (*map(UserWarning, inputs.notes), *tally.warnings(self.network)):
            warn_caller(warning)
        if build is not None:
            return build(flat_columns(self.network, tuple(inputs.columns), answers, scores))
        return [by_task(answer, scores) if task is None else of_task(answer, task, scores) for answer in answers]

    def evaluate(
        self,
        data: RowSource | Mapping[str, RowSource],
        task: str | Sequence[str] | None = None,
        *,
        columns: GivenColumns | None = None,
        label: GivenLabel | None = None,
    ) -> TaskResults:
        """The result of each task, by its name, on gold rows; it prints as a table.

        `data` is a file's path, a table (pandas, polars, Arrow), a `datasets.Dataset` or rows as dicts, for all tasks
        whose columns it has; a warning names those that it has not. A dict gives each task data of its own. With
        `task`, one name or several, only these are measured. A task that is named must find its columns: those it was
        trained with, or `columns` as in `predict`, and the one of its answers or `label`, by task or of the only one.
        """
        named = [task] if isinstance(task, str) else task
        measured = named or (list(data) if isinstance(data, Mapping) else self.tasks)
        answers = answer_columns(self.network, label, measured)
        results, notes = evaluate_data(
            self.network, data, named, columns=text_columns(self.network, columns), answers=answers
        )
        for note in notes:
            warn_caller(UserWarning(note))
        return TaskResults(results)

    @overload
    def embed(
        self,
        texts: Iterable[Text],
        *,
        level: Literal["sentence"] = "sentence",
        pooling: Pooling = "mean",
        layers: Layers = "last",
        normalize: bool = False,
        truncation: Truncation = "head",
        max_length: int | None = None,
    ) -> Vectors: ...

    @overload
    def embed(
        self,
        texts: Iterable[Text],
        *,
        level: Literal["word", "token"],
        pooling: Pooling = "mean",
        layers: Layers = "last",
        normalize: bool = False,
        truncation: Truncation = "head",
        max_length: int | None = None,
    ) -> list[TextVectors]: ...

    def embed(
        self,
        texts: Iterable[Text],
        *,
        level: Level = "sentence",
        pooling: Pooling = "mean",
        layers: Layers = "last",
        normalize: bool = False,
        truncation: Truncation = "head",
        max_length: int | None = None,
    ) -> Vectors | list[TextVectors]:
        """Vectors from the trained encoder, without conditioning; see `TextEncoder.embed`."""
        encoder = TextEncoder(self.network.encoder, self.network.tokenizer)
        options = EmbedOptions(level, pooling, layers, normalize, truncation, max_length)
        return encoder.embed_with(texts, options)

    def inspect(
        self,
        text: Text,
        *,
        task: str,
        layer: int | None = None,
        heads: Heads = "mean",
        leave_words_out: bool = True,
    ) -> Inspection:
        """What a task looked at in a text, or in a pair (a 2-tuple), and what spoke for the answer, word by word.

        `layer` is whose attention to show, 0 the lowest; the last by default. `heads` is the mean over that layer's
        attention heads, or of each token the strongest (`max`). With `leave_words_out` the answer is asked again
        without each word; `Inspection.agreement` says how far that and gradient × input rank the words alike.
        """
        check_texts([text])
        texts = text if isinstance(text, tuple) else (text,)
        return inspect(self.network, task, texts, layer, heads, leave_words_out=leave_words_out)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a new folder, or an empty one, that `weft.load` reads; nothing is written over."""
        refuse_existing(Path(folder), "save into a new folder", but_empty=True)
        save_network(self.network, Path(folder))


def _in_words(network: Network, task: str) -> str:
    """The kind of a task, and how many labels it has; their names could be texts."""
    labels = len(network.targets[task].labels)
    return f"{network.tasks[task].to_dict()['kind']}" + (f" of {labels} labels" if labels else "")


def load(folder: str | os.PathLike[str], *, device: Device = "auto") -> Model:
    """The model in a folder that training wrote; on a GPU where there is one, unless another `device` is asked for."""
    path = Path(folder)
    if not (path / DOCUMENT).is_file():
        refuse_unfinished(path)
        problem = "is no weft model (it has no weft.json)" if path.exists() else "does not exist"
        if path == Path(DEFAULT) or (path / CONFIG).is_file():
            problem = "is an encoder, which has no tasks"
        raise CheckpointError(f"{path} {problem}; name a folder that `weft train` wrote")
    where = choose_device(device)
    return Model(load_network(path).to(where))
