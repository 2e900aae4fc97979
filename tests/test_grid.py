"""Grid files: what they expand to, and every fault of every variant before anything runs."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from conftest import RunWeft
from weft.comparison.grid import Grid, read_grid
from weft.comparison.merge import merge, nest
from weft.comparison.plan import GridPlan, describe_plan, expand, variant_config, what_can_be_decided
from weft.comparison.together import each_and_all
from weft.config.document import parse_experiment
from weft.errors import ConfigError

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]
TASKS = ("fox", "long", "rest")
SECRET = "mein Geheimnis: Zeile eins"  # a text that no message may repeat
Place = Callable[..., GridPlan]
Faults = Callable[..., list[str]]


def task(label: str, **options: Any) -> dict[str, Any]:
    return {"kind": "classification", "train": "rows.csv", "test": "test.csv", "label": label, **options}


@pytest.fixture
def files(tmp_path: Path, small_encoder: str) -> Path:
    """A config of three tasks, `base.toml`, in a folder with their files."""
    rng = random.Random(0)
    texts = list(dict.fromkeys(" ".join(rng.choices(WORDS, k=rng.randint(2, 6))) for _ in range(90)))[:80]
    lines = [
        f"{text},{'yes' if 'fox' in text else 'no'},{'long' if len(text) > 22 else 'short'},{'abc'[len(text) % 3]}"
        for text in texts
    ]
    for name, rows in {"rows.csv": lines[:48], "test.csv": lines[48:], "other.csv": lines[40:70]}.items():
        (tmp_path / name).write_text("\n".join(["text,fox,long,rest", *rows]) + "\n", encoding="utf-8")
    base = {
        "encoder": {"from": small_encoder},
        "tasks": {"fox": task("fox"), "long": task("long"), "rest": task("rest")},
        "training": {"epochs": 2, "batch_size": 8},
    }
    (tmp_path / "base.toml").write_text(tomli_w.dumps(base), encoding="utf-8")
    return tmp_path


def write(folder: Path, grid: dict[str, Any]) -> Path:
    path = folder / "grid.toml"
    path.write_text(tomli_w.dumps({"base": "base.toml", **grid}), encoding="utf-8")
    return path


@pytest.fixture
def plan(files: Path) -> Place:
    def plan(**grid: Any) -> GridPlan:
        options = {key: grid.pop(key) for key in ("quick", "data") if key in grid}
        return expand(read_grid(write(files, grid)), **options)

    return plan


@pytest.fixture
def faults(plan: Place) -> Faults:
    def faults(**grid: Any) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            plan(**grid)
        assert SECRET not in str(caught.value)
        return list(caught.value.faults)

    return faults


def names(plan: GridPlan) -> list[str]:
    return [arm.name for arm in plan.arms]


def test_variants_are_the_base_with_their_overrides_and_the_first_leads_every_task(plan: Place) -> None:
    variants: dict[str, Any] = {"plain": {}, "longer": {"training.epochs": 5, "conditioning": {"kind": "lora"}}}
    found = plan(variants=variants)
    experiments = [parse_experiment(arm.document) for arm in found.arms]
    assert names(found) == ["plain", "longer"]
    assert [one.training.epochs for one in experiments] == [2, 5]
    assert [one.training.batch_size for one in experiments] == [8, 8]
    assert [one.conditioning.to_dict()["kind"] for one in experiments] == ["none", "lora"]
    assert [(column.task, column.variant, column.arm) for column in found.columns] == [
        (task, name, name) for task in TASKS for name in ("plain", "longer")
    ]
    assert found.comparisons == 3
    assert found.metrics == dict.fromkeys(TASKS, "f1_macro")


def test_a_number_of_seeds_keeps_those_of_a_smaller_number(plan: Place) -> None:
    assert plan(seeds=3).seeds == (1, 2, 3)
    assert plan(seeds=5).seeds[:3] == (1, 2, 3)
    assert plan(seeds=[7, 0]).seeds == (7, 0)


def test_a_run_has_its_seed_and_no_more_rows_than_its_size(plan: Place) -> None:
    arm = plan(variants={"few": {"tasks.fox.limit": 30}}).arms[0]
    assert [parse_experiment(arm.at(4, size)).tasks["fox"].limit for size in (20, 40, None)] == [20, 30, 30]
    assert [parse_experiment(arm.at(4, size)).tasks["long"].limit for size in (20, None)] == [20, None]
    assert parse_experiment(arm.at(4)).seed == 4


def test_axes_expand_to_their_product_named_by_their_values(plan: Place) -> None:
    axes = {"conditioning.kind": ["none", "label_attention"], "training.learning_rate": [2e-5, 5e-5]}
    found = plan(axes=axes)
    assert names(found) == ["none, 2e-5", "none, 5e-5", "label_attention, 2e-5", "label_attention, 5e-5"]
    last = parse_experiment(found.arms[-1].document)
    assert (last.conditioning.to_dict()["kind"], last.training.learning_rate) == ("label_attention", 5e-5)


@pytest.mark.parametrize(
    ("axes", "named"),
    [
        ({"encoder.train_layers": [0, "all"]}, ["train_layers 0", "train_layers all"]),
        ({"training.gradient_agreement": [True, False]}, ["gradient_agreement true", "gradient_agreement false"]),
        ({"training.epochs": [1, 3], "training.batch_size": [4]}, ["epochs 1, batch_size 4", "epochs 3, batch_size 4"]),
        (
            {"tasks.fox.loss": ["cross_entropy", "focal"], "tasks.long.loss": ["focal"]},
            ["fox.loss cross_entropy, long.loss focal", "fox.loss focal, long.loss focal"],
        ),
        (
            {"tasks.fox.loss": [{"kind": "focal", "gamma": 1.0}, {"kind": "focal", "gamma": 3.0}]},
            ["focal (gamma 1.0)", "focal (gamma 3.0)"],
        ),
        ({"conditioning": [["lora", "label_attention"], "none"]}, ["lora+label_attention", "none"]),
    ],
)
def test_values_that_do_not_speak_for_themselves_are_named_with_their_key(
    plan: Place, axes: dict[str, list[Any]], named: list[str]
) -> None:
    found = [name.replace("tasks.", "") for name in names(plan(axes=axes))]
    assert found == named


def test_every_variant_is_tried_at_every_point_of_the_axes(plan: Place) -> None:
    found = plan(variants={"a": {}, "b": {"training.epochs": 1}}, axes={"training.learning_rate": [1e-4, 1e-3]})
    assert names(found) == ["a, 0.0001", "a, 0.001", "b, 0.0001", "b, 0.001"]
    assert [parse_experiment(arm.document).training.epochs for arm in found.arms] == [2, 2, 1, 1]


def test_a_grid_without_variants_has_the_base_alone(plan: Place) -> None:
    assert (names(plan()), plan().comparisons) == (["base"], 0)


def test_together_is_each_task_alone_every_pair_and_all_of_them(plan: Place) -> None:
    found = plan(together=True)
    assert names(found) == [
        "fox alone",
        "long alone",
        "rest alone",
        "fox + long",
        "fox + rest",
        "long + rest",
        "together",
    ]
    assert [list(arm.document["tasks"]) for arm in found.arms[3:]] == [
        ["fox", "long"],
        ["fox", "rest"],
        ["long", "rest"],
        ["fox", "long", "rest"],
    ]
    assert [(column.variant, column.arm) for column in found.columns if column.task == "long"] == [
        ("alone", "long alone"),
        ("with fox", "fox + long"),
        ("with rest", "long + rest"),
        ("together", "together"),
    ]
    assert found.comparisons == 9


def test_apart_every_task_of_every_variant_has_runs_of_its_own(plan: Place) -> None:
    found = plan(apart=True, variants={"plain": {}, "long run": {"training.epochs": 3, "tasks.fox.weight": 2.0}})
    assert names(found) == [f"{variant} - {task}" for variant in ("plain", "long run") for task in TASKS]
    assert [list(arm.document["tasks"]) for arm in found.arms] == [[task] for task in (*TASKS, *TASKS)]
    assert found.arms[3].document["tasks"]["fox"]["weight"] == 2.0
    assert [(column.task, column.variant, column.arm) for column in found.columns][:2] == [
        ("fox", "plain", "plain - fox"),
        ("fox", "long run", "long run - fox"),
    ]
    assert found.comparisons == 3


def test_apart_works_along_axes(plan: Place) -> None:
    found = plan(apart=True, axes={"training.epochs": [1, 2]})
    assert [column.variant for column in found.columns if column.task == "rest"] == ["epochs 1", "epochs 2"]


def test_alone_a_task_takes_no_spans_from_one_that_is_left_out() -> None:
    base = {"tasks": {"spans": {"kind": "spans"}, "links": {"kind": "relations", "spans_from": "spans"}, "x": {}}}
    configs = dict(each_and_all(base))
    assert configs["links alone"]["tasks"]["links"] == {"kind": "relations"}
    assert configs["links + x"]["tasks"]["links"] == {"kind": "relations"}
    assert configs["spans + links"]["tasks"] == {name: base["tasks"][name] for name in ("spans", "links")}


def test_two_tasks_together_are_their_only_pair(files: Path) -> None:
    document = tomllib.loads((files / "base.toml").read_text(encoding="utf-8"))
    del document["tasks"]["rest"]
    found = expand(read_grid({"base": {**document, "data": str(files)}, "together": True}))
    assert names(found) == ["fox alone", "long alone", "together"]
    assert [column.variant for column in found.columns] == ["alone", "together"] * 2


def test_alone_a_task_has_its_own_phases_keywords_and_choice(files: Path) -> None:
    base = tomllib.loads((files / "base.toml").read_text(encoding="utf-8"))
    base["phases"] = [{"tasks": ["fox", "long"]}, {"tasks": ["rest"]}, {"epochs": 1}]
    base["conditioning"] = [{"kind": "label_attention", "keywords": {"long": {"long": "lazy"}}}, {"kind": "lora"}]
    base["training"]["choose_by"] = "rest"
    found = expand(read_grid({"base": {**base, "data": str(files)}, "together": True}))
    fox, rest = (parse_experiment(found.arms[index].document) for index in (0, 2))
    assert [phase.tasks for phase in fox.phases] == [("fox",), None]
    assert (fox.training.choose_by, rest.training.choose_by) == ("overall", "rest")
    assert "lazy" not in str(found.arms[0].document["conditioning"])
    assert "lazy" in str(found.arms[1].document["conditioning"])


def test_apart_a_task_has_its_own_layers_of_attention(files: Path) -> None:
    base = tomllib.loads((files / "base.toml").read_text(encoding="utf-8"))
    counts = {"fox": 2, "long": 0, "rest": 1}
    variants = {"plain": {}, "layers": {"conditioning": {"kind": "task_attention", "counts": counts}}}
    found = expand(read_grid({"base": {**base, "data": str(files)}, "apart": True, "variants": variants}))
    own = {arm.name: arm.document["conditioning"]["counts"] for arm in found.arms if arm.variant == "layers"}
    assert own == {"layers - fox": {"fox": 2}, "layers - long": {"long": 0}, "layers - rest": {"rest": 1}}


@pytest.mark.parametrize(
    ("base", "override", "merged"),
    [
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": {"kind": "p", "x": 1}}, {"a": {"kind": "q"}}, {"a": {"kind": "q"}}),
        ({"a": {"kind": "p", "x": 1}}, {"a": {"kind": "p", "y": 2}}, {"a": {"kind": "p", "x": 1, "y": 2}}),
        ({"a": "p"}, {"a": {"x": 1}}, {"a": {"kind": "p", "x": 1}}),
        ({"a": {"kind": "p", "x": 1}}, {"a": "q"}, {"a": "q"}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": [{"x": 1}, {"x": 2}]}, {"a.1.y": 3}, {"a": [{"x": 1}, {"x": 2, "y": 3}]}),
        ({}, {"a.b.c": 1, "a.b.d": 2}, {"a": {"b": {"c": 1, "d": 2}}}),
    ],
)
def test_overrides_merge_tables_and_replace_everything_else(
    base: dict[str, Any], override: dict[str, Any], merged: dict[str, Any]
) -> None:
    before = repr(base)
    assert merge(base, nest(override)) == merged
    assert repr(base) == before


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "an unknown key": ({"variant": {}}, ["variant: unknown key; did you mean 'variants'?"]),
    "a variant that is no table": ({"variants": {"a": 3}}, ["variants.a: should be a table; received 3"]),
    "an override of an unknown key": (
        {"variants": {"a": {}, "b": {"training.epoch": 3}}},
        ["variants.b.training.epoch: unknown key; did you mean 'epochs'?"],
    ),
    "the same fault in two variants": (
        {"variants": {"a": {}, "b": {"training.epoch": 3}, "c": {"training.epoch": 3}}},
        ["variants.b.training.epoch: unknown key; did you mean 'epochs'? (also in variants.c)"],
    ),
    "an odd name": (
        {"variants": {SECRET + "\n": {}}},
        ["variants.(a name of 27 characters): is not possible as a name"],
    ),
    "a great number under an odd name": (
        {"base": {"data": "."}, "variants": {"Zeile\n": {"training": {"epochs": 2**63}}}},
        ["variants.(a key of 6 characters).training.epochs: is outside the range"],
    ),
    "a long name": ({"variants": {"a" * 81: {}}}, [f"variants.{'a' * 81}: is not possible as a name"]),
    "an empty name": ({"variants": {"": {}}}, ["variants.(a name of 0 characters): is not possible as a name"]),
    "names alike": (
        {"variants": {"Plain": {}, "plain": {"training.epochs": 3}}},
        ["variants.plain: has nearly the same name as variants.Plain"],
    ),
    "variants alike": (
        {"variants": {"a": {}, "b": {"training.epochs": 2}}},
        ["variants.b: says the same as variants.a; change or remove one of them"],
    ),
    "a key set twice": (
        {"variants": {"a": {"training.epochs": 3, "training": {"epochs": 4}}}},
        ["variants.a.training.epochs: is set twice"],
    ),
    "an empty key": (
        {"variants": {"a": {"training..epochs": 3}}},
        ["variants.a: a key is empty", "variants.a.training.(a key of 0 characters): unknown key"],
    ),
    "a seed": ({"variants": {"a": {"seed": 3}}}, ["variants.a.seed: all variants have the same seeds; set `seeds`"]),
    "a folder": ({"variants": {"a": {"data": "x"}}}, ["variants.a.data: all variants read from the same folder"]),
    "no seeds": ({"seeds": 0}, ["seeds: write how many"]),
    "an empty list of seeds": ({"seeds": []}, ["seeds: write how many"]),
    "seeds in words": ({"seeds": SECRET}, ["seeds: write how many"]),
    "half a seed": ({"seeds": 2.5}, ["seeds: write how many"]),
    "true seeds": ({"seeds": True}, ["seeds: write how many"]),
    "a negative seed": ({"seeds": [1, -1]}, ["seeds: write how many"]),
    "repeated seeds": ({"seeds": [1, 1]}, ["seeds: the same value is there twice"]),
    "a negative size": ({"sizes": [-5]}, ["sizes: write a list of whole numbers"]),
    "a size that is no list": ({"sizes": 50}, ["sizes: write a list of whole numbers"]),
    "repeated sizes": ({"sizes": [20, 20]}, ["sizes: the same value is there twice"]),
    "one fold": ({"folds": 1}, ["folds: input should be greater than or equal to 2; received 1"]),
    "folds beside test files": (
        {"folds": 3},
        [f"base.tasks.{name}.test: is not read with `folds`; remove one of them" for name in TASKS],
    ),
    "a metric of no task": (
        {"metric": "f2"},
        [f"metric.{name}: 'f2' is not one of: " for name in TASKS],
    ),
    "a metric of one task": ({"metric": {"fox": "pearson"}}, ["metric.fox: 'pearson' is not one of: "]),
    "a metric of a task that is not there": (
        {"metric": {"fx": "accuracy"}},
        ["metric: names a task that is not there; the tasks are: fox, long, rest; did you mean 'fox'?"],
    ),
    "a base that is not there": ({"base": "bas.toml"}, ["base: there is no config file"]),
    "a base that is no TOML": ({"base": "rows.csv"}, ["base: "]),
    "a base that is a folder": ({"base": "."}, ["base: "]),
    "a base that is a number": ({"base": 3}, ["base: is a config file or a table, but this is a whole number"]),
    "data that is no folder's name": ({"base": {"data": 3}}, ["base: data is the name of a folder"]),
    "a base with a zero byte": ({"base": "a\0b"}, ["base: holds a name that no file can have"]),
    "an axis without values": ({"axes": {"training.epochs": []}}, ["axes.training.epochs: "]),
    "an axis of an unknown key": (
        {"axes": {"training.epoch": [1, 2]}},
        ["variants.epoch 1.training.epoch: unknown key; did you mean 'epochs'? (also in variants.epoch 2)"],
    ),
    "an axis with a value twice": (
        {"axes": {"training.epochs": [1, 1]}},
        ["axes.training.epochs: the same value"],
    ),
    "too many combinations": (
        {"axes": {f"training.{one}": list(range(30)) for one in "ab"}},
        ["axes: make 900 variants; 500 are allowed"],
    ),
    "together and apart": ({"together": True, "apart": True}, ["together: makes variants of its own"]),
    "a fault of a variant that is apart": (
        {"apart": True, "variants": {"a": {}, "b": {"training.epoch": 3}}},
        ["variants.b.training.epoch: unknown key; did you mean 'epochs'?"],
    ),
    "a base without tasks, apart": ({"apart": True, "base": {"tasks": 3}}, ["base.tasks: "]),
    "together with variants": ({"together": True, "variants": {"a": {}}}, ["together: makes variants of its own"]),
    "a great equivalence": ({"equivalence": 1.0}, ["equivalence: input should be less than 1"]),
    "fewer rows to answer": (
        {"variants": {"a": {}, "b": {"tasks.fox.test_limit": 2}}},
        ["variants.b.tasks.fox: has other rows to answer than in variants.a"],
    ),
    "other rows to answer": (
        {"variants": {"a": {}, "b": {"tasks.fox.test": "other.csv"}}},
        ["variants.b.tasks.fox: has other rows to answer than in variants.a"],
    ),
    "a file that is not there": (
        {"variants": {"a": {}, "b": {"tasks.fox.train": "absent.csv"}}},
        ["variants.b.tasks.fox.train: "],
    ),
    "a loss that does not suit": (
        {"variants": {"a": {}, "b": {"tasks.fox.loss": "mse"}}},
        ["variants.b.tasks.fox.loss: 'mse' does not suit this task"],
    ),
    "a kind without the metric": (
        {"variants": {"a": {}, "b": {"tasks.fox": {"kind": "similarity", "train": "rows.csv", "test": "test.csv"}}}},
        ["variants.b.tasks.fox: cannot be compared by 'f1_macro'; its metrics are: "],
    ),
    "faults of several kinds": (
        {"seeds": 0, "folds": 1, "variants": {"a": 3}, "sixes": []},
        ["variants.a: ", "seeds: ", "folds: ", "sixes: unknown key; did you mean 'sizes'?"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_grid_is_one_error_with_all_its_faults(faults: Faults, name: str) -> None:
    grid, expected = BAD[name]
    found = faults(**grid)
    for start in expected:
        assert any(fault.startswith(start) for fault in found), (start, found)
    if name != "a kind without the metric":
        assert len(found) == len(expected), found


def test_a_fault_of_the_base_is_told_once_and_as_the_bases(files: Path) -> None:
    (files / "rows.csv").unlink()
    grid = read_grid(write(files, {"variants": {"a": {}, "b": {"training.epochs": 3}}}))
    with pytest.raises(ConfigError) as caught:
        expand(grid)
    assert [fault.path for fault in caught.value.located] == [f"base.tasks.{name}.train" for name in TASKS]


def test_together_needs_two_tasks(files: Path) -> None:
    base = {"tasks": {"fox": task("fox")}, "data": str(files)}
    with pytest.raises(ConfigError, match="together: needs a base with at least two tasks"):
        expand(read_grid({"base": base, "together": True}))


def without_tests(files: Path, **options: Any) -> dict[str, Any]:
    document = tomllib.loads((files / "base.toml").read_text(encoding="utf-8"))
    for options_of_task in document["tasks"].values():
        del options_of_task["test"]
        options_of_task |= options
    return {**document, "data": str(files)}


def test_a_task_needs_rows_that_stay_the_same_or_folds(files: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(read_grid({"base": without_tests(files)}))
    assert [fault.path for fault in caught.value.located] == [f"base.tasks.{name}.test" for name in TASKS]
    assert expand(read_grid({"base": without_tests(files), "folds": 4})).folds == 4
    on_dev = expand(read_grid({"base": without_tests(files, dev="test.csv")}))
    assert len(on_dev.notes) == 3
    assert "chose the epoch" in on_dev.notes[0]


def test_more_folds_than_rows_are_a_fault_before_anything_runs(files: Path) -> None:
    with pytest.raises(ConfigError, match=r"base\.tasks\.fox\.train: has 48 different texts, too few for 49 folds"):
        expand(read_grid({"base": without_tests(files), "folds": 49}))


def test_a_label_that_a_small_size_would_lose_is_a_fault_before_anything_runs(faults: Faults) -> None:
    found = faults(sizes=[2, 20])
    assert all("never occurs in training" in fault and "(seed 1, at most 2 training rows)" in fault for fault in found)


def test_the_phases_of_every_variant_are_checked(faults: Faults) -> None:
    """Also of one that differs from another in nothing but how it learns."""
    mlp = {"tasks.fox.head": {"kind": "mlp"}}
    fit = {**mlp, "phases": [{"fit": "logistic", "tasks": ["fox"]}]}
    wrong = {**mlp, "preset": {"kind": "few_labels"}, "phases": [{"steps": 2}]}
    found = faults(variants={"plain": mlp, "fitted": fit, "named": wrong})
    assert len(found) == 1
    assert "fitted" in found[0]
    assert "phases.0.tasks: the heads of fox cannot be fitted at once" in found[0]


def test_sizes_that_there_are_no_rows_for_are_named_all_with_a_note(plan: Place) -> None:
    found = plan(sizes=["all", 30, 20, 5000])
    assert found.sizes == (20, 30, None)
    assert found.notes == ("sizes: 5,000 is no less than all 48 training rows, and is named all",)
    assert plan(sizes=[20]).sizes == (20,)
    assert plan().sizes == (None,)


def test_quick_takes_three_seeds_and_two_hundred_rows(plan: Place) -> None:
    found = plan(quick=True, seeds=8, variants={"a": {}, "b": {"tasks.fox.limit": 30}})
    assert (found.quick, found.seeds) == (True, (1, 2, 3))
    limits = [parse_experiment(arm.document).tasks["fox"].limit for arm in found.arms]
    assert limits == [200, 30]


def test_files_are_found_beside_the_base_in_its_data_folder_or_where_the_command_says(
    files: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    (files / "grids").mkdir()
    grid = write(files / "grids", {"base": "../base.toml"})
    assert expand(read_grid(grid)).base_folder == files.resolve()
    assert expand(read_grid(grid, ["base.data=/nowhere"]), data=files).base_folder == files.resolve()
    (files / "configs").mkdir()
    text = 'data = ".."\n' + (files / "base.toml").read_text(encoding="utf-8")
    (files / "configs" / "base.toml").write_text(text, encoding="utf-8")
    assert expand(read_grid(write(files / "configs", {}))).base_folder == files.resolve()


def test_set_reaches_the_grid_and_into_its_base(files: Path) -> None:
    grid = read_grid(write(files, {}), ["seeds=2", "base.training.epochs=7", "variants.a.training.epochs=9"])
    assert len(grid.seeds) == 2
    assert grid.base["training"] == {"epochs": 7, "batch_size": 8}
    assert grid.variants == {"a": {"training": {"epochs": 9}}}


def test_the_config_of_a_variant_can_be_trained_with(plan: Place, files: Path) -> None:
    found = plan(variants={"plain": {}, "lora": {"conditioning.kind": "lora"}}, seeds=[5, 6])
    document = tomllib.loads(variant_config(found, "lora"))
    experiment = parse_experiment(document)
    assert (experiment.seed, experiment.conditioning.to_dict()["kind"]) == (5, "lora")
    assert Path(experiment.data or "") == files.resolve()
    with pytest.raises(ConfigError, match="did you mean 'plain'"):
        variant_config(found, "plan")


def test_what_so_many_seeds_can_decide_is_said_before_they_run(plan: Place) -> None:
    found = plan(variants={"a": {}, "b": {"training.epochs": 3}})
    said = {seeds: what_can_be_decided(replace(found, seeds=tuple(range(seeds)))) for seeds in (1, 5, 7, 8)}
    assert "no verdicts" in said[1]
    assert (
        "no difference can be called better or worse (the smallest possible p is 0.0625); 7 seeds would do" in said[5]
    )
    assert "3 comparisons: a difference can be called" in said[7]
    six = what_can_be_decided(replace(found, seeds=tuple(range(6))))
    assert "0.03125, which counts 3 times); 7 seeds would do" in six
    assert "nothing to hold them against" in what_can_be_decided(plan())


def test_the_default_seeds_can_decide_six_comparisons_and_no_more() -> None:
    grid = Grid(base={})
    assert len(grid.seeds) == 8
    assert 6 * 2 / 2**8 <= 0.05 < 7 * 2 / 2**8


def test_rows_in_memory_are_compared_too(files: Path, small_encoder: str) -> None:
    rows = [{"text": f"the fox {word} {other}", "label": "xy"[len(word) % 2]} for word in WORDS for other in WORDS[:3]]
    config = {"kind": "classification", "train": iter(rows), "test": rows[:8]}
    base = {"encoder": {"from": small_encoder}, "tasks": {"memory": config}}
    found = expand(read_grid({"base": base, "sizes": [10], "variants": {"a": {}, "b": {"training.epochs": 1}}}))
    assert names(found) == ["a", "b"]


def test_keys_of_the_grid_that_slipped_into_a_table_are_told_where_they_belong(faults: Faults) -> None:
    found = faults(variants={"plain": {"seeds": 3}, "other": {"training.epochs": 3, "sizes": [10]}})
    assert [fault.split(":")[0] for fault in found] == ["variants.plain.seeds", "variants.other.sizes"]
    assert all("above the first [table]" in fault for fault in found)


def test_options_of_tasks_that_slipped_into_a_variant_are_told_where_they_belong(faults: Faults) -> None:
    found = faults(variants={"plain": {}, "other": {"pooling": "cls", "training": {"multilabel": True}}})
    place = "unknown key here; it is an option of a task: write tasks.NAME"
    assert sorted(found) == [
        f"variants.other.pooling: {place}.pooling",
        f"variants.other.training.multilabel: {place}.multilabel",
    ]
    assert faults(variants={"plain": {}, "other": {"sampler": "cls"}}) == [
        "variants.other.sampler: unknown key; did you mean 'sampling'?"
    ]


def test_keys_of_the_grid_in_a_base_table_are_told_too(files: Path) -> None:
    base = tomllib.loads((files / "base.toml").read_text(encoding="utf-8"))
    with pytest.raises(ConfigError, match=r"base\.seeds: is a key of the grid"):
        expand(read_grid({"base": {**base, "data": str(files), "seeds": 3}}))


def test_a_change_to_a_task_that_is_not_there_names_the_nearest(faults: Faults) -> None:
    found = faults(variants={"plain": {}, "focal": {"tasks.foxx.loss": "focal"}})
    assert found[0].startswith("variants.focal.tasks.foxx: the base has no such task; its tasks are: fox, long, rest")
    assert "did you mean 'fox'?" in found[0]


def test_a_variant_may_bring_a_whole_task(plan: Place) -> None:
    found = plan(variants={"plain": {}, "more": {"tasks": {"again": task("fox", weight=2.0)}}})
    assert [column.task for column in found.columns].count("again") == 1


def test_a_grid_is_checked_by_weft_check_and_is_no_config(files: Path, run_weft: RunWeft) -> None:
    grid = write(files, {"variants": {"plain": {}, "longer": {"training.epochs": 5}}, "seeds": 3})
    code, said, _ = run_weft("check", grid)
    assert code == 0
    assert "6 runs (2 variants × 3 seeds)" in said
    assert "ready to compare" in said
    code, _, refused = run_weft("train", grid)
    assert code == 1
    assert "weft compare GRID --use NAME" in " ".join(refused.split())
    write(files, {"variants": {"plain": {}, "worse": {"training.epochs": 0}}})
    code, _, faults = run_weft("check", grid)
    assert code == 1
    assert "variants.worse.training.epochs" in faults


def test_a_plan_is_described_with_all_that_multiplies(plan: Place) -> None:
    found = plan(variants={"plain": {}, "longer": {"training.epochs": 5}}, seeds=3, sizes=[10, 20])
    assert found.runs == 12
    assert describe_plan(found)[0] == "12 runs (2 variants × 3 seeds × 2 sizes)"
