"""What objects say of themselves at a prompt and in notebooks; never a user's text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import weft
from comparisons import base, cell, record
from conftest import tiny_tokenizer
from shared_runs import CONFIGS, make_files, runner
from weft.comparison.result import Comparison
from weft.model.evaluate import TaskResult
from weft.model.results import TaskResults
from weft.targets import Measures

RESULT = TaskResult(
    "f1", 1200, Measures({"f1": 0.5, "<b>": 0.25}, {"f1": (0.4, 0.6)}), {"majority": {"f1": 0.1}, "tfidf": {}}
)


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert weft.__version__ == version("weft")


def test_a_model_names_tasks_kinds_and_encoder(tmp_path: Path, small_encoder: str) -> None:
    folder = runner(make_files(tmp_path, tiny_tokenizer("wordpiece")), small_encoder)(CONFIGS["two tasks on one file"])
    model = weft.load(folder, device="cpu")
    assert repr(model).startswith(
        "Model(fox: classification of 2 labels, long: classification of 2 labels; bert encoder, "
    )
    assert repr(model).endswith("million weights, on cpu)")
    results = model.evaluate(tmp_path / "test.csv")
    assert isinstance(results, TaskResults)
    assert repr(results).splitlines()[0].split() == ["task", "metric", "value", "95", "%", "interval", "rows"]
    assert repr(results).splitlines()[1].startswith("fox ")
    assert "fox jumps" not in repr(results) + repr(results["fox"]) + repr(model)


def test_an_encoder_its_tokenizer_and_its_vectors_say_how_large_they_are(small_encoder: str) -> None:
    encoder = weft.load_encoder(small_encoder, device="cpu")
    assert repr(encoder).startswith("TextEncoder(bert encoder, ")
    assert repr(encoder).endswith(f", on cpu, {encoder.tokenizer.size:,} tokens known)")
    assert repr(encoder.tokenizer) == f"Tokenizer(WordPiece, {encoder.tokenizer.size:,} tokens known)"
    (vectors,) = encoder.embed(["the quick fox"], level="word")
    assert repr(vectors) == f"TextVectors(3 vectors of {encoder.encoder.config.hidden_size} numbers)"
    cut = weft.TextVectors(np.zeros((1, 4), np.float32), [], 5)
    assert repr(cut) == "TextVectors(1 vector of 4 numbers, 5 tokens cut)"


def test_a_result_is_one_line() -> None:
    assert repr(RESULT) == "TaskResult(f1 0.500 (0.400 to 0.600) on 1,200 rows, majority 0.100)"


def test_results_are_a_table_at_a_prompt_and_in_a_notebook_and_still_a_dict() -> None:
    results = TaskResults({"<urgency>": RESULT})
    assert results == {"<urgency>": RESULT}
    assert repr(results).splitlines()[1:] == [
        "<urgency>  f1      0.500  0.400 to 0.600  1,200",
        "<urgency>  <b>     0.250  –               1,200",
    ]
    page = results._repr_html_()
    assert "<td>&lt;urgency&gt;</td><td>f1</td><td>0.500</td><td>0.400 to 0.600</td><td>1,200</td>" in page
    assert "<b>" not in page


@pytest.mark.parametrize("task", ["urgency", "<i>"])
def test_a_comparison_is_a_table_per_task_and_its_sentence(task: str) -> None:
    found = Comparison(Path("out"), record(base(task), cell(task)))
    page = found._repr_html_()
    assert page.count("<table>") == 1
    assert "<td>plain</td>" in page
    assert "<td>base</td>" in page
    assert "<td>better</td>" in page
    assert "<i>" not in page
