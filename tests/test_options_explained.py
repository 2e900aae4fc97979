"""Every option of every Spec says what it is, below its own line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from weft.comparison.grid import Grid
from weft.conditioning import Conditioning
from weft.config.experiment import Experiment
from weft.heads import Head
from weft.losses import Loss
from weft.pooling import Pooler
from weft.presets import Preset
from weft.sampling import Sampler
from weft.spec import Spec
from weft.tasks import Task

for root in (Conditioning, Head, Loss, Pooler, Preset, Sampler, Task):
    root.kinds()  # imports every file of the room


def specs(spec: type[Spec] = Spec) -> Iterator[type[Spec]]:
    """Every Spec of weft, found without a list of them."""
    for below in spec.__subclasses__():
        if below.__module__.startswith("weft."):
            yield below
        yield from specs(below)


ALL = sorted(set(specs()), key=lambda spec: spec.__qualname__)


def test_the_config_and_the_grid_are_among_them() -> None:
    assert {Experiment, Grid} < set(ALL)


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.__qualname__)
def test_every_option_is_explained(spec: type[Spec]) -> None:
    explained = spec.explained()
    assert not [name for name in spec.model_fields if name != "kind" and name not in explained]
    assert spec.__doc__


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.__qualname__)
def test_an_explanation_is_whole_sentences_that_begin_with_a_capital_or_a_name(spec: type[Spec]) -> None:
    for name, text in spec.explained().items():
        assert text.endswith("."), name
        assert text[0].isupper() or text[0] in "`λ", name
