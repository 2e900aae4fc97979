"""The head that tells masked words, as each family writes it down: read where a checkpoint has one, and written back.

Its output matrix is the word embeddings, which are the encoder's; only what stands before it, and its bias, are here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from weft.checkpoints.hf import CONFIG, WEIGHTS, layout_of, normalise_names, read_json, read_tensors
from weft.checkpoints.layouts import LAYOUTS
from weft.checkpoints.safetensors import write_tensors
from weft.data.atomic import write_atomically
from weft.encoder.blank import Blank
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import CheckpointError
from weft.heads.vocabulary import VocabularyHead


@dataclass(frozen=True)
class HeadLayout:
    """One family's names."""

    architecture: str  # the transformers class that has the head
    prefix: str  # before the encoder's names
    modules: Mapping[str, str]  # our module → theirs
    output: str  # their output matrix, where it is not the word embeddings themselves

    def names(self) -> dict[str, str]:
        """Our parameter → theirs."""
        parts = {
            f"{ours}.{kind}": f"{self.modules[ours]}.{kind}"
            for ours in ("dense", "norm")
            for kind in ("weight", "bias")
        }
        return {**parts, "bias": self.modules["bias"]}


def _roberta(architecture: str) -> HeadLayout:
    modules = {"dense": "lm_head.dense", "norm": "lm_head.layer_norm", "bias": "lm_head.bias"}
    return HeadLayout(architecture, "roberta.", modules, "lm_head.decoder.weight")


HEADS: dict[str, HeadLayout] = {
    "bert": HeadLayout(
        "BertForMaskedLM",
        "bert.",
        {
            "dense": "cls.predictions.transform.dense",
            "norm": "cls.predictions.transform.LayerNorm",
            "bias": "cls.predictions.bias",
        },
        "cls.predictions.decoder.weight",
    ),
    "roberta": _roberta("RobertaForMaskedLM"),
    "xlm-roberta": _roberta("XLMRobertaForMaskedLM"),
    "camembert": _roberta("CamembertForMaskedLM"),
    "distilbert": HeadLayout(
        "DistilBertForMaskedLM",
        "distilbert.",
        {"dense": "vocab_transform", "norm": "vocab_layer_norm", "bias": "vocab_projector.bias"},
        "vocab_projector.weight",
    ),
    "electra": HeadLayout(
        "ElectraForMaskedLM",
        "electra.",
        {
            "dense": "generator_predictions.dense",
            "norm": "generator_predictions.LayerNorm",
            "bias": "generator_lm_head.bias",
        },
        "generator_lm_head.weight",
    ),
}


def read_vocabulary_head(folder: Path, config: EncoderConfig) -> dict[str, Tensor] | None:
    """The head in a Hugging Face folder by our names.

    None where it has none, or one with an output matrix of its own instead of the word embeddings.
    """
    if config.family not in HEADS or not (folder / CONFIG).exists():
        return None
    layout, own = layout_of(read_json(folder / CONFIG), folder), HEADS[config.family]
    tensors, names = normalise_names(read_tensors(folder), layout), own.names()
    words = tensors[layout.modules["embeddings.words"] + ".weight"]
    if not set(names.values()) <= set(tensors) or not torch.equal(tensors.get(own.output, words), words):
        return None
    head = {ours: tensors[theirs].float() for ours, theirs in names.items()}
    with Blank(), torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in VocabularyHead(Encoder(config)).state_dict().items()}
    wrong = [
        f"{names[name]}: {tuple(tensor.shape)} in the file, {tuple(shapes[name])} by {CONFIG}"
        for name, tensor in head.items()
        if tensor.shape != shapes[name]
    ]
    if wrong:
        raise CheckpointError(
            f"{folder}: the head for masked words does not belong to this encoder: {'; '.join(wrong)}. Use the "
            f"{CONFIG} that came with the weights",
            mismatched=wrong,
        )
    return head


def write_masked_model(encoder: Encoder, head: Mapping[str, Tensor], folder: Path) -> None:
    """Write an encoder with its head, so that fill-mask of `transformers` works on the folder."""
    layout, own = LAYOUTS[encoder.config.family], HEADS[encoder.config.family]
    state, heads = encoder.state_dict(), own.names()
    state = {name: tensor for name, tensor in state.items() if not name.startswith("pooler.")}  # theirs has none
    tensors = {own.prefix + theirs: state[name] for name, theirs in layout.names(state).items()}
    tensors |= {heads[name]: tensor for name, tensor in head.items()}
    document = {**layout.write_config(encoder.config), "architectures": [own.architecture], "tie_word_embeddings": True}
    text = json.dumps(document, indent=2) + "\n"
    write_atomically(folder / CONFIG, lambda path: path.write_text(text, encoding="utf-8"))
    write_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS)
