"""Relations between spans: how they are read, and where spans come from when a text has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import weft
from weft.data.records import Input
from weft.errors import ConfigError, DataError
from weft.layers.relations import RelationFeatures, places
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


def place(head: tuple[int, int], tail: tuple[int, int], distances: int = 8) -> int:
    """Where the tail is, for spans of words given by their first and last."""
    one, other = ((torch.tensor([first]), torch.tensor([last])) for first, last in (head, tail))
    return int(places(one, other, distances)[0])


@pytest.mark.parametrize(
    ("between", "step"),
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (7, 4), (8, 5), (15, 5), (16, 6), (31, 6), (32, 7), (999, 7)],
)
def test_distances_are_told_apart_the_finer_the_nearer_and_on_either_side(between: int, step: int) -> None:
    head, after, before = (1000, 1001), (1002 + between, 1003 + between), (0, 999 - between)
    assert place(head, after) == 3 + step
    assert place(head, before) == 3 + 8 + step
    assert place(head, after, 3) == 3 + min(step, 2)
    assert place(head, before, 1) == 4


def test_spans_that_share_words_have_no_distance_but_a_place() -> None:
    assert place((2, 5), (3, 4)) == place((2, 5), (2, 4)) == place((2, 5), (5, 5)) == 0
    assert place((3, 4), (2, 5)) == place((2, 4), (2, 5)) == place((5, 5), (2, 5)) == 1
    assert place((2, 4), (3, 5)) == place((3, 5), (2, 4)) == place((2, 4), (2, 4)) == 2


def test_the_places_of_all_pairs_are_found_at_once_and_none_is_beyond_the_table() -> None:
    spans = torch.tensor([(first, last) for first in range(40) for last in range(first, min(first + 4, 40))])
    head, tail = (side.flatten() for side in torch.meshgrid(*[torch.arange(len(spans))] * 2, indexing="ij"))
    first, last = spans.T
    found = places((first[head], last[head]), (first[tail], last[tail]), 5)
    assert found.unique().tolist() == list(range(3 + 2 * 5))
    assert found[:1000].tolist() == [
        place(tuple(spans[one].tolist()), tuple(spans[other].tolist()), 5)
        for one, other in zip(head[:1000], tail[:1000], strict=True)
    ]
    none = torch.zeros(0).long()
    assert places((none, none), (none, none), 5).tolist() == []


def test_the_distance_is_that_between_words_of_the_own_text(small_encoder: str) -> None:
    """Not of the batch's, in which texts follow each other."""
    network = build(small_encoder)
    reader = network.features["<links>"]
    assert isinstance(reader, RelationFeatures)
    assert reader.places is not None
    seen = []
    reader.places.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].tolist()))
    near = Input(("fox dog",), spans=((0, 3, "x"), (4, 7, "x")))
    far = Input(("fox a a a a a dog",), spans=((14, 17, "x"), (0, 3, "x")))
    batch = network.collate("links", network.encode("links", [near, far, near]))
    reader(network.encoder(batch, network.conditioner))
    assert seen == [[3, 11, 3 + 8 + 4, 3 + 4, 3, 11]]


def test_distances_may_be_left_out_and_must_be_few(small_encoder: str) -> None:
    assert parse(Task, {"kind": "relations", "distance": 0}).build_features(8).places is None  # type: ignore[union-attr]
    assert len(parse(Task, {"kind": "relations"}).build_features(8).places.weight) == 3 + 2 * 8  # type: ignore[union-attr]
    for wrong in (-1, 17, "near"):
        with pytest.raises(ConfigError, match="distance"):
            parse(Task, {"kind": "relations", "distance": wrong})


def test_it_trains_from_a_file(small_encoder: str, tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "relations": [[0, 1, "aches"]]}, {**ROW, "relations": []}] * 8
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = {"kind": "relations", "train": "rows.jsonl", "dev": "rows.jsonl"}
    config = {"encoder": {"from": small_encoder}, "tasks": {"links": task}, "training": {"epochs": 1}}
    model = weft.train(config, tmp_path / "run", data=tmp_path, device="cpu", callback=Callback())
    assert set(model.evaluate({"links": tmp_path / "rows.jsonl"})["links"].measures.scores) >= {"f1", "precision"}
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert "lookup" in report["tasks"]["links"]["result"]["baselines"]
