"""A config for every kind, small enough to be read at a glance, which weft takes as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from weft.comparison.grid import Grid
from weft.conditioning import Conditioning
from weft.config.experiment import EncoderChoice, Experiment, Phase, Scratch
from weft.config.training import Training
from weft.heads import Head
from weft.losses import Loss
from weft.pooling import Pooler
from weft.presets import Preset
from weft.reference.words import plain, toml_key
from weft.sampling import Sampler
from weft.spec import Spec
from weft.tasks import Task
from weft.tasks.classification import Classification
from weft.tasks.similarity import Similarity

Document = dict[str, Any]
Options = dict[str, Any]

_BY_NAME = ("tasks", "variants")  # tables whose keys are names of the user's own


def example_document(spec: type[Spec]) -> Document:
    """A whole config that uses a kind, or shows a section."""
    return next(build for room, build in _BUILD.items() if issubclass(spec, room))(spec)


def example_options(spec: type[Spec]) -> Options:
    """A kind with what its class gives as an example, or else with its defaults, as far as there is anything to see."""
    fields = {} if spec.example else {field.alias or name: field for name, field in spec.model_fields.items()}
    inherited = {field.alias or name for base in spec.__bases__ for name, field in _fields(base).items()}
    own = {
        name: field.get_default(call_default_factory=True) for name, field in fields.items() if name not in inherited
    }
    shown = {name: value for name, value in own.items() if isinstance(value, str | int | float | tuple) and value != ()}
    kind = {"kind": spec.model_fields["kind"].default} if "kind" in spec.model_fields else {}
    return {**kind, **shown, **spec.example}


def _fields(base: type) -> Mapping[str, Any]:
    return base.model_fields if issubclass(base, Spec) else {}


def _task(spec: type[Spec] = Classification, **options: Any) -> Document:
    return {"tasks": {"mine": {**example_options(spec), **options}}}


def _with_loss(loss: type[Spec]) -> Document:
    assert issubclass(loss, Loss)
    if loss.reads == "features":
        phases = [{"loss": example_options(loss), "steps": 30}, {"fit": "logistic"}]
        return {**_task(), "phases": phases}
    if "label" in loss.target_types:
        order = {"labels": ["low", "middle", "high"]} if loss.ordered else {}
        return _task(Classification, **order, loss=example_options(loss))
    several: tuple[type[Spec], Options] = (Classification, {"multilabel": True})
    task, options = (Similarity, {}) if "score" in loss.target_types else several
    return _task(task, **options, loss=example_options(loss))


def _two_tasks(**section: Any) -> Document:
    mine = example_options(Classification)
    return {**section, "tasks": {"mine": mine, "another": {**mine, "train": "others.csv"}}}


def _grid(_: type[Spec]) -> Document:
    variants = {"plain": {}, "first token": {"tasks": {"mine": {"pooling": "cls"}}}}
    return {"base": "mine.toml", "seeds": 8, "sizes": [50, "all"], "variants": variants}


_BUILD: Mapping[type[Spec], Callable[[type[Spec]], Document]] = {
    Task: _task,
    Head: lambda spec: _task(head=example_options(spec)),
    Pooler: lambda spec: _task(pooling=example_options(spec)),
    Loss: _with_loss,
    Conditioning: lambda spec: {"conditioning": example_options(spec), **_task()},
    Sampler: lambda spec: _two_tasks(sampling=example_options(spec)),
    Preset: lambda spec: {"preset": example_options(spec), **_task()},
    EncoderChoice: lambda _: {"encoder": {"from": "minilm", "train_layers": 2}, **_task()},
    Scratch: lambda _: {
        "encoder": {"scratch": {"tokenizer": "vocab", "num_hidden_layers": 4, "hidden_size": 256}},
        **_task(Task.kinds()["masked_words"]),
    },
    Training: lambda _: {**_task(), "training": {"epochs": 5, "learning_rate": 5e-5, "batch_size": 16}},
    Phase: lambda _: {
        **_two_tasks(),
        "phases": [{"tasks": ["another"], "epochs": 1}, {"tasks": ["mine"], "epochs": 3}],
    },
    Experiment: lambda _: {"seed": 7, **_task(), "training": {"epochs": 5}},
    Grid: _grid,
}


def to_toml(document: Document) -> str:
    """A config as people write it: plain values first, then a table per section and per task, what is in it inline."""
    return "\n".join(_lines(document)).strip() + "\n"


def _lines(document: Document) -> Iterator[str]:
    plain_values = {name: value for name, value in document.items() if not _is_section(value)}
    yield from _values(plain_values)
    for name, value in document.items():
        if name in plain_values:
            continue
        if isinstance(value, list):
            tables = [(f"[[{name}]]", one) for one in value]
        else:
            tables = (
                [(f"[{name}.{toml_key(key)}]", one) for key, one in value.items()]
                if name in _BY_NAME
                else [(f"[{name}]", value)]
            )
        for heading, table in tables:
            yield from ("", heading, *_values(table))


def _values(table: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{name} = {plain(value)}" for name, value in table.items())


def _is_section(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))
