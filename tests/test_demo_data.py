"""The demo's messages are what the demo says of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from weft.config.document import read_experiment
from weft.demo import CONFIG, FOLDER

PARTS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def messages() -> dict[str, list[dict[str, Any]]]:
    texts = {part: (FOLDER / f"{part}.jsonl").read_text(encoding="utf-8") for part in PARTS}
    return {part: [json.loads(line) for line in text.splitlines()] for part, text in texts.items()}


def word_triples(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return frozenset(tuple(words[i : i + 3]) for i in range(max(1, len(words) - 2)))


def test_there_are_at_least_600_and_the_urgent_are_few_in_every_part(messages: dict[str, list[dict[str, Any]]]) -> None:
    assert sum(map(len, messages.values())) >= 600
    for rows in messages.values():
        shares = {label: count / len(rows) for label, count in Counter(row["urgency"] for row in rows).items()}
        assert set(shares) == {"non-urgent", "medium", "urgent"}
        assert 0.08 < shares["urgent"] < 0.14 < shares["non-urgent"] < shares["medium"]
        assert {row["acknowledgement"] for row in rows} == {"yes", "no"}


def test_a_mere_thank_you_is_never_urgent(messages: dict[str, list[dict[str, Any]]]) -> None:
    thanks = [row for rows in messages.values() for row in rows if row["acknowledgement"] == "yes"]
    assert {row["urgency"] for row in thanks} == {"non-urgent"}


def test_no_two_messages_are_near_copies(messages: dict[str, list[dict[str, Any]]]) -> None:
    triples = [word_triples(row["message"]) for rows in messages.values() for row in rows]
    assert max(len(a & b) / len(a | b) for a, b in combinations(triples, 2)) < 0.2


def test_spans_lie_within_their_message_and_do_not_cross(messages: dict[str, list[dict[str, Any]]]) -> None:
    for row in (row for rows in messages.values() for row in rows):
        for start, end, label in row["spans"]:
            assert label in {"symptom", "body", "medication", "time"}
            marked = row["message"][start:end]
            assert marked
            assert marked == marked.strip()
        for (a, b, _), (c, d, _) in combinations(sorted(row["spans"]), 2):
            assert b <= c or d <= b or a == c, "two spans overlap without one holding the other"


def test_the_demo_config_names_files_that_are_there() -> None:
    for task in read_experiment(CONFIG).tasks.values():
        assert all((FOLDER / str(file)).is_file() for file in (task.train, task.dev, task.test))
