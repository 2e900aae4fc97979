"""What a comparison found, one plain sentence per task, and its numbers as people read them.

Only a cell's verdict makes a sentence say better, worse or equivalent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.reports.comparison_record import CellRecord, ComparisonRecord, Verdict
from weft.reports.summary import listed, number

NAMED = 3  # variants of a verdict that a sentence names
QUICK = "Quick look: few seeds and few rows, so that a whole grid can be tried in minutes. Do not report these numbers."
CONCLUSION: dict[Verdict, str] = {
    "better": "{count} {is_are} better",
    "worse": "{count} {is_are} worse",
    "equivalent": "{count} {is_are} equivalent",
    "cannot tell": "for {count} it cannot be told",
    "": "{count} {is_are} without a verdict yet",
}


def sentences(record: ComparisonRecord) -> dict[str, str]:
    """One sentence per task, about the most training rows that were tried; marked where it is not the last word."""
    return {task: _opening(record) + _found(record, task) + "." for task in record.tasks}


def cautions(record: ComparisonRecord) -> list[str]:
    """What must be said loudly before any number: a quick look, runs that are missing."""
    runs = "run is" if record.unfinished == 1 else "runs are"
    unfinished = f"Unfinished: {record.unfinished:,} {runs} missing, and every number below may still change."
    return [QUICK] * record.quick + [unfinished] * (record.unfinished > 0)


def decidable(record: ComparisonRecord) -> str:
    """What so many seeds can and cannot decide in a table of this size."""
    seeds = most_seeds(record)
    if seeds == 1:
        return "One seed: there are numbers but no verdicts, since nothing says how much another seed would change."
    if record.smallest_p is None or record.seeds_needed is None or not record.comparisons:
        return ""
    held = f"{record.comparisons} comparison{'s' * (record.comparisons != 1)}"
    least = f"the smallest p that {seeds} seeds can give is {p_words(record.smallest_p)}"
    if seeds >= record.seeds_needed:
        return f"{seeds} seeds are enough to call a difference better or worse in a table of {held}: {least}."
    return (
        f"{seeds} seeds can never call a difference better or worse in a table of {held}: {least}, before Holm's"
        f" correction; {record.seeds_needed} would do."
    )


def most_seeds(record: ComparisonRecord) -> int:
    return max([len(record.seeds), *(cell.seeds for cell in record.cells)])


def amount(cell: CellRecord, value: float | None, sign: bool = True) -> str:
    """A difference in points (hundredths), or in the units of a metric that does not end at 1."""
    return "–" if value is None else points(value, sign) if cell.in_points else _signed(f"{value:+.3g}", sign)


def points(value: float, sign: bool = True) -> str:
    """Hundredths, to a tenth: `+2.1`; zero has no sign."""
    return _signed(f"{100 * value:+.1f}", sign)


def amounts(cell: CellRecord, ends: tuple[float, float] | None, sign: bool = True) -> str:
    """The interval of a difference as `−1.2 to +2.5`."""
    return "–" if ends is None else f"{amount(cell, ends[0], sign)} to {amount(cell, ends[1], sign)}"


def unit(cell: CellRecord) -> str:
    return "points" if cell.in_points else cell.metric


def p_words(p: float | None) -> str:
    """A p value to two significant digits, never as 0."""
    return "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def verdict_words(cell: CellRecord) -> str:
    """What stands in the column of verdicts."""
    runs = cell.seeds + cell.diverged
    diverged = f"diverged {cell.diverged} of {runs}" if cell.diverged else ""
    return cell.verdict or diverged or ("base" if cell.is_base else "–")


def size_words(size: int | None) -> str:
    return "all rows" if size is None else f"{size:,} rows"


def _signed(words: str, sign: bool) -> str:
    """A number as people write it: zero has no sign, and a plus stands only where it is asked for."""
    return words.lstrip("+-") if float(words) == 0 else words.lstrip("" if sign else "+").replace("-", "−")


def _opening(record: ComparisonRecord) -> str:
    marks = ["quick look"] * record.quick + ["unfinished"] * (record.unfinished > 0)
    return f"{' and '.join(marks).capitalize()}: on " if marks else "On "


def _found(record: ComparisonRecord, task: str) -> str:
    *smaller, size = record.sizes(task)
    trained = f" with {size_words(size)}" if smaller or size is not None else ""
    base, *others = sorted(record.at(task, size), key=lambda cell: not cell.is_base)
    fell = "".join(f"; {_fell(cell)}" for cell in (base, *others) if cell.diverged)
    return f"{quoted(task)}{trained}, {_held(record, base, others, smaller)}{fell}"


def _held(
    record: ComparisonRecord, base: CellRecord, others: Sequence[CellRecord], smaller: Sequence[int | None]
) -> str:
    """What is said of the variants against the base, but for those that diverged."""
    whole = [cell for cell in others if not cell.diverged]
    known = [cell for cell in whole if cell.difference is not None]
    if not known:
        return _alone(base)
    if max(cell.seeds for cell in known) == 1:
        return _one_seed(base, known)
    if len(others) == 1:
        return f"{_one(record, base, known[0])}{_with_fewer(record, known[0], smaller)}"
    return _many(record, base, whole)


def _fell(cell: CellRecord) -> str:
    runs = cell.seeds + cell.diverged
    return f"training of {quoted(cell.variant)} diverged with {cell.diverged} of {runs} seeds, so it has no verdict"


def _alone(base: CellRecord) -> str:
    if base.mean is None:
        return "nothing is known yet"
    seeds = "one seed" if base.seeds == 1 else f"{base.seeds} seeds"
    interval = f"95 % interval {number(base.low)} to {number(base.high)}; " if base.interval else ""
    reached = f"{quoted(base.variant)} reaches {base.metric} {number(base.mean)} ({interval}{seeds})"
    return f"{reached}; there is nothing to hold it against yet"


def _one_seed(base: CellRecord, others: Sequence[CellRecord]) -> str:
    highest = max(others, key=lambda cell: cell.difference or 0.0)
    side = "above" if (highest.difference or 0.0) * (-1 if highest.lower_is_better else 1) >= 0 else "below"
    which = "" if len(others) == 1 else f", the most favourable of {len(others)} variants,"
    gap = f"{quoted(highest.variant)}{which} lies {_gap(highest)} {side} {quoted(base.variant)}"
    return f"{gap} ({number(highest.mean)} against {number(base.mean)}), but one seed allows no verdict"


def _one(record: ComparisonRecord, base: CellRecord, cell: CellRecord) -> str:
    this, other, seeds = quoted(cell.variant), quoted(base.variant), f"{cell.seeds} seeds"
    ends = f"95 % interval {amounts(cell, cell.difference_interval)}"
    gap = f"the difference is {amount(cell, cell.difference)} {unit(cell)} ({ends}"
    match cell.verdict:
        case "better" | "worse":
            how_much = f"{_gap(cell)} (95 % interval {_gap_ends(cell)}; {seeds})"
            return f"{this} is {cell.verdict} than {other} by {how_much}"
        case "equivalent":
            region = amount(cell, cell.equivalence, sign=False)
            return f"{this} and {other} are equivalent: {gap}, within ±{region}; {seeds})"
        case "cannot tell":
            whether = f"it cannot be told whether {this} is better or worse than {other}"
            return f"{whether}: {gap}; {seeds}), and {_what_would_tell(record, cell)}"
    return f"{this} has no verdict against {other} yet: {gap}; {seeds})"


def _gap(cell: CellRecord) -> str:
    """How much better, or how much worse: without a sign."""
    return f"{amount(cell, abs(cell.difference or 0.0), sign=False)} {unit(cell)}"


def _gap_ends(cell: CellRecord) -> str:
    ends, worse = cell.difference_interval, cell.verdict == "worse"
    return amounts(cell, (-ends[1], -ends[0]) if ends and worse else ends, sign=False)


def _what_would_tell(record: ComparisonRecord, cell: CellRecord) -> str:
    if record.seeds_needed is not None and cell.seeds < record.seeds_needed:
        return f"{cell.seeds} seeds are too few for a verdict in a table of this size: it takes {record.seeds_needed}"
    by_seeds, by_rows = (p is not None and p <= record.level for p in (cell.p_seeds, cell.p_rows))
    wanted = "rows to test on" if by_seeds and not by_rows else "seeds" if by_rows and not by_seeds else ""
    return f"more {wanted or 'seeds or more rows to test on'} may tell"


def _with_fewer(record: ComparisonRecord, cell: CellRecord, sizes: Sequence[int | None]) -> str:
    """The verdicts of the same variant on fewer training rows."""
    found = [
        f"{one.verdict or 'no verdict'} with {one.size:,}"
        for one in record.of(cell.task)
        if one.variant == cell.variant and one.size in sizes and one.size is not None
    ]
    return f"; of fewer rows: {', '.join(found)}" if found else ""


def _many(record: ComparisonRecord, base: CellRecord, cells: Sequence[CellRecord]) -> str:
    few = len(cells) <= NAMED
    groups = [[cell for cell in cells if cell.verdict == verdict] for verdict in CONCLUSION]
    clauses = [clause for group in groups if group for clause in (_by_name(group) if few else [_counted(group)])]
    unclear = [cell for cell in cells if cell.verdict == "cannot tell"]
    hint = f"; {_what_would_tell(record, unclear[0])}" if unclear else ""
    count = "" if few else f"of {len(cells)} variants "
    seeds = max(cell.seeds for cell in cells)
    return f"{count}held against {quoted(base.variant)} over {seeds} seeds, {listed(clauses)}{hint}"


def _by_name(group: Sequence[CellRecord]) -> list[str]:
    """What is said of a few variants that have one verdict."""
    verdict = group[0].verdict
    if verdict in ("better", "worse"):
        return [
            f"{quoted(cell.variant)} is {verdict} by {_gap(cell)} (95 % interval {_gap_ends(cell)})" for cell in group
        ]
    names = listed([quoted(cell.variant) for cell in group])
    return [CONCLUSION[verdict].format(count=names, is_are=_is_are(group))]


def _counted(group: Sequence[CellRecord]) -> str:
    return CONCLUSION[group[0].verdict].format(count=len(group), is_are=_is_are(group)) + _which(group)


def _is_are(group: Sequence[CellRecord]) -> str:
    return "is" if len(group) == 1 else "are"


def _which(group: Sequence[CellRecord]) -> str:
    """The names of a few variants of one verdict; of many the one that differs most, if it differs at all."""
    if group[0].verdict not in ("better", "worse"):
        return f" ({listed([quoted(cell.variant) for cell in group])})" if len(group) <= NAMED else ""
    ranked = sorted(group, key=lambda cell: -abs(cell.difference or 0.0))
    shown = ranked if len(group) < NAMED else ranked[:1]
    gaps = [f"{quoted(cell.variant)} by {_gap(cell)}, 95 % interval {_gap_ends(cell)}" for cell in shown]
    return f" ({'' if len(shown) == len(group) else 'most: '}{'; '.join(gaps)})"


def quoted(name: str) -> str:
    """A name in quotes where it would run into the sentence."""
    return name if re.fullmatch(r"[\w.+/-]+", name) else f"“{name}”"
