"""Characters: halves that no file can hold, and texts as keys for duplicates."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable


def holds_half_character(text: str) -> bool:
    """Whether a text holds a lone surrogate, which JSON can spell and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def normalise(text: str) -> str:
    """The text as a key for duplicates: NFKC, lower case, every run of punctuation and blanks one space.

    Invisible formatting characters go; symbols and emoji stay. A text of nothing but punctuation keeps it, since ":)"
    and ":(" are not the same.
    """
    visible = text.translate(_WITHOUT_FORMATTING)
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).lower())
    words = plain.translate(_WITHOUT_PUNCTUATION).split()
    return " ".join(words or plain.split())


class _Replacements(dict[int, str | None]):
    """What each character becomes, found out when it is first met: `str.translate` is quick only with a table."""

    def __init__(self, replaced: Callable[[str], bool], by: str | None) -> None:
        self.replaced, self.by = replaced, by

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        self[code] = self.by if self.replaced(character) else character
        return self[code]


_WITHOUT_FORMATTING = _Replacements(lambda character: unicodedata.category(character) == "Cf", None)
_WITHOUT_PUNCTUATION = _Replacements(lambda character: unicodedata.category(character)[0] in "PZ", " ")
