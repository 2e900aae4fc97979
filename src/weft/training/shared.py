"""What many runs of one process have in common: made by the first that needs it, and the same for all that follow."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

from weft.config.experiment import Experiment
from weft.data.dataset import Dataset
from weft.data.records import Example
from weft.encoder.encoder import Encoder
from weft.errors import DataError
from weft.model.embed import TextEncoder
from weft.model.evaluate import measure_baselines
from weft.targets import FittedTarget
from weft.tasks import Task
from weft.tokenization.cache import SharedTokenizer
from weft.training.faults import Faults
from weft.training.frozen import KeptStates
from weft.training.reading import SplitRows, named_files, read_files

Baselines = dict[str, dict[str, float]]  # of each method, by metric


class Shared:
    """Encoders, rows of files, their tokens, states of frozen layers, and baselines, for `train_one_of_many`.

    A run gives the same with it as without it, whatever ran before. All of it is kept, so a Shared should live no
    longer than the runs it serves; an encoder's folder is taken to stay as it is that long.
    """

    def __init__(self) -> None:
        self._encoders: dict[Hashable, TextEncoder] = {}
        self._tokenizers: dict[Hashable, SharedTokenizer] = {}
        self._files: dict[Hashable, dict[str, SplitRows]] = {}
        self._baselines: dict[Hashable, Baselines] = {}
        self.states = KeptStates()

    def source(self, experiment: Experiment, base: Path, load: Callable[[], TextEncoder]) -> TextEncoder:
        """A copy of the encoder that `load` gives, and a tokenizer that remembers what other runs have tokenized."""
        choice = experiment.encoder
        if choice.scratch is not None:  # whose weights are drawn by the seed of each run
            loaded = load()
            return self._with_tokenizer(base / choice.scratch.tokenizer, loaded.encoder, loaded)
        key = (choice.name, choice.revision)
        if key not in self._encoders:
            self._encoders[key] = load()
        loaded = self._encoders[key]
        return self._with_tokenizer(key, deepcopy(loaded.encoder), loaded)

    def _with_tokenizer(self, key: Hashable, encoder: Encoder, loaded: TextEncoder) -> TextEncoder:
        tokenizer = self._tokenizers.setdefault(key, SharedTokenizer(loaded.tokenizer))
        return TextEncoder(encoder, tokenizer, loaded.report)

    def files(self, tasks: Mapping[str, Task], base: Path, faults: Faults) -> dict[str, dict[str, SplitRows]]:
        """What `read_files` gives: only files that another task has not read the same way are read."""
        found = {name: self._task_files(name, task, base) for name, task in tasks.items()}
        read = {name: splits for name, splits in found.items() if splits is not None}
        return read if len(read) == len(tasks) else read_files(tasks, base, faults)  # once more, for the faults

    def _task_files(self, name: str, task: Task, base: Path) -> dict[str, SplitRows] | None:
        """A task's rows, None where anything is wrong with them."""
        files = {split: tuple(_stamped(base, names)) for split, names in task.files().items()}
        key = (name, task.reading_key(), task.encoding, tuple({**task.sources(), **files}.items()))
        if key not in self._files:
            faults = Faults()
            found = read_files({name: task}, base, faults)[name]
            if faults:
                return None
            self._files[key] = found
        return self._files[key]

    def baselines(self, target: FittedTarget, train: Dataset, rows: Sequence[Example]) -> Baselines:
        """What `measure_baselines` gives."""
        key = (type(target), repr(target), tuple(train), tuple(rows))  # a repr has the options, which `to_dict` lacks
        if key not in self._baselines:
            self._baselines[key] = measure_baselines(target, train, rows)
        return self._baselines[key]


def _stamped(base: Path, names: Iterable[str]) -> Iterator[tuple[Path, tuple[int, int] | None]]:
    """The files that names stand for, and what changes when they are written anew."""
    with suppress(DataError):  # which is said when they are read
        for path in named_files(base, names):
            yield path, _stamp(path)


def _stamp(file: Path) -> tuple[int, int] | None:
    """What changes when a file is written anew; None where there is none."""
    try:
        found = file.stat()
    except (OSError, ValueError):  # a zero byte in its name
        return None
    return found.st_mtime_ns, found.st_size
