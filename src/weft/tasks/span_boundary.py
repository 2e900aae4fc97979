"""Masked spans of raw text, each token told by its own state and by those beside its span (Joshi et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from weft.corpus.masking import Masked, Unigrams, mask_spans
from weft.layers.features import Features
from weft.layers.masked import BoundaryFeatures
from weft.targets import Target
from weft.targets.masked import MaskedTarget, masked_tokens_of
from weft.tasks.base.corpus import MaskedTask, UnmaskedRow
from weft.tensors import Batch, BoundaryIndex, Indices, MaskIndex
from weft.tokenization.examples import MaskedTokens, TokenizedExample

_OFFSETS = 32  # positions in a span that have embeddings of their own


class SpanBoundary(MaskedTask):
    """Reads raw text in which spans of whole words are masked; answers what stood there, in two ways.

    Lengths are geometric, at most ten words; each span is decided on once: masked, replaced or left. The loss is that
    of masked words plus that of predicting each token from the states just outside its span and its position in it.
    """

    kind: Literal["span_boundary"] = "span_boundary"
    example: ClassVar[Mapping[str, Any]] = {"train": "notes.txt"}
    p: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Of the geometric law of lengths: the larger, the shorter spans are."""
    longest: Annotated[int, Field(ge=1)] = 10
    """The most words of a span."""

    def mask_row(self, row: UnmaskedRow, mask: int, unigrams: Unigrams, rng: np.random.Generator) -> Masked:
        row_of, law = np.zeros_like(row.ids), (self.mlm_probability, self.p, self.longest)
        return mask_spans(row.ids, row.special, row.word_of, row_of, mask, unigrams, rng, *law, minimum=0)

    def target(self) -> Target:
        return MaskedTarget(boundary=True)

    def indices(self, tokenized: Sequence[TokenizedExample], batch: Batch) -> Indices:
        """Each example's masked tokens, and then the same once more, to be predicted from outside their spans."""
        parts: list[tuple[Tensor, ...]] = []
        for row, tokenized_example in enumerate(tokenized):
            masked, offset = masked_tokens_of(tokenized_example), batch.row_offsets[row]
            positions, *outside = _outside(masked, int(batch.lengths[row]) - 1)
            for from_boundary in (False, True):
                asked = torch.full_like(positions, from_boundary, dtype=torch.bool)
                parts.append((offset + positions, asked, offset + outside[0], offset + outside[1], outside[2]))
        positions, *boundary = (torch.cat(part) for part in zip(*parts, strict=True))
        return Indices(masked=MaskIndex(positions), boundary=BoundaryIndex(*boundary))

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        return 2 * super().count_outputs(tokenized_example)

    def build_features(self, width: int) -> Features:
        return BoundaryFeatures(width, _OFFSETS)


def _outside(masked: MaskedTokens, last: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The masked tokens' positions in their row, those just left and right of their spans, and the offsets within.

    A token that the user masked is a span of its own.
    """
    positions = torch.from_numpy(masked.positions)
    if masked.outside is None or masked.offset is None:
        return positions, (positions - 1).clamp_min(0), (positions + 1).clamp_max(last), torch.zeros_like(positions)
    outside = torch.from_numpy(masked.outside)
    return positions, outside[:, 0], outside[:, 1], torch.from_numpy(masked.offset)
