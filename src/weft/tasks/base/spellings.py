"""Other spellings of labels, as a config maps them before anything else sees an answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator


def _tidy(spellings: dict[str, str]) -> dict[str, str]:
    tidied = {name.strip(): label.strip() for name, label in spellings.items()}
    if "" in tidied:
        raise ValueError("a blank cell is no answer already; leave the empty spelling out")
    return tidied


SpellingsOption = Annotated[dict[str, str], AfterValidator(_tidy)]


def check_spellings(spellings: Mapping[str, str], labels: Collection[str] | None) -> None:
    """Raise ValueError for spellings of labels that the config does not list, where it lists any."""
    unknown = [label for label in spellings.values() if label and labels and label not in labels]
    if unknown:
        raise ValueError(f"map gives {', '.join(map(repr, unknown))}, which labels does not list")


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


def _spelled(value: Any) -> str:
    return str(value).strip()
