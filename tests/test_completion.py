"""Shell completion: made from the commands themselves, and tried in bash."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import RunWeft
from weft.cli.completion_scripts import SCRIPTS, read_verbs
from weft.cli.main import app

VERBS = read_verbs(app)
ASK = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; printf "%s\\n" "${COMPREPLY[@]}"'


def offers(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of some words."""
    command = ["bash", "-c", ASK, "bash", str(script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "weft.bash"
    path.write_text(SCRIPTS["bash"](VERBS), encoding="utf-8")
    return path


def test_every_command_is_offered(script: Path) -> None:
    assert offers(script, "weft", "") == {verb.name for verb in VERBS} | {"--help", "--version"}
    assert {"train", "kinds", "completion"} <= {verb.name for verb in VERBS}
    assert offers(script, "weft", "ev") == {"evaluate"}


def test_every_option_of_every_command_is_offered(script: Path) -> None:
    for verb in VERBS:
        expected = {name for switch in verb.switches for name in switch.names}
        assert offers(script, "weft", verb.name, "-") == expected
    assert offers(script, "weft", "vocab", "texts.txt", "--c") == {"--cased", "--column", "--criterion"}


def test_values_are_offered_where_they_are_known_and_files_elsewhere(script: Path) -> None:
    assert offers(script, "weft", "embed", "minilm", "--level", "") == {"sentence", "word", "token"}
    assert offers(script, "weft", "train", "--device", "c") == {"cpu", "cuda"}
    assert offers(script, "weft", "completion", "") == {"bash", "zsh", "fish"}
    assert offers(script, "weft", "embed", "--input", "") == set()  # which leaves it to bash, which offers files
    assert offers(script, "weft", "train", "") == set()
    assert "complete -o default -F _weft weft" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_command_prints_the_script_and_its_shell_can_read_it(shell: str, run_weft: RunWeft, tmp_path: Path) -> None:
    code, out, err = run_weft("completion", shell)
    assert (code, out, err) == (0, SCRIPTS[shell](VERBS), "")
    assert "[bold]" not in out
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(out, encoding="utf-8")
        subprocess.run([shell, "-n", str(path)], check=True)


def test_words_of_a_help_text_end_no_quotes() -> None:
    assert r"-d 'Folder of the tasks\' files" in SCRIPTS["fish"](VERBS)
    assert r"[Only see it run\: one epoch" in SCRIPTS["zsh"](VERBS)


def test_an_unknown_shell_is_wrong_usage(run_weft: RunWeft) -> None:
    code, _, err = run_weft("completion", "csh")
    assert code == 2
    assert "csh" in err
