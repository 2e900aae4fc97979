"""Relations between spans: how they are read, and where spans come from when a text has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import weft
from weft.data.records import Input
from weft.errors import DataError
from weft.layers.relations import RelationFeatures
from weft.model.embed import load_encoder
from weft.model.network import Network
from weft.model.predict import predict
from weft.spec import parse
from weft.targets.relations import FittedRelations, RelationsTarget
from weft.tasks import Task
from weft.training.faults import Faults
from weft.training.mismatches import check_sources
from weft.training.progress import Callback
from weft.training.reading import read_examples

TEXT = "ibuprofen helped my knee"
ROW = {"text": TEXT, "spans": [[20, 24, "body"], [0, 9, "drug"]], "relations": [[1, 0, "eases"]]}


def read(tmp_path: Path, row: dict[str, Any], **options: Any) -> Any:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return read_examples(parse(Task, {"kind": "relations", **options}), path)


def test_relations_are_read_by_the_places_of_listed_spans(tmp_path: Path) -> None:
    (row,) = read(tmp_path, ROW)
    assert row.spans == ((20, 24, "body"), (0, 9, "drug"))
    assert row.gold == (((0, 9), (20, 24), "eases"),)
    named = {**ROW, "relations": [{"head": 1, "tail": 0, "label": "eases"}]}
    assert read(tmp_path, named)[0].gold == row.gold
    words = {"tokens": TEXT.split(), "entities": [[3, 4, "body"], [0, 1, "drug"]], "relations": [[1, 0, "eases"]]}
    assert read(tmp_path, words)[0].gold == row.gold


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"relations": [[0, 2, "x"]]}, "indices into the list of 2 spans"),
        ({"relations": [[0, True, "x"]]}, "indices into the list of 2 spans"),
        ({"relations": [[0, 0, "x"]]}, "the same span"),
        ({"relations": [[0, 1]]}, "not of the form"),
        ({"relations": [[0, 1, 7]]}, "the label must be a word"),
        ({"relations": [[0, 1, "soothes"]]}, "not one of: eases"),
        ({"relations": "x"}, "must be a list"),
        ({"spans": None}, "relations need spans"),
        ({"spans": [[0, 99, "x"]]}, "the text has 24 characters"),
    ],
)
def test_wrong_relations_are_refused_with_their_line(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said) as error:
        read(tmp_path, {**ROW, **change}, labels=["eases"])
    assert "rows.jsonl, line 1" in str(error.value)
    assert "ibuprofen" not in str(error.value)


RELATIONS = {"kind": "relations", "spans_from": "marks"}


def build(encoder: str, also: str | None = None) -> Network:
    source = load_encoder(encoder)
    source.encoder.pooler = None
    torch.manual_seed(0)
    tasks = {
        "marks": parse(Task, {"kind": "spans", "max_width": 2}),
        "links": parse(Task, RELATIONS),
    }
    targets = {
        "marks": tasks["marks"].target().fit([((0, 9, "drug"),)]),
        "links": FittedRelations(RelationsTarget(), ("eases",), (1,), threshold=0.0),  # every pair is given a label
    }
    if also is not None:
        tasks[also], targets[also] = tasks["links"], targets["links"]
    targets["marks"] = tasks["marks"].target().load({**targets["marks"].to_dict(), "threshold": 0.0})
    return Network(source.encoder, source.tokenizer, tasks, targets).eval()


def test_spans_that_are_not_given_come_from_the_task_that_finds_them(small_encoder: str) -> None:
    network = build(small_encoder)
    (found,) = weft.Model(network).predict(["fox dog"])
    assert {(one["start"], one["end"]) for one in found["marks"]} == {(0, 3), (0, 7), (4, 7)}
    pairs = {(one["head"]["text"], one["tail"]["text"]) for one in found["links"]}
    texts = ["fox", "dog", "fox dog"]
    assert pairs == {(head, tail) for head in texts for tail in texts if head != tail}
    (alone,) = weft.Model(network).predict(["fox dog"], "links")
    assert alone == found["links"]


def test_the_task_that_finds_spans_answers_about_its_own_text(small_encoder: str) -> None:
    network = build(small_encoder)
    rows = [
        {"marks": Input(("cat",)), "links": Input(("fox dog",))},
        {"marks": Input(("a b",)), "links": Input(("a",))},
    ]
    alone = [next(predict(network, [{"marks": row["marks"]}])) for row in rows]
    together = list(predict(network, rows))
    assert [one.predictions["marks"].gold for one in together] == [one.predictions["marks"].gold for one in alone]
    first, second = (one.predictions["links"].to_dict() for one in together)
    assert {one["head"]["text"] for one in first} == {"fox", "dog", "fox dog"}
    assert second == []


def test_two_tasks_about_spans_of_different_texts_ask_about_their_own(small_encoder: str) -> None:
    network = build(small_encoder, also="more")
    texts = {"links": "fox dog", "more": "the lazy cat"}
    (answer,) = predict(network, [{name: Input((text,)) for name, text in texts.items()}])
    for name, text in texts.items():
        (alone,) = predict(network, [{name: Input((text,))}])
        assert pairs_in(answer.predictions[name]) == pairs_in(alone.predictions[name]) != []
    (same,) = predict(network, [{name: Input(("fox dog",)) for name in ("marks", *texts)}])
    assert pairs_in(same.predictions["more"]) == pairs_in(answer.predictions["links"])


def pairs_in(prediction: Any) -> list[tuple[str, str]]:
    return [(one["head"]["text"], one["tail"]["text"]) for one in prediction.to_dict()]


def test_given_spans_are_asked_about_as_they_are(small_encoder: str) -> None:
    network = build(small_encoder)
    content = Input(("fox dog fox",), spans=((0, 3, "x"), (8, 11, "y")))
    (answer,) = predict(network, [{"links": content}])
    found = answer.predictions["links"].to_dict()
    assert [(one["head"]["start"], one["tail"]["start"]) for one in found] == [(0, 8), (8, 0)]
    (nothing,) = predict(network, [{"links": Input(("fox dog",), spans=())}])
    assert nothing.predictions["links"].to_dict() == []


def test_a_text_without_spans_and_without_a_task_that_finds_them_is_refused(small_encoder: str) -> None:
    network = build(small_encoder)
    network.tasks["links"] = network.tasks["links"].model_copy(update={"spans_from": None})
    with pytest.raises(DataError, match="asks about spans"):
        weft.Model(network).predict(["fox dog"], "links")
    assert list(weft.Model(network).predict(["fox dog"])[0]) == ["marks", "truncated", "empty"]
    wrong = {"links": parse(Task, {"kind": "relations", "spans_from": "urgency"})}
    faults = Faults()
    check_sources(wrong, faults)
    assert [str(fault) for fault in faults] == [
        "tasks.links.spans_from: 'urgency' does not mark spans; allowed: none here"
    ]


def test_who_is_head_and_who_is_tail_matters(small_encoder: str) -> None:
    network = build(small_encoder)
    content = Input(("fox dog",), spans=((0, 3, "x"), (4, 7, "x")))
    batch = network.collate("links", network.encode("links", [content]))
    reader = network.features["<links>"]
    assert isinstance(reader, RelationFeatures)
    one, other = reader(network.encoder(batch, network.conditioner))
    assert not torch.allclose(one, other)
    batch = network.collate("links", network.encode("links", [Input(("fox dog",), spans=content.spans[::-1])]))  # type: ignore[index]
    turned, back = reader(network.encoder(batch, network.conditioner))
    torch.testing.assert_close(torch.stack([back, turned]), torch.stack([one, other]))


def test_it_trains_from_a_file(small_encoder: str, tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "relations": [[0, 1, "aches"]]}, {**ROW, "relations": []}] * 8
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = {"kind": "relations", "train": "rows.jsonl", "dev": "rows.jsonl"}
    config = {"encoder": {"from": small_encoder}, "tasks": {"links": task}, "training": {"epochs": 1}}
    model = weft.train(config, tmp_path / "run", data=tmp_path, device="cpu", callback=Callback())
    assert set(model.evaluate({"links": tmp_path / "rows.jsonl"})["links"].measures.scores) >= {"f1", "precision"}
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert "lookup" in report["tasks"]["links"]["result"]["baselines"]
