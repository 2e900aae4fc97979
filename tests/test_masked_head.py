"""The head that tells masked words computes what `transformers` does, and is read from its files and written back."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

import weft
from weft.checkpoints.hf import read_encoder
from weft.checkpoints.masked_head import HEADS, read_vocabulary_head, write_masked_model
from weft.checkpoints.safetensors import write_tensors
from weft.cli import main as cli
from weft.config.document import parse_experiment
from weft.corpus.loading import CorpusLoader
from weft.encoder.encoder import Encoder
from weft.heads.vocabulary import VocabularyHead
from weft.model.embed import TextEncoder, load_encoder
from weft.model.folder import load_network
from weft.model.network import Network
from weft.spec import parse
from weft.tasks import Task
from weft.tensors import pack
from weft.tokenization.tokenizer import Tokenizer
from weft.training.initial import begin_vocabulary_heads
from weft.training.progress import Callback

SIZES = {"vocab_size": 99, "max_position_embeddings": 40}
WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
Make = Callable[..., transformers.PreTrainedModel]

REFERENCES: dict[str, Make] = {
    "bert": lambda **more: transformers.BertForMaskedLM(transformers.BertConfig(**{**SIZES, **WIDE, **more})),
    "bert, other choices": lambda **more: transformers.BertForMaskedLM(
        transformers.BertConfig(**{**SIZES, **WIDE, **more}, hidden_act="relu", layer_norm_eps=1e-3)
    ),
    "roberta": lambda **more: transformers.RobertaForMaskedLM(
        transformers.RobertaConfig(**{**SIZES, **WIDE, "type_vocab_size": 1, **more})
    ),
    "roberta, relu": lambda **more: transformers.RobertaForMaskedLM(
        transformers.RobertaConfig(**{**SIZES, **WIDE, "type_vocab_size": 1, **more}, hidden_act="relu")
    ),
    "xlm-roberta": lambda **more: transformers.XLMRobertaForMaskedLM(
        transformers.XLMRobertaConfig(**{**SIZES, **WIDE, "type_vocab_size": 1, **more})
    ),
    "camembert": lambda **more: transformers.CamembertForMaskedLM(
        transformers.CamembertConfig(**{**SIZES, **WIDE, "type_vocab_size": 1, **more})
    ),
    "distilbert": lambda **more: transformers.DistilBertForMaskedLM(
        transformers.DistilBertConfig(**{**SIZES, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, **more})
    ),
    "distilbert, relu": lambda **more: transformers.DistilBertForMaskedLM(
        transformers.DistilBertConfig(
            **{**SIZES, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, **more}, activation="relu"
        )
    ),
    "electra": lambda **more: transformers.ElectraForMaskedLM(
        transformers.ElectraConfig(**{**SIZES, **WIDE, **more}, embedding_size=16)
    ),
    "electra, silu, no projection": lambda **more: transformers.ElectraForMaskedLM(
        transformers.ElectraConfig(**{**SIZES, **WIDE, **more}, embedding_size=32, hidden_act="silu")
    ),
}


def make(name: str, **more: Any) -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    model = REFERENCES[name](**more)
    for parameter in model.parameters():  # biases and norms away from their trivial start
        nn.init.normal_(parameter, std=0.2)
    return model.eval()


@pytest.fixture(params=REFERENCES)
def reference(request: pytest.FixtureRequest) -> transformers.PreTrainedModel:
    return make(request.param)


def read(folder: Path) -> tuple[Encoder, VocabularyHead]:
    """The encoder and the head of a folder."""
    encoder, _ = read_encoder(folder)
    head = VocabularyHead(encoder)
    tensors = read_vocabulary_head(folder, encoder.config)
    assert tensors is not None
    head.load_state_dict(tensors)
    return encoder.eval(), head.eval()


def rows_of(lengths: tuple[int, ...] = (9, 9, 9)) -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(5, 99, (size,), generator=generator).tolist() for size in lengths]


def our_logits(encoder: Encoder, head: VocabularyHead, rows: list[list[int]]) -> Tensor:
    states = encoder(pack(rows))
    logits: Tensor = head(torch.cat([states.row(i) for i in range(len(rows))]))
    return logits


def their_logits(model: transformers.PreTrainedModel, rows: list[list[int]]) -> Tensor:
    logits: Tensor = model(input_ids=torch.tensor(rows)).logits
    return logits.flatten(0, 1)


def test_logits_and_gradients_agree(reference: transformers.PreTrainedModel, tmp_path: Path) -> None:
    reference.save_pretrained(tmp_path)
    encoder, head = read(tmp_path)
    theirs, ours = their_logits(reference, rows_of()), our_logits(encoder, head, rows_of())
    assert theirs.shape == ours.shape == (27, 99)
    assert (theirs - ours).abs().max() <= 1e-5
    wanted = torch.randint(0, 99, (27,), generator=torch.Generator().manual_seed(2))
    for logits in (theirs, ours):
        nn.functional.cross_entropy(logits, wanted).backward()
    expected = {name: parameter.grad for name, parameter in reference.named_parameters()}
    indices = HEADS[encoder.config.family]
    for name, parameter in head.named_parameters():
        theirs_grad = expected[indices.names()[name]]
        assert theirs_grad is not None
        assert parameter.grad is not None
        assert (parameter.grad - theirs_grad).abs().max() <= 1e-5, name
    words = reference.get_input_embeddings().weight.grad
    assert words is not None
    assert encoder.embeddings.words.weight.grad is not None
    assert (encoder.embeddings.words.weight.grad - words).abs().max() <= 1e-5


def test_transformers_loads_what_weft_wrote_with_nothing_missing_or_surplus(
    reference: transformers.PreTrainedModel, tmp_path: Path
) -> None:
    reference.save_pretrained(tmp_path / "theirs")
    encoder, head = read(tmp_path / "theirs")
    write_masked_model(encoder, head.state_dict(), tmp_path / "ours")
    again, info = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert type(again) is type(reference)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert not info["mismatched_keys"]
    assert torch.equal(their_logits(again.eval(), rows_of()), their_logits(reference, rows_of()))
    same_encoder, same_head = read(tmp_path / "ours")
    assert torch.equal(our_logits(same_encoder, same_head, rows_of()), our_logits(encoder, head, rows_of()))


def test_every_family_has_a_head() -> None:
    from weft.checkpoints.layouts import LAYOUTS

    assert set(HEADS) == set(LAYOUTS)


def test_an_encoder_with_a_pooler_is_written_without_it(tmp_path: Path) -> None:
    transformers.BertModel(transformers.BertConfig(**SIZES, **WIDE)).save_pretrained(tmp_path)
    encoder, _ = read_encoder(tmp_path)
    assert encoder.pooler is not None
    write_masked_model(encoder, VocabularyHead(encoder).state_dict(), tmp_path / "ours")
    _, info = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))


def test_a_checkpoint_without_a_head_or_with_an_output_matrix_of_its_own_has_none_for_us(tmp_path: Path) -> None:
    transformers.BertModel(transformers.BertConfig(**SIZES, **WIDE)).save_pretrained(tmp_path / "bare")
    encoder, _ = read_encoder(tmp_path / "bare")
    assert read_vocabulary_head(tmp_path / "bare", encoder.config) is None
    for name in ("bert", "roberta", "distilbert", "electra"):
        folder = tmp_path / name
        make(name, tie_word_embeddings=False).save_pretrained(folder)
        encoder, _ = read_encoder(folder)
        assert read_vocabulary_head(folder, encoder.config) is None, name


# Through a network


def masked_folder(folder: Path, tokenizer: Tokenizer) -> Path:
    """A random BERT with its head and a tokenizer of words."""
    model = make("bert", vocab_size=tokenizer.size)
    model.save_pretrained(folder)
    tokenizer.save(folder)
    return folder


def network_of(source: TextEncoder, options: dict[str, Any]) -> Network:
    task = parse(Task, options)
    source.encoder.pooler = None
    return Network(source.encoder, source.tokenizer, {"words": task}, {"words": task.target().fit(())}).eval()


def test_a_network_starts_from_the_head_of_its_checkpoint_or_from_how_common_tokens_are(
    tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer], small_encoder: str
) -> None:
    folder = masked_folder(tmp_path / "masked", tiny_tokenizers["wordpiece"])
    (tmp_path / "t.txt").write_text("The fox and the dog. The fox ☃.\n\nThe dog.\n", encoding="utf-8")
    for name, has in ((str(folder), True), (small_encoder, False)):
        options = {"kind": "masked_words", "train": "t.txt"}
        experiment = parse_experiment({"encoder": {"from": name}, "tasks": {"words": options}})
        network = network_of(load_encoder(name), options)
        rows = CorpusLoader(network.tokenizer, 32, tmp_path / "cache").rows(
            tmp_path / "t.txt", network.tasks["words"].format
        )
        before = {key: tensor.clone() for key, tensor in network.heads["vocabulary"].state_dict().items()}
        begin_vocabulary_heads(network, experiment, {"words": rows})
        after = network.heads["vocabulary"].state_dict()
        changed = {key for key in after if not torch.equal(before[key], after[key])}
        assert changed == (set(after) if has else {"bias"})
        if has:
            _, head = read(folder)
            assert all(torch.equal(after[key], tensor) for key, tensor in head.state_dict().items())
            continue
        seen = Counter(int(one) for one in rows.corpus.tokens)
        del seen[network.tokenizer.backend.token_to_id("[UNK]")]  # never hidden, so never an answer
        assert max(seen.values()) > 1
        total = sum(seen.values()) + network.tokenizer.size
        wanted = [math.log((seen[i] + 1) / total) for i in range(network.tokenizer.size)]
        torch.testing.assert_close(after["bias"][: len(wanted)], torch.tensor(wanted))
        assert (after["bias"][len(wanted) :] == min(wanted)).all()


def test_all_tasks_that_tell_hidden_words_have_one_head_unless_one_names_another(small_encoder: str) -> None:
    source = load_encoder(small_encoder)
    source.encoder.pooler = None
    options: dict[str, dict[str, Any]] = {
        "short": {"kind": "masked_words", "max_length": 18},
        "words": {"kind": "masked_words"},
        "spans": {"kind": "span_boundary"},
        "apart": {"kind": "masked_words", "head": {"kind": "linear", "share": "own"}},
        "vocabulary": {"kind": "classification"},
    }
    tasks = {name: parse(Task, one) for name, one in options.items()}
    targets = {name: task.target().fit(["a", "b"]) for name, task in tasks.items()}
    network = Network(source.encoder, source.tokenizer, tasks, targets)
    used = {name: network.heads[network.head_of(name)] for name in tasks}
    assert used["short"] is used["words"] is used["spans"]
    assert isinstance(used["words"], VocabularyHead)
    assert len({id(head) for head in used.values()}) == len(network.heads) == 3


@pytest.mark.parametrize("kind", ["masked_words", "span_boundary"])
def test_only_hidden_places_meet_the_vocabulary(
    kind: str, tmp_path: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.training.task_batches import TaskBatches

    sizes: list[tuple[int, ...]] = []
    real = VocabularyHead.forward

    def spy(self: VocabularyHead, x: Tensor) -> Tensor:
        scores = real(self, x)
        sizes.append((*x.shape, *scores.shape))
        return scores

    batches: list[Any] = []
    taken = TaskBatches.next

    def keep(self: TaskBatches) -> Any:
        batches.append(taken(self))
        return batches[-1]

    monkeypatch.setattr(VocabularyHead, "forward", spy)
    monkeypatch.setattr(TaskBatches, "next", keep)
    train(tmp_path, small_encoder, kind=kind, training={"epochs": 1, "batch_size": 4, "baselines": False})
    assert len(sizes) > len(batches) > 3  # the dev rows come after
    for batch, (rows, width, answers, vocabulary) in zip(batches, sizes, strict=False):
        assert rows == answers == len(batch.gold) < len(batch.ids) * (0.6 if kind == "span_boundary" else 0.4)
        assert width == 32
        assert vocabulary > 60


# Whole runs

TEXT = "\n\n".join(
    "\n".join(f"The quick brown fox jumps over the lazy dog {i} {j}. Don't naïve café." for j in range(4))
    for i in range(8)
)


def train(folder: Path, encoder: str, kind: str = "masked_words", name: str = "model", **sections: Any) -> Path:
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    tasks = {"words": {"kind": kind, "train": "text.txt", "dev": "text.txt"}}
    settings = {"epochs": 2, "batch_size": 4, "learning_rate": 3e-3, "baselines": False}
    document = {"encoder": {"from": encoder}, "tasks": tasks, "training": settings, **sections}
    weft.train(document, folder / name, data=folder, device="cpu", callback=Callback())
    return folder / name


def fillers(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """What `weft predict` says."""
    capfd.readouterr()
    monkeypatch.setattr(sys, "argv", ["weft", "predict", str(folder), "--task", "words", "--text", text])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code
    return json.loads(capfd.readouterr().out)["words"]


def check_fill_mask(folder: Path, text: str, answers: Any) -> None:
    """The pipeline of transformers gives the same fillers with the same probabilities."""
    pipeline = transformers.pipeline("fill-mask", model=str(folder / "transformers"), device="cpu", top_k=10)
    theirs = pipeline(text.replace("[MASK]", pipeline.tokenizer.mask_token))
    (ours,) = answers
    assert ours["label"] == pipeline.tokenizer.convert_ids_to_tokens(theirs[0]["token"])
    assert [one["score"] for one in ours["fillers"]] == pytest.approx([one["score"] for one in theirs], abs=1e-5)


def test_fill_mask_works_on_what_a_run_wrote_and_agrees_with_predict(
    tmp_path: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = train(tmp_path, small_encoder)
    text = "The quick brown [MASK] jumps over the lazy dog."
    check_fill_mask(folder, text, fillers(folder, text, monkeypatch, capfd))


def test_a_byte_level_roberta_fills_masks_too_and_takes_the_mask_as_users_write_it(
    tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    tokenizer = tiny_tokenizers["bytes"]
    make("roberta", vocab_size=tokenizer.size, max_position_embeddings=70).save_pretrained(tmp_path / "roberta")
    tokenizer.save(tmp_path / "roberta")
    folder = train(tmp_path, str(tmp_path / "roberta"))
    model = weft.load(folder)
    text = "The quick brown[MASK] jumps."
    answers = model.predict([text], "words")[0]
    assert answers == model.predict([text.replace("[MASK]", "<mask>")], "words")[0]
    check_fill_mask(folder, text, answers)


def test_nothing_is_written_for_transformers_where_it_could_not_compute_the_same(
    tmp_path: Path, small_encoder: str
) -> None:
    notes: list[str] = []
    callback = Callback()
    callback.note = notes.append  # type: ignore[method-assign]
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    document = {
        "encoder": {"from": small_encoder},
        "conditioning": "task_input",
        "tasks": {"words": {"kind": "masked_words", "train": "text.txt", "dev": "text.txt"}},
        "training": {"epochs": 1, "baselines": False},
    }
    weft.train(document, tmp_path / "model", data=tmp_path, device="cpu", callback=callback)
    assert not (tmp_path / "model" / "transformers").exists()
    assert any("transformers" in note for note in notes)


def test_a_run_goes_on_from_the_head_of_another(tmp_path: Path, small_encoder: str) -> None:
    first = train(tmp_path, small_encoder, name="first")
    head = load_network(first).heads["vocabulary"].state_dict()
    still = {"learning_rate": 1e-12, "head_learning_rate": 1e-12, "weight_decay": 0.0}
    settings = {"epochs": 1, "batch_size": 4, **still, "baselines": False}
    for name, source in (("second", first), ("third", first / "transformers")):
        again = load_network(train(tmp_path, str(source), name=name, training=settings))
        for key, tensor in again.heads["vocabulary"].state_dict().items():
            torch.testing.assert_close(tensor, head[key], atol=1e-6, rtol=0)
        words = again.encoder.embeddings.words.weight
        torch.testing.assert_close(words, load_network(first).encoder.embeddings.words.weight, atol=1e-6, rtol=0)


def test_a_damaged_head_is_one_message(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> None:
    from weft.checkpoints.hf import read_tensors
    from weft.errors import CheckpointError

    folder = masked_folder(tmp_path / "masked", tiny_tokenizers["wordpiece"])
    tensors = read_tensors(folder)
    tensors["cls.predictions.bias"] = torch.zeros(7)
    write_tensors(tensors, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"cls\.predictions\.bias.*\(7,\)"):
        train(tmp_path, str(folder))
