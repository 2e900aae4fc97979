"""Outcomes of masked tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.metrics.outcomes import Floats, Outcomes, Weights


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenOutcomes(Outcomes):
    """How many tokens are masked in each row, how many of them are right, and the sum of their log likelihoods."""

    kind: ClassVar[str] = "tokens"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"perplexity"})

    sums: Floats  # (R, 3) in this order

    @property
    def metrics(self) -> tuple[str, ...]:
        return "accuracy", "perplexity", "likelihood"

    def _measure(self, metrics: Sequence[str], weights: Weights) -> dict[str, Floats]:
        measured = token_scores(weights @ self.sums)
        return {metric: measured[metric] for metric in metrics}


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundaryOutcomes(TokenOutcomes):
    """The same, and once more of predictions from beside each span alone."""

    kind: ClassVar[str] = "boundary_tokens"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"perplexity", "boundary_perplexity"})

    boundary_sums: Floats  # (R, 3) as `sums`

    @property
    def metrics(self) -> tuple[str, ...]:
        return *super().metrics, "boundary_accuracy", "boundary_perplexity"

    def _measure(self, metrics: Sequence[str], weights: Weights) -> dict[str, Floats]:
        boundary = {f"boundary_{name}": values for name, values in token_scores(weights @ self.boundary_sums).items()}
        measured = token_scores(weights @ self.sums) | boundary
        return {metric: measured[metric] for metric in metrics}


def token_scores(sums: Floats) -> dict[str, Floats]:
    """Accuracy, perplexity and likelihood, (B,) each; nan where nothing is masked, (B, 3) → (B,)."""
    tokens, right, log_likelihood = np.where(sums[:, :1] > 0, sums, np.nan).T
    mean = log_likelihood / tokens
    return {"accuracy": right / tokens, "perplexity": np.exp(-mean), "likelihood": np.exp(mean)}
