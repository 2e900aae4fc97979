"""Plants the bugs of `tests/mutations/*.toml` one at a time and shows that the tests named beside each one fail.

    python tests/mutations.py                    # all of them
    python tests/mutations.py warm-up clip       # those whose file or name contains one of these words
    python tests/mutations.py --suite warm-up    # against the whole suite instead of the named tests

The bugs are planted in copies of the source; nothing in the checkout changes. Ends with 1 where a bug survives. Every
bug is tried in a fork of a process that has imported all that is slow to import and nothing of weft, so it runs where
there is `fork`: on Linux and macOS.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parent.parent
LONGEST = 600  # seconds; a bug that makes the tests run for ever is noticed, too
SLOW_IMPORTS = (
    *("accelerate", "huggingface_hub", "hypothesis", "numpy", "pyarrow.parquet", "pydantic", "pytest", "rich.progress"),
    *("safetensors.torch", "scipy.optimize", "scipy.stats", "sklearn.linear_model", "tokenizers", "torch", "typer"),
    *("sklearn.feature_extraction.text", "torch.utils.checkpoint", "transformers"),
)
OPTIONS = (
    *("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=line"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # that plugins have been imported before
)


@dataclass(frozen=True)
class Bug:
    """One change of the source that must not go unnoticed."""

    name: str
    file: str  # seen from src/weft
    old: str  # occurs there exactly once
    new: str
    tests: tuple[str, ...]  # as pytest takes them, below tests/

    def plant(self, source: str) -> str:
        """The source with the bug in it."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} has {source.count(self.old)} places like {self.old!r}")
        if self.new == self.old:
            raise ValueError(f"{self.name}: changes nothing")
        return source.replace(self.old, self.new)


@dataclass
class Trial:
    """A bug under test: its process, its copy of the checkout, and what the file was before."""

    bug: Bug
    copy: Path
    sound: str
    pid: int
    began: float

    @property
    def file(self) -> Path:
        return self.copy / "src" / "weft" / self.bug.file

    def finish(self, status: int) -> bool:
        """Mend the copy, say how it went, and return whether the bug was noticed."""
        self.file.write_text(self.sound, encoding="utf-8")
        code = os.waitstatus_to_exitcode(status)
        noticed = code in (1, -signal.SIGALRM)
        word = "noticed " if noticed else "SURVIVED" if code == 0 else "BROKEN  "
        print(f"{word} {time.monotonic() - self.began:5.1f} s  {self.bug.name}", flush=True)
        if not noticed:
            said = (self.copy / "said.txt").read_text(encoding="utf-8", errors="replace").split("\n")
            print("\n".join(f"            {line}" for line in said[-6:] if line.strip()), flush=True)
        return noticed


def read_bugs(folder: Path = TOP / "tests" / "mutations") -> list[Bug]:
    """Every bug of every file, in order."""
    documents = (tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml")))
    return [Bug(**{**bug, "tests": tuple(bug["tests"])}) for document in documents for bug in document["bugs"]]


def begin(bug: Bug, copy: Path, whole_suite: bool) -> Trial:
    """Plant a bug in a copy and start its tests in a fork."""
    path = copy / "src" / "weft" / bug.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(bug.plant(sound), encoding="utf-8")
    pid = os.fork()
    if pid == 0:
        run_tests(copy, ["tests"] if whole_suite else [f"tests/{test}" for test in bug.tests])
    return Trial(bug, copy, sound, pid, time.monotonic())


def run_tests(copy: Path, tests: Sequence[str]) -> None:
    """Run tests with the copy's source in this process, which ends with pytest's exit code."""
    import pytest

    signal.alarm(LONGEST)
    os.chdir(copy)
    said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(said, stream)
    os.environ |= {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(copy / "src"))
    code = 3
    try:
        code = int(pytest.main([*OPTIONS, *tests]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only bugs whose file or name contains one of these")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--suite", action="store_true", help="run the whole suite for each bug")
    options = parser.parse_args()
    waiting = [b for b in read_bugs() if not options.words or any(w in f"{b.file} {b.name}" for w in options.words)]
    total, survived, began = len(waiting), 0, time.monotonic()
    for module in SLOW_IMPORTS:
        importlib.import_module(module)
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder) / str(number) for number in range(options.jobs)]
        for copy in copies:
            shutil.copytree(TOP, copy, ignore=shutil.ignore_patterns(".git", ".*_cache", "__pycache__", "runs"))
        running: dict[int, Trial] = {}
        while waiting or running:
            if waiting and copies:
                trial = begin(waiting.pop(0), copies.pop(), options.suite)
                running[trial.pid] = trial
                continue
            pid, status = os.wait()
            trial = running.pop(pid)
            survived += not trial.finish(status)
            copies.append(trial.copy)
    print(f"{total - survived} of {total} bugs noticed in {(time.monotonic() - began) / 60:.0f} minutes")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
