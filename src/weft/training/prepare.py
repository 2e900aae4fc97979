"""From a config to where learning would begin: what `weft train` and `weft check` both run.

Every step notes its faults and goes on with what there is, so that all of them are known at once. Training stops with
them; checking shows them, with warnings about what was prepared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from weft.checkpoints.source import find_folder
from weft.config.expand import expand
from weft.config.experiment import Experiment
from weft.corpus.files import corpus_files
from weft.corpus.loading import CorpusLoader, corpus_faults
from weft.data.dataset import Splits
from weft.encoder.blank import Blank
from weft.encoder.encoder import Encoder
from weft.errors import ConfigError, DataError
from weft.model.devices import Device, choose_device, half_precision_fault
from weft.model.embed import TextEncoder, load_encoder
from weft.model.network import Network, network_shape
from weft.model.zero_shot import encode_labels
from weft.targets import FittedTarget
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer
from weft.training.facts import task_facts
from weft.training.faults import Faults
from weft.training.mismatches import (
    check_heads,
    check_learning,
    check_losses,
    check_phases,
    check_sources,
    check_without_rows,
)
from weft.training.reading import read_files
from weft.training.shared import Shared
from weft.training.task_data import Fold, TaskData, read_task_data

Reading = Callable[[], AbstractContextManager[Callable[[int], None]]]  # told how many bytes are tokenized

_TELLING = 200  # characters of a text that is cut where there is too little room, and is tokenized in no time
_SHOWN = 10  # faults of one corpus; a folder may have thousands of files
_CHECKED = 4 * 2**20  # bytes of raw text that are tokenized only to find its faults


@dataclass
class PreparedRun:
    """What there is to learn with, and what keeps it from being learned."""

    experiment: Experiment
    base: Path
    faults: Faults
    source: TextEncoder | None
    rows: TaskData
    data: dict[str, Splits] = field(default_factory=dict)  # of every task that can be read
    targets: dict[str, FittedTarget] = field(
        default_factory=dict
    )  # of every task with rows to learn from, or without need of them
    device: Device = "auto"  # where it would be learned
    unread: list[str] = field(default_factory=list)  # tasks whose raw text is too long to be read only to check it
    network: Network | None = None
    reasons: tuple[str, ...] = ()  # why it will learn as it does, as far as a preset has chosen

    def complete(self) -> tuple[dict[str, Splits], Network]:
        """Every task's rows and the network; raises one error with all faults where there are any."""
        self.faults.raise_all()
        assert self.network is not None
        return {name: self.data[name] for name in self.experiment.tasks}, self.network

    def max_length(self, task: str) -> int | None:
        """The tokens a row of a task may have, as far as that is known."""
        limits = [self.experiment.tasks[task].max_length, self.source and self.source.encoder.config.max_length]
        return min((limit for limit in limits if limit), default=None)


def prepare(
    experiment: Experiment,
    base: Path,
    *,
    device: Device = "auto",
    cache: Path | None = None,
    reading: Reading | None = None,
    shared: Shared | None = None,
    fold: Fold | None = None,
) -> PreparedRun:
    """Everything that learning begins with.

    Args:
        experiment: the config.
        base: the folder its files are in; see `data_folder`.
        device: where it would be learned.
        cache: the folder for tokenized raw text. Without it nothing is to be learned: long raw text is then read only
            as far as its beginning, and the weights are not compared with their digest.
        reading: shows progress while raw text is tokenized.
        shared: what other runs have loaded and read already.
        fold: the part of the training rows to report on.
    """
    faults, source = Faults(), None
    check_device(experiment, device, faults)
    with faults.catch("encoder.from" if experiment.encoder.scratch is None else "encoder.scratch.tokenizer"):
        load = partial(load_source, experiment, base, verify=cache is not None or shared is not None)
        source = load() if shared is None else shared.source(experiment, base, load)
    prepared = prepare_with(experiment, base, source, faults, cache=cache, reading=reading, shared=shared, fold=fold)
    prepared.device = device
    return prepared


def prepare_with(
    experiment: Experiment,
    base: Path,
    source: TextEncoder | None,
    faults: Faults,
    *,
    cache: Path | None = None,
    reading: Reading | None = None,
    shared: Shared | None = None,
    fold: Fold | None = None,
) -> PreparedRun:
    """As `prepare`, with an encoder that was loaded before, or without one."""
    corpora = {name: task for name, task in experiment.tasks.items() if task.format is not None}
    labelled = {name: task for name, task in experiment.tasks.items() if name not in corpora}
    read = read_files if shared is None else shared.files
    rows = read_task_data(labelled, base, experiment.seed, faults, fold=fold, read=read)
    experiment = experiment.model_copy(update={"tasks": _settled(experiment.tasks, rows)})
    prepared = PreparedRun(experiment, base, faults, source, rows)
    prepared.data |= {
        name: rows.splits(name) for name, task in labelled.items() if rows.parts[name] or task.without_rows
    }
    check_sources(experiment.tasks, faults)
    check_without_rows(experiment.tasks, faults)
    _check_lengths(prepared)
    _check_label_texts(prepared)
    for name, task in corpora.items():
        _check_corpus(prepared, name, task)
    _fit_targets(prepared)
    _expand_preset(prepared)
    check_phases(prepared.experiment, prepared.targets, faults)
    _check_network(prepared)
    if corpora:
        with (reading or _silence)() as progress:
            _load_corpora(prepared, corpora, cache, progress)
    if source is not None and not faults:
        with faults.catch("encoder"):
            prepared.network = build_network(prepared.experiment, prepared.targets, source)
            check_learning(prepared.experiment, prepared.network, faults)
    return prepared


def _settled(tasks: Mapping[str, Task], rows: TaskData) -> dict[str, Task]:
    """The tasks as they are with so many rows to learn from."""
    parts = {name: rows.parts.get(name, {}).get("train") for name in tasks}
    return {name: task.settled(len(part.rows)) if (part := parts[name]) else task for name, task in tasks.items()}


def _silence() -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda done: None)


def check_device(experiment: Experiment, device: Device, faults: Faults) -> None:
    """Note what the machine cannot do, and loggers that are not there."""
    on_processor = False
    with faults.catch(""):
        on_processor = choose_device(device).type == "cpu"
    if experiment.training.precision == "bf16" and on_processor and (fault := half_precision_fault()):
        faults.add("training.precision", fault)
    if absent := [name for name in experiment.training.report_to if find_spec(name) is None]:
        faults.add("training.report_to", f"{', '.join(absent)} is not installed; run: pip install 'weft[track]'")


def load_source(experiment: Experiment, base: Path, verify: bool = True) -> TextEncoder:
    """The encoder to begin with, and its tokenizer; `verify` compares packaged weights with their digest."""
    choice = experiment.encoder
    if choice.scratch is None:
        return load_encoder(choice.name, revision=choice.revision, device="cpu", verify=verify)
    tokenizer = Tokenizer.from_folder(source_folder(experiment, base))
    torch.manual_seed(experiment.seed)
    return TextEncoder(Encoder(choice.scratch.config(tokenizer.size)), tokenizer)


def source_folder(experiment: Experiment, base: Path) -> Path:
    """The folder of the encoder to begin with, or of the tokenizer of one from scratch."""
    choice = experiment.encoder
    if choice.scratch is None:
        return find_folder(choice.name, choice.revision)
    named = Path(os.path.expanduser(choice.scratch.tokenizer))
    folder = next((folder for folder in (base / named, named) if folder.is_dir()), None)
    if folder is None:
        raise ConfigError(
            f"there is no folder {choice.scratch.tokenizer}, neither beside the data nor here; make one with: "
            "weft vocab FILE… --size 8000 --output FOLDER"
        )
    return folder


def build_network(experiment: Experiment, targets: Mapping[str, FittedTarget], source: TextEncoder) -> Network:
    """A network for the experiment's tasks, its heads fresh by the seed."""
    encoder = source.encoder
    encoder.pooler = None  # tasks bring their own
    encoder.config = replace(encoder.config, with_pooler=False)
    encoder.gradient_checkpointing = experiment.encoder.gradient_checkpointing
    torch.manual_seed(experiment.seed)
    return Network(encoder, source.tokenizer, experiment.tasks, targets, experiment.conditioning)


def _check_lengths(prepared: PreparedRun) -> None:
    """Note limits that leave no room for text beside the special tokens: a row that is long enough tells."""
    for name, parts in prepared.rows.parts.items():
        rows = [row for part in parts.values() for row in part.rows]
        if prepared.source is not None and rows:
            row = min(rows, key=lambda row: abs(sum(map(len, row.texts)) - _TELLING))
            with prepared.faults.catch(f"tasks.{name}.max_length"):
                limit = prepared.max_length(name)
                assert limit is not None
                prepared.experiment.tasks[name].encode([row], prepared.source.tokenizer, limit)


def _check_label_texts(prepared: PreparedRun) -> None:
    """Note labels by whose words nothing can be answered, for tasks that have nothing else."""
    for name, task in prepared.experiment.tasks.items():
        if task.without_rows:
            with prepared.faults.catch(f"tasks.{name}.labels"):
                texts, limit = task.label_texts(), prepared.max_length(name)
                if prepared.source is not None and limit is not None:
                    encode_labels(task, list(texts.values()), prepared.source.tokenizer, limit)


def _load_corpora(
    prepared: PreparedRun, corpora: Mapping[str, Task], cache: Path | None, progress: Callable[[int], None]
) -> None:
    """Tokenize raw text, which may take hours: only where nothing is wrong so far."""
    if prepared.source is None or prepared.faults:
        return
    tokenizer, longest = prepared.source.tokenizer, prepared.source.encoder.config.max_length
    with TemporaryDirectory() as passing:
        loader = CorpusLoader(tokenizer, longest, cache or Path(passing), progress)
        for name, task in corpora.items():
            if cache is None and _size(task, prepared.base) > _CHECKED:
                prepared.unread.append(name)
                continue
            with prepared.faults.catch(f"tasks.{name}"):
                splits = task.load(loader, prepared.base, prepared.experiment.seed)
                if cache is not None:
                    prepared.data[name] = splits


def _check_corpus(prepared: PreparedRun, name: str, task: Task) -> None:
    """Note what is wrong with a task's raw text as far as the beginnings of its files tell."""
    faults, source, format = prepared.faults, prepared.source, task.format
    assert format is not None
    if task.train is None:
        faults.add(f"tasks.{name}.train", "is required to train this task; name a file or a folder")
    for split in (split for split in task.sources() if split not in task.files()):
        faults.add(f"tasks.{name}.{split}", "raw text is read from files alone; name a file or a folder")
    for split, names in task.files().items():
        file = names[0]
        if len(names) > 1:
            faults.add(f"tasks.{name}.{split}", "raw text is read from one file, a folder or a pattern; name one")
        for error in islice(corpus_faults(prepared.base / file, format.documents, format.column), _SHOWN):
            faults.add(f"tasks.{name}.{split}", str(error), DataError)
    if source is not None:
        with faults.catch(f"tasks.{name}"):
            task.check_tokenizer(source.tokenizer)
        with faults.catch(f"tasks.{name}"):
            CorpusLoader(source.tokenizer, source.encoder.config.max_length, Path()).check_length(format)


def _size(task: Task, base: Path) -> int:
    """Bytes of a task's raw text."""
    files = {file for names in task.files().values() for name in names for file in corpus_files(base / name)}
    return sum(file.stat().st_size for file in files)


def _fit_targets(prepared: PreparedRun) -> None:
    """Fit every target that has rows to be fitted to, or needs none, and note losses and metrics that do not suit."""
    for name, task in prepared.experiment.tasks.items():
        parts = prepared.rows.parts.get(name)
        golds = [row.gold for row in parts["train"].rows] if parts and "train" in parts else []
        if golds or parts is None or task.without_rows:  # raw text has none to be fitted to
            prepared.targets[name] = task.target().fit(golds)
    check_losses(prepared.experiment.tasks, prepared.targets, prepared.faults)


def _expand_preset(prepared: PreparedRun) -> None:
    """Write out how to learn where the config leaves it to a preset."""
    experiment = prepared.experiment
    facts = {
        name: task_facts(experiment.tasks[name], target, prepared.rows.parts[name]["train"].rows)
        for name, target in prepared.targets.items()
        if name in prepared.rows.parts and name in experiment.learned
    }
    with prepared.faults.catch("preset"):
        prepared.experiment, prepared.reasons = expand(experiment, facts)


def _check_network(prepared: PreparedRun) -> None:
    """Note why the network could not be built."""
    experiment, faults, source = prepared.experiment, prepared.faults, prepared.source
    width = source.encoder.config.hidden_size if source is not None else 1024  # any will do to compare heads
    check_heads(experiment.tasks, prepared.targets, width, faults)
    if source is None or prepared.targets.keys() != experiment.tasks.keys():
        return
    with faults.catch(""), Blank(), torch.device("meta"):
        experiment.conditioning.build(network_shape(source.encoder.config, experiment.tasks, prepared.targets))
