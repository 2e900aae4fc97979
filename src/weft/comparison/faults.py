"""The faults of a grid and of its many arms, each told once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.comparison.arms import Arm
from weft.errors import Fault

_SHOWN = 3  # arms named one by one before the rest are only counted


class GridFaults:
    """What is wrong with a grid and its arms: what several have is told once, as the base's where it is from there."""

    def __init__(self, arms: Sequence[Arm], base: Mapping[str, Any]) -> None:
        self.arms, self.base = arms, base
        self._own: dict[Fault, None] = {}
        self._found: dict[Fault, dict[str, Arm]] = {}

    def add(self, *faults: Fault) -> None:
        """Note what is wrong with the grid file itself."""
        self._own |= dict.fromkeys(faults)

    def add_to(self, arm: Arm, fault: Fault) -> None:
        """Note what is wrong at a path of an arm's config."""
        self._found.setdefault(fault, {})[arm.place] = arm

    def has(self, arm: Arm) -> bool:
        """Whether anything is wrong with an arm."""
        return any(arm.place in places for places in self._found.values())

    def told(self) -> list[Fault]:
        """Every fault with the place it is to be mended at."""
        return [*self._own, *(self._tell(fault, list(places.values())) for fault, places in self._found.items())]

    def _tell(self, fault: Fault, arms: Sequence[Arm]) -> Fault:
        path = fault.path.removeprefix("config")
        known = "(" not in path  # but for a key that is only measured, which cannot be looked up
        if known and len(arms) == len(self.arms) and all(self._inherits(arm, path) for arm in arms):
            return Fault(_join("base", path), fault.message)
        others = [arm.place for arm in arms[1:]]
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        also = f" (also in {', '.join(others[:_SHOWN])}{more})" if others else ""
        return Fault(_join(arms[0].place, path), fault.message + also)

    def _inherits(self, arm: Arm, path: str) -> bool:
        """Whether an arm has what is at a path from the base."""
        return bool(_value(arm.document, path) == _value(self.base, path))


def _join(*parts: str) -> str:
    return ".".join(filter(None, parts))


def _value(document: Any, path: str) -> Any:
    """What a document holds at a dotted path; None where it does not go so far."""
    for key in filter(None, path.split(".")):
        if not isinstance(document, Mapping) or key not in document:
            return None
        document = document[key]
    return document
