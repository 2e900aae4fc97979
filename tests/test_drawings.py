"""The drawings of the documents can be read on light and on dark screens, alone as on a page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest

DRAWINGS = sorted((Path(__file__).parent.parent / "docs" / "pictures").glob("*.svg"))
RULE = re.compile(r"\[(fill|stroke)=\"(#\w{6})\"\] \{ \1: (#\w{6}) \}")
Colour = tuple[str, str]  # what is painted, and with what


def shapes(drawing: Path) -> list[Element]:
    """The elements of a drawing in the order in which they are painted."""
    return list(fromstring(drawing.read_text(encoding="utf-8")).iter())


def on_dark_screens(drawing: Path) -> dict[Colour, str]:
    """What stands for each colour of a drawing where the screen is dark, and only there."""
    style = next(one.text or "" for one in shapes(drawing) if one.tag.endswith("style"))
    dark = re.fullmatch(r"@media screen and \(prefers-color-scheme: dark\) \{(.*)\}", style, re.DOTALL)
    assert dark is not None
    return {(kind, light): colour for kind, light, colour in RULE.findall(dark[1])}


def luminance(colour: str) -> float:
    """How light a colour is, from 0 to 1, as WCAG has it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ground(text: Element, painted: list[Element]) -> str:
    """The colour of the last box that was painted where a text begins."""
    x, y = float(text.attrib["x"]), float(text.attrib["y"])
    for box in reversed(painted):
        place = {name: float(box.get(name, 0)) for name in ("x", "y", "width", "height")}
        inside = 0 <= x - place["x"] <= place["width"] and 0 <= y - place["y"] <= place["height"]
        if box.tag.endswith("rect") and inside:
            return box.attrib["fill"]
    raise AssertionError(text.text)


def test_drawings_are_found() -> None:
    assert len(DRAWINGS) >= 3


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_has_another_colour_for_each_of_its_own_on_dark_screens(drawing: Path) -> None:
    used = {(kind, one.get(kind, "none")) for one in shapes(drawing) for kind in ("fill", "stroke")}
    dark = on_dark_screens(drawing)
    assert dark.keys() == {(kind, colour) for kind, colour in used if colour != "none"}
    assert all(light != colour for (_, light), colour in dark.items())
    assert contrast(dark["fill", "#ffffff"], "#000000") < 1.5  # the sheet below everything


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_words_of_a_drawing_stand_out_from_what_is_below_them_on_any_screen(drawing: Path) -> None:
    painted, dark = shapes(drawing), on_dark_screens(drawing)
    words = [(number, one) for number, one in enumerate(painted) if one.tag.endswith("text")]
    assert words
    for number, text in words:
        ink, paper = text.attrib["fill"], ground(text, painted[:number])
        assert contrast(ink, paper) >= 4.5, text.text
        assert contrast(dark["fill", ink], dark["fill", paper]) >= 4.5, text.text


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_dots_and_arrows_of_a_drawing_stand_out_from_its_sheet(drawing: Path) -> None:
    dark = on_dark_screens(drawing)
    for one in shapes(drawing):
        if re.search("circle|polygon", one.tag):
            ink = one.attrib["fill"]
            assert contrast(ink, "#ffffff") >= 3, ink
            assert contrast(dark["fill", ink], dark["fill", "#ffffff"]) >= 3, ink
