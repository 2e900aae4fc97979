"""Kinds that learn from raw text alone, and those among them that hide tokens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import nn

from weft.corpus.corpus import special_ids
from weft.corpus.documents import Documents
from weft.corpus.loading import CorpusFormat
from weft.corpus.masking import Masked, Unigrams
from weft.data.records import Input
from weft.encoder.encoder import Encoder
from weft.heads import Head
from weft.heads.linear import Linear
from weft.heads.vocabulary import VocabularyHead
from weft.layers.features import Features
from weft.layers.masked import MaskedFeatures
from weft.targets import Target
from weft.targets.masked import MaskedTarget, masked_tokens_of
from weft.tasks import Task
from weft.tasks.base.files import FilesOption, RowsOption, RowsOrShareOption
from weft.tensors import Batch, Indices, MaskIndex
from weft.tokenization.examples import MaskedTokens, TokenizedExample
from weft.tokenization.tokenizer import Tokenizer

_HEAD = "the head is that of the vocabulary; leave it out, or name only head.share"
MASK = "[MASK]"  # what users write, whatever the tokenizer's own mask token is called


@dataclass(frozen=True, slots=True)
class UnmaskedRow:
    """A row of tokens before any is masked."""

    ids: NDArray[np.int32]  # (T,)
    special: NDArray[np.bool_]  # (T,) never masked
    word_of: NDArray[np.int64]  # (T,) a number for each word, -1 for special tokens


class CorpusTask(Task):
    """A kind that makes its own answers from raw text."""

    train: FilesOption = None
    """Raw text to learn from: a file (.txt, or a table), a folder of files, or a pattern like `notes/*.txt`."""
    dev: RowsOrShareOption = None
    """Raw text to choose by, or the share of the training text to hold out, by documents, 0 for none; 0.1 if unset."""
    test: RowsOption = None
    """Raw text to report on; the dev text where there is none."""
    fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the training rows to use."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Most training rows to use."""
    documents: Documents = "blocks"
    """What a document is: a block of lines between blank ones, a whole file, or each line or row (rows)."""
    text: str = "text"
    """Column of the text, in tables."""
    max_length: Annotated[int, Field(ge=3)] | None = 128
    """Tokens per row."""

    @property
    def format(self) -> CorpusFormat:
        """What is read of its raw text, and the rows it is cut to."""
        return CorpusFormat(self.documents, self.text, self.max_length, self.text_count == 2)

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return (self.text,)

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.text

    def feature_size(self, width: int) -> int:
        return width


class MaskedTask(CorpusTask):
    """A kind that hides tokens of raw text and answers what they were.

    There is one vocabulary, so all such tasks have one head, unless one names another by `head.share`.
    """

    common_head: ClassVar[str | None] = "vocabulary"
    renamed: ClassVar[Mapping[str, str]] = {"share": "mlm_probability"}

    head: Head = Linear()
    """That of the vocabulary, which all such tasks have in common; `head.share` gives a task one of another name."""
    mlm_probability: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """Share of the tokens to choose."""

    def idle_options(self) -> dict[str, str]:
        head = {} if self.head.model_copy(update={"share": None}) == Linear() else {"head": _HEAD}
        return super().idle_options() | head | {"pooling": "each masked token has a state of its own; leave it out"}

    def check_tokenizer(self, tokenizer: Tokenizer) -> None:
        _ = tokenizer.mask_id  # raises where there is none

    @abstractmethod
    def mask_row(self, row: UnmaskedRow, mask: int, unigrams: Unigrams, rng: np.random.Generator) -> Masked:
        """A row with some of its tokens masked."""

    def target(self) -> Target:
        return MaskedTarget()

    def encode(self, inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
        mask, specials = tokenizer.mask_id, np.array(special_ids(tokenizer))
        own_mask = tokenizer.backend.id_to_token(mask) or MASK
        texts = [input.texts[0].replace(MASK, own_mask) for input in inputs if input.tokens is None]
        written = iter(tokenizer.encode(texts, max_length=max_length, truncation=self.truncation) if texts else [])
        tokenized = []
        for input in inputs:
            if input.tokens is None:  # what is masked in a text is what the user hid
                row = next(written)
                tokens = MaskedTokens(np.flatnonzero(row.ids == mask), vocabulary=tokenizer.vocabulary)
                tokenized.append(TokenizedExample(input, [row], masked=tokens))
                continue
            row, begins = tokenizer.join(input.tokens.ids, input.tokens.begins_word)
            special = np.isin(row.ids, specials)
            unmasked = UnmaskedRow(row.ids, special, np.where(special, -1, np.cumsum(begins)))
            unigrams, rng = Unigrams(input.tokens.tokens_below), np.random.default_rng(input.tokens.seed)
            masked = self.mask_row(unmasked, mask, unigrams, rng)
            tokens = MaskedTokens(masked.positions, masked.gold, masked.spans, masked.offset, tokenizer.vocabulary)
            tokenized.append(
                TokenizedExample(input, [replace(row, ids=masked.ids.astype(np.int32, copy=False))], masked=tokens)
            )
        return tokenized

    def indices(self, tokenized: Sequence[TokenizedExample], batch: Batch) -> Indices:
        """The masked tokens of all examples, end to end."""
        positions = [
            batch.row_offsets[row] + torch.from_numpy(masked_tokens_of(tokenized_example).positions)
            for row, tokenized_example in enumerate(tokenized)
        ]
        return Indices(masked=MaskIndex(torch.cat(positions)))

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        return len(masked_tokens_of(tokenized_example).positions)

    def build_features(self, width: int) -> Features:
        return MaskedFeatures()

    def build_head(self, inputs: int, outputs: int, encoder: Encoder) -> nn.Module:
        return VocabularyHead(encoder)
