"""The page of a comparison: what it shows of a record, and as a browser lays it out, where there is one."""

from __future__ import annotations

import io
import json
import re
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from browser import browse, needs_browser
from comparisons import base, cell, grid, record
from test_reports import HOSTILE, Features, drawings
from weft.data.redact import hidden_labels
from weft.metrics.outcomes.label import LabelOutcomes
from weft.reports.comparison_charts import ChartRow, axis_of, interval_chart
from weft.reports.comparison_csv import read_csv, write_csv
from weft.reports.comparison_markdown import render_markdown
from weft.reports.comparison_page import render_comparison
from weft.reports.comparison_record import ClassDifference, ComparisonRecord
from weft.reports.comparison_sentences import amount, sentences
from weft.reports.comparison_terminal import comparison_table

LABELS = [f"label_{number:02d}" for number in range(24)]
KINDS = ("none", "input", "qkv", "projected", "activated", "label_attention", "task_attention", "adapters")
PAGES = {
    "a few": grid(["urgency"], ["plain", "label_attention", "lora", "frozen"], labels=["low", "medium", "high"]),
    "seventeen": grid(
        ["urgency", "topics"], ["plain", *(f"{kind}, {rate}" for kind in KINDS for rate in ("2e-5", "5e-5"))],
        labels=LABELS,
    ),
    "one": grid(["urgency"], ["plain"]),
    "long names": grid(
        ["W" * 60], ["plain", *(f"{'WM_' * 19}{number:03d}" for number in range(3))], labels=["W" * 40, "MM WW " * 6],
        quick=True, unfinished=12,
    ),
    "sizes": grid(["urgency", "topics", "alike"], ["plain", "label_attention", "lora"], [8, 32, 128, None]),
    "together": grid(
        ["urgency", "topics", "alike", "mood"], ["alone", "together"], together=["urgency", "topics", "alike", "mood"]
    ),
}  # fmt: skip
WIDTHS = (1200, 760, 380)
MEASURE = """<script>
const outside = [], met = [];
for (const text of document.querySelectorAll("svg text")) {
  const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal, shift = text.getCTM().e /
    (text.getCTM().a || 1) - text.ownerSVGElement.getCTM().e / (text.ownerSVGElement.getCTM().a || 1);
  if (box.x + shift < -1 || box.x + shift + box.width > view.width + 1) outside.push(text.textContent) }
for (const drawing of document.querySelectorAll("svg")) {
  const boxes = [...drawing.querySelectorAll("text")].map(one => [one, one.getBoundingClientRect()]);
  boxes.forEach(([one, a], place) => boxes.slice(place + 1).forEach(([other, b]) => {
    if (a.width && b.width && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3) met.push(one.textContent + other.textContent) })) }
const found = JSON.stringify({ outside, met, wide: Math.max(0,
  document.documentElement.scrollWidth - document.documentElement.clientWidth),
  cut: [...document.querySelectorAll("td, th")].filter(one => one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).display !== "none" && one.clientWidth).map(one => one.textContent) });
parent.document.title += found + ",";
</script>"""


def words(made: ComparisonRecord) -> str:
    return " ".join(Features(render_comparison(made)).words)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed_fetches_nothing_and_shows_every_number(name: str) -> None:
    made = PAGES[name]
    page = render_comparison(made)
    reader = Features(page)
    assert drawings(page)
    assert all(address.startswith("#task-") for address in reader.addresses)
    assert "script" not in reader.tags
    assert not re.search(r"http|url\(|@import", page)
    shown = " ".join(reader.words)
    for one in made.cells:
        assert one.variant in "".join(reader.words)
        assert f"{one.mean:.3f}" in shown
        assert one.difference is None or f"{100 * one.difference:.1f}".lstrip("-") in shown
    for sentence in sentences(made).values():
        assert sentence.replace(" %", "\u00a0%") in "".join(reader.words)


def test_every_verdict_has_a_word_and_a_shape_of_its_own_in_table_and_chart() -> None:
    found = {"better": "▲", "worse": "▼", "equivalent": "■", "cannot tell": "○"}
    made = record(base(), *(cell(variant=f"v{place}", verdict=word) for place, word in enumerate(found)))
    page = render_comparison(made)
    for word, symbol in found.items():
        assert f"{symbol}\u00a0{word.replace(' ', chr(160))}</span>" in page
        assert f"+2.1 {symbol} {word}</text>" in page
    chart = next(svg for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if "Differences to plain" in svg)
    assert len(set(re.findall(r'<path d="([^"]+)"', chart))) == 3  # and the circle
    assert "<circle" in chart


def test_the_region_of_practical_equivalence_is_shaded_around_zero_in_every_row() -> None:
    chart = interval_chart(
        [ChartRow("a", 1.0, (-1.0, 3.0), "a"), ChartRow("b", 0.0, None, "b")], "t", "points", 0.5, zero=True
    )
    boxes = [
        (float(x), float(width)) for x, width in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', chart)
    ]
    (zero,) = set(re.findall(r'<line x1="([\d.]+)"[^>]+stroke="var\(--muted', chart))
    assert len(boxes) == 2
    assert all(x + width / 2 == pytest.approx(float(zero), abs=0.1) for x, width in boxes)
    (low, high) = re.findall(r'<line x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"[^>]+stroke-width="2"', chart)[0]
    assert boxes[0][1] == pytest.approx((float(high) - float(low)) / 4, abs=0.1)  # 1 point of the interval's 4


def test_learning_curves_and_costs_are_drawn_only_where_there_is_something_to_see() -> None:
    captions = ("Learning curves", "Score against training time", "Score against added parameters")
    alike = record(base(seconds=20.0), cell(seconds=20.0))
    assert [caption in words(alike) for caption in captions] == [False] * 3
    assert [caption in words(PAGES["sizes"]) for caption in captions] == [True] * 3
    curve = next(
        svg for svg in re.findall(r"<svg.*?</svg>", render_comparison(PAGES["sizes"])) if "over training rows" in svg
    )
    assert re.findall(r">(8|32|128|all)</text>", curve) == ["8", "32", "128", "all"]
    assert curve.count("<polyline") == 3


def test_an_axis_of_costs_is_logarithmic_only_where_they_are_far_apart() -> None:
    near, far = axis_of([10.0, 20.0]), axis_of([1_000.0, 1_000_000.0])
    assert near.place(10.0) * 2 == pytest.approx(near.place(20.0))
    assert far.place(1_000.0) == 0
    assert far.place(1_000_000.0) == 1
    assert [name for _, name in far.ticks] == ["1 k", "10 k", "100 k", "1 M"]
    assert axis_of([0.0, 0.0]).place(0.0) == 0


def test_of_many_labels_those_that_move_most_are_shown() -> None:
    moves = {label: ClassDifference(mean=0.5, difference=0.001 * place) for place, label in enumerate(LABELS)}
    shown = words(record(base(), cell(per_class=moves)))
    assert [label in shown for label in LABELS] == [False] * 14 + [True] * 10
    assert "14 others move less" in shown
    assert "hints where to look, not findings" in shown


def test_the_labels_of_all_variants_share_an_axis() -> None:
    small, large = ({"low": ClassDifference(mean=0.5, difference=step)} for step in (0.01, 0.2))
    page = render_comparison(record(base(), cell(per_class=small), cell(variant="b", per_class=large)))
    charts = [svg for svg in re.findall(r"<svg.*?</svg>", page) if "differences by label" in svg]
    ticks = [re.findall(r'text-anchor="middle"[^>]*>([−\d]+)</text>', chart) for chart in charts]
    assert ticks[0] == ticks[1] == ["0", "5", "10", "15", "20"]


def test_a_label_that_may_be_a_text_is_not_shown() -> None:
    texts = tuple(f"she wrote number {number}" for number in range(20))
    ids = np.arange(20)
    outcomes = LabelOutcomes(lines=ids, scores=np.full(20, np.nan), labels=texts, gold=ids, predicted=ids)
    hidden = outcomes.with_labels(hidden_labels(dict.fromkeys(texts, 1), ()))
    classes = {label: ClassDifference(mean=float(f1[0]), difference=0.1) for label, f1 in hidden.per_class().items()}
    page = render_comparison(record(base(), cell(per_class=classes)))
    assert "wrote" not in page
    assert "label 7" in page


def test_a_matrix_of_tasks_shows_gain_verdict_agreement_and_the_grouping() -> None:
    made = PAGES["together"]
    page = render_comparison(made)
    lines = re.findall(r'<tr><th scope="row">.*?</tr>', page)
    shown = {
        (task, other): unescape(re.sub("<.*?>", " ", markup))
        for task, line in zip(made.tasks, lines, strict=True)
        for other, markup in zip((*made.tasks, "all"), re.findall("<td.*?</td>", line), strict=True)
    }
    for pair in made.matrix:
        words_of_pair = shown[pair.task, pair.other]
        assert amount(made.cells[0], pair.difference) in words_of_pair
        assert f"gradients {pair.agreement:+.2f}".replace("-", "−") in words_of_pair
        assert pair.verdict in words_of_pair
    for one in made.cells:
        if one.variant == "together":
            assert f"{amount(one, one.difference)} " in shown[one.task, "all"]
    assert all(shown[task, task].strip() == "alone" for task in made.tasks)
    assert "Grouping this would choose: urgency and topics together; alike and mood together." in page
    assert 'class="pairs"' not in render_comparison(PAGES["sizes"])


def test_a_quick_look_and_missing_runs_stand_above_everything_that_was_found() -> None:
    page = render_comparison(PAGES["long names"])
    assert (
        page.index('class="loud">Quick look') < page.index('class="loud">Unfinished: 12 runs') < page.index('findings"')
    )
    assert 'class="loud"' not in render_comparison(PAGES["a few"])


def test_a_metric_that_counts_downward_says_so_on_its_axis_and_below_its_table() -> None:
    lower = {"metric": "perplexity", "lower_is_better": True}
    shown = words(record(base(**lower), cell(**lower, seconds=30.0)))
    assert shown.count("perplexity (less is better)") == 2
    assert "perplexity, of which less is better, on 500 rows." in shown


PARTS = {
    "nothing": ComparisonRecord(),
    "no base": record(cell(**dict.fromkeys(("difference", "difference_low", "difference_high", "p")), verdict="")),
    "no numbers": record(
        base(mean=None, low=None, high=None, seconds=None), cell(mean=float("nan"), low=None, difference=float("inf"))
    ),
    "a size begun": record(base(size=50), cell(size=50), base(), unfinished=3),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_is_known_so_far_can_be_shown_everywhere(name: str) -> None:
    made = PARTS[name]
    Features(render_comparison(made))
    assert render_markdown(read_csv(write_csv(made))).startswith("# Comparison")
    console = Console(width=100, file=io.StringIO())
    console.print(comparison_table(made))


def test_how_it_was_computed_names_seeds_resamples_comparisons_and_what_they_decide() -> None:
    shown = words(PAGES["sizes"].model_copy(update={"folds": 5, "notes": ("a note of the grid",)}))
    for fact in ("the same 8 seeds (0, 1, 2, 3, 4, 5, 6, 7)", "in 5 folds", "2,000 resamples", "all 24 comparisons",
                 "at most 5%", "8 seeds are enough", "within ±0.5 points", "a note of the grid"):  # fmt: skip
        assert fact in shown
    one = words(record(base(seeds=1), cell(seeds=1, verdict="", p=None), seeds=(0,)))
    assert "One seed: there are numbers but no verdicts" in one
    assert "Holm" not in one


def test_names_that_look_like_markup_stay_text() -> None:
    classes = {HOSTILE: ClassDifference(mean=0.5, difference=0.1)}
    made = record(base(HOSTILE, HOSTILE), cell(HOSTILE, "x\x00", per_class=classes), name=HOSTILE, notes=(HOSTILE,))
    reader = Features(render_comparison(made))
    assert "script" not in reader.tags
    assert "".join(reader.words).count(HOSTILE) >= 5


@needs_browser
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_or_runs_into_another_at_any_width(name: str, tmp_path: Path) -> None:
    page = escape(render_comparison(PAGES[name]).replace("</body>", f"{MEASURE}</body>"), quote=True)
    # A browser's window has a least width, a frame has none.
    frames = [f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{page}"></iframe>' for width in WIDTHS]
    dom = browse(f"<title></title>{''.join(frames)}", tmp_path, 1300, 950, "--dump-dom")
    measured = unescape(re.findall("<title>(.*?)</title>", dom, re.DOTALL)[0])
    assert json.loads(f"[{measured.rstrip(',')}]") == [{"outside": [], "met": [], "wide": 0, "cut": []}] * len(WIDTHS)
