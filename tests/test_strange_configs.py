"""Configs that nobody should write: one message each that says what is allowed, never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from weft.config.document import parse_experiment, read_experiment
from weft.config.override import apply_override
from weft.errors import ConfigError

TASKS: dict[str, Any] = {"t": {"kind": "classification", "train": "a.csv"}}


def faults(**document: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        parse_experiment({"tasks": TASKS, **document})
    return caught.value.faults


@pytest.mark.parametrize("value", ["frozen", -1, 1.5, True, [2], None])
@pytest.mark.parametrize("phase", [False, True])
def test_train_layers_says_what_may_be_written(value: Any, phase: bool) -> None:
    if phase and value is None:
        return  # as in the whole run
    document = {"phases": [{"train_layers": value}]} if phase else {"encoder": {"train_layers": value}}
    path = "phases.0" if phase else "encoder"
    (fault,) = faults(**document)
    assert fault == (
        f'{path}.train_layers: write "all", "blocks" (all but the embeddings), or how many of the top layers learn (0 '
        f"for a frozen encoder); received {value!r}"
    )


@pytest.mark.parametrize("kind", [["x"], {"a": 1}, 3, None, True])
@pytest.mark.parametrize("path", ["tasks.t", "tasks.t.loss", "sampling", "conditioning", "preset"])
def test_a_kind_that_is_no_name_is_a_fault_that_names_the_kinds(kind: Any, path: str) -> None:
    document: dict[str, Any] = {"tasks": {"t": dict(TASKS["t"])}}
    *outer, last = path.split(".")
    table = document
    for key in outer:
        table = table[key]
    table[last] = {**table.get(last, {}), "kind": kind}
    (fault,) = faults(**document)
    assert fault.startswith(f"{path}: kind ")
    assert ("is missing; allowed: " if kind is None else "is not one of: ") in fault


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_without_end_are_faults(number: float) -> None:
    training = {"learning_rate": number, "weight_decay": number, "max_grad_norm": number}
    found = faults(training=training, phases=[{"learning_rate": number}])
    for path in ("training.learning_rate", "training.weight_decay", "training.max_grad_norm", "phases.0.learning_rate"):
        assert any(fault.startswith(f"{path}: ") and "finite" in fault for fault in found), path


@pytest.mark.parametrize("seed", [-1, 2**63, pytest.param(10**5000, id="huge"), "many"])
def test_a_seed_that_no_generator_takes_is_a_fault(seed: Any) -> None:
    (fault,) = faults(seed=seed)
    assert fault.startswith("seed: ")


def test_the_largest_seed_is_taken() -> None:
    assert parse_experiment({"tasks": TASKS, "seed": 2**63 - 1}).seed == 2**63 - 1


def nested(depth: int) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for _ in range(depth):
        table = {"a": table}
    return table


@pytest.mark.parametrize("depth", [200, 100_000])
def test_a_document_that_is_too_deep_is_a_fault(depth: int) -> None:
    (fault,) = faults(training=nested(depth))
    assert "nested too deeply" in fault
    assert len(fault) < 500


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("a = " + "{b = " * 5_000 + "1" + "}" * 5_000, "nested too deeply"),
        (".".join("a" * 5_000) + " = 1", "nested too deeply"),
        ("seed = " + "9" * 5_000, "a number of thousands of digits"),
        ("seed = 0x" + "f" * 5_000, "seed: is outside the range of 64-bit integers"),
        ("[training]\nepochs = 9223372036854775808", "training.epochs: is outside the range of 64-bit integers"),
        ("[[phases]]\n[[phases]]\nepochs = -9223372036854775809", "phases.1.epochs: is outside the range"),
        ("\0", "is not valid TOML"),
    ],
    ids=["arrays", "tables", "dotted", "digits", "hex", "epochs", "phase", "nul"],
)
def test_toml_that_breaks_parsers_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "run.toml").write_text(text + "\n[tasks.t]\nkind = 'classification'\n")
    with pytest.raises(ConfigError) as caught:
        read_experiment(tmp_path / "run.toml")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 600


def test_what_was_received_is_shown_short_however_large_it_is() -> None:
    (fault,) = faults(data=list(range(100_000)))
    assert fault.startswith("data: ")
    assert len(fault) < 150


@pytest.mark.parametrize("override", ["seed=" + "9" * 5_000, "a=" + "[" * 100_000, "a.b=0x" + "f" * 5_000], ids="123")
def test_an_override_that_breaks_parsers_is_one_message(override: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_experiment({"tasks": TASKS}, [override])
    assert len(str(caught.value)) < 600


# Lists in --set


def test_an_override_reaches_into_lists_by_number() -> None:
    document = {"phases": [{"epochs": 1}, {"epochs": 2}], "conditioning": ["lora", {"kind": "pal"}]}
    assert apply_override(document, "phases.1.learning_rate=3e-5")["phases"] == [
        {"epochs": 1},
        {"epochs": 2, "learning_rate": 3e-5},
    ]
    changed = apply_override(document, "conditioning.0.rank=2")
    assert changed["conditioning"] == [{"kind": "lora", "rank": 2}, {"kind": "pal"}]
    assert apply_override(document, "conditioning.1=lora")["conditioning"] == ["lora", "lora"]
    assert document == {"phases": [{"epochs": 1}, {"epochs": 2}], "conditioning": ["lora", {"kind": "pal"}]}


def test_the_path_of_a_fault_in_a_phase_can_be_set() -> None:
    document = {"tasks": TASKS, "phases": [{"epochs": 0}]}
    (fault,) = faults(**document)
    path = fault.partition(":")[0]
    assert parse_experiment(document, [f"{path}=2"]).phases[0].epochs == 2


def test_an_entry_is_added_at_the_next_number_only() -> None:
    added = parse_experiment({"tasks": TASKS}, ["phases.0.epochs=2", "phases.1.epochs=4"])
    assert [phase.epochs for phase in added.phases] == [2, 4]
    for path in ("phases.3.epochs", "phases.x.epochs", "phases.-1.epochs", "phases.²", "phases.4"):
        with pytest.raises(ConfigError, match=r"phases is a list of 2; name an entry by its number, 0 to 1, or 2"):
            parse_experiment({"tasks": TASKS, "phases": [{"epochs": 1}, {"epochs": 1}]}, [f"{path}=1"])
