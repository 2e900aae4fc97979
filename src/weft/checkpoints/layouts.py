"""How each encoder family writes itself down: one reversible table per family.

A `Layout` says what a family calls each config value and each module. The same table reads and writes: `names` gives
our name → theirs for one encoder, and its inverse reads. To add a family, add a row to `LAYOUTS`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from weft.encoder.activations import ACTIVATIONS
from weft.encoder.config import EncoderConfig
from weft.errors import CheckpointError


@dataclass(frozen=True)
class Layout:
    """One family's names."""

    architecture: str  # the transformers class that reads what we write
    modules: Mapping[str, str]  # our module → theirs, {n} being the layer
    keys: Mapping[str, str]  # our config value → their key
    defaults: EncoderConfig  # what holds where config.json is silent
    offset_by_padding: bool = False  # positions start behind the padding id (RoBERTa)

    def names(self, parameters: Iterable[str]) -> dict[str, str]:
        """Our parameter name → theirs."""
        return {name: self._their_name(name) for name in parameters}

    def read_config(
        self, raw: Mapping[str, Any], ignore: Iterable[str] = (), source: str = "config.json"
    ) -> EncoderConfig:
        """The config of a checkpoint; refused by name where it asks for mathematics we do not have."""
        refuse_unknown(raw, {*self.keys.values(), *ignore}, source)
        values = {ours: raw[theirs] for ours, theirs in self.keys.items() if raw.get(theirs) is not None}
        config = replace(self.defaults, **values, family=raw["model_type"])
        check_config(config, source)
        return replace(config, position_offset=config.pad_token_id + 1) if self.offset_by_padding else config

    def write_config(self, config: EncoderConfig) -> dict[str, Any]:
        """The config.json of an encoder."""
        values = {theirs: getattr(config, ours) for ours, theirs in self.keys.items()}
        return {"architectures": [self.architecture], "model_type": config.family, **values}

    def _their_name(self, ours: str) -> str:
        module, _, kind = ours.rpartition(".")
        layer = re.search(r"\d+", module)
        template = self.modules[re.sub(r"\d+", "{n}", module)]
        return f"{template.format(n=layer and layer[0])}.{kind}"


_BERT_MODULES = {
    "embeddings.words": "embeddings.word_embeddings",
    "embeddings.positions": "embeddings.position_embeddings",
    "embeddings.segments": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "blocks.{n}.attention.query": "encoder.layer.{n}.attention.self.query",
    "blocks.{n}.attention.key": "encoder.layer.{n}.attention.self.key",
    "blocks.{n}.attention.value": "encoder.layer.{n}.attention.self.value",
    "blocks.{n}.attention.output": "encoder.layer.{n}.attention.output.dense",
    "blocks.{n}.attention_norm": "encoder.layer.{n}.attention.output.LayerNorm",
    "blocks.{n}.widen": "encoder.layer.{n}.intermediate.dense",
    "blocks.{n}.narrow": "encoder.layer.{n}.output.dense",
    "blocks.{n}.output_norm": "encoder.layer.{n}.output.LayerNorm",
    "pooler": "pooler.dense",
}

_DISTILBERT_MODULES = {
    "embeddings.words": "embeddings.word_embeddings",
    "embeddings.positions": "embeddings.position_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "blocks.{n}.attention.query": "transformer.layer.{n}.attention.q_lin",
    "blocks.{n}.attention.key": "transformer.layer.{n}.attention.k_lin",
    "blocks.{n}.attention.value": "transformer.layer.{n}.attention.v_lin",
    "blocks.{n}.attention.output": "transformer.layer.{n}.attention.out_lin",
    "blocks.{n}.attention_norm": "transformer.layer.{n}.sa_layer_norm",
    "blocks.{n}.widen": "transformer.layer.{n}.ffn.lin1",
    "blocks.{n}.narrow": "transformer.layer.{n}.ffn.lin2",
    "blocks.{n}.output_norm": "transformer.layer.{n}.output_layer_norm",
}

_BERT_KEYS = {
    f.name: f.name
    for f in fields(EncoderConfig)
    if f.name not in ("family", "with_pooler", "position_offset", "embedding_size")
}

_DISTILBERT_KEYS = {
    "vocab_size": "vocab_size",
    "hidden_size": "dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim",
    "hidden_act": "activation",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "max_position_embeddings": "max_position_embeddings",
    "initializer_range": "initializer_range",
    "pad_token_id": "pad_token_id",
}


def _like_roberta(architecture: str) -> Layout:
    return Layout(architecture, _BERT_MODULES, _BERT_KEYS, EncoderConfig(pad_token_id=1), offset_by_padding=True)


LAYOUTS: dict[str, Layout] = {
    "bert": Layout("BertModel", _BERT_MODULES, _BERT_KEYS, EncoderConfig()),
    "roberta": _like_roberta("RobertaModel"),
    "xlm-roberta": _like_roberta("XLMRobertaModel"),
    "camembert": _like_roberta("CamembertModel"),
    "distilbert": Layout(
        "DistilBertModel",
        _DISTILBERT_MODULES,
        _DISTILBERT_KEYS,
        EncoderConfig(num_hidden_layers=6, type_vocab_size=0),
    ),
    "electra": Layout(
        "ElectraModel",
        {**_BERT_MODULES, "embeddings.project": "embeddings_project"},
        {**_BERT_KEYS, "embedding_size": "embedding_size"},
        EncoderConfig(embedding_size=128, hidden_size=256, num_attention_heads=4, intermediate_size=1024),
    ),
}

# Keys that change nothing an encoder computes: names, sizes of heads, text generation, bookkeeping.
_HARMLESS = {
    *("architectures", "model_type", "transformers_version", "torch_dtype", "dtype", "use_cache", "name_or_path"),
    *("id2label", "label2id", "num_labels", "problem_type", "finetuning_task", "task_specific_params", "language"),
    *("bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id", "mask_token_id", "unk_token_id"),
    *("decoder_start_token_id", "pad_token_id", "tokenizer_class", "prefix", "return_dict", "output_past"),
    *("output_attentions", "output_hidden_states", "gradient_checkpointing", "chunk_size_feed_forward"),
    *("classifier_dropout", "seq_classif_dropout", "qa_dropout", "tie_weights_", "tie_word_embeddings"),
    *(
        "initializer_range",
        "initializer_factor",
        "sinusoidal_pos_embds",
        "directionality",
        "model_name",
        "remove_invalid_values",
    ),
    *("pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"),
    *("summary_activation", "summary_first_dropout", "summary_last_dropout", "summary_type", "summary_use_proj"),
    *("adapters", "custom_pipelines", "auto_map", "bad_words_ids", "num_beams", "max_length", "min_length"),
    *("top_k", "top_p", "temperature", "do_sample", "length_penalty", "repetition_penalty", "tokenizer"),
}
_INERT: tuple[Any, ...] = (None, False, 0, "", [], {})
_COMPUTED = {"position_embedding_type": "absolute"}  # keys we know, with the only value we compute

_LEAST = {
    **dict.fromkeys(("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"), 1),
    **dict.fromkeys(("intermediate_size", "max_position_embeddings"), 1),
    **dict.fromkeys(("type_vocab_size", "pad_token_id"), 0),
}
_RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps", "initializer_range")


def refuse_unknown(raw: Mapping[str, Any], known: Collection[str], source: str) -> None:
    """Raise for every key that may change the mathematics and that we do not know.

    A key we have never heard of passes only where it is switched off (null, false, 0, empty).
    """
    unknown = [
        f"{key} = {value!r}"
        for key, value in raw.items()
        if key not in known
        and key not in _HARMLESS
        and not key.startswith("_")
        and value not in _INERT
        and value != _COMPUTED.get(key)
    ]
    if unknown:
        raise CheckpointError(
            f"{source} asks for something weft does not compute: {'; '.join(unknown)}. "
            f"If you know that a key leaves the encoder's result as it is, take it out of {source}; in Python, "
            "load_encoder passes over the keys that `ignore` names."
        )


def check_config(config: EncoderConfig, source: str) -> None:
    """Raise for values no encoder can have."""
    faults = []
    if not isinstance(config.hidden_act, str) or config.hidden_act not in ACTIVATIONS:
        faults.append(f"activation {config.hidden_act!r} is not known; known: {', '.join(ACTIVATIONS)}")
    for name, least in _LEAST.items():
        value = getattr(config, name)
        if type(value) is not int or value < least:
            faults.append(f"{name} is {value!r}, but must be a whole number of at least {least}")
    for name in _RATES:
        value = getattr(config, name)
        if type(value) not in (int, float) or not 0 <= value < 1:
            faults.append(f"{name} is {value!r}, but must be a number from 0 to below 1")
    if not faults and config.hidden_size % config.num_attention_heads:
        faults.append(
            f"hidden_size {config.hidden_size} cannot be divided among {config.num_attention_heads} attention heads"
        )
    if faults:
        raise CheckpointError(f"{source}: {'; '.join(faults)}. Use the config.json that came with the weights")
