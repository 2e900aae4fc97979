"""`weft init`: what is seen in files, which config that makes, and what is said where nobody can tell."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import RunWeft
from weft.drafting.checked import CheckedDraft, check_draft
from weft.drafting.document import document_of, write_document
from weft.drafting.draft import draft
from weft.drafting.english import seems_english
from weft.drafting.names import plain_name
from weft.drafting.question import KINDS, RAW_KINDS, Hints
from weft.drafting.sample import look_at
from weft.errors import WeftError
from weft.model.zero_shot import RESERVED
from weft.tasks import Task

Rows = Sequence[Sequence[Any]]
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "is", "in", "my", "box"]
HEADER = ("message", "urgency")


def sentence(number: int) -> str:
    """A secret text of its own for every number."""
    rng = random.Random(number)
    return " ".join(["secret", *rng.choices(WORDS, k=rng.randint(5, 12)), f"no{number}"])


def labelled(count: int = 40, labels: Sequence[Any] = ("calm", "urgent"), start: int = 0) -> list[tuple[Any, ...]]:
    return [(sentence(number), labels[number % len(labels)]) for number in range(start, start + count)]


def write_csv(path: Path, header: Sequence[str], rows: Rows, separator: str = ",", encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows([header, *rows])
    path.write_bytes(out.getvalue().encode(encoding))
    return path


def write_json(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def tasks_of(*files: Path, **hints: Any) -> dict[str, dict[str, Any]]:
    """The tasks of the config that files make."""
    return dict(document_of(draft(files, Hints(**hints)), Path.cwd())["tasks"])


def kinds_of(*files: Path, **hints: Any) -> dict[str, str]:
    return {name: task["kind"] for name, task in tasks_of(*files, **hints).items()}


def refused(*files: Path, **hints: Any) -> str:
    """What is said instead of a draft, which never holds a text."""
    with pytest.raises(WeftError) as caught:
        draft(files, Hints(**hints))
    assert "secret" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def passes(small_encoder: str) -> Callable[..., CheckedDraft]:
    """The draft of files after the check, which must find no fault."""

    def check(*files: Path, **hints: Any) -> CheckedDraft:
        checked = check_draft(draft(files, Hints(encoder=small_encoder, **hints)), Path.cwd(), "config.toml")
        assert not checked.faults
        assert "secret" not in checked.text
        assert max(map(len, checked.text.splitlines())) <= 120 + max(len(str(file)) for file in files)
        return checked

    return check


def test_a_table_of_messages_becomes_a_classification_task(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    path = write_csv(tmp_path / "messages.csv", ("id", *HEADER), [(f"m{n}", *row) for n, row in enumerate(labelled())])
    checked = passes(path)
    assert tomllib.loads(checked.text)["tasks"] == {
        "urgency": {"kind": "classification", "train": str(path), "text": "message", "label": "urgency"}
    }
    assert "'id' (an id, by its name)" in checked.text
    assert "2 labels, with their rows: 'calm' (20), 'urgent' (20)" in checked.text


def test_a_column_that_is_only_called_label_gives_its_task_the_name_of_the_file(tmp_path: Path) -> None:
    assert [*tasks_of(write_csv(tmp_path / "mood.csv", ("text", "label"), labelled()))] == ["mood"]


def test_every_kind_that_can_be_asked_for_is_registered() -> None:
    assert set(KINDS) <= Task.kinds().keys()


def test_a_task_is_never_called_as_no_task_may_be() -> None:
    for name in RESERVED:
        assert plain_name(name, ()) != name
    assert plain_name("a b.c", ["a_b_c"]) == "a_b_c_2"


def test_several_columns_of_labels_are_tasks_of_one_file(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    rows = [(*row, ("yes", "no", "maybe")[n % 3]) for n, row in enumerate(labelled(60))]
    path = write_csv(tmp_path / "m.csv", (*HEADER, "polite"), rows)
    checked = passes(path)
    assert {*tomllib.loads(checked.text)["tasks"]} == {"urgency", "polite"}
    assert "took all of 'urgency', 'polite' for answers" in checked.text
    assert not draft([path], Hints(labels=("urgency", "polite"))).unsure


def test_beside_a_column_called_label_others_are_only_named(tmp_path: Path) -> None:
    rows = [(*row, f"site{n % 3}", f"p{n % 4}") for n, row in enumerate(labelled(60))]
    path = write_csv(tmp_path / "m.csv", ("text", "label", "source", "polite"), rows)
    found = draft([path], Hints())
    assert [task.question.answer for task in found.tasks] == ["label"]
    assert any("'polite' (could be asked too, with --label)" in remark for remark in found.remarks)
    assert [*tasks_of(path, labels=("source",))] == ["source"]


def test_pairs_are_known_by_the_names_of_their_columns(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    for one, other in (("sentence1", "sentence2"), ("question_a", "question_b"), ("premise", "hypothesis")):
        rows = [(sentence(n), sentence(n + 99), n % 2) for n in range(40)]
        path = write_csv(tmp_path / f"{one}.csv", (one, other, "is_same"), rows)
        (task,) = tomllib.loads(passes(path).text)["tasks"].values()
        assert (task["kind"], task["text"]) == ("pair_classification", [one, other])


def test_two_texts_are_a_pair_where_the_answer_is_called_after_comparing(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    rows = [(sentence(n), sentence(n + 99), ("no", "yes")[n % 2]) for n in range(40)]
    path = write_csv(tmp_path / "m.csv", ("New ticket", "Known ticket", "Duplicate?"), rows)
    checked = passes(path)
    (task,) = tomllib.loads(checked.text)["tasks"].values()
    assert (task["kind"], task["text"]) == ("pair_classification", ["New ticket", "Known ticket"])
    assert "for a pair; to read one of them: --text 'New ticket'" in " ".join(checked.text.split("\n#  "))
    assert kinds_of(path, kind="classification") == {"Duplicate": "classification"}
    brief = [("short note of few words here", *row[1:]) for row in rows]
    assert kinds_of(write_csv(tmp_path / "b.csv", ("New ticket", "Known", "same"), brief)) == {"same": "classification"}


def test_what_compares_two_texts_may_be_called_so_in_another_language(tmp_path: Path) -> None:
    rows = [(sentence(n), sentence(n + 99), ("nein", "ja")[n % 2]) for n in range(40)]
    for name in ("gleich", "Ist_Duplikat", "doublon", "duplicado"):
        path = write_csv(tmp_path / f"{name}.csv", ("Satz", "Vorlage", name), rows)
        assert kinds_of(path) == {name: "pair_classification"}


def test_a_second_text_comes_with_how_to_read_both_as_a_pair(tmp_path: Path) -> None:
    rows = [(sentence(n), sentence(n + 99), ("no", "yes")[n % 2]) for n in range(40)]
    path = write_csv(tmp_path / "m.csv", ("New ticket", "Known ticket", "wanted"), rows)
    (unsure,) = draft([path], Hints()).unsure
    assert "as a pair: --text 'Known ticket' --text 'New ticket'" in unsure or "--text 'New ticket' --text" in unsure
    assert kinds_of(path, texts=("New ticket", "Known ticket")) == {"wanted": "pair_classification"}


def test_numbers_of_pairs_are_scores(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    rows = [(sentence(n), sentence(n + 99), f"{n % 9 / 2}") for n in range(40)]
    path = write_csv(tmp_path / "near.csv", ("sentence1", "sentence2", "score"), rows)
    (task,) = tomllib.loads(passes(path).text)["tasks"].values()
    assert (task["kind"], task["score"]) == ("similarity", "score")


def test_a_number_beside_two_texts_of_any_name_comes_with_how_to_compare_them(tmp_path: Path) -> None:
    rows = [(sentence(n), sentence(n + 99), f"{n / 8}") for n in range(40)]
    path = write_csv(tmp_path / "near.csv", ("Satz links", "Satz rechts", "Note"), rows)
    assert "if it compares two texts: --kind similarity" in refused(path)
    assert kinds_of(path, kind="similarity") == {"Note": "similarity"}
    alone = write_csv(tmp_path / "alone.csv", ("Satz", "Note"), [row[1:] for row in rows])
    assert "--kind similarity" not in refused(alone)


def test_whole_numbers_of_pairs_leave_doubt_that_kind_settles(tmp_path: Path) -> None:
    rows = [(sentence(n), sentence(n + 99), n % 5) for n in range(40)]
    path = write_csv(tmp_path / "near.csv", ("sentence1", "sentence2", "grade"), rows)
    found = draft([path], Hints())
    assert found.tasks[0].question.kind == "pair_classification"
    assert any("--kind similarity" in doubt for doubt in found.unsure)
    assert kinds_of(path, kind="similarity") == {"grade": "similarity"}
    scored = write_csv(tmp_path / "scored.csv", ("sentence1", "sentence2", "score"), rows)
    assert kinds_of(scored) == {"scored": "similarity"}
    assert kinds_of(scored, kind="pair_classification") == {"scored": "pair_classification"}


def test_ratings_are_labels_with_a_word_about_their_order(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    checked = passes(write_csv(tmp_path / "r.csv", ("review", "stars"), labelled(60, (1, 2, 3, 4, 5))))
    assert 'kind = "classification"' in checked.text
    assert 'loss = "ordinal"' in checked.text


def test_a_number_for_a_single_text_is_asked_for_where_it_is_named(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    path = write_csv(tmp_path / "r.csv", ("review", "price"), labelled(60, [n / 7 for n in range(60)]))
    assert "--label COLUMN --kind regression" in refused(path)
    assert kinds_of(path, labels=("price",)) == {"price": "regression"}
    rated = write_csv(tmp_path / "rated.csv", ("review", "rating"), labelled(60, [n / 7 for n in range(60)]))
    (task,) = tomllib.loads(passes(rated).text)["tasks"].values()
    assert (task["kind"], task["score"]) == ("regression", "rating")


def test_a_schema_beside_the_config_is_named_in_its_first_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = draft([write_csv(tmp_path / "r.csv", HEADER, labelled(60))], Hints())
    document = document_of(found, tmp_path)
    assert "#:schema" not in write_document(found, document, "r.toml")
    (tmp_path / "weft.schema.json").write_text("{}", encoding="utf-8")
    assert write_document(found, document, "r.toml").startswith("#:schema ./weft.schema.json\n")


def test_whole_numbers_are_amounts_where_the_kind_says_so(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "r.csv", ("review", "stars"), labelled(60, (1, 2, 3, 4, 5)))
    assert kinds_of(path, kind="regression") == {"stars": "regression"}


@pytest.mark.parametrize("separator", ["|", ";", ","])
def test_several_labels_in_a_cell_are_seen_by_what_parts_them(
    separator: str, tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    cells = [separator.join(some) for some in (["pain", "fever"], ["pain"], ["fever", "cough"], ["cough", "pain"])]
    checked = passes(write_csv(tmp_path / "m.csv", ("text", "symptoms"), labelled(40, cells)))
    (task,) = tomllib.loads(checked.text)["tasks"].values()
    assert task["multilabel"] is True
    assert task.get("separator", "|") == separator
    assert ("remove multilabel" in checked.text) == (separator != "|")


def test_blank_cells_beside_several_labels_are_in_doubt(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "m.csv", ("text", "tags"), labelled(40, ("late|refund", "late", "refund", "")))
    said = "10 of 40 cells of 'tags' are blank, and taken for no answer; if they say that no label applies: "
    assert f'{said}blank = "none"' in draft([path], Hints()).unsure
    full = write_csv(tmp_path / "f.csv", ("text", "tags"), labelled(40, ("late|refund", "late", "refund")))
    assert not [line for line in draft([full], Hints()).unsure if "blank" in line]


def test_fractions_with_a_comma_are_numbers_and_those_that_say_two_things_are_named_as_such(tmp_path: Path) -> None:
    rows = [(text, label, ("1,5", "3,5", "1,25", "2")[n % 4]) for n, (text, label) in enumerate(labelled(40))]
    tasks = tasks_of(write_csv(tmp_path / "rows.csv", ("text", "mood", "score"), rows))
    assert {name: task["kind"] for name, task in tasks.items()} == {"mood": "classification", "score": "regression"}
    unclear = write_csv(tmp_path / "u.csv", ("text", "score"), labelled(40, ("1,500", "3,500", "1,25", "2")))
    message = refused(unclear)
    assert "'score' has numbers whose comma may be decimal or part thousands (1,500); save them with a point" in message
    assert "no column looks like an answer" not in message


def test_a_few_labels_with_a_comma_between_them_are_no_fractions(tmp_path: Path) -> None:
    codes = write_csv(tmp_path / "codes.csv", ("text", "codes"), labelled(40, ("1,3", "1", "3,4", "4,1,3")))
    assert tasks_of(codes)["codes"]["multilabel"] is True
    few = write_csv(tmp_path / "few.csv", ("text", "codes"), labelled(40, ("1", "2", "1,2", "3", "2,3")))
    assert tasks_of(few)["codes"]["kind"] == "classification"


def test_a_comma_inside_labels_that_never_mix_parts_nothing(tmp_path: Path) -> None:
    cities = ("Boston, MA", "Albany, NY", "Austin, TX")
    (task,) = tasks_of(write_csv(tmp_path / "m.csv", ("text", "place"), labelled(40, cities))).values()
    assert "multilabel" not in task


def test_lists_of_labels_in_objects_are_several_labels(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    rows = [{"text": sentence(n), "topics": [["a"], ["a", "b"], []][n % 3]} for n in range(30)]
    (task,) = tomllib.loads(passes(write_json(tmp_path / "m.jsonl", rows)).text)["tasks"].values()
    assert task["multilabel"] is True


def test_lists_written_as_json_into_a_table_are_refused_by_name(tmp_path: Path) -> None:
    message = refused(write_csv(tmp_path / "m.csv", ("text", "spans"), labelled(40, ('[[0, 3, "x"]]', "[]"))))
    assert ".jsonl or .parquet" in message


def marked(count: int, spans: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"message": sentence(n), "spans": spans[n % len(spans)]} for n in range(count)]


def test_lists_of_start_end_and_label_are_spans(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    nested = [[[0, 6, "a"], [0, 3, "b"]], [], [{"start": 0, "end": 6, "label": "a"}]]
    (task,) = tomllib.loads(passes(write_json(tmp_path / "m.jsonl", marked(40, nested))).text)["tasks"].values()
    assert (task["kind"], task["text"], task["spans"]) == ("spans", "message", "spans")
    assert "flat" not in task
    apart = [[[0, 6, "a"]], [[0, 3, "b"], [3, 6, "a"]]]
    (task,) = tasks_of(write_json(tmp_path / "n.jsonl", marked(80, apart))).values()
    assert task["flat"] is True


def test_spans_under_other_keys_are_refused_with_the_form_that_is_read(tmp_path: Path) -> None:
    path = write_json(tmp_path / "m.jsonl", marked(40, [[{"from": 0, "to": 6, "type": "a"}]]))
    assert """spans are read as [start, end, label] or {"start", "end", "label"}""" in refused(path)


def test_spans_beyond_their_text_are_mended_and_counted(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    checked = passes(write_json(tmp_path / "m.jsonl", marked(40, [[[0, 6, "a"]], [[3, 999, "b"]], []])))
    assert "repair = true  # 13 rows" in checked.text


def test_wide_spans_widen_what_is_looked_at(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    rows = [{"text": " ".join(["secret"] * 20) + f" {n}", "spans": [[0, 7 * 16 - 1, "ab"[n % 2]]]} for n in range(20)]
    (task,) = tomllib.loads(passes(write_json(tmp_path / "m.jsonl", rows)).text)["tasks"].values()
    assert task["max_width"] == 24


def test_spans_of_words_and_their_column_are_told_from_others(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    rows = [
        {
            "tokens": sentence(n).split(),
            "tags": ["B-x"] + ["O"] * (len(sentence(n).split()) - 1),
            "marks": [[0, 2, "ab"[n % 2]]],
        }
        for n in range(30)
    ]
    rows[0]["tags"][0] = "B-y"
    checked = passes(write_json(tmp_path / "m.jsonl", rows))
    tasks = tomllib.loads(checked.text)["tasks"]
    assert tasks["tags"]["kind"] == "tagging"
    assert (tasks["marks"]["kind"], tasks["marks"]["spans"], tasks["marks"]["tags"]) == ("spans", "marks", "")


def test_spans_of_characters_beside_tokens_do_not_count_words(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    rows = [{"text": sentence(n), "tokens": sentence(n).split(), "spans": [[0, 20, "ab"[n % 2]]]} for n in range(30)]
    (task,) = tomllib.loads(passes(write_json(tmp_path / "m.jsonl", rows)).text)["tasks"].values()
    assert (task["text"], task["tokens"]) == ("text", "")


CONLL = "".join(f"fox{n} N B-{'ab'[n % 2]}\nruns V O\n\n" for n in range(20))


def test_conll_files_are_tagged_words(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    (tmp_path / "train.conll").write_text(CONLL)
    (tmp_path / "test.conll").write_text("a N B-b\nb V O\n")
    checked = passes(tmp_path / "train.conll", tmp_path / "test.conll")
    (task,) = tomllib.loads(checked.text)["tasks"].values()
    assert (task["kind"], task["tokens"], task["tags"]) == ("tagging", "tokens", "tags")
    assert task["test"].endswith("test.conll")
    assert "'column2'" in checked.text
    assert "column1" not in checked.text
    assert "column3" not in checked.text
    (plain,) = tasks_of(tmp_path / "train.conll", labels=("column2",)).values()
    assert (plain["tags"], plain["scheme"]) == ("column2", "plain")


def test_tags_that_continue_nothing_are_mended(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    (tmp_path / "train.conll").write_text(CONLL.replace("B-a", "I-a"))
    assert "repair = true" in passes(tmp_path / "train.conll").text


def test_words_are_known_by_their_tags_whatever_they_are_called(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    rows = [{"w": [f"fox{n}", "runs"], "p": ["N", "V"] if n % 2 else ["X", "N"]} for n in range(20)]
    (task,) = tomllib.loads(passes(write_json(tmp_path / "m.jsonl", rows)).text)["tasks"].values()
    assert (task["kind"], task["tokens"], task["tags"], task["scheme"]) == ("tagging", "w", "p", "plain")


def test_tags_that_are_numbers_are_refused_with_what_to_write(tmp_path: Path) -> None:
    rows = [{"tokens": [f"fox{n}", "runs"], "ner_tags": [1, 0]} for n in range(20)]
    assert "write the names" in refused(write_json(tmp_path / "m.jsonl", rows))


def test_relations_take_their_spans_from_the_task_of_spans(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    ends = [[[0, 6, "x"], [7, 9, "y"]], [[0, 6, "y"], [7, 9, "x"]]]
    rows = [{"text": sentence(n), "entities": ends[n // 2 % 2], "relations": [[0, 1, "ab"[n % 2]]]} for n in range(24)]
    tasks = tomllib.loads(passes(write_json(tmp_path / "m.jsonl", rows)).text)["tasks"]
    assert {name: task["kind"] for name, task in tasks.items()} == {"entities": "spans", "relations": "relations"}
    assert tasks["relations"]["spans_from"] == "entities"


def test_splits_are_known_by_their_names(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    for number, name in enumerate(("mood_train", "mood-valid", "test_mood")):
        write_csv(tmp_path / f"{name}.csv", HEADER, labelled(40, start=1000 * number))
    checked = passes(*(tmp_path / f"{name}.csv" for name in ("test_mood", "mood-valid", "mood_train")))
    (task,) = tomllib.loads(checked.text)["tasks"].values()
    files = {split: Path(task[split]).stem for split in ("train", "dev", "test")}
    assert files == {"train": "mood_train", "dev": "mood-valid", "test": "test_mood"}
    assert "without a dev file" not in checked.text
    assert draft([tmp_path / "mood_train.csv"], Hints()).name == "mood"


def test_a_folder_stands_for_its_files_and_names_the_config(tmp_path: Path) -> None:
    for number, name in enumerate(("train", "dev", "eval")):
        write_csv(tmp_path / "mood" / f"{name}.csv", ("text", "label"), labelled(40, start=1000 * number))
    (tmp_path / "mood" / "notes.txt").write_text("not rows")
    (tmp_path / "mood" / ".~lock.csv").write_text("of a program that has the file open")
    found = draft([tmp_path / "mood"], Hints())
    assert found.name == "mood"
    assert {split: path.stem for split, path in found.tasks[0].files.items()} == {
        "train": "train",
        "dev": "dev",
        "test": "eval",
    }
    (tmp_path / "empty").mkdir()
    assert "holds no file that can be read" in refused(tmp_path / "empty")


def test_a_lone_test_file_joins_the_only_data_set_and_a_second_one_is_named(tmp_path: Path) -> None:
    rows = write_csv(tmp_path / "messages.csv", HEADER, labelled())
    test = write_csv(tmp_path / "test.csv", HEADER, labelled(20, start=500))
    other = write_csv(tmp_path / "test_more.csv", HEADER, labelled(20, start=900))
    found = draft([rows, test, other], Hints())
    assert found.tasks[0].files == {"train": rows, "test": test}
    assert any("test_more.csv is not used" in remark for remark in found.remarks)


def test_a_test_file_without_answers_is_left_out_and_named(tmp_path: Path) -> None:
    rows = write_csv(tmp_path / "train.csv", HEADER, labelled())
    test = write_csv(tmp_path / "test.csv", ("message",), [(sentence(n),) for n in range(500, 520)])
    found = draft([rows, test], Hints())
    assert found.tasks[0].files == {"train": rows}
    assert any("test.csv has no answers" in remark for remark in found.tasks[0].remarks)


def test_two_files_of_one_split_are_refused(tmp_path: Path) -> None:
    for name in ("train.csv", "train.tsv"):
        write_csv(tmp_path / name, HEADER, labelled(), "\t" if name.endswith("tsv") else ",")
    assert "both seem to be the train rows" in refused(tmp_path / "train.csv", tmp_path / "train.tsv")


def test_files_with_other_columns_are_other_tasks(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    one = write_csv(tmp_path / "mood.csv", ("text", "label"), labelled())
    pairs = [(sentence(n + 300), sentence(n + 600), n % 7 / 2) for n in range(40)]
    other = write_csv(tmp_path / "near.tsv", ("sentence1", "sentence2", "score"), pairs, "\t")
    tasks = tomllib.loads(passes(one, other).text)["tasks"]
    assert {name: task["kind"] for name, task in tasks.items()} == {"mood": "classification", "near": "similarity"}
    twin = write_csv(tmp_path / "other.csv", ("text", "label"), labelled(start=900))
    assert any("same columns" in doubt for doubt in draft([one, twin], Hints()).unsure)


def test_columns_without_an_answer_are_named_with_why(tmp_path: Path) -> None:
    rows = [(n, f"2024-01-{n % 28 + 1:02}", "same", f"name{n}", "", *row) for n, row in enumerate(labelled(60), 100)]
    path = write_csv(tmp_path / "m.csv", ("row", "day", "site", "who", "remark", *HEADER), rows)
    (remark,) = [line for line in draft([path], Hints()).remarks if "not used" in line]
    for name, why in {
        "row": "count the rows",
        "day": "a date",
        "site": "the same in every row",
        "who": "a value of its own",
        "remark": "blank",
    }.items():
        assert f"'{name}' (" in remark
        assert why in remark.partition(f"'{name}' (")[2].partition(")")[0]


def test_hints_settle_what_is_read_and_asked(tmp_path: Path) -> None:
    rows = [(sentence(n), sentence(n + 99), "ab"[n % 2], "cd"[n % 2]) for n in range(40)]
    path = write_csv(tmp_path / "m.csv", ("title", "body", "x", "y"), rows)
    (task,) = tasks_of(path, texts=("title",), labels=("x",), task="mine").values()
    assert (task["text"], task["label"]) == ("title", "x")
    assert [*tasks_of(path, labels=("x",), task="mine")] == ["mine"]
    (pair,) = tasks_of(path, texts=("title", "body"), labels=("x",)).values()
    assert (pair["kind"], pair["text"]) == ("pair_classification", ["title", "body"])
    assert "--task names one task" in refused(path, labels=("x", "y"), task="mine")
    assert "did you mean 'title'?" in refused(path, texts=("titel",))
    assert "did you mean 'similarity'?" in refused(path, kind="similarty")
    assert any("--text" in doubt for doubt in draft([path], Hints()).unsure)


def test_more_columns_than_anybody_asks_at_once_are_refused_until_named(tmp_path: Path) -> None:
    rows = [(sentence(n), *(f"v{(n + k) % 3}" for k in range(9))) for n in range(40)]
    path = write_csv(tmp_path / "m.csv", ("text", *(f"field{k}" for k in range(9))), rows)
    message = refused(path)
    assert "9 columns could be the answer" in message
    assert "'field8': 3 labels" in message
    assert [*tasks_of(path, labels=("field3", "field5"))] == ["field3", "field5"]


def test_texts_without_answers_are_refused_or_learned_from_as_raw_text(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("".join(f"{sentence(n)}\n\n" for n in range(40)))
    assert "--kind masked_words" in refused(path)
    (task,) = tomllib.loads(passes(path, kind="masked_words").text)["tasks"].values()
    assert task == {"kind": "masked_words", "train": str(path)}


def test_raw_text_is_drafted_also_where_all_of_it_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(" ".join(map(sentence, range(40))))
    assert kinds_of(path, kind="masked_words") == {"book": "masked_words"}


def test_a_file_that_tells_nothing_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    for content, words in {
        "": "holds no rows",
        "text,label\n": "holds no rows",
        "text,label\nsecret words,a,b\n": "has 3 fields",
        "body\nsecret words one\nsecret words two\n": "one column",
        "text,label\nsecret words here,\nsecret words there,\n": "no column looks like an answer",
        "text,label\nsecret words of one row,calm\n": "a single row",
        "message\turgency\nsecret words\tcalm\n": "a single row",
        "message|urgency\nsecret words|calm\n": "a single row",
        "message;urgency\nsecret, words;calm\n": "a single row",
        "text,text\na,b\n": "one name",
    }.items():
        path.write_text(content)
        message = refused(path)
        assert words in message, content
        assert str(path) in message
    (named := tmp_path / "m.tsv").write_text("message,urgency\nsecret words,calm\n")
    assert "seems to have commas between its columns, but .tsv has tabs; name it .csv" in refused(named)
    path.write_bytes("text,label\ncafé,a\n".encode("latin-1"))
    assert "is not UTF-8" in refused(path)
    assert "no such file" in refused(tmp_path / "lost.csv")
    (tmp_path / "m.xlsx").write_text("x")
    assert "unknown file type" in refused(tmp_path / "m.xlsx")


def test_the_files_of_a_spreadsheet_are_drafted_with_their_encoding(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    path = tmp_path / "m.csv"
    lines = ["message;urgency", *(f"{text} café;{label}" for text, label in labelled(60))]
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    assert "--encoding cp1252" in refused(path)
    (task,) = tomllib.loads(passes(path, encoding="cp1252").text)["tasks"].values()
    assert (task["text"], task["label"], task["encoding"]) == ("message", "urgency", "cp1252")


def test_a_first_row_without_header_is_not_taken_for_names(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    write_csv(path, labelled()[0], labelled()[1:])
    assert "no header" in refused(path)
    write_csv(path, ("ok", "calm"), labelled())
    assert "see column 2" in refused(path)
    assert kinds_of(path, texts=("ok",), labels=("calm",)) == {"calm": "classification"}


def test_a_first_line_that_so_few_rows_do_not_show_to_be_a_header_keeps_its_texts_to_itself(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "m.csv", ("secret pain in knee", "calm"), [("all is well", "urgent")])
    assert "(a name of 19 characters)" in (said := refused(path))
    assert "'calm'" in said
    write_csv(path, ("text", "date of birth"), [("all is well", "1990")])
    assert "'date of birth'" in refused(path)  # beside a usual name, all are names


def test_a_name_as_long_as_a_text_is_only_measured(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    long = "secret-words-that-are-far-too-long-to-be-a-name"
    path = write_csv(tmp_path / "m.csv", ("text", "label", long), [(*row, "x") for row in labelled()])
    assert f"(a name of {len(long)} characters)" in passes(path).text


def test_texts_used_as_keys_are_not_shown(tmp_path: Path) -> None:
    refused(write_json(tmp_path / "m.jsonl", [{sentence(n): "ab"[n % 2]} for n in range(400)]))
    refused(write_json(tmp_path / "n.jsonl", [{f"secret{n}": "ab"[n % 2]} for n in range(20)]))


def test_a_byte_order_mark_and_parquet_are_read(tmp_path: Path, passes: Callable[..., CheckedDraft]) -> None:
    passes(write_csv(tmp_path / "m.csv", HEADER, labelled(), encoding="utf-8-sig"))
    texts, labels = zip(*labelled(), strict=True)
    pq.write_table(pa.table({"message": texts, "urgency": labels, "n": [1.5] * 40}), tmp_path / "m.parquet")
    assert kinds_of(tmp_path / "m.parquet") == {"urgency": "classification"}


ODD_NAMES = [
    'la"bel',
    "la'bel",
    "a.b",
    "a = b",
    "étiquette",
    "標籤",
    "# no",
    "a\nb",
    "tab\there",
    "back\\slash",
    "]",
    "\x7f",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_of_columns_are_written_as_toml(
    name: str, tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    rows = labelled(40, ('qu"ote', "new\nline", "emoji 😀"))
    path = write_csv(tmp_path / "m.csv", ("text", name, f"{name} id"), [(*row, n) for n, row in enumerate(rows)])
    (task,) = tomllib.loads(passes(path).text)["tasks"].values()
    assert task["label"] == name


def test_what_the_check_finds_stands_in_the_config_with_what_helps(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    rows = [
        *labelled(97, ("calm",)),
        *labelled(3, ("urgent",), 200),
        (sentence(0), "urgent"),
        labelled(9)[8],
        ("a b c", ""),
    ]
    write_csv(tmp_path / "train.csv", HEADER, rows)
    write_csv(tmp_path / "test.csv", HEADER, [*labelled(20, start=500), labelled(4)[3]])
    text = " ".join(passes(tmp_path / "train.csv", tmp_path / "test.csv").text.replace("\n#", "").split())
    for words in (
        'class_weights = "balanced"',
        "contradictory",
        "repeat an earlier row",
        "rows has no answer and is passed over",
        "test rows are also train rows; remove them",
        "too few rows to learn (under 8): 'urgent' (4)",
    ):
        assert words in text


def test_texts_beyond_the_limit_come_with_the_key_that_keeps_another_part(
    tmp_path: Path, passes: Callable[..., CheckedDraft]
) -> None:
    rows = [(f"{sentence(n)} " * 9, "ab"[n % 2]) for n in range(40)]
    assert 'truncation = "tail"' in passes(write_csv(tmp_path / "m.csv", HEADER, rows)).text


def test_only_the_first_rows_are_looked_at_and_that_is_said(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "m.csv", HEADER, labelled(40))
    sample = look_at(path, 10)
    assert (sample.rows, sample.more, sample.size) == (10, True, "the first 10 rows")
    assert look_at(path, 40).more is False


def test_other_languages_are_noticed_unless_an_encoder_is_named(tmp_path: Path) -> None:
    german = "der patient klagt seit drei tagen über schmerzen in der brust und kann kaum noch schlafen"
    path = write_csv(tmp_path / "m.csv", HEADER, [(f"{german} {n}", "ab"[n % 2]) for n in range(30)])
    assert any("English" in doubt for doubt in draft([path], Hints()).unsure)
    assert not draft([path], Hints(encoder="gbert")).unsure
    assert not seems_english([german] * 20)
    assert not seems_english(["患者 は 三日 前 から 胸 の 痛み を 訴え て いる"] * 30)
    assert seems_english(["my chest hurts and i can not sleep, what should i do about it"] * 20)
    assert seems_english([german])


def test_looking_at_files_needs_no_torch(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "m.csv", HEADER, labelled())
    script = (
        "import sys; from pathlib import Path; from weft.drafting.draft import draft; "
        "from weft.drafting.question import Hints; draft([Path(sys.argv[1])], Hints()); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)


def test_the_command_writes_a_config_says_what_to_do_next_and_never_overwrites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_weft: RunWeft, small_encoder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "data" / "messages.csv", HEADER, labelled())
    code, out, err = run_weft("init", "data/messages.csv", "--encoder", small_encoder)
    assert (code, out) == (0, "")
    config = tmp_path / "messages.toml"
    assert tomllib.loads(config.read_text())["tasks"]["urgency"]["train"] == "data/messages.csv"
    assert "0 errors" in err
    assert "ready to train" in err
    for command in ("weft check messages.toml", "weft train messages.toml", "weft predict runs/messages --text"):
        assert command in err
    assert run_weft("check", config)[0] == 0
    config.write_text("mine")
    code, _, err = run_weft("init", "data/messages.csv", "--encoder", small_encoder)
    assert (code, config.read_text()) == (1, "mine")
    assert "--force" in err
    assert run_weft("init", "data/messages.csv", "--encoder", small_encoder, "--force")[0] == 0
    assert config.read_text() != "mine"
    target = tmp_path / "configs" / "mine.toml"
    assert run_weft("init", "data/messages.csv", "--encoder", small_encoder, "-o", target)[0] == 0
    assert tomllib.loads(target.read_text())["tasks"]["urgency"]["train"] == "../data/messages.csv"


def test_commands_that_are_named_can_be_typed_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_weft: RunWeft, small_encoder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "In box.csv", HEADER, labelled())
    _, _, err = run_weft("init", "In box.csv", "--encoder", small_encoder)
    for command in ("weft check 'In box.toml'", "weft train 'In box.toml'", "weft predict 'runs/In box' --text"):
        assert command in err
    assert "weft train 'In box.toml' --show-config" in " ".join((tmp_path / "In box.toml").read_text().split("\n# "))
    _, _, err = run_weft("check", "In box.csv")
    assert "with: weft init 'In box.csv'" in " ".join(err.split())


def test_a_place_where_no_config_can_be_is_refused(tmp_path: Path, run_weft: RunWeft) -> None:
    path = write_csv(tmp_path / "messages.csv", HEADER, labelled())
    code, _, err = run_weft("init", path, "-o", path / "config.toml")
    assert code == 1
    assert "cannot make the folder" in err


def test_the_command_prints_a_config_where_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_weft: RunWeft, small_encoder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(
        tmp_path / "messages.csv", (*HEADER, "other"), [(*row, sentence(n + 99)) for n, row in enumerate(labelled())]
    )
    code, out, err = run_weft("init", "messages.csv", "--encoder", small_encoder, "-o", "-")
    assert code == 0
    assert [*tomllib.loads(out)["tasks"]] == ["urgency"]
    assert "unsure of:\n- 'other' holds free text too" in err
    assert "# Unsure, please look:\n# - 'other' holds" in out
    assert [path.name for path in tmp_path.iterdir()] == ["messages.csv"]


def test_faults_that_no_config_mends_are_shown_and_the_config_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_weft: RunWeft, small_encoder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "messages.csv", HEADER, [*labelled(), (" ", "calm")])
    code, _, err = run_weft("init", "messages.csv", "--encoder", small_encoder)
    assert code == 1
    assert "to be mended:\n- messages.csv, line 42" in err
    assert "training is not possible yet" in err
    assert "# - to be mended: messages.csv, line 42" in (tmp_path / "messages.toml").read_text()
    assert "Next:\n  weft check messages.toml\n" in err
    assert "weft train" not in err


def test_blank_lines_between_paragraphs_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "reports.txt").write_text("one paragraph\n\nanother\n\n\na third\n")
    assert look_at(tmp_path / "reports.txt").size == "3 rows"


def test_a_draft_is_trained_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_weft: RunWeft, small_encoder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "messages.csv", HEADER, labelled(24))
    assert run_weft("init", "messages.csv", "--encoder", small_encoder)[0] == 0
    assert run_weft("train", "messages.toml")[0] == 0
    code, out, _ = run_weft("predict", "runs/messages", "--text", "a quick fox")
    assert code == 0
    assert json.loads(out)["urgency"]["label"] in ("calm", "urgent")


CELLS = st.one_of(
    st.sampled_from(
        ["a", "b", "b|c", "a;b", "1", "2.5", "", " ", "nan", "O", "B-x", "I-x", "2024-01-02", "[1]", "true"]
    ),
    st.text(max_size=30),
    st.integers(),
    st.floats(),
    st.none(),
    st.booleans(),
    st.lists(st.sampled_from(["a", "B-x", "O", ""]), max_size=3),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.sampled_from(["x", "y"])).map(list), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
NAMES = st.one_of(
    st.sampled_from(["text", "label", "score", "sentence1", "sentence2", "tokens", "tags", "spans", "relations", "id"]),
    st.text(max_size=8),
)


@st.composite
def tables(strategy: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """Columns of few different cells or of many, and what kind of file they go to."""
    names = strategy(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    rows = strategy(st.integers(1, 12))
    columns = {}
    for name in names:
        pool = strategy(st.lists(CELLS, min_size=1, max_size=4))
        columns[name] = strategy(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
    table = [{name: columns[name][row] for name in names} for row in range(rows)]
    return strategy(st.sampled_from(["jsonl", "csv"])), table


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(table=tables(), kind=st.sampled_from([None, None, None, *KINDS]))
def test_whatever_the_table_there_is_an_error_in_words_or_a_config_that_passes(
    table: tuple[str, list[dict[str, Any]]], kind: str | None, tmp_path: Path, small_encoder: str
) -> None:
    suffix, rows = table
    path = tmp_path / f"m.{suffix}"
    if suffix == "jsonl":
        write_json(path, rows)
    else:
        cells = [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
        out = io.StringIO()
        csv.writer(out).writerows([[*rows[0]], *cells])
        path.write_bytes(out.getvalue().encode("utf-8", "replace"))
    try:
        checked = check_draft(draft([path], Hints(kind=kind, encoder=small_encoder)), Path.cwd(), "m.toml")
    except WeftError:
        return
    assert tomllib.loads(checked.text)
    for fault in checked.faults:  # only what no config can mend: the rows themselves
        assert kind in RAW_KINDS or fault.path.rpartition(".")[2] in ("train", "dev"), fault
        assert any(
            words in fault.message
            for words in ("row", "line", "the text is empty", "nothing to learn", "no documents", "documents")
        ), fault
