"""The list of planted bugs stays true to the source; planting them all takes minutes and is done by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import weft
from mutations import Bug, read_bugs

SOURCE, TESTS = Path(weft.__file__).parent, Path(__file__).parent
BUGS = read_bugs()


def test_every_bug_can_be_planted_in_exactly_one_place() -> None:
    sources = {bug.file: (SOURCE / bug.file).read_text(encoding="utf-8") for bug in BUGS}
    for bug in BUGS:
        planted = bug.plant(sources[bug.file])
        if bug.file.endswith(".py"):
            compile(planted, bug.file, "exec")


def test_every_bug_has_a_name_of_its_own_and_tests_that_exist() -> None:
    assert not [name for name, times in Counter(bug.name for bug in BUGS).items() if times > 1]
    for bug in BUGS:
        assert bug.tests, bug.name
        for test in bug.tests:
            file, _, name = test.partition("::")
            assert f"def {name.partition('[')[0]}" in (TESTS / file).read_text(encoding="utf-8"), test


def test_a_bug_that_fits_nowhere_or_changes_nothing_is_refused() -> None:
    for source, old, new in (("a", "b", "c"), ("a a", "a", "b"), ("a", "a", "a")):
        with pytest.raises(ValueError, match="x: "):
            Bug("x", "f.py", old, new, ("t.py",)).plant(source)
