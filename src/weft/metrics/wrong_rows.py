"""Which rows were answered wrongly: by the line they stand in, never by what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.metrics.sections import WrongRows

MOST = 20  # rows of the list


@dataclass(frozen=True)
class Mistake:
    """What is true of a row, what was predicted instead, and how sure the model was of that, where it said so."""

    true: str
    predicted: str
    score: float | None = None


def wrong_rows(lines: Sequence[int], mistakes: Sequence[Mistake | None]) -> list[WrongRows]:
    """A table of the wrong rows, the most confident mistakes first; none where no row is wrong.

    Args:
        lines: where each row stands in its file, (B,).
        mistakes: what is wrong with each row's answer, None where nothing is, (B,).
    """
    wrong = [(line, one) for line, one in zip(lines, mistakes, strict=True) if one is not None]
    if not wrong:
        return []
    first = sorted(wrong, key=lambda row: (-(row[1].score or 0.0), row[0]))[:MOST]
    note = f"{len(wrong):,} of {len(lines):,} rows are wrong" + (
        f"; these are the {MOST} most confident mistakes." if len(wrong) > MOST else "; most confident mistakes first."
    )
    rows = [(line, one.true, one.predicted, one.score) for line, one in first]
    return [WrongRows("Wrong rows", ("Line", "True", "Predicted", "Score"), rows, note)]


def listed_spans(spans: Iterable[tuple[int, int, str]], most: int = 4) -> str:
    """Spans by their characters and labels, `4–13 DNA; 30–37 RNA`; a dash where there are none."""
    names = [f"{start}–{end} {label}" for start, end, label in sorted(spans)]
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return "; ".join(names[:most] + more) or "–"
