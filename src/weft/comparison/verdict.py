"""One of four words for each difference of a table: the only place where weft calls a method better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Literal

from weft.comparison.crossed import PairedDifference, unseen
from weft.comparison.scale import Scale
from weft.comparison.significance import holm

Decision = Literal["better", "worse", "equivalent", "cannot tell"]


def judge(
    differences: Sequence[PairedDifference], seeds: int, equivalence: float = 0.005, level: float = 0.05
) -> list[tuple[float, Decision] | tuple[None, None]]:
    """The adjusted p and the word for every difference of a table, all variants, tasks and sizes together.

    A difference has to convince twice: with these rows over seeds (sign flips), and over other seeds and rows. One
    that lies within the region of practical equivalence is equivalent, however surely it is not 0, if there are rows
    enough to have shown more. With one seed nothing is known about other seeds, so there is no word.
    """
    if seeds < 2:
        return [(None, None)] * len(differences)
    adjusted = holm([_decisive_p(one) for one in differences])
    return [(p, _word(one, p, equivalence * one.unit, level)) for one, p in zip(differences, adjusted, strict=True)]


def rows_needed(equivalence: float) -> int:
    """The fewest rows that can show two methods to be equivalent on a scale up to 1, should they never differ."""
    fewest = math.ceil(2.7 / equivalence)  # a little less than `unseen` asks for
    return next(rows for rows in count(fewest) if unseen(rows, Scale(0, 1)).reach <= equivalence)


def _decisive_p(difference: PairedDifference) -> float:
    both = (difference.p_seeds, difference.p_crossed)
    return 1.0 if any(map(math.isnan, both)) else max(both)


def _word(difference: PairedDifference, p: float, margin: float, level: float) -> Decision:
    if -margin <= difference.low and difference.high <= margin and difference.finest <= margin:
        return "equivalent"
    if p <= level and difference.low > 0:
        return "better"
    if p <= level and difference.high < 0:
        return "worse"
    return "cannot tell"
