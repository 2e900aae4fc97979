"""Every loss against a plain loop over rows, values and gradients, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from weft.errors import ConfigError
from weft.losses import Loss, label_weights
from weft.losses.binary import Binary
from weft.losses.cross_entropy import CrossEntropy
from weft.losses.focal import Focal
from weft.losses.mse import Mse
from weft.losses.ordinal import Ordinal
from weft.losses.pearson import Pearson
from weft.spec import parse

COUNTS = [6, 3, 1]
LABEL = torch.tensor([0, 2, 1, 0, 2])
LABELS = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1]]).double()
SCORE = torch.tensor([0.1, 3.0, -1.0, 2.0, 0.5]).double()
LossFunction = Callable[[Tensor, Tensor], Tensor]


def random_scores(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def value_and_gradient(loss: LossFunction, scores: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    leaf = scores.clone().requires_grad_()
    value = loss(leaf, targets)
    assert value.shape == ()
    value.backward()
    assert leaf.grad is not None
    return value.detach(), leaf.grad


def assert_same(loss: LossFunction, reference: LossFunction, scores: Tensor, targets: Tensor) -> None:
    value, gradient = value_and_gradient(loss, scores, targets)
    expected, expected_gradient = value_and_gradient(reference, scores, targets)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, expected_gradient)
    assert gradient.abs().sum() > 0


def probabilities(row: Tensor) -> Tensor:
    return row.exp() / row.exp().sum()


def sigmoid(score: Tensor) -> Tensor:
    return 1 / (1 + (-score).exp())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weights", [None, "balanced", (1.0, 0.5, 4.0)])
def test_cross_entropy_is_the_weighted_mean_of_smoothed_log_probabilities(weights: object, smoothing: float) -> None:
    loss = parse(CrossEntropy, {"class_weights": weights, "label_smoothing": smoothing}).build(COUNTS)
    weight = {None: [1.0] * 3, "balanced": [10 / 18, 10 / 9, 10 / 3]}.get(weights, [1.0, 0.5, 4.0])  # type: ignore[call-overload]

    def reference(scores: Tensor, targets: Tensor) -> Tensor:
        total, mass = torch.zeros((), dtype=torch.float64), 0.0
        for row, gold in zip(scores, targets.tolist(), strict=True):
            for label, p in enumerate(probabilities(row)):
                wanted = (1 - smoothing) * (label == gold) + smoothing / 3
                total = total - weight[label] * wanted * p.log()
            mass += weight[gold]
        return total / mass

    assert_same(loss, reference, random_scores(5, 3), LABEL)


@pytest.mark.parametrize(("weight", "factor"), [(None, 1.0), (2.5, 2.5), ("balanced", 4.0)])
def test_binary_tells_two_labels_apart_through_one_score(weight: object, factor: float) -> None:
    loss = parse(Binary, {"positive_weight": weight}).build([8, 2])

    def reference(scores: Tensor, targets: Tensor) -> Tensor:
        rows = zip(sigmoid(scores[:, 0]), targets.tolist(), strict=True)
        return torch.stack([-factor * p.log() if gold else -(1 - p).log() for p, gold in rows]).mean()

    assert_same(loss, reference, random_scores(5, 1), torch.tensor([0, 1, 1, 0, 1]))


@pytest.mark.parametrize(
    ("weight", "factors"), [(None, [1.0] * 3), (2.5, [2.5] * 3), ("balanced", [14 / 6, 17 / 3, 19.0])]
)
def test_binary_judges_each_of_several_labels_by_itself(weight: object, factors: list[float]) -> None:
    loss = parse(Binary, {"positive_weight": weight}).build(COUNTS, rows=20)

    def reference(scores: Tensor, targets: Tensor) -> Tensor:
        each = []
        for row, wanted in zip(scores, targets, strict=True):
            for p, yes, factor in zip(sigmoid(row), wanted.tolist(), factors, strict=True):
                each.append(-factor * p.log() if yes else -(1 - p).log())
        return torch.stack(each).mean()

    assert_same(loss, reference, random_scores(5, 3), LABELS)


def test_binary_needs_one_score_for_two_labels_and_refuses_more_unless_rows_may_have_several() -> None:
    assert Binary().outputs(2) == 1
    assert Binary().outputs(2, "labels") == 2
    assert Binary().outputs(5, "labels") == 5
    with pytest.raises(ConfigError, match="tells two labels apart, but each row has one of 3"):
        Binary().outputs(3)


def test_binary_balance_stays_finite_and_above_zero_where_a_label_is_always_or_never_given() -> None:
    scores = torch.zeros(2, 2, dtype=torch.float64)
    loss = Binary(positive_weight="balanced").build([0, 10], rows=10)
    never, always = loss(scores, torch.tensor([[1.0, 0.0]] * 2)), loss(scores, torch.tensor([[0.0, 1.0]] * 2))
    assert never.item() == pytest.approx((10 + 1) * math.log(2) / 2)
    assert always.item() == pytest.approx((1 + 0.1) * math.log(2) / 2)


def test_binary_balance_over_several_labels_is_refused_without_the_number_of_rows() -> None:
    loss = Binary(positive_weight="balanced").build(COUNTS)
    with pytest.raises(ValueError, match="rows"):
        loss(random_scores(5, 3), LABELS)


@pytest.mark.parametrize("shape", [(5,), (5, 1)])
def test_mse_is_the_mean_squared_difference(shape: tuple[int, ...]) -> None:
    def reference(scores: Tensor, targets: Tensor) -> Tensor:
        rows = zip(scores.flatten(), targets, strict=True)
        return torch.stack([(score - target) ** 2 for score, target in rows]).mean()

    assert_same(Mse().build(()), reference, random_scores(*shape), SCORE)


@pytest.mark.parametrize("shape", [(5,), (5, 1)])
def test_pearson_is_one_minus_the_correlation(shape: tuple[int, ...]) -> None:
    def reference(scores: Tensor, targets: Tensor) -> Tensor:
        x, y = list(scores.flatten()), list(targets)
        mean_x, mean_y = torch.stack(x).mean(), torch.stack(y).mean()
        covariance = torch.stack([(a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)]).sum()
        spread_x = torch.stack([(a - mean_x) ** 2 for a in x]).sum()
        spread_y = torch.stack([(b - mean_y) ** 2 for b in y]).sum()
        return 1 - covariance / (spread_x * spread_y).sqrt()

    assert_same(Pearson().build(()), reference, random_scores(*shape), SCORE)


def test_pearson_runs_from_zero_for_scores_in_line_to_two_for_scores_against() -> None:
    loss = Pearson().build(())
    assert loss(3 * SCORE + 7, SCORE).item() == pytest.approx(0)
    assert loss(-SCORE, SCORE).item() == pytest.approx(2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("scores", "targets"),
    [([0.3], [1.0]), ([0.1] * 7, list(range(7))), (list(range(7)), [0.1] * 7), ([0.0] * 3, [0.0] * 3)],
    ids=["one row", "constant scores", "constant targets", "all zero"],
)
def test_pearson_without_a_correlation_is_one_with_zero_gradients(
    scores: list[float], targets: list[float], dtype: torch.dtype
) -> None:
    value, gradient = value_and_gradient(
        Pearson().build(()), torch.tensor(scores, dtype=dtype), torch.tensor(targets, dtype=dtype)
    )
    assert value.item() == 1
    assert gradient.tolist() == [0] * len(scores)


def test_pearson_does_not_hide_scores_that_are_not_numbers() -> None:
    assert Pearson().build(())(torch.tensor([1.0, math.nan, 2.0]), torch.arange(3.0)).isnan()


@pytest.mark.parametrize("loss", [Mse(), Pearson()])
def test_losses_over_scores_need_one_output_whatever_the_labels(loss: Loss) -> None:
    assert loss.outputs(0) == loss.outputs(1) == loss.outputs(7) == 1


@pytest.mark.parametrize("mix", [0.0, 0.3, 1.0])
def test_ordinal_mixes_the_squared_distance_of_cumulative_distributions_with_cross_entropy(mix: float) -> None:
    def reference(scores: Tensor, targets: Tensor) -> Tensor:
        each = []
        for row, gold in zip(scores, targets.tolist(), strict=True):
            p = probabilities(row)
            moved = sum((p[: label + 1].sum() - float(gold <= label)) ** 2 for label in range(len(p)))
            each.append(mix * moved - (1 - mix) * p[gold].log())
        return torch.stack(each).mean()

    assert_same(Ordinal(mix=mix).build(COUNTS), reference, random_scores(5, 3), LABEL)


def test_ordinal_distance_is_the_number_of_labels_a_sure_answer_is_away() -> None:
    loss = Ordinal(mix=1.0).build([1] * 5)
    sure = 100 * torch.eye(5).double()
    assert [loss(sure[[label]], torch.tensor([3])).item() for label in range(5)] == pytest.approx([3, 2, 1, 0, 1])


@pytest.mark.parametrize("weights", [None, "balanced", (1.0, 0.5, 4.0)])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("targets", [LABEL, LABELS], ids=["label", "labels"])
def test_focal_looks_away_from_what_is_right(targets: Tensor, gamma: float, weights: object) -> None:
    loss = parse(Focal, {"gamma": gamma, "class_weights": weights}).build(COUNTS)
    weight = {None: [1.0] * 3, "balanced": [10 / 18, 10 / 9, 10 / 3]}.get(weights, [1.0, 0.5, 4.0])  # type: ignore[call-overload]

    def reference(scores: Tensor, targets: Tensor) -> Tensor:
        right: list[tuple[Tensor, float]] = []
        for row, gold in zip(scores, targets, strict=True):
            if targets.dim() == 1:
                right.append((probabilities(row)[gold], weight[int(gold)]))
            else:
                p = sigmoid(row)
                right += [(p[k] if gold[k] else 1 - p[k], weight[k]) for k in range(3)]
        total = torch.stack([-w * (1 - p) ** gamma * p.log() for p, w in right]).sum()
        return total / sum(w for _, w in right)

    assert_same(loss, reference, random_scores(5, 3), targets)


@pytest.mark.parametrize("weights", [None, "balanced"])
def test_focal_without_gamma_is_cross_entropy_and_binary(weights: object) -> None:
    options = {"class_weights": weights}
    focal = parse(Focal, {"gamma": 0, **options}).build(COUNTS)
    assert_same(focal, parse(CrossEntropy, options).build(COUNTS), random_scores(5, 3), LABEL)
    if weights is None:
        assert_same(focal, Binary().build(COUNTS), random_scores(5, 3), LABELS)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("targets", [torch.tensor([0, 1]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])])
def test_focal_gradients_stay_finite_where_the_answer_is_certain(targets: Tensor, gamma: float) -> None:
    certain = torch.tensor([[200.0, -200.0], [200.0, -200.0]])
    value, gradient = value_and_gradient(Focal(gamma=gamma).build([1, 1]), certain, targets)
    assert value.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("options", [{"kind": "cross_entropy", "label_smoothing": 0.1}, {"kind": "focal"}])
def test_a_batch_whose_labels_all_weigh_nothing_teaches_nothing(options: dict[str, object]) -> None:
    loss = parse(Loss, {**options, "class_weights": [0, 1, 1]}).build(COUNTS)
    value, gradient = value_and_gradient(loss, random_scores(2, 3), torch.tensor([0, 0]))
    assert value.item() == 0
    assert not gradient.any()


def test_balanced_weights_give_every_label_the_same_total() -> None:
    weights = label_weights("balanced", [60, 30, 10])
    assert weights is not None
    assert [w * n for w, n in zip(weights, [60, 30, 10], strict=True)] == pytest.approx([100 / 3] * 3)


def test_a_label_without_rows_weighs_as_much_as_one_with_a_single_row() -> None:
    assert label_weights("balanced", [9, 0, 1]) == pytest.approx([10 / 27, 10 / 3, 10 / 3])


def test_weights_that_do_not_suit_the_labels_are_refused() -> None:
    with pytest.raises(ConfigError, match="2 numbers, but the task has 3 labels"):
        CrossEntropy(class_weights=(1.0, 2.0)).build(COUNTS)
    with pytest.raises(ConfigError, match="all zero"):
        Focal(class_weights=(0.0, 0.0, 0.0)).build(COUNTS)


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "cross_entropy", "label_smoothing": 1.0},
        {"kind": "cross_entropy", "class_weights": [1, -1]},
        {"kind": "binary", "positive_weight": 0},
        {"kind": "ordinal", "mix": 1.5},
        {"kind": "focal", "gamma": -1},
    ],
)
def test_options_out_of_bounds_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        parse(Loss, options)


def test_every_kind_builds_from_defaults_and_survives_plain_data() -> None:
    kinds = Loss.kinds()
    features = {name for name, kind in kinds.items() if kind.reads == "features"}
    assert features == {"pairwise_cosine", "supervised_contrastive"}
    assert set(kinds) - features == {"binary", "cross_entropy", "focal", "mse", "ordinal", "pearson"}
    targets = {"label": torch.tensor([0, 1, 1]), "labels": torch.tensor([[1.0, 0], [0, 0], [1, 1]])}
    for name, kind in kinds.items():
        spec = kind()
        assert parse(Loss, spec.to_dict()) == parse(Loss, name) == spec
        assert kind.explained().keys() >= kind.model_fields.keys() - {"kind"}
        assert spec.target_types
        for shape in spec.target_types:
            scores = torch.randn(3, spec.outputs(2, shape))
            target = targets.get(shape, torch.tensor([0.5, 2.0, 1.0]))
            value, gradient = value_and_gradient(spec.build([1, 2], rows=3), scores, target)
            assert value.isfinite()
            assert gradient.isfinite().all()


def test_options_survive_plain_data() -> None:
    for spec in (CrossEntropy(class_weights=(1.0, 2.0), label_smoothing=0.2), Binary(positive_weight="balanced")):
        assert parse(Loss, spec.to_dict()) == spec


@pytest.mark.parametrize(
    ("loss", "option", "own"),
    [
        (CrossEntropy, "class_weights", (1.0, 2.0)),
        (Focal, "class_weights", (1.0, 2.0)),
        (Binary, "positive_weight", 3.0),
    ],
)
def test_a_balanced_loss_weighs_all_labels_alike_unless_the_options_say_what_each_weighs(
    loss: type[Loss], option: str, own: Any
) -> None:
    assert loss().balanced() == loss(**{option: "balanced"})
    assert loss(**{option: own}).balanced() == loss(**{option: own})


def test_losses_without_weights_of_labels_stay_as_they_are() -> None:
    assert Ordinal(mix=0.3).balanced() == Ordinal(mix=0.3)
    assert Mse().balanced() == Mse()
