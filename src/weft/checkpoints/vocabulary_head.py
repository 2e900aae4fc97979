"""The head that tells hidden words, as each family writes it down: read where a checkpoint has one, and written back.

Its output matrix is the word embeddings, which are the encoder's; only what stands before it, and its bias, are here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from weft.checkpoints.hf import CONFIG, WEIGHTS, layout_of, normalise_names, read_json, read_tensors, write_tensors
from weft.checkpoints.layouts import LAYOUTS
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.files import write_atomically


@dataclass(frozen=True)
class HeadLayout:
    """One family's names."""

    architecture: str  # the transformers class that has the head
    prefix: str  # before the encoder's names
    modules: Mapping[str, str]  # our module → theirs

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
    return HeadLayout(architecture, "roberta.", modules)


HEADS: dict[str, HeadLayout] = {
    "bert": HeadLayout(
        "BertForMaskedLM",
        "bert.",
        {
            "dense": "cls.predictions.transform.dense",
            "norm": "cls.predictions.transform.LayerNorm",
            "bias": "cls.predictions.bias",
        },
    ),
    "roberta": _roberta("RobertaForMaskedLM"),
    "xlm-roberta": _roberta("XLMRobertaForMaskedLM"),
    "camembert": _roberta("CamembertForMaskedLM"),
    "distilbert": HeadLayout(
        "DistilBertForMaskedLM",
        "distilbert.",
        {"dense": "vocab_transform", "norm": "vocab_layer_norm", "bias": "vocab_projector.bias"},
    ),
    "electra": HeadLayout(
        "ElectraForMaskedLM",
        "electra.",
        {
            "dense": "generator_predictions.dense",
            "norm": "generator_predictions.LayerNorm",
            "bias": "generator_lm_head.bias",
        },
    ),
}


def read_vocabulary_head(folder: Path, config: EncoderConfig) -> dict[str, Tensor] | None:
    """The head in a Hugging Face folder by our names, None where it has none."""
    if config.family not in HEADS or not (folder / CONFIG).exists():
        return None
    tensors = normalise_names(read_tensors(folder), layout_of(read_json(folder / CONFIG), folder))
    names = HEADS[config.family].names()
    return (
        {ours: tensors[theirs].float() for ours, theirs in names.items()}
        if set(names.values()) <= set(tensors)
        else None
    )


def write_masked_model(encoder: Encoder, head: Mapping[str, Tensor], folder: Path) -> None:
    """Write an encoder with its head, so that fill-mask of `transformers` works on the folder."""
    layout, own = LAYOUTS[encoder.config.family], HEADS[encoder.config.family]
    state, heads = encoder.state_dict(), own.names()
    tensors = {own.prefix + theirs: state[name] for name, theirs in layout.names(state).items()}
    tensors |= {heads[name]: tensor for name, tensor in head.items()}
    document = {**layout.write_config(encoder.config), "architectures": [own.architecture], "tie_word_embeddings": True}
    text = json.dumps(document, indent=2) + "\n"
    write_atomically(folder / CONFIG, lambda path: path.write_text(text, encoding="utf-8"))
    write_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS)
