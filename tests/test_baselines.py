"""Baselines learn what a linear model can, and fall back to the majority or the mean where nothing can be learned."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from weft.baselines.majority import majority_label_sets, majority_labels, mean_scores
from weft.baselines.tfidf import (
    pair_features,
    tfidf_label_sets,
    tfidf_labels,
    tfidf_pair_labels,
    tfidf_pair_scores,
    tfidf_scores,
)

pytestmark = pytest.mark.filterwarnings("error")

GOOD = ["a fine day", "fine bread and wine", "what a fine house"] * 4
BAD = ["a poor day", "poor bread and wine", "what a poor house"] * 4
SAME = [("red car", "red car"), ("blue sky", "blue sky"), ("old dog", "old dog"), ("new hat", "new hat")] * 5
OTHER = [("red car", "old dog"), ("blue sky", "new hat"), ("old dog", "blue sky"), ("new hat", "red car")] * 5


def test_the_majority_is_the_most_frequent_label() -> None:
    assert majority_labels(["b", "a", "b"], 2) == ["b", "b"]
    assert majority_labels(["b"], 0) == []


def test_equally_frequent_labels_are_settled_by_name() -> None:
    assert majority_labels(["c", "b", "a", "b", "c"], 1) == ["b"]


def test_one_row_of_each_of_many_labels_is_learned_from_without_a_word() -> None:
    texts = [f"word{number}" for number in range(30)]  # scikit-learn would warn of a regression
    labels = [f"label {number}" for number in range(30)]
    assert likeliest(tfidf_labels(texts, labels, texts[:3])) == labels[:3]


def test_mean_scores_repeat_the_mean() -> None:
    assert mean_scores([1.0, 2.0, 6.0], 2) == [3.0, 3.0]


def test_majority_sets_need_more_than_half_of_the_rows() -> None:
    assert majority_label_sets([["b", "a"], ["a", "b"], ["b", "c", "c", "c"], ["d"]], 2) == [["b"], ["b"]]
    assert majority_label_sets([["a"], ["b"]], 1) == [[]]


def test_majority_sets_are_separate_lists() -> None:
    first, second = majority_label_sets([["a"]], 2)
    first.append("z")
    assert second == ["a"]


def likeliest(chances: list[dict[str, float]]) -> list[str]:
    return [max(row, key=row.__getitem__) for row in chances]


def test_tfidf_labels_learn_the_word_that_decides() -> None:
    train, labels = GOOD + BAD, ["good"] * 12 + ["bad"] * 12
    found = tfidf_labels(train, labels, ["fine garden", "poor garden"])
    assert likeliest(found) == ["good", "bad"]
    assert [list(row) for row in found] == [["bad", "good"]] * 2
    assert [sum(row.values()) for row in found] == pytest.approx([1, 1])


RARE = ["help me now please", "please call me", "come now please"] * 2
COMMON = ["thank you please", "see you please", "the usual please"] * 20
ASKED = ["come and help now", "see you"]


def test_a_rare_label_weighs_as_much_as_a_common_one() -> None:
    train, labels = RARE + COMMON, ["urgent"] * 6 + ["normal"] * 60
    assert likeliest(tfidf_labels(train, labels, ASKED)) == ["urgent", "normal"]


def test_calibrated_chances_are_those_of_rows_that_were_not_learned_from() -> None:
    train, labels = RARE * 3 + COMMON, ["urgent"] * 18 + ["normal"] * 60
    flat, sharp = (tfidf_labels(train, labels, ASKED, calibrated=calibrated) for calibrated in (False, True))
    assert likeliest(flat) == likeliest(sharp) == ["urgent", "normal"]
    assert max(row["urgent"] for row in flat) < 0.85 < 0.95 < sharp[0]["urgent"]
    assert [sum(row.values()) for row in sharp] == pytest.approx([1, 1])
    odd = [f"word{n} other{n}" for n in range(80)]  # of which none tells anything about another
    found = tfidf_labels(odd, ["urgent", "normal"] * 40, odd, calibrated=True)
    assert max(max(row.values()) for row in found) < 0.6


def test_a_label_with_a_single_row_can_be_calibrated_beside_others() -> None:
    train, labels = [*RARE, *COMMON[:12], "alone here"], ["urgent"] * 6 + ["normal"] * 12 + ["other"]
    found = tfidf_labels(train, labels, ["alone here", *ASKED], calibrated=True)
    assert likeliest(found) == ["other", "urgent", "normal"]
    assert tfidf_labels(train[:2], ["a", "b"], ["help"], calibrated=True)[0].keys() == {"a", "b"}  # too few to tell
    pairs, both = SAME[:4] + OTHER * 3, ["same"] * 4 + ["other"] * 60
    assert likeliest(tfidf_pair_labels(pairs, both, [("red hat", "red hat")], calibrated=True)) == ["same"]


def test_a_rare_label_of_pairs_weighs_as_much_as_a_common_one() -> None:
    pairs, labels = SAME[:4] + OTHER * 3, ["same"] * 4 + ["other"] * 60
    assert likeliest(tfidf_pair_labels(pairs, labels, [("red hat", "red hat"), ("red hat", "blue dog")])) == [
        "same",
        "other",
    ]


def test_a_rare_label_of_several_is_given() -> None:
    sets = [["polite", "urgent"]] * 6 + [["polite"]] * 60
    assert tfidf_label_sets(RARE + COMMON, sets, ASKED) == [["polite", "urgent"], ["polite"]]


def test_tfidf_labels_see_pairs_of_words() -> None:
    train = ["red up blue down", "blue up red down"] * 10
    assert likeliest(tfidf_labels(train, ["r", "b"] * 10, ["red up", "blue up"])) == ["r", "b"]


def test_tfidf_scores_rise_with_the_word_that_decides() -> None:
    high, unknown, low = tfidf_scores(GOOD + BAD, [5.0] * 12 + [1.0] * 12, ["fine garden", "zebra", "poor garden"])
    assert high > 4 > unknown > 2 > low


def test_tfidf_label_sets_decide_each_label_on_its_own() -> None:
    train = ["cold rain", "cold sun", "hot rain", "hot sun"] * 6
    sets = [["cold", "wet"], ["cold"], ["wet"], []] * 6
    found = tfidf_label_sets(train, sets, ["cold rain", "cold sun", "hot rain", "hot sun"])
    assert found == [["cold", "wet"], ["cold"], ["wet"], []]


def test_a_label_on_every_training_row_is_always_predicted() -> None:
    sets = [["x", "good"]] * 12 + [["x"]] * 12
    assert tfidf_label_sets(GOOD + BAD, sets, ["fine", "poor"]) == [["good", "x"], ["x"]]


def test_pair_features_are_difference_product_and_cosine() -> None:
    texts = ["red car", "red dog", "blue sky"]
    vectorizer = TfidfVectorizer().fit(texts)
    vectors = vectorizer.transform(texts).toarray()
    found = pair_features([(texts[0], texts[1]), (texts[0], texts[2])], vectorizer).toarray()
    for row, other in zip(found, vectors[1:], strict=True):
        u, v = vectors[0], other
        assert row == pytest.approx(np.concatenate([abs(u - v), u * v, [u @ v]]))


def test_pair_features_do_not_depend_on_the_order_of_a_pair() -> None:
    vectorizer = TfidfVectorizer().fit(["red car", "red dog"])
    there, back = (pair_features([pair], vectorizer) for pair in (("red car", "red dog"), ("red dog", "red car")))
    assert there.toarray() == pytest.approx(back.toarray())


def test_pair_labels_compare_the_two_texts() -> None:
    # Both classes hold the same words, so only the comparison can tell them apart.
    labels = ["same"] * 20 + ["other"] * 20
    unseen = [("red hat", "red hat"), ("red hat", "blue dog")]
    assert likeliest(tfidf_pair_labels(SAME + OTHER, labels, unseen)) == ["same", "other"]


def test_pair_scores_compare_the_two_texts() -> None:
    same, other = tfidf_pair_scores(
        SAME + OTHER, [5.0] * 20 + [0.0] * 20, [("red hat", "red hat"), ("red hat", "blue dog")]
    )
    assert same > 3.5 > 1.5 > other


def test_one_class_is_answered_with_that_class() -> None:
    assert tfidf_labels(["some words", "other words"], ["a", "a"], ["new words", ""]) == [{"a": 1}, {"a": 1}]
    assert tfidf_pair_labels([("some words", "other words")], ["a"], [("x", "y")]) == [{"a": 1}]


@pytest.mark.parametrize("text", ["", "?!", " "])
def test_texts_without_words_are_answered_with_the_majority_or_mean(text: str) -> None:
    train, pairs = [text] * 3, [(text, text)] * 3
    assert tfidf_labels(train, ["b", "a", "b"], ["some words"]) == [{"a": 1 / 3, "b": 2 / 3}]
    assert tfidf_scores(train, [1.0, 2.0, 6.0], ["some words"]) == [3.0]
    assert tfidf_label_sets(train, [["a"], ["a", "b"], []], ["some words"]) == [["a"]]
    assert tfidf_pair_labels(pairs, ["b", "a", "b"], [("some", "words")]) == [{"a": 1 / 3, "b": 2 / 3}]
    assert tfidf_pair_scores(pairs, [1.0, 2.0, 6.0], [("some", "words")]) == [3.0]


def test_nothing_asked_is_nothing_answered() -> None:
    assert tfidf_labels(GOOD + BAD, ["good"] * 12 + ["bad"] * 12, []) == []
    assert tfidf_scores(GOOD, [1.0] * 12, []) == []
    assert tfidf_label_sets(GOOD + BAD, [["x"]] * 12 + [[]] * 12, []) == []
    assert tfidf_pair_labels(SAME + OTHER, ["same"] * 20 + ["other"] * 20, []) == []
    assert tfidf_pair_scores(SAME, [1.0] * 20, []) == []


def test_baselines_refuse_absent_and_uneven_training_rows() -> None:
    with pytest.raises(ValueError, match="at least one training row"):
        majority_labels([], 1)
    with pytest.raises(ValueError, match="at least one training row"):
        tfidf_scores([], [], ["text"])
    with pytest.raises(ValueError, match="2 training inputs but 1 answers"):
        tfidf_labels(["one text", "two texts"], ["a"], ["text"])


def test_importing_baselines_does_not_import_scikit_learn() -> None:
    script = (
        "import sys, weft.baselines.tfidf; sys.exit(' '.join({'sklearn', 'scipy', 'numpy'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
