"""Report pages as a browser lays them out, where there is one: nothing is cut off, and no name breaks in a word."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from browser import browse, needs_browser
from test_reports import entry, label_task, make_record, marked_task, render
from weft.metrics.sections import section_from

pytestmark = needs_browser

LONG = [f"{'WM' * 15}_label_{index:02d}X"[-40:] for index in range(24)]  # wide letters, 40 to a label
MEASURE = """<script>
const cut = [...document.querySelectorAll(".matrix th")].filter(one => one.scrollWidth > one.clientWidth
  || one.scrollHeight > one.clientHeight).map(one => one.textContent);
const frames = [...document.querySelectorAll(".matrix")];
const outside = [...document.querySelectorAll(".matrix th")].filter(one => {
  const box = one.getBoundingClientRect(), frame = one.closest(".matrix").getBoundingClientRect();
  return box.left < frame.left - 1 || box.top < frame.top - 1 });
const broken = [];
for (const code of document.querySelectorAll("td code, dd, .any td")) for (const part of code.childNodes) {
  const range = document.createRange(); range.selectNodeContents(part);
  if (part.nodeType === 3 && !/[ -]/.test(part.data) && range.getClientRects().length > 1) broken.push(part.data) }
document.title = JSON.stringify({ cut, outside: outside.length, broken, labels: frames.length,
  wide: document.documentElement.scrollWidth - innerWidth })
</script>"""


def lay_out(page: str, folder: Path, width: int) -> dict[str, Any]:
    """What a browser makes of a page in a window of this width; the script is the test's own."""
    dom = browse(page.replace("</body>", f"{MEASURE}</body>"), folder, width, 900, "--dump-dom")
    measured: dict[str, Any] = json.loads(unescape(re.findall("<title>(.*?)</title>", dom, re.DOTALL)[0]))
    return measured


@pytest.fixture(scope="module")
def page() -> str:
    tasks = {
        "a_task_with_a_name_of_forty_letters_in_all": entry(
            "classification", "f1_macro", label_task(LONG, 300, 0.6), 0.05, 0.5
        ),
        "findings": marked_task(["DNA", "protein", "a_label_of_some_length"]),
    }
    (first, *_) = tasks.values()
    texts = dict.fromkeys(range(500), "a text of some length " * 12)
    first["sections"] = [section_from(one).with_texts(texts, 3).to_dict() for one in first["sections"]]
    tasks["mood"] = entry("classification", "f1_macro", label_task(["low", "medium", "high"], 90, 0.6), 0.05, 0.5)
    tasks["mood"]["sections"] = [section_from(one).with_texts(texts, 3).to_dict() for one in tasks["mood"]["sections"]]
    record = make_record(tasks)
    record["conditioning"] = "label_attention"
    record["encoder"]["name"] = "sentence-transformers/all-MiniLM-L6-v2"
    return render(record)


def test_long_labels_stand_whole_beside_and_above_a_matrix(page: str, tmp_path: Path) -> None:
    shown = lay_out(page, tmp_path, 1200)
    assert (shown["labels"], shown["cut"], shown["outside"]) == (2, [], 0)
    assert all(page.count(f">{label}<") >= 2 for label in LONG)


@pytest.mark.parametrize("width", [1200, 760, 500])
def test_names_break_between_words_and_the_page_is_as_wide_as_the_window(page: str, width: int, tmp_path: Path) -> None:
    shown = lay_out(page, tmp_path, width)
    assert shown["broken"] == []
    assert shown["wide"] <= 0
