"""Two passes over the same rows: how far they differ, and what a step makes of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, kl_divergence

from recorder import Place, at_weights, gradients_of, make_place
from weft.targets.base.disagreement import between_chances, between_labels
from weft.targets.label import FittedLabel
from weft.tensors import Batch, Scores
from weft.tokenization.tokenizer import Tokenizer

FIRST, SECOND = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(3)).mul(3)


def both_ways(ours: Any, theirs: Any) -> Tensor:
    return (kl_divergence(ours, theirs) + kl_divergence(theirs, ours)).mean() / 2


def test_labels_differ_by_the_divergence_of_their_distributions_both_ways() -> None:
    expected = both_ways(Categorical(logits=FIRST), Categorical(logits=SECOND))
    torch.testing.assert_close(between_labels(FIRST, SECOND), expected)
    torch.testing.assert_close(between_labels(SECOND, FIRST), expected)
    assert between_labels(FIRST, FIRST + 7) < 1e-6  # a softmax does not see it


def test_chances_differ_by_theirs() -> None:
    torch.testing.assert_close(
        between_chances(FIRST, SECOND), both_ways(Bernoulli(logits=FIRST), Bernoulli(logits=SECOND))
    )
    two = torch.stack([torch.zeros(5), FIRST[:, 0]], 1), torch.stack([torch.zeros(5), SECOND[:, 0]], 1)
    torch.testing.assert_close(between_labels(FIRST[:, :1], SECOND[:, :1]), between_labels(*two))


@pytest.mark.parametrize("between", [between_labels, between_chances])
def test_half_precision_scores_and_no_scores_at_all(between: Any) -> None:
    ours, theirs = FIRST.bfloat16(), SECOND.bfloat16()
    torch.testing.assert_close(between(ours, theirs), between(ours.float(), theirs.float()))
    assert between(FIRST[:0], SECOND[:0]) == 0


# In a run


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    """Without dropout, so that both passes say the same."""
    return make_place(tmp_path_factory.mktemp("still"), tiny_tokenizers["wordpiece"], 0.0)


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("dropping"), tiny_tokenizers["wordpiece"], 0.2)


PLAIN = {"lr_scheduler_type": "constant", "warmup_ratio": 0.0, "max_grad_norm": 0.0}


def test_what_two_passes_differ_by_is_part_of_a_step(still: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(target: FittedLabel, first: Scores, second: Scores, batch: Batch) -> Tensor:
        return (first.values + 2 * second.values).square().sum()

    monkeypatch.setattr(FittedLabel, "disagreement", apart)
    tasks = {"a": still.task("a", 6, consistency=0.5)}
    seen = still.learn(tasks, "part", training=PLAIN, phases=[{"steps": 1}])
    update = seen.updates[0]
    assert len(update.batches) == 2
    assert update.batches[0] is update.batches[1]
    network = at_weights(seen, update.before)
    scores = network(update.batches[0])
    loss = network.losses()["a"](scores, update.batches[0]) + 0.5 * (3 * scores.values).square().sum()
    for name, gradient in gradients_of(network, loss).items():
        torch.testing.assert_close(update.gradients[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


def test_the_loss_of_both_passes_counts(dropping: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bias of a head sees the scores alone, so its gradient is the mean of that of both."""
    given: list[Tensor] = []

    def apart(target: FittedLabel, first: Scores, second: Scores, batch: Batch) -> Tensor:
        given.extend(scores.values.detach() for scores in (first, second))
        return first.values.sum() * 0

    monkeypatch.setattr(FittedLabel, "disagreement", apart)
    tasks = {"a": dropping.task("a", 6, "aab", consistency=1)}
    seen = dropping.learn(tasks, "both", training=PLAIN, phases=[{"steps": 1}])
    assert not torch.equal(*given)  # dropout is drawn anew
    gold = seen.updates[0].batches[0].gold
    assert gold is not None
    wanted = torch.nn.functional.one_hot(gold, given[0].shape[1])
    expected = torch.stack([scores.softmax(1) - wanted for scores in given]).mean((0, 1))
    torch.testing.assert_close(seen.updates[0].gradients["heads.<a>.1.bias"], expected, rtol=1e-4, atol=1e-6)


def test_only_a_task_that_asks_for_it_takes_two_passes(dropping: Place) -> None:
    tasks = {"a": dropping.task("a", 6, "aab", consistency=1), "b": dropping.task("b", 6, "aab")}
    seen = dropping.learn(tasks, "twice", phases=[{"steps": 2}])
    assert [update.tasks for update in seen.updates] == [["a", "a"], ["b"]] * 2


def test_of_tasks_that_learn_in_one_pass_only_those_that_ask_for_it_pass_again(dropping: Place) -> None:
    tasks = {"aa": dropping.task("aa", 6, "aab", consistency=1), "bb": dropping.task("bb", 6, "abb")}
    seen = dropping.learn(tasks, "one-pass", phases=[{"steps": 2}])
    assert [update.tasks for update in seen.updates] == [["aa", "bb", "aa"]] * 2


def test_rows_that_are_compared_with_each_other_pass_once(dropping: Place) -> None:
    phases = [{"loss": "supervised_contrastive", "steps": 2}, {"fit": "logistic"}]
    tasks = {"a": dropping.task("a", 8, consistency=1)}
    seen = dropping.learn(tasks, "contrast", phases=phases)
    assert [len(update.batches) for update in seen.updates] == [1, 1]
