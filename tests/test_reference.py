"""The reference: what it says follows from the Specs, its examples run, and terminal and pages say the same."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from checking import check
from conftest import RunWeft
from docs.reference.__main__ import FOLDER, pages
from weft.comparison.grid import Grid
from weft.config.document import parse_experiment
from weft.config.experiment import Experiment, Phase
from weft.config.training import Training
from weft.data.formats import write_rows
from weft.data.records import Example
from weft.reference.describe import DescribedKind, Option, describe_rooms
from weft.reference.rooms import ROOMS
from weft.reference.words import plain
from weft.spec import Spec, parse
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer

REFERENCE = describe_rooms()
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]


def kinds(*without: str) -> list[tuple[str, str]]:
    return [(room.name, kind) for room in REFERENCE.values() for kind in room.kinds if room.name not in without]


def option(room: str, kind: str, name: str) -> Option:
    return next(one for one in REFERENCE[room].kinds[kind].options if one.name == name)


def sentences(count: int) -> Iterator[list[str]]:
    rng = random.Random(0)
    return (rng.sample(WORDS, rng.randint(3, 6)) for _ in range(count))


def write_files(task: Task, folder: Path) -> None:
    """The file that a task names, with rows that answer it."""
    path = folder / str(task.train)
    if task.format is not None:
        path.write_text(
            "\n\n".join(" ".join(words) + ".\nThe fox jumps over the dog." for words in sentences(200)),
            encoding="utf-8",
        )
        return
    inputs = task.example_inputs(list(sentences(80)))
    golds = task.target().example_golds(inputs)
    examples = [
        Example(input.texts, gold, number, words=input.words, spans=input.spans)
        for number, (input, gold) in enumerate(zip(inputs, golds, strict=True), 1)
    ]
    write_rows(path, [task.to_row(example) for example in examples])


@pytest.mark.parametrize(("room", "kind"), kinds("grid"))
def test_an_example_is_a_config_that_check_finds_ready_to_train(
    room: str, kind: str, tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    experiment = parse_experiment(tomllib.loads(REFERENCE[room].kinds[kind].example))
    for task in experiment.tasks.values():
        write_files(task, tmp_path)
    if room == "scratch":
        tiny_tokenizers["wordpiece"].save(tmp_path / "vocab")
    found = check(experiment, tmp_path, tiny_tokenizers["wordpiece"])
    assert not [finding for finding in found if finding.severity == "error"]


@pytest.mark.parametrize(("room", "kind"), [pair for pair in kinds() if REFERENCE[pair[0]].has_kinds])
def test_an_example_shows_its_kind(room: str, kind: str) -> None:
    assert f'kind = "{kind}"' in REFERENCE[room].kinds[kind].example


def test_the_example_of_a_grid_is_a_grid() -> None:
    document = tomllib.loads(REFERENCE["grid"].kinds["grid"].example)
    grid = parse(Grid, {**document, "base": {}})
    assert (grid.seeds, grid.sizes) == ((1, 2, 3, 4, 5, 6, 7, 8), (50, None))
    assert list(grid.variants) == ["plain", "first token"]


@pytest.mark.parametrize("place", ROOMS, ids=lambda place: place.name)
def test_every_option_is_there_under_the_name_that_a_config_has(place: object) -> None:
    spec: type[Spec] = place.spec  # type: ignore[attr-defined]
    room = REFERENCE[place.name]  # type: ignore[attr-defined]
    for kind, told in room.kinds.items():
        chosen = spec.kinds()[kind] if room.has_kinds else spec
        names = {field.alias or name for name, field in chosen.model_fields.items()} - {"kind"}
        assert names == {one.name for one in told.options} | set(told.idle)
        assert all(one.explained for one in told.options)
        assert told.summary.endswith(".")


@pytest.mark.parametrize(
    ("place", "type", "allowed", "default"),
    [
        (("tasks", "classification", "multilabel"), "true or false", "", "false"),
        (("tasks", "classification", "dev"), "text or number", "from 0 and below 1", "unset"),
        (("tasks", "classification", "costs"), "table of tables of numbers, by name", "from 0 on", "unset"),
        (("tasks", "classification", "head"), "kind of heads", "", '"linear"'),
        (("tasks", "pair_classification", "text"), "list of two texts", "", '["sentence1", "sentence2"]'),
        (("tasks", "spans", "max_width"), "whole number", "from 1 to 64", "12"),
        (("encoder", "encoder", "train_layers"), "text or whole number", '"all", "blocks", or from 0 on', '"all"'),
        (("encoder", "encoder", "from"), "text", "", '"minilm"'),
        (("scratch", "scratch", "tokenizer"), "text", "", "required"),
        (("config", "config", "training"), "table (training)", "", "its defaults"),
        (("config", "config", "tasks"), "table of kinds of tasks, by name", "", "required"),
        (("config", "config", "conditioning"), "kind of conditioning or list of kinds of conditioning", "", '"none"'),
        (("presets", "few_labels", "learning_rate"), "number", "above 0", "0.0001"),
        (("conditioning", "lora", "parts"), "list of texts", '"q", "k", "v"; at least one', '["q", "v"]'),
        (("training", "training", "batch_size"), "whole number", "from 1 on", "32"),
        (("grid", "grid", "seeds"), "whole number or list of whole numbers", "from 1 to 1000, or from 0 on", "8"),
        (("grid", "grid", "sizes"), "list of whole numbers or texts", 'from 1 on, or "all"', "[]"),
    ],
)
def test_an_option_in_plain_words(place: tuple[str, str, str], type: str, allowed: str, default: str) -> None:
    found = option(*place)
    assert (found.type, found.allowed, found.default_words) == (type, allowed, default)


def test_what_does_nothing_for_a_kind_is_no_option_of_it() -> None:
    spans = REFERENCE["tasks"].kinds["spans"]
    assert set(spans.idle) == {"pooling", "truncation"}
    assert not {"pooling", "truncation", "kind"} & {one.name for one in spans.options}


def test_a_kind_tells_metrics_and_loss_also_of_its_variants() -> None:
    first, several, loss = REFERENCE["tasks"].kinds["classification"].facts
    assert first.startswith("`metric` is `f1_macro` if unset; others: `accuracy`")
    assert several.startswith("With `multilabel = true`, `metric` is `f1_micro` if unset; others: `f1_macro`")
    assert loss == "`loss` is `cross_entropy` if unset."
    assert REFERENCE["losses"].kinds["supervised_contrastive"].facts[-1] == "For a phase, not for a task."


def test_own_options_come_before_inherited_ones() -> None:
    names = [one.name for one in REFERENCE["tasks"].kinds["classification"].options]
    assert names.index("multilabel") < names.index("text") < names.index("weight") < names.index("train")


@pytest.mark.parametrize(
    ("value", "toml"),
    [(True, "true"), ("a|b", '"a|b"'), (5e-05, "5e-5"), ((1, 2.5), "[1, 2.5]"), ({"a b": {}}, '{ "a b" = {} }')],
)
def test_a_value_is_written_as_toml_reads_it(value: object, toml: str) -> None:
    assert plain(value) == toml
    read = tomllib.loads(f"value = {toml}")["value"]
    assert read == (list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_what_the_specs_make_it(name: str) -> None:
    written = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert written == pages()[name], "run: python -m docs.reference"


@pytest.mark.parametrize("name", sorted({*pages()} - {"README"}))
def test_a_page_says_no_sentence_twice_at_its_beginning(name: str) -> None:
    head = pages()[name].split("```toml")[0]
    said = [sentence for line in head.splitlines() for sentence in re.findall(r"[A-Z][^.`]+\.", line)]
    assert len(said) == len(set(said))


def test_no_page_is_left_of_what_is_gone_and_links_lead_somewhere() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == set(pages())
    for text in pages().values():
        for page, _, place in re.findall(r"\]\((\w+)\.md(#(\w+))?\)", text):
            assert not place or f"\n## {place}\n" in pages()[page]


def test_kinds_lists_rooms_then_kinds_then_options(run_weft: RunWeft) -> None:
    code, rooms, _ = run_weft("kinds")
    assert code == 0
    assert [line.split()[0] for line in rooms.splitlines()[1:]] == list(REFERENCE)
    assert "focal" in run_weft("kinds", "losses")[1]
    _, page, _ = run_weft("kinds", "losses", "focal")
    assert "gamma  number; from 0 on (default 2.0)" in page
    assert "How strongly easy rows are looked away from" in page
    assert 'loss = { kind = "focal", gamma = 2.0 }' in page


def test_a_section_without_kinds_shows_its_options_and_a_config_s_own_word_finds_a_room(run_weft: RunWeft) -> None:
    assert "warmup_ratio  number; from 0 to 1 (default 0.1)" in run_weft("kinds", "training")[1]
    assert run_weft("kinds", "loss", "focal") == run_weft("kinds", "losses", "focal")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("losess",), "there is no room 'losess'; rooms: config, tasks, .*; did you mean 'losses'?"),
        (("losses", "focl"), "losses has no kind 'focl'; kinds: binary, .*; did you mean 'focal'?"),
        (("training", "adam"), "training has no kinds; run: weft kinds training"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(arguments: tuple[str, ...], message: str, run_weft: RunWeft) -> None:
    code, out, err = run_weft("kinds", *arguments)
    assert (code, out) == (2, "")  # wrong usage, as an example that is not there
    assert re.search(message.replace("?", r"\?"), " ".join(err.replace("│", " ").split()))


def test_the_same_rooms_hold_every_section_of_a_config() -> None:
    assert {Experiment, Training, Phase, Grid, Task} <= {place.spec for place in ROOMS}
    assert isinstance(REFERENCE["phases"].kinds["phases"], DescribedKind)
