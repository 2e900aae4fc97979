"""`weft check`: every fault and oddity of a config and its files, all at once and without anybody's text."""

from __future__ import annotations

import csv
import json
import random
import sys
import threading
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.status import Status

from checking import check
from conftest import RunWeft, lines_run
from weft.checks.duplicates import Normalised
from weft.checks.findings import Finding
from weft.cli import check as check_command
from weft.cli import main as cli
from weft.config.document import data_folder, parse_experiment
from weft.data.unicode import normalise
from weft.drafting.draft import _NO_DEV
from weft.tasks import PLENTY, PLENTY_PER_LABEL
from weft.tokenization.tokenizer import Tokenizer

Rows = list[tuple[str, ...]]
MOOD = {"kind": "classification", "train": "train.csv", "dev": "dev.csv"}
PAIR = {"kind": "pair_classification", "train": "train.csv", "dev": "dev.csv"}
NEAR = {"kind": "similarity", "train": "train.csv", "dev": "dev.csv"}
TEXT, TWO = ("text", "label"), ("sentence1", "sentence2", "label")
SCORED = ("sentence1", "sentence2", "score")


def rows(count: int, prefix: str, labels: Iterable[str] = ("calm", "urgent")) -> Rows:
    """Rows of one secret text each, the labels taking turns."""
    names = list(labels)
    return [(f"secret{prefix}{number}", names[number % len(names)]) for number in range(count)]


def pairs(count: int, prefix: str, answers: Iterable[str] = ("0", "1")) -> Rows:
    return [(text, f"other {text}", answer) for text, answer in rows(count, prefix, answers)]


def write(path: Path, header: tuple[str, ...], lines: Rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *lines])


def write_both(folder: Path, train: Rows, dev: Rows | None = None, header: tuple[str, ...] = TEXT) -> None:
    write(folder / "train.csv", header, train)
    write(folder / "dev.csv", header, rows(40, "dev") if dev is None else dev)


def find(folder: Path, tasks: dict[str, Any], tokenizer: Tokenizer | None = None, **more: Any) -> list[Finding]:
    found = check(parse_experiment({"tasks": tasks, **more}), folder, tokenizer, 24)
    assert not [one for one in found if "secret" in one.message + one.path], "a text of the user is in a message"
    return found


def has(found: list[Finding], severity: str, place: str, *words: str) -> bool:
    """Whether one finding of this severity and place holds all the words."""
    return any(
        one.severity == severity and one.path == place and all(word in one.message for word in words) for one in found
    )


def serious(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.severity != "note"]


def test_clean_data_give_no_fault_and_no_warning(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> None:
    write_both(tmp_path, [(f"fox {n}", "calm" if n % 2 else "urgent") for n in range(200)])
    write(tmp_path / "dev.csv", TEXT, [(f"dog {n}", "calm" if n % 2 else "urgent") for n in range(40)])
    write(tmp_path / "near.csv", SCORED, [(f"a{n}", f"b{n}", str(n % 5)) for n in range(200)])
    tasks = {"mood": MOOD, "near": {**NEAR, "train": "near.csv", "dev": 0.2}}
    assert find(tmp_path, tasks, tiny_tokenizers["wordpiece"]) == []


def test_a_run_of_which_nothing_will_tell_how_good_it_is_is_noted_beforehand(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", TEXT, [(f"fox {n}", "calm" if n % 2 else "urgent") for n in range(PLENTY - 2)])
    task = {"kind": "classification", "train": "train.csv"}
    place, said = "tasks.mood.test", "nothing will be measured"
    (noted,) = [one for one in find(tmp_path, {"mood": task}) if said in one.message]
    assert noted.path == place
    assert f"dev = 0.2); by itself a tenth is held out from {PLENTY} rows on, with {PLENTY_PER_LABEL}" in noted.remedy
    assert has(find(tmp_path, {"mood": {**task, "dev": 0}}), "note", place, said)
    assert not has(find(tmp_path, {"mood": {**task, "dev": 0.2}}), "note", place, said)
    assert not has(find(tmp_path, {"mood": {**task, "test": "train.csv"}}), "note", place, said)
    write(tmp_path / "train.csv", TEXT, [(f"fox {n}", "calm" if n % 2 else "urgent") for n in range(PLENTY)])
    assert not has(find(tmp_path, {"mood": task}), "note", place, said)
    assert f"{PLENTY} or more and most labels have {PLENTY_PER_LABEL}" in _NO_DEV


@pytest.mark.parametrize(("mark", "key"), [(";", ', separator = ";"'), ("|", "")])
def test_labels_that_are_several_in_a_cell_are_told_of_multilabel(tmp_path: Path, mark: str, key: str) -> None:
    cells = ["normal", f"normal{mark}pain", "pain", f"pain{mark}fever", "fever"]
    write(tmp_path / "train.csv", TEXT, [(f"fox {n}", cells[n % 5]) for n in range(50)])
    task, said = {"kind": "classification", "train": "train.csv"}, f"several in a cell, with {mark!r} between them"
    (noted,) = [one for one in find(tmp_path, {"mood": task}) if said in one.message]
    assert noted.severity == "note"
    assert noted.remedy == f"if they are: multilabel = true{key}"
    several = {**task, "multilabel": True, "separator": mark}
    assert not [one for one in find(tmp_path, {"mood": several}) if "several in a cell" in one.message]
    write(
        tmp_path / "train.csv", TEXT, [(f"fox {n}", f"{n % 2}{mark}x{n % 2}") for n in range(50)]
    )  # whose parts never mix
    assert not [one for one in find(tmp_path, {"mood": task}) if "several in a cell" in one.message]


def test_what_is_found_comes_with_what_helps(tmp_path: Path, run_weft: RunWeft) -> None:
    write(tmp_path / "train.csv", TEXT, [*rows(90, "a", ["calm"]), *rows(10, "b", ["urgent"])])
    config = tmp_path / "c.toml"
    task = '[tasks.mood]\nkind = "classification"\ntrain = "train.csv"\n'
    config.write_text(task)
    assert 'class_weights = "balanced"' in run_weft("check", config)[1]
    config.write_text(task + 'loss = "focal"\n')
    _, out, _ = run_weft("check", config)
    assert "unbalanced" in out
    assert "class_weights" not in out
    config.write_text(task + "multilabel = true\n")
    assert 'positive_weight = "balanced"' in run_weft("check", config)[1]


def test_a_missing_file_does_not_hide_the_faults_of_other_tasks(tmp_path: Path) -> None:
    write_both(tmp_path, [("", "calm"), *rows(60, "t")])
    write(tmp_path / "near.csv", SCORED, [*pairs(40, "n", ("1", "2")), ("a", "b", "much")])
    found = find(
        tmp_path,
        {
            "lost": {**MOOD, "train": "lost.csv", "dev": "gone.csv", "metric": "pearson"},
            "mood": {**MOOD, "loss": "mse"},
            "near": {**NEAR, "train": "near.csv", "dev": 0.5, "score": "score"},
            "none": {"kind": "classification"},
        },
    )
    assert has(found, "error", "tasks.lost.train", "lost.csv", "no such file")
    assert has(found, "error", "tasks.lost.dev", "gone.csv", "no such file")
    assert has(found, "error", "tasks.lost.metric", "'pearson' is not one of", "f1_macro")
    assert has(found, "error", "tasks.mood.train", "train.csv, line 2", "text is empty")
    assert has(found, "error", "tasks.mood.loss", "'mse' does not suit", "cross_entropy")
    assert has(found, "error", "tasks.near.train", "line 42", "a score must be a number")
    assert has(found, "error", "tasks.none.train", "is required")
    assert [one.severity for one in found] == sorted((one.severity for one in found), key="error warning note".find)


@pytest.mark.parametrize("phase", [{"fit": "logistic"}, {"loss": "supervised_contrastive"}])
def test_phases_of_tasks_whose_rows_cannot_be_read_are_no_fault_of_their_own(
    tmp_path: Path, phase: dict[str, str]
) -> None:
    found = find(tmp_path, {"lost": {"kind": "classification", "train": "lost.csv"}}, phases=[phase])
    assert [one.path for one in serious(found)] == ["tasks.lost.train"]


def test_a_file_that_is_not_there_is_told_from_one_of_nearly_the_same_name(tmp_path: Path) -> None:
    write_both(tmp_path, rows(60, "t"))
    found = find(tmp_path, {"mood": {**MOOD, "train": "trian.csv"}})
    assert has(found, "error", "tasks.mood.train", "there is no such file; did you mean 'train.csv'?")


def test_all_missing_columns_are_named_with_the_nearest(tmp_path: Path) -> None:
    write_both(tmp_path, rows(60, "t"), header=("txt", "labell"))
    found = find(tmp_path, {"mood": MOOD})
    for split in ("train", "dev"):
        assert has(found, "error", f"tasks.mood.{split}", "no column 'text'", "did you mean 'txt'?")
        assert has(found, "error", f"tasks.mood.{split}", "no column 'label'", "did you mean 'labell'?")


def test_a_text_in_place_of_the_header_is_not_shown(tmp_path: Path) -> None:
    long = "secret words of a patient, told to nobody but the doctor"
    write_both(tmp_path, rows(60, "t"), header=(long, "label"))
    assert has(find(tmp_path, {"mood": MOOD}), "error", "tasks.mood.train", "no column 'text'", "label and 1 more")
    write_both(tmp_path, rows(60, "t"), header=("secret", "calm"))
    assert has(find(tmp_path, {"mood": MOOD}), "error", "tasks.mood.train", "no column 'text'", "a row, and no header")
    (tmp_path / "train.csv").write_text(f'"{long}",urgent\nsecret\n')
    assert has(find(tmp_path, {"mood": MOOD}), "error", "tasks.mood.train", "line 2", "has 1 fields")


def test_unknown_labels_are_named_with_the_nearest_and_their_lines(tmp_path: Path) -> None:
    write_both(tmp_path, [*rows(60, "t"), ("secret", "urgnt")], [*rows(40, "d"), ("secret", "calmm")])
    found = find(tmp_path, {"mood": {**MOOD, "labels": ["calm", "urgent"]}})
    assert has(found, "error", "tasks.mood.train", "line 62", "'urgnt' is not one of", "did you mean 'urgent'?")
    assert has(found, "error", "tasks.mood.dev", "line 42", "'calmm' is not one of", "did you mean 'calm'?")
    found = find(tmp_path, {"mood": MOOD})
    assert has(found, "error", "tasks.mood.dev", "line 42", "'calmm' never occurs in training", "'calm'")


def test_many_unknown_labels_are_counted(tmp_path: Path) -> None:
    unknown = [(f"secret {n}", f"odd{n}") for n in range(9)]
    write_both(tmp_path, [*rows(60, "t"), *unknown], [*rows(40, "d"), *unknown])
    assert has(
        find(tmp_path, {"mood": {**MOOD, "labels": ["calm", "urgent"]}}), "error", "tasks.mood.train", "… and 4 more"
    )
    write_both(tmp_path, rows(60, "t"), [*rows(40, "d"), *unknown])
    assert has(find(tmp_path, {"mood": MOOD}), "error", "tasks.mood.dev", "… and 4 more labels")


@pytest.mark.parametrize("labels", [None, ["calm", "urgent"]])
def test_a_text_column_taken_for_the_answer_is_noticed_and_not_shown(tmp_path: Path, labels: list[str] | None) -> None:
    write(tmp_path / "train.csv", ("text", "words"), [(f"a{n}", f"secret{n}") for n in range(90)])
    task = {"kind": "classification", "train": "train.csv", "label": "words", "labels": labels}
    found = find(tmp_path, {"mood": task})
    assert any("right column?" in one.message for one in serious(found))
    assert len(found) < 12
    found = find(tmp_path, {"mood": {**task, "label": "text"}})
    assert has(found, "warning", "tasks.mood", "'text' is both a text and the answer")


def test_a_long_answer_is_not_shown(tmp_path: Path) -> None:
    long = 'the secret of a patient who didn\'t want it told to "anybody" at all'
    write_both(tmp_path, [*rows(60, "t"), ("a", long)], [*rows(40, "d"), ("b", long + "!")])
    assert has(find(tmp_path, {"mood": MOOD}), "error", "tasks.mood.dev", "characters) never occurs")
    assert has(find(tmp_path, {"mood": {**MOOD, "labels": ["calm", "urgent"]}}), "error", "tasks.mood.train", "line 62")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("Urgent", "'Urgent' (3 rows) and 'urgent'"),
        ("urgnet", "'urgnet'"),
        ("urgents", "'urgents'"),
        ("ca lm", "'ca lm'"),
    ],
)
def test_labels_that_look_alike_are_named(tmp_path: Path, label: str, words: str) -> None:
    write_both(tmp_path, [*rows(60, "t"), *((f"secret{n}x", label) for n in range(3))])
    assert has(find(tmp_path, {"mood": MOOD}), "warning", "tasks.mood.train", "line 62", "look alike", words)


def test_the_remedy_for_labels_that_look_alike_can_be_pasted_into_the_config(tmp_path: Path) -> None:
    slips = [("secret a", "Urgent"), ("secret b", "Urgent"), ("secret c", "ca lm")]
    write_both(tmp_path, [*rows(60, "t"), *slips])
    remedies = {one.remedy for one in find(tmp_path, {"mood": MOOD}) if "look alike" in one.message}
    (remedy,) = remedies
    key = tomllib.loads(remedy.partition("say so: ")[2])
    assert key == {"map": {"Urgent": "urgent", "ca lm": "calm"}}
    assert not any("look alike" in one.message for one in find(tmp_path, {"mood": {**MOOD, **key}}))


@pytest.mark.parametrize("listed", [{}, {"labels": ["calm", "urgent"]}, {"map": {"0": "calm"}}])
def test_a_slip_in_another_file_comes_with_a_line_for_the_config_that_mends_it(
    tmp_path: Path, listed: dict[str, Any]
) -> None:
    write_both(tmp_path, rows(60, "t"), [*rows(40, "d"), ("secret a", "Urgnet"), ("secret b", "secret of 18 letters")])
    task = {**MOOD, **listed}
    slip = next(one.message for one in find(tmp_path, {"mood": task}) if "so, say " in one.message)
    key = tomllib.loads(slip.rpartition("so, say ")[2])
    assert key == {"map": {**listed.get("map", {}), "Urgnet": "urgent"}}
    assert not any("Urgnet" in one.message for one in serious(find(tmp_path, {"mood": {**task, **key}})))


@pytest.mark.parametrize("word", ["n/a", "N/A", "None", "unknown", "-", "?"])
def test_a_label_that_may_say_that_there_is_none_comes_with_the_key_that_leaves_its_rows_out(
    tmp_path: Path, word: str
) -> None:
    write_both(tmp_path, [*rows(60, "t"), *((f"secret{number}x", word) for number in range(12))])
    (found,) = [one for one in find(tmp_path, {"mood": MOOD}) if "no answer:" in one.remedy]
    assert (found.severity, found.path) == ("note", "tasks.mood.train")
    assert found.fact == f"learned like any other label, with its rows: {word!r} (12)"
    key = tomllib.loads(found.remedy.partition("no answer: ")[2])
    assert key == {"map": {word: ""}}
    assert not [one for one in find(tmp_path, {"mood": {**MOOD, **key}}) if "no answer:" in one.remedy]
    listed = {**MOOD, "labels": ["calm", "urgent", word]}
    assert not [one for one in find(tmp_path, {"mood": listed}) if "no answer:" in one.remedy]


def test_kinds_that_map_no_labels_are_told_to_write_them_in_one_way(tmp_path: Path) -> None:
    lines = [{"text": "secret", "spans": [[0, 6, label]]} for label in (*["organ"] * 20, "Organ")]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = find(tmp_path, {"m": {"kind": "spans", "train": "m.jsonl"}})
    assert {one.remedy for one in found if "look alike" in one.message} == {
        "if they are the same, write them in one way"
    }


def test_labels_that_are_meant_to_differ_are_left_alone(tmp_path: Path) -> None:
    labels = ["level1"] * 20 + ["level2", "-1"] + ["1"] * 20 + ["warm"] * 10 + ["ward"] * 10
    write_both(tmp_path, rows(310, "t", labels), rows(310, "d", labels))
    assert not any("look alike" in one.message for one in find(tmp_path, {"mood": MOOD}))


def test_numbers_written_in_two_ways_and_blanks_at_the_ends_are_noticed(tmp_path: Path) -> None:
    write_both(tmp_path, rows(90, "t", ("0", "1", "1.0")), rows(40, "d", ("0", "1", "1 ")))
    found = find(tmp_path, {"mood": MOOD})
    assert has(found, "warning", "tasks.mood.train", "'1' (30 rows) and '1.0' (30 rows)")
    assert has(found, "note", "tasks.mood.dev", "blanks at the ends of 13 answers are ignored")


def test_empty_texts_are_counted_with_at_most_five_lines(tmp_path: Path) -> None:
    write_both(tmp_path, [*rows(60, "t"), *[(" ", "calm")] * 8])
    place = "lines 62, 63, 64, 65, 66 … and 3 more"
    assert has(find(tmp_path, {"mood": MOOD}), "error", "tasks.mood.train", place, "text is empty", "8 rows")


def test_half_characters_are_faults(tmp_path: Path) -> None:
    write_both(tmp_path, [])
    lines = [{"text": text, "label": label} for text, label in [*rows(60, "t"), ("\ud800 secret", "calm")]]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = find(tmp_path, {"mood": {**MOOD, "train": "train.jsonl"}})
    assert has(found, "error", "tasks.mood.train", "line 61", "half a character")


def test_rows_without_an_answer_are_counted(tmp_path: Path) -> None:
    write_both(tmp_path, [*rows(60, "t"), ("", ""), ("secret", " ")])
    assert has(find(tmp_path, {"mood": MOOD}), "note", "tasks.mood.train", "lines 62, 63", "2 of 62", "no answer")


def test_repeated_and_contradictory_rows_are_told_apart(tmp_path: Path) -> None:
    odd = [("Secret, same", "calm"), ("secret same!", "calm"), ("secret foe", "calm"), ("SECRET  foe", "urgent")]
    write_both(tmp_path, [*rows(60, "t"), *odd])
    found = find(tmp_path, {"mood": MOOD})
    assert has(found, "warning", "tasks.mood.train", "line 63:", "1 of 64", "repeat an earlier row")
    assert has(found, "warning", "tasks.mood.train", "lines 64, 65:", "1 text occurs with", "contradictory")


def test_labels_in_another_order_do_not_contradict(tmp_path: Path) -> None:
    write_both(tmp_path, [*rows(60, "t"), ("secret same", "calm|urgent"), ("secret same", "urgent|calm")])
    found = find(tmp_path, {"mood": {**MOOD, "multilabel": True}})
    assert not any("contradictory" in one.message for one in found)


def test_leaks_within_a_task_are_found_for_dev_and_test(tmp_path: Path) -> None:
    write_both(tmp_path, rows(60, "t"), [*rows(40, "d"), ("SECRETT7!", "calm"), ("secrett8", "calm")])
    write(tmp_path / "test.csv", TEXT, [*rows(40, "e"), ("secrett9.", "urgent"), ("secretd1", "urgent")])
    found = find(tmp_path, {"mood": {**MOOD, "test": "test.csv"}})
    assert has(found, "warning", "tasks.mood.dev", "lines 42, 43", "2 of 42", "train.csv, lines 9, 10; 1 with another")
    assert has(found, "warning", "tasks.mood.test", "line 42:", "1 of 42", "train.csv, line 11)")
    assert has(found, "note", "tasks.mood.test", "line 43:", "dev.csv, line 3)")


def test_rows_set_aside_for_dev_do_not_leak(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", TEXT, [row for row in rows(200, "t") for _ in range(2)])
    assert not any("also train rows" in one.message for one in find(tmp_path, {"mood": {**MOOD, "dev": 0.2}}))


def test_exchanged_pairs_are_noted(tmp_path: Path) -> None:
    write_both(tmp_path, pairs(60, "t"), [*pairs(40, "d"), ("other secrett3", "secrett3", "1")], TWO)
    assert has(find(tmp_path, {"same": PAIR}), "note", "tasks.same.dev", "line 42", "exchanged")


def test_leaks_across_tasks_are_found(tmp_path: Path) -> None:
    write_both(tmp_path, rows(60, "t"), rows(40, "d"))
    write(tmp_path / "more.csv", TEXT, [*rows(60, "m", ("0", "1")), ("Secretd5", "1")])
    write(tmp_path / "even.csv", TEXT, rows(40, "e", ("0", "1")))
    write(tmp_path / "pairs.csv", TWO, [*pairs(60, "p"), ("secretd6", "secret new", "1")])
    write(tmp_path / "odd.csv", TWO, pairs(40, "o"))
    tasks = {
        "mood": MOOD,
        "more": {**MOOD, "train": "more.csv", "dev": "even.csv"},
        "same": {**PAIR, "train": "pairs.csv", "dev": "odd.csv"},
    }
    found = find(tmp_path, tasks)
    assert has(found, "warning", "tasks.mood.dev", "line 7:", "1 of 40", "training rows of the task 'more'")
    assert len(serious(found)) == 1
    assert has(found, "note", "tasks.mood.dev", "line 8:", "in a training row of the task 'same'")


def test_a_label_that_dominates_and_one_that_is_rare_are_named(tmp_path: Path) -> None:
    write_both(tmp_path, [*rows(990, "t", ["calm"] * 9 + ["urgent"]), *rows(9, "r", ["seldom"])], [])
    found = find(tmp_path, {"mood": MOOD})
    assert has(found, "warning", "tasks.mood.train", "over 80% of the rows have: 'calm' 89.2 %")
    assert has(found, "warning", "tasks.mood.train", "under 2 % of the rows have: 'seldom' 0.9 %")


def test_many_labels_of_equal_share_are_not_called_rare(tmp_path: Path) -> None:
    labels = [f"kind {n}" for n in range(80)]
    write_both(tmp_path, rows(800, "t", labels), rows(800, "d", labels))
    assert serious(find(tmp_path, {"mood": MOOD})) == []


def test_labels_too_few_to_learn_or_to_measure_are_named(tmp_path: Path) -> None:
    write_both(tmp_path, [*rows(60, "t"), *rows(7, "f", ["few"])], [*rows(40, "d"), *rows(9, "e", ["few"])])
    found = find(tmp_path, {"mood": {**MOOD, "labels": ["calm", "urgent", "few", "never"]}})
    assert has(found, "warning", "tasks.mood.train", "too few rows to learn (under 8): 'few' (7)")
    assert has(found, "warning", "tasks.mood.dev", "too few rows to measure (under 10): 'few' (9)")
    assert has(found, "warning", "tasks.mood.labels", "'never' has no training row")


def test_few_or_equal_scores_are_noticed(tmp_path: Path) -> None:
    write_both(tmp_path, pairs(5, "t", ("1", "2")), pairs(20, "d", ("3",)), SCORED)
    found = find(tmp_path, {"near": NEAR})
    assert has(found, "warning", "tasks.near.train", "5 rows are too few")
    assert has(found, "warning", "tasks.near.dev", "nothing to measure")


def test_texts_over_the_limit_are_counted(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> None:
    dev = [(f"dog {n}", "calm" if n % 2 else "urgent") for n in range(40)]
    train = [(f"fox {n}", "calm" if n % 2 else "urgent") for n in range(60)]
    write_both(tmp_path, [*train, ("secret " + "fox " * 30, "calm")], [*dev, *[("dog " * 40, "calm")] * 4])
    found = find(tmp_path, {"mood": {**MOOD, "max_length": 100}}, tiny_tokenizers["wordpiece"])
    assert has(found, "note", "tasks.mood.train", "line 62:", "1 of 61 (1.6 %)", "limit of 24 tokens")
    assert has(found, "warning", "tasks.mood.dev", "lines 42, 43, 44, 45:", "4 of 44 (9.1 %)")
    assert has(found, "warning", "tasks.mood.max_length", "100 is more than the encoder takes, so 24 holds")
    pair = {**PAIR, "text": ["text", "text"], "max_length": 3, "encode": "cross"}
    found = find(tmp_path, {"same": pair}, tiny_tokenizers["wordpiece"])
    assert has(found, "error", "tasks.same.max_length", "no room for text")
    assert has(find(tmp_path, {"mood": MOOD}), "note", "encoder.from", "not held against the limit")


def test_one_class_only_and_no_rows_are_faults(tmp_path: Path) -> None:
    write_both(tmp_path, rows(60, "t", ["calm"]), rows(40, "d", ["calm"]))
    found = find(tmp_path, {"mood": MOOD})
    assert has(found, "error", "tasks.mood.train", "all 60 rows have the same answer")
    assert has(found, "warning", "tasks.mood.dev", "all 40 rows have the same answer")
    write_both(tmp_path, [], [("secret", "")])
    found = find(tmp_path, {"mood": MOOD})
    assert has(found, "error", "tasks.mood.train", "train.csv: holds no rows")
    assert has(found, "error", "tasks.mood.dev", "dev.csv: holds no row with an answer in the column 'label'")
    assert len([one for one in found if one.severity == "error"]) == 2
    write_both(tmp_path, rows(2, "t"))
    assert has(find(tmp_path, {"mood": {**MOOD, "dev": 0.1}}), "error", "tasks.mood.dev", "leaves none to choose by")


def test_a_file_broken_half_way_is_a_fault_and_its_counts_are_not_judged(tmp_path: Path) -> None:
    write_both(tmp_path, rows(5, "t"))
    with (tmp_path / "train.csv").open("a") as file:
        file.write("secret,calm,surplus\n")
    found = find(tmp_path, {"mood": MOOD})
    assert has(found, "error", "tasks.mood.train", "line 7", "3 fields", "what follows was not read")
    assert not any("too few" in one.message for one in found)


def test_options_of_a_loss_that_do_not_suit_the_labels_are_faults(tmp_path: Path) -> None:
    write_both(tmp_path, rows(60, "t", "abc"), rows(40, "d", "abc"))
    weights = {"kind": "cross_entropy", "class_weights": [1.0, 2.0]}
    tasks = {"one": {**MOOD, "loss": "binary"}, "two": {**MOOD, "loss": weights}, "three": {**MOOD, "loss": "ordinal"}}
    found = find(tmp_path, tasks)
    assert has(found, "error", "tasks.one.loss", "tells two labels apart")
    assert has(found, "error", "tasks.two.loss", "class_weights has 2 numbers")
    assert has(found, "warning", "tasks.three.labels", "labels in order")


def test_a_shared_head_that_does_not_fit_is_a_fault(tmp_path: Path) -> None:
    write_both(tmp_path, rows(60, "t"))
    write(tmp_path / "three.csv", TEXT, rows(90, "x", "abc"))
    write(tmp_path / "pairs.csv", TWO, pairs(90, "p"))
    head = {"kind": "linear", "share": "one"}
    tasks = {
        "mood": {**MOOD, "head": head},
        "three": {**MOOD, "train": "three.csv", "dev": 0.4, "head": head},
        "wide": {**MOOD, "head": {**head, "dropout": 0.5}},
        "same": {**PAIR, "train": "pairs.csv", "dev": 0.4, "encode": "siamese", "head": head},
        "fits": {**MOOD, "head": head},
    }
    found = find(tmp_path, tasks)
    assert has(found, "error", "tasks.three.head", "'mood'", "3 outputs and that one 2")
    assert has(found, "error", "tasks.wide.head", "options differ")
    assert has(found, "error", "tasks.same.head", "different numbers of vectors")
    assert not [one for one in found if one.path == "tasks.target_types.head"]


def test_settings_that_look_wrong_are_noticed(tmp_path: Path) -> None:
    write_both(tmp_path, pairs(20, "t", ("1", "2")), pairs(40, "d", ("1", "2")), SCORED)
    task = {**NEAR, "loss": "pearson"}
    phases = [{"tasks": ["near"], "learning_rate": 0.01}, {"tasks": ["near"], "train_layers": 0}]
    found = find(
        tmp_path,
        {"near": task, "idle": task},
        training={"learning_rate": 2e-3, "batch_size": 4},
        phases=phases,
    )
    assert has(found, "warning", "training.learning_rate", "0.002")
    assert has(found, "warning", "phases.0.learning_rate", "0.01")
    assert not [one for one in found if one.path == "phases.1.learning_rate"]
    assert has(found, "warning", "training.batch_size", "4 rows are too few for the 'pearson' loss")
    assert has(found, "warning", "tasks.idle", "no phase")
    found = find(tmp_path, {"near": NEAR}, training={"learning_rate": 2e-3}, encoder={"train_layers": 0})
    assert has(found, "warning", "training.batch_size", "32 is more than the 20 training rows")
    assert not [one for one in found if one.path == "training.learning_rate"]


@pytest.mark.parametrize("swapped", [False, True], ids=["as named", "texts as labels"])
def test_twice_as_many_rows_cost_about_twice_as_much(tmp_path: Path, swapped: bool) -> None:
    def cost(rows: int) -> int:
        words = "the quick brown fox jumps over the lazy dog, and does it again. "
        train = [(f"{n} {words * 4}", "calm" if n % 2 else "urgent") for n in range(rows)]
        write_both(tmp_path, train)
        task = MOOD
        if swapped:
            write(tmp_path / "train.csv", TEXT, [(label, text) for text, label in train])
            task = {**MOOD, "labels": [f"label {n}" for n in range(80)]}
        else:
            assert serious(find(tmp_path, {"mood": MOOD})) == []
        return lines_run(lambda: find(tmp_path, {"mood": task}))

    assert cost(1_000) < 2.2 * cost(500)


@given(st.text() | st.text(st.characters(max_codepoint=127)))
def test_the_quick_key_is_the_same_as_normalise(text: str) -> None:
    assert Normalised()[text] == normalise(text)


def test_the_data_folder_is_the_override_the_configs_or_its_own(tmp_path: Path) -> None:
    plain = parse_experiment({"tasks": {"mood": MOOD}})
    named = parse_experiment({"data": "files", "tasks": {"mood": MOOD}})
    assert data_folder(tmp_path, plain, None) == tmp_path
    assert data_folder(tmp_path, named, None) == tmp_path / "files"
    assert data_folder(tmp_path, named, Path("other")) == Path("other")
    assert data_folder(tmp_path, parse_experiment({"data": "/x", "tasks": {"mood": MOOD}}), None) == Path("/x")


# The command

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path, tiny_folder: Path) -> Run:
    """Run `weft check` on a config of one task in this process: exit code, standard output, standard error."""
    config = tmp_path / "experiment.toml"
    config.write_text(
        f'[encoder]\nfrom = "{tiny_folder}"\n[tasks."mood"]\nkind = "classification"\n'
        'train = "train.csv"\ndev = "dev.csv"\n'
    )

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["weft", "check", str(config), *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        assert "secret" not in out + err
        return int(caught.value.code or 0), out, err

    return call


def test_the_command_counts_rows_and_labels_and_exits_with_0(run: Run, tmp_path: Path) -> None:
    write_both(tmp_path, rows(60, "t", ("[red]calm", "urgent")), rows(40, "d", ("[red]calm", "urgent")))
    code, out, _ = run()
    assert code == 0
    assert "ready to train" in out
    assert "'[red]calm'" in out
    assert "60" in out
    assert "40" in out


def test_the_command_prints_everything_and_exits_with_1(run: Run, tmp_path: Path) -> None:
    write_both(tmp_path, [("", "calm"), *rows(60, "t"), *rows(9, "t")])
    code, out, _ = run("--set", "tasks.mood.loss=mse", "--set", "tasks.mood.test=lost.csv")
    assert code == 1
    for words in ("errors", "warnings", "'mse' does not suit", "no such file", "text is empty", "repeat", "3 errors"):
        assert words in out


def test_the_command_takes_another_folder_of_data(run: Run, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    write_both(tmp_path / "files", rows(60, "t"))
    assert run()[0] == 1
    assert run("--data", tmp_path / "files")[0] == 0


def test_an_encoder_that_is_not_there_is_one_fault_among_others(run: Run, tmp_path: Path) -> None:
    write_both(tmp_path, [("", "calm"), *rows(60, "t")])
    code, out, _ = run("--set", "encoder.from=./nowhere")
    assert code == 1
    assert "encoder.from" in out
    assert "text is empty" in out


def test_scores_and_many_labels_have_their_tables(run: Run, tmp_path: Path) -> None:
    write_both(
        tmp_path, rows(160, "t", [f"kind{n}" for n in range(16)]), rows(160, "d", [f"kind{n}" for n in range(16)])
    )
    assert "… 4 more labels" in run()[1]
    write(tmp_path / "near.csv", SCORED, pairs(60, "n", ("0", "4")))
    _, out, _ = run("--set", "tasks.near.kind=similarity", "--set", "tasks.near.train=near.csv")
    assert "0 … 4" in out
    assert "2.00" in out


def test_a_faulty_config_is_a_message(run: Run) -> None:
    code, _, err = run("--set", "tasks.mood.kind=clasification")
    assert code == 1
    assert "did you mean 'classification'?" in err


def test_twice_as_many_labels_take_about_twice_as_many_steps(tmp_path: Path) -> None:
    def steps(size: int) -> int:
        labels = ["".join(random.Random(number).choices("abcdefghij", k=9)) for number in range(size)]
        often = [label for number, label in enumerate(labels) for _ in range(10 if number % 2 else 1)]
        write_both(tmp_path, [(f"secret{line}", label) for line, label in enumerate(often)], rows(4, "d", labels))
        return lines_run(lambda: find(tmp_path, {"mood": MOOD}))

    assert steps(400) < 2.8 * steps(200)


def test_the_cost_of_checking_labels_grows_with_their_number_and_no_faster(tmp_path: Path) -> None:
    """Rare labels beside frequent ones, all of which could be a slip of another."""

    def cost(number: int) -> int:
        letters = [f"{'abcdefgh'[n % 8]}{'klmnopqr'[n // 8 % 8]}{'stuvwxyz'[n // 64 % 8]}word" for n in range(number)]
        many = [(f"fox {n} {copy}", label) for n, label in enumerate(letters) for copy in range(5)]
        rare = [(f"cow {n}", f"{label}y") for n, label in enumerate(letters)]
        write_both(tmp_path, [*many, *rare], [*many, *rare])
        return lines_run(lambda: find(tmp_path, {"mood": MOOD}))

    assert cost(400) < 2.6 * cost(200)


@pytest.mark.parametrize("options", [{}, {"truncation": "tail"}])
def test_a_text_of_millions_of_characters_is_not_tokenized_whole_to_see_that_it_will_be_cut(
    tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    real = Tokenizer.encode

    def encode(self: Tokenizer, texts: Any, **more: Any) -> Any:
        seen.append(sum(map(len, texts)))
        return real(self, texts, **more)

    monkeypatch.setattr(Tokenizer, "encode", encode)
    write_both(tmp_path, [("secret fox " * 200_000, "calm"), *rows(60, "t")])
    found = find(tmp_path, {"mood": {**MOOD, **options}}, tiny_tokenizers["wordpiece"])
    assert has(found, "note", "tasks.mood.train", "line 2:", "1 of 61", "will be cut")
    assert sum(seen) < 20_000


def test_a_long_text_that_a_prefix_does_not_fill_is_looked_at_whole(
    tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    write_both(tmp_path, [(" " * 5_000 + "fox " * 40, "calm"), ("fox" + " " * 5_000, "calm"), *rows(60, "t")])
    found = find(tmp_path, {"mood": MOOD}, tiny_tokenizers["wordpiece"])
    assert has(found, "note", "tasks.mood.train", "line 2:", "1 of 62", "will be cut")


@pytest.mark.parametrize("patience", [0.0, 1e6])
def test_checking_that_takes_long_shows_a_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    signs: list[str] = []
    started = threading.Event()

    def start(self: Status) -> None:
        signs.append("start")
        started.set()

    monkeypatch.setattr(Status, "start", start)
    monkeypatch.setattr(Status, "stop", lambda self: signs.append("stop"))
    monkeypatch.setattr(check_command, "_PATIENCE", patience)
    with check_command.working():
        started.wait(0 if patience else 60)
    assert signs == (["stop"] if patience else ["start", "stop"])


def test_many_blank_cells_of_several_labels_are_a_warning_with_the_key_that_helps(tmp_path: Path) -> None:
    task = {"kind": "classification", "train": "train.csv", "multilabel": True, "dev": 0}
    write(tmp_path / "train.csv", TEXT, [*rows(60, "a", ["late", "late|refund", "refund"]), *rows(30, "b", [""])])
    place = "tasks.mood.train"
    (found,) = [one for one in find(tmp_path, {"mood": task}) if "no answer" in one.message]
    assert (found.severity, found.path) == ("warning", place)
    assert "30 of 90 (33.3 %) rows have no answer and are passed over" in found.message
    assert found.remedy.endswith('if a blank cell says that no label applies: blank = "none"')
    write(tmp_path / "train.csv", TEXT, [*rows(60, "a", ["late", "late|refund", "refund"]), *rows(6, "b", [""])])
    (found,) = [one for one in find(tmp_path, {"mood": task}) if "no answer" in one.message]
    assert found.severity == "note"
    assert 'blank = "none"' in found.remedy
    write(tmp_path / "train.csv", TEXT, [*rows(60, "a"), *rows(30, "b", [""])])
    (found,) = [one for one in find(tmp_path, {"mood": {**MOOD, "dev": 0}}) if "no answer" in one.message]
    assert (found.severity, found.remedy) == ("note", "label them, or leave them")


def test_a_finding_about_one_row_speaks_of_one(tmp_path: Path) -> None:
    task = {"kind": "classification", "train": "train.csv", "dev": 0, "map": {"rage": "urgent"}}
    write(tmp_path / "train.csv", TEXT, [*rows(60, "a"), *rows(1, "b", [""]), *rows(1, "c", ["rage"])])
    found = find(tmp_path, {"mood": task})
    assert has(found, "note", "tasks.mood.train", "1 of 62 (1.6 %) rows has no answer and is passed over")
    assert has(found, "note", "tasks.mood.train", "1 label is spelled otherwise (map)")


def test_blank_cells_that_say_no_label_applies_are_rows_to_learn_from(tmp_path: Path) -> None:
    task = {"kind": "classification", "train": "train.csv", "multilabel": True, "dev": 0, "blank": "none"}
    write(tmp_path / "train.csv", TEXT, [*rows(60, "a", ["late", "late|refund"]), *rows(60, "b", [""])])
    found = find(tmp_path, {"mood": task})
    assert not [one for one in found if "no answer" in one.message]
    assert not has(found, "warning", "tasks.mood.train", "unbalanced")  # `late` is on half of all rows
    assert has(find(tmp_path, {"mood": {**task, "blank": "skip"}}), "warning", "tasks.mood.train", "'late' 100.0 %")


def test_texts_in_columns_of_other_names_are_noted_where_no_file_has_both(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", ("message", "title", "label"), [(a, f"x {a}", b) for a, b in rows(60, "a")])
    write(tmp_path / "other.csv", TEXT, rows(60, "b"))
    mood = {"kind": "classification", "train": "train.csv", "text": "message", "dev": 0}
    other = {"kind": "classification", "train": "other.csv", "dev": 0}
    (found,) = [one for one in find(tmp_path, {"mood": mood, "other": other}) if "different names" in one.message]
    assert (found.severity, found.path) == ("note", "tasks")
    assert "'message' (mood), 'text' (other)" in found.message
    assert "--column NAME of weft predict" in found.remedy
    same = {**mood, "text": "title"}  # another column of the same rows
    assert not [one for one in find(tmp_path, {"mood": mood, "same": same}) if "different names" in one.message]
    assert not [one for one in find(tmp_path, {"a": other, "b": other}) if "different names" in one.message]
