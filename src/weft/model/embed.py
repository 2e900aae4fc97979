"""Vectors of sentences, words and tokens from an encoder, streamed in the order of the texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal, get_args, overload

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from weft.checkpoints.hf import LoadReport, read_encoder, write_encoder
from weft.checkpoints.source import find_folder
from weft.data.texts import list_texts, refuse_one
from weft.encoder.encoder import Encoder
from weft.errors import CheckpointError, ConfigError, DataError, TruncationWarning, warn_caller
from weft.model.devices import Device, choose_device
from weft.model.folder import DOCUMENT, load_network
from weft.tensors import Batch, States, batches_by_length, pack
from weft.tokenization.tokenizer import Text, TokenizedRow, Tokenizer, Truncation, check_texts

Level = Literal["sentence", "word", "token"]
Pooling = Literal["mean", "cls"]
Layers = Literal["last", "last4"]
Vectors = NDArray[np.float32]

_WINDOW = 2048  # texts looked at together, so that rows of similar length share a batch
_BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True, repr=False)
class TextVectors:
    """The vectors of one text: one for a sentence, else one per word or token with the characters it covers."""

    vectors: Vectors  # (n, H)
    spans: list[tuple[int, int]]  # characters [start, end) of each vector, empty for a sentence
    dropped: int  # tokens that did not fit

    def __repr__(self) -> str:
        count, width = self.vectors.shape
        cut = f", {self.dropped} tokens cut" if self.dropped else ""
        return f"TextVectors({count} vector{'s' * (count != 1)} of {width} numbers{cut})"


@dataclass(frozen=True)
class EmbedOptions:
    """What to make of the states, and how to cut texts that are too long."""

    level: Level = "sentence"
    pooling: Pooling = "mean"
    layers: Layers = "last"
    normalize: bool = False
    truncation: Truncation = "head"
    max_length: int | None = None

    def __post_init__(self) -> None:
        allowed = {"level": Level, "pooling": Pooling, "layers": Layers, "truncation": Truncation}
        faults = [
            f"{name} {getattr(self, name)!r} is not one of: {', '.join(get_args(choices))}"
            for name, choices in allowed.items()
            if getattr(self, name) not in get_args(choices)
        ]
        if faults:
            raise ConfigError(*faults)


class TextEncoder:
    """An encoder with the tokenizer it was trained with."""

    def __init__(self, encoder: Encoder, tokenizer: Tokenizer, report: LoadReport | None = None) -> None:
        if tokenizer.size > encoder.config.vocab_size:
            raise CheckpointError(
                f"the tokenizer has ids up to {tokenizer.size - 1}, but the encoder has embeddings for "
                f"{encoder.config.vocab_size} only; use the tokenizer that came with the weights"
            )
        self.encoder, self.tokenizer = encoder.eval(), tokenizer
        self.report = report or LoadReport()

    def __repr__(self) -> str:
        return f"TextEncoder({describe_encoder(self.encoder)}, {self.tokenizer.size:,} tokens known)"

    @overload
    def embed(
        self,
        texts: Iterable[Text],
        *,
        level: Literal["sentence"] = "sentence",
        pooling: Pooling = "mean",
        layers: Layers = "last",
        normalize: bool = False,
        truncation: Truncation = "head",
        max_length: int | None = None,
    ) -> Vectors: ...

    @overload
    def embed(
        self,
        texts: Iterable[Text],
        *,
        level: Literal["word", "token"],
        pooling: Pooling = "mean",
        layers: Layers = "last",
        normalize: bool = False,
        truncation: Truncation = "head",
        max_length: int | None = None,
    ) -> list[TextVectors]: ...

    def embed(
        self,
        texts: Iterable[Text],
        *,
        level: Level = "sentence",
        pooling: Pooling = "mean",
        layers: Layers = "last",
        normalize: bool = False,
        truncation: Truncation = "head",
        max_length: int | None = None,
    ) -> Vectors | list[TextVectors]:
        """Vectors of texts or pairs, from any iterable of them.

        Args:
            level: `sentence` gives an array (rows, H); `word` and `token` give one `TextVectors` per text.
            pooling: a sentence is the `mean` of its tokens or its first token (`cls`).
            layers: `last`, or the mean of the last four (`last4`).
            normalize: scale each vector to length 1.
            truncation: which part of a text that is too long stays; a `TruncationWarning` says how many were cut.
            max_length: tokens per text; by default as many as the encoder takes.
        """
        return self.embed_with(texts, EmbedOptions(level, pooling, layers, normalize, truncation, max_length))

    def embed_with(self, texts: Iterable[Text], options: EmbedOptions) -> Vectors | list[TextVectors]:
        """As `embed`, with its keywords as one value; to be called by what a user calls."""
        vectors = list(self.stream(texts if isinstance(texts, Iterator) else list_texts(texts), options))
        cut = sum(text.dropped > 0 for text in vectors)
        if cut:
            warn_caller(TruncationWarning(truncation_notice(cut, len(vectors), self.limit(options))))
        if options.level != "sentence":
            return vectors
        width = self.encoder.config.hidden_size
        return np.concatenate([text.vectors for text in vectors]) if vectors else np.zeros((0, width), np.float32)

    def stream(self, texts: Iterable[Text], options: EmbedOptions | None = None) -> Iterator[TextVectors]:
        """One `TextVectors` per text, in order, holding a window of texts in memory at a time."""
        options = options or EmbedOptions()
        refuse_one(texts)
        remaining, seen = iter(texts), 0
        while window := list(islice(remaining, _WINDOW)):
            check_texts(window, seen)  # here, where a row's number among all texts is known
            yield from self._embed_window(window, options)
            seen += len(window)

    def limit(self, options: EmbedOptions) -> int:
        """The tokens a text may have."""
        longest = self.encoder.config.max_length
        if options.max_length is not None and not 1 <= options.max_length <= longest:
            raise ConfigError(f"max_length {options.max_length} is outside 1 … {longest}, what this encoder takes")
        return options.max_length or longest

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that weft and `transformers` load."""
        path = Path(folder)
        write_encoder(self.encoder, path)
        self.tokenizer.save(path)

    @torch.inference_mode()
    def _embed_window(self, window: list[Text], options: EmbedOptions) -> Iterator[TextVectors]:
        rows = self.tokenizer.encode(
            window,
            max_length=self.limit(options),
            truncation=options.truncation,
            offsets=options.level != "sentence",
        )
        if not all(len(row) for row in rows):
            raise DataError("a text has no tokens: it is empty, and this tokenizer adds no special tokens")
        done: list[TextVectors | None] = [None] * len(rows)
        device = next(self.encoder.parameters()).device
        for indices in batches_by_length([len(row) for row in rows], _BATCH_TOKENS):
            chosen = [rows[index] for index in indices]
            batch = pack([row.ids for row in chosen], [row.segments for row in chosen]).to(device)
            states = average_layers(self.encoder, batch, options.layers)
            for index, vectors in zip(indices, describe(states, chosen, options), strict=True):
                done[index] = vectors
        return (vectors for vectors in done if vectors is not None)


def describe_encoder(encoder: Encoder) -> str:
    """Family, sizes and where it computes, in a few words."""
    config, weights = encoder.config, sum(parameter.numel() for parameter in encoder.parameters())
    device = next(encoder.parameters()).device
    sizes = f"{config.num_hidden_layers} layers, {config.hidden_size} wide, {weights / 1e6:.1f} million weights"
    return f"{config.family} encoder, {sizes}, on {device}"


def load_encoder(
    name: str | os.PathLike[str] = "minilm",
    *,
    revision: str | None = None,
    ignore: Iterable[str] = (),
    device: Device = "auto",
    verify: bool = True,
) -> TextEncoder:
    """An encoder with its tokenizer.

    Args:
        name: `minilm` (the packaged default), a folder of weft's or Hugging Face's, or a Hub id; only the last asks
            the network.
        revision: branch, tag or commit of a Hub id.
        ignore: keys of config.json to pass over because you know that they change nothing.
        device: where to compute; `auto` is a GPU where there is one.
        verify: whether to compare the packaged weights with their digest.
    """
    where = choose_device(device)
    folder = find_folder(name, revision)
    if (folder / DOCUMENT).is_file():  # a model of ours, whose encoder has learned its tasks
        network = load_network(folder)
        return TextEncoder(network.encoder.to(where), network.tokenizer)
    encoder, report = read_encoder(folder, ignore, verify)
    return TextEncoder(encoder.to(where), Tokenizer.from_folder(folder), report)


def truncation_notice(cut: int, rows: int, limit: int) -> str:
    """One sentence about how many texts were cut."""
    return f"{cut:,} of {rows:,} texts were longer than {limit} tokens and were cut"


def average_layers(encoder: Encoder, batch: Batch, layers: Layers) -> States:
    """The last layer's states, or the mean of the last four."""
    if layers == "last":
        last: States = encoder(batch)
        return last
    depth = encoder.config.num_hidden_layers
    states: States = encoder(batch, layers=range(max(1, depth - 3), depth + 1))
    return replace(states, tokens=torch.stack(list(states.layers.values())).mean(0), layers={})


def describe(states: States, rows: Sequence[TokenizedRow], options: EmbedOptions) -> Iterator[TextVectors]:
    """The vectors asked for, row by row."""
    if options.level == "sentence":
        pooled = to_array(states.mean() if options.pooling == "mean" else states.first(), options.normalize)
        for index, row in enumerate(rows):
            yield TextVectors(pooled[index : index + 1], [], row.dropped)
        return
    for index, row in enumerate(rows):
        groups = row.word_groups() if options.level == "word" else token_groups(row)
        vectors = mean_of_groups(states.row(index), [positions for _, _, positions in groups])
        yield TextVectors(to_array(vectors, options.normalize), [(s, e) for s, e, _ in groups], row.dropped)


def token_groups(row: TokenizedRow) -> list[tuple[int, int, list[int]]]:
    """Start, end and position of every token that is not special."""
    positions = np.flatnonzero(row.texts >= 0).tolist()
    return [(*row.offsets[position].tolist(), [position]) for position in positions]


def mean_of_groups(states: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
    """The mean state of each group of positions, (groups, H)."""
    positions = torch.tensor([position for group in groups for position in group], dtype=torch.long)
    sizes = torch.tensor([len(group) for group in groups], dtype=torch.long)
    owner = torch.arange(len(groups)).repeat_interleave(sizes).to(states.device)
    total = states.new_zeros(len(groups), states.shape[1]).index_add(0, owner, states[positions])
    return total / sizes.unsqueeze(1).to(total)


def to_array(vectors: Tensor, normalize: bool) -> Vectors:
    """Float32 on the processor, scaled to length 1 where asked."""
    vectors = vectors.float()
    return (F.normalize(vectors, dim=-1) if normalize else vectors).cpu().numpy()
