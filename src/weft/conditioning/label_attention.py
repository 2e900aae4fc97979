"""Label embeddings inside self-attention (Wang et al., "Integrating Task Specific Information …"): what the first token
gathers is drawn towards tokens that match a label.

In every layer and head, the score of the first token for another token becomes the largest of its own score and the
scores of the task's M labels, whose queries come from the layer's own query projection. Its score for itself, and all
rows of other tokens, stay. Only one row of attention changes, so the others keep the fused kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from weft.conditioning import ConditionedLayers, Conditioning, NetworkShape, chosen_layers, task_key
from weft.data.label_words import label_words
from weft.encoder.attention import SelfAttention, first_token_scores
from weft.encoder.conditioner import Conditioner, Readout
from weft.encoder.dropout import dropout
from weft.errors import ConfigError, Fault
from weft.tensors import Batch, softmax_per_row

Init = Literal["random", "words", "class_mean"]


class LabelAttention(Conditioning):
    """Each task with labels owns one embedding per label, shared by all layers; tasks without labels are untouched."""

    kind: Literal["label_attention"] = "label_attention"
    reads_first_token: ClassVar[bool] = True
    excludes: ClassVar[Mapping[str, str]] = {
        "task_activated": "the labels' queries and the tokens' keys would be in different spaces"
    }
    renamed: ClassVar[Mapping[str, str]] = {"start": "init"}

    init: Init = "words"
    """`random`; `words`: the input embeddings of the label's name, or of `keywords`; `class_mean`: the mean first-token
    state of training rows with the label."""
    keywords: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Words to stand for a label instead of its name: keywords.TASK.LABEL = "chest pain breathless"."""
    weight: Annotated[float, Field(ge=0)] = 3.0
    """λ: weight of the loss by which each label's embedding must be classified as that label."""
    label_loss: Literal["mean", "sum"] = "mean"
    """Over the labels. The paper has the sum, for tasks of two to six labels; with many it would drown the task."""
    layers: ConditionedLayers = "all"
    """Layers it acts in, counted from 0, the lowest; "all" for every one."""

    def build(self, shape: NetworkShape) -> Conditioner:
        known = {task: set(names) for task, names in shape.labels.items()}
        unknown = [
            f"{task}.{label}"
            for task, words in self.keywords.items()
            for label in words
            if label not in known.get(task, ())
        ]
        if unknown:
            message = f"no task has the label {', '.join(unknown)}; write TASK.LABEL"
            raise ConfigError(Fault("conditioning.keywords", message))
        losses = {task: loss for task, loss in shape.label_losses.items() if self.weight and task not in shape.compared}
        return LabelConditioner(
            labels={
                task: nn.Parameter(torch.randn(len(names), shape.config.hidden_size) * shape.config.initializer_range)
                for task, names in shape.labels.items()
            },
            layers=chosen_layers(self.layers, shape.config),
            phrases={task: phrases(names, self.keywords.get(task, {})) for task, names in shape.labels.items()},
            init=self.init,
            losses=losses,
            weight=self.weight,
            mean=self.label_loss == "mean",
        )


class LabelConditioner(Conditioner):
    """The label embeddings and their two effects: on the first token's attention, and on the loss.

    Args:
        labels: the embeddings of each task's labels, (L, H).
        layers: those whose attention changes.
        phrases: the words that stand for each task's labels, where embeddings begin with words.
        losses: for each task whose head can read an embedding, the loss of calling every label itself.
        weight: of these losses.
        mean: whether these are divided by the number of labels.
    """

    def __init__(
        self,
        labels: Mapping[str, nn.Parameter],
        layers: Iterable[int],
        phrases: Mapping[str, Sequence[str]],
        init: Init,
        losses: Mapping[str, Callable[[Tensor], Tensor]],
        weight: float,
        mean: bool = True,
    ) -> None:
        super().__init__()
        self.layers, self.phrases, self.init = frozenset(layers), phrases, init
        self.losses, self.weight, self.mean = losses, weight, mean
        self.labels = nn.ParameterDict({task_key(task): embeddings for task, embeddings in labels.items()})

    def at_readout(self, q_first: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch) -> Readout | None:
        if batch.task not in self.phrases or layer.index not in self.layers:
            return None
        own = first_token_scores(q_first, k, batch)
        queries = layer.split_heads(layer.query(self.labels[task_key(batch.task)])) * k.shape[-1] ** -0.5  # (L, N, D)
        by_label = queries.transpose(0, 1) @ k.permute(1, 2, 0)  # (N, L, T): tokens last, for speed
        best, label = (values.T for values in by_label.max(1))
        best = best.index_fill(0, batch.row_offsets, -torch.inf)  # the first token's score for itself stays
        weights = softmax_per_row(torch.maximum(own, best), batch)
        pulled = torch.where(best > own, label, -1)
        used = dropout(weights, layer.p) if layer.training else weights
        gathered = torch.zeros_like(q_first).index_add(0, batch.row_of, (used.unsqueeze(-1) * v).to(q_first.dtype))
        return Readout(gathered, weights, pulled)

    def extra_loss(self, task: str, head: Callable[[Tensor], Tensor]) -> Tensor | None:
        """λ times the mean or sum over labels of the loss of calling label i's embedding label i.

        A head that compares two texts reads features of both, which a label's embedding is not; there it is left out.
        """
        if task not in self.losses:
            return None
        labels = self.labels[task_key(task)]
        return self.weight * self.losses[task](head(labels)) / (len(labels) if self.mean else 1)

    @torch.no_grad()
    def start(self, words: Callable[[Sequence[str]], Tensor], class_means: Callable[[str], Tensor]) -> None:
        for task, phrases in self.phrases.items():
            if self.init == "words":
                self.labels[task_key(task)].copy_(words(phrases))
            elif self.init == "class_mean":
                self.labels[task_key(task)].copy_(class_means(task))

    def encoder_key(self, task: str) -> Hashable:
        return task if task in self.phrases else ""


def phrases(names: Sequence[str], keywords: Mapping[str, str]) -> list[str]:
    """What stands for each label: its keywords, or the words in its name."""
    return [keywords.get(name) or label_words(name) or name for name in names]
