"""The model that users hold: its tasks, vectors and answers, saved and loaded, and folders that are damaged."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft
from weft.data.records import Example
from weft.errors import CheckpointError, ConfigError, DataError
from weft.model.folder import load_network
from weft.model.inputs import read_inputs
from weft.model.network import Network
from weft.model.predict import passes_note
from weft.training.progress import Callback

TEXTS = ["the quick fox", "a lazy dog", "don't jump over the lazy brown dog", "fox"]
PHRASES = [(f"the {word} {animal}", animal) for word in ("quick", "lazy", "brown") for animal in ("fox", "dog")]
ROWS: list[dict[str, Any]] = [
    {
        "text": text,
        "animal": animal,
        "sentence1": text,
        "sentence2": PHRASES[number - 1][0],
        "score": number % 3,
        "spans": [[len(text) - 3, len(text), "animal"], *([[0, 3, "word"]] if number % 2 else [])],
    }
    for number, (text, animal) in enumerate(PHRASES)
]


def write_rows(folder: Path) -> Path:
    """`rows.jsonl`, with what three tasks read."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, small_encoder: str) -> weft.Model:
    """A model of a label, a score and spans, trained for an epoch with labels in its attention."""
    folder = write_rows(tmp_path_factory.mktemp("model"))
    files = {"train": "rows.jsonl", "dev": "rows.jsonl"}
    config = {
        "encoder": {"from": small_encoder},
        "conditioning": "label_attention",
        "tasks": {
            "marks": {"kind": "spans", "max_width": 3, "size": 8, **files},
            "animal": {"kind": "classification", "label": "animal", **files},
            "tags": {"kind": "tagging", "decoder": "greedy", **files},
            "alike": {"kind": "similarity", "output": "linear", **files},
        },
        "training": {"epochs": 1, "baselines": False},
    }
    return weft.train(config, folder / "out", data=folder, device="cpu", callback=Callback())


@pytest.fixture
def saved(model: weft.Model, tmp_path: Path) -> Path:
    """A folder of the model that a test may damage."""
    model.save(tmp_path / "saved")
    return tmp_path / "saved"


def answers(model: weft.Model) -> dict[str, Any]:
    """All answers and vectors for some texts."""
    return {
        "texts": model.predict(TEXTS, scores=True),
        "pairs": model.predict([(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[2])], task="alike"),
        "vectors": np.asarray(model.embed(TEXTS)).tolist(),
    }


def test_a_model_names_its_tasks_in_the_order_of_the_config(model: weft.Model) -> None:
    assert model.tasks == ["marks", "animal", "tags", "alike"]


def test_a_saved_model_answers_as_before_bit_for_bit(model: weft.Model, saved: Path) -> None:
    again = weft.load(saved, device="cpu")
    assert again.tasks == model.tasks
    assert answers(again) == answers(model)
    again.save(saved.with_name("twice"))
    assert (saved.with_name("twice") / "weft.json").read_bytes() == (saved / "weft.json").read_bytes()


def test_a_model_is_saved_neither_over_another_nor_beside_other_files(model: weft.Model, saved: Path) -> None:
    before = {path: path.read_bytes() for path in saved.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="saved exists already; save into a new folder, or remove it"):
        weft.load(saved, device="cpu").save(str(saved))
    assert {path: path.read_bytes() for path in saved.rglob("*") if path.is_file()} == before
    (empty := saved.with_name("empty")).mkdir()
    model.save(empty)
    assert answers(weft.load(empty, device="cpu")) == answers(model)


def test_a_loaded_model_keeps_what_was_learned_beside_the_weights(model: weft.Model, saved: Path) -> None:
    again = load_network(saved)
    assert again.targets == model.network.targets
    assert again.tasks == model.network.tasks
    assert again.conditioning == model.network.conditioning
    assert again.encoder.config == model.network.encoder.config
    assert not again.training
    assert all(parameter.requires_grad for parameter in again.parameters())


def test_embed_gives_vectors_of_the_trained_encoder_by_every_option(model: weft.Model, saved: Path) -> None:
    plain = weft.load_encoder(saved)
    np.testing.assert_array_equal(model.embed(TEXTS), plain.embed(TEXTS))
    np.testing.assert_array_equal(model.embed(TEXTS, pooling="cls"), plain.embed(TEXTS, pooling="cls"))
    words = model.embed(TEXTS, level="word", layers="last4", normalize=True)
    for one, other in zip(words, plain.embed(TEXTS, level="word", layers="last4", normalize=True), strict=True):
        np.testing.assert_array_equal(one.vectors, other.vectors)
        assert one.spans == other.spans


def test_embed_sees_no_conditioning(model: weft.Model) -> None:
    network = model.network
    with torch.inference_mode():
        batch = network.collate("animal", network.encode("animal", [Example((TEXTS[0],), "fox", 1)]))
        bare = network.encoder(batch).mean().numpy()
        led = network.encoder(batch, network.conditioner).mean().numpy()
    np.testing.assert_allclose(model.embed([TEXTS[0]]), bare, rtol=1e-5, atol=1e-6)
    assert np.abs(led - bare).max() > 1e-4


def test_a_model_is_in_evaluation_whatever_it_was_before(model: weft.Model) -> None:
    network: Network = model.network.train()
    assert not weft.Model(network).network.training


def test_predict_embed_and_evaluate_drop_nothing_out_even_where_training_was_left_on(model: weft.Model) -> None:
    before = answers(model)
    model.network.train()
    assert answers(model) == before
    model.network.train()
    rows = [{"text": row["text"], "animal": row["animal"]} for row in ROWS]
    first = model.evaluate({"animal": rows})["animal"].measures.scores
    model.network.train()
    assert model.evaluate({"animal": rows})["animal"].measures.scores == first


def test_evaluate_takes_a_file_or_rows_and_refuses_unknown_tasks(model: weft.Model, tmp_path: Path) -> None:
    file = write_rows(tmp_path) / "rows.jsonl"
    by_file, by_rows = (model.evaluate({"animal": rows})["animal"] for rows in (str(file), ROWS))
    assert by_file == by_rows
    given = [one["label"] for one in model.predict([row["text"] for row in ROWS], task="animal")]
    right = sum(one == row["animal"] for one, row in zip(given, ROWS, strict=True)) / len(ROWS)
    assert by_file.measures.scores["accuracy"] == pytest.approx(right)
    assert by_file.rows == len(ROWS)
    assert model.evaluate({"animal": [*ROWS, {"text": "a row without an answer"}]})["animal"] == by_file
    with pytest.raises(ConfigError, match="no task 'animl'; it has: marks, animal, tags, alike; did you mean 'animal'"):
        model.evaluate({"animl": ROWS})


def test_inspect_looks_at_the_layer_asked_for_and_else_at_the_last(model: weft.Model) -> None:
    assert model.inspect(TEXTS[0], task="animal").layer == 1
    assert model.inspect(TEXTS[0], task="animal", layer=0).layer == 0
    with pytest.raises(ConfigError, match="layer"):
        model.inspect(TEXTS[0], task="animal", layer=2)


def test_inspect_joins_heads_as_asked(model: weft.Model) -> None:
    mean, strongest = model.inspect(TEXTS[0], task="animal"), model.inspect(TEXTS[0], task="animal", heads="max")
    assert (mean.heads, strongest.heads) == ("mean", "max")
    assert mean.rows != strongest.rows


def test_models_and_encoders_choose_their_device_by_one_rule() -> None:
    defaults = [signature(load).parameters["device"].default for load in (weft.load, weft.load_encoder)]
    assert defaults == ["auto", "auto"]


def test_a_warning_about_cut_texts_names_the_line_that_embeds(model: weft.Model, saved: Path) -> None:
    for embed in (model.embed, weft.load_encoder(saved).embed):
        with pytest.warns(weft.TruncationWarning) as caught:
            embed(["the quick brown fox " * 20])
        assert [one.filename for one in caught] == [__file__]


def test_answers_come_in_the_order_of_the_tasks_whichever_share_a_pass(model: weft.Model) -> None:
    expected = ["marks", "animal", "tags", "truncated", "empty"]
    assert [list(answer) for answer in model.predict(TEXTS)] == [expected] * len(TEXTS)


def test_more_passes_than_one_are_said_with_their_reason(model: weft.Model) -> None:
    def note(*tasks: str) -> str | None:
        return passes_note(model.network, read_inputs(model.network, tasks, text="fox"))

    said = "since label_attention or how they read tells them apart"
    assert note("marks", "animal", "tags") == f"3 tasks need 2 passes of the encoder, {said}"
    assert note("marks", "tags") is None


def test_texts_and_pairs_cannot_be_mixed(model: weft.Model) -> None:
    for mixed in ([TEXTS[0], (TEXTS[0], TEXTS[1])], [(TEXTS[0], TEXTS[1]), TEXTS[0]]):
        with pytest.raises(DataError, match="received texts and pairs mixed"):
            model.predict(mixed)


# damaged folders


def damage(folder: Path, change: Any) -> None:
    document = json.loads((folder / "weft.json").read_text(encoding="utf-8"))
    change(document)
    (folder / "weft.json").write_text(json.dumps(document), encoding="utf-8")


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        weft.load(folder, device="cpu")
    with pytest.raises(CheckpointError) as by_encoder:
        weft.load_encoder(folder)
    assert str(by_encoder.value) == str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("key", ["encoder", "conditioning", "tasks", "targets"])
def test_a_key_that_is_missing_is_named(saved: Path, key: str) -> None:
    damage(saved, lambda document: document.pop(key))
    assert refusal(saved) == f"{saved / 'weft.json'} is not complete ('{key}'); copy the folder anew"


@pytest.mark.parametrize("number", [None, 0, 4, "1"])
def test_another_format_is_refused_with_the_one_that_is_read(saved: Path, number: Any) -> None:
    damage(saved, lambda document: document.pop("format") if number is None else document.update(format=number))
    assert (
        refusal(saved)
        == f"{saved / 'weft.json'} has format {number!r}, but this weft reads 1 to 3; a newer weft may have written it"
    )


@pytest.mark.parametrize("part", ["tasks", "targets"])
@pytest.mark.parametrize("task", ["marks", "animal", "alike"])
def test_a_task_without_its_target_or_a_target_without_its_task_is_named(saved: Path, part: str, task: str) -> None:
    damage(saved, lambda document: document[part].pop(task))
    said = refusal(saved)
    assert said.startswith(f"{saved / 'weft.json'} is not complete (")
    assert task in said


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["encoder"].update(surprise=1),
        lambda document: document["encoder"].update(hidden_act="unheard of"),
        lambda document: document["targets"]["animal"].update(surprise=1),
        lambda document: document["targets"]["animal"].pop("labels"),
        lambda document: document.update(tasks=[]),
        lambda document: document.update(targets=None),
        lambda document: document.update(encoder="minilm"),
    ],
)
def test_what_weft_did_not_write_is_refused(saved: Path, change: Any) -> None:
    damage(saved, change)
    assert refusal(saved).startswith(f"{saved / 'weft.json'} is not complete (")


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"text"', "\xff"])
def test_a_document_that_is_no_table_is_refused(saved: Path, content: str) -> None:
    (saved / "weft.json").write_bytes(content.encode("latin-1"))
    assert str(saved / "weft.json") in refusal(saved)


def test_weights_that_do_not_belong_to_the_document_are_named(saved: Path) -> None:
    damage(saved, lambda document: document["tasks"]["marks"].update(size=9))
    said = refusal(saved)
    assert said.startswith(
        f"{saved / 'model.safetensors'} and weft.json do not belong together: missing [], surplus []"
    )
    assert "<marks>" in said


@pytest.mark.parametrize(("layers", "said"), [(3, "missing ['encoder.blocks.2."), (1, "surplus ['encoder.blocks.1.")])
def test_layers_that_are_missing_or_left_over_are_named(saved: Path, layers: int, said: str) -> None:
    damage(saved, lambda document: document["encoder"].update(num_hidden_layers=layers))
    assert said in refusal(saved)


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_a_file_that_is_missing_is_named(saved: Path, file: str) -> None:
    (saved / file).unlink()
    assert file.split(".")[0] in refusal(saved)


def test_an_encoder_is_told_from_a_folder_that_is_not_there(tiny_folder: Path) -> None:
    for encoder in ("minilm", tiny_folder):
        with pytest.raises(CheckpointError, match="is an encoder, which has no tasks; name a folder"):
            weft.load(encoder)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path, saved: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        weft.load(tmp_path / "nowhere")
    assert str(caught.value) == f"{tmp_path / 'nowhere'} does not exist; name a folder that `weft train` wrote"
    (saved / "weft.json").unlink()
    with pytest.raises(CheckpointError) as caught:
        weft.load(saved)
    assert str(caught.value) == f"{saved} is no weft model (it has no weft.json); name a folder that `weft train` wrote"


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["tasks"]["animal"].update(kind="unheard of"),
        lambda document: document["tasks"]["animal"].update(surprise=1),
        lambda document: document.update(conditioning={"kind": "unheard of"}),
    ],
    ids=["kind", "option", "method"],
)
def test_what_this_weft_does_not_know_asks_for_the_plugin_or_version_the_model_was_made_with(
    saved: Path, change: Any
) -> None:
    damage(saved, change)
    said = refusal(saved)
    assert said.startswith(f"{saved / 'weft.json'} holds what this weft does not know (")
    assert said.endswith("install the plugin, or the version of weft, that the model was made with")
