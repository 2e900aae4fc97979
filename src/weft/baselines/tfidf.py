"""What TF-IDF and a linear model reach without an encoder.

Every function takes training rows and returns a prediction for each row asked for. Where there is nothing to learn from
(a single class, texts without a word) it answers as the majority or the mean would. A label weighs as much as any
other, however rare it is, as it does in heads that are fitted at once: what is compared with these is then no model
that always gives the commonest label. scikit-learn is imported inside the functions, so that importing this module
costs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from weft.baselines.logistic import Chances, classify, shares
from weft.baselines.majority import majority_label_sets, mean_scores, need_rows

TextPair = tuple[str, str]

LARGEST_VOCABULARY = 50_000  # the most frequent words and word pairs; more costs seconds and brings next to nothing


def tfidf_labels(
    train_texts: Sequence[str],
    train_labels: Sequence[str],
    texts: Sequence[str],
    seed: int = 0,
    calibrated: bool = False,
) -> list[Chances]:
    """How likely each label of each text is by logistic regression on TF-IDF of words and word pairs.

    `calibrated` as in `classify`.
    """
    _same_length(train_texts, train_labels)
    vectors = _vectors(train_texts, texts)
    if vectors is None:
        return shares(train_labels, len(texts))
    return classify(vectors[0], train_labels, vectors[1], seed, calibrated)


def tfidf_scores(train_texts: Sequence[str], train_scores: Sequence[float], texts: Sequence[str]) -> list[float]:
    """The score of each text by ridge regression on TF-IDF of words and word pairs."""
    _same_length(train_texts, train_scores)
    vectors = _vectors(train_texts, texts)
    if vectors is None:
        return mean_scores(train_scores, len(texts))
    return _regress(vectors[0], train_scores, vectors[1])


def tfidf_label_sets(
    train_texts: Sequence[str], train_labels: Sequence[Collection[str]], texts: Sequence[str], seed: int = 0
) -> list[list[str]]:
    """The labels of each text, by name, one logistic regression for each label that occurs in training."""
    _same_length(train_texts, train_labels)
    vectors = _vectors(train_texts, texts)
    if vectors is None:
        return majority_label_sets(train_labels, len(texts))
    sets = [set(labels) for labels in train_labels]
    answers: list[list[str]] = [[] for _ in texts]
    for label in sorted(set().union(*sets)):
        marks = ["yes" if label in labels else "no" for labels in sets]
        for row, chances in zip(answers, classify(vectors[0], marks, vectors[1], seed), strict=True):
            if chances.get("yes", 0.0) > 0.5:
                row.append(label)
    return answers


def tfidf_pair_labels(
    train_pairs: Sequence[TextPair],
    train_labels: Sequence[str],
    pairs: Sequence[TextPair],
    seed: int = 0,
    calibrated: bool = False,
) -> list[Chances]:
    """How likely each label of each pair is by logistic regression on `pair_features`; as `tfidf_labels`."""
    _same_length(train_pairs, train_labels)
    vectors = _pair_vectors(train_pairs, pairs)
    if vectors is None:
        return shares(train_labels, len(pairs))
    return classify(vectors[0], train_labels, vectors[1], seed, calibrated)


def tfidf_pair_scores(
    train_pairs: Sequence[TextPair], train_scores: Sequence[float], pairs: Sequence[TextPair]
) -> list[float]:
    """The score of each pair by ridge regression on `pair_features`."""
    _same_length(train_pairs, train_scores)
    vectors = _pair_vectors(train_pairs, pairs)
    if vectors is None:
        return mean_scores(train_scores, len(pairs))
    return _regress(vectors[0], train_scores, vectors[1])


def pair_features(pairs: Sequence[TextPair], vectorizer: Any) -> Any:
    """|u - v|, u * v and the cosine of u and v side by side, sparse (B, 2 V + 1).

    The same for (a, b) as for (b, a).

    Args:
        pairs: B pairs of texts.
        vectorizer: a fitted TfidfVectorizer of V features whose rows have length 1, so that u · v is the cosine.
    """
    from scipy.sparse import csr_array, hstack

    first = csr_array(vectorizer.transform([pair[0] for pair in pairs]))
    second = csr_array(vectorizer.transform([pair[1] for pair in pairs]))
    product = first.multiply(second)
    cosine = csr_array(product.sum(axis=1).reshape(-1, 1))
    return hstack([abs(first - second), product, cosine], format="csr")


def _vectors(train_texts: Sequence[str], texts: Sequence[str]) -> tuple[Any, Any] | None:
    """TF-IDF of the training texts and of `texts`, sparse (B, V) each.

    None when there is no word to learn from or no text to answer; scikit-learn refuses both.
    """
    vectorizer = _new_vectorizer(train_texts)
    if vectorizer is None or not texts:
        return None
    train_vectors = vectorizer.fit_transform(train_texts)  # in one pass: tokenising is most of the time
    return train_vectors, vectorizer.transform(texts)


def _new_vectorizer(texts: Sequence[str]) -> Any | None:
    """A TfidfVectorizer, not yet fitted, or None when `texts` hold no word that it could be fitted to."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    need_rows(texts)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=LARGEST_VOCABULARY)
    analyze = vectorizer.build_analyzer()
    return vectorizer if any(analyze(text) for text in texts) else None


def _pair_vectors(train_pairs: Sequence[TextPair], pairs: Sequence[TextPair]) -> tuple[Any, Any] | None:
    """`pair_features` of the training pairs and of `pairs`, or None as in `_vectors`."""
    train_texts = list(chain.from_iterable(train_pairs))
    vectorizer = _new_vectorizer(train_texts)
    if vectorizer is None or not pairs:
        return None
    vectorizer.fit(train_texts)
    return pair_features(train_pairs, vectorizer), pair_features(pairs, vectorizer)


def _regress(train_features: Any, train_scores: Sequence[float], features: Any) -> list[float]:
    from sklearn.linear_model import Ridge

    model = Ridge().fit(train_features, list(train_scores))
    return [float(score) for score in model.predict(features)]


def _same_length(inputs: Sequence[object], answers: Sequence[object]) -> None:
    if len(inputs) != len(answers):
        raise ValueError(f"{len(inputs)} training inputs but {len(answers)} answers")
