"""What tokenized rows cost in memory, which is what a run holds of its training rows."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Callable

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers

from weft.data.records import Input
from weft.spec import parse
from weft.tasks import Task
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import Tokenizer

ROWS, WORDS = 200, 96  # of 128 tokens
ROOTS = [first + second + third for first in "bdfg" for second in "aeiou" for third in "lmnp"]
ENDINGS = ["ing"]


def held(make: Callable[[], list[TokenizedExample]]) -> float:
    """Bytes per token that are still held when the examples are made."""
    make()  # what is learned once about the tokenizer does not count
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tokenized = make()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / sum(example.tokens for example in tokenized)


@pytest.fixture
def tokenizer() -> Tokenizer:
    """Words of one or two pieces, with ids as high as those of real vocabularies."""
    pieces = ["[UNK]", *ROOTS, *(f"##{ending}" for ending in ENDINGS)]
    vocabulary = {piece: number + 1000 for number, piece in enumerate(pieces)}
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return Tokenizer(backend)


@pytest.mark.parametrize(("kind", "most"), [("classification", 8.0), ("pair_classification", 9.0), ("tagging", 24.0)])
def test_a_tokenized_row_holds_few_bytes_per_token(kind: str, most: float, tokenizer: Tokenizer) -> None:
    rng = random.Random(3)
    words = [root + ending for root in ROOTS for ending in ("", "", *ENDINGS)]
    texts = [" ".join(rng.choices(words, k=WORDS)) for _ in range(ROWS)]
    inputs = [Input((text, text) if "pair" in kind else (text,)) for text in texts]
    task = parse(Task, {"kind": kind})
    assert held(lambda: task.encode(inputs, tokenizer, 512)) <= most
