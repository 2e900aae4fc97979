"""The site's style as a browser applies it, where there is one: tables on a telephone, charts on paper."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from browser import browse, needs_browser

pytestmark = needs_browser
DOCS = Path(__file__).parent.parent / "docs"
CHART = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 440 430' width='100%'></svg>"
FIGURES = "<table><thead><tr>{heads}</tr></thead><tbody><tr>{cells}</tr></tbody></table>"
MEASURE = """<script>addEventListener("load", () => {
const inner = document.querySelector("iframe").contentDocument, wrap = inner.querySelector(".md-typeset__scrollwrap");
const place = () => [...wrap.querySelectorAll("td")].map(one => Math.round(one.getBoundingClientRect().left));
const before = place(); wrap.scrollLeft = 100; const after = place();
const { backgroundImage } = inner.defaultView.getComputedStyle(wrap), first = wrap.querySelector("td");
document.title = JSON.stringify({ before, after, page: inner.documentElement.scrollWidth,
  sides: backgroundImage.split("linear-gradient").length - 1,
  high: wrap.querySelectorAll("td")[1].getBoundingClientRect().height,
  bare: inner.defaultView.getComputedStyle(first).backgroundColor })
})</script>"""


def styled(content: str) -> str:
    """A page of the site with nothing but this content."""
    material = Path(pytest.importorskip("material").__file__).parent
    looks = [*sorted(material.rglob("stylesheets/*.min.css")), DOCS / "site.css"]
    links = "".join(f'<link rel="stylesheet" href="{look.as_uri()}">' for look in looks)
    article = f'<article class="md-content__inner md-typeset">{content}</article>'
    head = f'<meta charset="utf-8"><title>none</title>{links}'
    return f'<!doctype html><html><head>{head}</head><body data-md-color-scheme="default">{article}</body></html>'


def on_a_phone(table: str, folder: Path) -> dict[str, Any]:
    """Where a table's cells are before and after its frame is scrolled by 100, and the look of it; 390 pixels wide."""
    wrapped = f'<div class="md-typeset__scrollwrap"><div class="md-typeset__table">{table}</div></div>'
    inner = escape(styled(wrapped))
    frame = f'<iframe style="border: 0" width="390" height="600" srcdoc="{inner}"></iframe>'
    page = f"<!doctype html><title>none</title>{frame}{MEASURE}"
    dom = browse(page, folder, 1000, 900, "--dump-dom")
    measured: dict[str, Any] = json.loads(unescape(re.findall("<title>(.*?)</title>", dom, re.DOTALL)[0]))
    return measured


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A table of a name and of ten intervals, as pages of results have them."""
    pytest.importorskip("material")
    heads = "<th>variant</th>" + '<th style="text-align: right;">95 % interval</th>' * 10
    cells = "<td>attention</td>" + '<td style="text-align: right;">−12.6 to +9.4</td>' * 10
    return on_a_phone(FIGURES.format(heads=heads, cells=cells), tmp_path_factory.mktemp("phone"))


def test_a_table_of_figures_scrolls_in_its_frame_and_the_page_does_not(figures: dict[str, Any]) -> None:
    assert figures["page"] <= 390
    assert figures["after"][2] == figures["before"][2] - 100


def test_the_first_column_stays_where_figures_scroll_below_it(figures: dict[str, Any]) -> None:
    assert 0 <= figures["after"][0] <= figures["before"][0]
    assert figures["bare"] != "rgba(0, 0, 0, 0)"


def test_an_interval_stays_on_its_line_and_a_shadow_says_that_there_is_more(figures: dict[str, Any]) -> None:
    assert figures["high"] < 40  # pixels
    assert figures["sides"] == 2  # a shadow, and what covers it at the end


def test_a_table_of_words_has_no_frame_to_scroll(tmp_path: Path) -> None:
    words = FIGURES.format(heads="<th>you want</th><th>weft</th>", cells=f"<td>a</td><td>{'many words ' * 40}</td>")
    shown = on_a_phone(words.replace("<table>", "<table data-words>"), tmp_path)
    assert shown["page"] <= 390
    assert shown["after"] == shown["before"]
    assert shown["sides"] == 0


def chart(folder: Path) -> str:
    """A paragraph of a chart that was drawn 440 pixels wide, as charts of results are."""
    (folder / "chart.svg").write_text(CHART, encoding="utf-8")
    return f'<p><img src="{(folder / "chart.svg").as_uri()}"></p>'


def test_a_chart_is_no_wider_than_its_letters_allow(tmp_path: Path) -> None:
    measure = "<script>addEventListener('load', () => document.title = document.images[0].width)</script>"
    shown = browse(styled(chart(tmp_path)) + measure, tmp_path, 1000, 900, "--dump-dom")
    assert re.findall("<title>(.*?)</title>", shown) == ["600"]


def test_a_chart_leaves_room_on_its_sheet_of_paper(tmp_path: Path) -> None:
    page = styled(chart(tmp_path) + "<p>a line</p>" * 10)
    browse(page, tmp_path, 1000, 900, f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert len(re.findall(rb"/Type */Page\b", (tmp_path / "page.pdf").read_bytes())) == 1
