"""Users' texts, long and short, stay out of every message and every file of a run, whatever is misnamed or broken."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

import weft
from conftest import RunWeft
from weft.errors import WeftError
from weft.training.interrupt import Interrupted
from weft.training.progress import Callback

Case = tuple[dict[str, Any], dict[str, str]]  # the task's options and its files

SECRET = re.compile(r"xqz|wug|pim|blicket|dax", re.IGNORECASE)
PARTS = ("train", "dev")
LABELS = ("calm", "urgent")


def texts(part: str, count: int = 24) -> list[str]:
    """Texts of one word, of two and of many, some of them twice."""
    forms = ("xqz{}", "wug pim{}", "the blicket of {} has hurt since Tuesday, and nobody but the dax may know of it")
    unique = [forms[number % 3].format(f"{part}{number}") for number in range(count)]
    return [*unique[:-2], unique[0], unique[1]]


def csv(rows: list[list[str]], separator: str = ",") -> str:
    quoted = [[f'"{cell}"' if separator == "," else cell for cell in row] for row in rows]
    return "".join(separator.join(row) + "\n" for row in quoted)


def jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def labelled(part: str) -> list[list[str]]:
    """A text, its label and a remark in each row."""
    notes = texts(f"n{part}")
    return [[text, LABELS[number % 2], notes[number]] for number, text in enumerate(texts(part))]


HEADER = ["text", "label", "remark"]
PAIR = ["sentence1", "sentence2", "label"]


def tables(header: list[str] | None, suffix: str = "csv", **task: Any) -> Case:
    """A classification task of tables that hold the same, in the order text, label, remark."""
    separator = "\t" if suffix == "tsv" else ","
    files = {f"{part}.{suffix}": csv([*([header] if header else []), *labelled(part)], separator) for part in PARTS}
    return {"kind": "classification", **task}, files


def objects(change: Callable[[dict[str, Any]], Any], **task: Any) -> Case:
    """A task of JSON Lines, each row changed in some way."""
    rows = {part: [change(dict(zip(HEADER, row, strict=True))) for row in labelled(part)] for part in PARTS}
    return {"kind": "classification", **task}, {f"{part}.jsonl": jsonl(rows[part]) for part in rows}


def broken(line: str, suffix: str, **task: Any) -> Case:
    """Tables whose last line is broken."""
    task, files = tables(HEADER, suffix, **task) if suffix != "jsonl" else objects(lambda row: row, **task)
    return task, {name: content + line for name, content in files.items()}


def conll(columns: str, **task: Any) -> Case:
    """Words and their tags, in the order that `columns` says."""
    files = {}
    for part in PARTS:
        sentences = [
            [columns.format(word=word, tag="B-DRUG" if number % 3 == 0 else "O") for number, word in enumerate(words)]
            for words in (text.split() for text in texts(part))
        ]
        files[f"{part}.conll"] = "\n".join("\n".join(sentence) + "\n" for sentence in sentences)
    return {"kind": "tagging", **task}, files


def marked(cell: Any, column: str = "spans", **task: Any) -> Case:
    """Texts with something in the column of the spans."""
    task = {"kind": "spans", **task}
    rows = {part: [{"text": text, column: cell} for text in texts(part)] for part in PARTS}
    return task, {f"{part}.jsonl": jsonl(rows[part]) for part in rows}


def pairs(header: list[str] | None, **task: Any) -> Case:
    files = {}
    for part in PARTS:
        rows = [[text, text[::-1] + "pim", LABELS[i % 2]] for i, text in enumerate(texts(part))]
        files[f"{part}.csv"] = csv([*([header] if header else []), *rows])
    return {"kind": "pair_classification", **task}, files


SPAN = [[0, 2, "DRUG"]]
CASES: dict[str, Case] = {
    "the label column is the text": tables(HEADER, label="text"),
    "the label column is another text": tables(HEADER, label="remark"),
    "the label column is another text, dev of it": tables(HEADER, label="remark", dev=0.3),
    "the label column is absent": tables(HEADER, label="urgency"),
    "the text column is the label": tables(HEADER, text="label", label="remark"),
    "the text column is absent": tables(HEADER, text="message"),
    "both are absent": tables(HEADER, text="message", label="urgency"),
    "no header in csv": tables(None),
    "no header in tsv": tables(None, "tsv"),
    "a column twice": tables(["xqz", "label", "xqz"]),
    "texts in a list of labels": tables(HEADER, label="remark", labels=list(LABELS)),
    "texts as several labels": tables(HEADER, label="remark", multilabel=True, separator=" "),
    "texts as several listed labels": tables(HEADER, label="text", multilabel=True, labels=list(LABELS)),
    "tsv with the label column misnamed": tables(HEADER, "tsv", label="remark"),
    "a text as a score": ({"kind": "similarity", "text": ["text", "remark"], "score": "text"}, tables(HEADER)[1]),
    "a surplus field": broken('"xqz","calm","wug","dax"\n', "csv"),
    "an open quote": broken('"xqz,calm,wug\n', "csv"),
    "a quote not doubled": broken('"xqz" "pim",calm,wug\n', "csv"),
    "a NUL": broken("xqz\0,calm,wug\n", "csv"),
    "a tsv field too few": broken("xqz\n", "tsv"),
    "JSON without its end": broken('{"text": "xqz wug', "jsonl"),
    "JSON with a wrong escape": broken('{"text": "xqz \\q wug"}', "jsonl"),
    "JSON that is a list": broken('["xqz wug"]', "jsonl"),
    "JSON that is a text": broken('"xqz"', "jsonl"),
    "JSON that is none": broken("xqz wug\n", "jsonl"),
    "keys that are texts": objects(lambda row: {row["text"]: row["label"]}),
    "keys that are short texts": objects(lambda row: {"xqz": row["label"]}),
    "keys that are texts beside the label": objects(lambda row: {row["text"]: 1, "label": row["label"]}),
    "a list as label": objects(lambda row: {**row, "label": [row["text"]]}),
    "a table as label": objects(lambda row: {**row, "label": {row["text"]: 1}}),
    "a list as text": objects(lambda row: {**row, "text": [row["text"]]}),
    "a text as some labels": objects(lambda row: {**row, "label": row["text"] if "3" in row["text"] else "calm"}),
    "listed labels, a text as label": objects(lambda row: {**row, "label": row["text"]}, labels=list(LABELS)),
    "words as tags": conll("{tag}\t{word}"),
    "words as plain tags": conll("{tag}\t{word}", scheme="plain"),
    "words as tags with their beginning": conll("{tag} I-{word}"),
    "words as labels of tags": conll("{tag} B-{word}"),
    "words as listed tags": conll("{tag} B-{word}", labels=["DRUG"]),
    "tags from a column of words": conll("{word} {tag}", tags="column1"),
    "spans that are words": marked(["xqz"]),
    "spans that are a word": marked("xqz wug"),
    "spans with words as ends": marked([["xqz", "wug", "DRUG"]]),
    "spans with keys that are words": marked([{"xqz": 1}]),
    "spans labelled by words": marked([[0, 2, "xqz wug"]], labels=["DRUG"]),
    "spans beyond the text": marked([[0, 999, "xqz"]]),
    "spans turned": marked([[2, 0, "xqz"]]),
    "spans that overlap": marked([[0, 2, "xqz"], [1, 3, "wug"]], flat=True),
    "spans under another key": marked(SPAN, "xqz"),
    "tags without tokens": marked(["xqz"], "tags", kind="tagging"),
    "relations that are words": marked(["xqz"], "relations", kind="relations"),
    "relations labelled by words": ({"kind": "relations", "labels": ["treats"]}, {
        f"{part}.jsonl": jsonl(
            [{"text": text, "spans": [[0, 1, "a"], [1, 2, "b"]], "relations": [[0, 1, "xqz"]]} for text in texts(part)]
        ) for part in PARTS}),
    "pairs without header": pairs(None),
    "pairs with the second text misnamed": pairs(["sentence1", "other", "label"]),
    "pairs with a text as label": pairs(["label", "sentence1", "sentence2"]),
    "raw text that is a table without header": ({"kind": "masked_words"}, tables(None)[1]),
}  # fmt: skip


def write_case(folder: Path, case: Case, encoder: str) -> Path:
    """The config of a case beside its files."""
    task, files = case
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    parts = {Path(name).stem: name for name in files}
    document = {
        "encoder": {"from": encoder},
        "tasks": {"t": {**parts, **task}},
        "training": {"epochs": 1, "batch_size": 8},
    }
    (folder / "run.toml").write_text(tomli_w.dumps(document), encoding="utf-8")
    return folder / "run.toml"


def leaks(*sources: str | bytes) -> list[str]:
    """What is around each secret word."""
    known = [source.decode(errors="replace") if isinstance(source, bytes) else source for source in sources]
    return [text[max(0, m.start() - 60) : m.end() + 30] for text in known for m in SECRET.finditer(text)]


def files_below(folder: Path) -> Iterator[bytes]:
    yield from (path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize("name", CASES)
def test_check_and_train_quote_nothing_that_could_be_a_text(
    name: str, tmp_path: Path, small_encoder: str, run_weft: RunWeft
) -> None:
    config = write_case(tmp_path, CASES[name], small_encoder)
    _, out, err = run_weft("check", config)
    assert leaks(out, err) == []
    code, out, err = run_weft("train", config, "--output", tmp_path / "out" / "model", "--device", "cpu")
    assert code == 1
    assert leaks(out, err, *files_below(tmp_path / "out")) == []


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, small_encoder: str) -> Path:
    """A folder with a model of a text task, a pair task and a tagging task, learned from secret texts."""
    folder = tmp_path_factory.mktemp("secrets")
    cases = {"text": tables(HEADER), "pair": pairs(PAIR), "words": conll("{word} {tag}")}
    tasks = {}
    for name, (task, files) in cases.items():
        (folder / name).mkdir()
        for file, content in files.items():
            (folder / name / file).write_text(content, encoding="utf-8")
        tasks[name] = {**{Path(file).stem: f"{name}/{file}" for file in files}, **task}
    document = {"encoder": {"from": small_encoder}, "tasks": tasks, "training": {"epochs": 1, "batch_size": 8}}
    weft.train(document, output=folder / "model", data=folder, device="cpu")
    return folder


def test_a_run_leaves_no_text_in_any_of_its_files(trained: Path) -> None:
    paths = [path for path in (trained / "model").rglob("*") if path.is_file()]
    assert {"report.json", "README.md", "metrics.json", "weft.json"} <= {path.name for path in paths}
    assert {path.name: leaks(path.read_bytes()) for path in paths} == {path.name: [] for path in paths}


class Stop(Callback):
    """Asks to stop after the first epoch, as Ctrl-C does."""

    def evaluated(self, entry: dict[str, Any]) -> None:
        signal.raise_signal(signal.SIGINT)


def test_the_state_of_an_unfinished_run_holds_no_text(tmp_path: Path, small_encoder: str) -> None:
    task, files = tables(HEADER)
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    document = {
        "encoder": {"from": small_encoder},
        "tasks": {"t": {**task, "train": "train.csv", "dev": "dev.csv"}},
        "training": {"epochs": 3, "batch_size": 8},
    }
    with pytest.raises(Interrupted):
        weft.train(document, output=tmp_path / "out" / "m", data=tmp_path, device="cpu", callback=Stop())
    paths = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(paths) > 2
    assert {path.name: leaks(path.read_bytes()) for path in paths} == {path.name: [] for path in paths}


@pytest.mark.parametrize("name", CASES)
def test_commands_of_a_model_quote_nothing_that_could_be_a_text(
    name: str, trained: Path, tmp_path: Path, run_weft: RunWeft
) -> None:
    for file, content in CASES[name][1].items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    model, data = trained / "model", next(tmp_path.glob("dev.*"))
    said = []
    for task in ("text", "pair", "words"):
        said += run_weft("evaluate", model, "--task", task, "--data", data)[1:]
        said += run_weft("predict", model, "--task", task, "--input", data, "--output", tmp_path / "out.jsonl")[1:]
        *_, err = run_weft("inspect", model, "--task", task, "--input", data, "--output", tmp_path / "out.html")
        said.append(err)  # what is inspected is shown on standard output, for that was asked for
    said += run_weft("predict", model, "--input", data, "--output", tmp_path / "out.parquet")[1:]
    said += run_weft("embed", model, "--input", data, "--column", "text", "--output", tmp_path / "out.npy")[1:]
    said += run_weft("embed", model, "--input", data, "--column", "message", "--output", tmp_path / "out.jsonl")[1:]
    assert leaks(*said) == []


def test_parquet_columns_and_cells_stay_out_of_messages(tmp_path: Path, trained: Path, run_weft: RunWeft) -> None:
    pq.write_table(pa.table({"xqz": texts("p"), "wug pim": texts("q")}), tmp_path / "dev.parquet")
    said = []
    for verb in ("evaluate", "predict"):
        option = "--data" if verb == "evaluate" else "--input"
        said += run_weft(verb, trained / "model", "--task", "text", option, tmp_path / "dev.parquet")[1:]
    assert leaks(*said) == []


class Texts:
    """Something that shows what it holds and does not say how much."""

    def __repr__(self) -> str:
        return "xqz wug"


@pytest.mark.parametrize(
    "config",
    [
        {"tasks": {"t": {"kind": "classification", "train": [{"text": "xqz", "label": "calm"}], "lable": "wug"}}},
        {"tasks": {"t": {"kind": "classification", "train": ["xqz wug"], "dev": ["xqz"], "text": ["wug", "pim"]}}},
        {"tasks": {"t": {"kind": "classification", "train": {"xqz": 1}, "dev": {"wug": 1}, "text": {"pim": "dax"}}}},
        {"tasks": [{"text": "xqz", "label": "calm"}]},
        {"tasks": {"xqz wug": "calm"}},
        {"text": "xqz", "label": "wug"},
        {"xqz wug": "calm"},
        {"tasks": {"t": {"kind": "classification", "dev": Texts(), "text": Texts(), "labels": Texts()}}},
        [{"text": "xqz", "label": "calm"}],
        [("xqz", "calm")],
        ["xqz wug"],
        [],
    ],
)
def test_rows_in_place_of_a_config_are_refused_without_showing_them(config: Any, tmp_path: Path) -> None:
    with pytest.raises((WeftError, TypeError)) as caught:
        weft.train(config, output=tmp_path / "model")
    assert isinstance(caught.value, WeftError)
    assert leaks(str(caught.value)) == []
