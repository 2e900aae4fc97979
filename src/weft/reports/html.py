"""Pieces of a page: the frame, figures, tables and their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from weft.reports.svg import clean


def page(title: str, style: str, body: str, meta: str = "") -> str:
    """A whole document that fetches nothing."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n{meta}'
        f"<title>{clean(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def figure(caption: str, chart: str, note: str = "") -> str:
    """A chart under its caption."""
    below = f'<p class="note">{clean(note)}</p>' if note else ""
    return f"<figure><figcaption>{breakable(caption)}</figcaption>{chart}{below}</figure>"


def table(headings: Sequence[str], lines: Iterable[Sequence[str]], look: str, words: Collection[int] = (0,)) -> str:
    """Lines of finished cells under headings, of which those at `words` stand over words and the rest over numbers."""
    head = "".join(
        f'<th scope="col"{"" if index in words else " class=number"}>{clean(name)}</th>'
        for index, name in enumerate(headings)
    )
    rows = "".join(f"<tr>{''.join(cells)}</tr>\n" for cells in lines)
    return f'<table class="{look}"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>\n'


def cell(words: str, look: str = "", name: str = "") -> str:
    """A cell of plain words; `name` is its heading where a narrow screen stacks the cells."""
    return raw_cell(clean(words), look, name)


def raw_cell(markup: str, look: str = "", name: str = "") -> str:
    """A cell of finished markup."""
    classes = f' class="{look}"' if look else ""
    named = f' data-name="{clean(name)}"' if name else ""
    return f"<td{classes}{named}>{markup}</td>"


def number_cell(words: str, look: str = "", name: str = "") -> str:
    """A cell that is set right."""
    return cell(words, f"number {look}".rstrip(), name)


def breakable(name: str) -> str:
    """A name that may be broken after an underscore, a hyphen or a slash rather than inside a word."""
    return clean(name).replace("_", "_<wbr>").replace("/", "/<wbr>")
