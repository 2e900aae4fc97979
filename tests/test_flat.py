"""Answers as plain columns: what they are called, and what stands in them."""

from __future__ import annotations

import pytest

from weft.data.flat import flat_row
from weft.data.predictions import (
    LabelPrediction,
    LabelsPrediction,
    PredictedSpan,
    Prediction,
    ScorePrediction,
    SpansPrediction,
)
from weft.errors import ConfigError

ONE = LabelPrediction("b", 0.3, {"a": 0.2, "b": 0.3, "c": 0.5})
MANY = LabelsPrediction(("x", "z"), {"x": 0.9, "y": 0.1, "z": 0.8}, ";")


def test_a_label_has_its_name_and_its_score() -> None:
    assert flat_row({"urgency": ONE}) == {"urgency": "b", "urgency_score": 0.3}


def test_scores_are_a_column_per_label() -> None:
    found = flat_row({"t": ONE, "m": MANY}, scores=True)
    assert list(found) == ["t", "t_score", *(f"t_score_{x}" for x in "abc"), "m", *(f"m_score_{x}" for x in "xyz")]
    assert (found["t_score_c"], found["m_score_y"]) == (0.5, 0.1)


def test_the_likeliest_of_the_other_labels_follow_the_answer() -> None:
    assert flat_row({"t": ONE}, top=2) == {"t": "b", "t_score": 0.3, "t_2": "c", "t_2_score": 0.5}
    found = flat_row({"t": ONE}, top=9)  # there are no more than three
    assert (found["t_3"], found["t_3_score"], len(found)) == ("a", 0.2, 6)


@pytest.mark.parametrize(
    ("prediction", "cell"),
    [
        (MANY, "x;z"),
        (LabelsPrediction(()), ""),
        (ScorePrediction(3.5), 3.5),
        (
            SpansPrediction((PredictedSpan(0, 3, "animal", "fox", 0.9),)),
            [{"start": 0, "end": 3, "text": "fox", "label": "animal", "score": 0.9}],
        ),
    ],
)
def test_what_has_no_score_of_its_own_has_one_column(prediction: Prediction, cell: object) -> None:
    assert flat_row({"t": prediction}, top=3) == {"t": cell}


def test_two_answers_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'t' and 't_score' would both .* column 't_score'.*--task"):
        flat_row({"t": ONE, "t_score": ScorePrediction(1.0)})
