"""Phases that contrast rows, fit heads, go only a part of the way, and count steps: update by update."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight
from torch import Tensor, nn

from recorder import HEAD, TEXTS, Place, Recorder, Update, at_weights, gradients_of, interrupt_after, make_place
from weft.checkpoints import state as states
from weft.checkpoints.hf import read_encoder
from weft.checkpoints.safetensors import digest
from weft.data.records import Example
from weft.losses.supervised_contrastive import SupervisedContrastive
from weft.model.zero_shot import features_of
from weft.tensors import Batch, pack
from weft.tokenization.tokenizer import Tokenizer
from weft.training import fit as fitting
from weft.training import task_batches
from weft.training.dev_rows import BestWeights
from weft.training.interrupt import Interrupted

CONTRAST = {"loss": "supervised_contrastive"}
FIT = {"fit": "logistic"}
SHARED = {**HEAD, "share": "one"}
PLAIN = {"lr_scheduler_type": "constant", "warmup_ratio": 0.0, "max_grad_norm": 0.0}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    """Without dropout, so that every gradient can be computed a second time."""
    return make_place(tmp_path_factory.mktemp("phases"), tiny_tokenizers["wordpiece"], 0.0)


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    """With dropout."""
    return make_place(tmp_path_factory.mktemp("dropping"), tiny_tokenizers["wordpiece"], 0.2)


def weights_of(recorder: Recorder) -> dict[str, Tensor]:
    """The weights of now."""
    return {name: parameter.detach().clone() for name, parameter in recorder.network.named_parameters()}


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if not torch.equal(before[name], after[name])}


def labels_of(update: Update) -> list[Counter[int]]:
    """How many rows of each label every batch has."""
    return [Counter(batch.gold.tolist()) for batch in update.batches if batch.gold is not None]


def tokens_of(batch: Batch) -> list[list[int]]:
    """The tokens of each row."""
    places = zip(batch.row_offsets.tolist(), batch.lengths.tolist(), strict=True)
    return [batch.ids[start : start + length].tolist() for start, length in places]


def tag(word: str) -> str:
    return "animal" if word in ("fox", "dog") else "article" if word == "the" else "other"


def tags(place: Place, **options: Any) -> dict[str, Any]:
    """A task of words."""
    lines = [{"tokens": words, "tags": list(map(tag, words))} for words in map(str.split, TEXTS[:9])]
    (place.folder / "tags.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return {"kind": "tagging", "scheme": "plain", "train": "tags.jsonl", "dev": "tags.jsonl", "head": HEAD, **options}


def alike(place: Place) -> dict[str, Any]:
    """A task of pairs with a score, which has no labels."""
    lines = [
        {"sentence1": one, "sentence2": other, "score": number % 3}
        for number, (one, other) in enumerate(zip(TEXTS[:6], TEXTS[6:], strict=True))
    ]
    (place.folder / "alike.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return {"kind": "similarity", "output": "linear", "train": "alike.jsonl", "dev": "alike.jsonl", "head": HEAD}


# Heads fitted


def regression(vectors: list[Tensor], gold: list[Tensor], balanced: bool = True) -> tuple[Tensor, Tensor]:
    """Weights and bias of a logistic regression, for features as they are; labels count alike if balanced."""
    x, y = (torch.cat(part).double().numpy() for part in (vectors, gold))
    centre = x.mean(0)
    scale = np.sqrt(((x - centre) ** 2).sum(1).mean())
    count = np.concatenate([compute_sample_weight("balanced" if balanced else None, part.numpy()) for part in gold])
    other = LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000).fit((x - centre) / scale, y, count)
    weight = other.coef_ / scale
    return torch.tensor(weight), torch.tensor(other.intercept_ - weight @ centre)


def assert_fitted(
    recorder: Recorder, head: str, vectors: list[Tensor], gold: list[Tensor], balanced: bool = True
) -> None:
    layer = recorder.network.heads[head][1]
    weight, bias = regression(vectors, gold, balanced)
    torch.testing.assert_close(layer.weight.detach().double(), weight, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(layer.bias.detach().double(), bias, rtol=1e-3, atol=1e-3)


def read(place: Place, tokenizer: Tokenizer, count: int) -> Tensor:
    """The mean states of the first texts by the encoder as it was loaded, scaled to a mean square of 1."""
    encoder = read_encoder(place.folder / "encoder")[0].eval()
    rows = tokenizer.encode(TEXTS[:count], max_length=24)
    with torch.inference_mode():
        means = torch.stack([encoder(pack([row.ids])).tokens.mean(0) for row in rows])
    return means / means.square().mean(1, keepdim=True).sqrt()


def test_a_head_is_fitted_to_what_it_reads_of_all_training_rows(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    seen = place.learn({"a": place.task("three", 11, "012")}, "fitted", phases=[FIT])
    vectors = read(place, tiny_tokenizers["wordpiece"], 11)
    assert_fitted(seen, "<a>", [vectors], [torch.arange(11) % 3])
    assert seen.updates == []
    assert (seen.began, seen.steps) == ([(0, 0)], [])
    assert [(entry["step"], entry["phase"], entry["epoch"]) for entry in seen.entries] == [(0, 0, 1)]


@pytest.mark.parametrize("tokens", [8192, 12, 1])
def test_a_head_is_fitted_to_all_rows_however_many_batches_they_are_read_in(
    place: Place, tiny_tokenizers: dict[str, Tokenizer], tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_batches, "_TOKENS", tokens)
    seen = place.learn({"a": place.task("three", 11, "012")}, f"read-by-{tokens}", phases=[FIT])
    assert_fitted(seen, "<a>", [read(place, tiny_tokenizers["wordpiece"], 11)], [torch.arange(11) % 3])


def test_of_more_rows_than_there_is_room_for_only_some_are_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come one by one, those of a length together, and the seventh is one too many: it is the last."""
    monkeypatch.setattr(task_batches, "_TOKENS", 1)
    monkeypatch.setattr(fitting, "MOST_READ", 6 * 16)
    read_by: list[int] = []
    real = fitting.fit_layer
    monkeypatch.setattr(fitting, "fit_layer", lambda layer, rows, *more: [read_by.append(len(rows[0].gold)),
                                                                          real(layer, rows, *more)])  # fmt: skip
    place.learn({"a": place.task("three", 11, "abc")}, "room-for-some", phases=[FIT])
    assert read_by == [7]


def test_a_head_that_tasks_share_is_fitted_to_the_rows_of_all_of_them(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    tasks = {"a": place.task("long", 12, "abc", head=SHARED), "b": place.task("short", 7, "cab", head=SHARED)}
    vectors = read(place, tiny_tokenizers["wordpiece"], 12)
    own, other = torch.arange(12) % 3, (torch.arange(7) + 2) % 3
    seen = place.learn(tasks, "both", phases=[FIT])
    assert_fitted(seen, "<one>", [vectors, vectors[:7]], [own, other])
    seen = place.learn(tasks, "one-of-them", phases=[{**FIT, "tasks": ["b"]}])
    assert_fitted(seen, "<one>", [vectors[:7]], [other])


def test_heads_begin_with_what_the_words_of_labels_tell(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a phase says no; numbers tell nothing, and a head that tasks share has no labels of its own."""
    known: list[Tensor | None] = []
    real = fitting.fit_layer

    def fit_layer(layer: nn.Linear, rows: Any, along: Tensor | None, words: Tensor | None) -> None:
        known.append(words)
        real(layer, rows, along, words)

    monkeypatch.setattr(fitting, "fit_layer", fit_layer)
    named = {"fox": "the quick fox", "dog": "a lazy dog"}
    task = place.task("word", 8, ("fox", "dog"))  # type: ignore[arg-type]
    seen = place.learn({"a": task}, "named", phases=[FIT])
    described = place.learn({"a": {**task, "labels": named}}, "described", phases=[FIT])
    place.learn({"a": place.task("three", 8, "012")}, "numbers", phases=[FIT])
    place.learn({name: place.task(name, 8, "ab", head=SHARED) for name in "ab"}, "shared", phases=[FIT])
    place.learn({"a": task}, "without", phases=[{**FIT, "words": False}])
    assert [words is None for words in known] == [False, False, True, True, True]
    for run, texts, words in ((seen, ["dog", "fox"], known[0]), (described, list(named.values()), known[1])):
        assert words is not None
        tokenized = run.network.encode("a", [Example((text,), None, 0) for text in texts], None)
        read_of = features_of(run.network, "a", tokenized).double()
        apart = read_of[0] - read_of[1]  # of two, the mean lies in the middle
        torch.testing.assert_close(words, torch.stack([apart, -apart]) / apart.norm(), rtol=1e-4, atol=1e-5)


def test_the_head_of_tags_is_fitted_to_every_part_of_every_word(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    tokenizer, encoder = tiny_tokenizers["wordpiece"], read_encoder(place.folder / "encoder")[0].eval()
    vectors, gold = [], []
    for text in TEXTS[:9]:
        (row,) = tokenizer.encode([text], max_length=24)
        with torch.inference_mode():
            vectors.append(encoder(pack([row.ids])).tokens[1:-1])  # without the marks of the row
        for word in text.split():
            parts = len(tokenizer.encode([word], max_length=24)[0].ids) - 2
            gold += [sorted({"animal", "article", "other"}).index(tag(word))] * parts
    seen = place.learn({"t": tags(place)}, "tagged", phases=[FIT])
    assert_fitted(seen, "<t>", vectors, [torch.tensor(gold)], balanced=False)


def test_a_fit_phase_changes_nothing_but_the_heads_of_its_tasks(dropping: Place) -> None:
    tasks = {name: dropping.task(name, 8, "aab") for name in "ab"} | {"t": tags(dropping, decoder="crf")}
    phases = [{"steps": 1}, {**FIT, "tasks": ["a", "t"]}]
    seen = dropping.learn(tasks, "only-heads", phases=phases, conditioning="task_input")
    heads = {f"heads.<{name}>.1.{part}" for name in "at" for part in ("weight", "bias")}
    assert changed(seen.updates[-1].after, weights_of(seen)) == heads
    again = dropping.learn(tasks, "once-more", phases=[*phases, phases[-1]], conditioning="task_input")
    assert not changed(weights_of(seen), weights_of(again))


def test_chance_and_rows_go_on_after_a_fit_as_if_there_had_been_none(dropping: Place) -> None:
    tasks = {"a": dropping.task("a", 8)}
    plain = dropping.learn(tasks, "without-fit", phases=[{}, {}])
    fitted = dropping.learn(tasks, "with-fit", phases=[{}, {**FIT, "max_length": 5}, {}])
    for one, other in zip(plain.updates, fitted.updates, strict=True):
        assert [batch.ids.tolist() for batch in one.batches] == [batch.ids.tolist() for batch in other.batches]
    assert plain.updates[4].before.keys() == fitted.updates[4].before.keys()
    heads = changed(plain.updates[4].before, fitted.updates[4].before)
    assert heads == {"heads.<a>.1.weight", "heads.<a>.1.bias"}
    assert all(all(update.modes) for update in fitted.updates)


# What the encoder knew before


def test_the_probe_is_a_logistic_regression_on_the_encoder_as_it_was_loaded(
    dropping: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    """Whatever head, pooling and conditioning the task itself has, and however much it learns."""
    test = dropping.rows("probed.jsonl", [(text, "abc"[i % 3]) for i, text in enumerate(TEXTS)])
    own = {"head": {"kind": "mlp"}, "pooling": "cls", "test": test}
    tasks = {"a": dropping.task("some", 8, "abc", **own), "t": tags(dropping)}
    training = {"baselines": True, "learning_rate": 1e-2, "epochs": 3}
    dropping.train(tasks, "probed", training=training, conditioning="task_input")
    baselines = dropping.report("probed")["tasks"]["a"]["result"]["baselines"]
    vectors = read(dropping, tiny_tokenizers["wordpiece"], 12)
    weight, bias = regression([vectors[:8]], [torch.arange(8) % 3])
    said = (vectors.double() @ weight.T + bias).argmax(1)
    assert baselines["probe"]["accuracy"] == pytest.approx(float((said == torch.arange(12) % 3).double().mean()))
    assert "probe" in dropping.report("probed")["tasks"]["t"]["result"]["baselines"]


@pytest.mark.parametrize("loss", ["mse", "pearson"])
@pytest.mark.parametrize("output", ["sigmoid", "cosine", "linear"])
def test_the_probe_of_a_score_is_linear_whatever_the_task_makes_of_it(dropping: Place, output: str, loss: str) -> None:
    task = alike(dropping)
    own = {} if output == "cosine" else {"head": HEAD}
    options = {"train": task["train"], "test": task["dev"], "output": output, "loss": loss}
    tasks = {"near": {"kind": "similarity", **options, **own}, "plain": {**task, "test": task["dev"]}}
    dropping.train(tasks, f"score-{output}-{loss}", training={"baselines": True})
    found = dropping.report(f"score-{output}-{loss}")["tasks"]
    probe, plain = (found[name]["result"]["baselines"]["probe"] for name in ("near", "plain"))
    assert probe == pytest.approx(plain, abs=1e-6)
    assert probe["pearson"] > 0.1


@pytest.mark.parametrize("output", ["sigmoid", "linear"])
def test_a_head_that_learns_by_correlation_is_fitted_by_squares_and_answers_not_all_alike(
    dropping: Place, output: str
) -> None:
    """A correlation has no gradient where all scores are the same, as they are where weights begin at zero."""
    task = {**alike(dropping), "output": output, "loss": "pearson"}
    dropping.train({"near": task}, f"fitted-{output}", phases=[{"fit": "logistic"}])
    scores = dropping.report(f"fitted-{output}")["tasks"]["near"]["result"]["measures"]["scores"]
    assert scores["pearson"] > 0.1


def test_looking_at_what_the_encoder_knew_before_changes_no_run(dropping: Place) -> None:
    tasks = {"a": dropping.task("a", 9, "abb")}
    for asked in (True, False):
        dropping.train(tasks, f"looked-{asked}", training={"baselines": asked, "epochs": 2}, conditioning="task_input")
    assert digest(dropping.weights("looked-True")) == digest(dropping.weights("looked-False"))
    probed, plain = (dropping.report(f"looked-{asked}") for asked in (True, False))
    assert probed["loss_history"] == plain["loss_history"]
    assert plain["tasks"]["a"]["result"]["baselines"] == {}


# Contrastive phases


def contrast_loss(recorder: Recorder, update: Update, batch: Batch, **options: Any) -> tuple[Any, Tensor]:
    """The network of that moment, and the loss of what the head of a batch's task would read."""
    network = at_weights(recorder, update.before)
    states_ = network.encoder(batch, network.conditioner)
    means = torch.stack([states_.row(row).mean(0) for row in range(batch.rows)])
    assert batch.gold is not None
    return network, SupervisedContrastive(**options).build()(means, batch.gold)


@pytest.mark.parametrize("conditioning", ["none", "task_input"])
def test_a_contrastive_phase_learns_by_the_loss_of_what_heads_read_and_leaves_heads_as_they_are(
    place: Place, conditioning: str
) -> None:
    tasks = {"a": place.task("a", 9, "abb", weight=3.0), "b": place.task("b", 8, "ab")}
    loss_ = {"kind": "supervised_contrastive", "temperature": 0.5}
    phase = {"loss": loss_, "steps": 3, "batch_size": 5}
    output = f"contrasted-{conditioning}"
    seen = place.learn(tasks, output, phases=[phase], training=PLAIN, conditioning=conditioning)
    assert [update.tasks for update in seen.updates] == [["a"], ["b"]] * 3
    for update, (_, _, told, _) in zip(seen.updates, seen.steps, strict=True):
        (batch,) = update.batches
        network, loss = contrast_loss(seen, update, batch, temperature=0.5)
        assert told == pytest.approx(loss.item(), rel=1e-4)
        expected = gradients_of(network, loss * (3.0 if batch.task == "a" else 1.0))
        assert update.gradients.keys() == expected.keys()
        assert not [name for name in expected if name.startswith("heads.")]
        for name, gradient in expected.items():
            torch.testing.assert_close(update.gradients[name], gradient, rtol=1e-3, atol=1e-5)
    moved = changed(seen.updates[0].before, weights_of(seen))
    assert not [name for name in moved if name.startswith("heads.")]
    assert [name for name in moved if name.startswith("encoder.")]
    assert seen.entries == []  # heads have not learned what dev rows ask for


def test_the_loss_of_labels_of_label_attention_is_left_out_of_a_contrastive_phase(place: Place) -> None:
    phase = {**CONTRAST, "steps": 1, "batch_size": 8}
    results = []
    for weight in (0.5, 50.0):
        conditioning = {"kind": "label_attention", "weight": weight}
        output = f"labels-left-out-{weight}"
        seen = place.learn({"a": place.task("a")}, output, phases=[phase], training=PLAIN, conditioning=conditioning)
        results.append(seen.updates[0].gradients)
    assert results[0].keys() == results[1].keys()
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])


def test_batches_of_a_contrastive_phase_hold_several_rows_of_each_label_and_no_longer_ones(place: Place) -> None:
    """Ten rows of one label and two of the other, of which every batch has both."""
    tasks = {"a": place.task("uneven", 12, "aaaaab")}
    phase = {**CONTRAST, "steps": 6, "batch_size": 4, "max_length": 4}
    seen = place.learn(tasks, "balanced", phases=[phase, {}])
    contrasted, plain = seen.updates[:6], seen.updates[6:]
    assert [labels_of(update) for update in contrasted] == [[{0: 2, 1: 2}]] * 6
    assert len({tuple(update.batches[0].ids.tolist()) for update in contrasted}) > 1
    assert max(int(update.batches[0].lengths.max()) for update in contrasted) == 4
    assert max(int(update.batches[0].lengths.max()) for update in plain) > 4
    assert {batch.rows for update in plain for batch in update.batches} == {2}


def test_a_phase_reads_no_more_of_a_row_than_its_task(place: Place) -> None:
    tasks = {"a": place.task("short", 8, max_length=4)}
    seen = place.learn(tasks, "no-more", phases=[{**CONTRAST, "steps": 1, "batch_size": 8, "max_length": 20}])
    assert int(seen.updates[0].batches[0].lengths.max()) == 4


@pytest.mark.parametrize(
    ("limits", "rows"), [({}, 2), ({"batch_size": 6}, 6), ({"batch_tokens": 30}, None), ({"batch_size": 99}, 12)]
)
def test_a_phase_may_have_batches_of_its_own(place: Place, limits: dict[str, int], rows: int | None) -> None:
    """The run's have two rows; a limit of tokens alone leaves that of rows out."""
    seen = place.learn({"a": place.task("a", 12)}, f"limits-{limits}", phases=[{**limits, "steps": 2}])
    batches = [batch for update in seen.updates for batch in update.batches]
    if rows is not None:
        assert {batch.rows for batch in batches} == {rows}
    else:
        assert all(len(batch.ids) <= 30 and batch.rows > 2 for batch in batches)


def test_tasks_that_a_contrastive_loss_does_not_suit_learn_by_their_own_in_plain_batches(place: Place) -> None:
    tasks = {"a": place.task("a", 8), "near": alike(place), "t": tags(place)}
    seen = place.learn(tasks, "mixed", phases=[{**CONTRAST, "steps": 2, "batch_size": 4}], training=PLAIN)
    for update in seen.updates:
        (batch,) = update.batches
        own = [name for name in update.gradients if name.startswith("heads.")]
        if batch.task == "a":
            assert own == []
            assert labels_of(update) == [{0: 2, 1: 2}]
        else:
            assert own == [f"heads.<{batch.task}>.1.weight", f"heads.<{batch.task}>.1.bias"]
    assert Counter(seen.tasks) == {"a": 2, "near": 2, "t": 2}


def test_a_row_of_several_labels_may_stand_for_each_of_them(place: Place) -> None:
    lines = [{"text": text, "label": ["x"] * (i % 2) + ["y"] * (i % 3 == 0)} for i, text in enumerate(TEXTS)]
    (place.folder / "many.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    task = {"kind": "classification", "multilabel": True, "train": "many.jsonl", "dev": "many.jsonl", "head": HEAD}
    seen = place.learn({"m": task}, "several", phases=[{**CONTRAST, "steps": 3, "batch_size": 6}, FIT], training=PLAIN)
    assert len(seen.updates) == 3
    for update, (_, _, told, _) in zip(seen.updates, seen.steps, strict=True):
        (batch,) = update.batches
        assert batch.gold is not None
        assert batch.rows == 6
        assert batch.gold.sum(0).min() >= 1
        _, loss = contrast_loss(seen, update, batch)
        assert told == pytest.approx(loss.item(), rel=1e-4)


def test_the_words_of_labels_are_rows_of_their_own_where_the_loss_asks_for_anchors(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    file = place.rows("named.jsonl", [(text, ("quick_fox", "lazy dog")[i % 2]) for i, text in enumerate(TEXTS[:6])])
    task = {"kind": "classification", "train": file, "dev": file, "head": HEAD}
    texts = ["quick fox", "lazy dog"]
    encoded = tiny_tokenizers["wordpiece"].encode(texts, max_length=24)
    words = {tuple(row.ids): text for row, text in zip(encoded, texts, strict=True)}
    found: dict[bool, set[str]] = {}
    for anchors in (True, False):
        loss = {"kind": "supervised_contrastive", "anchors": anchors}
        phases = [{"loss": loss, "steps": 1, "batch_size": 8}, FIT]
        seen = place.train({"a": task}, f"anchors-{anchors}", phases=phases)
        (batch,) = seen.updates[0].batches
        rows = [tuple(row) for row in tokens_of(batch)]
        found[anchors] = {words[row] for row in rows if row in words}
        assert batch.rows == 6 + 2 * anchors
        labels = seen.network.targets["a"].labels
        for row, label in zip(rows, batch.gold.tolist(), strict=True):  # type: ignore[union-attr]
            if row in words:
                assert labels[label].replace("_", " ") == words[row]
        assert place.report(f"anchors-{anchors}")["tasks"]["a"]["rows"]["train"] == 6
        assert place.report(f"anchors-{anchors}")["rows"] == 6
    assert found == {True: {"quick fox", "lazy dog"}, False: set()}


# A part of the way


@pytest.mark.parametrize("phase", [{"epochs": 2}, {**CONTRAST, "steps": 4, "batch_size": 4}], ids=["plain", "contrast"])
def test_an_interpolated_phase_ends_between_where_it_began_and_where_it_ended_but_for_heads(
    place: Place, phase: dict[str, Any]
) -> None:
    phases = [{"steps": 1}, {**phase, "interpolate": 0.25, "train_layers": 1}]
    output = f"part-{len(phase)}"
    seen = place.learn({"a": place.task("a")}, output, phases=phases, conditioning="task_input")
    begin, end, final = seen.updates[1].before, seen.updates[-1].after, weights_of(seen)
    for one, following in pairwise(seen.updates):  # all of the way until the end
        assert not changed(one.after, following.before)
    moved = changed(begin, end)
    assert {"encoder.blocks.1.widen.weight"} <= moved
    assert any(name.startswith("conditioner.") for name in moved)
    assert not [name for name in moved if "blocks.0" in name or "embeddings" in name]
    for name in final:
        if name.startswith("heads."):
            assert torch.equal(final[name], end[name])
        else:
            torch.testing.assert_close(final[name], begin[name] + 0.25 * (end[name] - begin[name]))
    if "epochs" in phase:
        assert "heads.<a>.1.weight" in moved


def test_the_weights_between_are_those_that_are_measured_and_kept(place: Place) -> None:
    seen = place.train({"a": place.task("a", 12, "aab")}, "kept-between", phases=[{"interpolate": 0.5}])
    begin, end, kept = seen.updates[0].before, seen.updates[-1].after, place.weights("kept-between")
    for name in begin:
        half = end[name] if name.startswith("heads.") else (begin[name] + end[name]) / 2
        torch.testing.assert_close(kept[name], half)
    assert changed(begin, end) >= {"encoder.embeddings.words.weight"}


def test_a_phase_that_goes_only_a_part_of_the_way_is_not_stopped_early(place: Place) -> None:
    training = {"learning_rate": 1e-12, "early_stopping_patience": 1, "epochs": 4}
    tasks = {"a": place.task("a", 4)}
    part = place.learn(tasks, "not-early", training=training, phases=[{"interpolate": 0.5}])
    whole = place.learn(tasks, "early", training=training, phases=[{}])
    assert (len(part.entries), len(whole.entries)) == (4, 2)


# The average of the weights

AVERAGED = {"ema_decay": 0.3, "lr_scheduler_type": "constant"}


def average(updates: Sequence[Update], decay: float) -> dict[str, Tensor]:
    """The running average of weights after some updates, which keeps less of the past in the first ones."""
    found = dict(updates[0].before)
    for number, update in enumerate(updates, 1):
        kept = min(decay, number / (number + 9))
        found = {name: kept * tensor + (1 - kept) * update.after[name] for name, tensor in found.items()}
    return found


def assert_close(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, msg=name)


def test_a_phase_ends_with_the_average_of_its_weights_and_the_next_goes_on_from_there(place: Place) -> None:
    training = {**AVERAGED, "learning_rate": 1e-2}
    seen = place.learn({"a": place.task("a", 12)}, "ema", training=training, phases=[{"epochs": 3}, {"steps": 2}])
    first, second = (
        [u for u in seen.updates if u.optimizer == number]
        for number in dict.fromkeys(u.optimizer for u in seen.updates)
    )
    for phase in (first, second):
        for one, following in pairwise(phase):  # what learns is not averaged meanwhile
            assert not changed(one.after, following.before)
    assert_close(second[0].before, average(first, 0.3))
    assert_close(weights_of(seen), average(second, 0.3))  # which begins anew
    assert changed(first[-1].after, second[0].before) >= {"encoder.embeddings.words.weight", "heads.<a>.1.weight"}


def test_the_average_of_the_weights_is_what_is_measured_and_kept(place: Place) -> None:
    training = {**AVERAGED, "learning_rate": 1e-2, "epochs": 3, "choose_from": 1}
    tasks = {"a": place.task("a", 12, "aab")}
    seen = place.train(tasks, "ema-kept", training=training)
    best = place.report("ema-kept")["best"]["overall"]["step"]
    expected = average(seen.updates[:best], 0.3)
    assert_close(place.weights("ema-kept"), expected)
    assert changed(seen.updates[best - 1].after, expected)


def test_an_average_that_goes_only_a_part_of_the_way(place: Place) -> None:
    training = {**AVERAGED, "learning_rate": 1e-2}
    seen = place.learn(
        {"a": place.task("a", 8)}, "ema-part", training=training, phases=[{"epochs": 2, "interpolate": 0.5}]
    )
    whole, begin = average(seen.updates, 0.3), seen.updates[0].before
    half = {name: t if name.startswith("heads.") else (t + begin[name]) / 2 for name, t in whole.items()}
    assert_close(weights_of(seen), half)


def test_a_phase_that_is_stopped_early_hands_on_the_average(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BestWeights, "value", lambda self, entry: 0.5)  # never a gain
    training = {**AVERAGED, "learning_rate": 1e-2, "early_stopping_patience": 1}
    phases = [{"epochs": 4}, {"epochs": 1}]
    seen = place.learn({"a": place.task("a", 4)}, "ema-early", training=training, phases=phases)
    first = [update for update in seen.updates if update.optimizer == seen.updates[0].optimizer]
    assert len(seen.entries) == 3
    assert_close(seen.updates[len(first)].before, average(first, 0.3))
    assert changed(seen.updates[len(first)].before, first[-1].after)


# Layers, steps and rows


def test_all_blocks_learn_and_the_embeddings_do_not(place: Place) -> None:
    for output, sections in {
        "blocks-of-a-phase": {"phases": [{"train_layers": "blocks"}]},
        "blocks-of-all": {"encoder": {"train_layers": "blocks"}},
    }.items():
        seen = place.learn({"a": place.task("a", 4)}, output, **sections)
        moved = changed(seen.updates[0].before, weights_of(seen))
        assert not [name for name in moved | seen.updates[0].rates.keys() if "embeddings" in name]
        encoder = {name for name in seen.updates[0].before if name.startswith("encoder.")}
        expected = {name for name in encoder if "embeddings" not in name}
        assert {name for name in seen.updates[0].rates if name.startswith("encoder.")} == expected
        assert {name.split(".")[2] for name in moved if "blocks" in name} == {"0", "1"}


def test_steps_are_batches_of_each_task_however_long_its_epochs_are(place: Place) -> None:
    tasks = {"a": place.task("a", 8), "b": place.task("b", 2)}  # four batches, and one
    phases = [{"steps": 5}, {"tasks": ["b"], "steps": 2}]
    seen = place.learn(tasks, "steps", phases=phases, training={"epochs": 3, "warmup_ratio": 0.0})
    assert seen.tasks == ["a", "b"] * 5 + ["b"] * 2
    assert seen.began == [(12, 0)]
    assert [(entry["phase"], entry["epoch"], entry["step"]) for entry in seen.entries] == [(0, 1, 10), (1, 1, 12)]
    course = [1e-3 * left / 10 for left in range(10, 0, -1)]
    assert seen.course("heads.<b>.1.weight") == pytest.approx([*course, 1e-3, 5e-4])


def rows_of(seen: Recorder, first: int, last: int) -> list[list[int]]:
    """The tokens of each row of some updates."""
    return [row for update in seen.updates[first:last] for batch in update.batches for row in tokens_of(batch)]


def test_phases_that_gather_their_batches_alike_go_on_with_the_same_rows(place: Place) -> None:
    tasks = {"a": place.task("a", 12)}
    whole = place.learn(tasks, "one-phase", phases=[{"epochs": 2}])
    apart = place.learn(tasks, "three-phases", phases=[{}, {"batch_size": 3}, {}])
    assert rows_of(apart, 0, 6) == rows_of(whole, 0, 6)
    assert rows_of(apart, 10, 16) == rows_of(whole, 6, 12)
    between = rows_of(apart, 6, 10)
    assert sorted(between) == sorted(rows_of(whole, 0, 6))
    assert [batch.rows for update in apart.updates[6:10] for batch in update.batches] == [3] * 4


def test_the_best_weights_of_a_task_are_told_from_those_of_a_fit_that_took_no_step(place: Place) -> None:
    """Two tasks of opposite answers through one head: what is fitted to one is the worst for the other."""
    head = {"head": SHARED, "labels": ["a", "b"]}
    tasks = {"a": place.task("pro", 12, "aab", **head), "b": place.task("con", 12, "bba", **head)}
    phases = [{**FIT, "tasks": ["a"]}, {**FIT, "tasks": ["b"]}]
    place.train(tasks, "opposed", phases=phases, training={"choose_by": "a"})
    best = place.report("opposed")["best"]
    assert (best["overall"]["phase"], best["a"]["phase"], best["b"]["phase"]) == (0, 0, 1)
    assert (best["overall"]["step"], best["b"]["step"]) == (0, 0)
    assert (best["a"]["folder"], best["b"]["folder"]) == (".", "best/b")
    own = read_weights(place, "opposed/best/b")
    assert not torch.equal(own["heads.<one>.1.weight"], place.weights("opposed")["heads.<one>.1.weight"])


def read_weights(place: Place, folder: str) -> dict[str, Tensor]:
    from weft.checkpoints.safetensors import read_file

    return read_file(place.folder / folder / "model.safetensors")


# Going on after a break

STAGES: dict[str, Any] = {
    "phases": [
        {**CONTRAST, "steps": 4, "batch_size": 5, "max_length": 6, "interpolate": 0.75, "train_layers": "blocks"},
        FIT,
        {"epochs": 1, "interpolate": 0.5},
        {**FIT, "tasks": ["b"]},
    ],
    "conditioning": "task_input",
    "training": {"ema_decay": 0.5},
}


def stages(place: Place) -> dict[str, Any]:
    return {"a": place.task("a", 9, "abb", consistency=0.5), "b": place.task("b", 6, "ab")}


@pytest.fixture(scope="module")
def through(dropping: Place) -> Recorder:
    """A run that was never broken off: 8 steps, heads fitted, 8 steps (or 10), and heads fitted again."""
    return dropping.train(stages(dropping), "through", **STAGES)


def assert_same_run(place: Place, through: Recorder, output: str, first: Recorder, second: Recorder) -> None:
    assert first.steps + second.steps == through.steps
    assert first.entries + second.entries == through.entries
    updates = first.updates + second.updates
    assert len(updates) == len(through.updates)
    for found, expected in zip(updates, through.updates, strict=True):
        assert not changed(found.after, expected.after)
    assert digest(place.weights(output)) == digest(place.weights("through"))
    ours, theirs = (place.report(name) for name in (output, "through"))
    for key in ("best", "history", "loss_history", "rows", "row_passes", "tokens", "tasks"):
        assert ours[key] == theirs[key], key


@pytest.mark.parametrize("stop", [1, 3, 8, 9, 12])
def test_a_run_broken_off_in_any_phase_ends_with_the_same_bytes(dropping: Place, through: Recorder, stop: int) -> None:
    """Within the contrastive phase, at its end, and in the plain one after heads were fitted."""
    output = f"broken-{stop}"
    first = Recorder(interrupt_after(stop))
    with pytest.raises(Interrupted):
        dropping.train(stages(dropping), output, callback=first, **STAGES)
    second = dropping.train(stages(dropping), output, resume=True, **STAGES)
    assert_same_run(dropping, through, output, first, second)


def test_a_run_broken_off_at_its_last_step_ends_with_the_same_bytes(dropping: Place, through: Recorder) -> None:
    first = Recorder(interrupt_after(len(through.steps)))
    with pytest.raises(Interrupted):
        dropping.train(stages(dropping), "last-step", callback=first, **STAGES)
    second = dropping.train(stages(dropping), "last-step", resume=True, **STAGES)
    assert_same_run(dropping, through, "last-step", first, second)


class DiedError(BaseException):
    """The process was killed."""


def die_at(saved: int, when: str, patch: pytest.MonkeyPatch) -> None:
    """Die while a state is written: before its document is there, which is still that of the one before, or after."""
    count, real = 0, states.save_document

    def save(*given: Any) -> None:
        nonlocal count
        count += 1
        if count < saved or when == "after":
            real(*given)
        if count == saved:
            raise DiedError

    patch.setattr(states, "save_document", save)


@pytest.mark.parametrize("saved", [1, 2, 3, 4])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_that_dies_while_a_state_is_written_ends_with_the_same_bytes(
    dropping: Place, through: Recorder, saved: int, when: str
) -> None:
    """The states are those of the four phases' ends."""
    output = f"died-{saved}-{when}"
    with pytest.MonkeyPatch.context() as patch:
        die_at(saved, when, patch)
        with pytest.raises(DiedError):
            dropping.train(stages(dropping), output, **STAGES)
    second = dropping.train(stages(dropping), output, resume=True, **STAGES)
    assert digest(dropping.weights(output)) == digest(dropping.weights("through"))
    assert second.entries == through.entries[len(through.entries) - len(second.entries) :]
    assert dropping.report(output)["history"] == dropping.report("through")["history"]


def test_a_run_goes_a_part_of_the_way_once_even_if_it_dies_right_after(dropping: Place, through: Recorder) -> None:
    """Broken off at the last step of a phase, it goes on with the weights between, and dies before it has said so."""
    with pytest.raises(Interrupted):
        dropping.train(stages(dropping), "twice", callback=Recorder(interrupt_after(8)), **STAGES)
    with pytest.MonkeyPatch.context() as patch:
        die_at(1, "before", patch)
        with pytest.raises(DiedError):
            dropping.train(stages(dropping), "twice", resume=True, **STAGES)
    dropping.train(stages(dropping), "twice", resume=True, **STAGES)
    assert digest(dropping.weights("twice")) == digest(dropping.weights("through"))
