"""The JSON Schema of a config: what weft takes is valid, what it refuses is not, and editors find words in it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from conftest import RunWeft
from weft.config.document import parse_experiment
from weft.demo import CONFIG
from weft.errors import ConfigError
from weft.reference.describe import describe_rooms
from weft.reference.schema import config_schema

SCHEMA = config_schema()
RECIPES = Path(__file__).parent.parent / "recipes"
EXAMPLES = {
    f"{room.name}.{kind.name}": kind.example
    for room in describe_rooms().values()
    for kind in room.kinds.values()
    if room.name != "grid"
}
FILES = [*sorted(RECIPES.glob("*.toml")), RECIPES / "figures" / "ogada_curves.toml", CONFIG]


def faults(document: dict[str, Any]) -> list[str]:
    found = Draft4Validator(SCHEMA).iter_errors(document)
    return [".".join(map(str, error.absolute_path)) for error in found]


def test_it_is_draft_4() -> None:
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-04/schema#"
    Draft4Validator.check_schema(SCHEMA)
    text = json.dumps(SCHEMA)
    assert not [word for word in ("const", "if", "$defs", "prefixItems", "examples") if f'"{word}": ' in text]
    assert '"exclusiveMinimum": true' in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_recipes_and_the_demo_are_valid_as_written_and_as_written_out_whole(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    assert not faults(document)
    assert not faults(json.loads(json.dumps(parse_experiment(document).to_dict())))


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_reference_are_valid(name: str) -> None:
    assert not faults(tomllib.loads(EXAMPLES[name]))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[tasks.a]\nkind = 'classificaton'", "tasks.a.kind"),
        ("[tasks.a]\nkind = 'classification'\ntxt = 'message'", "tasks.a"),
        ("[tasks.a]\nkind = 'classification'\ntruncation = 'middle'", "tasks.a"),
        ("[tasks.a]\nkind = 'classification'\nloss = 'focl'", "tasks.a"),
        ("[tasks.a]\nkind = 'classification'\nhead = {kind = 'mlp', sizes = [0]}", "tasks.a"),
        ("[tasks.a]\nkind = 'classification'\ndev = 1.0", "tasks.a"),
        ("[tasks.a]\nkind = 'spans'\ntruncation = 'tail'", "tasks.a"),
        ("[tasks.a]\nkind = 'similarity'\ntext = ['one']", "tasks.a"),
        ("[tasks.a]\ntrain = 'a.csv'", "tasks.a"),
        ("[tasks]", "tasks"),
        ("seed = 1", ""),
        ("[tasks.a]\nkind = 'classification'\n[training]\nepochs = 'three'", "training.epochs"),
        ("[tasks.a]\nkind = 'classification'\n[training]\nlearning_rate = 0", "training.learning_rate"),
        ("[tasks.a]\nkind = 'classification'\n[training]\nbach_size = 3", "training"),
        ("[tasks.a]\nkind = 'classification'\n[training]\nreport_to = ['paper']", "training.report_to.0"),
        ("[tasks.a]\nkind = 'classification'\n[encoder]\ntrain_layers = 'most'", "encoder.train_layers"),
        ("[tasks.a]\nkind = 'classification'\n[encoder.scratch]\nhidden_size = 8", "encoder.scratch"),
        ("conditioning = 'combined'\n[tasks.a]\nkind = 'classification'", "conditioning"),
        ("[tasks.a]\nkind = 'classification'\n[[phases]]\nepochs = 0", "phases.0.epochs"),
        ("preset = 3\n[tasks.a]\nkind = 'classification'", "preset"),
    ],
)
def test_what_weft_refuses_is_not_valid_and_the_place_is_told(text: str, place: str) -> None:
    document = tomllib.loads(text)
    with pytest.raises(ConfigError):
        parse_experiment(document)
    assert place in faults(document)


@pytest.mark.parametrize(
    "text",
    [
        "preset = 'auto'\nsampling = {kind = 'temperature', temperature = 3}\n[tasks.a]\nkind = 'classification'",
        "conditioning = ['label_attention', {kind = 'lora', rank = 4}]\n[tasks.a]\nkind = 'classification'",
        "conditioning = 'label_attention'\n[tasks.a]\nkind = 'classification'\nloss = 'focal'",
        "[tasks.a]\nkind = 'classification'\ndev = 0\n[encoder]\ntrain_layers = 'blocks'",
        "[tasks.a]\nkind = 'classification'\ndev = 'dev.csv'\n[encoder]\ntrain_layers = 2",
        "[tasks.a]\nkind = 'classification'\ncosts = {urgent = {later = 20}}",
    ],
)
def test_names_tables_and_lists_are_valid_where_weft_takes_them(text: str) -> None:
    document = tomllib.loads(text)
    parse_experiment(document)
    assert not faults(document)


def test_old_names_are_not_offered() -> None:
    training = SCHEMA["definitions"]["training"]["properties"]
    assert "lr_scheduler_type" in training
    assert "schedule" not in training


def test_editors_find_a_sentence_and_the_default_of_every_option() -> None:
    for name, table in SCHEMA["definitions"].items():
        if "additionalProperties" in table:
            assert table["description"], name
            bare = [key for key, told in table["properties"].items() if key != "kind" and not told.get("description")]
            assert not bare, name
    training = SCHEMA["definitions"]["training"]["properties"]
    assert training["warmup_ratio"]["default"] == 0.1
    assert "default" not in training["epochs"]  # that of the preset
    assert SCHEMA["properties"]["sampling"]["default"] == "round_robin"


def test_the_command_writes_the_file_or_prints_it(run_weft: RunWeft, tmp_path: Path) -> None:
    code, out, _ = run_weft("schema")
    assert (code, json.loads(out)) == (0, SCHEMA)
    file = tmp_path / "weft.schema.json"
    code, out, err = run_weft("schema", "--output", file)
    assert (code, out, json.loads(file.read_text(encoding="utf-8"))) == (0, "", SCHEMA)
    assert f"#:schema {file}" in err


def test_a_config_is_not_lost_to_a_slip_of_the_finger(run_weft: RunWeft, tmp_path: Path) -> None:
    config = tmp_path / "triage.toml"
    config.write_text("seed = 1\n", encoding="utf-8")
    code, _, err = run_weft("schema", "--output", config)
    assert (code, config.read_text(encoding="utf-8")) == (1, "seed = 1\n")
    assert "is no JSON file; name one, such as weft.schema.json" in err
