"""What is read of a label before any row has it: its description, or the words in its name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from weft.data.unicode import holds_half_character
from weft.errors import ConfigError, kind_of

_BETWEEN_WORDS = re.compile(r"_+|(?<=[^\W\d_])-(?=[^\W\d_])")  # a hyphen beside a digit may be a minus, as in covid-19


def label_texts(labels: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """What is read of each label, by its name: its description, or where that is blank the words in its name.

    Raises one ConfigError about all labels that cannot be; these are called by their numbers, since somebody may have
    named a file of texts.
    """
    pairs = [(_stripped(name), _stripped(description or "")) for name, description in labels]
    faults = [f"label {number} {fault}" for number, pair in enumerate(pairs, 1) if (fault := _fault(*pair))]
    names = [name for name, _ in pairs if isinstance(name, str) and name]
    faults += [
        f"label {number} is the same as label {first}; name each label once"
        for number, (name, _) in enumerate(pairs, 1)
        if name in names and (first := next(n for n, (other, _) in enumerate(pairs, 1) if other == name)) < number
    ]
    if len(pairs) < 2:
        faults.append(f"received {len(pairs)} label{'' if len(pairs) == 1 else 's'}; give at least two to choose among")
    if faults:
        raise ConfigError(*faults)
    return {name: description or label_words(name) or name for name, description in pairs}


def label_words(name: str) -> str:
    """A label's name as words: underscores, hyphens between letters and borders of CamelCase become blanks.

    Case is kept. Capitals that stand together are one word (`PINBlocked` is `PIN Blocked`), and a single small letter
    before a capital is no word of its own (`iPhone`, `mRNA`).
    """
    spaced = _BETWEEN_WORDS.sub(" ", name)
    parts = (f" {letter}" if _begins_word(spaced, place) else letter for place, letter in enumerate(spaced))
    return " ".join("".join(parts).split())


def _begins_word(text: str, place: int) -> bool:
    """Whether the letter at a place is a capital that begins a word although no blank stands before it."""
    if not (place and text[place].isupper()):
        return False
    if text[place - 1].islower():
        return place > 1 and text[place - 2].isalpha()
    following = text[place + 1 : place + 3]  # two, so that `DNAs` stays one word
    return text[place - 1].isupper() and len(following) == 2 and following.isalpha() and following.islower()


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _fault(name: Any, description: Any) -> str | None:
    """What is wrong with a label by itself."""
    if not isinstance(name, str):
        return f"is not a text but {kind_of(name)}; write it in quotes"
    if not isinstance(description, str):
        return f"has a description that is not a text but {kind_of(description)}"
    if not name:
        return "is empty; write a name, or take out what separates it"
    if holds_half_character(name + description):
        return "holds half a character (a lone surrogate); write it as UTF-8"
    return None
