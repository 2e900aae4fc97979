"""What variants are called: names that tables, pages and folders can show, and values of axes in few words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LONGEST_NAME = 80  # characters
_LONGEST_LABEL = 40  # of a value on an axis


def is_name(name: str) -> bool:
    """Whether a variant may be called so."""
    return len(name) <= LONGEST_NAME and re.fullmatch(r"\w([\w .,:/+()=%-]*[\w)+%])?", name) is not None


def shown_name(name: str) -> str:
    """A name, as far as it is one; anything else may be a user's text, and is only measured."""
    return name if re.fullmatch(r"[\w .,:/+()=%-]{1,200}", name) else f"(a name of {len(name)} characters)"


def axis_labels(axes: Mapping[str, list[Any]]) -> dict[str, list[str]]:
    """What each value of each axis is called: by itself where that says enough, else with the end of its key."""
    plain = {key: [_label(value, number) for number, value in enumerate(values, 1)] for key, values in axes.items()}
    unnamed = [
        key for key, values in axes.items() if not all(isinstance(value, str | Mapping | list) for value in values)
    ]
    labels = {}
    for key, values in axes.items():
        others = {label for other, theirs in plain.items() if other != key for label in theirs}
        lone = unnamed == [key] and all(isinstance(value, float) for value in values)
        clear = (lone or key not in unnamed) and not others & set(plain[key])
        labels[key] = plain[key] if clear else [f"{_tail(key, axes)} {label}" for label in plain[key]]
    return labels


def _label(value: Any, number: int) -> str:
    """A value in few words, or its number where these are too many to be a name."""
    shown = _shown(value)
    return shown if len(shown) <= _LONGEST_LABEL and is_name(shown) else f"no. {number}"


def _tail(key: str, axes: Mapping[str, Any]) -> str:
    """The shortest end of a dotted key that no other axis has."""
    parts = key.split(".")
    others = [other.split(".") for other in axes if other != key]
    lengths = range(1, len(parts) + 1)
    return ".".join(next((parts[-n:] for n in lengths if all(o[-n:] != parts[-n:] for o in others)), parts))


def _shown(value: Any) -> str:
    """A value in few words: the kind of a table with its options, the kinds of a list, `5e-5` for a small number."""
    if isinstance(value, Mapping):
        options = ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items() if key != "kind")
        return " ".join(filter(None, (str(value.get("kind", "")), f"({options})" if options else "")))
    if isinstance(value, list | tuple):
        return "+".join(map(_shown, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return re.sub(r"e([+-])0*", r"e\1", str(value)) if isinstance(value, float) else str(value)
