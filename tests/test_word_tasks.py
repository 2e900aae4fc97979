"""Tagging and spans from files to answers: bad input, every form of data, long texts, losses, and tasks together."""

from __future__ import annotations

import csv
import json
import math
import random
import re
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

import weft
from checking import check, read_measured
from weft.checkpoints.safetensors import read_file
from weft.checks.findings import Finding
from weft.cli import main as cli
from weft.config.document import parse_experiment
from weft.data.records import Example, Input, Span
from weft.errors import DataError
from weft.layers.candidates import candidates
from weft.model.embed import load_encoder
from weft.model.evaluate import evaluate
from weft.model.folder import load_network
from weft.model.network import Network
from weft.model.predict import groups, score
from weft.spec import parse
from weft.targets import FittedTarget
from weft.targets.spans import FittedSpans, SpansTarget
from weft.tasks import Task
from weft.tensors import Batch, Scores
from weft.tokenization.examples import TokenizedExample
from weft.training.faults import Faults
from weft.training.interrupt import Interrupted
from weft.training.progress import Callback
from weft.training.reading import read_examples, read_files

SECRET = "patientword"
FOX, DOG = {"kind": "tagging"}, {"kind": "spans"}
FLAT = {"kind": "spans", "flat": True}
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "1234"]
Row = dict[str, Any]


def sentence(number: int) -> list[str]:
    rng = random.Random(number)
    return [*rng.choices(WORDS[:3], k=1 + number % 3), "fox", *rng.choices(WORDS[4:7], k=number % 2), "dog"]


def tags_of(words: Sequence[str]) -> list[str]:
    """Everything up to the fox is an animal, and so is the dog."""
    fox = list(words).index("fox")
    return ["B-wild", *["I-wild"] * fox, *["O"] * (len(words) - fox - 2), "B-tame"]


def spans_of(words: Sequence[str]) -> list[list[Any]]:
    """The same in characters."""
    text = " ".join(words)
    return [[0, text.index("fox") + 3, "wild"], [len(text) - 3, len(text), "tame"]]


TAGGED: list[Row] = [{"tokens": sentence(n), "tags": tags_of(sentence(n))} for n in range(24)]
MARKED: list[Row] = [{"text": " ".join(sentence(n)), "spans": spans_of(sentence(n))} for n in range(24)]


def write(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_conll(path: Path, rows: Sequence[Row]) -> Path:
    sentences = ("".join(f"{a} NN {b}\n" for a, b in zip(row["tokens"], row["tags"], strict=True)) for row in rows)
    path.write_text("-DOCSTART- -X- O\n\n" + "\n".join(sentences), encoding="utf-8")
    return path


def build(encoder: str, seed: int = 0, **tasks: dict[str, Any]) -> Network:
    """A network with random heads whose tasks know the labels wild and tame."""
    torch.manual_seed(seed)
    source = load_encoder(encoder)
    source.encoder.pooler = None
    specs = {name: parse(Task, options) for name, options in tasks.items()}
    gold = ((0, 3, "wild"), (4, 7, "tame"))
    targets = {name: task.target().fit([gold] if task.gives_spans else ["a", "b"]) for name, task in specs.items()}
    return Network(source.encoder, source.tokenizer, specs, targets).eval()


def batch_of(network: Network, rows: Sequence[Example], task: str = "t") -> Batch:
    tokenized = network.encode(task, rows)
    gold = torch.cat(network.targets[task].gold_tensors(rows, tokenized))
    return replace(network.collate(task, tokenized), gold=gold)


def random_scores(network: Network, batch: Batch, task: str = "t", seed: int = 0) -> Scores:
    torch.manual_seed(seed)
    steps = dict(network.transitions.named_children()).get(f"<{task}>")
    if steps is not None:
        torch.nn.init.normal_(steps.get_parameter("learned"))
    assert batch.gold is not None
    outputs = network.targets[task].outputs(network.tasks[task].target().default_loss)
    values = torch.randn(len(batch.gold), outputs, requires_grad=True)
    return Scores(values, batch.outputs_per_example, None if steps is None else steps())


# Bad input


@pytest.fixture
def faults(
    tmp_path: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, list[Finding]]]:
    """What `weft train` and the checks say of a file that cannot be used: one message, no text, nothing left behind."""

    def call(task: dict[str, Any], rows: Sequence[Row] | str, suffix: str = ".jsonl") -> tuple[str, list[Finding]]:
        path = tmp_path / f"train{suffix}"
        path.write_text(rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows))
        write(tmp_path / "dev.jsonl", TAGGED)
        settings = {**task, "train": path.name, "dev": "dev.jsonl"}
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        (tmp_path / "run.toml").write_text(f"encoder.from = '{small_encoder}'\n[tasks.t]\n{lines}", encoding="utf-8")
        before = sorted(tmp_path.rglob("*"))
        command = ["weft", "train", str(tmp_path / "run.toml"), "--output", str(tmp_path / "model")]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert caught.value.code == 1
        assert "Traceback" not in out + err
        assert SECRET not in out + err
        assert err.count("weft: ") == 1
        assert sorted(tmp_path.rglob("*")) == before
        found = check(parse_experiment({"tasks": {"t": settings}}), tmp_path)
        assert not [one for one in found if SECRET in one.message + one.path]
        return err, [one for one in found if one.severity == "error"]

    return call


Messages = Callable[..., tuple[str, list[Finding]]]


def tagged(*tags: Any) -> Row:
    return {"tokens": [SECRET, "fox", "dog"], "tags": list(tags)}


def marked(*spans: Any) -> Row:
    return {"text": f"{SECRET} fox", "spans": list(spans)}


@pytest.mark.parametrize(
    ("task", "row", "messages"),
    [
        (FOX, tagged("O", "I-wild", "O"), ["word 2 has a tag with I-, which continues nothing", "needs B-"]),
        (DOG, tagged("O", "I-wild", "O"), ["word 2 has a tag with I-, which continues nothing"]),
        (FOX, tagged("O", "wild", "O"), ["word 2 has a text of 4 characters for its tag; allowed: O, or B-, I-"]),
        (FOX, tagged("O", SECRET * 5, "O"), ["word 2 has a text of 55 characters for its tag; allowed"]),
        ({**FOX, "labels": ["wild", "tame"]}, tagged("O", "B-wilt", "O"), ["'wilt'", "is not one of: wild, tame"]),
        ({**DOG, "labels": ["wild", "tame"]}, tagged("B-tam", "O", "O"), ["did you mean 'tame'?"]),
        (FOX, tagged("O", "O"), ["there are 3 tokens, but 2 tags; each token needs one tag"]),
        (DOG, tagged("O", "O", "O", "O"), ["there are 3 tokens, but 4 tags"]),
        ({**FOX, "scheme": "plain"}, tagged("O", "O"), ["there are 3 tokens, but 2 tags"]),
        (FOX, tagged("O", 3, "O"), ["word 2 has a whole number as its tag"]),
        (FOX, {"tokens": ["fox"], "tags": "O"}, ["must be a list with a word for each token, but this is a text"]),
        (FOX, {"tokens": [], "tags": []}, ["the list of words is empty"]),
        (FOX, {"tokens": ["fox", " "], "tags": ["O", "O"]}, ["word 2 is blank"]),
        (FOX, {"tokens": ["fox", 3], "tags": ["O", "O"]}, ["word 2 is a whole number, not a text"]),
        (DOG, {"tokens": f"fox {SECRET}", "entities": [[0, 1, "wild"]]}, ["must be a list of words", "is a text"]),
        (DOG, marked([4, 99, "wild"]), ["span 1 is [4, 99), but the text has 15 characters"]),
        (FOX, marked([0, 2, "tame"], [-1, 2, "wild"]), ["span 2 is [-1, 2), but the text has 15 characters"]),
        (DOG, marked([9, 3, "wild"]), ["span 1 ends at 3, before or where it starts (9)"]),
        (DOG, {"text": SECRET, "spans": {"start": 0}}, ["must be a list of [start, end, label]", "this is an object"]),
        (DOG, {"text": SECRET, "spans": SECRET}, ["must be a list of [start, end, label]", "this is a text"]),
        (DOG, marked([0, 3, 5]), ["span 1: the label must be a word, but this is a whole number"]),
        (DOG, marked([False, 3, "wild"]), ["span 1: start must be a whole number, but this is a yes or no"]),
        (FOX, marked([0, 5, "wild"], [3, 9, "tame"]), ["[0, 5) and [3, 9) overlap", "repair = true"]),
        (FLAT, marked([0, 9, "wild"], [3, 5, "tame"]), ["[0, 9) and [3, 5) overlap", "without flat"]),
        ({**FOX, "scheme": "plain"}, marked([0, 9, "wild"]), ["plain tags are read from the column 'tags' beside"]),
        (DOG, {"tokens": [SECRET], "entities": [[0, 2, "wild"]]}, ["span 1 is [0, 2), but the text has 1 tokens"]),
    ],
)
def test_a_row_that_cannot_be_used_is_told_with_its_line(
    faults: Messages, task: dict[str, Any], row: Row, messages: list[str]
) -> None:
    good = MARKED[:6] if "spans" in row and task.get("scheme") != "plain" else TAGGED[:6]
    err, found = faults(task, [*good, row])
    assert "train.jsonl, line 7, column " in err
    for message in messages:
        assert message in err
        told = [message.replace(f"{what} {n}", f"a {what}") for what in ("word", "span") for n in (1, 2)]
        assert any("train.jsonl, line 7" in one.message and part in one.message for one in found for part in told)


def test_wrong_spans_that_a_row_is_asked_about_are_told_with_their_column(faults: Messages) -> None:
    good = [{**row, "relations": [[0, 1, "near"]] if n % 2 else []} for n, row in enumerate(MARKED[:6])]
    err, found = faults({"kind": "relations"}, [*good, {"text": SECRET, "spans": [[0, 99, "x"]], "relations": []}])
    assert "train.jsonl, line 7, column 'spans': span 1 is [0, 99), but the text has 11 characters" in err
    assert any("line 7, column 'spans': span 1 is [0, 99), but the" in one.message for one in found)


@pytest.mark.parametrize(
    ("task", "rows", "message"),
    [
        (DOG, [marked([n, 50 + n, "x"]) for n in range(3)], "column 'spans': a span lies beyond the characters of its"),
        (DOG, [tagged(*"OOO"[n:]) for n in (1, 2, 3)], "column 'tags': there are not as many tags as tokens"),
        (FLAT, [marked([n, 9, "x"], [n + 1, 8, "y"]) for n in range(3)], "column 'spans': two spans overlap"),
        (
            {"kind": "relations"},
            [
                {**marked([0, 2, "x"], [3, 5, "y"]), "relations": [[0, 1, "a"]] * n + [[0, n + 2, "a"]]}
                for n in range(3)
            ],
            "column 'relations': a relation: head and tail must be indices",
        ),
        (
            {"kind": "relations"},
            [{**marked(*[[0, 2, "x"]] * n, [n, 50 + n, "x"]), "relations": []} for n in range(3)],
            "column 'spans': a span lies beyond the characters of its text",
        ),
    ],
    ids=["spans", "tags", "overlaps", "relations", "spans of relations"],
)
def test_rows_with_the_same_fault_are_told_once(
    faults: Messages, task: dict[str, Any], rows: list[Row], message: str
) -> None:
    err, found = faults(task, rows)
    assert f"train.jsonl, lines 1, 2, 3, {message}" in err
    assert "(3 rows)" in err
    assert sum(message in finding.message for finding in found) == 1


def test_every_fault_of_a_file_is_told_at_once(faults: Messages) -> None:
    rows = [tagged("O", "I-wild", "O"), *TAGGED[:4], tagged("O"), {"tokens": [" "], "tags": ["O"]}, marked([3, 1, "x"])]
    err, found = faults(FOX, rows)
    for line in (1, 6, 7, 8):
        assert f"train.jsonl, line {line}, column" in err
        assert any(f"train.jsonl, line {line}," in one.message for one in found)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (f"fox B-wild\n{SECRET} NN O\n\n", ["train.conll, line 25: has 3 columns, but the sentence began with 2"]),
        (f"fox B-wild\n{SECRET}\n\n", ["train.conll, line 25: has 1 columns"]),
        (f"{SECRET}\nfox\n\n", ["train.conll, line 24: has no column", "its columns are: tokens"]),
        (f"fox O\n{SECRET} I-wild\n\ndog I-tame\n", ["train.conll, lines 24, 27", "continues nothing"]),
        (f"fox O\n\u00a0 O\n{SECRET} O\n", ["train.conll, line 24, column 'tokens': word 2 is blank"]),
    ],
)
def test_a_conll_file_that_cannot_be_used_is_told_with_its_line(
    faults: Messages, tmp_path: Path, text: str, messages: list[str]
) -> None:
    good = write_conll(tmp_path / "good.conll", TAGGED[:4]).read_text()
    assert good.count("\n") == 22
    err, found = faults(FOX, f"{good}\n{text}", ".conll")
    for message in messages:
        assert message in err
    assert any(re.search(r"lines? 2[45]", one.message) for one in found)


@pytest.mark.parametrize("task", [FOX, DOG])
def test_rows_without_marks_are_no_answer(tmp_path: Path, task: dict[str, Any]) -> None:
    path = write(tmp_path / "some.jsonl", [*MARKED, {"text": SECRET}, {"text": SECRET, "spans": None}])
    assert len(read_examples(parse(Task, task), path)) == len(MARKED)
    settings = {**task, "train": path.name, "dev": 0.2}
    found = check(parse_experiment({"tasks": {"t": settings}}), tmp_path)
    assert not [one for one in found if one.severity == "error"]
    assert any("2 of 26" in one.message and "have no answer and are passed over" in one.message for one in found)


@pytest.mark.parametrize("task", [FOX, DOG])
def test_a_file_without_any_mark_is_a_fault(task: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "none.jsonl", [{"text": SECRET, "spns": []}])
    with pytest.raises(DataError, match=r"holds no row with an answer .*its columns are: text, spns; did you mean"):
        read_examples(parse(Task, task), path)
    faults = Faults()
    parts = read_files({"t": parse(Task, {**task, "train": path.name})}, tmp_path, faults)["t"]
    found = [str(fault) for fault in faults]
    assert not parts["train"].complete
    assert len(found) == 1
    assert "column 'spans'; its columns are: text, spns; did you mean 'spns'?" in found[0]


@pytest.mark.parametrize("task", [FOX, DOG])
def test_checks_go_on_where_no_row_can_be_read(task: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "none.jsonl", [{"text": SECRET, "spans": 3}])
    settings = {**task, "train": "none.jsonl"}
    found = check(parse_experiment({"tasks": {"t": settings}}), tmp_path)
    assert any("must be a list" in one.message for one in found)


@pytest.mark.parametrize("task", [FOX, DOG])
def test_tags_beside_a_text_are_not_passed_over(faults: Messages, task: dict[str, Any]) -> None:
    err, found = faults(task, [*MARKED[:6], {"text": f"{SECRET} fox", "tags": ["O", "B-wild"]}])
    assert "train.jsonl, line 7, column 'tags': tags need tokens" in err
    assert any("line 7" in one.message and "tags need tokens" in one.message for one in found)


def test_a_file_of_tokens_alone_lacks_tags(tmp_path: Path) -> None:
    (tmp_path / "words.conll").write_text("fox\ndog\n")
    with pytest.raises(DataError, match="has no column 'tags'"):
        read_examples(parse(Task, FOX), tmp_path / "words.conll")


def test_a_slip_in_rows_to_measure_on_comes_with_a_line_for_the_config_and_no_other_label(small_encoder: str) -> None:
    kind = {"kind": "classification", "labels": ["calm", "urgent"]}
    network = build(small_encoder, t=kind)
    rows = [Example(("fox",), label, line) for line, label in enumerate(["calm", "urgnet", SECRET], 2)]
    with pytest.raises(DataError) as caught:
        evaluate(network, {"t": rows})
    assert str(caught.value).endswith('; where they are slips, mend them, or train with map = { "urgnet" = "urgent" }')
    assert SECRET not in str(caught.value)


def test_a_model_is_not_measured_on_labels_it_does_not_know(small_encoder: str) -> None:
    network = build(small_encoder, t=FOX)
    with pytest.raises(DataError, match="the first in line 5, have a label that the model does not know.*; mend"):
        evaluate(network, {"t": [Example(("the fox",), ((0, 3, "cat"),), 5)]})


BROKEN: list[tuple[Row, list[Span]]] = [
    (tagged("O", "I-wild", "I-wild"), [(12, 19, "wild")]),
    (tagged("nonsense", "B-tame", "I-wild"), [(12, 15, "tame"), (16, 19, "wild")]),
    (marked([15, 12, "wild"]), [(12, 15, "wild")]),
    (marked([12, 99, "wild"], [-3, 11, "tame"]), [(0, 11, "tame"), (12, 15, "wild")]),
    (marked([0, 15, "wild"], [12, 15, "tame"]), [(0, 15, "wild")]),
    (marked([50, 60, "wild"]), []),
]


@pytest.mark.parametrize("repair", [False, True])
def test_spans_without_a_label_beside_others_with_one_are_named_by_line(tmp_path: Path, repair: bool) -> None:
    cells = [[[0, 3, "wild"]], [[0, 3]], [[0, 3, "tame"], {"start": 4, "end": 7}], [], [[0, 3, "wild"]]]
    mixed = write(tmp_path / "mixed.jsonl", [{"text": "the fox", "spans": cell} for cell in cells])
    with pytest.raises(DataError, match="lines 2, 3, column 'spans': spans without a label, where others of this col"):
        read_examples(parse(Task, {**DOG, "repair": repair}), mixed)
    bare = write(
        tmp_path / "bare.jsonl", [{"text": "the fox", "spans": cell} for cell in ([[0, 3]], [], [[4, 7, None]])]
    )
    assert [row.gold for row in read_examples(parse(Task, {**DOG, "repair": repair}), bare)] == [
        ((0, 3, "span"),),
        (),
        ((4, 7, "span"),),
    ]


@pytest.mark.parametrize("task", [FOX, FLAT], ids=["tagging", "flat spans"])
def test_repair_mends_and_counts(task: dict[str, Any], tmp_path: Path) -> None:
    rows = [row for row, _ in BROKEN]
    with pytest.raises(DataError) as caught:
        read_examples(parse(Task, task), write(tmp_path / "broken.jsonl", rows))
    assert len(str(caught.value).splitlines()) == len(rows) - 1  # two have the same fault
    repairs = read_examples(parse(Task, {**task, "repair": True}), tmp_path / "broken.jsonl")
    assert [sorted(one.gold) for one in repairs] == [gold for _, gold in BROKEN]  # type: ignore[arg-type, type-var]
    assert [len(one.repairs) for one in repairs] == [1, 2, 1, 2, 1, 2]
    assert read_measured(parse(Task, {**task, "repair": True}), tmp_path / "broken.jsonl") == repairs
    settings = {**task, "repair": True, "train": write(tmp_path / "all.jsonl", [*rows, *TAGGED]).name}
    found = check(parse_experiment({"tasks": {"t": settings}}), tmp_path)
    assert not [one for one in found if one.severity == "error"]
    notes = [one.message for one in found if "(repair)" in one.message]
    assert sum(int(note.split(": ")[1].split()[0]) for note in notes) == sum(len(one.repairs) for one in repairs)
    assert any("3 tags that continued nothing, or were none" in note for note in notes)
    assert any("1 spans that ended before they started, turned" in note for note in notes)


def test_training_says_what_was_mended(tmp_path: Path, small_encoder: str) -> None:
    class Notes(Callback):
        said: ClassVar[list[str]] = []

        def note(self, text: str) -> None:
            self.said.append(text)

    rows = [*TAGGED, *(row for row, _ in BROKEN)]
    settings = {**FLAT, "repair": True, "train": write(tmp_path / "rows.jsonl", rows).name, "dev": 0.2, "size": 8}
    document = {
        "encoder": {"from": small_encoder},
        "tasks": {"t": settings},
        "training": {"epochs": 1, "baselines": False},
    }
    weft.train(document, tmp_path / "model", data=tmp_path, device="cpu", callback=Notes())
    assert "t: 3 tags that continued nothing, or were none (repair)" in Notes.said
    assert not any(SECRET in note for note in Notes.said)


def test_the_command_tells_of_faults_and_mends(
    tmp_path: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "rows.jsonl", [*TAGGED, *(row for row, _ in BROKEN)])
    lines = '[tasks.t]\nkind = "tagging"\ntrain = "rows.jsonl"\ndev = 0.3\n'
    (tmp_path / "run.toml").write_text(f"encoder.from = '{small_encoder}'\n{lines}")
    monkeypatch.setenv("COLUMNS", "300")
    for arguments, code, words in (
        ((), 1, "line 25, column 'tags': word 2 has a tag with I-, which continues nothing"),
        (("--set", "tasks.t.repair=true"), 0, "3 tags that continued nothing, or were none (repair)"),
    ):
        monkeypatch.setattr(sys, "argv", ["weft", "check", str(tmp_path / "run.toml"), *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert int(caught.value.code or 0) == code
        assert words in out
        assert SECRET not in out + err


def test_nested_spans_are_nothing_to_mend(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [marked([0, 15, "wild"], [12, 15, "tame"])])
    (row,) = read_examples(parse(Task, {**DOG, "repair": True}), path)
    assert row.gold == ((0, 15, "wild"), (12, 15, "tame"))
    assert row.repairs == ()


def test_what_cannot_be_mended_is_still_a_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [tagged("O"), marked([0, "x", "wild"]), tagged("O", 1, "O")])
    with pytest.raises(DataError) as caught:
        read_examples(parse(Task, {**FOX, "repair": True}), path)
    for line in (1, 2, 3):
        assert f"line {line}, " in str(caught.value)


# Forms of data


def test_every_form_of_data_says_the_same(tmp_path: Path) -> None:
    conll = write_conll(tmp_path / "a.conll", TAGGED)
    bioes = [{**row, "tags": in_bioes(row["tags"])} for row in TAGGED]
    assert any("S-" in tag for row in bioes for tag in row["tags"])
    entities = [{"tokens": row["tokens"], "entities": in_tokens(row["tags"])} for row in TAGGED]
    dicts = [
        {"text": row["text"], "entities": [{"start": a, "end": b, "label": c} for a, b, c in row["spans"]]}
        for row in MARKED
    ]
    forms = [TAGGED, bioes, entities, MARKED, dicts]
    paths = [conll, write_conll(tmp_path / "b.bioes", bioes)]
    paths += [write(tmp_path / f"{number}.jsonl", rows) for number, rows in enumerate(forms)]
    for options in (FOX, {**FOX, "scheme": "bioes"}, DOG, FLAT):
        read = [read_examples(parse(Task, options), path) for path in paths]
        for rows in read:
            assert [(one.texts, one.gold) for one in rows] == [
                ((row["text"],), tuple(tuple(span) for span in row["spans"])) for row in MARKED
            ]
        assert all(one.words is not None for one in read[0])
        assert all(one.words is None for one in read[-1])


def in_bioes(tags: Sequence[str]) -> list[str]:
    found = []
    for tag, after in zip(tags, [*tags[1:], "O"], strict=True):
        goes_on = after == f"I{tag[1:]}"
        found.append(tag if goes_on or tag == "O" else {"B": "S", "I": "E"}[tag[0]] + tag[1:])
    return found


def in_tokens(tags: Sequence[str]) -> list[list[Any]]:
    starts = [place for place, tag in enumerate(tags) if tag.startswith("B")]
    ends = [next((n for n in range(s + 1, len(tags)) if not tags[n].startswith("I")), len(tags)) for s in starts]
    return [[start, end, tags[start][2:]] for start, end in zip(starts, ends, strict=True)]


def test_other_names_of_columns_and_plain_tags(tmp_path: Path) -> None:
    rows = [{"words": row["tokens"], "pos": ["N" if word in ("fox", "dog") else "A" for word in row["tokens"]]}
            for row in TAGGED]  # fmt: skip
    task = parse(Task, {**FOX, "scheme": "plain", "tokens": "words", "tags": "pos"})
    first = read_examples(task, write(tmp_path / "rows.jsonl", rows))[0]
    assert [(first.texts[0][start:end], tag) for start, end, tag in first.gold] == [  # type: ignore[misc, union-attr]
        *zip(rows[0]["words"], rows[0]["pos"], strict=True)
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, small_encoder: str) -> Path:
    """A model that has learned names by tags, marked spans and a label, from three forms of the same rows."""
    folder = tmp_path_factory.mktemp("trained")
    write_conll(folder / "tags.conll", TAGGED)
    write(folder / "spans.jsonl", MARKED)
    lines = [{"text": row["text"], "label": "long" if len(row["text"]) > 16 else "short"} for row in MARKED]
    write(folder / "label.jsonl", lines)
    head = {"kind": "linear", "dropout": 0.0}
    tasks: dict[str, Any] = {
        "tags": {**FOX, "train": "tags.conll", "dev": "tags.conll", "head": head},
        "marks": {**DOG, "train": "spans.jsonl", "dev": "spans.jsonl", "max_width": 6, "size": 32, "head": head},
        "size": {"kind": "classification", "train": "label.jsonl", "dev": "label.jsonl"},
    }
    settings = {"epochs": 42, "batch_size": 8, "learning_rate": 1e-2, "baselines": False}
    document = {"encoder": {"from": small_encoder}, "tasks": tasks, "training": settings}
    weft.train(document, folder / "model", data=folder, device="cpu", callback=Callback())
    return folder / "model"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def call(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["weft", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert not caught.value.code, err
        return out

    return call


def found_in(answer: Sequence[dict[str, Any]], text: str) -> list[list[Any]]:
    """The spans of an answer, every part of which is looked at."""
    for one in answer:
        assert list(one) == ["start", "end", "text", "label", "score"]
        assert one["text"] == text[one["start"] : one["end"]]
        assert 0 < one["score"] <= 1 + 1e-6
    return [[one["start"], one["end"], one["label"]] for one in answer]


@pytest.mark.parametrize("task", ["tags", "marks"])
def test_answers_are_spans_of_the_text_from_any_form_of_input(
    model: Path, command: Callable[..., str], tmp_path: Path, task: str
) -> None:
    forms = {
        "text.jsonl": write(tmp_path / "text.jsonl", MARKED),
        "tokens.jsonl": write(tmp_path / "tokens.jsonl", TAGGED),
    }
    forms["text.csv"] = tmp_path / "text.csv"
    forms["text.csv"].write_text("text\n" + "".join(f'"{row["text"]}"\n' for row in MARKED))
    forms["words.conll"] = write_conll(tmp_path / "words.conll", TAGGED)
    texts = [row["text"] for row in MARKED]
    expected = [found_in(one, text) for one, text in zip(weft.load(model).predict(texts, task), texts, strict=True)]
    assert sum(map(len, expected)) > 5
    for path in forms.values():
        for suffix in (".jsonl", ".csv"):
            output = tmp_path / f"answers{suffix}"
            command("predict", model, "--input", path, "--output", output, "--task", task)
            if suffix == ".jsonl":
                answers = [json.loads(line)[task] for line in output.read_text().splitlines()]
            else:
                with output.open(newline="") as file:
                    answers = [json.loads(row[task]) for row in csv.DictReader(file)]
            assert [found_in(one, row["text"]) for one, row in zip(answers, MARKED, strict=True)] == expected, path
    said = command("predict", model, "--text", MARKED[0]["text"], "--task", task)
    assert found_in(json.loads(said)[task], texts[0]) == expected[0]


@pytest.mark.parametrize("name", ["tags.conll", "spans.jsonl"])
def test_a_model_is_measured_on_a_file_of_any_form(
    model: Path, command: Callable[..., str], tmp_path: Path, name: str
) -> None:
    arguments = ("--data", model.parent / name, "--task", "tags", "--task", "marks", "--json", tmp_path / "scores.json")
    assert "f1" in command("evaluate", model, *arguments)
    scores = json.loads((tmp_path / "scores.json").read_text())
    texts, gold = [row["text"] for row in MARKED], [row["spans"] for row in MARKED]
    for task in ("tags", "marks"):
        found = [found_in(one, text) for one, text in zip(weft.load(model).predict(texts, task), texts, strict=True)]
        right = sum(one in wanted for some, wanted in zip(found, gold, strict=True) for one in some)
        assert right
        assert scores[task]["precision"] == pytest.approx(right / sum(map(len, found)))
        assert scores[task]["recall"] == pytest.approx(right / sum(map(len, gold)))


def test_texts_without_words_and_odd_ones_are_answered(model: Path) -> None:
    texts = ["", " ", "\u200b", "\x00\x07", "the fox 👩🏽 dog", "fox\u0301\ndog", "…½ﬁ" * 40]
    with pytest.warns(weft.EmptyTextWarning), pytest.warns(weft.TruncationWarning):
        answers = weft.load(model).predict(texts)
    for text, answer in zip(texts, answers, strict=True):
        for task in ("tags", "marks"):
            found_in(answer[task], text)
    with pytest.warns(weft.EmptyTextWarning):  # and no other, since words are read however long a text is
        assert weft.load(model).predict(texts, "marks")[0] == []


def test_three_kinds_share_one_pass_and_all_answer(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = load_network(model)
    passes: list[int] = []
    network.encoder.register_forward_hook(lambda *_: passes.append(1))
    texts = [row["text"] for row in MARKED[:5]]
    together = weft.Model(network).predict(texts)
    assert len(passes) == 1
    flags = {"truncated": False, "empty": False}
    assert all(list(one) == ["tags", "marks", "size", *flags] for one in together)
    for task in ("tags", "marks", "size"):
        for alone, row in zip(weft.Model(network).predict(texts, task), together, strict=True):
            expected = row[task] if isinstance(row[task], list) else {**row[task], **flags}
            assert json.dumps(alone) == json.dumps(expected)
    long = Input((" ".join(["fox"] * 60),))  # which the label reads cut, and the words whole
    assert [sorted(one) for one in groups(network, [dict.fromkeys(network.tasks, long)], network.tokenizer)] == [
        ["marks", "tags"],
        ["size"],
    ]


# Long texts


def blind(network: Network) -> Network:
    """The same network, in which no token sees another or knows its place."""
    for name, parameter in network.encoder.named_parameters():
        if "positions" in name or "attention.output" in name:
            torch.nn.init.zeros_(parameter)
    return network


@pytest.mark.parametrize("options", [{**FOX, "decoder": "greedy"}, {**FOX, "decoder": "crf"}, DOG], ids=str)
def test_windows_leave_no_seam(small_encoder: str, options: dict[str, Any]) -> None:
    """Where no token sees another, a text in windows has the scores of its words, whatever window each is read in."""
    network = blind(build(small_encoder, t={**options, "stride": 8}))
    words = random.Random(0).choices(WORDS, k=400)
    tokenized = network.encode("t", [Input((" ".join(words),))])
    assert len(tokenized[0].rows) > 10
    whole = score(network, {"t": tokenized})["t"].values
    if options is DOG:
        first, last = candidates(400, 12)
        texts = [" ".join(words[a : b + 1]) for a, b in zip(first, last, strict=True)]
        chosen = [n for n in range(0, len(texts), 37) if first[n] + 4 > last[n]]  # spans that one row holds
        alone = [score(network, {"t": network.encode("t", [Input((texts[n],))])})["t"] for n in chosen]
        wide = [int(last[n] - first[n]) for n in chosen]
        expected = torch.stack([one.values[width] for one, width in zip(alone, wide, strict=True)])
        assert len(whole) == len(first)  # none is so unlikely that its scores are not kept
        torch.testing.assert_close(whole[chosen, 1:], expected[:, 1:], atol=1e-5, rtol=1e-5)  # 0 is its index
    else:
        alone = {word: score(network, {"t": network.encode("t", [Input((word,))])})["t"] for word in WORDS}
        expected = torch.cat([alone[word].values for word in words])
        torch.testing.assert_close(whole, expected, atol=1e-5, rtol=1e-5)


def test_a_word_is_read_as_in_the_window_that_holds_most_around_it(small_encoder: str) -> None:
    """With sight of the neighbours, each word's scores are those of its own window read as a text of its own."""
    network = build(small_encoder, t={**FOX, "stride": 8})
    text = " ".join(random.Random(1).choices(WORDS, k=300))
    (tokenized_example,) = network.encode("t", [Input((text,))])
    (with_offsets,) = network.tasks["t"].encode(
        [Input((text,))], network.tokenizer.with_offsets(), network.max_length("t")
    )
    whole = score(network, {"t": [tokenized_example]})["t"].values
    for number in range(0, len(tokenized_example.rows), 4):
        row = with_offsets.rows[number]
        start, end = row.offsets[1][0], row.offsets[-2][1]
        (alone,) = network.encode("t", [Input((text[start:end],))])
        assert alone.rows[0].ids.tolist() == row.ids.tolist()
        owned = tokenized_example.by_word.row == number
        expected = score(network, {"t": [alone]})["t"].values[tokenized_example.by_word.position[owned] - 1]
        torch.testing.assert_close(whole[torch.from_numpy(owned)], expected, atol=1e-5, rtol=1e-5)


def test_a_sentence_of_5000_tokens_is_learned_from_and_answered(tmp_path: Path, small_encoder: str) -> None:
    words = random.Random(0).choices(["the", "lazy", "over"], k=5000)
    animals = range(7, 5000, 50)
    for place in animals:
        words[place] = "fox"
    tags = ["B-wild" if word == "fox" else "O" for word in words]
    rows = [*TAGGED, {"tokens": words, "tags": tags}]
    write(tmp_path / "rows.jsonl", rows)
    write(tmp_path / "dev.jsonl", TAGGED)
    files = {"train": "rows.jsonl", "dev": "dev.jsonl"}
    tasks = {"tags": {**FOX, **files}, "marks": {**DOG, **files, "max_width": 3, "size": 16, "negatives": 50.0}}
    settings = {"epochs": 1, "batch_size": 25, "learning_rate": 1e-3, "baselines": False}
    document = {"encoder": {"from": small_encoder}, "tasks": tasks, "training": settings}
    trained = weft.train(document, tmp_path / "model", data=tmp_path, device="cpu", callback=Callback())
    assert trained is not None
    network = load_network(tmp_path / "model")
    text = " ".join(words)
    (answer,) = weft.Model(network).predict([text])
    found_in(answer["tags"], text)
    found_in(answer["marks"], text)
    for task in ("tags", "marks"):  # and right scores find every fox, to the character
        row = read_examples(network.tasks[task], tmp_path / "rows.jsonl")[-1]
        tokenized = network.encode(task, [row])
        batch = batch_of(network, [row], task)
        assert batch.gold is not None
        outputs = network.targets[task].outputs(network.tasks[task].target().default_loss)
        steps = network.transitions["<tags>"]() if task == "tags" else None
        scores = Scores(torch.nn.functional.one_hot(batch.gold, outputs) * 30.0, batch.outputs_per_example, steps)
        (given_back,) = decoded(network.targets[task], scores, tokenized)
        assert [one["text"] for one in given_back] == ["fox"] * len(animals)
        assert [one["start"] for one in given_back] == [len(" ".join(words[:place])) + 1 for place in animals]


# Losses and decoding


def decoded(target: FittedTarget, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Any]:
    """Predictions as plain data, from all of a head's scores."""
    return [one.to_dict() for one in target.decode(target.compact(scores, tokenized), tokenized)]


ROWS = [
    Example(("the jumps fox",), ((0, 9, "wild"), (10, 13, "tame")), 1),
    Example(("xenon",), (), 2),
    Example(("over foxed",), ((5, 10, "wild"),), 3),
]


def test_the_loss_of_a_crf_is_that_of_all_paths_counted_out(small_encoder: str) -> None:
    for options in ({}, {"subwords": "first"}, {"subword_pooling": "combined"}):
        network = build(small_encoder, t={**FOX, **options})
        batch = batch_of(network, ROWS)
        scores = random_scores(network, batch)
        assert scores.transitions is not None
        assert batch.gold is not None
        steps, values, gold = scores.transitions.detach(), scores.values.detach(), batch.gold.tolist()
        tags, total, place = 5, 0.0, 0
        tokenized = network.encode("t", ROWS)
        further = 0.0
        for tokenized_example in tokenized:
            words: dict[int, list[int]] = {}
            for word in tokenized_example.by_word.word.tolist():
                words.setdefault(word, []).append(place)
                place += 1
            rows = [[values[n] for n in some] for some in words.values()]
            emissions = [sum(row) / len(row) if "subword_pooling" in options else row[0] for row in rows]
            right = [gold[some[0]] for some in words.values()]
            assert all(gold[n] == tag for tag, some in zip(right, words.values(), strict=True) for n in some)
            paths = {path: path_score(path, emissions, steps) for path in product(range(tags), repeat=len(rows))}
            total += math.log(sum(math.exp(one) for one in paths.values())) - paths[tuple(right)]
            for tag, row in zip(right, rows, strict=True):
                further += sum(float(-one.log_softmax(0)[tag]) for one in row[1:])
        assert len(gold) > batch.indices.words.words_per_example.sum() > 3  # some words have several sub-words
        divisor = int(batch.indices.words.words_per_example.sum()) if options else len(gold)
        expected = (total + (0 if options else further)) / divisor
        assert float(network.losses()["t"](scores, batch).detach()) == pytest.approx(expected, rel=1e-5)


def path_score(path: tuple[int, ...], emissions: Sequence[Any], steps: Tensor) -> float:
    whole = [len(steps) - 1, *path, len(steps) - 1]
    moves = sum(float(steps[a, b]) for a, b in pairwise(whole))
    return moves + sum(float(emission[tag]) for tag, emission in zip(path, emissions, strict=True))


@pytest.mark.parametrize("decoder", ["greedy", "crf"])
def test_further_sub_words_are_not_asked_where_only_the_first_learn(small_encoder: str, decoder: str) -> None:
    network = build(small_encoder, t={**FOX, "decoder": decoder, "subwords": "first"})
    batch = batch_of(network, ROWS)
    scores = random_scores(network, batch)
    network.losses()["t"](scores, batch).backward()
    assert scores.values.grad is not None
    asked = scores.values.grad.abs().sum(1) > 0
    first = torch.zeros(len(asked), dtype=torch.bool)
    first[batch.indices.words.first_sub_words] = True
    assert torch.equal(asked, first)
    assert not first.all()
    every = build(small_encoder, t={**FOX, "decoder": decoder})
    scores = random_scores(every, batch)
    every.losses()["t"](scores, batch).backward()
    assert scores.values.grad is not None
    assert (scores.values.grad.abs().sum(1) > 0).all()


@pytest.mark.parametrize(
    "options",
    [{**FOX, "decoder": "greedy"}, FOX, {**FOX, "subwords": "first"}, {**FOX, "subword_pooling": "combined"}, DOG,
     {**DOG, "negatives": 2.0}, {**DOG, "content": "attention"}],
    ids=str,
)  # fmt: skip
def test_a_batch_without_any_word_teaches_nothing_and_breaks_nothing(
    small_encoder: str, options: dict[str, Any]
) -> None:
    network = build(small_encoder, t=options)
    rows = [Example(("\x00",), (), 1), Example(("\x07\x00",), (), 2)]
    batch = batch_of(network, rows)
    loss = network.losses()["t"](network(batch), batch)
    loss.backward()
    assert loss == 0
    assert not [n for n, p in network.named_parameters() if p.grad is not None and p.grad.any()]
    with pytest.warns(weft.EmptyTextWarning):
        assert weft.Model(network).predict([one.texts[0] for one in rows], "t") == [[], []]


@pytest.mark.parametrize("negatives", [0.5, 3.0, 1e9])
def test_sampling_keeps_every_labelled_span_and_about_the_right_number_of_others(negatives: float) -> None:
    target = FittedSpans(SpansTarget(max_width=3, negatives=negatives), ("x", "y"), (1, 1))
    gold = torch.zeros(20_000, dtype=torch.long)
    gold[::100] = torch.tensor([1, 2]).repeat(100)
    values = torch.arange(20_000.0).unsqueeze(1)
    torch.manual_seed(0)
    kept, answers = target._sample(values, gold)
    assert torch.equal(gold[kept.squeeze(1).long()], answers)
    assert int((answers > 0).sum()) == 200
    others = int((answers == 0).sum())
    expected = min(negatives * 200, 19_800)
    assert others == pytest.approx(expected, abs=5 * math.sqrt(expected)) if negatives < 1e9 else others == 19_800
    assert not torch.equal(target._sample(values, gold)[0], kept) or negatives == 1e9


def test_where_no_span_is_drawn_nothing_is_learned(small_encoder: str) -> None:
    """A step that happens upon no span at all must not push the scores of all spans anywhere."""
    network = build(small_encoder, t={**DOG, "negatives": 1e-9})
    batch = batch_of(network, [Example(("the quick fox",), (), 1)])
    scores = random_scores(network, batch)
    loss = network.losses()["t"](scores, batch)
    assert loss == 0
    loss.backward()
    assert scores.values.grad is None or not scores.values.grad.any()


def test_the_loss_of_spans_counts_each_word_once_whatever_is_drawn(small_encoder: str) -> None:
    network = build(small_encoder, t={**DOG, "max_width": 2})
    batch = batch_of(network, ROWS)
    scores = random_scores(network, batch)
    assert batch.gold is not None
    missed = sum(
        float(-row.log_softmax(0)[tag]) for row, tag in zip(scores.values.detach(), batch.gold.tolist(), strict=True)
    )
    loss = network.losses()["t"](scores, batch)
    assert float(loss.detach()) == pytest.approx(missed / int(batch.indices.words.words_per_example.sum()), rel=1e-5)


def spans_scores(network: Network, text: str, likely: dict[tuple[int, int], float]) -> tuple[Any, Scores]:
    """Scores that give the named spans these probabilities of the first label, and others none."""
    tokenized = network.encode("t", [Input((text,))])
    first, last = candidates(len(tokenized[0].by_word), 12)
    values = torch.full((len(first), 3), -40.0)
    values[:, 0] = 0
    for place, span in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        if span in likely:
            values[place, 1] = math.log(likely[span] / (1 - likely[span]))
    return tokenized, Scores(values, (len(first),))


@pytest.mark.parametrize(("right_from", "metric"), [(0.3, "f1"), (0.8, "f1"), (0.3, "recall"), (0.8, "precision")])
def test_the_threshold_is_the_best_on_the_rows_it_is_fitted_on(
    small_encoder: str, right_from: float, metric: str
) -> None:
    network = build(small_encoder, t=DOG)
    text = " ".join(["fox"] * 32)
    wrong = [0.03 + (right_from - 0.1) * place / 20 for place in range(20)]
    right = [right_from + 0.05 + (0.9 - right_from) * place / 12 for place in range(12)]
    likely = {(place, place): value for place, value in enumerate([*wrong, *right])}
    gold = tuple((4 * place, 4 * place + 3, "tame") for place in range(20, 32))
    tokenized, scores = spans_scores(network, text, likely)
    compact = network.targets["t"].compact(scores, tokenized)
    target: Any = network.targets["t"].calibrate(compact, [Example((text,), gold, 1)], tokenized, metric)
    predictions = target.decode(compact, tokenized)
    found = set(predictions[0].gold)
    assert target.measure([gold], predictions).scores[metric] == 1.0
    if metric == "f1":
        assert found == set(gold)
        assert wrong[-1] < target.threshold <= right[0]
    elif metric == "recall":
        assert set(gold) <= found


def test_a_threshold_is_not_tuned_on_a_handful(small_encoder: str) -> None:
    network = build(small_encoder, t=DOG)
    tokenized, scores = spans_scores(network, "the quick fox", {(0, 0): 0.3})
    row = Example(("the quick fox",), ((0, 3, "tame"),), 1)
    target = network.targets["t"]
    assert target.calibrate(target.compact(scores, tokenized), [row], tokenized, "f1") == target


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 5), st.integers(0, 3)).map(lambda one: (one[0], min(5, sum(one)))),
        st.floats(0.05, 0.95),
        max_size=8,
    ),
    st.sampled_from([0.3, 0.5, 0.7]),
)
def test_flat_spans_are_the_likeliest_set_without_overlap(
    small_encoder: str, likely: dict[tuple[int, int], float], threshold: float
) -> None:
    assume(all(abs(value - threshold) > 1e-3 for value in likely.values()))
    network = flat_network(small_encoder)
    target = replace(network.targets["t"], threshold=threshold)  # type: ignore[type-var]
    tokenized, scores = spans_scores(network, "fox dog fox dog fox dog", likely)
    least = math.log(threshold / (1 - threshold))
    weights = {span: math.log(value / (1 - value)) - least for span, value in likely.items() if value >= threshold}
    best = 0.0
    for size in range(len(weights) + 1):
        for some in combinations(weights, size):
            if not any(a[0] <= b[1] and b[0] <= a[1] for a, b in combinations(some, 2)):
                best = max(best, sum(weights[span] for span in some))
    given_back = decoded(target, scores, tokenized)[0]
    found = [(one["start"] // 4, one["end"] // 4) for one in given_back]
    assert not any(a[0] <= b[1] and b[0] <= a[1] for a, b in combinations(found, 2))
    assert sum(weights[span] for span in found) == pytest.approx(best, abs=1e-4)
    assert [one["score"] for one in given_back] == pytest.approx([likely[span] for span in found], abs=1e-5)
    nested = decoded(replace(target, target=replace(target.target, flat=False)), scores, tokenized)[0]  # type: ignore[type-var]
    assert {(one["start"] // 4, one["end"] // 4) for one in nested} == set(weights)


_networks: dict[str, Network] = {}


def flat_network(encoder: str) -> Network:
    if encoder not in _networks:
        _networks[encoder] = build(encoder, t=FLAT)
    return _networks[encoder]


@pytest.mark.parametrize("decide", ["first", "combined"])
@pytest.mark.parametrize("high", [3.0, 2000.0], ids=["unsure", "so sure that others round to nothing"])
def test_constrained_decoding_takes_the_best_path_that_bio_allows(small_encoder: str, decide: str, high: float) -> None:
    network = build(small_encoder, t={**FOX, "decoder": "constrained", "subword_pooling": decide})
    (tokenized_example,) = network.encode("t", [Input(("fox dog fox dog",))])
    target: Any = network.targets["t"]
    assert target.tags == ("O", "B-tame", "I-tame", "B-wild", "I-wild")
    values = torch.zeros(len(tokenized_example.by_word.word), 5)
    words = torch.from_numpy(tokenized_example.by_word.word)
    for word, tag in enumerate([2, 2, 0, 3]):  # I-tame I-tame O B-wild: the first cannot be
        values[words == word, tag] = high
    values[words == 0, 1] = 1.0  # and B-tame is next best there
    (found,) = decoded(target, Scores(values, (len(values),)), [tokenized_example])
    assert [(one["text"], one["label"]) for one in found] == [("fox dog", "tame"), ("dog", "wild")]


# Together


class Stop(Callback):
    """Asks for a stop after some steps."""

    def __init__(self, after: int) -> None:
        self.after = after

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        self.after -= 1
        if not self.after:
            signal.raise_signal(signal.SIGINT)


def test_a_resumed_run_of_words_and_spans_ends_with_the_same_bits(tmp_path: Path, small_encoder: str) -> None:
    write(tmp_path / "tags.jsonl", TAGGED)
    write(tmp_path / "spans.jsonl", MARKED)
    tasks = {
        "tags": {**FOX, "train": "tags.jsonl", "dev": "tags.jsonl"},
        "marks": {**DOG, "train": "spans.jsonl", "dev": 0.2, "negatives": 2.0, "size": 16},
    }
    settings = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-3, "baselines": False}
    document = {"encoder": {"from": small_encoder}, "tasks": tasks, "training": settings}

    def run(name: str, **options: Any) -> Path:
        folder = tmp_path / name
        weft.train(document, folder, data=tmp_path, device="cpu", **{"callback": Callback(), **options})
        return folder

    through = run("through")
    with pytest.raises(Interrupted):
        run("broken", callback=Stop(5))
    broken = run("broken", resume=True)
    left, right = (read_file(folder / "model.safetensors") for folder in (through, broken))
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)
    assert (through / "metrics.jsonl").read_text() == (broken / "metrics.jsonl").read_text()
    assert load_network(through).targets == load_network(broken).targets
