"""Texts and rows as people have them in Python: Series, arrays, frames, datasets; and answers as frames."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
import torch

import weft
from weft.data.tables import is_frame, is_missing, open_rows
from weft.data.texts import list_texts
from weft.errors import ConfigError, DataError
from weft.model.embed import load_encoder
from weft.model.network import Network
from weft.spec import parse
from weft.tasks import Task

SECRET = "quick lazy patient words"
TEXTS = ["the quick fox", "a lazy dog"]
TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "fox": ({"kind": "classification"}, ["no", "yes"]),
    "topics": ({"kind": "classification", "multilabel": True}, [("a",), ("a", "b")]),
    "same": ({"kind": "pair_classification"}, ["no", "yes"]),
    "alike": ({"kind": "similarity"}, [0.0, 5.0]),
    "drugs": ({"kind": "spans"}, [((0, 3, "drug"),)]),
    "links": ({"kind": "relations"}, [(((0, 3), (4, 7), "eases"),)]),
}


class NAType:
    """As pandas' NA: neither equal nor unequal to anything."""

    def __eq__(self, other: object) -> Any:
        return self

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None  # type: ignore[assignment]


class Series:
    """As a Series: a list by its own method, and an index."""

    def __init__(self, values: list[Any], index: list[Any] | None = None) -> None:
        self.values, self.index = values, index

    def to_list(self) -> list[Any]:
        return self.values

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.chunked_array([self.values]).__arrow_c_stream__(requested_schema)


class DataFrame:
    """As a frame of pandas without Arrow's interface."""

    def __init__(self, columns: dict[str, list[Any]], index: list[Any] | None = None) -> None:
        self.data, self.index = columns, index

    @property
    def columns(self) -> list[str]:
        return list(self.data)

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return [dict(zip(self.data, cells, strict=True)) for cells in zip(*self.data.values(), strict=True)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)


class MixedFrame(DataFrame):
    """As a frame of pandas whose column holds values of several types, which Arrow refuses, quoting one of them."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise pa.ArrowInvalid(f"Could not convert {SECRET!r}")


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for pandas and polars, with the classes above, so that no other package is needed."""
    for library, classes in {"pandas": (Series, DataFrame), "polars": (Series,)}.items():
        module = ModuleType(library)
        for one in (*classes, DataFrame):
            own = type(one.__name__, (one,), {"__module__": f"{library}.core"})
            setattr(module, one.__name__, own)
        monkeypatch.setitem(sys.modules, library, module)


@pytest.fixture(scope="module")
def model(small_encoder: str) -> weft.Model:
    """Tasks of every kind of answer, none of them trained."""
    source = load_encoder(small_encoder)
    source.encoder.pooler = None
    tasks = {name: parse(Task, options) for name, (options, _) in TASKS.items()}
    torch.manual_seed(0)
    targets = {name: tasks[name].target().fit(golds) for name, (_, golds) in TASKS.items()}
    return weft.Model(Network(source.encoder, source.tokenizer, tasks, targets))


# Texts


ARRAYS: dict[str, Callable[[list[str]], Any]] = {
    "tuple": tuple,
    "generator": iter,
    "Series": Series,
    "numpy": np.array,
    "objects": lambda texts: np.array(texts, object),
    "one column": lambda texts: np.array(texts, object)[:, None],
    "Arrow": pa.array,
    "chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_texts_are_read_from_whatever_holds_them(model: weft.Model, kind: str) -> None:
    assert model.predict(ARRAYS[kind](TEXTS)) == model.predict(TEXTS)
    assert np.array_equal(model.embed(ARRAYS[kind](TEXTS)), model.embed(TEXTS))
    assert all(type(text) is str for text in list_texts(ARRAYS[kind](TEXTS)))


def test_an_array_of_two_columns_holds_pairs(model: weft.Model) -> None:
    assert model.predict(np.array([TEXTS])) == model.predict([tuple(TEXTS)])


@pytest.mark.parametrize("missing", [None, math.nan, np.float32("nan"), NAType()])
def test_missing_texts_are_refused_by_their_positions(model: weft.Model, missing: Any) -> None:
    for ask in (model.predict, model.embed):
        with pytest.raises(DataError, match=r"^row 1 is missing \(None or NaN\): 1 of 2, counted from 0; fill or drop"):
            ask([SECRET, missing])
        with pytest.raises(DataError, match=r"^rows 0, 2 are missing .*: 2 of 3") as caught:
            ask(np.array([missing, SECRET, missing], object))
        assert SECRET not in str(caught.value)
    with pytest.raises(DataError, match="row 0 is missing"):
        model.predict([(SECRET, missing)])
    with pytest.raises(DataError, match="rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 … are missing .*: 12 of 12"):
        model.predict([missing] * 12)


def test_what_is_missing_is_told_from_what_is_there() -> None:
    assert all(map(is_missing, (None, math.nan, np.float64("nan"), np.float32("nan"), NAType())))
    assert not any(map(is_missing, ("", "nan", 0, 0.0, False, [], np.array([math.nan]))))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (SECRET, "put it into a list"),
        (SECRET.encode(), "received a text in bytes where texts are expected; give a list, a Series"),
        ({SECRET: SECRET}, "received an object where texts are expected"),
        (3, "received a whole number where texts are expected"),
        (None, "received no value"),
        (np.array(SECRET), "an array of one value and no dimension"),
        (np.array([[SECRET] * 3]), "an array of 1 × 3; texts have one column, pairs two"),
        (np.array([[[SECRET]]]), "an array of 1 × 1 × 1"),
        (np.array([1.5]), "row 0 is not a text but float"),
    ],
)
def test_what_are_no_texts_is_refused_without_showing_it(model: weft.Model, given: Any, message: str) -> None:
    for ask in (model.predict, model.embed):
        with pytest.raises(DataError, match=message) as caught:
            ask(given)
        assert SECRET not in str(caught.value)


def test_a_frame_has_no_vectors_but_its_columns_have(model: weft.Model) -> None:
    with pytest.raises(DataError, match="received a Table where texts are expected; give one of its columns"):
        model.embed(pa.table({"text": TEXTS}))  # type: ignore[call-overload]


# Rows


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "Arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "frame": DataFrame,
    "mixed": MixedFrame,
    "dicts": lambda columns: DataFrame(columns).to_dict("records"),
    "iterator": lambda columns: iter(DataFrame(columns).to_dict("records")),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_rows_are_answered_by_the_columns_that_the_tasks_read(model: weft.Model, kind: str) -> None:
    make = FRAMES[kind]
    assert model.predict(make({"n": [1, 2], "text": TEXTS}), "fox") == model.predict(TEXTS, "fox")
    both = {"sentence1": TEXTS, "sentence2": TEXTS[::-1]}
    assert model.predict(make(both), "same") == model.predict(list(zip(TEXTS, TEXTS[::-1], strict=True)), "same")
    full = {"text": TEXTS, **both, "entities": [[{"start": 0, "end": 3, "label": "drug"}], []]}
    assert set(model.predict(make(full))[0]) == {*TASKS, "truncated", "empty"}


def test_tasks_whose_columns_a_frame_lacks_are_named_or_refused(model: weft.Model) -> None:
    table = pa.table({"sentence1": TEXTS, "sentence2": TEXTS})
    with pytest.warns(UserWarning, match="left out: tasks '.*' read the column 'text'") as caught:
        assert set(model.predict(table)[0]) == {"same", "alike", "truncated", "empty"}
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.raises(DataError, match="task 'fox' reads the column 'text'"):
        model.predict(table, "fox")
    with pytest.raises(DataError, match="tasks 'fox', .* read the column 'text'; tasks 'same', 'alike' read"):
        model.predict(pa.table({"other": TEXTS}))


def test_blank_texts_are_answered_and_marked(model: weft.Model) -> None:
    for make in FRAMES.values():
        with pytest.warns(weft.EmptyTextWarning, match="2 of 4 rows"):
            answers = model.predict(make({"text": ["a fox", None, "fox", " "]}), "fox")
        assert [answer["empty"] for answer in answers] == [False, True, False, True]


def test_all_rows_whose_text_is_none_are_named_at_once(model: weft.Model) -> None:
    with pytest.raises(DataError) as caught:
        model.predict([{"text": SECRET}, {"text": 3}, {"text": "fox"}, {"text": ["a"]}], "fox")
    lines = str(caught.value).splitlines()
    assert [line.partition(",")[2].partition(",")[0] for line in lines] == [
        " row 1 (counted from 0)",
        " row 3 (counted from 0)",
    ]
    assert all("column 'text': a " in line for line in lines)
    assert SECRET not in str(caught.value)
    with pytest.raises(DataError, match="… and 5 more faults"):
        model.predict([{"text": 3}] * 25, "fox")


def test_a_frame_without_rows_is_answered_with_nothing(model: weft.Model) -> None:
    assert model.predict(pa.table({"text": pa.array([], pa.string())})) == []
    with pytest.raises(ConfigError, match="no task 'foxes'"):
        model.predict(pa.table({"text": []}), "foxes")


def test_an_index_without_a_name_is_no_column() -> None:
    table = pa.table({"text": ["fox"], "__index_level_0__": ["r1"]})
    (row,) = open_rows(table)[1]
    assert row.columns == {"text": "fox"}


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="columns 1 and 2 one name"):
        open_rows(pa.table([["a"], ["b"]], names=["text", "text"]))


def test_values_of_several_types_are_read_though_arrow_has_none_for_them() -> None:
    rows = list(open_rows(MixedFrame({"text": ["fox", 3], "label": [NAType(), "a"]}))[1])
    assert [row.columns for row in rows] == [{"text": "fox", "label": None}, {"text": 3, "label": "a"}]


@pytest.mark.parametrize("given", [Series([SECRET]), pa.chunked_array([[SECRET]])], ids=["Series", "Arrow"])
def test_texts_where_rows_are_needed_are_refused_without_showing_them(given: Any) -> None:
    assert not is_frame(given)
    with pytest.raises(DataError, match=r"that is no table \(ArrowInvalid\); give a table with columns") as caught:
        open_rows(given)
    assert SECRET not in str(caught.value)


# Datasets


@dataclass
class ClassLabel:
    names: list[str]


@dataclass
class Sequence:
    feature: Any


class HubDataset:
    """As much of a `datasets.Dataset` as is asked of it."""

    features: ClassVar[Any] = {
        "text": object(),
        "label": ClassLabel(["no", "yes"]),
        "tags": Sequence(ClassLabel(["O", "B"])),
    }
    column_names = ("text", "label", "tags")

    def __init__(self, rows: list[dict[str, Any]], plain: bool = False) -> None:
        self.rows, self.plain = rows, plain

    def with_format(self, type: None) -> HubDataset:
        return HubDataset(self.rows, plain=True)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows if self.plain else [{"text": torch.zeros(1)} for _ in self.rows])


def test_rows_of_a_dataset_are_plain_and_name_their_classes() -> None:
    given = [{"text": "fox", "label": 1, "tags": [0, 1]}, {"text": "dog", "label": -1, "tags": None}]
    rows = list(open_rows(HubDataset(given))[1])
    assert rows[0].columns == {"text": "fox", "label": "yes", "tags": ["O", "B"]}
    assert rows[1].columns == {"text": "dog", "label": None, "tags": None}
    assert all(row.tabular for row in rows)


def test_a_dataset_that_does_not_know_its_columns_gives_them_as_they_are() -> None:
    class Stream(HubDataset):
        features: ClassVar[Any] = None

    stream = Stream([{"text": "fox", "label": 1}])
    assert [row.columns for row in open_rows(stream)[1]] == [{"text": "fox", "label": 1}]


def test_a_dataset_is_answered_and_measured_as_a_table_is(model: weft.Model) -> None:
    labels = [0, 1]
    dataset = HubDataset([{"text": text, "label": label} for text, label in zip(TEXTS, labels, strict=True)])
    table = pa.table({"text": TEXTS, "label": ["no", "yes"]})
    assert model.predict(dataset, "fox") == model.predict(TEXTS, "fox")
    assert model.evaluate(dataset, "fox")["fox"].measures == model.evaluate(table, "fox")["fox"].measures


# Answers as frames


@pytest.mark.usefixtures("libraries")
@pytest.mark.filterwarnings("ignore::weft.TruncationWarning")
def test_answers_are_a_frame_with_plain_columns(model: weft.Model) -> None:
    frame = model.predict([*TEXTS, "the quick brown fox jumps over the lazy dog " * 8], as_frame=True, scores=True)
    assert type(frame).__module__ == "pandas.core"
    answers = model.predict(TEXTS, scores=True)
    scores = [*(f"fox_score_{label}" for label in ("no", "yes"))]
    assert frame.columns == [
        *("fox", "fox_score", *scores, "topics", "topics_score_a", "topics_score_b", "drugs", "truncated", "empty")
    ]
    assert frame.data["fox"][:2] == [answer["fox"]["label"] for answer in answers]
    assert frame.data["fox_score_no"][:2] == [answer["fox"]["scores"]["no"] for answer in answers]
    assert frame.data["topics"][:2] == ["|".join(answer["topics"]["labels"]) for answer in answers]
    assert frame.data["drugs"][:2] == [answer["drugs"] for answer in answers]
    assert frame.data["truncated"] == [False, False, True]
    assert frame.index is None
    assert model.predict(TEXTS, "fox", as_frame=True).columns == ["fox", "fox_score", "truncated", "empty"]
    assert model.predict([tuple(TEXTS)], "alike", as_frame=True).columns == ["alike", "truncated", "empty"]


@pytest.mark.usefixtures("libraries")
def test_a_frame_of_answers_is_of_the_library_that_was_given_with_its_index(model: weft.Model) -> None:
    pandas, polars = sys.modules["pandas"], sys.modules["polars"]
    for given in (pandas.Series(TEXTS, ["x", "y"]), pandas.DataFrame({"text": TEXTS}, ["x", "y"])):
        frame = model.predict(given, "fox", as_frame=True)
        assert isinstance(frame, pandas.DataFrame)
        assert frame.index == ["x", "y"]
    frame = model.predict(polars.Series(TEXTS, ["no", "index"]), "fox", as_frame=True)
    assert isinstance(frame, polars.DataFrame)
    assert frame.index is None


@pytest.mark.usefixtures("libraries")
def test_a_frame_of_no_answers_has_all_columns(model: weft.Model) -> None:
    pandas = sys.modules["pandas"]
    for task in (None, *TASKS):
        some = pa.table({"text": TEXTS, "sentence1": TEXTS, "sentence2": TEXTS, "entities": [[], []]})
        expected = model.predict(some, task, as_frame=True, scores=True).columns
        for nothing in ([], pandas.Series([], []), some[:0]):
            frame = model.predict(nothing, task, as_frame=True, scores=True)
            assert frame.data == {name: [] for name in expected}


def test_a_library_that_is_not_installed_is_named_before_anything_is_answered(
    model: weft.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setattr("weft.model.model.answer_rows", lambda *_: pytest.fail("answered"))
    with pytest.raises(ConfigError, match="needs pandas, which is not installed; run: pip install pandas"):
        model.predict(TEXTS, as_frame=True)


def test_real_frames_go_in_and_come_out(model: weft.Model) -> None:
    """With the libraries themselves, where they are installed."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = model.predict(TEXTS, "fox")
    frame = pandas.DataFrame({"text": TEXTS, "n": [1, None]}, index=["x", "y"])
    found = model.predict(frame, "fox", as_frame=True)
    assert found.index.tolist() == ["x", "y"]
    assert found["fox"].tolist() == [answer["label"] for answer in expected]
    other = polars.DataFrame({"text": TEXTS})
    assert model.predict(other, as_frame=True, task="fox")["fox"].to_list() == found["fox"].tolist()
    for given in (frame, frame["text"], frame["text"].to_numpy(), other, other["text"]):
        assert model.predict(given, "fox") == expected


def test_nothing_of_these_libraries_is_imported_with_weft() -> None:
    script = (
        "import sys, weft; weft.Model; weft.train; "
        "found = {'pandas', 'polars', 'datasets'} & sys.modules.keys(); assert not found, found"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
