"""A fitted target with one answer per example, so that its scores and gold are plain tensors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor

from weft.data.predictions import Prediction
from weft.data.records import Example, Gold
from weft.losses import Loss, LossFunction
from weft.targets import FittedTarget, ScoresLoss
from weft.tensors import Batch, Scores
from weft.tokenization.examples import TokenizedExample


@dataclass(frozen=True)
class FittedRowTarget(FittedTarget):
    """A target with one answer per example, B in all, so that scores and gold are plain tensors."""

    @abstractmethod
    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        """Gold answers as a loss takes them, (B,) or (B, L)."""

    @abstractmethod
    def row_loss(self, loss: Loss) -> LossFunction:
        """The loss over a head's scores, (B, O), and `tensor`."""

    @abstractmethod
    def decode_rows(self, scores: Tensor) -> list[Prediction]:
        """A prediction per row from a head's scores, (B, O)."""

    def calibrate_rows(self, scores: Tensor, golds: Sequence[Gold], metric: str) -> Self:
        """As `calibrate`, from scores (B, O)."""
        return self

    @abstractmethod
    def explain_row(self, scores: Tensor, prediction: Prediction) -> tuple[tuple[str, ...], Tensor]:
        """As `explain`, from the scores of one row, (O,)."""

    def gold_tensors(self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]) -> list[Tensor]:
        return list(self.tensor([example.gold for example in examples]).split(1))

    def answer_loss(self, loss: Loss) -> LossFunction | None:
        """Every label counts as much as any other: a penalty on weights would else be paid by the rare ones.

        A loss of many answers at once has the kind's own default in its place.
        """
        own = loss if loss.by_answer else self.target.default_loss
        return self.row_loss(own.balanced())

    def build_loss(self, loss: Loss) -> ScoresLoss:
        compute = self.row_loss(loss)

        def over_scores(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            return compute(scores.values, batch.gold)

        return over_scores

    def decode(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        return self.decode_rows(scores.values)

    def calibrate(
        self, scores: Scores, examples: Sequence[Example], tokenized: Sequence[TokenizedExample], metric: str
    ) -> Self:
        return self.calibrate_rows(scores.values, [example.gold for example in examples], metric)

    def explain(
        self, scores: Scores, prediction: Prediction, tokenized_example: TokenizedExample
    ) -> tuple[tuple[str, ...], Tensor]:
        return self.explain_row(scores.values[0], prediction)
