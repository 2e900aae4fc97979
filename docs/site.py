"""Hooks of the site's builder: pages ask nothing of third parties, and links to files of the tree lead to copies.

    pip install 'weft[docs]' && mkdocs build --strict && python -m http.server --directory site

The theme's search for pages without a server fetches a script from elsewhere; that line is taken out, so that search
needs the small server above, and no internet. A page may link to a file beside `docs`, such as a recipe: the site gets
a copy of it, under the path it has in the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

_DOCS = Path(__file__).parent
_ELSEWHERE = re.compile(r"<script src=\"https?://[^\"]+\"></script>")
_LINK = re.compile(r"(?<=\]\()[^)\s#:]+")
_OPTIONS = re.compile(r"<table>(?=\s*<thead>\s*<tr>\s*<th>option</th>)")
_OF_WORDS = "you want|a row holds|your rows|recipe|notebook|to add|room|table|figure"  # the first heads of such tables
_WORDS = re.compile(rf"<table>(?=\s*<thead>\s*<tr>\s*<th>(?:{_OF_WORDS})</th>).*?</table>", re.DOTALL)
_HEAD = re.compile(r"<th>(.*?)</th>", re.DOTALL)
_CODE = re.compile(r"<code>.*?</code>", re.DOTALL)
_OPTION = re.compile(r"(?<![^\s>])--?\w[\w.-]*")  # behind a blank or a tag, so never in one
_ROW = re.compile(r"<tr>\s*<td>.*?</tr>", re.DOTALL)


def files_beside(markdown: str, page: str) -> Iterator[tuple[str, Path]]:
    """The links of a page that lead to files outside `docs`, each with its path in the tree."""
    for link in dict.fromkeys(_LINK.findall(markdown)):
        file = (_DOCS / page).parent.joinpath(link).resolve()
        if file.is_file() and not file.is_relative_to(_DOCS):
            yield link, file.relative_to(_DOCS.parent)


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """All files of the site, with a copy of each that pages link to."""
    from mkdocs.structure.files import File

    pages = [(file.src_uri, file.content_string) for file in files.documentation_pages()]
    linked = {path.as_posix(): path for page, text in pages for _, path in files_beside(text, page)}
    for name, path in sorted(linked.items()):
        files.append(File.generated(config, name, abs_src_path=str(_DOCS.parent / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A page whose links to files outside `docs` lead to their copies."""
    up = "../" * (len(PurePosixPath(page.file.src_uri).parts) - 1)
    copies = {link: f"{up}{path.as_posix()}" for link, path in files_beside(markdown, page.file.src_uri)}
    return _LINK.sub(lambda found: copies.get(found[0], found[0]), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """A page with marks for its style.

    Tables of options and of words are marked, so that narrow screens can show them row by row; options of commands, so
    that no line ends with their hyphens.
    """
    html = _CODE.sub(lambda found: _OPTION.sub(r"<span data-option>\g<0></span>", found[0]), html)
    return _WORDS.sub(lambda found: _with_heads(found[0]), _OPTIONS.sub("<table data-options>", html))


def _with_heads(table: str) -> str:
    """A table each of whose cells says what its column is called."""
    heads = [re.sub(r"<[^>]+>", "", head) for head in _HEAD.findall(table)]

    def name_cells(row: re.Match[str]) -> str:
        names = iter(heads)
        return re.sub(r"<td>", lambda _: f'<td data-head="{next(names, "")}">', row[0])

    return _ROW.sub(name_cells, table.replace("<table>", "<table data-words>", 1))


def on_post_page(output: str, **_: Any) -> str:
    """A page without scripts from elsewhere."""
    return _ELSEWHERE.sub("", output)


def on_post_template(output_content: str, **_: Any) -> str:
    """The same of pages that are made from templates alone."""
    return _ELSEWHERE.sub("", output_content)
