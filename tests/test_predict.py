"""Answers in Python and on the command line: for whom, in which order, from and to which files."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import weft
from weft.cli import main as cli
from weft.data import formats
from weft.errors import ConfigError, DataError
from weft.model import predict as prediction
from weft.model.embed import load_encoder
from weft.model.evaluate import evaluate
from weft.model.folder import save_network
from weft.model.forms import shortened
from weft.model.network import Network
from weft.spec import parse
from weft.tasks import Task

Run = Callable[..., tuple[int, str, str]]
FLAGS = ("truncated", "empty")
SECRET = "quick lazy patient words"
LONG = "the quick brown fox jumps over the lazy dog " * 8
TEXTS = ["the quick fox", "a lazy dog", LONG, "don't jump", "over", "1234 :smile: [b]brown[/]"]
TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "fox": ({"kind": "classification"}, ["no", "yes"]),
    "size": ({"kind": "classification"}, ["1", "2", "3"]),
    "topics": ({"kind": "classification", "multilabel": True, "max_length": 8}, [("a",), ("a", "b")]),
    "same": ({"kind": "pair_classification"}, ["no", "yes"]),
    "alike": ({"kind": "similarity"}, [0.0, 5.0]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small_encoder: str) -> Path:
    """A model with three tasks of one text and two of pairs, none of them trained."""
    source = load_encoder(small_encoder)
    source.encoder.pooler = None
    tasks = {name: parse(Task, options) for name, (options, _) in TASKS.items()}
    torch.manual_seed(0)
    targets = {name: tasks[name].target().fit(golds) for name, (_, golds) in TASKS.items()}
    place = tmp_path_factory.mktemp("models") / "model"
    save_network(Network(source.encoder, source.tokenizer, tasks, targets), place)
    return place


@pytest.fixture
def model(folder: Path) -> weft.Model:
    return weft.load(folder)


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `weft predict` on the model: exit code, standard output, standard error."""

    def call(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["weft", "predict", str(folder), *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return int(caught.value.code or 0), out, err

    return call


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".txt":
        path.write_text("".join(f"{row['text']}\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(columns), delimiter="," if path.suffix == ".csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t"))


# Python


@pytest.mark.filterwarnings("ignore::weft.TruncationWarning")
def test_one_task_gives_its_answer_per_text(model: weft.Model) -> None:
    answers = model.predict(TEXTS, "fox")
    assert [set(answer) for answer in answers] == [{"label", "score", *FLAGS}] * len(TEXTS)
    assert all(answer["label"] in ("no", "yes") and 0 < answer["score"] <= 1 for answer in answers)
    assert set(model.predict(TEXTS, "topics")[0]) == {"labels", *FLAGS}
    assert model.predict(TEXTS, "size", scores=True)[0]["scores"].keys() == {"1", "2", "3"}


def test_a_text_that_was_cut_is_marked_and_one_warning_says_how_many(model: weft.Model) -> None:
    said = r"3 of 7 rows were longer .* and were cut \(fox: 32 tokens, size: 32 tokens, topics: 8 tokens\)"
    texts = [*TEXTS, "a b c d e f g h"]  # the last two are longer than `topics` reads
    with pytest.warns(weft.TruncationWarning, match=said) as caught:
        together = model.predict(texts)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert [answer["truncated"] for answer in together] == [text in (LONG, *texts[-2:]) for text in texts]
    with pytest.warns(weft.TruncationWarning, match=r"1 of 7 rows .* \(fox: 32 tokens\)"):
        assert [answer["truncated"] for answer in model.predict(texts, "fox")] == [text == LONG for text in texts]


@pytest.mark.parametrize("nothing", ["", "  \t", "\u200b", "\x00\x07"])
def test_a_text_with_nothing_to_read_is_marked_and_one_warning_says_how_many(model: weft.Model, nothing: str) -> None:
    texts = ["the fox", nothing, "...", "狐", nothing]
    with pytest.warns(weft.EmptyTextWarning, match="2 of 5 rows had nothing to read; .* mean nothing") as caught:
        together = model.predict(texts)
    assert len(caught) == 1
    assert [answer["empty"] for answer in together] == [False, True, False, False, True]
    assert set(together[1]["fox"]) == {"label", "score"}  # which scripts rely on
    with pytest.warns(weft.EmptyTextWarning):
        assert model.predict([nothing], "fox")[0]["empty"] is True
    with pytest.warns(weft.EmptyTextWarning):
        pairs = model.predict([("the fox", nothing), ("the fox", "dog"), (nothing, nothing)], "same")
    assert [answer["empty"] for answer in pairs] == [True, False, True]


def test_texts_may_come_from_any_iterable(model: weft.Model) -> None:
    texts = ["the fox", "a dog"]
    assert model.predict(text for text in texts) == model.predict(iter(texts)) == model.predict(texts)


def test_without_a_task_all_that_read_such_texts_answer(model: weft.Model) -> None:
    single, pair = model.predict(TEXTS[:1])[0], model.predict([("the fox", "a dog")])[0]
    flags = {"truncated": False, "empty": False}
    assert set(single) == {"fox", "size", "topics", *FLAGS}
    assert set(pair) == {"same", "alike", *FLAGS}
    assert set(pair["alike"]) == {"score"}
    assert model.predict(TEXTS[:1], "fox") == [{**single["fox"], **flags}]
    assert model.predict([("the fox", "a dog")], "same") == [{**pair["same"], **flags}]


@pytest.mark.filterwarnings("ignore::weft.TruncationWarning")
def test_a_name_that_is_no_task_is_refused_with_the_nearest(model: weft.Model) -> None:
    with pytest.raises(ConfigError, match=r"no task 'foxes'; it has: fox, .*did you mean 'fox'"):
        model.predict(TEXTS, "foxes")
    with pytest.raises(ConfigError, match="no task ''"):
        model.predict(TEXTS, "")
    with pytest.raises(ConfigError, match="no task 'foxes'"):
        model.predict([], "foxes")


@pytest.mark.parametrize(
    ("texts", "task", "message"),
    [
        (["fox", ("fox", "dog")], None, "mixed"),
        ([("fox", "dog"), "fox"], "same", "mixed"),
        ([(SECRET, SECRET)], "fox", "reads one text, but received two"),
        ([SECRET], "same", r"two texts \(a pair\), but received one"),
        (SECRET, "fox", "put it into a list"),
        ([SECRET, 3], "fox", "row 1 is not a text but int"),
        ([[SECRET, SECRET]], "same", "row 0 is not a text but list"),
        ([SECRET + "\ud800"], "fox", "half a character"),
    ],
)
def test_what_is_not_texts_is_refused_without_showing_it(
    model: weft.Model, texts: Any, task: str | None, message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        model.predict(texts, task)
    assert SECRET not in str(caught.value)


def test_no_texts_give_no_answers(model: weft.Model) -> None:
    assert model.predict([]) == model.predict([], "fox") == []


@pytest.mark.filterwarnings("ignore::weft.TruncationWarning")
def test_order_does_not_depend_on_windows(model: weft.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{text} {number}" for number in range(5) for text in TEXTS]
    together = model.predict(texts, scores=True)
    monkeypatch.setattr(prediction, "WINDOW", 4)
    monkeypatch.setattr(prediction, "_BATCH_TOKENS", 40)
    for one, other in zip(model.predict(texts, scores=True), together, strict=True):
        assert one["fox"]["scores"] == pytest.approx(other["fox"]["scores"], abs=1e-5)
    assert len({answer["fox"]["score"] for answer in together}) > len(TEXTS)


@pytest.mark.filterwarnings("ignore::weft.TruncationWarning")
def test_tasks_that_read_the_same_share_one_pass(model: weft.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    real = model.network.encoder.forward

    def forward(batch: Any, *arguments: Any, **options: Any) -> Any:
        passes.append(batch.rows)
        return real(batch, *arguments, **options)

    monkeypatch.setattr(model.network.encoder, "forward", forward)
    model.predict(TEXTS)
    assert len(passes) == 2  # `fox` and `size` together; `topics` reads fewer tokens
    passes.clear()
    model.predict([("the fox", "a dog")] * 3)
    assert sorted(passes) == [3, 6]  # `same` reads each pair as one row, `alike` as two


def test_gold_that_the_model_cannot_give_is_refused(model: weft.Model) -> None:
    rows = [{"text": "a fox", "label": "yes"}, {"text": SECRET, "label": SECRET}]
    with pytest.raises(DataError, match="1 of 2 rows, the first in row 1 .counted from 0., .*it knows: no, yes"):
        model.evaluate({"fox": rows})
    with pytest.raises(DataError, match="no rows"):
        model.evaluate({"fox": []})
    with pytest.raises(DataError, match="no rows to measure on"):
        evaluate(model.network, {"fox": []})


# The command line


def test_a_text_or_a_pair_is_answered_on_the_screen(run: Run, model: weft.Model) -> None:
    code, out, _ = run("--text", TEXTS[5], "--task", "fox")
    assert code == 0
    answer = json.loads(out)
    assert answer["text"] == TEXTS[5]
    assert model.predict([TEXTS[5]], "fox") == [{**answer["fox"], "truncated": False, "empty": False}]
    assert (answer["truncated"], answer["empty"]) == (False, False)
    code, out, _ = run("--text", "the fox", "--text-pair", "a dog", "--task", "same", "--scores")
    assert code == 0
    assert json.loads(out)["same"]["scores"].keys() == {"no", "yes"}
    assert "alike" not in json.loads(out)


def test_lines_of_standard_input_are_answered_one_by_one(run: Run, tmp_path: Path, model: weft.Model) -> None:
    lines = ["the quick fox", "", "café über"]
    code, out, err = run("--input", "-", "--task", "fox", stdin="\r\n".join(lines).encode())
    assert code == 0
    found = [json.loads(line) for line in out.splitlines()]
    assert [row["text"] for row in found] == lines
    with pytest.warns(weft.EmptyTextWarning):
        answers = model.predict(lines, "fox")
    assert [row["fox"]["label"] for row in found] == [answer["label"] for answer in answers]
    assert [row["empty"] for row in found] == [False, True, False]
    assert "1 of 3 rows had nothing to read" in err
    code, _, err = run("--input", "-", "--output", tmp_path / "out.csv", stdin=b"the fox\na dog\n")
    assert code == 0
    assert "2 rows" in err
    code, out, err = run("--input", "-", stdin=b"the fox\ncaf\xe9\n")
    assert code == 1
    assert "standard input, line 2: is not UTF-8" in err


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".txt"])
@pytest.mark.parametrize("target", [".csv", ".tsv", ".jsonl", ".parquet", None])
def test_every_file_is_answered_in_every_form(
    run: Run, tmp_path: Path, model: weft.Model, suffix: str, target: str | None
) -> None:
    columns = {"text": TEXTS} if suffix == ".txt" else {"id": [f"n{i}" for i in range(len(TEXTS))], "text": TEXTS}
    source = write(tmp_path / f"in{suffix}", columns)
    output = () if target is None else ("--output", tmp_path / f"out{target}")
    code, out, err = run("--input", source, "--task", "fox", "--task", "topics", *output)
    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()] if target is None else read(tmp_path / f"out{target}")
    flat = target in (".csv", ".tsv", ".parquet")
    assert [row["text"] for row in rows] == TEXTS
    assert suffix == ".txt" or [row["id"] for row in rows] == columns["id"]
    with pytest.warns(weft.TruncationWarning):
        answers = model.predict(TEXTS)
    labels = [row["fox"] if flat else row["fox"]["label"] for row in rows]
    assert labels == [answer["fox"]["label"] for answer in answers]
    topics = [row["topics"] if flat else "|".join(row["topics"]["labels"]) for row in rows]
    assert topics == ["|".join(answer["topics"]["labels"]) for answer in answers]
    assert [str(row["truncated"]) for row in rows] == [str(answer["truncated"]) for answer in answers]


def test_truncated_is_true_exactly_for_texts_that_did_not_fit(run: Run, tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", {"text": TEXTS})
    _, out, err = run("--input", source, "--task", "fox")
    assert "1 of 6 rows were longer than what is read of them and were cut (fox: 32 tokens)" in " ".join(err.split())
    assert [json.loads(line)["truncated"] for line in out.splitlines()] == [text == LONG for text in TEXTS]
    _, out, _ = run("--text", "one two three four five six seven eight", "--task", "topics")  # takes 8 tokens
    assert json.loads(out)["truncated"] is True


def test_a_column_with_the_name_of_an_answer_is_kept_under_another(run: Run, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", {"text": TEXTS[:2], "fox": ["gold 1", "gold 2"]})
    for output in (tmp_path / "out.csv", tmp_path / "out.jsonl"):
        code, _, err = run("--input", source, "--output", output, "--task", "fox")
        assert code == 0
        assert "'input.fox'" in err
        assert [row["input.fox"] for row in read(output)] == ["gold 1", "gold 2"]
    assert {row["fox"] for row in read(tmp_path / "out.csv")} <= {"no", "yes"}


def test_blank_texts_of_a_file_are_answered_and_marked(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(f"text,id\nthe fox,1\n{'  '},2\n,3\n", encoding="utf-8")
    code, _, err = run("--input", source, "--output", tmp_path / "out.csv", "--task", "fox")
    assert code == 0
    assert "2 of 3 rows had nothing to read" in " ".join(err.split())
    assert [(row["id"], row["empty"].lower()) for row in read(tmp_path / "out.csv")] == [
        ("1", "false"),
        ("2", "true"),
        ("3", "true"),
    ]
    pairs = write(tmp_path / "pairs.jsonl", {"sentence1": ["a fox", "a dog"], "sentence2": ["", "a fox"]})
    code, out, _ = run("--input", pairs, "--task", "same")
    assert code == 0
    assert [json.loads(line)["empty"] for line in out.splitlines()] == [True, False]


def test_answers_never_take_the_place_of_what_is_read(run: Run, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", {"text": TEXTS[:2]})
    (tmp_path / "same.csv").symlink_to(source)
    before = source.read_bytes()
    for output in (source, tmp_path / "same.csv"):
        code, out, err = run("--input", source, "--output", output, "--columns", "fox")
        assert (code, out) == (1, "")
        assert "is the file that is read, and would be lost; name another with --output" in err
    assert source.read_bytes() == before


def test_tasks_whose_columns_are_missing_are_left_out_unless_asked_for(run: Run, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", {"text": TEXTS[:2]})
    code, out, err = run("--input", source)
    assert code == 0
    assert {*json.loads(out.splitlines()[0])} == {"text", "fox", "size", "topics", *FLAGS}
    assert "left out: tasks 'same', 'alike' read the columns 'sentence1', 'sentence2'" in " ".join(err.split())
    code, out, err = run("--input", source, "--task", "same")
    assert (code, out) == (1, "")
    assert "in.csv: task 'same' reads the columns 'sentence1', 'sentence2'; its columns are: text" in err
    pairs = write(tmp_path / "pairs.csv", {"sentence1": ["a fox"], "sentence2": ["a dog"]})
    code, out, err = run("--input", pairs)
    assert {*json.loads(out)} == {"sentence1", "sentence2", "same", "alike", *FLAGS}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.csv", "text\n", "holds no rows"),
        ("in.csv", f'text\n"{SECRET}\n', "quote"),
        ("in.jsonl", f'{{"text": "{SECRET}"}}\n{{"text": 3}}\n', "line 2, column 'text': a whole number is not a text"),
        ("in.jsonl", f'{{"text": "{SECRET}"}}\n{{"words": "{SECRET}"}}\n', "line 2: has no column 'text'"),
        ("in.jsonl", f'{{"text": "{SECRET} \\ud800"}}\n', "half a character"),
        ("in.txt", f"{SECRET}\n\0\n", "NUL"),
        ("in.docx", SECRET, "unknown file type"),
    ],
)
def test_a_bad_file_is_one_message_without_its_texts_and_no_output(
    run: Run, tmp_path: Path, name: str, content: str, message: str
) -> None:
    source, output = tmp_path / name, tmp_path / "out.jsonl"
    source.write_text(content, encoding="utf-8")
    code, out, err = run("--input", source, "--output", output)
    assert (code, out) == (1, "")
    assert message in " ".join(err.split())
    assert SECRET not in err
    assert sorted(tmp_path.iterdir()) == [source]


def test_a_failure_in_the_middle_leaves_no_output(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path / "in.csv", {"text": TEXTS})
    monkeypatch.setattr(prediction, "WINDOW", 2)
    windows: list[int] = []
    real = prediction.score

    def score(*arguments: Any) -> Any:
        windows.append(1)
        if len(windows) > 4:
            raise DataError("the file has changed")
        return real(*arguments)

    monkeypatch.setattr(prediction, "score", score)
    for suffix in (".csv", ".jsonl", ".parquet"):
        windows.clear()
        assert run("--input", source, "--output", tmp_path / f"out{suffix}")[0] == 1
    assert sorted(tmp_path.iterdir()) == [source]


def test_parquet_that_would_need_two_types_in_one_column_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.data.parquet._CHUNK", 1)
    source = tmp_path / "in.jsonl"
    source.write_text(f'{{"text": "{SECRET}", "id": 1}}\n{{"text": "{SECRET}", "id": "{SECRET}"}}\n')
    code, _, err = run("--input", source, "--output", tmp_path / "out.parquet")
    assert code == 1
    assert "write .jsonl" in err
    assert SECRET not in err
    assert sorted(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    "arguments",
    [(), ("--text", "a", "--input", "b.csv"), ("--text-pair", "b"), ("--input", "b.csv", "--text-pair", "b")],
)
def test_exactly_one_source_is_needed(run: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "give either --text" in err


def test_a_gpu_that_is_not_there_is_one_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    code, out, err = run("--text", "the quick fox", "--device", "cuda")
    assert code != 0
    assert out == ""
    assert "torch sees no GPU here; use --device cpu or auto" in " ".join(err.split())
    answers = [run("--text", "the quick fox", "--device", device)[:2] for device in ("auto", "cpu")]
    assert answers[0] == answers[1]
    assert answers[0][0] == 0


def test_an_output_that_cannot_be_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    assert "unknown output type '.xlsx'" in run("--text", "a", "--output", tmp_path / "out.xlsx")[2]
    (tmp_path / "out.csv").mkdir()
    assert "is a folder" in run("--text", "a", "--output", tmp_path / "out.csv")[2]
    folder = run("--text", "a", "--output", tmp_path)[2]
    assert f"{tmp_path} is a folder; name a file, such as {tmp_path / 'output.csv'}" in folder
    bare = run("--text", "a", "--output", tmp_path / "answers")[2]
    assert "the name ends in no type, as answers.csv does; allowed: .csv" in bare


def test_more_passes_than_readings_are_said(model: weft.Model) -> None:
    from weft.model.inputs import read_inputs
    from weft.model.predict import passes_note

    both = read_inputs(model.network, ["fox", "size"], text="a")
    assert passes_note(model.network, both) is None
    shorter = read_inputs(model.network, ["fox", "topics"], text="a")  # `topics` reads fewer tokens, but not here
    assert passes_note(model.network, shorter) is None


def test_tasks_share_a_pass_as_long_as_they_read_the_same_tokens(model: weft.Model) -> None:
    from weft.data.records import Input
    from weft.model.predict import groups

    for text, passes in (("a fox", 1), ("a fox " * 20, 2)):  # `topics` cuts the longer one
        window = [dict.fromkeys(["fox", "topics"], Input((text,)))]
        assert len(groups(model.network, window, model.network.tokenizer)) == passes


def test_a_file_or_a_stream_without_lines_is_refused_and_leaves_no_output(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    for source, name in (("-", "standard input"), (tmp_path / "empty.txt", tmp_path / "empty.txt")):
        for output in ((), ("--output", tmp_path / "out.csv")):
            code, out, err = run("--input", source, "--task", "fox", *output)
            assert (code, out) == (1, "")
            assert f"{name}: holds no rows; add some, or name another" in err
    assert not (tmp_path / "out.csv").exists()


def test_one_text_for_a_task_of_two_is_told_how_the_second_is_given_and_the_other_way_round(run: Run) -> None:
    code, _, err = run("--text", "fox", "--task", "same")
    assert code == 1
    assert "the task same reads two texts (a pair), but received one; give the second with --text-pair (in" in err
    code, _, err = run("--text", "fox", "--text-pair", "dog", "--task", "fox")
    assert code == 1
    assert "the task fox reads one text, but received two; leave the second out, or name a task" in err


def test_an_output_that_was_there_is_said_to_be_replaced(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    assert f"1 row → {output}\n" in run("--text", "fox", "--output", output)[2]
    code, _, err = run("--text", "dog", "--output", output)
    assert code == 0
    assert f"1 row → {output} (replaced)\n" in err
    assert json.loads(output.read_text())["text"] == "dog"
    assert run("--quiet", "--text", "dog", "--output", output)[1:] == ("", "")


def test_a_sheet_as_output_is_told_the_table_that_excel_opens(run: Run, tmp_path: Path) -> None:
    code, _, err = run("--text", "fox", "--output", tmp_path / "a.xlsx")
    assert code == 1
    assert err.endswith("; write .csv with --excel comma, which Excel opens\n")


def test_a_column_that_nobody_writes_is_refused_with_all_there_are(run: Run, tmp_path: Path) -> None:
    output = ("--output", tmp_path / "a.csv", "--columns", "foo")
    code, _, err = run("--text", SECRET, "--task", "fox", *output)
    assert code == 1
    assert "no column 'foo' to write; its columns are: text, fox, fox_score, truncated, empty" in err


def test_both_columns_that_a_task_lacks_are_columns(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,words\n1,fox\n")
    code, _, err = run("--input", tmp_path / "in.csv", "--task", "same")
    assert code == 1
    assert "task 'same' reads the columns 'sentence1', 'sentence2'; its columns are: id, words" in err


def test_numbers_of_tables_of_text_are_short_and_those_of_other_files_whole(run: Run, tmp_path: Path) -> None:
    found = {}
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        path = tmp_path / f"out.{suffix}"
        assert run("--text", "fox", "--task", "fox", "--scores", "--output", path)[0] == 0
        (row,) = formats.read_rows(path)
        found[suffix] = row.columns
    whole = found["jsonl"]["fox"]["scores"]["no"]
    assert found["parquet"]["fox_score_no"] == whole
    assert found["csv"]["fox_score_no"] == found["tsv"]["fox_score_no"] == f"{whole:.6g}"
    assert float(found["csv"]["fox_score_no"]) != whole


@pytest.mark.parametrize(
    ("cell", "short"), [(1 / 3, 0.333333), (1.23456789e-7, 1.23457e-07), (1234.5678912, 1234.567891)]
)
def test_a_short_number_keeps_six_digits_at_least(cell: float, short: float) -> None:
    assert shortened(cell) == short
    assert shortened(3) == 3
    assert shortened(True) is True


def test_a_similarity_never_leaves_its_scale() -> None:
    fitted = (
        parse(Task, {"kind": "similarity", "encode": "siamese", "output": "cosine", "scale": [0, 5]})
        .target()
        .fit([0.0, 5.0])
    )
    above = torch.tensor([[1.0 + 1e-6], [-1e-6], [0.5]])
    assert [answer.gold for answer in fitted.decode_rows(above)] == [5.0, 0.0, 2.5]
