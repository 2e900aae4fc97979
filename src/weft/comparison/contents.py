"""What a run is made of, as one digest: its config, the tasks' files or rows, the encoder or tokenizer, weft itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from weft.config.experiment import Experiment
from weft.corpus.files import corpus_files
from weft.data.tables import RowsInMemory, open_rows
from weft.errors import WeftError
from weft.training.prepare import source_folder

DigestRows = Callable[[RowsInMemory], str]
_FORMAT = 1  # of stored results; another one makes all runs anew
_ENCODER_FILES = ("*.json", "*.safetensors", "*.txt", "*.model")


def rows_digester() -> DigestRows:
    """A digest of rows in memory, made once for each: as they are now; another call may find others."""
    return lru_cache(maxsize=None)(_digest_rows)


def content_key(experiment: Experiment, base: Path, digest_rows: DigestRows, **beside: Any) -> str:
    """Equal for experiments that read and do the same, `beside` being what else they may differ in."""
    content = {
        "format": _FORMAT,
        "weft": version("weft"),
        "config": {key: value for key, value in experiment.to_dict().items() if key != "data"},
        "files": dict(_digests(experiment, base, digest_rows)),
        **beside,
    }
    return digest_json(content)


def digest_json(content: Any) -> str:
    """A short digest of plain data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


def _digests(experiment: Experiment, base: Path, digest_rows: DigestRows) -> Iterator[tuple[str, str]]:
    """A digest of everything that is read: the tasks' files or rows, and the encoder or tokenizer."""
    for name, task in experiment.tasks.items():
        for split, source in task.sources().items():
            if isinstance(source, RowsInMemory):
                digest = digest_rows(source)
            else:
                digest = " ".join(_digest_of(file) for named in source for file in _files(base / named))
            yield f"tasks.{name}.{split}", digest
    try:
        folder = source_folder(experiment, base)
    except WeftError:  # which is said when the arms are checked
        return
    paths = sorted({path for pattern in _ENCODER_FILES for path in folder.glob(pattern)})
    yield "encoder", " ".join(f"{path.name}:{_digest_of(path)}" for path in paths)


def _files(path: Path) -> list[Path]:
    try:
        return corpus_files(path)  # a folder or a pattern, where raw text is read
    except WeftError:
        return []


def _digest_of(path: Path) -> str:
    """The digest of a file; empty where it cannot be read, which is said when the arms are checked."""
    try:
        status = path.stat()
        return _digest(path, status.st_size, status.st_mtime_ns)
    except OSError:
        return ""


def _digest_rows(source: RowsInMemory) -> str:
    """The digest of rows in memory."""
    digest = hashlib.sha256()
    for row in open_rows(source)[1]:
        digest.update(json.dumps(dict(row.columns), default=repr, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


@cache
def _digest(path: Path, size: int, modified: int) -> str:
    """The digest of a file as it is now; a process reads it once."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
