"""The pages of the site and the notebooks: what they show can be typed, one line after the other, and works.

A block with `title="FILE"` is written to that file; blocks of `sh` and `python` are run in their order, a page in a
folder of its own; a block after `<!-- not run: WHY -->` is neither. The cells of a notebook are blocks of `python`,
with fewer seeds and epochs. In place of minilm stands a small encoder that knows its words.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import torch

from weft.checkpoints import source
from weft.checkpoints.hf import write_encoder
from weft.cli import main as cli
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.tokenization.tokenizer import Tokenizer

TOP = Path(__file__).parent.parent
DOCS = TOP / "docs"
NOTEBOOKS = sorted(TOP.glob("notebooks/*.ipynb"))
ALONE = [DOCS / f"{name}.md" for name in ("compare", "index", "init", "notebooks", "python", "start")]
PAGES = sorted([*ALONE, *DOCS.glob("jobs/*.md"), *DOCS.glob("coming_from/*.md"), *NOTEBOOKS])
ELSEWHERE = {  # by tests of their own
    "byte_pairs.md": "test_vocabulary.py",
    "data.md": "test_data_page.py",
    "plugins.md": "test_plugins.py",
    "word_pieces.md": "test_word_pieces.py",
}
SHORTER = {'"seeds": 8': '"seeds": 2', '"epochs": 8': '"epochs": 1'}
FEWER = {"seeds = 8": "seeds = 2"}  # of a grid on a page
TRIAGE = """
training.epochs = 1
[tasks.urgency]
kind = "classification"
train = "messages.csv"
test = "test.csv"
text = "message"
label = "topic"
"""
TOPICS = ("delivery", "billing", "returns")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, or a cell of a notebook."""

    language: str
    title: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """The blocks that are to be run or written, in their order."""
    text = page.read_text(encoding="utf-8")
    if page in NOTEBOOKS:
        yield from (Block("python", "", shorter("".join(cell["source"]))) for cell in cells(page, "code"))
        return
    pattern = r"^ *(<!-- not run: [^>]+ -->\n\s*)?```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^ *```"
    for skipped, language, title, body in re.findall(pattern, text, re.DOTALL | re.MULTILINE):
        if not skipped:
            yield Block(language, title, textwrap.dedent(body))


def shorter(code: str, less: Mapping[str, str] = SHORTER) -> str:
    """A cell that does the same with less."""
    for long, short in less.items():
        code = code.replace(long, short)
    return code


def cells(notebook: Path, kind: str) -> list[dict[str, Any]]:
    """The cells of a notebook that are of a kind, `code` or `markdown`."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    return [cell for cell in document["cells"] if cell["cell_type"] == kind]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random encoder with minilm's words."""
    tokenizer = Tokenizer.from_folder(source.packaged_folder())
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
    folder = tmp_path_factory.mktemp("encoders") / "words"
    write_encoder(Encoder(EncoderConfig(vocab_size=tokenizer.size, **shape)), folder)
    tokenizer.save(folder)
    return folder


def write_files(folder: Path, page: str) -> None:
    """The files of a user's own that pages speak of."""
    rows = [f"ticket {number} about {topic},{topic}" for number in range(12) for topic in TOPICS]
    for name, header in (
        ("messages.csv", "message,topic"),
        ("test.csv", "message,topic"),
        ("tickets.csv", "text,topic"),
    ):
        (folder / name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    marked = [{"message": row, "spans": [[0, 6, "thing"]] if number % 2 else []} for number, row in enumerate(rows)]
    urgency = "message,urgency\n" + "".join(
        f"message {n} is {'urgent' if n % 2 else 'calm'},{n % 2}\n" for n in range(24)
    )
    for name in ("labelled.csv", "test.csv") if page == "python.md" else ():
        (folder / name).write_text(urgency, encoding="utf-8")
    (folder / "new.csv").write_text("message\nwhere is my parcel?\n", encoding="utf-8")
    if page == "compare.md":
        (folder / "triage.toml").write_text(TRIAGE, encoding="utf-8")
    (folder / "marked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in marked), encoding="utf-8")


def run_line(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = list(takewhile(lambda word: word != ">", shlex.split(line, comments=True)))
    if not words:
        return
    assert words[0] == "weft", line
    monkeypatch.setattr(sys, "argv", words)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code, f"{line}\n{said.getvalue()}"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_what_a_page_shows_works(page: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name == "python.md":
        pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(source, "packaged_folder", lambda: encoder)
    write_files(tmp_path, page.name)
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).write_text(shorter(block.text, FEWER), encoding="utf-8")
        elif block.language == "sh":
            for line in block.text.splitlines():
                run_line(line, monkeypatch)
        elif block.language == "python":
            exec(compile(block.text, str(page), "exec"), names)


def test_every_page_with_something_to_type_is_run() -> None:
    """But for the reference, of which `test_reference.py` is, and pages of figures, whose commands take long."""
    fenced = re.compile(r"^ *```(sh|python)\b", re.MULTILINE)
    found = {page for page in DOCS.rglob("*.md") if fenced.search(page.read_text(encoding="utf-8"))}
    found = {page for page in found if page.parent.name not in ("reference", "tables", "figures", "results")}
    assert {page.name for page in found - {*PAGES}} == ELSEWHERE.keys()
    for page, test in ELSEWHERE.items():
        assert page in (TOP / "tests" / test).read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    site = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w/]+\.md", site))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert named <= pages
    elsewhere = ("reference/", "results/tables/")  # the latter from the overview of tables
    assert {page for page in pages - named if not page.startswith(elsewhere)} == set()
    overview = (DOCS / "results" / "README.md").read_text(encoding="utf-8")
    tables = {page.removeprefix("results/") for page in pages if page.startswith("results/tables/")}
    assert {page for page in tables if f"({page})" not in overview} == set()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_said_to_somebody(notebook: Path) -> None:
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    code, prose = cells(notebook, "code"), cells(notebook, "markdown")
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in code)
    names = [cell["id"] for cell in document["cells"]]
    assert len(set(names)) == len(names) == len(code) + len(prose)
    assert prose[0]["source"][0].startswith("# ")
    assert notebook.read_text(encoding="utf-8") == json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def test_every_notebook_is_named_in_the_readme_and_on_the_site() -> None:
    for place in (TOP / "README.md", DOCS / "notebooks.md"):
        named = re.findall(r"notebooks/(\w+\.ipynb)", place.read_text(encoding="utf-8"))
        assert sorted(named) == [path.name for path in NOTEBOOKS], place


def test_what_makes_notebooks_shorter_is_in_them() -> None:
    code = "".join(path.read_text(encoding="utf-8").replace('\\"', '"') for path in NOTEBOOKS)
    assert all(code.count(long) == 1 for long in SHORTER)


# The site


class _Links(HTMLParser):
    """What a page links to and loads, and the places that links can lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if "href" in found and tag == "a":
            self.links.append(found["href"])
        if "src" in found or tag == "link":
            self.loaded.append(found.get("src") or found.get("href", ""))


def read_links(page: Path) -> _Links:
    found = _Links()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def dead_links(site: Path) -> list[str]:
    """The links of all pages to pages, files and places that are not there, and all that is loaded from elsewhere."""
    pages = {page.resolve(): read_links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    dead = []
    for page, found in pages.items():
        for link in {*found.links, *found.loaded}:
            if "://" in link or link.startswith(("mailto:", "data:")):
                dead += [f"{page.name} loads {link}"] if link in found.loaded else []
                continue
            name, _, place = link.partition("#")
            target = page.parent.joinpath(unquote(name)).resolve() if name else page
            if not target.is_file() or (target in pages and unquote(place) not in pages[target].places):
                dead.append(f"{page.relative_to(site.resolve())}: {link}")
    return sorted(dead)


def test_every_link_of_the_built_site_leads_somewhere(tmp_path: Path) -> None:
    build = pytest.importorskip("mkdocs.commands.build")
    from mkdocs.config import load_config

    config = load_config(str(DOCS.parent / "mkdocs.yml"), site_dir=str(tmp_path / "site"), strict=True)
    build.build(config)
    assert dead_links(tmp_path / "site") == []
    assert (tmp_path / "site" / "recipes" / "compare" / "together.toml").is_file()
    assert [file.name for file in (tmp_path / "site").rglob("*.py*")] == []


def site_hooks() -> Any:
    """The hooks of the site's builder, whose file has the name of a module of Python's own."""
    spec = importlib.util.spec_from_file_location("site_hooks", DOCS / "site.py")
    assert spec is not None
    assert spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return hooks


def test_options_of_commands_are_marked_so_that_lines_break_before_their_hyphens() -> None:
    command = '<code><a id="line-0-1"></a>weft train a-b.toml --max-rows<b> </b>5 -o out</code> - or --not'
    marked = command.replace("--max-rows", "<span data-option>--max-rows</span>")
    assert site_hooks().on_page_content(command) == marked.replace(" -o ", " <span data-option>-o</span> ")


def test_cells_of_tables_of_words_say_their_column_and_tables_of_figures_stay_as_they_are() -> None:
    """Narrow screens show such a table row by row, each cell behind the name of its column."""
    hooks = site_hooks()
    rows = "<tbody><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></tbody></table>"
    words = "<table>\n<thead>\n<tr>\n<th>you want</th>\n<th><code>weft</code></th></tr></thead>" + rows
    figures = "<table>\n<thead>\n<tr>\n<th>set</th>\n<th>weft</th></tr></thead>" + rows
    shown = hooks.on_page_content(words + figures)
    assert re.findall(r'<td data-head="(.*?)">(.)', shown) == [
        ("you want", "a"),
        ("weft", "b"),
        ("you want", "c"),
        ("weft", "d"),
    ]
    assert shown.startswith("<table data-words>")
    assert shown.endswith(figures)
    for head in ("recipe", "notebook", "to add", "room", "table"):  # of pages that phones would scroll
        assert "data-words" in hooks.on_page_content(figures.replace("<th>set<", f"<th>{head}<"))


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_code_of_a_page_is_as_wide_as_its_column_at_most(page: Path) -> None:
    """80 letters on a screen of 1400 pixels, beyond which a reader must scroll; commands wrap."""
    found = re.findall(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for language, body in found if language != "sh" for line in textwrap.dedent(body).splitlines()]
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_has_no_formulas_and_hardly_any_html(page: Path) -> None:
    """The site would show a formula's source, and strike out what follows a token such as <s>."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "$" not in text
    assert set(re.findall(r"</?(\w+)[ />]", text)) <= {"code", "sub", "sup"}


def test_dead_links_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">b</a><a href="#gone">x</a><a href="c.html">c</a>')
    (tmp_path / "b.html").write_text(
        '<h1 id="there">b</h1><a href="a.html"></a><script src="https://e.org/x.js"></script>'
    )
    assert dead_links(tmp_path) == ["a.html: #gone", "a.html: c.html", "b.html loads https://e.org/x.js"]


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_of_a_page_lead_to_files_and_to_headings_that_are_there(page: Path) -> None:
    """Also where the site cannot be built. Folders are no pages: a site has none to show."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        name, _, place = link.partition("#")
        target = page.parent / name if name else page
        assert target.is_file(), link
        assert not place or place in headings(target), link


def headings(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    plain = (re.sub(r"[^\w\s-]", "", title).strip().lower() for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[-\s]+", "-", title) for title in plain}
