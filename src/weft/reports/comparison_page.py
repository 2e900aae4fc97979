"""A comparison as one page that needs nothing else: no scripts, no other files, no network, no texts of users."""

from __future__ import annotations

from datetime import datetime

from weft.reports.comparison_matrix import STYLE as MATRIX
from weft.reports.comparison_matrix import matrix_section
from weft.reports.comparison_record import ComparisonRecord
from weft.reports.comparison_sentences import amount, cautions, decidable, most_seeds, sentences, unit
from weft.reports.comparison_task import sentence_markup, task_section
from weft.reports.html import breakable, page
from weft.reports.style import STYLE
from weft.reports.summary import listed
from weft.reports.svg import clean

COST = (
    "Seconds are those of training, the mean of the runs of a variant; parameters are those beside the encoder: heads"
    " and conditioning."
)
OWN = """
.loud { margin: 0 0 14px; padding: 12px 16px; border: 2px solid var(--bad); border-radius: 8px; font-weight: 600;
  overflow-wrap: anywhere }
.findings { max-width: 52em; margin: 0; padding: 0; list-style: none; font-size: 19px; line-height: 1.45;
  overflow-wrap: anywhere }
.findings li { margin: 10px 0 0 }
.findings a { text-decoration: none }
.findings a:hover { text-decoration: underline }
.finding { max-width: 46em; font-size: 17px; overflow-wrap: anywhere }
.verdict { white-space: nowrap; font-weight: 600 }
.equivalent { color: var(--c0) }
.cannot-tell { color: var(--muted) }
.variant { min-width: 130px }
.part { margin-top: 34px }
.how { max-width: 66em; padding-left: 18px }
.how li { margin: 6px 0 }
@media (max-width: 640px) { .findings { font-size: 17px } }
@media print {
  .across { overflow: visible }
  .stack { display: table; font-size: 8pt }
  .stack thead { position: static; width: auto; height: auto; overflow: visible; clip-path: none }
  .stack th { font-size: 7.5pt; white-space: normal }
  .stack tbody { display: table-row-group }
  .stack tr { display: table-row }
  .stack td { display: table-cell; padding: 4px 0 4px 8px; border-bottom: 1px solid var(--line) }
  .stack td:first-child { padding-left: 0; font-size: 8pt }
  .stack td::before { content: none }
  .variant { min-width: 80px }
  .columns { display: grid; grid-template-columns: 1fr 1fr; gap: 14px 26px }
}
"""


def render_comparison(record: ComparisonRecord) -> str:
    """The page of a comparison's record; parts that the record does not hold are left out."""
    found = sentences(record)
    body = [
        _header(record, list(found.values())),
        *(task_section(record, index, task, found[task] if len(found) > 1 else "") for index, task in enumerate(found)),
        matrix_section(record),
        _how(record),
    ]
    return page(f"weft compare: {record.name or listed(record.tasks, 4)}", STYLE + MATRIX + OWN, "".join(body))


def _header(record: ComparisonRecord, found: list[str]) -> str:
    seeds = most_seeds(record)
    facts = [_day(record.created), f"weft {record.weft}" if record.weft else "", f"{seeds} seed{'s' * (seeds != 1)}"]
    loud = "".join(f'<p class="loud">{clean(caution)}</p>\n' for caution in cautions(record))
    listing = "".join(
        f'<li><a href="#task-{index}">{sentence_markup(sentence)}</a></li>' for index, sentence in enumerate(found)
    )
    return (
        f'<header>\n<p class="eyebrow">{clean(" · ".join(filter(None, ["Comparison", *facts])))}</p>\n'
        f"<h1>{breakable(record.name or listed(record.tasks) or 'No tasks')}</h1>\n"
        f'{loud}<ul class="findings">{listing}</ul>\n</header>\n'
    )


def _how(record: ComparisonRecord) -> str:
    items = "".join(f"<li>{clean(item)}</li>" for item in (*_computed(record), *record.notes) if item)
    return f'<section>\n<h2>How this was computed</h2>\n<ul class="how">{items}</ul>\n</section>\n'


def _computed(record: ComparisonRecord) -> list[str]:
    return [_runs(record), _intervals(record), *_verdicts(record), decidable(record), COST]


def _runs(record: ComparisonRecord) -> str:
    seeds = most_seeds(record)
    count = "the same seed" if seeds == 1 else f"the same {seeds} seeds"
    listing = f" ({', '.join(map(str, record.seeds))})" if 0 < len(record.seeds) <= 20 else ""
    folds = f", in {record.folds} folds that each seed draws anew" if record.folds else ""
    return f"Every variant was trained with {count}{listing} on the same data{folds}; every run answered the same rows."


def _intervals(record: ComparisonRecord) -> str:
    if most_seeds(record) == 1:
        return "Intervals hold for other rows of the same kind. They say nothing about another seed."
    resamples = f"{record.resamples:,} " if record.resamples else ""
    return (
        f"Intervals hold for other seeds and other rows of the same kind: {resamples}resamples of the rows, the same"
        " for all runs, and the spread between seeds. A difference is taken seed by seed and row by row."
    )


def _verdicts(record: ComparisonRecord) -> list[str]:
    """How the words come about; nothing where there are none."""
    if not any(cell.verdict for cell in record.cells):
        return []
    regions = dict.fromkeys(f"±{amount(one, one.equivalence, sign=False)} {unit(one)}" for one in record.cells)
    held = "the one comparison" if record.comparisons == 1 else f"all {record.comparisons} comparisons"
    return [
        f"p is the larger of a sign-flip test over seeds and a test over seeds and rows, corrected by Holm's method for"
        f" {held} of this page: the chance of any wrong “better” or “worse” on it is at most {record.level:.0%}.",
        f"“Better” and “worse”: p is at most {record.level:g} and the whole interval lies on one side of 0."
        f" “Equivalent”: the whole interval lies within {' or '.join(regions)}. “Cannot tell”: neither was shown, which"
        " is not the same as no difference.",
    ]


def _day(created: str) -> str:
    try:
        return f"{datetime.fromisoformat(created):%Y-%m-%d %H:%M}"
    except ValueError:
        return created
