"""The help of every command: first what it does, then an example; readable in 80 columns, and true to markup."""

from __future__ import annotations

import re

import pytest
import typer
from typer.testing import CliRunner

from weft.cli.main import app

COMMANDS = {str(command.name): command.callback for command in app.registered_commands}
PAGES = {"weft": [], **{name: [name] for name in COMMANDS}}  # what stands before --help


@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_follows_what_a_command_does(name: str) -> None:
    what, example, *_ = (COMMANDS[name].__doc__ or "").split("\n\n")  # type: ignore[union-attr]
    assert "\n" not in what, "the list of commands would break there"
    assert re.match(rf"\s*Example: \[cyan\].*\bweft {name}\b", example)


@pytest.mark.parametrize("words", PAGES.values(), ids=PAGES)
def test_help_fits_into_80_columns_and_begins_with_an_example(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, [*words, "--help"]).output
    assert max(map(len, shown.splitlines())) <= 80
    paragraphs = re.split(r"\n\s*\n", shown.strip())
    assert paragraphs[2].lstrip().startswith("Example: ")  # after how it is called, and what it does


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_of_help_is_broken_twice(name: str) -> None:
    paragraphs = (COMMANDS[name].__doc__ or "").split("\n\n")[2:]  # type: ignore[union-attr]
    plain = re.sub(r"\[/?\w*\]", "", "\n".join(paragraphs))
    assert all(len(line.strip()) <= 78 for line in plain.splitlines())


@pytest.mark.parametrize("name", COMMANDS)
def test_no_words_of_a_help_text_are_taken_for_markup(name: str) -> None:
    command = vars(typer.main.get_command(app))["commands"][name]
    for parameter in command.params:
        assert not re.search(r"\[(?!/\]|bold\]|cyan\])", parameter.help or ""), parameter.name
