"""Heads fitted at once: their weights are those that other methods find, and rows of any kind give weights at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from weft.losses import Loss, LossFunction
from weft.losses.binary import Binary
from weft.losses.mse import Mse
from weft.spec import parse
from weft.targets.labels import LabelsTarget
from weft.training.fit import HeadRows, fit_layer

Array = npt.NDArray[np.float64]
LABELS = 3


def draw(rows: int = 40, width: int = 6, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Features far from 0 and of unequal spread, and labels that they tell a part of."""
    torch.manual_seed(seed)
    features = torch.randn(rows, width, dtype=torch.float64) * torch.tensor([3.0, 1.0, 0.5, 2.0, 1.0, 1.0])[:width] + 4
    chosen = features[:, :LABELS] + torch.randn(rows, LABELS, dtype=torch.float64)
    return features, (chosen - chosen.mean(0)).argmax(1)


def build(loss: Any, counts: Sequence[int] = (14, 13, 13)) -> LossFunction:
    return parse(Loss, loss).build(counts, sum(counts))


def fit(parts: Sequence[HeadRows], outputs: int = LABELS, **options: Any) -> nn.Linear:
    layer = nn.Linear(parts[0].features.shape[1], outputs)
    fit_layer(layer, parts, **options)
    return layer


def like_others(features: Tensor) -> tuple[Array, Array, float]:
    """Features as the docstring says: centred, and scaled by one number; beside them both of these."""
    x = features.numpy()
    centre = x.mean(0)
    scale = float(np.sqrt(((x - centre) ** 2).sum(1).mean()))
    return (x - centre) / scale, centre, scale


def assert_same(layer: nn.Linear, weight: Array, bias: Array, centre: Array, scale: float) -> None:
    """The layer's weights are these, which are of centred and scaled features."""
    found = layer.weight.detach().double().numpy() * scale
    np.testing.assert_allclose(found, weight, atol=1e-4)
    shifted = layer.bias.detach().double().numpy() + layer.weight.detach().double().numpy() @ centre
    np.testing.assert_allclose(shifted, bias, atol=1e-4)


# The weights


@pytest.mark.parametrize("strength", [None, 1.0, 100.0])
def test_labels_are_fitted_as_by_a_logistic_regression(strength: float | None) -> None:
    features, gold = draw()
    layer = fit([HeadRows(features, gold, build("cross_entropy"))], strength=strength)
    x, centre, scale = like_others(features)
    other = LogisticRegression(C=strength or 10.0, tol=1e-10, max_iter=10_000).fit(x, gold.numpy())
    assert_same(layer, other.coef_, other.intercept_, centre, scale)


def test_two_labels_of_one_score_are_fitted_as_by_a_logistic_regression() -> None:
    features, gold = draw()
    gold = (gold == 1).long()
    layer = fit([HeadRows(features, gold, build("binary", (27, 13)))], 1)
    x, centre, scale = like_others(features)
    other = LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000).fit(x, gold.numpy())
    assert_same(layer, other.coef_, other.intercept_, centre, scale)


def test_class_weights_are_those_of_a_logistic_regression_with_them() -> None:
    """Its mean is over the weights, so that it is as a strength times the rows over these."""
    features, gold = draw()
    weights = [4.0, 1.0, 0.5]
    layer = fit([HeadRows(features, gold, build({"kind": "cross_entropy", "class_weights": weights}))])
    x, centre, scale = like_others(features)
    total = sum(weights[label] for label in gold.tolist())
    other = LogisticRegression(
        C=10.0 * len(gold) / total, class_weight=dict(enumerate(weights)), tol=1e-10, max_iter=10_000
    ).fit(x, gold.numpy())
    assert_same(layer, other.coef_, other.intercept_, centre, scale)


def test_numbers_are_fitted_as_by_ridge_regression() -> None:
    features, _ = draw()
    gold = features[:, 0] * 0.7 - features[:, 3] + torch.randn(len(features))
    layer = fit([HeadRows(features, gold, Mse().build())], 1)
    x, centre, scale = like_others(features)
    y = gold.numpy()
    penalty = 1 / (10.0 * len(y))
    weight = np.linalg.solve(2 * x.T @ x / len(y) + penalty * np.eye(x.shape[1]), 2 * x.T @ (y - y.mean()) / len(y))
    assert_same(layer, weight[None], np.array([y.mean()]), centre, scale)


def least(loss: Any, begin: Array, penalty: float) -> tuple[Array, Array]:
    """Weights (O, F) and bias (O,) of the least loss(weights, bias) and penalty, by a method that knows no gradient."""

    def total(numbers: Array) -> float:
        weight, bias = numbers[: begin.size].reshape(begin.shape), numbers[begin.size :]
        return float(loss(weight, bias) + penalty / 2 * ((weight - begin) ** 2).sum())

    start = np.concatenate([begin.ravel(), np.zeros(len(begin))])
    found = minimize(total, start, method="BFGS", options={"gtol": 1e-8, "maxiter": 10_000}).x
    return found[: begin.size].reshape(begin.shape), found[begin.size :]


def cross_entropy(x: Array, gold: Array) -> Any:
    def loss(weight: Array, bias: Array) -> float:
        scores = x @ weight.T + bias
        scores = scores - scores.max(1, keepdims=True)
        return float((np.log(np.exp(scores).sum(1)) - scores[np.arange(len(x)), gold]).mean())

    return loss


def test_what_a_direction_tells_is_fitted_first_and_other_weights_stay_near_to_it() -> None:
    features, gold = draw(rows=12, width=4)
    gold = gold.clamp(max=1)
    direction = torch.tensor([0.5, 0.0, 0.0, -0.5])
    layer = fit([HeadRows(features, gold, build("cross_entropy", (6, 6)))], 2, direction=direction)
    x, centre, scale = like_others(features)
    along = x @ direction.double().numpy()
    spread = np.sqrt((along**2).mean())
    told, _ = least(cross_entropy(along[:, None] / spread, gold.numpy()), np.zeros((2, 1)), 1 / (10.0 * 12))
    begin = told @ direction.double().numpy()[None] / spread
    weight, bias = least(cross_entropy(x, gold.numpy()), begin, 1 / (0.1 * 12))
    found = layer.weight.detach().double().numpy() * scale
    np.testing.assert_allclose(found, weight, atol=1e-3)
    shifted = layer.bias.detach().double().numpy() + layer.weight.detach().double().numpy() @ centre
    np.testing.assert_allclose(shifted, bias, atol=1e-3)
    assert np.abs(begin).max() > 0.1  # or else nothing was shown


@pytest.mark.parametrize("rising", [1.0, -1.0])
def test_directions_are_trusted_as_far_as_rows_say_and_other_weights_stay_near_to_them(rising: float) -> None:
    """Directions that lead away from the labels are not turned round: labels are not the opposite of their words."""
    features, gold = draw(rows=12, width=4)
    directions = rising * torch.eye(LABELS, 4, dtype=torch.float64)
    layer = fit([HeadRows(features, gold, build("cross_entropy", (4, 4, 4)))], directions=directions)
    x, centre, scale = like_others(features)
    weights = directions.numpy()

    def told(trust: Array, bias: Array) -> float:
        return float(cross_entropy(x, gold.numpy())(trust[0, 0] * weights, bias[:LABELS]))

    trust, _ = least(told, np.zeros((LABELS, 1)), LABELS / (10.0 * 12))
    begin = max(float(trust[0, 0]), 0.0) * weights
    weight, bias = least(cross_entropy(x, gold.numpy()), begin, 1 / (10.0 * 12))
    assert_same(layer, weight, bias, centre, scale)
    assert (begin.max() > 0.1) == (rising > 0)  # or else nothing was shown


def test_directions_of_another_number_than_scores_are_passed_over() -> None:
    features, gold = draw()
    rows = [HeadRows(features, gold, build("cross_entropy"))]
    torch.testing.assert_close(fit(rows, directions=torch.eye(2, 6)).weight, fit(rows).weight)


def test_rows_of_several_parts_count_as_one_where_they_have_one_loss() -> None:
    features, gold = draw()
    loss = build("cross_entropy")
    whole = fit([HeadRows(features, gold, loss)])
    parts = [HeadRows(features[:7], gold[:7], loss), HeadRows(features[7:], gold[7:], loss)]
    torch.testing.assert_close(fit(parts).weight, whole.weight, rtol=1e-4, atol=1e-5)
    only = fit(parts[1:])
    assert not torch.allclose(only.weight, whole.weight, rtol=1e-3)


def test_the_size_and_place_of_features_make_no_difference_to_the_answers() -> None:
    features, gold = draw()
    loss = build("cross_entropy")
    answers = []
    for factor, shift in ((1.0, 0.0), (1000.0, 0.0), (0.01, 7.0)):
        moved = features * factor + shift
        layer = fit([HeadRows(moved, gold, loss)]).double()
        answers.append(layer(moved))
    torch.testing.assert_close(answers[1], answers[0], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(answers[2], answers[0], rtol=1e-3, atol=1e-3)


def test_weights_do_not_depend_on_those_before_or_on_chance() -> None:
    features, gold = draw()
    layers = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        layers.append(fit([HeadRows(features, gold, build("cross_entropy"))]))
        before = torch.get_rng_state()
        fit_layer(layers[-1], [HeadRows(features, gold, build("cross_entropy"))])
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(layers[0].weight, layers[1].weight)
    assert torch.equal(layers[0].bias, layers[1].bias)


# Rows of every kind

WAYS: dict[str, Any] = {
    "cross entropy": "cross_entropy",
    "smoothed": {"kind": "cross_entropy", "label_smoothing": 0.1},
    "balanced": {"kind": "cross_entropy", "class_weights": "balanced"},
    "focal": "focal",
    "ordinal": "ordinal",
    "ordinal alone": {"kind": "ordinal", "mix": 1.0},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_loss_of_labels_fits_heads_that_say_what_the_rows_say(way: str) -> None:
    torch.manual_seed(0)
    gold = torch.arange(30) % LABELS
    features = torch.nn.functional.one_hot(gold, 8).double() * 3 + torch.randn(30, 8, dtype=torch.float64)
    layer = fit([HeadRows(features, gold, build(WAYS[way], (10, 10, 10)))])
    assert layer.weight.isfinite().all()
    right = (layer.double()(features).argmax(1) == gold).double().mean()
    assert right > 0.9


def test_each_of_several_labels_counts_alike_whether_rare_or_not() -> None:
    torch.manual_seed(1)
    features = torch.randn(200, 4, dtype=torch.float64)
    rare = features[:, 0] + 0.5 * torch.randn(200, dtype=torch.float64) > 1.8
    gold = torch.stack([rare, features[:, 1] > 0], 1).double()
    target = LabelsTarget(labels=("rare", "common")).fit(
        [tuple(name for name, has in zip(("rare", "common"), row, strict=True) if has) for row in gold.bool().tolist()]
    )
    loss = target.answer_loss(Binary())
    assert loss is not None
    x, _, scale = like_others(features)
    odds = float((~rare).sum() / rare.sum())
    others = LogisticRegression(C=20.0, class_weight={0: 1.0, 1: odds}, max_iter=2000, tol=1e-8)
    weight = others.fit(x, rare.numpy()).coef_[0]
    layer = fit(
        [HeadRows(features, gold, loss)], 2, strength=40.0
    )  # twice as much: the loss is a mean over both labels
    found = layer.weight.detach().double().numpy()[0] * scale
    np.testing.assert_allclose(found, weight, rtol=1e-3)


def test_rows_of_several_labels_fit_a_head_of_as_many_answers() -> None:
    torch.manual_seed(0)
    features = torch.randn(40, 5, dtype=torch.float64)
    gold = (features[:, :2] > 0).float()
    layer = fit([HeadRows(features, gold, build("binary", (20, 20)))], 2)
    assert ((layer.double()(features) > 0) == gold.bool()).double().mean() > 0.95


STRANGE: dict[str, tuple[list[list[float]], list[int]]] = {
    "rows that can be told apart exactly": ([[0.0, 1.0], [0.1, 1.0], [9.0, 1.0], [9.1, 1.0]], [0, 0, 1, 1]),
    "one row of each label": ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 2]),
    "one row": ([[1.0, 2.0]], [0]),
    "features that are all the same": ([[2.0, 3.0]] * 4, [0, 1, 1, 1]),
    "a feature that never changes": ([[5.0, 0.0], [5.0, 1.0], [5.0, 0.2], [5.0, 0.9]], [0, 1, 0, 1]),
    "nothing but zeros": ([[0.0, 0.0]] * 3, [0, 1, 2]),
    "huge features": ([[1e6, 0.0], [-1e6, 1.0], [1e6, 3.0]], [0, 1, 0]),
    "a label that no row has": ([[0.0, 1.0], [1.0, 0.0]], [0, 1]),
}


@pytest.mark.parametrize("direction", [None, torch.tensor([1.0, 0.0])], ids=["plain", "along a direction"])
@pytest.mark.parametrize("case", STRANGE)
def test_weights_are_numbers_of_a_moderate_size_whatever_the_rows(case: str, direction: Tensor | None) -> None:
    features, gold = (torch.tensor(part) for part in STRANGE[case])
    layer = fit([HeadRows(features.double(), gold, build("cross_entropy", (2, 2, 1)))], direction=direction)
    assert layer.weight.isfinite().all()
    assert layer.bias.isfinite().all()
    scores = layer.double()(features.double())
    assert scores.abs().max() < 100
    if case in ("rows that can be told apart exactly", "one row of each label", "a feature that never changes"):
        assert scores.argmax(1).tolist() == gold.tolist()
    if case == "features that are all the same":
        assert scores.softmax(1)[0].tolist() == pytest.approx([0.25, 0.75, 0.0], abs=1e-2)
