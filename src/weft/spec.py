"""Spec: every choice a user can make, as a small frozen class that names its `kind`.

A room of choices (`losses`, `pooling`, `sampling`, …) has one root class in its `__init__.py`, and one file per choice:

    class Loss(Spec, root=True): ...                 # weft/losses/__init__.py

    class Focal(Loss):                               # weft/losses/focal.py
        kind: Literal["focal"] = "focal"
        gamma: float = 2.0

Wherever a config asks for a `Loss`, it takes `{kind = "focal", gamma = 1.0}`, or just `"focal"`. Subclassing is
registering; the room's files, and the modules that installed packages name in the entry point group `weft.kinds`, are
imported once, when a kind is first looked up. Two classes of one kind are refused. There is no other registry.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sized
from difflib import get_close_matches
from functools import cache
from importlib.metadata import distributions
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from weft.errors import ConfigError, Fault, kind_of

PLUGINS = "weft.kinds"  # the group of entry points by which an installed package adds kinds

WHOLE = "config"  # the path of a fault that is about no single key
_LONGEST_KEY = 40  # characters of a key that is shown though it is no plain name
_ABOUT_KEY = "[key]"  # what pydantic puts behind a key that is at fault itself
_EXPECTED = {
    **dict.fromkeys(("dict_type", "mapping_type", "model_type"), "should be a table"),
    **dict.fromkeys(("list_type", "tuple_type"), "should be a list"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "should be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "should be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "should be true or false"),
    "string_type": "should be a text",
}  # by pydantic's kind of fault


class Spec(BaseModel):
    """A frozen set of options; unknown options are faults."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False, defer_build=True)

    renamed: ClassVar[Mapping[str, str]] = {}  # older names of its options, which stay readable, and today's
    example: ClassVar[Mapping[str, Any]] = {}  # options that the reference shows as an example; the defaults if empty

    _root: ClassVar[type[Spec] | None] = None
    _registered: ClassVar[dict[str, type[Spec]]] = {}
    _complete: ClassVar[bool] = False  # whether everything that may register has been imported

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()  # `root` is for pydantic's later call below, when the fields are known

    @classmethod
    def __pydantic_init_subclass__(cls, root: bool = False, **kwargs: Any) -> None:
        if root:
            cls._root, cls._registered, cls._complete = cls, {}, False
        elif cls._root is not None and "kind" in cls.model_fields:
            cls._root._register(cls)

    @classmethod
    def _register(cls, spec: type[Spec]) -> None:
        kind = spec.model_fields["kind"].default
        first = cls._registered.setdefault(kind, spec)
        if _full_name(first) != _full_name(spec):
            raise ConfigError(
                f"{cls.__name__} has two classes of the kind {kind!r}: {_full_name(first)} and {_full_name(spec)}; "
                "give one of them another kind"
            )
        cls._registered[kind] = spec  # the same class anew, where its module is imported once more

    @classmethod
    def kinds(cls) -> dict[str, type[Self]]:
        """Every kind of this root, by name."""
        assert cls._root is not None, f"{cls.__name__} has no kinds"
        if not cls._root._complete:
            _import_all(sys.modules[cls._root.__module__])
            _load_plugins()
            cls._root._complete = True
        return dict(sorted(cls._registered.items()))  # type: ignore[arg-type]

    @model_validator(mode="wrap")
    @classmethod
    def _choose(cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """On a root, hand over to the class of the `kind`; elsewhere, say which keys are allowed."""
        if isinstance(value, cls):
            return handler(value)
        if cls._root is cls:
            value = {"kind": value} if isinstance(value, str) else value
            return cls._of_kind(value.get("kind") if isinstance(value, dict) else None).model_validate(
                value, context=info.context
            )
        value, faults = cls._with_new_names(value, info.context)
        try:
            spec = handler(value)
        except ValidationError as error:
            allowed = [field.alias or name for name, field in cls.model_fields.items()]
            faults += [_explain(fault, allowed) for fault in error.errors()]
        if faults:
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return spec

    @classmethod
    def _with_new_names(cls, value: Any, seen: dict[str, str] | None) -> tuple[Any, list[InitErrorDetails]]:
        """The options under today's names, and a fault for each that is given under both; adds old names to `seen`."""
        if not isinstance(value, Mapping):
            return value, []
        table = {old: new for base in cls.__mro__ for old, new in vars(base).get("renamed", {}).items() if old in value}
        if seen is not None:
            seen.update(table)
        faults = [
            InitErrorDetails(
                type=_fault(f"is the old name of {new}, which is given too; remove one of them"), loc=(old,), input=None
            )
            for old, new in table.items()
            if new in value
        ]
        return {table.get(key, key): content for key, content in value.items()}, faults

    @classmethod
    def _of_kind(cls, kind: Any) -> type[Self]:
        kinds = cls.kinds()
        if kind is None:
            raise _fault(f"kind is missing; allowed: {', '.join(kinds)}")
        if not isinstance(kind, str) or kind not in kinds:
            raise _fault(f"kind {describe(kind)} is not one of: {', '.join(kinds)}{nearest(kind, kinds)}")
        return kinds[kind]

    @classmethod
    def explained(cls) -> dict[str, str]:
        """The docstring of every option that has one, by name; read from the source only when somebody asks."""
        found: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            if issubclass(base, Spec):
                found |= {name: text for name, text in _docstrings(base) if name in cls.model_fields}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `model_validate` builds an equal Spec; options that are None are left out."""
        return self.model_dump(mode="json", exclude_none=True, serialize_as_any=True, by_alias=True)


S = TypeVar("S", bound=Spec)


def _docstrings(spec: type[Spec]) -> Iterator[tuple[str, str]]:
    """The options that a class itself adds, each with the text that stands below it."""
    (body,) = ast.parse(dedent(inspect.getsource(spec))).body
    assert isinstance(body, ast.ClassDef)
    for option, text in pairwise(body.body):
        match option, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                yield name, inspect.cleandoc(words)


def _full_name(spec: type[Spec]) -> str:
    return f"{spec.__module__}.{spec.__qualname__}"


def _import_all(package: ModuleType) -> None:
    """Import every file of a package, so that its classes register."""
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        importlib.import_module(f"{package.__name__}.{module.name}")


@cache
def _load_plugins() -> None:
    """Import what installed packages name in the group `weft.kinds`.

    The working folder is no place of installed packages, although `python -m` puts it on the path.
    """
    folders = [folder for folder in sys.path if folder and Path(folder).resolve() != Path.cwd()]
    for package in distributions(path=folders):
        for entry in package.entry_points.select(group=PLUGINS):
            try:
                entry.load()
                for root in Spec.__subclasses__():  # what it collides with need not have been imported yet
                    if root._root is root:
                        _import_all(sys.modules[root.__module__])
            except Exception as error:
                raise ConfigError(
                    f"the plugin {entry.name!r} ({entry.value}) of the package {package.name} cannot be loaded "
                    f"({type(error).__name__}: {error}); update the package, or uninstall it"
                ) from error


def parse(spec: type[S], data: Any, renamed: dict[str, str] | None = None) -> S:
    """Build a Spec, or raise one ConfigError that names every fault by its dotted path.

    Old names of options are read as the new ones; `renamed` receives those that occurred, with their new names.
    """
    try:
        return spec.model_validate(data, context=renamed)
    except ValidationError as error:
        raise ConfigError(*map(_located, error.errors())) from None


def _located(fault: ErrorDetails) -> Fault:
    message = fault["msg"].removeprefix("Value error, ")
    return Fault(dotted(fault["loc"]) or WHOLE, message, fault.get("ctx", {}).get("unknown_key", False))


def _explain(fault: ErrorDetails, allowed: list[str]) -> InitErrorDetails:
    """A fault in our own words; what has been explained further inside stays as it is."""
    message = fault["msg"].removeprefix("Value error, ")
    unknown_key = fault["type"] == "extra_forbidden" or fault.get("ctx", {}).get("unknown_key", False)
    if fault["type"] == "extra_forbidden":
        name = fault["loc"][-1]
        message = f"unknown key{nearest(name, allowed) or '; allowed: ' + ', '.join(allowed)}"
    elif fault["type"] == "missing":
        message = "is required"
    elif fault["type"] not in ("weft", "value_error"):
        expected = _EXPECTED.get(fault["type"]) or f"{message[:1].lower()}{message[1:]}"
        message = f"{expected}; received {describe(fault['input'])}"
    return InitErrorDetails(type=_fault(message, unknown_key), loc=fault["loc"], input=fault["input"])


def _fault(message: str, unknown_key: bool = False) -> PydanticCustomError:
    return PydanticCustomError("weft", "{message}", {"message": message, "unknown_key": unknown_key})


def describe(value: Any) -> str:
    """A choice as a message may show it; what is no choice may be rows of users' texts, and is only measured."""
    if not isinstance(value, str | int | float | None):
        return f"{kind_of(value)}" + (f" of {len(value):,}" if isinstance(value, Sized) else "")
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        text = f"a large {type(value).__name__}"
    return text if len(text) <= 60 else f"{kind_of(value)} of {len(text):,} characters"


def dotted(path: Iterable[int | str]) -> str:
    """The keys on the way to a fault; what is long or holds blanks may be a user's text, and is only measured.

    That a fault is about a key and not about what it holds, the message says.
    """
    return ".".join(
        str(key) if isinstance(key, int) or re.fullmatch(r"[\w.-]+", key) else _shown_key(key)
        for key in path
        if key != _ABOUT_KEY
    )


def _shown_key(key: str) -> str:
    """A key in quotes, as TOML has it, where it is short and has no blank; else its length."""
    short = 0 < len(key) <= _LONGEST_KEY and key.isprintable() and not re.search(r"\s", key)
    return f'"{key}"' if short else f"(a key of {len(key)} characters)"


def nearest(name: Any, allowed: Iterable[Any]) -> str:
    """`; did you mean 'x'?` where one of the allowed names is near, else nothing."""
    close = get_close_matches(str(name), [str(a) for a in allowed], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
