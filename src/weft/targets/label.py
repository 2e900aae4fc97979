"""One of L labels per row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from torch import Tensor

from weft.baselines.majority import majority_labels
from weft.baselines.tfidf import tfidf_labels, tfidf_pair_labels
from weft.data.predictions import LabelPrediction, Prediction
from weft.data.records import Example, Gold, Input
from weft.data.redact import common_labels, nearest_name
from weft.losses import Loss, LossFunction, TargetType
from weft.losses.cross_entropy import CrossEntropy
from weft.metrics.calibration import fit_temperature, reliability
from weft.metrics.classification import Floats, count, label_ids
from weft.metrics.costs import Costs, Urgency, cheapest_answers, cheapest_constant, cost_matrix
from weft.metrics.decisions import cost_table
from weft.metrics.outcomes import Outcomes
from weft.metrics.outcomes.costed import COST, CostedOutcomes
from weft.metrics.outcomes.label import LabelOutcomes
from weft.metrics.sections import Calibration, ConfusionMatrix, Section
from weft.metrics.thresholds import MINIMUM, choose_threshold
from weft.metrics.wrong_rows import Mistake
from weft.spec import describe
from weft.targets import Measures, Ranking, Target, as_logits, confidences, text_pairs
from weft.targets.base.reading import read_label
from weft.targets.base.row import FittedRowTarget

_SHOWN = 20  # labels of a message


@dataclass(frozen=True)
class LabelTarget(Target):
    """One of the labels per row; those that occur in training where the options name none.

    `costs` are of wrong answers, by the true label and the one that was given; what they do not name costs 1.
    """

    target_type: ClassVar[TargetType] = "label"
    labels_rows: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = (
        *("accuracy", "f1_macro", "f1_micro", "precision_macro", "recall_macro", "matthews_correlation"),
    )

    default_metric: str = "f1_macro"
    costs: Costs | None = None

    @property
    def fitted(self) -> type[FittedLabel]:
        return FittedLabel

    @property
    def default_loss(self) -> Loss:
        return CrossEntropy()

    @property
    def weighs_costs(self) -> bool:
        return self.costs is not None

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        return read_label(cell, self.labels)

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        return gold

    def labels_in(self, gold: Gold) -> Iterable[str]:
        return (str(gold),)

    def find_misnamed(self, counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        named = dict.fromkeys(name for true, answers in (self.costs or {}).items() for name in (true, *answers))
        names = common_labels(counts) | frozenset(self.labels)
        shown = sorted(names, key=natural)
        for name in named:
            if name not in counts:
                known = f"; its labels are: {', '.join(shown)}" if 0 < len(shown) <= _SHOWN else ""
                yield "costs", f"{describe(name)} is no label of this task{nearest_name(name, names) or known}"

    def gold_of(self, label: str) -> Gold:
        return label

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        names = self.labels or ("a", "b")
        return [names[row % len(names)] for row in range(len(inputs))]

    def fit(self, golds: Iterable[Gold]) -> FittedLabel:
        """The labels of the options, or those that occur: numbers in the order of numbers, words in that of words."""
        counts = Counter(map(str, golds))
        names = self.labels or tuple(sorted(counts, key=natural))
        return FittedLabel(self, names, tuple(counts[name] for name in names))


@dataclass(frozen=True)
class FittedLabel(FittedRowTarget):
    """The labels in order, how often each occurred in training, and how the model's confidence is to be read.

    With costs, a row gets the label of least expected cost. Without, with two labels it gets the second where the
    probability of that reaches `threshold`; otherwise the likeliest wins.
    """

    target: LabelTarget
    counts: tuple[int, ...]
    temperature: float = 1.0  # as the loss has it, until rows are fitted to
    threshold: float = 0.5

    @property
    def weighs_uncalibrated(self) -> bool:
        return self.target.weighs_costs and self.temperature == 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "counts", tuple(self.counts))

    @property
    def label_counts(self) -> tuple[int, ...]:
        return self.counts

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.labels), "label")

    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        indices = {label: index for index, label in enumerate(self.labels)}
        return torch.tensor([indices[str(gold)] for gold in golds])

    def row_loss(self, loss: Loss) -> LossFunction:
        return loss.build(self.counts, sum(self.counts))

    def probabilities(self, scores: Tensor) -> Tensor:
        """(B, O) → (B, L)."""
        return torch.softmax(as_logits(scores.float()) / self.temperature, 1)

    @property
    def metrics_with_intervals(self) -> tuple[str, ...]:
        return self.metrics if self.costs is None else (*self.metrics, COST)

    @cached_property
    def costs(self) -> Floats | None:
        """What each answer to each true label costs, (L, L), where the options say so."""
        return None if self.target.costs is None else cost_matrix(self.target.costs, self.labels)

    def decide(self, likely: Tensor) -> Tensor:
        """The index of the label that each row gets, (B, L) → (B,)."""
        if self.costs is not None:
            return torch.from_numpy(cheapest_answers(likely.numpy(), self.costs))
        return (likely[:, 1] >= self.threshold).long() if len(self.labels) == 2 else likely.argmax(1)

    def decode_rows(self, scores: Tensor) -> list[Prediction]:
        likely = self.probabilities(scores)
        best = self.decide(likely)
        chosen = likely.gather(1, best.unsqueeze(1)).squeeze(1)
        return [
            LabelPrediction(self.labels[index], score, dict(zip(self.labels, row, strict=True)))
            for index, score, row in zip(best.tolist(), chosen.tolist(), likely.tolist(), strict=True)
        ]

    def calibrate_rows(self, scores: Tensor, golds: Sequence[Gold], metric: str) -> Self:
        gold = self.tensor(golds).numpy()
        temperature = fit_temperature(as_logits(scores.float()).numpy(), gold)
        fitted = replace(self, temperature=temperature, threshold=0.5)
        if len(self.labels) != 2 or self.costs is not None:  # which decide
            return fitted
        likely = fitted.probabilities(scores)[:, 1].numpy()

        def value(threshold: float) -> float:
            given, rows = (likely >= threshold).astype(np.int64), np.arange(len(gold))
            outcomes = LabelOutcomes(lines=rows, scores=likely, labels=self.labels, gold=gold, predicted=given)
            return float(outcomes.measure(metric)[0])

        both = min(gold.sum(), (1 - gold).sum()) >= MINIMUM
        return replace(fitted, threshold=choose_threshold(likely, value, len(gold) if both else 0))

    def outcomes(self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]) -> LabelOutcomes:
        outcomes = LabelOutcomes(
            lines=np.asarray(lines),
            scores=confidences(predictions),
            labels=self.labels,
            gold=label_ids([str(gold) for gold in golds], self.labels),
            predicted=label_ids([str(prediction.gold) for prediction in predictions], self.labels),
        )
        if self.costs is None:
            return outcomes
        costs = self.costs[outcomes.gold, outcomes.predicted]
        return CostedOutcomes.from_arrays({**outcomes.arrays(), "costs": costs}, self.labels)

    def details(self, golds: Sequence[Gold], predictions: Sequence[Prediction], outcomes: Outcomes) -> dict[str, Any]:
        given = cast(LabelOutcomes, outcomes)
        details = super().details(golds, predictions, outcomes)
        details["confusion"] = count(given.gold, given.predicted, len(self.labels)).tolist()
        if not np.isnan(given.scores).any():  # baselines have no confidence
            details["reliability"] = reliability(given.scores, given.right)
        return details

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [LabelPrediction(label) for label in majority_labels([str(row.gold) for row in train], len(rows))]

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        golds, weighs = [str(row.gold) for row in train], self.costs is not None
        if len(train[0].texts) == 2:
            chances = tfidf_pair_labels(text_pairs(train), golds, text_pairs(rows), calibrated=weighs)
        else:
            texts = [row.texts[0] for row in train], golds, [row.texts[0] for row in rows]
            chances = tfidf_labels(*texts, calibrated=weighs)
        likely = np.array([[row.get(label, 0.0) for label in self.labels] for row in chances])
        best = likely.argmax(1) if self.costs is None else cheapest_answers(likely, self.costs)
        return [LabelPrediction(self.labels[index]) for index in best.tolist()]

    def label_loss(self, scores: Tensor) -> Tensor:
        gold = torch.arange(len(self.labels), device=scores.device)
        return torch.nn.functional.cross_entropy(as_logits(scores), gold, reduction="sum")

    def explain_row(self, scores: Tensor, prediction: Prediction) -> tuple[tuple[str, ...], Tensor]:
        """Where one score stands for two labels, that of the first label is its negative."""
        ((label, _),) = prediction.given()
        index = self.labels.index(label)
        if len(scores) == 1:
            return (label,), scores[0] if index else -scores[0]
        return (label,), scores[index]

    def without_thresholds(self) -> Self:
        return replace(self, threshold=0.5)

    def find_mistake(self, gold: Gold, prediction: Prediction) -> Mistake | None:
        ((label, score),) = prediction.given()
        return None if label == gold else Mistake(str(gold), label, score)

    def support(self, prediction: Prediction, other: Prediction, kept: Sequence[int]) -> float:
        ((label, _),) = prediction.given()
        return other.label_scores()[label]

    def ranking(self, label: str | None = None) -> Ranking:
        """Without a label by the costs (see `Urgency`), or of two labels by the second."""
        if label is None and self.costs is not None:
            weights = dict(zip(self.labels, Urgency.of(self.costs).weights.tolist(), strict=True))
            return lambda prediction: sum(weights[name] * p for name, p in prediction.label_scores().items())
        return super().ranking(self.labels[1] if label is None and len(self.labels) == 2 else label)

    def decision_sections(
        self, golds: Sequence[Gold], predictions: Sequence[Prediction], find: str | None = None
    ) -> list[Section]:
        """With costs, what was decided beside other ways to decide, and the recall of the costliest label to miss."""
        asked = super().decision_sections(golds, predictions, find)
        if self.costs is None:
            return asked
        urgency = Urgency.of(self.costs)
        label, unread = self.labels[urgency.label], " or ".join(self.labels[index] for index in urgency.unread)
        ranked_by = f"expected cost of answering {unread}"
        found = asked or [self.workload(label, self.ranking(), ranked_by, golds, predictions)]
        return [self._cost_table(self.costs, golds, predictions), *found]

    def _cost_table(self, matrix: Floats, golds: Sequence[Gold], predictions: Sequence[Prediction]) -> Section:
        scores = (prediction.label_scores() for prediction in predictions)
        likeliest = [max(some, key=some.__getitem__) for some in scores]
        constant = cheapest_constant(self.counts, matrix)
        gold = label_ids([str(one) for one in golds], self.labels)
        decided = {
            "this model": label_ids([str(prediction.gold) for prediction in predictions], self.labels),
            "the likeliest label of each row": label_ids(likeliest, self.labels),
            f"always {self.labels[constant]}": np.full(len(gold), constant),
        }
        return cost_table({name: matrix[gold, answers] for name, answers in decided.items()})

    def report_sections(self, measures: Measures) -> list[Section]:
        details = measures.details
        sections = super().report_sections(measures)
        sections.append(ConfusionMatrix(details["labels"], details["confusion"]))
        if "reliability" in details:  # baselines have no confidence
            sections.append(Calibration(details["reliability"], measures.scores["calibration_error"]))
        return sections


def natural(label: str) -> tuple[int, float, str]:
    """Sorts numbers as numbers, before words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
