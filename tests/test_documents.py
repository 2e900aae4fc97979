"""What README, documents, recipes and benchmarks say can be typed, exists, and is all there is."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import inspect
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest
import typer

import weft
from checking import check
from weft.cli import main as cli
from weft.comparison.arms import make_arms
from weft.comparison.grid import read_grid
from weft.conditioning import Conditioning
from weft.config.document import is_grid, parse_experiment
from weft.config.experiment import EncoderChoice, Experiment, Phase
from weft.config.training import Training
from weft.errors import ConfigError
from weft.heads import Head
from weft.losses import Loss
from weft.pooling import Pooler
from weft.presets import Preset
from weft.sampling import Sampler
from weft.tasks import Task

TOP = Path(__file__).parent.parent
SOURCE = TOP / "src" / "weft"
README = (TOP / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "CHANGELOG.md", *sorted((TOP / "docs").rglob("*.md"))]
DOCUMENTS = [path for path in DOCUMENTS if path.parent.name != "reference"]  # of which test_reference.py is
FIGURES = sorted((TOP / "recipes" / "figures").glob("*.toml"))
RECIPES = [*sorted((TOP / "recipes").glob("*.toml")), *FIGURES]
COMPARED, TABLES = (sorted((TOP / "recipes" / part).glob("*.toml")) for part in ("compare", "tables"))
GRIDS = [*COMPARED, *TABLES]
BENCHMARKS = sorted((TOP / "benchmarks").glob("*.py"))
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLUGINS = TOP / "docs" / "plugins.md"  # whose configs need a package that test_plugins.py installs
UNLISTED = ("combined", "none")  # a list of methods, and no method


# what is said, and where


def blocks(text: str, *languages: str) -> list[str]:
    """The fenced blocks of a document in one of these languages."""
    found = re.findall(r"^```(\w*)(?: title=\"[^\"]*\")?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [body for language, body in found if language in languages]


def spans(text: str) -> list[str]:
    """What stands between single backticks, outside fenced blocks."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(found.split()) for found in re.findall(r"`([^`]+)`", prose)]


@dataclass(frozen=True)
class Line:
    """A command somebody may type, and who told them to."""

    place: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: {' '.join(self.words)}"


def typed(place: str, text: str) -> Iterator[Line]:
    """The commands of ours in some lines of shell: `weft …` and `python benchmarks/….py …`."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|;|\|", line):
            words = tuple(takewhile(lambda word: word != ">", shlex.split(part, comments=True)))
            if words[:1] == ("weft",) or (words[:1] == ("python",) and "benchmarks/" in part):
                yield Line(place, words)


def all_lines() -> Iterator[Line]:
    """Every command in every document, recipe, benchmark and help text."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for block in blocks(text, "", "sh"):
            yield from typed(path.name, block)
        for span in spans(text):
            words = len(span.split())
            if (span.startswith("weft ") and words > 2) or span.startswith("python benchmarks/"):  # not just a name
                yield from typed(path.name, span)
    for path in (*RECIPES, *GRIDS):
        comments = [line.removeprefix("#") for line in path.read_text("utf-8").splitlines() if line.startswith("#")]
        yield from typed(path.name, "\n".join(one for one in comments if one.startswith("   ")))
    for path in BENCHMARKS:
        told = re.sub(r"[\[\]…]", "", ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")
        yield from typed(path.name, "\n".join(re.findall(r"^    (?:weft|python) .*", told, re.MULTILINE)))
    for name, command in COMMANDS.items():
        for example in re.findall(r"\[cyan\](.*?)\[/\]", command.help or "", re.DOTALL):
            if len(example.split()) > 2:  # not just a name
                yield from typed(f"weft {name} --help", " ".join(example.split()))


COMMANDS: dict[str, Any] = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
LINES = list(all_lines())


# what can be typed


class Parsed(Exception):  # noqa: N818 (what was looked for)
    """The arguments of a script have been read; what it would do with them is not done."""


class Refused(Exception):  # noqa: N818 (of a line, not of a test)
    """A line that cannot be typed."""


def parse_weft(words: tuple[str, ...]) -> None:
    """Refuse a command, option or value that the real parser refuses; nothing is run."""
    _, name, *arguments = words
    if name not in COMMANDS:
        raise Refused(f"there is no command {name}")
    try:
        COMMANDS[name].make_context(name, arguments)
    except Exception as error:
        if getattr(error, "exit_code", None) == 2:  # wrong usage, whichever click the parser was built with
            raise Refused(str(error)) from None
        raise


def load_benchmark(path: Path) -> Any:
    """A benchmark as a module, nothing of it run."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their types
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)  # as for any script
        spec.loader.exec_module(module)
    return module


def parse_benchmark(words: tuple[str, ...]) -> None:
    """Refuse arguments that the script's own parser refuses, or knows only as an abbreviation."""
    read = argparse.ArgumentParser.parse_args

    def stop(self: argparse.ArgumentParser, *_: Any) -> None:
        read(self, list(words[2:]))
        known = {option for action in self._actions for option in action.option_strings}
        wrong = [word for word in words[2:] if word.startswith("--") and word.partition("=")[0] not in known]
        raise Refused(f"unknown: {wrong}") if wrong else Parsed

    module = load_benchmark(TOP / words[1])
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as said:
        patch.setattr(argparse.ArgumentParser, "parse_args", stop)
        try:
            module.main()
        except Parsed:
            return
        except SystemExit:
            raise Refused(said.getvalue()) from None
    raise AssertionError(f"{words[1]} began its work without reading its arguments")


def parse_line(words: tuple[str, ...]) -> None:
    (parse_weft if words[0] == "weft" else parse_benchmark)(words)


def test_commands_are_found_in_every_kind_of_place() -> None:
    places = {line.place for line in LINES}
    assert {"README.md", "results.md", "inspect.md"} <= places
    assert {path.name for path in (*RECIPES, *BENCHMARKS)} <= places
    told = {line.words[1] for line in LINES if line.place == "README.md" and line.words[0] == "weft"}
    assert told == set(COMMANDS)  # the README shows every command
    assert {line.place for line in LINES if line.place.endswith("--help")} == {
        f"weft {name} --help" for name in COMMANDS
    }


@pytest.mark.parametrize("line", LINES, ids=str)
def test_every_command_is_one_that_the_real_parser_takes(line: Line) -> None:
    parse_line(line.words)
    for word in line.words:
        if re.match(r"(recipes|benchmarks|docs|tests)/", word):
            assert (TOP / word).exists(), word


@pytest.mark.parametrize(
    "wrong",
    [
        "weft trian triage.toml",
        "weft train triage.toml --outptu triage",
        "weft train",
        "weft train one.toml two.toml",
        "weft embed minilm --input new.csv",
        "weft embed minilm --input new.csv --output v.npy --level paragraph",
        "weft inspect triage --txt x",
        "weft vocab texts.txt --size many --output vocab",
        "python benchmarks/encoder.py --runds 5",
        "python benchmarks/encoder.py --round 5",
        "python benchmarks/encoder.py --rounds five",
        "python benchmarks/nested.py",
    ],
)
def test_a_command_that_nobody_can_type_is_noticed(wrong: str) -> None:
    with pytest.raises(Refused):
        parse_line(tuple(shlex.split(wrong)))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.name)
def test_a_benchmark_explains_itself_and_names_all_its_options(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_benchmark(path)
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as caught:
        module.main()
    assert caught.value.code == 0
    assert f"python benchmarks/{path.name}" in said.getvalue()


# configs


CONFIGS = [
    *((path.name, text) for path in DOCUMENTS for text in blocks(path.read_text("utf-8"), "toml") if path != PLUGINS),
    *((path.name, path.read_text("utf-8")) for path in RECIPES),
]
GRID_TEXTS = [
    *((name, text) for name, text in CONFIGS if is_grid(tomllib.loads(text))),
    *((path.name, path.read_text("utf-8")) for path in GRIDS),
]
CONFIGS = [config for config in CONFIGS if config not in GRID_TEXTS]


@pytest.mark.parametrize("text", [text for _, text in CONFIGS], ids=[name for name, _ in CONFIGS])
def test_every_config_is_sound_but_for_files_that_are_not_here(text: str, tmp_path: Path) -> None:
    experiment = parse_experiment(tomllib.loads(text))
    found = check(experiment, tmp_path)
    elsewhere = [one for one in found if not re.fullmatch(r"tasks\.\w+\.(train|dev|test)", one.path)]
    assert [one for one in elsewhere if one.severity != "note"] == []


@pytest.mark.parametrize("text", [text for _, text in GRID_TEXTS], ids=[name for name, _ in GRID_TEXTS])
def test_every_grid_is_sound_but_for_files_that_are_not_here(text: str, tmp_path: Path) -> None:
    for name in ("triage.toml", "desk/desk.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(blocks(README, "toml")[0], encoding="utf-8")
    (tmp_path / "grid.toml").write_text(text, encoding="utf-8")
    arms = make_arms(read_grid(tmp_path / "grid.toml"))
    assert len(arms) > 1
    for arm in arms:
        found = check(parse_experiment(arm.document), tmp_path)
        elsewhere = [one for one in found if not re.fullmatch(r"tasks\.\w+\.(train|dev|test)", one.path)]
        untrained = "no phase trains this task"  # to be measured as it is, beside variants that train it
        assert [one for one in elsewhere if one.severity != "note" and one.message != untrained] == []


def test_every_grid_among_the_recipes_has_a_page_of_results() -> None:
    pages = TOP / "docs" / "results"
    assert {file.stem for file in pages.glob("*.csv")} == {path.stem for path in COMPARED}
    assert {file.stem for file in pages.glob("*.csv")} <= {file.stem for file in pages.glob("*.md")}


def test_every_table_stands_in_the_overview_and_has_a_page_if_it_was_run() -> None:
    pages = TOP / "docs" / "results"
    said = (pages / "README.md").read_text(encoding="utf-8")
    run = {file.stem for file in (pages / "tables").glob("*.csv")}
    assert run <= {path.stem for path in TABLES}
    assert run == {file.stem for file in (pages / "tables").glob("*.md")}
    for path in TABLES:
        place = f"tables/{path.stem}.md" if path.stem in run else f"../../recipes/tables/{path.name}"
        assert f"| [{path.stem}]({place}) |" in said


def test_every_figure_stands_in_the_overview_and_on_the_page_of_methods() -> None:
    pages = TOP / "docs" / "results"
    said, methods = (path.read_text(encoding="utf-8") for path in (pages / "README.md", TOP / "docs" / "methods.md"))
    for path in FIGURES:
        assert f"| [{path.stem}](figures/{path.stem}.md) |" in said
        assert f"(results/figures/{path.stem}.md)" in methods


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_the_page_of_methods_knows_each_table_and_whether_it_was_run(path: Path) -> None:
    run = (TOP / "docs" / "results" / "tables" / f"{path.stem}.csv").exists()
    links = re.findall(rf"\[{path.stem}\]\(([^)]+)\)", (TOP / "docs" / "methods.md").read_text(encoding="utf-8"))
    assert set(links) == {f"results/tables/{path.stem}.md" if run else "results/README.md"}


def test_the_readme_begins_with_a_config() -> None:
    assert len(blocks(README, "toml")) == 1


def test_a_misspelt_key_in_a_config_is_noticed() -> None:
    with pytest.raises(ConfigError, match="unknown key; did you mean 'train'"):
        parse_experiment(tomllib.loads(blocks(README, "toml")[0].replace("train =", "trian =", 1)))


def choices(row: str) -> str:
    """What the README's table of choices says in a row."""
    return next(line for line in README.splitlines() if line.startswith(f"| {row} |"))


def losses_that_read(what: str) -> list[str]:
    return [kind for kind, loss in Loss.kinds().items() if loss.reads == what]


def test_the_row_of_phases_names_their_losses() -> None:
    assert all(f"`{kind}`" in choices("`phases`") for kind in losses_that_read("features"))


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        ("`tasks.*`", [*Task.kinds()]),
        ("`tasks.*.head`, `pooling`, `loss`", [*Head.kinds(), *Pooler.kinds(), *losses_that_read("scores")]),
        ("`conditioning`", [kind for kind in Conditioning.kinds() if kind not in UNLISTED]),
        ("`sampling`", [*Sampler.kinds()]),
        ("`preset`", [*Preset.kinds()]),
    ],
)
def test_the_table_of_choices_names_every_kind_and_no_other(row: str, kinds: list[str]) -> None:
    named = set(re.findall(r"`([a-z_]+)`", choices(row).split("|", 2)[2]))
    assert set(kinds) <= named
    options = {field for kind in Task.kinds().values() for field in kind.model_fields}
    allowed = {"`tasks.*`": options, "`preset`": {"phases"}}
    assert named - set(kinds) <= allowed.get(row, set())


def test_the_table_of_choices_names_options_and_values_that_exist() -> None:
    tasks = choices("`tasks.*`")
    for option, values in re.findall(r"`(\w+) = ([^)]*)\)", tasks):
        assert any(
            all(value in str(field.annotation) for value in re.findall(r'"(\w+)"', values))
            for kind in Task.kinds().values()
            for name, field in kind.model_fields.items()
            if (field.alias or name) == option
        ), (option, values)
    named = re.findall(r"`(\w+)`", choices("`encoder`").split("|", 2)[2])
    fields = {field.alias or name for name, field in EncoderChoice.model_fields.items()}
    assert set(named) - {"minilm"} <= fields
    tables = re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)
    assert set(tables) <= set(Experiment.model_fields)
    assert {"conditioning", "sampling", "encoder", "phases", "training"} <= set(tables)
    assert {"tasks", "epochs", "learning_rate"} <= set(Phase.model_fields)  # as the row of phases says
    assert {"loss_weights", "conflict", "layer_decay", "early_stopping_patience", "report_to"} <= set(
        Training.model_fields
    )


# python


def test_python_in_the_readme_calls_public_names_as_they_can_be_called() -> None:
    (text,) = blocks(README, "python")
    tree = ast.parse(text)
    checked = 0
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        assert isinstance(call.func, ast.Attribute)
        owner, name = call.func.value, call.func.attr
        if isinstance(owner, ast.Name) and owner.id == "weft":
            assert name in weft.__all__, name
            function, before = getattr(weft, name), ()
        else:
            kind = weft.Model if isinstance(owner, ast.Name) else weft.TextEncoder
            assert isinstance(owner, ast.Name) or ast.unparse(owner).startswith("weft.load_encoder(")
            function, before = getattr(kind, name), (None,)
        given = {keyword.arg: None for keyword in call.keywords if keyword.arg}
        inspect.signature(function).bind(*before, *call.args, **given)
        checked += 1
    assert checked >= 6


def test_the_public_functions_return_what_the_readme_holds_in_its_hands() -> None:
    for function, result in (("train", "Model"), ("load", "Model"), ("load_encoder", "TextEncoder")):
        assert inspect.signature(getattr(weft, function)).return_annotation == result


# files


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (path.parent / link).exists()] == []
    named = [span for span in spans(text) if re.fullmatch(r"(docs|tests|benchmarks|recipes|src)/[\w./-]*", span)]
    assert [name for name in named if not (TOP / name).exists()] == []


def tree() -> dict[str, str]:
    """The README's tree: what it says of each file or room of src/weft, by path."""
    (block,) = (one for one in blocks(README, "") if one.startswith("src/weft/"))
    found: dict[str, str] = {}
    rooms: list[str] = []
    for line in block.splitlines()[1:]:
        indent = len(line) - len(line.lstrip())
        if not indent:  # what lies beside the source
            found |= dict.fromkeys(line.split(), "")
        elif indent > 8:  # goes on with what was said above
            found[next(reversed(found))] += " " + line.strip()
        else:
            names, _, said = re.sub(r"\s{3,}", "\t", line.strip()).partition("\t")
            prefix = rooms[-1] if indent == 4 else ""
            rooms = [*rooms, *(name for name in names.split() if name.endswith("/") and indent == 2)]
            found |= {prefix + name: said for name in names.split()}
    return found


TREE = tree()


def test_every_file_and_room_of_the_source_is_in_the_readmes_tree() -> None:
    said = " ".join((*TREE, *TREE.values()))
    hidden = ("__pycache__", "__main__.py", "py.typed")
    names = {path.name + "/" * path.is_dir() for path in SOURCE.iterdir() if path.name not in hidden}
    assert sorted(name for name in names if not re.search(rf"(?<![\w.]){re.escape(name)}", said)) == []


def test_every_file_and_room_in_the_readmes_tree_exists() -> None:
    beside = {"tests/", "benchmarks/", "recipes/", "docs/", "notebooks/"}
    assert beside <= TREE.keys()
    for name, said in TREE.items():
        place = TOP if name in beside else SOURCE
        assert (place / name).exists(), name
        folder = place / name if name.endswith("/") else (place / name).parent
        for file in re.findall(r"[\w/]+\.py\b|\b\w+/(?= )", said):
            assert (folder / file).exists() or (SOURCE / file).exists(), f"{name}: {file}"


ROOMS = sorted(path for path in SOURCE.iterdir() if (path / "__init__.py").is_file())


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.name)
def test_a_room_that_lists_its_files_lists_all_of_them(room: Path) -> None:
    inside = " ".join(f"{name} {said}" for name, said in TREE.items() if name.startswith(f"{room.name}/"))
    said = inside or next(said for said in TREE.values() if f"{room.name}/ " in said)
    if re.search(r"per (file|verb)|one file per", said):
        return
    files = {path.stem for path in room.glob("*.py")} - {"__init__"}
    assert sorted(files - set(re.findall(r"\w+", said))) == []
    listed = re.sub(r"\([^)]*\)|\w+/ .*", "", said)
    items = {item.strip() for item in re.split(r"[,;:]", listed)}
    if len(items & files) > 2:  # a list of names, and not a sentence
        assert {item for item in items if re.fullmatch(r"[a-z_]+", item)} - files == set()


# the first commands of a newcomer


def test_the_test_command_of_the_readme_is_what_is_run_on_every_change() -> None:
    script = (TOP / ".ci" / "run").read_text(encoding="utf-8")
    (pattern,) = re.findall(r're\.search\(r"(.*?)", pathlib', script)
    found = re.findall(pattern, README, re.DOTALL)
    assert found == ["pip install -c constraints.txt -e '.[test]' && pytest\n"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_installed_exists(path: Path) -> None:
    for command in re.findall(r"pip install ([^`&\n]+)", path.read_text(encoding="utf-8")):
        words = shlex.split(command)
        if "-c" in words:
            assert (TOP / words[words.index("-c") + 1]).is_file()
        for extra in re.findall(r"\[(\w+)\]", command):
            assert extra in PROJECT["optional-dependencies"], command


def test_the_commands_of_the_readme_run_one_after_the_other(
    small_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = blocks(README, "toml")[0].replace('"minilm"', json.dumps(small_encoder))
    (tmp_path / "triage.toml").write_text(config + "[training]\nepochs = 1\n", encoding="utf-8")
    phrases = [f"{word} {what}" for word in ("quick", "lazy") for what in ("don't", "café", "1234")]
    messages = [f"{phrase} of the {animal}" for phrase in phrases for animal in ("fox", "dog")]
    labelled = [f"{text},{'urgent' if text.startswith('quick') else 'not'}" for text in messages]
    for name, rows in (("messages.csv", labelled), ("new.csv", labelled[::2])):
        (tmp_path / name).write_text("\n".join(["message,urgency", *rows]) + "\n", encoding="utf-8")
    marked = [{"message": text, "spans": [[len(text) - 3, len(text), text[-3:]]]} for text in messages]
    (tmp_path / "marked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in marked), encoding="utf-8")
    (tmp_path / "texts.txt").write_text("\n".join(messages) + "\n", encoding="utf-8")
    grid = 'base = "triage.toml"\nseeds = 1\nfolds = 2\n[variants.plain.tasks]\nurgency.dev = 0.4\nfindings.dev = 0.4\n'
    (tmp_path / "grid.toml").write_text(grid, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (block,) = (one for one in blocks(README, "sh") if "weft check" in one)
    lines = list(typed("README.md", block))
    assert {line.words[1] for line in lines} == COMMANDS.keys() - {"demo", "example"}  # which have places of their own
    for line in lines:
        words = [*line.words, *(["--task", "urgency"] if line.words[1] == "evaluate" else [])]  # new.csv has no spans
        monkeypatch.setattr(sys, "argv", words)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as caught:
            cli.main()
        assert not caught.value.code, f"{line}\n{said.getvalue()}"
    made = {word for line in lines for before, word in pairwise(line.words) if before == "--output"}
    assert {"triage", "answers.csv", "spans.csv", "page.html", "vectors.npy", "vocab", "weft.schema.json"} == made
    assert all((tmp_path / name).exists() for name in (*made, "messages.toml", "report.html"))
