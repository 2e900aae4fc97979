"""What the words of labels tell a head before any row is seen."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from weft.errors import ConfigError
from weft.model.network import Network
from weft.model.zero_shot import encode_labels, features_of


def label_directions(network: Network, task: str) -> Tensor | None:
    """How what a head reads in the words of each label differs from their mean, (L, F), each of length 1.

    None where words cannot tell: of labels of two texts, and of labels without letters or that read the same.
    """
    kind, labels = network.tasks[task], network.targets[task].row_labels
    texts = [kind.label_text(label) for label in labels]
    if kind.text_count != 1 or len(texts) < 2 or not all(any(map(str.isalpha, text)) for text in texts):
        return None
    try:
        tokenized = encode_labels(kind, texts, network.tokenizer, network.max_length(task))
    except ConfigError:
        return None
    vectors = features_of(network, task, tokenized).double().cpu()
    return F.normalize(vectors - vectors.mean(0), dim=1)
