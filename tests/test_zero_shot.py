"""Answers from the names of labels alone: in Python, on the command line, kept in a folder, and held against gold."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft
from conftest import RunWeft
from weft.errors import CheckpointError, ConfigError
from weft.heads.cosine import Cosine, CosineHead
from weft.model.embed import TextEncoder, load_encoder
from weft.model.network import Network
from weft.model.zero_shot import begin_with_words, uncalibrated_note
from weft.spec import parse
from weft.tasks import Task

LABELS = {"quick_fox": "quick fox", "lazyDog": "lazy Dog", "café": "café"}
TEXTS = ["the quick brown fox", "a lazy dog", "jumps over", "don't jump over the lazy dog"]
SECRET = "my chest hurts since the morning"
NOTE = "calibrated on nothing: "


@pytest.fixture
def model(small_encoder: str) -> weft.Model:
    return weft.zero_shot(small_encoder, list(LABELS), device="cpu")


def expected(encoder: TextEncoder, texts: list[str], words: list[str]) -> np.ndarray[Any, Any]:
    """The probabilities, (rows, L), computed from plain vectors."""

    def unit(some: list[str]) -> np.ndarray[Any, Any]:
        vectors = encoder.embed(some).astype(np.float64)
        return np.stack([vector / np.sqrt((vector**2).sum()) for vector in vectors])

    odds = np.exp(Cosine().scale * unit(texts) @ unit(words).T)
    return odds / odds.sum(1, keepdims=True)


# the head


def test_a_cosine_head_gives_the_scaled_cosine_of_every_input_and_direction() -> None:
    torch.manual_seed(0)
    head = CosineHead(5, 3, scale=7.0).eval()
    x = torch.randn(4, 5) * torch.tensor([[1e-3], [1.0], [50.0], [1e4]])
    for row in range(4):
        for output in range(3):
            u, v = x[row].double(), head.weight[output].double()
            cosine = (u * v).sum() / (u.square().sum().sqrt() * v.square().sum().sqrt())
            assert head(x)[row, output].item() == pytest.approx(7 * cosine.item(), abs=1e-5)
    assert torch.equal(head(torch.zeros(1, 5)), torch.zeros(1, 3))


def test_lengths_mean_nothing_to_a_cosine_head() -> None:
    torch.manual_seed(0)
    head, vectors = CosineHead(5, 3, scale=7.0).eval(), torch.randn(3, 5) * 100
    head.begin(vectors)
    torch.testing.assert_close(head.weight.norm(dim=1), torch.ones(3))
    torch.testing.assert_close(head(vectors).diagonal(), torch.full((3,), 7.0))
    with torch.no_grad():
        scores, _ = head(vectors), head.weight.mul_(3)
    torch.testing.assert_close(head(vectors / 10), scores)


@pytest.mark.parametrize("scale", [0, -1.0])
def test_a_scale_is_above_zero(scale: float) -> None:
    with pytest.raises(ConfigError, match=r"scale: .* greater than 0; received"):
        parse(Cosine, {"kind": "cosine", "scale": scale})


# Python


def test_probabilities_are_those_of_the_cosine_with_each_labels_words(model: weft.Model, small_encoder: str) -> None:
    found = model.predict(TEXTS, "label", scores=True)
    by_hand = expected(load_encoder(small_encoder, device="cpu"), TEXTS, list(LABELS.values()))
    for answer, row in zip(found, by_hand, strict=True):
        assert answer["scores"] == pytest.approx(dict(zip(LABELS, row, strict=True)), abs=1e-4)
        assert answer["label"] == list(LABELS)[row.argmax()]
        assert answer["score"] == pytest.approx(row.max(), abs=1e-4)
    assert len({answer["label"] for answer in found}) > 1


def test_a_text_that_says_the_label_gets_it(model: weft.Model) -> None:
    answers = model.predict(list(LABELS.values()), "label")
    assert [answer["label"] for answer in answers] == list(LABELS)


def test_descriptions_are_read_instead_of_names(small_encoder: str) -> None:
    described = {"0": "the quick fox", "1": "a lazy dog"}
    model = weft.zero_shot(small_encoder, described, task="animal", device="cpu")
    by_hand = expected(load_encoder(small_encoder, device="cpu"), TEXTS, list(described.values()))
    assert model.tasks == ["animal"]
    found = [answer["scores"]["1"] for answer in model.predict(TEXTS, "animal", scores=True)]
    assert found == pytest.approx(by_hand[:, 1].tolist(), abs=1e-4)


def test_many_labels_are_embedded_in_batches_and_keep_their_order(
    small_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["fox", "the lazy dog jumps over", "café", "quick brown", "don't", "naïve fox over the dog", "1234"]
    together = weft.zero_shot(small_encoder, words, device="cpu")
    monkeypatch.setattr("weft.model.zero_shot._BATCH_TOKENS", 6)
    apart = weft.zero_shot(small_encoder, words, device="cpu")
    torch.testing.assert_close(
        apart.network.heads["<label>"].weight, together.network.heads["<label>"].weight, atol=1e-5, rtol=1e-5
    )


def test_the_real_encoder_knows_what_words_mean() -> None:
    model = weft.zero_shot("minilm", ["billing", "refund", "card_lost"])
    texts = ["I want my money back", "Somebody stole my credit card", "Why is my invoice so high this month?"]
    assert [answer["label"] for answer in model.predict(texts, "label")] == ["refund", "card_lost", "billing"]


def test_nothing_random_is_drawn(small_encoder: str) -> None:
    torch.manual_seed(5)
    expected_draw = torch.rand(3)
    torch.manual_seed(5)
    weft.zero_shot(small_encoder, ["fox", "dog"], device="cpu")
    assert torch.equal(torch.rand(3), expected_draw)


def test_a_kept_model_gives_the_same_bits_and_still_says_that_it_saw_nothing(model: weft.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "kept")
    again = weft.load(tmp_path / "kept", device="cpu")
    assert again.predict(TEXTS, "label", scores=True) == model.predict(TEXTS, "label", scores=True)
    assert (uncalibrated_note(again.network) or "").startswith(NOTE + "label ")
    assert again.network.tasks["label"].head == Cosine()


def test_an_encoder_with_a_pooler_can_be_kept_too(tmp_path: Path) -> None:
    model = weft.zero_shot("minilm", ["fox", "dog"], device="cpu")
    model.save(tmp_path / "kept")
    assert weft.load(tmp_path / "kept", device="cpu").predict(TEXTS) == model.predict(TEXTS)


def test_it_is_measured_on_gold_rows_as_any_model(small_encoder: str) -> None:
    model = weft.zero_shot(small_encoder, LABELS, text="message", label="gold", device="cpu")
    rows = [{"message": words, "gold": name} for name, words in LABELS.items()]
    assert model.evaluate(rows)["label"].measures.scores["accuracy"] == 1
    rows[0]["gold"] = "lazyDog"
    assert model.evaluate(rows)["label"].measures.scores["accuracy"] == pytest.approx(2 / 3)


def test_words_that_spoke_for_a_label_can_be_inspected(model: weft.Model) -> None:
    found = model.inspect("the quick fox", task="label")
    assert found.explained == (model.predict(["the quick fox"], "label")[0]["label"],)


def test_a_task_that_saw_rows_is_not_noted(model: weft.Model) -> None:
    task = parse(Task, {"kind": "classification", "labels": ["a", "b", "never"]})
    encoder, tokenizer = model.network.encoder, model.network.tokenizer
    trained = Network(encoder, tokenizer, {"t": task}, {"t": task.target().fit(["a", "b"])})
    assert uncalibrated_note(trained) is None
    score = parse(Task, {"kind": "similarity"})
    assert uncalibrated_note(Network(encoder, tokenizer, {"s": score}, {"s": score.target().fit([0.0, 1.0])})) is None


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("fox, dog", "received one text where labels are expected; put them into a list"),
        (["fox"], "received 1 label; give at least two"),
        (["fox", "dog", "fox"], "label 3 is the same as label 1"),
        (["fox", "dog", "Fox"], "labels 1 and 3 read the same to this encoder; describe them in different words"),
        ({"fox": "dog", "dog": ""}, "labels 1 and 2 read the same"),
        (["fox", "\u200b"], "label 2 has nothing to read"),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(small_encoder: str, labels: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        weft.zero_shot(small_encoder, labels, device="cpu")


@pytest.mark.parametrize("name", ["", "a.b", "two words", "truncated", "overall"])
def test_the_task_is_called_as_in_a_config(small_encoder: str, name: str) -> None:
    with pytest.raises(
        ConfigError, match=r"a task's name has letters, .* none of: overall, truncated, empty; received"
    ):
        weft.zero_shot(small_encoder, ["fox", "dog"], task=name)


def test_a_description_that_is_too_long_is_cut_with_a_warning(small_encoder: str) -> None:
    long = "the quick brown fox " * 20
    with pytest.warns(
        weft.TruncationWarning, match="of the labels' descriptions, 1 of 2 texts were longer than 32 tokens"
    ) as caught:
        weft.zero_shot(small_encoder, {"fox": long, "dog": ""}, device="cpu")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("options", [{"head": "linear"}, {"head": "cosine", "loss": "binary"}])
def test_only_a_direction_per_label_can_begin_with_words(small_encoder: str, options: dict[str, Any]) -> None:
    source, task = load_encoder(small_encoder), parse(Task, {"kind": "classification", "labels": ["a", "b"], **options})
    network = Network(source.encoder, source.tokenizer, {"t": task}, {"t": task.target().fit(["a", "b"])})
    with pytest.raises(
        ConfigError, match=r"tasks\.t\.head: cannot begin with the words of labels; .* head = \"cosine\""
    ):
        begin_with_words(network, "t", {"a": "fox", "b": "dog"})


def test_a_task_begins_with_words_as_it_reads_them_itself(small_encoder: str) -> None:
    source = load_encoder(small_encoder, device="cpu")
    task = parse(Task, {"kind": "classification", "labels": ["b", "a"], "head": "cosine", "pooling": "cls"})
    network = Network(source.encoder, source.tokenizer, {"t": task}, {"t": task.target().fit(["a", "b"])}).train()
    begin_with_words(network, "t", {"a": "the fox", "b": "lazy dog"})
    vectors = source.embed(["lazy dog", "the fox"], pooling="cls", normalize=True)
    np.testing.assert_allclose(network.heads["<t>"].weight.detach().numpy(), vectors, atol=1e-5)


# on the command line


def test_predict_answers_by_labels_and_says_that_it_is_calibrated_on_nothing(
    run_weft: RunWeft, small_encoder: str, model: weft.Model
) -> None:
    arguments = ("predict", small_encoder, "--device", "cpu", "--text", TEXTS[0], "--labels", "quick_fox, lazyDog,café")
    code, out, err = run_weft(*arguments)
    assert code == 0
    assert json.loads(out) == {"text": TEXTS[0], **model.predict(TEXTS[:1])[0]}
    assert len(err.strip().splitlines()) == 1
    assert err.startswith(NOTE + "label compares texts with the words of labels")
    assert err.rstrip().endswith("label some rows and train")


def test_predict_reads_and_writes_files_and_keeps_the_model(
    run_weft: RunWeft, small_encoder: str, tmp_path: Path, model: weft.Model
) -> None:
    (tmp_path / "labels.txt").write_text("0: quick fox\n1: lazy dog\n2: café\n", encoding="utf-8")
    lines = [f"{number},{text},{number % 3}" for number, text in enumerate(TEXTS)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,message,label", *lines]) + "\n", encoding="utf-8")
    given = ("--labels", tmp_path / "labels.txt", "--input", tmp_path / "rows.csv", "--column", "message")
    kept = ("--task", "topic", "--output", tmp_path / "out.csv", "--save", tmp_path / "kept", "--device", "cpu")
    code, _, err = run_weft("predict", small_encoder, *given, *kept)
    assert code == 0, err
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = list(LABELS)
    assert [names[int(row["topic"])] for row in rows] == [one["label"] for one in model.predict(TEXTS, "label")]
    assert [row["message"] for row in rows] == TEXTS
    code, out, err = run_weft("predict", tmp_path / "kept", "--input", tmp_path / "rows.csv")
    assert [json.loads(line)["topic"]["label"] for line in out.splitlines()] == [row["topic"] for row in rows]
    assert NOTE + "topic" in err
    code, out, err = run_weft(
        "evaluate", tmp_path / "kept", "--data", tmp_path / "rows.csv", "--json", tmp_path / "scores.json"
    )
    right = [row["topic"] == row["label"] for row in rows]
    assert json.loads((tmp_path / "scores.json").read_text())["topic"]["accuracy"] == pytest.approx(np.mean(right))


def test_an_encoder_without_labels_is_refused_with_what_to_do(
    run_weft: RunWeft, small_encoder: str, tmp_path: Path
) -> None:
    for encoder in ("minilm", small_encoder):
        code, _, err = run_weft("predict", encoder, "--text", SECRET)
        assert code == 1
        assert f"{encoder} is an encoder, which has no labels of its own; name a folder that `weft train` wrote" in err
        assert '--labels "' in err
    (tmp_path / "empty").mkdir()
    for model, problem in ((tmp_path / "empty", "is no weft model"), ("someone/encoder", "does not exist")):
        code, _, err = run_weft("predict", model, "--text", SECRET)
        assert code == 1
        assert f"{model} {problem}" in err
        assert "or give an encoder (minilm, a folder, a Hub id) labels" in err
        assert SECRET not in err


def test_a_trained_model_with_labels_is_refused(run_weft: RunWeft, model: weft.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "kept")
    for option in (("--labels", "fox, dog"), ("--save", tmp_path / "again")):
        code, _, err = run_weft("predict", tmp_path / "kept", "--text", SECRET, *option)
        assert code == 2
        assert "is a trained model, which has labels of its own; leave out --labels" in err
        assert SECRET not in err
    assert not (tmp_path / "again").exists()


def test_wrong_usage_is_found_before_anything_is_written(run_weft: RunWeft, small_encoder: str, tmp_path: Path) -> None:
    begin = ("predict", small_encoder, "--text", SECRET, "--save", tmp_path / "kept")
    for option, exit_code, message in (
        (("--labels", "fox"), 1, "received labels without a comma, and no file is called so"),
        (("--labels", "fox, dog,"), 1, "label 3 is empty"),
        (("--labels", "fox, dog", "-t", "a", "-t", "b"), 2, "answers one task, but received 2 names for it"),
    ):
        code, _, err = run_weft(*begin, *option)
        assert (code, message in err) == (exit_code, True), err
        assert not (tmp_path / "kept").exists()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "report.html").write_text("of another")
    code, _, err = run_weft(*begin, "--labels", "fox, dog")
    assert code == 1
    assert "kept exists already; name another with --save, or remove it" in err
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["report.html"]


def test_a_folder_that_is_not_there_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no folder"):
        weft.zero_shot(tmp_path / "nowhere", ["fox", "dog"])
