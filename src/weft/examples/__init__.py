"""Examples that run at once: a config for every kind of task, with invented rows that anybody may use.

An example is a TOML file with its data files beside it. The first comment says what it shows; the comment that begins
with `weft predict` is what to ask the model that it trains to the folder `model`.
"""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from weft.data.atomic import refuse_existing
from weft.data.formats import read_rows
from weft.demo import CONFIG as TRIAGE
from weft.errors import WeftError

FOLDER = Path(__file__).parent / "support"
_ABOUT = "README.md"  # beside the data: what the columns hold, and under which licence


@dataclass(frozen=True)
class PackagedExample:
    """A config that is shipped, and the files that it names."""

    config: Path

    @property
    def name(self) -> str:
        return self.config.stem

    @cached_property
    def comments(self) -> list[str]:
        """The lines of comment at the head of the config."""
        head = self.config.read_text(encoding="utf-8").split("\n\n", 1)[0]
        return [line.removeprefix("#").strip() for line in head.splitlines()]

    @property
    def shows(self) -> str:
        """What it is an example of, in a few words."""
        return self.comments[0].removesuffix(".")

    @property
    def question(self) -> str:
        """The command that asks the trained model something."""
        return next(line for line in self.comments if line.startswith("weft predict"))

    @cached_property
    def _tasks(self) -> list[dict[str, Any]]:
        return list(tomllib.loads(self.config.read_text(encoding="utf-8"))["tasks"].values())

    @property
    def kinds(self) -> list[str]:
        """The kinds of its tasks, each once."""
        return list(dict.fromkeys(task["kind"] for task in self._tasks))

    @property
    def data(self) -> list[Path]:
        """The files that its tasks read, each once."""
        named = [task.get(split) for task in self._tasks for split in ("train", "dev", "test")]
        files = (file for file in dict.fromkeys(named) if isinstance(file, str))  # and no share of the rows
        return [self.config.parent / file for file in files]

    def count_rows(self) -> int:
        """The rows of all files; of raw text the paragraphs."""
        return sum(any(row.columns.values()) for file in self.data for row in read_rows(file))

    def write(self, folder: Path) -> None:
        """Copy config, data and what is said about them into a new folder: complete or not at all."""
        refuse_existing(folder)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as private:
                unfinished = Path(private) / "example"  # inside, where it has the usual permissions
                unfinished.mkdir()
                for file in (self.config, *self.data, self.config.parent / _ABOUT):
                    shutil.copyfile(file, unfinished / file.name)
                unfinished.rename(folder)
        except OSError as error:
            raise WeftError(f"cannot write {folder}: {error.strerror or error}") from None


def all_examples() -> dict[str, PackagedExample]:
    """Every example by its name: those of the support desk, then the demo's."""
    return {config.stem: PackagedExample(config) for config in (*sorted(FOLDER.glob("*.toml")), TRIAGE)}
