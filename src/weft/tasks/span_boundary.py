"""Masked spans of raw text, each token told by its own state and once more by the states beside its span (SpanBERT)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from weft.corpus.masking import Masked, Unigrams, mask_spans
from weft.layers.features import Features
from weft.layers.masked import BoundaryFeatures
from weft.targets import Target
from weft.targets.masked import MaskedTarget, masked_tokens_of
from weft.tasks.base.corpus import Line, MaskedTask
from weft.tensors import Batch
from weft.tokenization.examples import TokenizedExample

_OFFSETS = 32  # tokens of a span that are told apart


class SpanBoundary(MaskedTask):
    """Reads raw text in which spans of whole words are masked; answers what stood there, in two ways.

    Lengths are geometric, at most ten words; each span is decided on once: masked, replaced or left. The loss is that
    of masked words plus that of telling each token from the states just outside its span and its place in it.
    """

    kind: Literal["span_boundary"] = "span_boundary"
    p: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Of the geometric law of lengths: the larger, the shorter spans are."""
    longest: Annotated[int, Field(ge=1)] = 10
    """The most words of a span."""

    def mask_row(self, line: Line, mask: int, unigrams: Unigrams, rng: np.random.Generator) -> Masked:
        row, law = np.zeros_like(line.ids), (self.mlm_probability, self.p, self.longest)
        return mask_spans(line.ids, line.special, line.word_of, row, mask, unigrams, rng, *law, minimum=0)

    def target(self) -> Target:
        return MaskedTarget(boundary=True)

    def indices(self, tokenized: Sequence[TokenizedExample], batch: Batch) -> dict[str, Tensor]:
        """For each example its masked tokens, and then the same to be told from beside; see `BoundaryFeatures`."""
        parts: dict[str, list[Tensor]] = {name: [] for name in ("places", "left", "right", "offset", "beside")}
        for row, tokenized_example in enumerate(tokenized):
            masked, start = masked_tokens_of(tokenized_example), batch.row_offsets[row]
            places = torch.from_numpy(masked.places)
            known = masked.outside is not None and masked.offset is not None
            beside = torch.stack([places - 1, places + 1], 1).clamp(0, int(batch.lengths[row]) - 1)
            outside = torch.from_numpy(masked.outside) if known else beside
            offset = torch.from_numpy(masked.offset) if known else torch.zeros_like(places)
            parts["places"] += [start + places] * 2
            parts["left"] += [start + outside[:, 0]] * 2
            parts["right"] += [start + outside[:, 1]] * 2
            parts["offset"] += [offset] * 2
            parts["beside"] += [torch.zeros_like(places, dtype=torch.bool), torch.ones_like(places, dtype=torch.bool)]
        return {name: torch.cat(found) for name, found in parts.items()}

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        return 2 * super().count_outputs(tokenized_example)

    def build_features(self, width: int) -> Features:
        return BoundaryFeatures(width, _OFFSETS)
