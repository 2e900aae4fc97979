"""Other spellings of labels, as a config maps them before anything else sees an answer."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, model_validator

from weft.tasks import Task


def _tidy(spellings: dict[str, str]) -> dict[str, str]:
    tidied = {name.strip(): label.strip() for name, label in spellings.items()}
    if "" in tidied:
        raise ValueError("a blank cell is no answer already; leave the empty spelling out")
    return tidied


SpellingsOption = Annotated[dict[str, str], AfterValidator(_tidy)]


class SpelledTask(Task):
    """A kind whose answers are labels that files may spell in several ways."""

    labels: tuple[str, ...] | None = None
    """All labels in order; those that occur in training by default."""
    map: SpellingsOption | None = None
    """Other spellings of labels, mapped before anything else: {pos = "positive", "N/A" = ""}; "" is no answer."""

    @model_validator(mode="after")
    def _known_spellings(self) -> Self:
        """Refuse spellings of labels that the config does not list, where it lists any."""
        given = (self.map or {}).values()
        if unknown := [repr(label) for label in given if label and self.labels and label not in self.labels]:
            raise ValueError(f"map gives {', '.join(unknown)}, which labels does not list")
        return self

    def other_spellings(self) -> Collection[str]:
        return self.map or ()

    def respelling(self, spellings: Mapping[str, str]) -> str:
        pairs = {**(self.map or {}), **spellings}.items()
        listed = ", ".join(f"{_quoted(other)} = {_quoted(label)}" for other, label in pairs)
        return f"map = {{ {listed} }}" if spellings else ""

    def respell(self, cell: Any) -> tuple[Any, list[str]]:
        return respell(cell, self.map or {})


def respell(cell: Any, spellings: Mapping[str, str], separator: str | None = None) -> tuple[Any, list[str]]:
    """The cell with every label as the config spells it, and the spellings that were found.

    A whole cell that is spelled as nothing is blank: no answer. With a `separator`, a text or a list may hold several
    labels, of which each is looked at; one that is spelled as nothing is left out.
    """
    if not spellings or isinstance(cell, dict):
        return cell, []
    if not isinstance(cell, list | tuple):
        whole = _spelled(cell)
        if whole in spellings:
            return spellings[whole], [whole]
    if separator is None or not (isinstance(cell, list | tuple) or separator in str(cell)):
        return cell, []
    parts = list(cell) if isinstance(cell, list | tuple) else str(cell).split(separator)
    found = [name for part in parts if (name := _spelled(part)) in spellings]
    return ([spellings.get(_spelled(part), part) for part in parts] if found else cell), found


def _quoted(label: str) -> str:
    return json.dumps(label, ensure_ascii=False)  # a key and a text of TOML


def _spelled(value: Any) -> str:
    return str(value).strip()
