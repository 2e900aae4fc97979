"""The encoder computes what `transformers` computes: outputs, gradients and files, for every family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from weft.checkpoints.hf import read_encoder, write_encoder
from weft.checkpoints.layouts import LAYOUTS
from weft.checkpoints.source import find_folder
from weft.encoder.encoder import Encoder
from weft.tensors import pack

SIZES = {"vocab_size": 99, "max_position_embeddings": 40}
WIDE = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}

REFERENCES: dict[str, Callable[[], transformers.PreTrainedModel]] = {
    "bert": lambda: transformers.BertModel(transformers.BertConfig(**SIZES, **WIDE)),
    "bert, other choices": lambda: transformers.BertModel(
        transformers.BertConfig(**SIZES, **WIDE, hidden_act="gelu_new", layer_norm_eps=1e-3, type_vocab_size=5)
    ),
    "bert, relu, one head, no pooler": lambda: transformers.BertModel(
        transformers.BertConfig(**SIZES, **{**WIDE, "num_attention_heads": 1}, hidden_act="relu"),
        add_pooling_layer=False,
    ),
    "roberta": lambda: transformers.RobertaModel(transformers.RobertaConfig(**SIZES, **WIDE, type_vocab_size=1)),
    "xlm-roberta": lambda: transformers.XLMRobertaModel(
        transformers.XLMRobertaConfig(**SIZES, **WIDE, type_vocab_size=1, pad_token_id=3)
    ),
    "camembert": lambda: transformers.CamembertModel(
        transformers.CamembertConfig(**SIZES, **WIDE, type_vocab_size=1, layer_norm_eps=1e-5)
    ),
    "distilbert": lambda: transformers.DistilBertModel(
        transformers.DistilBertConfig(**SIZES, dim=32, n_layers=3, n_heads=4, hidden_dim=48)
    ),
    "distilbert, sinusoidal": lambda: transformers.DistilBertModel(
        transformers.DistilBertConfig(
            **SIZES, dim=32, n_layers=2, n_heads=2, hidden_dim=48, sinusoidal_pos_embds=True, activation="relu"
        )
    ),
    "electra": lambda: transformers.ElectraModel(transformers.ElectraConfig(**SIZES, **WIDE, embedding_size=16)),
    "electra, no projection": lambda: transformers.ElectraModel(
        transformers.ElectraConfig(**SIZES, **WIDE, embedding_size=32, hidden_act="silu")
    ),
}


@pytest.fixture(params=REFERENCES)
def reference(request: pytest.FixtureRequest) -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    model = REFERENCES[request.param]()
    for parameter in model.parameters():  # biases and norms away from their trivial start
        torch.nn.init.normal_(parameter, std=0.2)
    return model.eval()


@pytest.fixture
def encoder(reference: transformers.PreTrainedModel, tmp_path: Path) -> Encoder:
    reference.save_pretrained(tmp_path)
    encoder, report = read_encoder(tmp_path)
    assert not report.missing
    assert not report.surplus
    return encoder.eval()


def make_rows(config: transformers.PretrainedConfig, lengths: list[int]) -> tuple[list[list[int]], list[list[int]]]:
    generator = torch.Generator().manual_seed(1)
    rows = [torch.randint(5, 99, (n,), generator=generator).tolist() for n in lengths]
    kinds = max(1, getattr(config, "type_vocab_size", 1))
    segments = [torch.randint(0, kinds, (n,), generator=generator).tolist() for n in lengths]
    return rows, segments


def run_reference(model: transformers.PreTrainedModel, rows: list[list[int]], segments: list[list[int]]) -> Tensor:
    """Their states on a padded batch, as one packed row after the other in the order given, (T, H)."""
    longest = max(map(len, rows))
    pad = model.config.pad_token_id
    inputs = {
        "input_ids": torch.tensor([row + [pad] * (longest - len(row)) for row in rows]),
        "attention_mask": torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows]),
    }
    if getattr(model.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = torch.tensor([row + [0] * (longest - len(row)) for row in segments])
    states = model(**inputs).last_hidden_state
    return torch.cat([states[i, : len(row)] for i, row in enumerate(rows)])


def run_ours(encoder: Encoder, rows: list[list[int]], segments: list[list[int]]) -> Tensor:
    states = encoder(pack(rows, segments))
    return torch.cat([states.row(i) for i in range(len(rows))])


LENGTHS = [7, 1, 30, 7, 2, 19, 36]


def check_outputs_and_gradients(reference: transformers.PreTrainedModel, encoder: Encoder, lengths: list[int]) -> None:
    rows, segments = make_rows(reference.config, lengths)
    theirs, ours = run_reference(reference, rows, segments), run_ours(encoder, rows, segments)
    assert (theirs - ours).abs().max() <= 1e-5
    weights = torch.randn(theirs.shape, generator=torch.Generator().manual_seed(2)) / len(theirs)
    (theirs * weights).sum().backward()
    (ours * weights).sum().backward()
    names = LAYOUTS[encoder.config.family].names(encoder.state_dict())
    expected = {name: parameter.grad for name, parameter in reference.named_parameters()}
    frozen = {name for name, parameter in reference.named_parameters() if not parameter.requires_grad}
    for name, parameter in encoder.named_parameters():
        if names[name] in frozen:  # sinusoidal positions, by some versions
            continue
        theirs_grad = expected[names[name]]
        if theirs_grad is None:  # the pooler, which this loss does not read
            assert parameter.grad is None
            continue
        assert parameter.grad is not None, name
        assert (parameter.grad - theirs_grad).abs().max() <= 1e-5, name


def test_outputs_and_gradients_agree_in_eval(reference: transformers.PreTrainedModel, encoder: Encoder) -> None:
    check_outputs_and_gradients(reference, encoder, LENGTHS)


def test_outputs_and_gradients_agree_in_training_without_dropout(
    reference: transformers.PreTrainedModel, encoder: Encoder
) -> None:
    reference.train()
    encoder.train()
    for module in reference.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = 0.0
    for module in encoder.modules():
        if hasattr(module, "p"):
            module.p = 0.0
    check_outputs_and_gradients(reference, encoder, LENGTHS)


def test_every_length_up_to_the_maximum_agrees(reference: transformers.PreTrainedModel, encoder: Encoder) -> None:
    rows, segments = make_rows(reference.config, list(range(1, encoder.config.max_length + 1)))
    assert (run_reference(reference, rows, segments) - run_ours(encoder, rows, segments)).abs().max() <= 1e-5


def test_hidden_states_of_every_layer_agree(reference: transformers.PreTrainedModel, encoder: Encoder) -> None:
    rows, _ = make_rows(reference.config, [11, 11])
    theirs = reference(input_ids=torch.tensor(rows), output_hidden_states=True).hidden_states
    wanted = range(encoder.config.num_hidden_layers + 1)
    ours = encoder(pack(rows), layers=wanted).layers
    for layer in wanted:
        expected = theirs[layer]
        if layer == 0 and expected.shape[-1] != encoder.config.hidden_size:
            continue  # a projecting ELECTRA reports its embeddings before the projection
        assert (expected.flatten(0, 1) - ours[layer]).abs().max() <= 1e-5


def test_shown_attention_of_the_first_token_agrees(reference: transformers.PreTrainedModel, encoder: Encoder) -> None:
    reference.set_attn_implementation("eager")
    rows, _ = make_rows(reference.config, [9, 9])
    theirs = reference(input_ids=torch.tensor(rows), output_attentions=True).attentions
    ours = encoder(pack(rows), attention=range(encoder.config.num_hidden_layers)).attention
    for layer, matrix in enumerate(theirs):  # (B, N, S, S)
        expected = matrix[:, :, 0, :].transpose(1, 2).flatten(0, 1)
        assert (expected - ours[layer].weights).abs().max() <= 1e-5


def test_pooled_output_agrees(tmp_path: Path) -> None:
    reference = REFERENCES["bert"]().eval()
    reference.save_pretrained(tmp_path)
    encoder, _ = read_encoder(tmp_path)
    rows, _ = make_rows(reference.config, [5, 5])
    theirs = reference(input_ids=torch.tensor(rows)).pooler_output
    assert (theirs - encoder.eval().pooled(encoder(pack(rows)))).abs().max() <= 1e-5


def test_transformers_loads_what_weft_wrote_with_nothing_missing_or_surplus(
    reference: transformers.PreTrainedModel, encoder: Encoder, tmp_path: Path
) -> None:
    write_encoder(encoder, tmp_path / "ours")
    pooling = {} if encoder.pooler is not None or "pooler" not in dir(reference) else {"add_pooling_layer": False}
    again, info = type(reference).from_pretrained(tmp_path / "ours", output_loading_info=True, **pooling)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert not info["mismatched_keys"]
    rows, segments = make_rows(reference.config, LENGTHS)
    assert torch.equal(run_reference(reference, rows, segments), run_reference(again.eval(), rows, segments))


def test_weft_loads_what_weft_wrote_bit_for_bit(encoder: Encoder, tmp_path: Path) -> None:
    write_encoder(encoder, tmp_path / "ours")
    again, _ = read_encoder(tmp_path / "ours")
    assert again.config == encoder.config
    assert all(
        torch.equal(a, b) for a, b in zip(encoder.state_dict().values(), again.state_dict().values(), strict=True)
    )


def test_a_checkpoint_with_heads_loads_and_reports_them_as_surplus(tmp_path: Path) -> None:
    model = transformers.BertForMaskedLM(transformers.BertConfig(**SIZES, **WIDE)).eval()
    model.save_pretrained(tmp_path)
    encoder, report = read_encoder(tmp_path)
    assert encoder.pooler is None
    assert any(name.startswith("cls.predictions") for name in report.surplus)
    rows, segments = make_rows(model.config, LENGTHS)
    ours = run_ours(encoder.eval(), rows, segments)
    assert (run_reference(model.bert, rows, segments) - ours).abs().max() <= 1e-5


def test_a_sharded_checkpoint_loads(tmp_path: Path) -> None:
    model = REFERENCES["bert"]()
    model.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    encoder, _ = read_encoder(tmp_path)
    assert torch.equal(encoder.embeddings.words.weight, model.embeddings.word_embeddings.weight)


def test_old_norm_names_are_understood(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    model = REFERENCES["bert"]()
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    old = {
        n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
        for n, t in tensors.items()
    }
    save_file(old, tmp_path / "model.safetensors", {"format": "pt"})
    _, report = read_encoder(tmp_path)
    assert not report.missing
    assert not report.surplus


def test_the_packaged_encoder_agrees_in_outputs_and_gradients() -> None:
    folder = find_folder("minilm")
    reference = transformers.BertModel.from_pretrained(folder).eval()
    encoder, report = read_encoder(folder)
    assert str(report) == "every tensor was loaded"
    check_outputs_and_gradients(reference, encoder.eval(), [5, 40, 12, 5, 128])


@pytest.mark.usefixtures("half_precision")
def test_half_precision_stays_close() -> None:
    encoder, _ = read_encoder(find_folder("minilm"))
    rows = [list(range(2000, 2000 + n)) for n in (5, 40, 12)]
    with torch.inference_mode():
        full = encoder.eval()(pack(rows)).mean()
        half = encoder.to(torch.bfloat16)(pack(rows)).mean()
    assert half.dtype == torch.bfloat16
    assert torch.nn.functional.cosine_similarity(full, half.float()).min() > 0.999
