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
    """A command with its options, also those that every command takes."""

    name: str
    about: str
    switches: tuple[Switch, ...]
    choices: tuple[str, ...]  # of its first argument; empty where that may be anything, as a file


@dataclass(frozen=True)
class Program:
    """All that can be typed after `weft`."""

    switches: tuple[Switch, ...]  # that may stand before a command
    verbs: tuple[Verb, ...]


_ASKED = Switch(("--help", "-h"), False, (), "Show this message and exit.")


def read_program(app: typer.Typer) -> Program:
    """Every command of an app, but for hidden ones: names as typer gives them, choices by the types of its function."""
    group: Any = typer.main.get_command(app)
    functions = {command.name: command.callback for command in app.registered_commands}
    before = get_type_hints(app.registered_callback.callback) if app.registered_callback else {}
    shared = _switches([one for one in group.params if not one.is_eager], before)  # eager ones answer by themselves
    verbs = (
        _verb(name, command, get_type_hints(functions[name]), shared)
        for name, command in vars(group)["commands"].items()
        if not command.hidden and functions.get(name)
    )
    return Program((*_switches(group.params, before), _ASKED), tuple(verbs))


def _verb(name: str, command: Any, types: Mapping[str, Any], shared: Sequence[Switch]) -> Verb:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    first = _choices(types[arguments[0].name]) if arguments else ()
    return Verb(name, _first_line(command.help), (*_switches(command.params, types), *shared, _ASKED), first)


def _switches(parameters: Sequence[Any], types: Mapping[str, Any]) -> tuple[Switch, ...]:
    """The options among the parameters of a command; one that takes another back is an option of its own."""
    found: list[Switch] = []
    for one in parameters:
        if one.param_type_name == "option" and not one.hidden:
            found.append(Switch(tuple(one.opts), not one.is_flag, _choices(types[one.name]), _first_line(one.help)))
            if one.secondary_opts:
                found.append(Switch(tuple(one.secondary_opts), False, (), f"The opposite of {one.opts[0]}."))
    return tuple(found)


def _choices(annotation: Any) -> tuple[str, ...]:
    """The values of a Literal, also where it is one of several types."""
    if get_origin(annotation) is Literal:
        return tuple(map(str, get_args(annotation)))
    return tuple(value for part in get_args(annotation) for value in _choices(part))


def _first_line(text: str | None) -> str:
    from rich.text import Text

    return Text.from_markup((text or "").strip().split("\n\n")[0]).plain.replace("\n", " ")


def bash_script(program: Program) -> str:
    """For `source <(weft completion bash)`; where there is nothing to offer, bash offers files."""
    return "\n".join(_bash(program)) + "\n"


def _bash(program: Program) -> Iterator[str]:
    yield "# weft: commands, options and their values. Load it by: source <(weft completion bash)"
    yield from ("_weft() {", "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}")
    yield "    local verb= word words="
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield "        if [[ $word != -* ]]; then verb=$word; break; fi"
    yield from ("    done", '    case "$verb $before" in')
    places = {"": program.switches} | {verb.name: verb.switches for verb in program.verbs}
    for place, switches in places.items():
        for switch in (one for one in switches if one.takes_value):
            options = " | ".join(shlex.quote(f"{place} {name}") for name in switch.names)
            yield f"        {options}) words={shlex.quote(' '.join(switch.choices))} ;;"
    yield '        *) case "$verb $current" in'
    for place, switches in places.items():
        yield f"            {shlex.quote(f'{place} -')}*) words={shlex.quote(' '.join(_names(switches)))} ;;"
    firsts = {"": tuple(verb.name for verb in program.verbs)} | {verb.name: verb.choices for verb in program.verbs}
    for place, choices in firsts.items():
        if choices:
            yield f"            {shlex.quote(f'{place} ')}*) words={shlex.quote(' '.join(choices))} ;;"
    yield from ("        esac ;;", "    esac")
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'  # no mapfile: macOS still has bash 3
    yield from ("}", "complete -o default -F _weft weft")


def _names(switches: Sequence[Switch]) -> list[str]:
    return [name for switch in switches for name in switch.names]


def zsh_script(program: Program) -> str:
    """For `source <(weft completion zsh)`, or as a file `_weft` in a folder of $fpath."""
    return "\n".join(_zsh(program)) + "\n"


def _zsh(program: Program) -> Iterator[str]:
    yield from ("#compdef weft", "_weft() {", "    local context state state_descr line", "    typeset -A opt_args")
    yield "    local -a verbs=("
    for verb in program.verbs:
        yield f"        {shlex.quote(f'{verb.name}:{verb.about}')}"
    yield "    )"
    yield f"    {_zsh_arguments('-C', program.switches, '1:command:->verb', '*::rest:->rest')} && return"
    yield "    if [[ $state == verb ]]; then _describe command verbs; return; fi"
    yield "    case $words[1] in"
    for verb in program.verbs:
        rest = f"1:value:({' '.join(verb.choices)})" if verb.choices else "*:file:_files"  # `*::` would end the options
        yield f"        {verb.name}) {_zsh_arguments('', verb.switches, rest)} ;;"
    yield from ("    esac", "}")
    yield 'if [[ $funcstack[1] == _weft ]]; then _weft "$@"; else compdef _weft weft; fi'


def _zsh_arguments(how: str, switches: Sequence[Switch], *rest: str) -> str:
    specs = [spec for switch in switches for spec in _zsh_switch(switch)]
    return " ".join(["_arguments", *how.split(), *map(shlex.quote, (*specs, *rest))])


def _zsh_switch(switch: Switch) -> Iterator[str]:
    about = switch.about.replace("[", "(").replace("]", ")").replace(":", r"\:")
    value = f":value:({' '.join(switch.choices)})" if switch.choices else ":value:_files"
    for name in switch.names:
        joined = "=" if switch.takes_value and name.startswith("--") else ""  # --name=value, too
        yield f"*{name}{joined}[{about}]{value if switch.takes_value else ''}"


def fish_script(program: Program) -> str:
    """For `weft completion fish | source`."""
    return "\n".join(_fish(program)) + "\n"


def _fish(program: Program) -> Iterator[str]:
    yield "# weft: commands, options and their values. Load it by: weft completion fish | source"
    # The word that is the command, and not any word: a model may be called train.
    yield "function __weft_verb -a verb"
    yield "    set -l words (commandline -opc)"
    yield '    test "$verb" = (string match -v -- "-*" $words[2..-1] "")[1]'
    yield "end"
    yield from (_fish_switch("", switch) for switch in program.switches)
    for verb in program.verbs:
        yield f"{_fish_after('')} -f -a {verb.name} -d {_fish_quote(verb.about)}"
    for verb in program.verbs:
        if verb.choices:
            yield f"{_fish_after(verb.name)} -f -a {_fish_quote(' '.join(verb.choices))}"
        yield from (_fish_switch(verb.name, switch) for switch in verb.switches)


def _fish_switch(verb: str, switch: Switch) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in switch.names)
    choices = f" -x -a {_fish_quote(' '.join(switch.choices))}" if switch.choices else " -r -F"
    value = choices if switch.takes_value else ""
    return f"{_fish_after(verb)} {names}{value} -d {_fish_quote(switch.about)}"


def _fish_after(verb: str) -> str:
    return f"complete -c weft -n '__weft_verb \"{verb}\"'"


def _fish_quote(words: str) -> str:
    quoted = words.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"


SCRIPTS: Mapping[str, Callable[[Program], str]] = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
