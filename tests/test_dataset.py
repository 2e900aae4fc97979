"""Rows that are stored and rows that are drawn anew, through the one door that training has to both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from conftest import tiny_tokenizer
from weft.corpus.loading import CorpusFormat, CorpusLoader
from weft.data.dataset import Dataset, StoredRows
from weft.data.records import Example

TEXTS = ["the quick brown fox", "jumps over", "the lazy dog", "and the fox sleeps well"]


def stored(labels: str = "abab") -> StoredRows:
    return StoredRows(
        [Example((text,), label, row + 2) for row, (text, label) in enumerate(zip(TEXTS, labels, strict=True))]
    )


def resampled(folder: Path, pairs: bool = False) -> Dataset:
    (folder / "t.txt").write_text("\n\n".join("\n".join(TEXTS) for _ in range(6)), encoding="utf-8")
    loader = CorpusLoader(tiny_tokenizer("wordpiece"), 16, folder / "cache")
    return loader.rows(folder / "t.txt", CorpusFormat(pairs=pairs), 3)


@pytest.fixture(params=["stored", "stretches", "pairs"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> Dataset:
    return stored() if request.param == "stored" else resampled(tmp_path, request.param == "pairs")


def lines(rows: Sequence[Example]) -> list[int]:
    return [row.line for row in rows]


def test_rows_are_a_sequence_of_which_some_can_be_taken(dataset: Dataset) -> None:
    everything = lines(list(dataset))
    assert len(everything) == len(dataset) > 3
    assert lines(dataset[1:3]) == lines(dataset.take([1, 2])) == everything[1:3]
    assert dataset[-1].line == everything[-1]
    with pytest.raises(IndexError):
        dataset[len(dataset)]


def test_stored_rows_are_prepared_once_and_are_the_same_in_every_epoch() -> None:
    made: list[int] = []

    def prepare(rows: Sequence[Example]) -> list[str]:
        made.append(len(rows))
        return [row.texts[0] for row in rows]

    rows = stored().prepare(prepare, len)
    assert rows.lengths == [len(text) for text in TEXTS]
    for epoch in range(3):
        assert rows.epoch(epoch).take([2, 0]) == [TEXTS[2], TEXTS[0]]
    assert made == [4]
    assert stored().token_log_shares() is None


@pytest.mark.parametrize("pairs", [False, True])
def test_rows_of_raw_text_are_prepared_when_they_are_taken_as_the_epoch_draws_them(tmp_path: Path, pairs: bool) -> None:
    dataset = resampled(tmp_path, pairs)
    made: list[int] = []

    def prepare(rows: Sequence[Example]) -> list[tuple[int, ...]]:
        made.extend(lines(rows))
        return [row.tokens.seed for row in rows if row.tokens is not None]

    rows = dataset.prepare(prepare, lambda _: pytest.fail("lengths are known beforehand"))
    assert not made
    assert rows.epoch(2).take([1]) == [row.tokens.seed for row in dataset.epoch(2).take([1]) if row.tokens is not None]
    assert rows.epoch(2).take([1]) != rows.take([1])
    special = 3 if pairs else 2
    sizes = [sum(map(len, row.tokens.ids)) for row in dataset.epoch(1) if row.tokens is not None]
    assert list(rows.epoch(1).lengths) == [size + special for size in sizes]
    shares = dataset.token_log_shares()
    assert shares is not None
    assert np.exp(shares).sum() == pytest.approx(1)


def test_a_fingerprint_is_that_of_the_rows_whatever_the_epoch_and_changes_with_any_of_them(tmp_path: Path) -> None:
    assert stored().fingerprint == stored().fingerprint != stored("abaa").fingerprint
    changed = StoredRows([Example((row.texts[0] + "!",), row.gold, row.line) for row in stored()])
    assert changed.fingerprint != stored().fingerprint
    for pairs in (False, True):
        dataset = resampled(tmp_path, pairs)
        assert dataset.fingerprint == dataset.epoch(4).fingerprint == resampled(tmp_path, pairs).fingerprint
    before = resampled(tmp_path).fingerprint
    changed_text = (tmp_path / "t.txt").read_text(encoding="utf-8").replace("lazy", "quick")
    (tmp_path / "other.txt").write_text(changed_text, encoding="utf-8")
    loader = CorpusLoader(tiny_tokenizer("wordpiece"), 16, tmp_path / "cache")
    assert loader.rows(tmp_path / "other.txt", CorpusFormat(), 3).fingerprint != before
