"""Plants the bugs of `tests/mutations/*.toml` one at a time and shows that the tests named beside each one fail.

    python tests/mutations.py                 # all of them
    python tests/mutations.py warm-up clip    # those whose name contains one of these words
    python tests/mutations.py --suite warm-up # against the whole suite instead of the named tests

The bugs are planted in a copy of the source; nothing in the checkout changes. Ends with 1 where a bug survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

TOP = Path(__file__).parent.parent
LONGEST = 600  # seconds; a bug that makes the tests run for ever is noticed, too


@dataclass(frozen=True)
class Bug:
    """One change of the source that must not go unnoticed."""

    name: str
    file: str  # below src/weft
    old: str  # occurs there exactly once
    new: str
    tests: tuple[str, ...]  # as pytest takes them, below tests/

    def plant(self, source: str) -> str:
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} has {source.count(self.old)} places like {self.old!r}")
        if self.new == self.old:
            raise ValueError(f"{self.name}: changes nothing")
        return source.replace(self.old, self.new)


def read_bugs(folder: Path = TOP / "tests" / "mutations") -> list[Bug]:
    """Every bug of every file, in order."""
    documents = (tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml")))
    return [Bug(**{**bug, "tests": tuple(bug["tests"])}) for document in documents for bug in document["bugs"]]


@contextmanager
def planted(bug: Bug, copy: Path) -> Iterator[None]:
    """The copy with the bug in it, and afterwards without."""
    path = copy / "src" / "weft" / bug.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(bug.plant(sound), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(sound, encoding="utf-8")


def run_tests(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """The exit code of pytest with the copy's source, and the end of what it said."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    command = [sys.executable, "-B", "-m", "pytest", *options, *(f"tests/{test}" for test in tests)]
    env = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return 1, "did not end"
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return done.returncode, "\n".join(lines[-3:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only bugs whose name contains one of these")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--suite", action="store_true", help="run the whole suite for each bug")
    options = parser.parse_args()
    bugs = [bug for bug in read_bugs() if not options.words or any(word in bug.name for word in options.words)]
    copies: SimpleQueue[Path] = SimpleQueue()

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.jobs):
            copy = Path(folder) / str(number)
            shutil.copytree(TOP, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "runs", "weft-demo*"))
            copies.put(copy)

        def try_bug(bug: Bug) -> tuple[Bug, int, str, float]:
            copy, began = copies.get(), time.monotonic()
            try:
                with planted(bug, copy):
                    code, said = run_tests(copy, ["."] if options.suite else bug.tests)
            finally:
                copies.put(copy)
            return bug, code, said, time.monotonic() - began

        survived = 0
        for bug, code, said, seconds in pool.map(try_bug, bugs):
            noticed = code == 1
            survived += not noticed
            print(f"{'noticed ' if noticed else 'SURVIVED' if code == 0 else 'BROKEN  '} {seconds:4.0f} s  {bug.name}")
            if not noticed:
                print(f"          {said}")
            sys.stdout.flush()
    print(f"{len(bugs) - survived} of {len(bugs)} bugs noticed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
