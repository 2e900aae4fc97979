"""The `weft` command: quick to answer, and every fault is one message and an exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from conftest import RunWeft
from weft.cli import main as cli
from weft.model.embed import TextEncoder, load_encoder

NAMES = [str(command.name) for command in cli.app.registered_commands]
WEFT = str(Path(sys.executable).with_name("weft"))
Run = Callable[..., tuple[int, str, str]]
HEAVY = ["torch", "transformers", "accelerate", "numpy", "scipy", "sklearn", "pyarrow", "tokenizers", "huggingface_hub"]
TEXTS = ["the quick fox", "a lazy dog, über-coffee", "", "don't jump"]


def run_process(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def run(run_weft: Run) -> Run:
    return run_weft


def write_texts(folder: Path, suffix: str) -> Path:
    path = folder / f"texts{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.table({"text": TEXTS}), path)
    elif suffix == ".txt":
        path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    elif suffix == ".csv":
        path.write_text("text\n" + "".join(f'"{text}"\n' for text in TEXTS), encoding="utf-8")
    else:
        path.write_text("id\ttext\n" + "".join(f"1\t{text}\n" for text in TEXTS), encoding="utf-8")
    return path


def read_vectors(path: Path) -> np.ndarray:
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".parquet":
        return np.array(pq.read_table(path)["vector"].to_pylist(), np.float32)
    return np.array([json.loads(line)["vector"] for line in path.read_text().splitlines()], np.float32)


@pytest.mark.parametrize(
    ("commands", "heavy"),
    [
        (["--help", "--version"], [*HEAVY, "pydantic"]),
        ([f"{name} --help" for name in NAMES], HEAVY),  # typer itself asks pydantic about the options
    ],
    ids=["weft", "commands"],
)
def test_help_is_answered_without_heavy_imports(commands: list[str], heavy: list[str]) -> None:
    code = (
        "import contextlib, sys\n"
        "from weft.cli.main import main\n"
        f"for command in {commands!r}:\n"
        "    sys.argv = ['weft', *command.split()]\n"
        "    with contextlib.suppress(SystemExit): main()\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = run_process(sys.executable, "-c", code)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")
    assert done.stdout.count("Usage: weft") == sum("--help" in command for command in commands)


def test_importing_weft_does_not_import_torch() -> None:
    done = run_process(sys.executable, "-c", "import sys, weft; print('torch' in sys.modules, weft.__all__[-1])")
    assert done.stdout.split() == ["False", "zero_shot"]


def test_the_installed_command_and_the_module_are_the_same() -> None:
    assert run_process(WEFT, "--version").stdout == run_process(sys.executable, "-m", "weft", "--version").stdout


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("target", [".npy", ".parquet", ".jsonl"])
def test_embed_writes_the_vectors_of_every_input_format_into_every_output_format(
    run: Run, tiny_folder: Path, tmp_path: Path, suffix: str, target: str
) -> None:
    output = tmp_path / "new" / f"vectors{target}"
    code, out, err = run("embed", tiny_folder, "-i", write_texts(tmp_path, suffix), "-o", output)
    assert (code, out) == (0, "")
    assert f"4 texts → {output}" in err
    np.testing.assert_array_equal(read_vectors(output), load_encoder(tiny_folder).embed(TEXTS))


def test_the_installed_command_embeds_with_the_packaged_encoder(tmp_path: Path, minilm: TextEncoder) -> None:
    output = tmp_path / "vectors.npy"
    done = run_process(WEFT, "embed", "minilm", "-i", str(write_texts(tmp_path, ".csv")), "-o", str(output))
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(output), minilm.embed(TEXTS), atol=1e-5, rtol=1e-5)


def test_options_reach_the_encoder(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "messages.csv"
    source.write_text("message\nthe lazy dog\n")
    output = tmp_path / "vectors.npy"
    options = ["--column", "message", "--pooling", "cls", "--layers", "last4", "--normalize", "--max-length", "9"]
    assert run("embed", tiny_folder, "-i", source, "-o", output, *options)[0] == 0
    expected = load_encoder(tiny_folder).embed(["the lazy dog"], pooling="cls", layers="last4", normalize=True)
    np.testing.assert_array_equal(np.load(output), expected)


def test_words_are_written_with_their_characters(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "words.jsonl"
    assert run("embed", tiny_folder, "-i", write_texts(tmp_path, ".txt"), "-o", output, "--level", "word")[0] == 0
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [TEXTS[row["row"]][row["start"] : row["end"]] for row in rows][:4] == ["the", "quick", "fox", "a"]


def test_cut_texts_are_counted(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "v.npy"
    code, _, err = run("embed", tiny_folder, "-i", write_texts(tmp_path, ".txt"), "-o", output, "--max-length", "4")
    assert code == 0
    assert "of 4 texts were longer than 4 tokens and were cut (head kept)" in " ".join(err.split())


def test_brackets_in_a_path_are_printed_as_they_are(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "[red] and [/]" / "v.npy"
    code, _, err = run("embed", tiny_folder, "-i", write_texts(tmp_path, ".txt"), "-o", output)
    assert code == 0
    assert str(output) in err


def test_every_fault_of_a_choice_or_a_file_is_one_message_and_exit_1(
    run: Run, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    texts, output = write_texts(tmp_path, ".csv"), tmp_path / "vectors.npy"
    (tmp_path / "file").write_text("")
    (tmp_path / "half.jsonl").write_text('{"text": "secret"}\n{"text": "secret')
    faults = [
        (["nobody/no-such-model", "-i", texts, "-o", output], "is no folder here"),
        ([tmp_path / "nothing", "-i", texts, "-o", output], "there is no folder"),
        ([tmp_path / "file", "-i", texts, "-o", output], "is a file"),
        ([tiny_folder, "-i", tmp_path / "nothing.csv", "-o", output], "there is no such file"),
        ([tiny_folder, "-i", tmp_path / "half.jsonl", "-o", output], "line 2: is not valid JSON"),
        ([tiny_folder, "-i", texts, "-o", output, "--column", "body"], "has no column 'body'"),
        ([tiny_folder, "-i", texts, "-o", output, "--level", "word"], "name a .parquet or .jsonl file"),
        ([tiny_folder, "-i", texts, "-o", tmp_path / "v.txt"], "unknown output type '.txt'"),
        ([tiny_folder, "-i", texts, "-o", tmp_path / "file" / "sub" / "v.npy"], "cannot write"),
        ([tiny_folder, "-i", tmp_path / "half.jsonl", "-o", tmp_path / "half.jsonl"], "is the file that is read"),
        ([tiny_folder, "-i", texts, "-o", output, "--max-length", "99"], "max_length 99 is outside"),
    ]
    for arguments, message in faults:
        code, out, err = run("embed", *arguments)
        assert (code, out) == (1, "")
        assert message in err
        assert err.startswith("weft: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert "secret" not in err
    assert not output.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["embed"],
        ["embed", "minilm", "-i", "a.txt"],
        ["embed", "minilm", "-i", "a.txt", "-o", "b.npy", "--level", "letter"],
        ["embed", "minilm", "-i", "a.txt", "-o", "b.npy", "--max-length", "2"],
        ["embed", "minilm", "-i", "a.txt", "-o", "b.npy", "--colour", "red"],
    ],
)
def test_wrong_usage_is_exit_2(arguments: list[str]) -> None:
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_an_interrupted_command_is_exit_130(
    run: Run, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TextEncoder, "_embed_window", interrupt)
    output = tmp_path / "out" / "v.npy"
    code, _, err = run("embed", tiny_folder, "-i", write_texts(tmp_path, ".txt"), "-o", output)
    assert code == 130
    assert "Traceback" not in err
    assert list(output.parent.iterdir()) == []


def test_vectors_that_were_there_are_said_to_be_replaced(tiny_folder: Path, tmp_path: Path, run_weft: RunWeft) -> None:
    (tmp_path / "in.txt").write_text("the fox\n")
    arguments = ("embed", tiny_folder, "-i", tmp_path / "in.txt", "-o", tmp_path / "out.npy")
    assert run_weft(*arguments)[2].endswith(f"1 text → {tmp_path / 'out.npy'}\n")
    assert run_weft(*arguments)[2].endswith(f"1 text → {tmp_path / 'out.npy'} (replaced)\n")


def test_an_error_about_a_vocabulary_begins_at_once(tmp_path: Path, run_weft: RunWeft) -> None:
    (tmp_path / "in.csv").write_text("id,words\n1,the fox\n")
    code, _, err = run_weft("vocab", tmp_path / "in.csv", "--size", 100, "-o", tmp_path / "out")
    assert code == 1
    assert err.startswith("weft: ")
