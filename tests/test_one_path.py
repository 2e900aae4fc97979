"""`weft check` is the beginning of `weft train`: the same verdict and the same faults, all of them at once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.checkpoints import source as packaged
from weft.checks.run import run_checks
from weft.config.document import parse_experiment
from weft.data import formats
from weft.errors import WeftError
from weft.training.prepare import prepare
from weft.training.progress import Callback

SECRET = "patient words that nobody may see"
GOOD = "text,label\n" + "".join(f"the quick fox number {n},{'ab'[n % 2]}\n" for n in range(24))
SCORES = "sentence1,sentence2,score\n" + "".join(f"fox {n},dog {n},{n % 5}\n" for n in range(24))
SPANS = "".join(json.dumps({"text": f"fox {n} runs", "spans": [[0, 3, "ab"[n % 2]]]}) + "\n" for n in range(24))
MOOD = {"kind": "classification", "train": "good.csv", "dev": 0.25}
NEAR = {"kind": "similarity", "train": "scores.csv", "dev": 0.25}
MARKS = {"kind": "spans", "train": "spans.jsonl", "dev": 0.25}
WORDS = {"kind": "masked_words", "train": "raw.txt", "dev": 0.25, "max_length": 16}
LINKS = {"kind": "relations", "train": "links.jsonl", "dev": 0.25}
ENDS = [[0, 3, "x"], [4, 7, "y"]]
RELATED = "".join(
    json.dumps({"text": f"fox dog {n}", "entities": ENDS, "relations": [[0, 1, "ab"[n % 2]]]}) + "\n" for n in range(24)
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, content in {
        "good.csv": GOOD,
        "scores.csv": SCORES,
        "spans.jsonl": SPANS,
        "links.jsonl": RELATED,
        "raw.txt": "".join(f"The quick fox {n} jumps over the lazy dog.\n\n" for n in range(40)),
    }.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def write(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name.replace("_", ".")).write_bytes(data)


class Case:
    """A config, the files it needs beside the good ones, and where its faults are."""

    def __init__(self, *paths: str, tasks: dict[str, Any] | None = None, **document: Any) -> None:
        self.paths = sorted(paths)
        self.files: dict[str, str | bytes] = document.pop("files", {})
        self.document = {"tasks": tasks or {"t": MOOD}, **document}


def rows(*lines: str) -> str:
    return "text,label\n" + "".join(f"{line}\n" for line in lines)


def objects(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


ODD = {**MOOD, "train": "odd.csv", "dev": "good.csv"}
JSON = {**MOOD, "train": "odd.jsonl", "dev": "good.csv"}
PLAIN = {"training": {"epochs": 1, "baselines": False}}
CASES = {
    "nothing wrong": Case(),
    "nothing wrong with four kinds": Case(tasks={"a": MOOD, "b": NEAR, "c": MARKS, "d": WORDS}),
    "a file that is not there": Case("tasks.t.train", tasks={"t": {**MOOD, "train": "lost.csv"}}),
    "no training file": Case("tasks.t.train", tasks={"t": {"kind": "classification"}}),
    "all three files lost": Case(
        "tasks.t.train",
        "tasks.t.dev",
        "tasks.t.test",
        tasks={"t": {**MOOD, "train": "1.csv", "dev": "2.csv", "test": "3.csv"}},
    ),
    "a folder as a file": Case("tasks.t.train", tasks={"t": {**MOOD, "train": "."}}),
    "an unknown suffix": Case("tasks.t.train", tasks={"t": {**MOOD, "train": "odd.doc"}}, files={"odd_doc": "x"}),
    "an empty file": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": ""}),
    "a header alone": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": "text,label\n"}),
    "no label column": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": "text,lable\nfox,a\n"}),
    "no text column": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": "txt,label\nfox,a\n"}),
    "neither column": Case("tasks.t.train", "tasks.t.train", tasks={"t": ODD}, files={"odd_csv": "x,y\nfox,a\n"}),
    "a column twice": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": "text,label,label\nfox,a,b\n"}),
    "no answers": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": rows(f"{SECRET},", "dog,")}),
    "one answer only": Case(
        "tasks.t.train", "tasks.t.dev", tasks={"t": ODD}, files={"odd_csv": rows(*[f"fox {n},a" for n in range(9)])}
    ),
    "empty texts": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": GOOD + ",a\n ,b\n"}),
    "a quote left open": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": GOOD + f'"{SECRET},a\n'}),
    "too many fields": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": GOOD + f"{SECRET},a,b\n"}),
    "latin-1": Case("tasks.t.train", tasks={"t": ODD}, files={"odd_csv": GOOD.encode() + "café,a\n".encode("latin-1")}),
    "a label the config lacks": Case("tasks.t.train", "tasks.t.train", tasks={"t": {**MOOD, "labels": ["a", "c"]}}),
    "a label that only dev has": Case(
        "tasks.t.dev", tasks={"t": {**MOOD, "dev": "odd.csv"}}, files={"odd_csv": rows("fox,a", "dog,b", "cow,cc")}
    ),
    "hundreds of labels that only dev has": Case(
        "tasks.t.dev",
        tasks={"t": {**MOOD, "train": "many.csv", "dev": "odd.csv"}},
        files={
            "many_csv": rows(*[f"fox {n},k{n}" for n in range(200)]),
            "odd_csv": rows(*[f"x {n},j{n}" for n in range(99)]),
        },
    ),
    "texts as labels": Case(
        "tasks.t.train",
        tasks={"t": {**ODD, "dev": 0.5}},
        files={"odd_csv": rows(*[f"fox {n},{SECRET * 4} {n % 2}" for n in range(9)])},
    ),
    "too few rows to hold any out": Case(
        "tasks.t.dev", tasks={"t": {**ODD, "dev": 0.1}}, files={"odd_csv": rows("x,a", "y,b")}
    ),
    "a JSON row without the label key is passed over": Case(
        tasks={"t": JSON},
        files={"odd_jsonl": objects({"text": "fox"}, *({"text": f"fox {n}", "label": "ab"[n % 2]} for n in range(9)))},
    ),
    "JSON rows without any label key": Case(
        "tasks.t.train", tasks={"t": JSON}, files={"odd_jsonl": objects({"text": SECRET}, {"text": "dog"})}
    ),
    "a JSON row without the text key": Case(
        "tasks.t.train",
        tasks={"t": JSON},
        files={"odd_jsonl": objects({"label": "a"}, *({"text": f"fox {n}", "label": "ab"[n % 2]} for n in range(9)))},
    ),
    "a JSON list": Case("tasks.t.train", tasks={"t": JSON}, files={"odd_jsonl": "[1]\n"}),
    "several labels in two orders are one answer": Case(
        "tasks.t.train",
        tasks={"t": {**ODD, "multilabel": True, "dev": 0.5}},
        files={"odd_csv": rows(*[f"fox {n},{'a|b' if n % 2 else 'b|a'}" for n in range(12)])},
    ),
    "a score that is no number": Case(
        "tasks.t.train", tasks={"t": {**NEAR, "train": "odd.csv"}}, files={"odd_csv": SCORES + "a,b,much\n"}
    ),
    "scores outside the scale": Case("tasks.t.train", tasks={"t": {**NEAR, "scale": [0, 3]}}),
    "spans beyond the text": Case(
        "tasks.t.train",
        tasks={"t": {**MARKS, "train": "odd.jsonl"}},
        files={"odd_jsonl": SPANS + objects({"text": "fox", "spans": [[0, 99, "a"]]})},
    ),
    "a loss of another kind": Case("tasks.t.loss", tasks={"t": {**MOOD, "loss": "mse"}}),
    "a loss and a metric of other kinds, and no file": Case(
        "tasks.t.loss",
        "tasks.t.metric",
        "tasks.t.train",
        tasks={"t": {**MOOD, "loss": "mse", "metric": "pearson", "train": "lost.csv"}},
    ),
    "a binary loss for three labels": Case(
        "tasks.t.loss",
        tasks={"t": {**ODD, "dev": 0.3, "loss": "binary"}},
        files={"odd_csv": rows(*[f"fox {n},{'abc'[n % 3]}" for n in range(30)])},
    ),
    "weights for another number of labels": Case(
        "tasks.t.loss", tasks={"t": {**MOOD, "loss": {"kind": "cross_entropy", "class_weights": [1.0, 2.0, 3.0]}}}
    ),
    "a metric of another kind": Case("tasks.t.metric", tasks={"t": {**MOOD, "metric": "pearson"}}),
    "heads shared by unlike tasks": Case(
        "tasks.u.head",
        tasks={
            "t": {**MOOD, "head": {"kind": "linear", "share": "h"}},
            "u": {**ODD, "dev": 0.3, "head": {"kind": "linear", "share": "h"}},
        },
        files={"odd_csv": rows(*[f"fox {n},{'abc'[n % 3]}" for n in range(30)])},
    ),
    "spans from a task that gives none": Case(
        "tasks.u.spans_from", tasks={"t": MOOD, "u": {**LINKS, "spans_from": "t"}}
    ),
    "spans from a task that is not there": Case("tasks.u.spans_from", tasks={"u": {**LINKS, "spans_from": "nobody"}}),
    "layers the encoder lacks": Case("conditioning.layers", conditioning={"kind": "lora", "layers": [99]}),
    "keywords for a label that is not there": Case(
        "conditioning.keywords", conditioning={"kind": "label_attention", "keywords": {"t": {"z": "words"}}}
    ),
    "counts for a task that is not there": Case(
        "conditioning.counts", conditioning={"kind": "task_attention", "counts": {"u": 2}}
    ),
    "an encoder that is not there": Case("encoder.from", encoder={"from": "./nowhere"}),
    "an encoder folder without weights": Case("encoder.from", encoder={"from": "WITHOUT_WEIGHTS"}),
    "a tokenizer that is not there": Case("encoder.scratch.tokenizer", encoder={"scratch": {"tokenizer": "nowhere"}}),
    "a tokenizer folder that is empty": Case("encoder.scratch.tokenizer", encoder={"scratch": {"tokenizer": "hollow"}}),
    "a limit without room for text": Case(
        "tasks.t.max_length", tasks={"t": {**NEAR, "encode": "cross", "max_length": 3}}
    ),
    "raw text that is not there": Case("tasks.w.train", tasks={"w": {**WORDS, "train": "lost.txt"}}),
    "raw text of one document": Case(
        "tasks.w.dev", tasks={"w": {**WORDS, "train": "one.txt"}}, files={"one_txt": "The fox jumps over the dog.\n"}
    ),
    "raw text without text": Case(
        "tasks.w.train", tasks={"w": {**WORDS, "train": "odd.txt"}}, files={"odd_txt": "\n \n"}
    ),
    "pairs of raw text without room": Case(
        "tasks.w.max_length", tasks={"w": {"kind": "next_sentence", "train": "raw.txt", "max_length": 4}}
    ),
    "a logger that is not installed": Case(
        "training.report_to", training={"report_to": ["wandb"], **PLAIN["training"]}
    ),
    "everything at once": Case(
        "conditioning.layers",
        "tasks.a.loss",
        "tasks.b.train",
        "tasks.c.spans_from",
        "tasks.d.dev",
        "tasks.e.train",
        "training.report_to",
        tasks={
            "a": {**MOOD, "loss": "mse"},
            "b": {**ODD, "dev": 0.5},
            "c": {**LINKS, "spans_from": "a"},
            "d": {**MOOD, "dev": "lost.csv"},
            "e": {**WORDS, "train": "lost.txt"},
        },
        conditioning={"kind": "lora", "layers": [99]},
        training={"report_to": ["wandb"], **PLAIN["training"]},
        files={"odd_csv": GOOD + ",a\n"},
    ),
}


class BegunError(Exception):
    """Learning would begin here."""


class Stop(Callback):
    def begin(self, steps: int, done: int) -> None:
        raise BegunError


@pytest.mark.parametrize("name", CASES)
def test_check_and_train_find_the_same_faults_all_at_once(name: str, files: Path, small_encoder: str) -> None:
    case = CASES[name]
    write(files, **case.files)
    (files / "hollow").mkdir()
    shutil.copytree(small_encoder, files / "WITHOUT_WEIGHTS")
    (files / "WITHOUT_WEIGHTS" / "model.safetensors").unlink()
    document = {"encoder": {"from": small_encoder}, **PLAIN, **case.document}
    if document["encoder"].get("from") == "WITHOUT_WEIGHTS":
        document["encoder"] = {"from": str(files / "WITHOUT_WEIGHTS")}
    findings = run_checks(prepare(parse_experiment(document), files)).findings
    faults = [finding for finding in findings if finding.severity == "error"]
    assert sorted(fault.path for fault in faults) == case.paths
    if case.paths:
        with pytest.raises(WeftError) as caught:
            weft.train(document, files / "model", data=files, callback=Stop())
        assert str(caught.value) == "\n".join(f"{fault.path}: {fault.message}" for fault in faults)
        assert SECRET not in str(caught.value)
        assert not list(files.glob("model*"))
    else:
        with pytest.raises(BegunError):
            weft.train(document, files / "model", data=files, callback=Stop())


def test_there_are_at_least_forty_bad_configs_and_data_sets() -> None:
    assert sum(bool(case.paths) for case in CASES.values()) >= 40


def test_a_folder_of_our_own_can_be_checked_as_an_encoder(files: Path, small_encoder: str) -> None:
    weft.train({"encoder": {"from": small_encoder}, "tasks": {"t": MOOD}, **PLAIN}, files / "model", data=files)
    found = run_checks(
        prepare(parse_experiment({"encoder": {"from": str(files / "model")}, "tasks": {"t": MOOD}}), files)
    )
    assert not [finding for finding in found.findings if finding.severity == "error"]


def test_a_file_that_several_tasks_name_is_opened_once(
    files: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real = formats.FORMATS[".csv"]

    def read(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
        opened.append(path.name)
        return real.read(path, encoding)

    monkeypatch.setitem(formats.FORMATS, ".csv", replace(real, read=read))
    same = {**MOOD, "dev": "good.csv", "test": "good.csv"}
    tasks = {"a": MOOD, "b": same, "c": {**MOOD, "label": "text", "text": "label"}, "d": NEAR}
    experiment = parse_experiment({"encoder": {"from": small_encoder}, "tasks": tasks})
    prepare(experiment, files)
    assert sorted(opened) == ["good.csv", "scores.csv"]


def test_the_packaged_weights_are_hashed_for_training_and_not_for_checking(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[Path] = []
    monkeypatch.setattr(packaged, "verify", lambda path, digest: hashed.append(path))
    experiment = parse_experiment({"tasks": {"t": MOOD, "w": WORDS}})
    prepare(experiment, files)
    assert hashed == []
    prepare(experiment, files, cache=files / "cache")
    assert len(hashed) == 1
