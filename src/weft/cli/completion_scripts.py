"""Completion scripts for shells, written from the commands themselves; a shell then never asks Python."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer


@dataclass(frozen=True)
class Switch:
    """An option of a command."""

    names: tuple[str, ...]  # --long and -s
    takes_value: bool
    choices: tuple[str, ...]  # of its value; empty where it may be anything, as a file
    about: str


@dataclass(frozen=True)
class Verb:
    """A command with its options."""

    name: str
    about: str
    switches: tuple[Switch, ...]
    choices: tuple[str, ...]  # of its first argument; empty where that may be anything, as a file


def read_verbs(app: typer.Typer) -> tuple[Verb, ...]:
    """Every command of an app, but for hidden ones: names as typer gives them, choices by the types of its function."""
    commands: Mapping[str, Any] = vars(typer.main.get_command(app))["commands"]
    functions = {command.name: command.callback for command in app.registered_commands}
    return tuple(
        _verb(name, command, get_type_hints(functions[name]))
        for name, command in commands.items()
        if not command.hidden and functions.get(name)
    )


def _verb(name: str, command: Any, types: Mapping[str, Any]) -> Verb:
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    switches = [
        Switch((*one.opts, *one.secondary_opts), not one.is_flag, _choices(types[one.name]), _first_line(one.help))
        for one in options
    ]
    asked = Switch(("--help", "-h"), False, (), "Show this message and exit.")
    first = _choices(types[arguments[0].name]) if arguments else ()
    return Verb(name, _first_line(command.help), (*switches, asked), first)


def _choices(annotation: Any) -> tuple[str, ...]:
    """The values of a Literal, also where it is one of several types."""
    if get_origin(annotation) is Literal:
        return tuple(map(str, get_args(annotation)))
    return tuple(value for part in get_args(annotation) for value in _choices(part))


def _first_line(text: str | None) -> str:
    from rich.text import Text

    return Text.from_markup((text or "").strip().split("\n\n")[0]).plain.replace("\n", " ")


def bash_script(verbs: Sequence[Verb]) -> str:
    """For `source <(weft completion bash)`; where there is nothing to offer, bash offers files."""
    return "\n".join(_bash(verbs)) + "\n"


def _bash(verbs: Sequence[Verb]) -> Iterator[str]:
    yield "# weft: commands, options and their values. Load it by: source <(weft completion bash)"
    yield from ("_weft() {", "    local current=${COMP_WORDS[COMP_CWORD]} words=")
    yield "    if ((COMP_CWORD == 1)); then"
    yield f"        words={shlex.quote(' '.join([*(verb.name for verb in verbs), '--help', '--version']))}"
    yield "    else"
    yield '        case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in'
    for verb in verbs:
        for switch in (one for one in verb.switches if one.takes_value):
            places = " | ".join(shlex.quote(f"{verb.name} {name}") for name in switch.names)
            yield f"            {places}) words={shlex.quote(' '.join(switch.choices))} ;;"
    yield '            *) case "${COMP_WORDS[1]} $current" in'
    for verb in verbs:
        names = " ".join(name for switch in verb.switches for name in switch.names)
        yield f"                {shlex.quote(f'{verb.name} -')}*) words={shlex.quote(names)} ;;"
        if verb.choices:
            yield f"                {shlex.quote(f'{verb.name} ')}*) words={shlex.quote(' '.join(verb.choices))} ;;"
    yield from ("            esac ;;", "        esac", "    fi")
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'  # no mapfile: macOS still has bash 3
    yield from ("}", "complete -o default -F _weft weft")


def zsh_script(verbs: Sequence[Verb]) -> str:
    """For `source <(weft completion zsh)`, or as a file `_weft` in a folder of $fpath."""
    return "\n".join(_zsh(verbs)) + "\n"


def _zsh(verbs: Sequence[Verb]) -> Iterator[str]:
    yield from ("#compdef weft", "_weft() {", "    local -a verbs=(")
    for verb in verbs:
        yield f"        {shlex.quote(f'{verb.name}:{verb.about}')}"
    yield "    )"
    yield "    if ((CURRENT == 2)); then _describe command verbs; return; fi"
    yield "    shift words; ((CURRENT--))"
    yield "    case $words[1] in"
    for verb in verbs:
        first = f"({' '.join(verb.choices)})" if verb.choices else "_files"
        specs = [spec for switch in verb.switches for spec in _zsh_switch(switch)]
        yield f"        {verb.name}) _arguments {' '.join(map(shlex.quote, [*specs, f'*:: :{first}']))} ;;"
    yield from ("    esac", "}")
    yield 'if [[ $funcstack[1] == _weft ]]; then _weft "$@"; else compdef _weft weft; fi'


def _zsh_switch(switch: Switch) -> Iterator[str]:
    about = switch.about.replace("[", "(").replace("]", ")").replace(":", r"\:")
    value = f":value:({' '.join(switch.choices)})" if switch.choices else ":value:_files"
    for name in switch.names:
        yield f"*{name}[{about}]{value if switch.takes_value else ''}"


def fish_script(verbs: Sequence[Verb]) -> str:
    """For `weft completion fish | source`."""
    return "\n".join(_fish(verbs)) + "\n"


def _fish(verbs: Sequence[Verb]) -> Iterator[str]:
    yield "# weft: commands, options and their values. Load it by: weft completion fish | source"
    for verb in verbs:
        yield f"complete -c weft -n __fish_use_subcommand -f -a {verb.name} -d {_fish_quote(verb.about)}"
    for verb in verbs:
        here = f"complete -c weft -n '__fish_seen_subcommand_from {verb.name}'"
        if verb.choices:
            yield f"{here} -f -a {_fish_quote(' '.join(verb.choices))}"
        for switch in verb.switches:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in switch.names)
            choices = f" -x -a {_fish_quote(' '.join(switch.choices))}"
            value = (choices if switch.choices else " -r") if switch.takes_value else ""
            yield f"{here} {names}{value} -d {_fish_quote(switch.about)}"


def _fish_quote(words: str) -> str:
    quoted = words.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"


SCRIPTS: Mapping[str, Callable[[Sequence[Verb]], str]] = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
