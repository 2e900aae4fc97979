"""What is said of an inspection, in words and numbers: below a text on the page, and on the screen."""

from __future__ import annotations

from collections.abc import Sequence

from weft.model.inspection import Inspection, ReadRow, Word
from weft.reports.summary import listed

CLEAR = 0.15  # share of a word's heads × sub-words from which the leading label has a marker
_NAMES = ("First text", "Second text")
AGREES, CONTRADICTS = 0.6, 0.2  # rank correlations from which and below which two rankings do so


def strongest(row: Sequence[Inspection]) -> float:
    """The largest attention on a word in any of some inspections, which share one scale."""
    return max((word.attention for inspection in row for word in inspection.words), default=0.0)


def percent(share: float) -> str:
    """`12.3 %`, with a blank that does not break."""
    return f"{share * 100:.1f}\u00a0%" if abs(share) >= 0.0005 else "0\u00a0%"


def clearly_pulled(word: Word) -> bool:
    """Whether its leading label won more than a stray few of a word's heads × sub-words."""
    return next(iter(word.label_shares.values()), 0.0) >= CLEAR


def cut(row: ReadRow) -> list[str]:
    """A sentence where a row was too long to be read whole, or at once."""
    lost, words = (sum(n) for n in zip(*((t.unread_words, len(t.words)) for t in row.texts), strict=True))
    if row.windows > 1:
        return [
            f"Read in {row.windows:,} overlapping windows; a word’s share is that of the window that decides about it."
        ]
    if not row.dropped:
        return []
    return [
        f"Not read: {lost:,} of {lost + words:,} words ({row.dropped:,} tokens) did not fit into {row.tokens:,} tokens."
    ]


def is_number(inspection: Inspection) -> bool:
    """Whether the answer is a score, which words speak for a higher or a lower one of."""
    return inspection.prediction.spans is None and not inspection.explained


def asked(inspection: Inspection) -> bool:
    """Whether words were left out."""
    return any(word.left_out is not None for word in inspection.words)


def about(inspection: Inspection) -> str:
    """What gradient × input is about."""
    named = listed(f"“{label}”" for label in inspection.explained)
    if inspection.prediction.spans is None:
        return f"for and against {named}" if named else "for a higher and for a lower score"
    if inspection.prediction.spans:
        return f"for and against the spans ({named})"
    return f"for and against {named}, the likeliest span, which was not predicted" if named else "no words, no spans"


def text_names(inspection: Inspection) -> tuple[str, ...]:
    """What to call each text of all rows; a pair that is read both ways has each of its texts twice."""
    return (*_NAMES, *(f"{name} by itself" for name in _NAMES)) if len(inspection.rows) == 3 else _NAMES


def row_names(inspection: Inspection) -> tuple[str, ...]:
    """What to call each row."""
    return ("Both texts", *text_names(inspection)[2:]) if len(inspection.rows) == 3 else _NAMES


def attention_facts(inspection: Inspection, scale: float) -> list[str]:
    facts = []
    for index, row in enumerate(inspection.rows):
        which = f"{row_names(inspection)[index]}: " if len(inspection.rows) > 1 else ""
        facts.append(f"{which}special tokens took {percent(row.special_attention)} of the attention.")
        facts += cut(row)
    if scale:
        facts.insert(0, f"The strongest shade is {percent(scale)} of the attention.")
    if inspection.labels is not None:
        shares = [sum(word.label_shares.values()) for word in inspection.words]
        mean = sum(shares) / max(1, len(shares))
        facts.append(f"On average, labels decided {percent(mean)} of a word’s heads.")
    return [fact[:1].upper() + fact[1:] for fact in facts]


def attribution_facts(inspection: Inspection) -> list[str]:
    words = inspection.words
    attribution = sum(word.attribution for word in words if word.attribution > 0)
    against = -sum(word.attribution for word in words if word.attribution < 0)
    special = sum(row.special_attribution for row in inspection.rows)
    sides = ("for a higher score", "for a lower score") if is_number(inspection) else ("for it", "against it")
    shares = f"Words {sides[0]} {percent(attribution)}, words {sides[1]} {percent(against)}"
    return [f"{shares}, special tokens {percent(special)}."]


def change_without(inspection: Inspection, drop: float) -> str:
    """What becomes of the answer without a word: `−12.3 %` of probability, or for numbers `+0.42`."""
    size = f"{abs(drop):.2f}" if is_number(inspection) else percent(abs(drop))
    return f"{'−' if drop >= 0 else '+'}{size}"


def leave_out_facts(inspection: Inspection) -> list[str]:
    """What was asked without each word, of how many words at a time, and how far gradient × input agrees."""
    what = "the score" if is_number(inspection) else "the probability of the answer"
    facts = [f"How far {what} falls (blue) or rises (orange) in a text without the word."]
    if inspection.left_out_together > 1:
        facts.append(f"The text is long, so words were left out in groups of {inspection.left_out_together}.")
    return facts + agreement(inspection)


def agreement(inspection: Inspection) -> list[str]:
    """A sentence about how far gradient × input and leaving words out agree; none where there is too little to rank."""
    if inspection.agreement is None:
        return []
    size = f"(rank correlation {inspection.agreement:.2f})".replace("-", "−")
    if inspection.agreement >= AGREES:
        return [f"Gradient × input ranks the words as leaving them out does {size}."]
    if inspection.agreement >= CONTRADICTS:
        return [f"Gradient × input ranks the words partly as leaving them out does {size}."]
    return [f"Gradient × input contradicts what happens when words are left out {size}: trust the latter."]
