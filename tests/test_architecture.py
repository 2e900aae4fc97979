"""The house rules, kept by reading the source: who may import whom."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import weft

SOURCE = Path(weft.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# Floors of the house, from the top down; a module imports from its own floor or from one below.
FLOORS = [
    {"cli", "__main__"},
    {"drafting", "reference"},
    {"training", "comparison", "checks", "demo", "examples"},
    {"config", "reports"},
    {"model"},
    {"tasks"},
    {"targets", "conditioning"},
    {"pooling", "heads", "losses", "layers", "checkpoints", "encoder"},
    {"corpus"},
    {"tokenization"},
    {"data", "metrics", "baselines", "sampling", "presets", "tensors"},
    {"spec"},
    {"errors"},
]
WITHOUT_TORCH = {
    "data",
    "tokenization",
    "corpus",
    "metrics",
    "baselines",
    "sampling",
    "presets",
    "spec",
    "errors",
    "cli",
    "drafting",
}
STATISTICS = {
    SOURCE / "comparison" / f"{name}.py" for name in ("resampling", "scale", "crossed", "significance", "verdict")
}
NO_SIBLINGS = {"tasks", "targets", "conditioning", "losses", "sampling", "pooling"}
NEVER = {"transformers", "pickle", "joblib", "requests", "urllib"}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path, everywhere: bool = True) -> list[str]:
    """Modules a file imports; with `everywhere=False` only those imported when the file itself is."""
    tree = ast.parse(path.read_text())
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    nodes = [n for n in (ast.walk(tree) if everywhere else ast.iter_child_nodes(tree)) if n not in typing_only]
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def floor(name: str) -> int:
    return next(level for level, rooms in enumerate(FLOORS) if name in rooms)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_downward_and_stay_within_the_rules(path: Path) -> None:
    here = room(path)
    if here == "__init__":
        return
    for module in imports(path):
        parts = module.split(".")
        assert parts[0] not in NEVER, f"{path} imports {module}"
        if parts[0] == "weft" and len(parts) > 1:
            assert floor(parts[1]) >= floor(here), f"{here} imports upward: {module}"
            beside = parts[1] == here and len(parts) > 3 and parts[2] != "base"  # `base/` is there to be shared
            if here in NO_SIBLINGS and path.name != "__init__.py" and beside:
                raise AssertionError(f"{path} imports its sibling {module}")
    if here in WITHOUT_TORCH or path in STATISTICS:
        assert not [m for m in imports(path, everywhere=here != "cli") if m.split(".")[0] == "torch"], path


def test_every_room_is_on_a_floor() -> None:
    known = set().union(*FLOORS) | {"__init__"}
    assert {room(path) for path in FILES} <= known


def test_nothing_prints_or_evaluates() -> None:
    for path in FILES:
        calls = [
            n.func.id
            for n in ast.walk(ast.parse(path.read_text()))
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        ]
        assert not {"print", "eval", "exec"} & set(calls), path


def defined_types(path: Path) -> set[str]:
    """The names of the classes and type aliases of a file, without a leading underscore."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name.lstrip("_") for name in names if name.lstrip("_")[:1].isupper() and not name.isupper()}


def test_no_name_is_that_of_two_classes_or_types() -> None:
    files = defaultdict(list)
    for path in FILES:
        for name in defined_types(path):
            files[name].append(str(path.relative_to(SOURCE)))
    assert not {name: found for name, found in files.items() if len(found) > 1}
