"""A confusion matrix as an HTML table, which the browser lays out: no font, however wide, cuts a label off."""

from __future__ import annotations

from collections.abc import Sequence

from weft.reports.svg import clean, shorten

LONGEST, SHORT = 40, 20  # letters of a label, and where there are many; the whole label is shown when pointed at
MANY = 30
SIDES = ((5, 46), (9, 38), (16, 30), (30, 24), (60, 17))  # pixels of a cell, by how many labels there are at most
SMALLEST = 12
DARK_FROM = 0.7  # the share from which a cell needs the other text colour, in light and dark alike

STYLE = """
.matrix { overflow-x: auto }
.matrix table { width: auto; border-collapse: collapse; font-size: min(13px, var(--side) * .74) }
.matrix th { padding: 0 6px 0 0; border: 0; color: var(--ink); font-size: inherit; font-weight: 400; line-height: 1.15;
  white-space: nowrap }
.matrix tbody th { position: sticky; left: 0; background: var(--paper); text-align: right; vertical-align: middle }
.matrix thead th + th { padding: 0 0 6px; vertical-align: bottom; text-align: center }
.matrix thead span { display: inline-block; writing-mode: vertical-rl; transform: rotate(180deg) }
.matrix td { width: var(--side); min-width: var(--side); height: var(--side); padding: 0; border: 1px solid var(--line);
  font-size: min(13px, var(--side) * .5); line-height: 1; text-align: center; overflow-wrap: normal }
.matrix td[style] { background: color-mix(in srgb, var(--heat) calc(var(--share) * 100%), var(--paper)) }
.matrix .dark { color: var(--on-heat) }
@media (max-width: 640px) { .matrix tbody th { max-width: 42vw; overflow: hidden; text-overflow: ellipsis } }
@media print { .matrix { overflow: visible } }
"""


def confusion_matrix(labels: Sequence[str], counts: Sequence[Sequence[int]], title: str) -> str:
    """Counts of true (lines) by predicted labels (columns), shaded by the share of the line; zeros stay empty.

    Cells shrink as labels grow in number; every cell says its labels and count when pointed at.
    """
    side = next((side for most, side in SIDES if len(labels) <= most), SMALLEST)
    names = [clean(shorten(label, LONGEST if len(labels) <= MANY else SHORT)) for label in labels]
    tips = [f' title="{clean(label)}"' for label in labels]
    head = "".join(f'<th scope="col"{tip}><span>{name}</span></th>' for name, tip in zip(names, tips, strict=True))
    lines = "".join(
        f'<tr><th scope="row"{tip}>{name}</th>{_cells(true, labels, row)}</tr>\n'
        for true, name, tip, row in zip(labels, names, tips, counts, strict=True)
    )
    return (
        f'<div class="matrix" style="--side:{side}px"><table aria-label="{clean(title)}">\n'
        f"<thead><tr><th></th>{head}</tr></thead>\n<tbody>{lines}</tbody></table></div>"
    )


def _cells(true: str, labels: Sequence[str], row: Sequence[int]) -> str:
    support = sum(row)
    return "".join(_cell(true, label, rows, support) for label, rows in zip(labels, row, strict=True))


def _cell(true: str, predicted: str, rows: int, support: int) -> str:
    if not rows:
        return "<td></td>"
    share = rows / support
    dark = ' class="dark"' if share >= DARK_FROM else ""
    tip = f"true {true}, predicted {predicted}: {rows:,} of {support:,} rows"
    return f'<td{dark} style="--share:{max(share, 0.04):.2f}" title="{clean(tip)}">{rows}</td>'
