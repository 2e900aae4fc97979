"""Kinds that learn from raw text alone, and those among them that hide tokens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from weft.corpus.corpus import special_ids
from weft.corpus.documents import Documents
from weft.corpus.masking import Masked, Unigrams
from weft.data.records import Content, Gold
from weft.encoder.encoder import Encoder
from weft.layers.features import Reader
from weft.layers.masked import HiddenReader, VocabularyHead
from weft.losses import Loss
from weft.losses.cross_entropy import CrossEntropy
from weft.targets import Target
from weft.targets.masked import HiddenTarget, hidden_in
from weft.tasks import Task
from weft.tensors import Batch
from weft.tokenization.examples import Hidden, Reading
from weft.tokenization.tokenizer import Encoded, Tokenizer

MASK = "[MASK]"  # what users write, whatever the tokenizer's own mask token is called


@dataclass(frozen=True, slots=True)
class Line:
    """A row of tokens before any is hidden."""

    ids: NDArray[np.int64]  # (T,)
    special: NDArray[np.bool_]  # (T,) never hidden
    word_of: NDArray[np.int64]  # (T,) a number for each word, -1 for special tokens


class CorpusTask(Task):
    """A kind that makes its own answers from raw text.

    `train`, `dev` and `test` are files, folders of files, or patterns like `notes/*.txt`; `dev` may be a share of the
    documents.
    """

    reads_corpus: ClassVar[bool] = True

    documents: Documents = "blocks"
    """What a document is: a block of lines between blank ones, a whole file, or each line or row (rows)."""
    text: str = "text"
    """Column of the text, in tables."""
    max_length: Annotated[int, Field(ge=3)] | None = 128
    """Tokens per row."""

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return (self.text,)

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.text

    def read_gold(self, cell: Any, content: Content | None = None, column: str | None = None) -> Gold | None:
        return None  # nobody wrote the answers down

    def default_loss(self) -> Loss:
        return CrossEntropy()

    def default_metric(self) -> str:
        return "accuracy"

    def inputs(self, width: int) -> int:
        return width


class HiddenTask(CorpusTask):
    """A kind that hides tokens of raw text and answers what they were.

    There is one vocabulary, so all such tasks have one head, unless one names another by `head.share`.
    """

    common_head: ClassVar[str | None] = "vocabulary"

    share: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """Share of the tokens to choose."""

    @abstractmethod
    def hide(self, line: Line, mask: int, unigrams: Unigrams, chance: np.random.Generator) -> Masked:
        """A row with some of its tokens hidden."""

    def learn(self, golds: Iterable[Gold]) -> Target:
        return HiddenTarget()

    def target_from(self, data: dict[str, Any]) -> Target:
        return HiddenTarget(**data)

    def encode(self, contents: Sequence[Content], tokenizer: Tokenizer, max_length: int) -> list[Reading]:
        mask, specials = tokenizer.mask_id, np.array(special_ids(tokenizer))
        spell = tokenizer.backend.id_to_token
        texts = [one.texts[0].replace(MASK, spell(mask) or MASK) for one in contents if one.tokens is None]
        written = iter(tokenizer.encode(texts, max_length=max_length, truncation=self.truncation) if texts else [])
        found = []
        for content in contents:
            if content.tokens is None:  # what is hidden in a text is what the user hid
                row = next(written)
                places = np.flatnonzero(np.array(row.ids) == mask)
                found.append(Reading(content, [row], hidden=Hidden(places, None, spell)))
                continue
            ids, begins, segments = tokenizer.join(content.tokens.ids, content.tokens.begins_word)
            special = np.isin(ids, specials)
            line = Line(ids, special, np.where(special, -1, np.cumsum(begins)))
            masked = self.hide(line, mask, content.tokens.unigrams, np.random.default_rng(content.tokens.chance))
            hidden = Hidden(masked.places, masked.gold, spell, masked.spans, masked.offset)
            found.append(Reading(content, [Encoded(masked.ids.tolist(), segments, 0)], hidden=hidden))
        return found

    def default_metric(self) -> str:
        return "likelihood"

    def layout(self, readings: Sequence[Reading], batch: Batch) -> dict[str, Tensor]:
        """The packed places of what is hidden, (M,)."""
        places = [
            batch.starts[row] + torch.from_numpy(hidden_in(reading).places) for row, reading in enumerate(readings)
        ]
        return {"places": torch.cat(places)}

    def answers(self, reading: Reading) -> int:
        return len(hidden_in(reading).places)

    def build_reader(self, width: int) -> Reader:
        return HiddenReader()

    def build_head(self, inputs: int, outputs: int, encoder: Encoder) -> nn.Module:
        return VocabularyHead(encoder)
