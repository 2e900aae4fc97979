"""Where sentences end.

The splitter looks at marks and capitals only. It knows the common English abbreviations, initials and the full stops of
Chinese and Japanese; elsewhere it errs towards longer sentences where no capital follows, and that does no harm to
pretraining.
"""

from __future__ import annotations

import re

# Possessive throughout, so that no text, however odd, is gone through more than a few times.
_END = re.compile(
    r"""
    (?<![.!?…]) (?P<mark>[.!?…]++) ["'”’»)\]]*+        # marks, and what closes with them
    (?=\s++ ["'“‘«(\[¿¡–—-]*+ (?P<next>\w))            # then a blank, and a word that something may open
    | [。！？]++ [”’」』）]*+                             # marks that need no blank after them
    | (?<!\n) \n++                                     # a line's end
    """,
    re.VERBOSE,
)
_LONGEST = 8  # letters of an abbreviation, and more
_TITLES = frozenset(
    (
        "adm",
        "capt",
        "cmdr",
        "col",
        "dr",
        "fr",
        "gen",
        "gov",
        "hon",
        "lt",
        "maj",
        "messrs",
        "mlle",
        "mme",
        "mr",
        "mrs",
        "ms",
        "msgr",
        "mt",
        "pres",
        "prof",
        "rep",
        "rev",
        "sen",
        "sgt",
        "st",
        "vs",
    )
)
_BEFORE_NUMBERS = frozenset(
    (
        "approx",
        "apr",
        "art",
        "aug",
        "ca",
        "ch",
        "dec",
        "ed",
        "feb",
        "fig",
        "figs",
        "jan",
        "jul",
        "jun",
        "mar",
        "no",
        "nos",
        "nov",
        "oct",
        "p",
        "pp",
        "sec",
        "sep",
        "sept",
        "vol",
    )
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with the blanks before it; joined, they are the text again.

    A sentence ends with a line, and at . ! ? … before a blank and a capital, a digit or a letter without case. A full
    stop after an initial, a title or (before a digit) an abbreviation such as "No." ends nothing.
    """
    cuts = [match.end() for match in _END.finditer(text) if _ends(match)]
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in pieces if piece]


def _ends(match: re.Match[str]) -> bool:
    following = match["next"]
    if following is None:
        return True
    if following.islower() or following == "_":
        return False
    if match["mark"] != ".":
        return True
    word = _word_before(match.string, match.start())
    if len(word) == 1 and word.isupper() and word != "I":  # an initial
        return False
    if word.lower() in _TITLES:
        return False
    return not (following.isdigit() and word.lower() in _BEFORE_NUMBERS)


def _word_before(text: str, end: int) -> str:
    """The letters that end here, as far back as matters for an abbreviation."""
    start = end
    while start > max(0, end - _LONGEST) and text[start - 1].isalnum():
        start -= 1
    return text[start:end]
