"""docs/data.md: every recipe is on it, and its snippets turn files as they are published into what recipes read."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from checking import check
from docs.results.recipe import read_recipe
from weft.comparison.arms import make_arms
from weft.comparison.grid import read_grid
from weft.config.document import parse_experiment, read_experiment
from weft.config.experiment import Experiment

TOP = Path(__file__).parent.parent
PAGE = (TOP / "docs" / "data.md").read_text(encoding="utf-8")
CURVES = TOP / "recipes" / "figures" / "ogada_curves.toml"
RECIPES = [*sorted((TOP / "recipes").glob("*.toml")), CURVES]
GRIDS = [path for part in ("compare", "tables", "figures") for path in sorted((TOP / "recipes" / part).glob("*.toml"))]
GRIDS.remove(CURVES)

TREES = "(3 (2 It) (4 (4 works) (2 .)))\n(0 (1 Not) (2 (2 this) (1 one)))\n\n"
PAIRS = (
    "\tid\tsentence1\tsentence2\tsimilarity\n0\ta\tA dog runs.\tA dog is running.\t4.8\n"
    "1\tb\tA dog.\tSnow falls.\t0.2\n"
)
BENCHMARK = (
    "main-captions\tMSRvid\t2012test\t0001\t5.000\tA man plays.\tA man is playing.\n"
    'main-news\tx\t2013\t0002\t1.000\tHe said "no\tIt rained.\textra\n'
)
SAME = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + "".join(
    f'{i % 2}\t{i}\t{i + 9}\tHe said "no {i}.\tIt was said {i}.\n' for i in range(4)
)
QUORA = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n" + "".join(
    f"{i}\t{2 * i}\t{2 * i + 1}\tHow old is tree {i}?\tWhat is the age of tree {i}?\t{i % 2}\n" for i in range(10)
)
ENTITIES = """-DOCSTART- -X- O O

Anna NNP I-NP I-PER
Berg NNP I-NP I-PER
met VBD I-VP O
Paul NNP I-NP I-PER
Rome NNP I-NP I-LOC
Oslo NNP I-NP B-LOC

It PRP I-NP O
"""
NESTED = (
    "the\tO\tO\tO\tO\nABC\tB-protein\tB-DNA\tO\tO\n2\tI-protein\tI-DNA\tO\tO\ngene\tO\tI-DNA\tO\tO\n\n"
    "no\tO\tO\tO\tO\n\n"
)
MORE_NESTED = NESTED + "".join(NESTED.replace("the\t", f"that{i}\t").replace("no\t", f"no{i}\t") for i in range(40))
WIKI = "".join(
    f" = Town {i} = \n\n Town {i} is a well @-@ known place , with 1 @,@ 000 people ( and Anna 's cat ) . \n\n"
    f' = = History = = \n\n It was " old " in {i} . It grew . \n\n'
    for i in range(10)
)
ABSTRACTS = "condition_label,medical_abstract\n" + "".join(f"{1 + i % 2},Case {i} was observed.\n" for i in range(20))
DISEASES = ",label,text\n" + "".join(
    f'{i},{("flu", "acne")[i % 2]},"I feel  odd, day {i % 47}"\n' for i in range(48)
)  # the last repeats the first, but for its label
DOWNLOADED = {
    "trees/train.txt": TREES,
    "trees/dev.txt": TREES,
    "sts-train.csv": PAIRS,
    "sts-dev.csv": PAIRS,
    "stsbenchmark/sts-train.csv": BENCHMARK,
    "stsbenchmark/sts-dev.csv": BENCHMARK,
    "quora_duplicate_questions.tsv": QUORA,
    "train_5500.label": "NUM:date When did it begin ?\nHUM:ind Who is Se\xf1or X ?\n"
    "ABBR:exp What is X ?\nDESC:def Why ?\nENTY:food What is eaten ?\nLOC:city Where is X ?\n",
    "TREC_10.label": "NUM:count How many ?\n",
    **{f"msr_paraphrase_{part}.txt": SAME for part in ("train", "test")},
    **{f"raw/in_domain_{part}.tsv": "gj04\t1\t\tIt rains.\ngj04\t0\t*\tIt rain.\n" for part in ("train", "dev")},
    **{f"banking_{part}.csv": 'text,category\n"Where, please?",card\nNo money,refund\n' for part in ("train", "test")},
    "eng.train": ENTITIES,
    "eng.testa": ENTITIES,
    "eng.testb": ENTITIES,
    "genia.dev.iob2": MORE_NESTED,
    "genia.test.iob2": NESTED,
    "wiki.test.raw": WIKI,
    **{
        f"speeches/{year}-x.txt": f"The year is {year}.\n\nAll  is well."
        for year in (1900, 1946, 1950, 2015, 2016, 2021)
    },
    "Symptom2Disease.csv": DISEASES,
    "medical_tc_labels.csv": "condition_label,condition_name\n1,neoplasms\n2,nervous system diseases\n",
    "medical_tc_test.csv": ABSTRACTS + "2,Case 0 was observed.\n",
}


def hub(_: str, split: str) -> Any:
    """What `datasets.load_dataset` gives: rows, and features that know the labels' names."""

    class Part(list[dict[str, Any]]):
        features: ClassVar = {"label": SimpleNamespace(names=["no", "yes"])}

    return Part([{"text": "one", "label": 1}, {"text": split, "label": 0}])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each section's snippets write, by the name of the file; where two write the same file, both."""
    folder = tmp_path_factory.mktemp("downloads")
    for name, text in DOWNLOADED.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="latin-1" if name.endswith(".label") else "utf-8")
    found: dict[str, Any] = {"": folder / "data"}
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=hub))
        for snippet in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
            exec(compile(snippet, "docs/data.md", "exec"), names)
            for file in Path("data").rglob("*.*"):
                found.setdefault(file.relative_to("data").as_posix(), []).append(file.read_text(encoding="utf-8"))
    return found


def rows(written: dict[str, Any], name: str, version: int = -1) -> list[Any]:
    text = written[name][version]
    return (
        list(csv.DictReader(text.splitlines())) if name.endswith(".csv") else list(map(json.loads, text.splitlines()))
    )


def experiments(path: Path) -> list[Experiment]:
    if path in RECIPES:
        return [read_experiment(path)]
    return [parse_experiment(arm.document) for arm in make_arms(read_grid(path))]


def folders(path: Path) -> set[str]:
    """The data sets that a recipe reads."""
    tasks = [task for one in experiments(path) for task in one.tasks.values()]
    files = [name for task in tasks for names in task.files().values() for name in names]
    return {name.split("/")[0] for name in files if "/" in name}


@pytest.mark.parametrize("path", [*RECIPES, *GRIDS], ids=lambda path: path.stem)
def test_a_recipe_points_to_the_page_which_names_its_data(path: Path) -> None:
    name = path.relative_to(TOP).as_posix()
    head = path.read_text(encoding="utf-8").split("\n\n", 1)[0]
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| ") and f"`{name}`" in line)
    told = set(re.findall(r"`(\w+)`", row.split("|")[2]))
    assert told == folders(path)
    assert ("docs/data.md" in head) == bool(told)
    assert all(f"\n## {folder}: " in PAGE for folder in told)


@pytest.mark.parametrize("path", [*RECIPES, *GRIDS], ids=lambda path: path.stem)
def test_a_recipe_can_be_trained_on_what_the_snippets_write(path: Path, written: dict[str, Any]) -> None:
    for experiment in experiments(path):
        if folders(path):
            found = check(experiment, written[""])
            assert [str(one) for one in found if one.severity == "error" and one.path != "encoder.scratch"] == []


def test_trees_become_their_words_and_the_digit_of_the_root(written: dict[str, Any]) -> None:
    expected = [{"sentence": "It works .", "label": "3"}, {"sentence": "Not this one", "label": "0"}]
    assert rows(written, "sst5/train.csv") == rows(written, "sst5/dev.csv") == expected


def test_both_forms_of_scored_pairs_are_read(written: dict[str, Any]) -> None:
    first, last = rows(written, "sts/train.csv", 0), rows(written, "sts/train.csv")
    assert first[0] == {"sentence1": "A dog runs.", "sentence2": "A dog is running.", "score": "4.8"}
    assert last[1] == {"sentence1": 'He said "no', "sentence2": "It rained.", "score": "1.000"}


def test_pairs_of_questions_are_divided(written: dict[str, Any]) -> None:
    train, dev = rows(written, "quora/train.csv"), rows(written, "quora/dev.csv")
    assert (len(train), len(dev)) == (8, 2)
    assert len({row["sentence1"] for row in (*train, *dev)}) == 10
    assert {row["label"] for row in train} == {"0", "1"}


def test_questions_lose_no_letter_of_latin_1(written: dict[str, Any]) -> None:
    assert [*rows(written, "trec/train.csv")[1].values()] == ["Who is Se\xf1or X ?", "HUM", "HUM:ind"]


def test_paraphrases_keep_their_quotes(written: dict[str, Any]) -> None:
    expected = {"sentence1": 'He said "no 1.', "sentence2": "It was said 1.", "label": "1"}
    assert rows(written, "mrpc/train.csv")[1] == rows(written, "mrpc/test.csv")[1] == expected


def test_judgements_and_intents_get_the_names_of_weft(written: dict[str, Any]) -> None:
    assert rows(written, "cola/dev.csv")[1] == {"sentence": "It rain.", "label": "0"}
    assert rows(written, "banking77/test.csv")[0] == {"sentence": "Where, please?", "label": "card"}


def test_entities_begin_with_b(written: dict[str, Any]) -> None:
    (first, last) = rows(written, "conll2003/test.jsonl")
    assert first["tokens"] == ["Anna", "Berg", "met", "Paul", "Rome", "Oslo"]
    assert first["tags"] == ["B-PER", "I-PER", "O", "B-PER", "B-LOC", "B-LOC"]
    assert last == {"tokens": ["It"], "tags": ["O"]}


def test_nested_entities_come_from_all_columns(written: dict[str, Any]) -> None:
    first, last, *_ = rows(written, "genia_nested/train.jsonl")
    assert first == {"tokens": ["the", "ABC", "2", "gene"], "entities": [[1, 3, "protein"], [1, 4, "DNA"]]}
    assert last["entities"] == []


def test_articles_are_documents_without_headings_and_spaced_marks(written: dict[str, Any]) -> None:
    train, valid = (written[f"wikitext/{part}.txt"][-1].split("\n\n") for part in ("train", "valid"))
    assert (len(train), len(valid)) == (2, 8)
    assert train[0] == (
        'Town 0 is a well-known place, with 1,000 people (and Anna\'s cat).\nIt was "old" in 0. It grew.'
    )


def test_speeches_are_divided_by_year(written: dict[str, Any]) -> None:
    train, valid = (written[f"sotu/{part}.txt"][-1] for part in ("train", "valid"))
    assert re.findall(r"\d+", train) == ["1946", "1950", "2015"]
    assert valid == "The year is 2016. All is well.\n\nThe year is 2021. All is well.\n"


def test_every_disease_is_in_every_part_and_no_text_in_two(written: dict[str, Any]) -> None:
    parts = [rows(written, f"symptom2disease/{part}.csv") for part in ("train", "dev", "test")]
    assert all({row["label"] for row in part} == {"flu", "acne"} for part in parts)
    texts = [row["sentence"] for part in parts for row in part]
    assert len(texts) == len(set(texts)) == 47
    assert "I feel odd, day 3" in texts


def test_abstracts_are_kept_once_with_their_first_label(written: dict[str, Any]) -> None:
    found = [row for part in ("train", "test") for row in rows(written, f"medical_abstracts/{part}.csv")]
    assert len(found) == 20
    assert {"sentence": "Case 0 was observed.", "label": "neoplasms"} in found


def test_rows_of_the_hub_get_the_names_of_their_labels(written: dict[str, Any]) -> None:
    assert rows(written, "hub/train.csv") == [{"text": "one", "label": "yes"}, {"text": "train", "label": "no"}]


def test_the_figures_of_a_recipe_keep_their_question_apart_from_where_its_data_is() -> None:
    for path in (*GRIDS, CURVES):  # whose head is also the head of a page of results
        recipe = read_recipe(path)
        assert recipe.question.endswith(("?", "cores."))
        figure = path.parent.name == "figures"
        assert recipe.commands[-1].startswith("python benchmarks/" if figure else f"weft compare {recipe.place}")
        assert "docs/data.md" not in "".join((recipe.question, recipe.source, recipe.here, recipe.takes, recipe.found))
