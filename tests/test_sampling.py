"""Samplers as pure functions: what they promise for any sizes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError
from weft.sampling import Sampler, apportion
from weft.sampling.annealed import Annealed
from weft.sampling.proportional import Proportional
from weft.sampling.round_robin import RoundRobin
from weft.sampling.temperature import Temperature
from weft.spec import parse

SIZES = st.lists(st.integers(0, 60), max_size=6)
SEEDS = st.integers(0, 2**32)
EPOCHS = st.integers(1, 5).flatmap(lambda epochs: st.tuples(st.integers(0, epochs - 1), st.just(epochs)))
SAMPLERS = st.one_of(
    st.builds(RoundRobin, until=st.sampled_from(["longest", "shortest"])),
    st.just(Proportional()),
    st.builds(Temperature, temperature=st.floats(1, 100)),
    st.builds(Annealed, strength=st.floats(0, 1)),
)


def counted(sampler: Sampler, sizes: list[int], epoch: int = 0, epochs: int = 1) -> list[int]:
    counts = Counter(sampler.order(sizes, epoch, epochs, seed=0))
    return [counts[task] for task in range(len(sizes))]


@given(SAMPLERS, SIZES, EPOCHS, SEEDS)
def test_the_same_arguments_give_the_same_order_and_stay_as_they_were(
    sampler: Sampler, sizes: list[int], when: tuple[int, int], seed: int
) -> None:
    given_sizes = list(sizes)
    assert sampler.order(sizes, *when, seed) == sampler.order(tuple(sizes), *when, seed)
    assert sizes == given_sizes


@given(SAMPLERS, SIZES, EPOCHS, SEEDS)
def test_every_task_with_a_batch_appears_and_no_other(
    sampler: Sampler, sizes: list[int], when: tuple[int, int], seed: int
) -> None:
    assert set(sampler.order(sizes, *when, seed)) == {task for task, size in enumerate(sizes) if size}


@given(st.one_of(st.just(Proportional()), st.just(Temperature()), st.just(Annealed())), SIZES, EPOCHS, SEEDS)
def test_an_epoch_has_as_many_steps_as_all_tasks_have_batches(
    sampler: Sampler, sizes: list[int], when: tuple[int, int], seed: int
) -> None:
    assert len(sampler.order(sizes, *when, seed)) == sum(sizes)


@settings(max_examples=300)
@given(st.lists(st.integers(0, 10**7), max_size=12), st.floats(0, 1))
def test_steps_are_apportioned_exactly_and_within_one_of_their_share(sizes: list[int], exponent: float) -> None:
    counts = apportion(sizes, exponent)
    assert sum(counts) == sum(sizes)
    shares = [size**exponent if size else 0.0 for size in sizes]
    for size, share, count in zip(sizes, shares, counts, strict=True):
        assert (count >= 1) == (size >= 1)
        assert not size or abs(count - sum(sizes) * share / sum(shares)) < 1 + 1e-6


@given(SIZES)
def test_exponent_one_gives_back_the_sizes(sizes: list[int]) -> None:
    assert apportion(sizes, 1.0) == sizes


def test_what_does_not_divide_evenly_goes_to_the_largest_remainders_and_earlier_tasks() -> None:
    assert apportion([5, 0, 3, 3], 0.0) == [4, 0, 4, 3]
    assert apportion([100, 1], 0.5) == [92, 9]  # 10 : 1 of 101 is 91.8 : 9.2


@given(SIZES, st.integers(0, 9), SEEDS)
def test_proportional_gives_each_task_its_size(sizes: list[int], epoch: int, seed: int) -> None:
    counts = Counter(Proportional().order(sizes, epoch, 10, seed))
    assert [counts[task] for task in range(len(sizes))] == sizes


def test_round_robin_takes_turns_in_a_fixed_order_until_the_longest_or_shortest_is_used_up() -> None:
    assert RoundRobin().order([1, 0, 3], 0, 1, 7) == [0, 2, 0, 2, 0, 2]
    assert RoundRobin(until="shortest").order([2, 0, 3], 4, 5, 8) == [0, 2, 0, 2]


def test_temperature_lifts_small_tasks_and_one_keeps_them_as_they_are() -> None:
    sizes = [900, 90, 10]
    assert counted(Temperature(temperature=1), sizes) == sizes
    assert counted(Temperature(), sizes) == [703, 223, 74]  # roots 30 : 9.49 : 3.16 of 1000 are 703.41 : 222.44 : 74.15
    assert counted(Temperature(temperature=1e6), sizes) == [334, 333, 333]


@given(SIZES, st.integers(2, 6), st.floats(0, 1))
def test_annealing_starts_proportional_and_never_takes_from_the_smallest_to_give_to_the_largest(
    sizes: list[int], epochs: int, strength: float
) -> None:
    first, *later = [counted(Annealed(strength=strength), sizes, epoch, epochs) for epoch in range(epochs)]
    assert first == sizes
    for counts in later:
        for size, count in zip(sizes, counts, strict=True):
            assert count >= size or size > min(filter(None, sizes))
            assert count <= size or size < max(sizes)


def test_annealing_evens_out_epoch_by_epoch() -> None:
    course = [counted(Annealed(), [900, 90, 10], epoch, 5) for epoch in range(5)]
    large, _, small = zip(*course, strict=True)
    assert list(large) == sorted(set(large), reverse=True)
    assert list(small) == sorted(set(small))


def test_annealing_ends_at_one_minus_its_strength() -> None:
    sizes = [900, 90, 10]
    assert counted(Annealed(), sizes, 3, 4) == apportion(sizes, 0.2)
    assert counted(Annealed(strength=1), sizes, 3, 4) == [334, 333, 333]
    assert counted(Annealed(), sizes, 0, 1) == sizes


@pytest.mark.parametrize("sampler", [Proportional(), Temperature(), Annealed(strength=0)], ids=str)
def test_seed_and_epoch_each_change_the_order(sampler: Sampler) -> None:
    orders = {tuple(sampler.order([20, 20], epoch, 9, seed)) for epoch in range(3) for seed in range(3)}
    assert len(orders) == 9


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "temperature", "temperature": 0.5},
        {"kind": "annealed", "strength": 1.1},
        {"kind": "round_robin", "until": "noon"},
    ],
)
def test_options_out_of_bounds_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        parse(Sampler, options)


def test_the_room_never_imports_torch() -> None:
    code = "import sys; from weft.sampling import Sampler; Sampler.kinds(); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_kind_builds_from_defaults_and_survives_plain_data() -> None:
    kinds = Sampler.kinds()
    assert set(kinds) == {"annealed", "proportional", "round_robin", "temperature"}
    for name, kind in kinds.items():
        spec = kind()
        assert parse(Sampler, spec.to_dict()) == parse(Sampler, name) == spec
        assert kind.explained().keys() >= kind.model_fields.keys() - {"kind"}
        assert set(spec.order([3, 0, 2], 0, 2, 1)) == {0, 2}
