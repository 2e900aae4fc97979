"""Whether texts are in English, which is what the packaged encoder knows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from weft.drafting.names import word_set

_COMMON = word_set(
    "the of and to a in is it that for on with as was i you he she they we be are this have not but or at by from my "
    "what how do does did can could would will if there an your me has had been which who when"
)
_TEXTS, _WORDS = 500, 200  # looked at, and needed to say anything
_LEAST = 0.12  # share of such words; English texts have a third or more, German or French ones a twentieth
_WORD = re.compile(r"[^\W\d_]+")


def seems_english(texts: Iterable[str]) -> bool:
    """Whether the commonest English words make up their share of texts; True where there are too few words to tell."""
    words = [word for text in islice(texts, _TEXTS) for word in _WORD.findall(text[:2000].lower())]
    return len(words) < _WORDS or sum(word in _COMMON for word in words) >= _LEAST * len(words)
