"""Answers from the names of labels alone: a head whose directions are the vectors of the labels' words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from weft.conditioning import task_key
from weft.data.label_words import label_texts
from weft.data.records import Input
from weft.encoder.blank import Blank
from weft.errors import ConfigError, TruncationWarning, warn_caller
from weft.heads.cosine import Cosine, CosineHead
from weft.model.devices import Device
from weft.model.embed import load_encoder, truncation_notice
from weft.model.inputs import FLAGS
from weft.model.model import Model
from weft.model.network import Network
from weft.spec import describe
from weft.tasks import Task
from weft.tasks.classification import Classification
from weft.tensors import States, batches_by_length
from weft.tokenization.cache import SharedTokenizer
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import Tokenizer

RESERVED = ("overall", *FLAGS)  # what a task cannot be called, in a config neither
_BATCH_TOKENS = 4096


def zero_shot(
    encoder: str | os.PathLike[str],
    labels: Iterable[str] | Mapping[str, str],
    *,
    task: str = "label",
    text: str = "text",
    label: str = "label",
    revision: str | None = None,
    device: Device = "auto",
) -> Model:
    """A model with one classification task that has seen no row: each text gets the label whose words are nearest.

    Its probabilities are calibrated on nothing. It is where to begin labelling from: measure it on the first gold rows
    (`Model.evaluate`), then train.

    Args:
        encoder: `minilm`, a folder, or a Hub id, as `weft.load_encoder` takes them.
        labels: the labels' names, or a description of each by name; of a name, its words are read (`card_lost`).
        task: what to call the task.
        text: the column of the text, in files and tables.
        label: the column of the gold label, to measure on.
        revision: branch, tag or commit of a Hub id.
        device: where to compute; `auto` is a GPU where there is one.
    """
    if isinstance(labels, str):
        raise ConfigError("received one text where labels are expected; put them into a list")
    if not re.fullmatch(r"[\w-]+", task) or task in RESERVED:
        raise ConfigError(
            f"a task's name has letters, digits, - and _ only, and is none of: {', '.join(RESERVED)}; received "
            f"{describe(task)}"
        )
    texts = label_texts(labels.items() if isinstance(labels, Mapping) else ((name, "") for name in labels))
    source = load_encoder(encoder, revision=revision, device=device)
    source.encoder.pooler = None  # tasks bring their own
    source.encoder.config = replace(source.encoder.config, with_pooler=False)
    kind = Classification(head=Cosine(), labels=tuple(texts), text=text, label=label)
    with Blank():  # nothing is left blank: the head is all there is beside the encoder
        network = Network(source.encoder, source.tokenizer, {task: kind}, {task: kind.target().fit([])})
    network.to(next(source.encoder.parameters()).device)
    if cut := begin_with_words(network, task, texts):
        notice = truncation_notice(cut, len(texts), network.max_length(task))
        warn_caller(TruncationWarning(f"of the labels' descriptions, {notice}"))
    return Model(network)


def begin_with_words(network: Network, task: str, texts: Mapping[str, str]) -> int:
    """Let the cosine head of a task begin with what the task itself reads in the text of each of its labels.

    Returns how many of these are longer than the task reads. Raises ConfigError for a head without a direction per
    label, and for labels in which there is nothing to read or that read the same.
    """
    head, labels = network.heads[network.head_of(task)], network.targets[task].labels
    if not isinstance(head, CosineHead) or len(head.weight) != len(labels):
        raise ConfigError(
            f'tasks.{task}.head: cannot begin with the words of labels; that needs head = "cosine" and a loss with one '
            "score per label"
        )
    read = [texts[label] for label in labels]
    tokenized = encode_labels(network.tasks[task], read, network.tokenizer, network.max_length(task))
    head.begin(features_of(network, task, tokenized))
    return sum(example.dropped > 0 for example in tokenized)


def encode_labels(task: Task, texts: Sequence[str], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
    """What a task reads in the text of each label.

    Raises ConfigError for labels in which there is nothing to read or that read the same.
    """
    tokenized = task.encode([Input((text,)) for text in texts], tokenizer, max_length)
    _check_readable(texts, tokenized, SharedTokenizer(tokenizer))
    return tokenized


@torch.no_grad()
def features_of(network: Network, task: str, tokenized: list[TokenizedExample]) -> Tensor:
    """What a task's head reads of each example, (R, F), in their order; nothing is dropped out."""
    network.eval()
    layers = network.tasks[task].layers(network.encoder.config.num_hidden_layers)
    device = next(network.parameters()).device
    parts, order = [], []
    for indices in batches_by_length([example.tokens for example in tokenized], _BATCH_TOKENS):
        batch = network.collate(task, [tokenized[index] for index in indices]).to(device)
        states: States = network.encoder(batch, network.conditioner, layers=layers)
        parts.append(network.features[task_key(task)](states))
        order += indices
    return torch.cat(parts)[torch.tensor(order).argsort()]


def uncalibrated_note(network: Network) -> str | None:
    """A sentence about tasks that no row with a label was seen for; None where all were trained."""
    counts = {name: target.label_counts for name, target in network.targets.items()}
    names = [name for name, seen in counts.items() if seen and not any(seen)]
    if not names:
        return None
    return (
        f"calibrated on nothing: {', '.join(names)} compares texts with the words of labels, and no row has shown how "
        "far to trust it; label some rows and train"
    )


def _check_readable(texts: Sequence[str], tokenized: Sequence[TokenizedExample], tokenizer: SharedTokenizer) -> None:
    faults = [f"label {n} has nothing to read" for n, text in enumerate(texts, 1) if not tokenizer.has_tokens(text)]
    first: dict[bytes, int] = {}
    for number, example in enumerate(tokenized, 1):
        same = first.setdefault(b"".join(row.ids.tobytes() for row in example.rows), number)
        if same < number:
            faults.append(f"labels {same} and {number} read the same to this encoder; describe them in different words")
    if faults:
        raise ConfigError(*faults)
