"""A kind that nobody told the contract tests of is covered by them as soon as it is registered."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OPTIONS = ("coins", "coins tail")


def run_contracts(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The contract tests in a process in which `coins.py` has been imported, as a plugin is."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "coins", "-p", "no:cacheprovider"]
    paths = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [*command, str(HERE / "test_tasks.py"), *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_new_target_and_task_in_one_file_are_covered_with_the_options_they_name_and_pass() -> None:
    tried = run_contracts("-rA", "-k", "coins and not seed and not random")
    assert tried.returncode == 0, tried.stdout
    passed = set(re.findall(r"PASSED \S*test_tasks\.py::(test_\w+\[[^]]+\])", tried.stdout))
    quick = {name.partition("[")[0] for name in passed}
    assert {
        f"{name}[{options}]" for name in quick - {"test_it_learns_32_rows_by_heart"} for options in OPTIONS
    } <= passed
    assert len(quick) >= 7


def test_without_it_there_is_no_such_kind() -> None:
    assert "coins" not in (HERE / "test_tasks.py").read_text(encoding="utf-8")
    listed = subprocess.run(
        [sys.executable, "-c", "from weft.tasks import Task; print('coins' in Task.kinds())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout.strip() == "False"
