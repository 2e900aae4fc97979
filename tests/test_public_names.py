"""What `weft` offers: the names users and plugins rely on, their types, and nothing whose type has no name there."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import weft
from weft.encoder.attention import SelfAttention

RELIED_ON = {
    *("Model", "TextEncoder", "load", "load_encoder", "train", "zero_shot"),
    *("CheckpointError", "ConfigError", "DataError", "TruncationWarning", "WeftError"),
    *("Conditioning", "Head", "Loss", "Pooler", "Sampler", "Spec", "Target", "Task"),
    *("Batch", "Example", "Input", "Scores", "States"),
}
SCRIPT = """
import weft

model = weft.load("folder", device="cpu")
reveal_type(model)
reveal_type(weft.load_encoder("minilm"))
reveal_type(weft.train({}, "out"))
reveal_type(model.tasks)
reveal_type(model.inspect("text", task="t").rows[0].texts[0].words[0].attention)


class Half(weft.Loss):
    def build(self, counts: object, rows: int | None = None) -> weft.LossFunction:
        return lambda scores, targets: scores.mean() / 2


try:
    model.save("elsewhere")
except weft.CheckpointError as error:
    reveal_type(error.missing)
weft.load(3)
weft.nothing
"""
ONLY_FOR_TYPES = {"SelfAttention": SelfAttention, "array": list}  # what annotations name but cannot be evaluated
TYPES = [
    "weft.model.model.Model",
    "weft.model.embed.TextEncoder",
    "weft.model.model.Model",
    "list[str]",
    "float",
    "tuple[str, ...]",
]


def test_the_public_names_are_sorted_resolve_and_are_the_same_to_type_checkers() -> None:
    assert weft.__all__ == sorted(weft.__all__)
    assert set(weft.__all__) >= RELIED_ON
    assert dir(weft) == weft.__all__
    tree = ast.parse(Path(weft.__file__).read_text(encoding="utf-8"))
    typed = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed - {"annotations", "import_module", "TYPE_CHECKING", "Any"} == set(weft.__all__)
    for name in weft.__all__:
        value = getattr(weft, name)
        assert not str(getattr(value, "__module__", "")).startswith("weft.") or value.__name__ == name
    with pytest.raises(AttributeError, match="public names"):
        _ = weft.nothing  # type: ignore[attr-defined]


def functions_of(value: Any) -> Iterator[Any]:
    """What of a public name has annotations: a function itself, a class's public methods, properties and fields."""
    if inspect.isfunction(value):
        yield value
    elif inspect.isclass(value):
        if dataclasses.is_dataclass(value) or issubclass(value, weft.Spec):
            yield value
        for name, member in list(vars(value).items()):  # a Spec is completed when it is first looked at
            method = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(method):
                yield method


def classes_in(hint: Any) -> Iterator[type]:
    """All classes of a type."""
    for part in (get_origin(hint), hint):
        if inspect.isclass(part):
            yield part
    for part in get_args(hint):
        yield from (found for one in (part if isinstance(part, list) else [part]) for found in classes_in(one))


def test_whatever_the_public_names_take_and_give_has_a_public_name_too() -> None:
    unnamed = set()
    for name in weft.__all__:
        for annotated in functions_of(getattr(weft, name)):
            hints = get_type_hints(annotated, localns=ONLY_FOR_TYPES)
            found = {one for key, hint in hints.items() if not key.startswith("_") for one in classes_in(hint)}
            own = {one for one in found if one.__module__.startswith("weft.")}
            unnamed |= {f"{name}: {one.__name__}" for one in own if one.__name__ not in weft.__all__}
    assert not unnamed, "name them in weft/__init__.py"


def test_a_users_script_is_checked_by_mypy_with_all_types_known(tmp_path: Path) -> None:
    script, settings = tmp_path / "script.py", tmp_path / "mypy.ini"
    script.write_text(SCRIPT)
    others = ("torch", "numpy", "accelerate", "safetensors", "tokenizers", "rich", "sklearn", "scipy", "pyarrow")
    settings.write_text(
        "[mypy]\nstrict = True\n[mypy-weft.*]\nignore_errors = True\n"
        + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in others)  # for speed
    )
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", tmp_path / "cache", script]
    environment = {**os.environ, "MYPYPATH": str(Path(weft.__file__).parents[1])}
    out = subprocess.run(command, capture_output=True, text=True, env=environment, check=False).stdout
    *revealed, wrong, unknown, _ = [line.partition(": ")[2].replace("builtins.", "") for line in out.splitlines()]
    assert revealed == [f'note: Revealed type is "{one}"' for one in TYPES]
    assert wrong.startswith('error: Argument 1 to "load" has incompatible type')
    assert unknown == 'error: Module has no attribute "nothing"  [attr-defined]'
