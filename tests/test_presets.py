"""Presets: what they give for which rows, that they change nothing a config names, and that all of it can be read."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

import weft
from conftest import RunWeft
from recorder import HEAD, TEXTS, Place, Recorder, make_place
from weft.config.document import parse_experiment
from weft.config.expand import expand
from weft.config.experiment import Experiment, Phase
from weft.errors import ConfigError
from weft.presets import Facts, Preset, TaskFacts
from weft.presets.auto import Auto
from weft.presets.few_labels import FewLabels
from weft.presets.fine_tuning import FineTuning
from weft.spec import parse
from weft.tokenization.tokenizer import Tokenizer
from weft.training.prepare import prepare

FEW = TaskFacts(rows=24, labels=3, rows_per_label=8, contrasts=True, fits=True)
MANY = TaskFacts(rows=9000, labels=3, rows_per_label=3000, contrasts=True, fits=True)
NUMBERS = TaskFacts(rows=24, labels=0, rows_per_label=0.0, contrasts=False, fits=True)
SINGLE = TaskFacts(rows=3, labels=3, rows_per_label=1, contrasts=False, fits=True)
UNFIT = TaskFacts(rows=24, labels=3, rows_per_label=8, contrasts=True, fits=False)  # an mlp head
SPANS = TaskFacts(rows=24, labels=0, rows_per_label=0.0, contrasts=False, fits=False)

CONTRAST = {
    "tasks": ["a"],
    "loss": {"kind": "pairwise_cosine"},
    "steps": 30,
    "batch_size": 64,
    "batch_tokens": 4096,
    "max_length": 128,
    "learning_rate": 1e-4,
    "interpolate": 0.75,
    "train_layers": "blocks",
}
RATES = {"learning_rate": 1e-4, "head_learning_rate": 1e-3}


def facts(batch_size: int = 32, raw: bool = False, **tasks: TaskFacts) -> Facts:
    return Facts(tasks=tasks, batch_size=batch_size, raw=raw)


def fit(*tasks: str) -> dict[str, Any]:
    return {"fit": "logistic", "tasks": list(tasks)}


# What each gives


def test_few_labels_contrasts_and_then_fits() -> None:
    given_ = FewLabels().expand(facts(a=FEW))
    assert given_.phases == [CONTRAST, fit("a")]
    assert len(given_.reasons) == 1


@pytest.mark.parametrize(("rows", "steps"), [(64, 30), (65, 60), (9000, 60)])
def test_rows_of_more_than_one_batch_are_contrasted_for_longer(rows: int, steps: int) -> None:
    larger = TaskFacts(rows=rows, labels=3, rows_per_label=rows / 3, contrasts=True, fits=True)
    many = TaskFacts(rows=9000, labels=0, rows_per_label=0, contrasts=False, fits=True)  # which are not contrasted
    assert FewLabels().expand(facts(a=larger, b=FEW, c=many)).phases[0]["steps"] == steps


def test_with_one_row_per_label_heads_are_fitted_to_the_encoder_as_it_is() -> None:
    for preset in (FewLabels(), Auto()):
        given_ = preset.expand(facts(a=SINGLE, b=SINGLE))
        assert given_.phases == [fit("a", "b")]
        assert "no label has two rows" in given_.reasons[0]
    assert FewLabels().expand(facts(a=FEW, b=SINGLE)).phases == [CONTRAST, fit("a", "b")]


def test_few_labels_fits_also_what_has_no_labels_to_contrast() -> None:
    given_ = FewLabels().expand(facts(a=FEW, near=NUMBERS))
    assert given_.phases == [CONTRAST, fit("a", "near")]


@pytest.mark.parametrize("options", [{"steps": 7}, {"learning_rate": 3e-5}, {"interpolate": 0.5}])
def test_the_options_of_few_labels_reach_its_phase(options: dict[str, Any]) -> None:
    assert FewLabels(**options).expand(facts(a=FEW)).phases[0] == {**CONTRAST, **options}


def loss_of(preset: FewLabels, **tasks: TaskFacts) -> dict[str, Any]:
    found: dict[str, Any] = preset.expand(facts(**tasks)).phases[0]["loss"]
    return found


def test_cosines_are_asked_for_where_every_task_has_one_of_few_labels() -> None:
    cosine, contrastive = {"kind": "pairwise_cosine"}, {"kind": "supervised_contrastive", "temperature": 0.1}
    six, seven = replace(FEW, labels=6), replace(FEW, labels=7)
    assert loss_of(FewLabels(), a=six) == loss_of(FewLabels(), a=six, near=NUMBERS) == cosine
    assert loss_of(FewLabels(), a=seven) == loss_of(FewLabels(), a=six, b=seven) == contrastive
    assert loss_of(FewLabels(), a=replace(FEW, exclusive=False)) == contrastive
    assert loss_of(FewLabels(loss="pairwise_cosine"), a=seven) == cosine
    assert loss_of(FewLabels(loss="supervised_contrastive"), a=six) == contrastive


def test_the_temperature_of_few_labels_reaches_its_loss() -> None:
    assert loss_of(FewLabels(temperature=0.3), a=replace(FEW, labels=24))["temperature"] == 0.3


def test_the_words_of_labels_are_left_out_where_the_preset_says_so() -> None:
    assert FewLabels(words=False).expand(facts(a=FEW)).phases == [CONTRAST, {**fit("a"), "words": False}]
    assert parse(Phase, {**fit("a"), "words": False}).words is False


def test_the_words_of_labels_are_refused_where_nothing_is_fitted() -> None:
    with pytest.raises(ConfigError, match='words is about heads that are fitted at once; add fit = "logistic"'):
        parse(Phase, {"epochs": 1, "words": True})


def test_in_a_frozen_encoder_few_labels_only_fits_unless_a_method_adds_weights_that_learn() -> None:
    frozen = Facts(tasks={"a": FEW}, batch_size=32, frozen=True)
    assert FewLabels().expand(frozen).phases == [fit("a")]
    added = FewLabels().expand(Facts(tasks={"a": FEW}, batch_size=32, frozen=True, conditioned=True))
    assert added.phases == [{name: value for name, value in CONTRAST.items() if name != "train_layers"}, fit("a")]


@pytest.mark.parametrize(
    "without",
    [
        pytest.param(facts(near=NUMBERS), id="no labels"),
        pytest.param(facts(a=UNFIT), id="a head that cannot be fitted"),
        pytest.param(facts(a=FEW, b=UNFIT), id="one such head beside another"),
        pytest.param(facts(a=FEW, s=SPANS), id="spans"),
        pytest.param(facts(a=FEW, raw=True), id="raw text"),
        pytest.param(facts(), id="nothing"),
    ],
)
def test_few_labels_leaves_no_task_untrained(without: Facts) -> None:
    """Where neither of its stages would train a task, it is fine-tuning."""
    assert FewLabels().expand(without) == FineTuning().expand(without)
    assert {} in FewLabels().expand(without).phases  # in which all learn


def test_fine_tuning_fits_the_heads_that_can_be_and_then_learns_all() -> None:
    assert FineTuning().expand(facts(a=FEW, b=UNFIT, c=MANY)).phases == [fit("a", "c"), {}]
    assert FineTuning().expand(facts(s=SPANS)).phases == [{}]


@pytest.mark.parametrize(
    ("rows", "batch_size", "epochs"),
    [
        pytest.param(32, 32, 20, id="one batch, so the most"),
        pytest.param(24 * 32, 32, 13, id="24 batches, so 312 steps"),
        pytest.param(30 * 32, 32, 10, id="30 batches, so 300 steps"),
        pytest.param(30 * 32 + 1, 32, 10, id="31 batches, so 310 steps"),
        pytest.param(90_000, 32, 4, id="the fewest"),
        pytest.param(300, 10, 10, id="smaller batches"),
        pytest.param(1, 32, 20, id="one row"),
    ],
)
def test_fine_tuning_takes_steps_enough_in_whole_epochs(rows: int, batch_size: int, epochs: int) -> None:
    """Steps of the largest task."""
    large = TaskFacts(rows=rows, labels=2, rows_per_label=rows / 2, contrasts=True, fits=True)
    small = TaskFacts(rows=1, labels=1, rows_per_label=1, contrasts=True, fits=True)
    given_ = FineTuning().expand(facts(batch_size, small=small, large=large))
    assert given_.training == {"epochs": epochs, **RATES}
    options = {"steps": 100, "least_epochs": 2, "most_epochs": 5}
    batches = -(-rows // batch_size)
    assert FineTuning(**options).settings(facts(batch_size, a=large))["epochs"] == min(max(-(-100 // batches), 2), 5)


def test_raw_text_is_learned_as_encoders_are_pretrained() -> None:
    assert FineTuning().expand(facts(raw=True, a=FEW)).training == {
        "epochs": 3,
        "learning_rate": 5e-5,
        "head_learning_rate": 5e-5,
    }


@pytest.mark.parametrize(
    ("labels", "exclusive", "per_label", "preset"),
    [
        (6, True, 1, FewLabels),
        (6, True, 100, FewLabels),
        (6, True, 100.5, FineTuning),
        (7, True, 15, FewLabels),
        (7, True, 15.5, FineTuning),
        (7, False, 100, FewLabels),
        (7, False, 100.5, FineTuning),
    ],
)
def test_auto_is_few_labels_up_to_a_hundred_rows_of_the_label_in_the_middle_or_fifteen_of_many_labels(
    labels: int, exclusive: bool, per_label: float, preset: Any
) -> None:
    task = TaskFacts(500, labels, rows_per_label=per_label, contrasts=True, fits=True, exclusive=exclusive)
    known = facts(a=task)
    assert Auto().expand(known) == preset().expand(known)
    assert FewLabels().expand(known) != FineTuning().expand(known)


@pytest.mark.parametrize(
    ("known", "preset"),
    [
        pytest.param(facts(a=FEW, b=FEW), FewLabels, id="few and few"),
        pytest.param(facts(a=FEW, b=SINGLE), FewLabels, id="few and one"),
        pytest.param(facts(a=FEW, b=MANY), FineTuning, id="few and many"),
        pytest.param(facts(a=FEW, near=NUMBERS), FineTuning, id="few and numbers"),
        pytest.param(facts(a=UNFIT), FineTuning, id="a head that cannot be fitted"),
        pytest.param(facts(a=FEW, raw=True), FineTuning, id="raw text"),
        pytest.param(facts(raw=True), FineTuning, id="nothing but raw text"),
        pytest.param(Facts({"a": FEW}, 32, frozen=True), FewLabels, id="frozen"),
        pytest.param(Facts({"a": FEW}, 32, conditioned=True), FewLabels, id="conditioned"),
        pytest.param(Facts({"a": FEW}, 32, named=("training.epochs",)), FineTuning, id="a config that says how"),
    ],
)
def test_auto_is_few_labels_where_all_tasks_have_few_and_nothing_is_named(known: Facts, preset: Any) -> None:
    assert Auto().expand(known) == preset().expand(known)


def test_presets_are_kinds_like_any_other() -> None:
    assert set(Preset.kinds()) == {"auto", "few_labels", "fine_tuning"}
    for name, kind in Preset.kinds().items():
        assert parse(Preset, name) == kind()
        assert parse(Preset, kind().to_dict()) == kind()
    with pytest.raises(ConfigError, match="few_label"):
        parse(Preset, "few_label")


# What a config names


def experiment(**sections: Any) -> Experiment:
    return parse_experiment({"tasks": {"a": {"kind": "classification", "train": "a.csv"}}, **sections})


@pytest.mark.parametrize("preset", Preset.kinds())
@pytest.mark.parametrize(
    "named",
    [
        {"epochs": 7},
        {"learning_rate": 3e-6},
        {"head_learning_rate": 2e-2},
        {"epochs": 1, "learning_rate": 1e-6, "head_learning_rate": 1e-6},
        {"early_stopping_patience": 2},
        {"batch_size": 5, "weight_decay": 0.3},
    ],
)
def test_settings_that_a_config_names_are_never_changed(preset: str, named: dict[str, Any]) -> None:
    before = experiment(preset=preset, training=named)
    after, _ = expand(before, {"a": FEW})
    left = {"epochs", "learning_rate", "head_learning_rate"} - named.keys()
    for name, value in vars(before.training).items():
        if name in left:
            assert value is None
            assert getattr(after.training, name) is not None
        else:
            assert getattr(after.training, name) == value
    for name in ("encoder", "tasks", "sampling", "conditioning", "seed", "preset", "data"):
        assert getattr(after, name) == getattr(before, name)


@pytest.mark.parametrize(
    "name", ["epochs", "learning_rate", "head_learning_rate", "early_stopping_patience", "batch_size"]
)
def test_a_config_that_says_how_to_learn_is_fine_tuned(name: str) -> None:
    after, _ = expand(experiment(training={name: 1}), {"a": FEW})
    assert [phase.fit for phase in after.phases] == (["logistic", None] if name != "batch_size" else [None, "logistic"])


def test_phases_that_a_config_names_are_never_changed_but_the_tasks_to_fit_are_listed() -> None:
    phases = [{"steps": 3}, {"fit": "logistic"}, {"fit": "logistic", "tasks": ["b"]}, {"epochs": 2}]
    tasks = {name: {"kind": "classification", "train": "a.csv"} for name in "abc"}
    for preset in Preset.kinds():
        before = parse_experiment({"tasks": tasks, "phases": phases, "preset": preset})
        after, reasons = expand(before, {"a": FEW, "b": MANY, "c": UNFIT})
        assert reasons == ()
        assert after.phases[0] == Phase(steps=3)
        assert after.phases[1] == Phase(fit="logistic", tasks=("a", "b"))
        assert after.phases[2:] == before.phases[2:]
        assert (after.training.learning_rate, after.training.head_learning_rate) == (1e-4, 1e-3)


def test_the_size_of_batches_is_what_the_config_says_or_about_as_many_rows_as_usual() -> None:
    large = {"a": MANY}
    assert expand(experiment(training={"batch_size": 450}), large)[0].training.epochs == 15  # of 20 steps
    assert expand(experiment(training={"batch_tokens": 4000}), large)[0].training.epochs == 4  # of 282


TASK = st.builds(
    TaskFacts,
    rows=st.integers(1, 10_000),
    labels=st.integers(0, 9),
    rows_per_label=st.floats(0, 2000),
    contrasts=st.booleans(),
    fits=st.booleans(),
)


@given(
    tasks=st.dictionaries(st.sampled_from("abc"), TASK, min_size=1),
    preset=st.sampled_from(sorted(Preset.kinds())),
    layers=st.sampled_from(["all", "blocks", 0, 1]),
    conditioning=st.sampled_from(["none", "lora"]),
    training=st.sampled_from([{}, {"epochs": 2}, {"learning_rate": 1e-3}, {"batch_tokens": 100}]),
    listed=st.booleans(),
)
def test_whatever_the_rows_a_config_is_complete_trains_every_task_and_stays_as_it_is(
    tasks: dict[str, TaskFacts],
    preset: str,
    layers: Any,
    conditioning: str,
    training: dict[str, Any],
    listed: bool,
) -> None:
    files = {name: {"kind": "classification", "train": f"{name}.csv"} for name in tasks}
    document = {"tasks": files, "preset": preset, "encoder": {"train_layers": layers}, "conditioning": conditioning}
    before = parse_experiment({**document, "training": training, "phases": [{}] if listed else []})
    after, reasons = expand(before, tasks)
    assert (after.training.epochs or 0) > 0
    assert (after.training.learning_rate or 0) > 0
    assert (after.training.head_learning_rate or 0) > 0
    answered = [phase for phase in after.phases if phase.loss is None]  # a contrastive phase leaves heads as they are
    assert {name for phase in answered for name in phase.tasks or tasks} == set(tasks)
    assert all(tasks[name].fits for phase in after.phases if phase.fit for name in phase.tasks or ())
    assert all("\n" not in reason for reason in reasons)
    again, none = expand(parse_experiment(tomllib.loads(tomli_w.dumps(after.to_dict()))), tasks)
    assert again == after
    assert none == ()


# From rows to facts to a run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("presets"), tiny_tokenizers["wordpiece"], 0.0)


def prepared(place: Place, tasks: dict[str, Any], **sections: Any) -> Any:
    document = {"encoder": {"from": place.encoder}, "tasks": tasks, **sections}
    return prepare(parse_experiment(document), place.folder)


def test_a_plain_config_of_few_rows_is_contrasted_and_fitted(place: Place) -> None:
    found = prepared(place, {"a": {"kind": "classification", "train": place.task("plain", 8)["train"]}})
    assert not found.faults
    assert [phase.fit for phase in found.experiment.phases] == [None, "logistic"]
    assert found.experiment.phases[0].loss.to_dict()["kind"] == "pairwise_cosine"
    (reason,) = found.reasons
    assert "30 steps" in reason
    several = prepared(
        place, {"a": {"kind": "classification", "train": place.task("plain", 8)["train"], "multilabel": True}}
    )
    assert several.experiment.phases[0].loss.to_dict()["kind"] == "supervised_contrastive"


@pytest.mark.parametrize(
    ("options", "fits", "contrasts"),
    [
        pytest.param({}, True, True, id="linear"),
        pytest.param({"head": {"kind": "mlp"}}, False, True, id="mlp"),
        pytest.param({"head": {"kind": "cosine"}}, False, True, id="cosine"),
        pytest.param({"loss": "focal"}, True, True, id="another loss"),
    ],
)
def test_the_phases_of_a_task_are_those_that_its_head_allows(
    place: Place, options: dict[str, Any], fits: bool, contrasts: bool
) -> None:
    task = {"kind": "classification", "train": place.task("allowed", 8)["train"], **options}
    found = prepared(place, {"a": task})
    assert not found.faults
    assert [phase.fit for phase in found.experiment.phases] == ([None, "logistic"] if fits else [None])
    assert (found.experiment.phases[0].loss is not None) == (fits and contrasts)


def test_rows_of_a_label_are_counted_among_those_that_are_learned_from(place: Place) -> None:
    """303 rows of two labels, of which half are many and a tenth is few."""
    rows = [(f"{text} {number}", "ab"[number % 2]) for number in range(26) for text in TEXTS[:12]]
    file = place.rows("many.jsonl", rows)
    for options, few in (({}, False), ({"limit": 200}, True), ({"dev": 0.5}, True), ({"dev": 0.2}, False)):
        task = {"kind": "classification", "train": file, "dev": 0, **options}
        found = prepared(place, {"a": task})
        assert (found.experiment.phases[0].loss is not None) == few, options


def test_a_label_of_two_rows_is_enough_to_contrast_and_labels_of_one_are_not(place: Place) -> None:
    for given_, contrasts in (("abc", False), ("abca", True)):
        file = place.rows(f"{given_}.jsonl", list(zip(TEXTS, given_, strict=False)))
        found = prepared(place, {"a": {"kind": "classification", "train": file, "dev": 0}})
        assert not found.faults
        assert [phase.loss is not None for phase in found.experiment.phases] == (
            [True, False] if contrasts else [False]
        )


def test_what_a_preset_chose_is_told_and_stands_in_the_report_and_on_the_card(place: Place) -> None:
    task = {"kind": "classification", "train": place.task("told", 4)["train"], "dev": 0}
    document = {"encoder": {"from": place.encoder}, "tasks": {"a": task}, "preset": {"kind": "few_labels", "steps": 2}}
    seen = Recorder()
    weft.train(document, place.folder / "told", data=place.folder, device="cpu", callback=seen)
    (reason,) = place.report("told")["reasons"]
    assert reason in seen.notes
    assert "2 steps" in reason
    for page in ("report.html", "README.md"):
        assert reason in (place.folder / "told" / page).read_text(encoding="utf-8")


def test_raw_text_beside_few_rows_is_learned_too(place: Place) -> None:
    (place.folder / "raw.txt").write_text("the quick brown fox jumps over the lazy dog\n\n" * 20)
    tasks = {
        "a": {"kind": "classification", "train": place.task("beside", 8)["train"]},
        "words": {"kind": "masked_words", "train": "raw.txt", "dev": 0.2},
    }
    for preset in Preset.kinds():
        phases = prepared(place, tasks, preset=preset).experiment.phases
        assert [phase.tasks for phase in phases] == [("a",), None]
        assert [phase.fit for phase in phases] == ["logistic", None]


# Shown


@pytest.fixture
def config(place: Place, tmp_path: Path) -> Path:
    """A config with nothing but its tasks."""
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps({"text": text, "label": "abc"[i % 3]}) + "\n" for i, text in enumerate(TEXTS)),
        encoding="utf-8",
    )
    pairs = zip(TEXTS[:6], TEXTS[6:], strict=True)
    (tmp_path / "pairs.jsonl").write_text(
        "".join(
            json.dumps({"sentence1": one, "sentence2": other, "label": "xy"[i % 2]}) + "\n"
            for i, (one, other) in enumerate(pairs)
        ),
        encoding="utf-8",
    )
    document = {
        "encoder": {"from": place.encoder},
        "tasks": {
            "a": {"kind": "classification", "train": "rows.jsonl"},
            "p": {"kind": "pair_classification", "train": "pairs.jsonl"},
        },
    }
    (tmp_path / "config.toml").write_text(tomli_w.dumps(document), encoding="utf-8")
    return tmp_path / "config.toml"


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("--set", "preset.kind=few_labels", "--set", "preset.steps=9"),
        ("--set", "training.epochs=2"),
        ("--set", "encoder.train_layers=0"),
        ("--set", "conditioning.kind=label_attention", "--seed", "5"),
    ],
)
def test_the_config_that_is_shown_is_all_that_would_be_run_and_reads_back_as_the_same(
    config: Path, run_weft: RunWeft, changes: tuple[str, ...]
) -> None:
    code, out, err = run_weft("train", config, "--show-config", *changes)
    assert (code, err) == (0, "")
    shown = tomllib.loads(out)
    assert shown["phases"]
    assert shown["training"].keys() >= {"epochs", "learning_rate", "head_learning_rate"}
    assert shown["tasks"]["p"]["encode"] == "siamese"
    assert shown["seed"] == (5 if "5" in changes else 13)
    assert out.startswith("#") == ("training.epochs=2" not in changes)
    again = config.parent / "shown.toml"
    again.write_text(out, encoding="utf-8")
    code, second, _ = run_weft("train", again, "--show-config")
    assert code == 0
    assert tomllib.loads(second) == shown
    assert not second.startswith("#")  # for nothing is left to the preset
    assert [path.name for path in config.parent.iterdir() if path.is_dir()] == []  # and nothing was trained


def test_the_config_of_a_report_is_the_one_that_is_shown(config: Path, run_weft: RunWeft) -> None:
    """Few enough steps to be run."""
    changes = ("--set", "preset.kind=few_labels", "--set", "preset.steps=2", "--set", "training.baselines=false")
    _, out, _ = run_weft("train", config, "--show-config", *changes)
    code, _, _ = run_weft("train", config, "--output", config.parent / "out", *changes)
    assert code == 0
    report = json.loads((config.parent / "out" / "report.json").read_text(encoding="utf-8"))
    assert tomllib.loads(report["config"]) == tomllib.loads(out)


def test_faults_are_shown_instead_of_a_config_that_could_not_be_run(config: Path, run_weft: RunWeft) -> None:
    code, out, err = run_weft("train", config, "--show-config", "--set", "tasks.a.train=gone.jsonl")
    assert (code, out) == (1, "")
    assert "gone.jsonl" in err


# Faults of phases

TASKS: dict[str, Any] = {
    "a": {"kind": "classification", "train": "rows.jsonl", "head": HEAD},
    "m": {"kind": "classification", "train": "rows.jsonl", "head": {"kind": "mlp"}},
}


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ({"epochs": 1, "steps": 1}, "phases.0: a phase has epochs or steps, not both; remove one of them"),
        (
            {"fit": "logistic", "epochs": 2},
            "phases.0: epochs does nothing where heads are fitted at once; leave it out",
        ),
        (
            {"fit": "logistic", "learning_rate": 1e-3, "loss": "supervised_contrastive"},
            "phases.0: learning_rate, loss does nothing where heads are fitted at once; leave it out",
        ),
        (
            {"fit": "logistic", "interpolate": 0.5, "batch_size": 3, "batch_tokens": 9, "train_layers": 0},
            "phases.0: train_layers, interpolate, batch_size, batch_tokens does nothing where heads are fitted at once",
        ),
        (
            {"loss": "cross_entropy"},
            "phases.0: loss 'cross_entropy' is of what heads say: set it for a task ([tasks.NAME] loss = …); allowed"
            " for a phase: pairwise_cosine, supervised_contrastive",
        ),
        ({"tasks": ["x"]}, "there is no task 'x'; the tasks are: a, m"),
        ({"fit": "ridge"}, "phases.0.fit: "),
        ({"interpolate": 1.0}, "phases.0.interpolate: "),
        ({"interpolate": 0}, "phases.0.interpolate: "),
        ({"steps": 0}, "phases.0.steps: "),
        ({"max_length": 2}, "phases.0.max_length: "),
        ({"loss": {"kind": "supervised_contrastive", "temperature": 0}}, "phases.0.loss.temperature: "),
    ],
)
def test_a_phase_that_cannot_be_is_one_message(phase: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_experiment({"tasks": TASKS, "phases": [phase]})
    (fault,) = caught.value.faults
    assert said in fault


def test_what_may_stand_beside_a_fit_does() -> None:
    phase = {"fit": "logistic", "tasks": ["a"], "max_length": 64}
    assert parse_experiment({"tasks": TASKS, "phases": [phase]}).phases == (Phase(**phase),)


def faults_of(place: Place, tasks: dict[str, Any], *phases: dict[str, Any]) -> list[str]:
    place.task("faulty", 8)
    files = {name: {**task, "train": "faulty.jsonl"} for name, task in tasks.items()}
    return [f"{fault.path}: {fault.message}" for fault in prepared(place, files, phases=phases).faults]


def test_a_head_that_cannot_be_fitted_is_named_with_those_that_can(place: Place) -> None:
    (fault,) = faults_of(place, TASKS, {}, {"fit": "logistic", "tasks": ["a", "m"]})
    assert fault == (
        "phases.1.tasks: the heads of m cannot be fitted at once: only linear heads of labels, scores and tags can; "
        "allowed: a"
    )
    (fault,) = faults_of(place, {"m": TASKS["m"]}, {"fit": "logistic"})
    assert "the heads of m cannot be fitted" in fault
    assert fault.endswith("allowed: none here")
    assert faults_of(place, TASKS, {"fit": "logistic"}, {}) == []  # those that can be


@pytest.mark.parametrize("phase", [{"fit": "logistic"}, {"loss": "supervised_contrastive", "steps": 2}])
def test_of_a_task_without_its_file_no_phase_is_blamed(place: Place, phase: dict[str, Any]) -> None:
    (fault,) = prepared(place, {"a": {**TASKS["a"], "train": "nowhere.jsonl"}}, phases=[phase]).faults
    assert fault.path == "tasks.a.train"


@pytest.mark.parametrize(
    ("layers", "phases", "where"),
    [(0, [], "encoder.train_layers"), ("all", [{}, {"train_layers": 0}], "phases.1.train_layers")],
)
def test_a_cosine_on_a_frozen_encoder_has_nothing_to_learn(place: Place, layers: Any, phases: Any, where: str) -> None:
    lines = [{"sentence1": text, "sentence2": text[::-1], "score": i} for i, text in enumerate(TEXTS)]
    (place.folder / "near.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    tasks = {"near": {"kind": "similarity", "train": "near.jsonl", "output": "cosine"}}
    encoder = {"from": place.encoder, "train_layers": layers}
    (fault,) = prepared(place, tasks, encoder=encoder, phases=phases).faults
    assert fault.path == where
    assert fault.message.startswith("nothing of near could learn: the encoder is frozen")
    assert not prepared(place, {"near": {**tasks["near"], "output": "sigmoid"}}, encoder=encoder, phases=phases).faults


def test_the_loss_of_a_phase_is_no_loss_of_a_task(place: Place) -> None:
    (fault,) = faults_of(place, {"a": {**TASKS["a"], "loss": "supervised_contrastive"}})
    assert fault.startswith("tasks.a.loss: 'supervised_contrastive' does not suit this task; allowed: ")
    assert "cross_entropy" in fault
    assert "supervised_contrastive" not in fault.split("allowed:")[1]


def test_a_contrastive_phase_without_any_label_to_compare_is_a_fault(place: Place) -> None:
    lines = [{"sentence1": text, "sentence2": text[::-1], "score": i} for i, text in enumerate(TEXTS)]
    (place.folder / "near.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    near = {"kind": "similarity", "train": "near.jsonl"}
    phase = {"loss": "supervised_contrastive", "steps": 2}
    for tasks, named in (
        ({"near": near}, None),
        ({"near": near, "a": TASKS["a"] | {"train": "faulty.jsonl"}}, ["near"]),
    ):
        found = prepared(place, tasks, phases=[{}, {**phase, **({"tasks": named} if named else {})}])
        (fault,) = found.faults
        assert f"{fault.path}: {fault.message}" == (
            "phases.1.loss: 'supervised_contrastive' suits none of near: it needs labels of whole rows"
        )
