"""Shell completion: made from the commands themselves, and tried in bash, zsh and fish as somebody who types would."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from conftest import RunWeft
from weft.cli.completion_scripts import SCRIPTS, Switch, read_program
from weft.cli.main import app

PROGRAM = read_program(app)
VERBS = {verb.name: verb for verb in PROGRAM.verbs}
FILES = {"mine.csv", "mine.toml"}
BASH = """
source "$1"; shift
for line; do
    COMP_WORDS=($line)
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _weft
    [[ ${#COMPREPLY[@]} == 0 ]] && COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))  # as -o default does
    echo "${COMPREPLY[@]}"
done
"""
ZSHRC = """
autoload -Uz compinit
eval $LOAD
compadd() {  # notes what is really offered, and not what is only looked up
    local -a found
    (( ${@[(I)-[OAD]]} )) || { builtin compadd -A found "$@"; offered+=($found) }
    builtin compadd "$@"
}
ask() {
    for line in ${(f)LINES_TYPED}; do
        offered=() BUFFER=$line CURSOR=$#line
        zle offer
        print -r -- $offered >> $ANSWERS
    done
    exit
}
zle -C offer complete-word _main_complete
zle -N zle-line-init ask
"""
FISH = "source $argv[1]; for line in $argv[2..]; echo (complete -C $line | string split -f 1 \\t); end"
Ask = Callable[..., list[set[str]]]


def ask_bash(script: Path, folder: Path, lines: Sequence[str]) -> str:
    command = ["bash", "-c", BASH, "bash", str(script), *lines]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert not done.stderr
    return done.stdout


def ask_zsh(script: Path, folder: Path, lines: Sequence[str], load: str = "compinit -D -u; source $SCRIPT") -> str:
    """Its completion runs in its line editor alone, and that at a terminal alone."""
    home = script.parent
    (home / ".zshrc").write_text(ZSHRC, encoding="utf-8")
    answers = home / "answers"
    answers.unlink(missing_ok=True)
    asked = {"SCRIPT": str(script), "LOAD": load, "ANSWERS": str(answers), "LINES_TYPED": "\n".join(lines)}
    keyboard, terminal = os.openpty()
    command = ["zsh", "--no-globalrcs", "-i"]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    environment = {**os.environ, "TERM": "xterm", "ZDOTDIR": str(home), **asked}
    with subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **streams) as shell:  # type: ignore[call-overload]
        os.close(terminal)
        said = read_to_the_end(keyboard)
        os.close(keyboard)
    assert shell.returncode == 0, said
    return answers.read_text(encoding="utf-8")


def read_to_the_end(terminal: int) -> bytes:
    """What is said at a terminal, until the other side is closed, which Linux calls an error."""
    said = b""
    try:
        while more := os.read(terminal, 4096):
            said += more
    except OSError:
        pass
    return said


def ask_fish(script: Path, folder: Path, lines: Sequence[str]) -> str:
    home = {**os.environ, "HOME": str(script.parent), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
    command = ["fish", "--no-config", "-c", FISH, str(script), *lines]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, env=home)
    assert not done.stderr
    return done.stdout


ASKED: Mapping[str, Callable[[Path, Path, Sequence[str]], str]] = {"bash": ask_bash, "zsh": ask_zsh, "fish": ask_fish}


@pytest.fixture(scope="module", params=SCRIPTS)
def offers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """What a shell offers to lines that are typed, of each the last word, in a folder with `FILES`."""
    shell = request.param
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    folder = tmp_path_factory.mktemp(shell)
    script = folder / f"weft.{shell}"
    script.write_text(SCRIPTS[shell](PROGRAM), encoding="utf-8")
    (folder / "here").mkdir()
    for name in FILES:
        (folder / "here" / name).touch()

    def ask(*lines: str) -> list[set[str]]:
        answers = ASKED[shell](script, folder / "here", lines).split("\n")[:-1]
        assert len(answers) == len(lines)
        return [{word.rpartition("=")[2] for word in answer.split()} for answer in answers]

    return ask


def names(switches: Sequence[Switch]) -> set[str]:
    return {name for switch in switches for name in switch.names}


def test_every_command_is_offered(offers: Ask) -> None:
    assert {"train", "kinds", "completion"} <= VERBS.keys()
    assert offers("weft ", "weft ev", "weft --quiet ev") == [set(VERBS), {"evaluate"}, {"evaluate"}]


def test_every_option_of_every_command_is_offered(offers: Ask) -> None:
    asked = {f"weft {verb} a.csv -": names(found.switches) for verb, found in VERBS.items()}
    assert offers(*asked) == list(asked.values())
    assert names(PROGRAM.switches) >= {"--help", "-h", "--version", "--quiet", "--log-file"}
    assert offers("weft -", "weft vocab texts.txt --c") == [
        names(PROGRAM.switches),
        {"--cased", "--column", "--criterion"},
    ]


def test_values_are_offered_where_they_are_known_and_files_elsewhere(offers: Ask) -> None:
    asked = {
        "weft embed minilm --level ": {"sentence", "word", "token"},
        "weft train mine.toml --device c": {"cpu", "cuda"},
        "weft completion ": {"bash", "zsh", "fish"},
        "weft embed --input ": FILES,
        "weft vocab mine.csv ": FILES,
        "weft train mine.t": {"mine.toml"},
        "weft --log-file ": FILES,
    }
    assert offers(*asked) == list(asked.values())


def test_a_model_may_be_called_as_a_command(offers: Ask) -> None:
    assert offers("weft info train --r", "weft info train --js") == [set(), {"--json"}]


@pytest.mark.parametrize("offers", ["zsh", "fish"], indirect=True)  # bash takes = for the end of a word
def test_a_value_may_be_joined_to_its_option(offers: Ask) -> None:
    assert offers("weft train --device=c") == [{"cpu", "cuda"}]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_also_finds_it_in_a_folder_of_its_fpath(tmp_path: Path) -> None:
    script = tmp_path / "_weft"
    script.write_text(SCRIPTS["zsh"](PROGRAM), encoding="utf-8")
    twice = ask_zsh(script, tmp_path, ["weft tr", "weft tr"], load="fpath=($SCRIPT:h $fpath); compinit -D -u")
    assert twice.split() == ["train", "train"]  # at first, which loads the file, and from then on


def test_every_option_stands_in_the_script_of_every_shell() -> None:
    for name in names([*PROGRAM.switches, *(switch for verb in VERBS.values() for switch in verb.switches)]):
        assert all(name in SCRIPTS[shell](PROGRAM) for shell in ("bash", "zsh"))
        assert (f" -l {name[2:]} " if name.startswith("--") else f" -s {name[1:]} ") in SCRIPTS["fish"](PROGRAM)


def test_options_of_all_commands_are_offered_after_a_command_but_for_those_that_answer_by_themselves() -> None:
    for verb in VERBS.values():
        assert {"--quiet", "--verbose", "--log-file", "--help"} <= names(verb.switches)
        assert "--version" not in names(verb.switches)


def test_what_takes_an_option_back_is_not_explained_by_what_it_takes_back() -> None:
    about = {name: switch.about for switch in VERBS["vocab"].switches for name in switch.names}
    assert about["--cased"] == "The opposite of --lowercase."
    assert about["--lowercase"] == "Read all letters as small ones."


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_command_prints_the_script_and_its_shell_can_read_it(shell: str, run_weft: RunWeft, tmp_path: Path) -> None:
    code, out, err = run_weft("completion", shell)
    assert (code, out, err) == (0, SCRIPTS[shell](PROGRAM), "")
    assert "[bold]" not in out
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(out, encoding="utf-8")
        subprocess.run([shell, "-n", str(path)], check=True)


def test_words_of_a_help_text_end_no_quotes() -> None:
    assert r"-d 'Folder of the tasks\' files" in SCRIPTS["fish"](PROGRAM)
    assert r"[Only see it run\: one epoch" in SCRIPTS["zsh"](PROGRAM)


def test_an_unknown_shell_is_wrong_usage(run_weft: RunWeft) -> None:
    code, _, err = run_weft("completion", "csh")
    assert code == 2
    assert "csh" in err


@pytest.mark.parametrize("arguments", [("completion", "tcsh"), ("embed", "x", "-i", "a", "-o", "b", "--level", "tcsh")])
def test_a_choice_that_is_none_is_refused_in_plain_words(arguments: tuple[str, ...], run_weft: RunWeft) -> None:
    code, _, err = run_weft(*arguments)
    assert code == 2
    assert "'tcsh' is not one of" in err
    assert "Value error" not in err
