"""Inspect pages as a browser shows them, where there is one."""

from __future__ import annotations

import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from browser import browse, needs_browser
from weft.model.embed import load_encoder
from weft.model.inspect import inspect
from weft.model.network import Network
from weft.reports.inspect_page import render_attention
from weft.spec import parse
from weft.tasks import Task

pytestmark = needs_browser

WIDTH, HEIGHT = 900, 1600
HOSTILE = '<script>document.title = "ran"</script><img src=x onerror="document.title = \'ran\'"> & more'
LONG = "the quick brown fox " * 130 + HOSTILE  # whose end is not read, and so stands on the page in one piece
PAGES: dict[str, list[tuple[str, ...]]] = {
    "texts": [("שלום עולם, מה שלומך היום?",), ("all well 👩‍👧 ❤️ 👍🏽",), (HOSTILE,), (LONG,)],
    "pair": [("the quick fox", LONG)],
}


class Dom(HTMLParser):
    """The elements, the title and the painted texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.title = ""
        self.texts: list[str] = []
        self.part = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "title" or ("class", "text") in attrs:
            self.part = tag
            self.texts += [""] if tag == "p" else []

    def handle_endtag(self, tag: str) -> None:
        self.part = "" if tag == self.part else self.part

    def handle_data(self, data: str) -> None:
        if self.part == "title":
            self.title += data
        elif self.part:
            self.texts[-1] += data


@pytest.fixture(scope="module")
def network() -> Network:
    """A siamese task and one of single texts, untrained."""
    source = load_encoder("minilm")
    source.encoder.pooler = None
    tasks = {"texts": parse(Task, {"kind": "classification"}), "pair": parse(Task, {"kind": "similarity"})}
    targets = {"texts": tasks["texts"].target().fit(["no", "yes"]), "pair": tasks["pair"].target().fit([0.0, 5.0])}
    torch.manual_seed(0)
    return Network(source.encoder, source.tokenizer, tasks, targets).eval()


def drawn_lines(page: str, folder: Path) -> tuple[int, int, int]:
    """Width and height of the picture of a page, and how many of its lines show more than plain colour.

    However a PNG filters a line of one colour, few different bytes come of it.
    """
    browse(page, folder, WIDTH, HEIGHT, f"--screenshot={folder / 'page.png'}")
    png = (folder / "page.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, bits, colour = struct.unpack(">IIBB", png[16:26])
    assert bits == 8
    packed, place = b"", 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        packed += png[place + 8 : place + 8 + size] if png[place + 4 : place + 8] == b"IDAT" else b""
        place += size + 12
    pixels = zlib.decompress(packed)
    line = 1 + width * {2: 3, 6: 4}[colour]
    assert len(pixels) == height * line
    return width, height, sum(len(set(pixels[row * line : (row + 1) * line])) > 8 for row in range(height))


def test_a_blank_page_has_no_drawn_lines(tmp_path: Path) -> None:
    assert drawn_lines("<!doctype html><title>blank</title>", tmp_path) == (WIDTH, HEIGHT, 0)


@pytest.mark.parametrize("task", PAGES)
def test_a_page_is_drawn_as_wide_as_the_window_and_runs_nothing_of_a_message(
    network: Network, task: str, tmp_path: Path
) -> None:
    found = [inspect(network, task, texts) for texts in PAGES[task]]
    assert found[-1].rows[-1].dropped
    page = render_attention([[one] for one in found], ["m"])
    width, height, drawn = drawn_lines(page, tmp_path)
    assert (width, height) == (WIDTH, HEIGHT)
    assert drawn > 200
    dom = Dom(browse(page, tmp_path, WIDTH, HEIGHT, "--dump-dom"))
    assert dom.title == f"What “{task}” looked at"
    assert not {"script", "img"} & set(dom.tags)
    shown = [text for texts in PAGES[task] for text in texts * 3]  # attention, gradient × input, words left out
    assert dom.texts == shown
