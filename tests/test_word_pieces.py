"""Word pieces by likelihood: each is the one that trying all of them finds, and they make an ordinary vocabulary."""

from __future__ import annotations

import doctest
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import models, trainers

from weft.corpus.subwords import SPECIAL, LikelyWordPiece
from weft.corpus.vocabulary import learn_vocabulary, read_texts, save_vocabulary
from weft.corpus.vocabulary_stats import segment_word
from weft.corpus.word_pieces import increase, joinable, likeliest_pieces
from weft.errors import ConfigError
from weft.tokenization.tokenizer import Tokenizer

TEXT = (Path(__file__).parent.parent / "docs" / "word_pieces.md").read_text(encoding="utf-8")
PAGE: dict[str, Any] = {}  # what the page defines: every join is tried, and the likelihood computed before and after
exec("\n".join(re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)), PAGE)

EXAMPLE = {"low": 5, "lowest": 2, "newer": 6, "wider": 3, "new": 2}
Words = dict[str, list[str]]
Run = Callable[..., tuple[int, str, str]]
counted_words = st.dictionaries(st.text("abc", min_size=1, max_size=9), st.integers(1, 30), min_size=1, max_size=8)


def letters_of(counts: dict[str, int]) -> Words:
    return {word: PAGE["letters"](word) for word in counts}


def together(words: Words, counts: dict[str, int]) -> Counter[tuple[str, str]]:
    """How many joins each pair allows, by joining."""
    pairs = {pair for pieces in words.values() for pair in pairwise(pieces)}
    found: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        for word, pieces in words.items():
            found[pair] += counts[word] * (len(pieces) - len(PAGE["join"](pieces, pair)))
    return found


def follow(counts: dict[str, int], min_frequency: int = 1) -> list[dict[str, Any]]:
    """Each step of the page, which tries everything, along the pieces that were learned."""
    words, steps = letters_of(counts), []
    for piece in likeliest_pieces(counts, min_frequency):
        allowed = together(words, counts)
        tried = {pair: gain for pair, gain in PAGE["try_all"](words, counts).items() if allowed[pair] >= min_frequency}
        pair = next(pair for pair in tried if PAGE["spell"](pair) == piece)
        steps.append({"pair": pair, "tried": tried, "together": allowed[pair], "piece": piece})
        words = {word: PAGE["join"](pieces, pair) for word, pieces in words.items()}
        steps[-1]["after"] = PAGE["log_likelihood"](words, counts)
    allowed = together(words, counts)
    left = {pair: gain for pair, gain in PAGE["try_all"](words, counts).items() if allowed[pair] >= min_frequency}
    assert all(gain < 1e-6 for gain in left.values()), "it ended where a join would have raised the likelihood"
    return steps


# The page


def test_what_the_page_shows_is_true() -> None:
    shown = "".join(re.findall(r"^```pycon\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE))
    examples = doctest.DocTestParser().get_doctest(shown, dict(PAGE), "word_pieces.md", None, None)
    found = doctest.DocTestRunner().run(examples)
    assert found.attempted == 14
    assert found.failed == 0


def test_the_table_of_all_first_joins_is_true() -> None:
    words = letters_of(EXAMPLE)
    pieces, joins = PAGE["count_pieces"](words, EXAMPLE), together(words, EXAMPLE)
    rows = []
    for (a, b), gain in sorted(PAGE["try_all"](words, EXAMPLE).items(), key=lambda item: -round(item[1], 9)):
        m, quotient = joins[a, b], joins[a, b] / pieces[a] / pieces[b]
        counts = f"{m} | {pieces[a]} | {pieces[b]}"
        rows.append(f"| `{a}` `{b}` | {counts} | {gain:.2f} | {m * math.log(quotient * 78):.2f} | {quotient:.3f} |\n")
    assert len(rows) == 11
    assert "".join(rows) in TEXT


def test_the_table_of_all_steps_is_true() -> None:
    rows = []
    for number, step in enumerate(follow(EXAMPLE), 1):
        gain, after = step["tried"][step["pair"]], step["after"]
        rows.append(f"| {number} | `{step['piece']}` | {step['together']} | {gain:.2f} | {after:.2f} |\n")
    assert len(rows) == 12
    assert "".join(rows) in TEXT


# Against trying everything


def test_every_step_of_the_eighteen_words_is_the_best_of_all_joins() -> None:
    steps = follow(EXAMPLE)
    for step in steps:
        assert step["tried"][step["pair"]] == pytest.approx(max(step["tried"].values()))
    learned = [step["piece"] for step in steps]
    assert learned == PAGE["learn_pieces"](EXAMPLE, 99)
    assert {"low", "lowest", "newer", "wider", "new"} <= set(learned)


@settings(max_examples=150)
@given(counted_words, st.integers(1, 4))
@example({"aaaa": 3, "aaa": 2, "aa": 1}, 1)
@example({"baaaab": 3, "caaac": 7, "aaaaaaaaa": 5}, 2)
@example({"aab": 1, "aba": 1}, 1)
@example({"abcabc": 7, "bcabca": 7, "cab": 3}, 3)
def test_every_piece_is_the_best_of_all_joins_and_the_first_of_equals(counts: dict[str, int], rare: int) -> None:
    for step in follow(counts, rare):
        highest = max(step["tried"].values())
        assert highest > 0
        equal = [pair for pair, gain in step["tried"].items() if gain > highest - 1e-6]
        assert step["pair"] in equal
        exact = [pair for pair, gain in step["tried"].items() if gain > highest - 1e-10]
        if len(exact) == len(equal):
            assert step["pair"] == min(equal)


@settings(max_examples=60)
@given(counted_words, st.randoms(use_true_random=False))
def test_the_order_of_the_words_changes_nothing(counts: dict[str, int], rng: random.Random) -> None:
    shuffled = list(counts.items())
    rng.shuffle(shuffled)
    assert list(likeliest_pieces(dict(shuffled))) == list(likeliest_pieces(counts))


@settings(max_examples=100)
@given(counted_words)
@example({"aabaab": 3, "abaaba": 3, "baabaa": 5})
def test_no_piece_is_learned_twice(counts: dict[str, int]) -> None:
    learned = list(likeliest_pieces(counts))
    assert len(set(learned)) == len(learned)
    assert not set(learned) & {letter for pieces in letters_of(counts).values() for letter in pieces}


def test_bounds_stay_exact_over_hundreds_of_joins() -> None:
    """Words enough that many pairs wait for long, and that the table of pairs grows and is used again."""
    rng = random.Random(3)
    parts = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(1, 4))) for _ in range(60)]
    counts = {"".join(rng.choices(parts, k=rng.randint(1, 4))): int(rng.paretovariate(0.7)) for _ in range(1500)}
    learned = list(islice(likeliest_pieces(counts, 2), 700))
    words, pairs = letters_of(counts), {}
    for step, piece in enumerate(learned):
        pieces, joins = PAGE["count_pieces"](words, counts), Counter[tuple[str, str]]()
        for word, cut in words.items():
            for pair in joinable(cut):  # type: ignore[arg-type]  # spellings instead of numbers
                joins[pair] += counts[word]  # type: ignore[index]
        pairs = {pair: m for pair, m in joins.items() if m >= 2}
        best = next(pair for pair in pairs if PAGE["spell"](pair) == piece)
        if step % 7 == 0:
            total = pieces.total()
            gains = {(a, b): float(increase(m, pieces[a], pieces[b], total, a == b)) for (a, b), m in pairs.items()}
            assert gains[best] == pytest.approx(max(gains.values()), rel=1e-8)
        words = {word: PAGE["join"](cut, best) for word, cut in words.items()}
    assert len(learned) == 700


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 10**6), st.booleans())
def test_the_increase_is_the_difference_of_two_likelihoods(
    joins: int, more: int, others: int, rest: int, same: bool
) -> None:
    def f(x: float) -> float:
        return x * math.log(x) if x else 0.0

    if same:
        first = second = 2 * joins + more
        total = first + rest
        before, after = f(first), f(first - 2 * joins) + f(joins)
    else:
        first, second = joins + more, joins + others
        total = first + second + rest
        before, after = f(first) + f(second), f(first - joins) + f(second - joins) + f(joins)
    expected = (after - f(total - joins)) - (before - f(total))
    assert float(increase(joins, first, second, total, same)) == pytest.approx(expected, abs=1e-6)


def test_large_counts_are_told_apart() -> None:
    """A pair of a hundred among a thousand million: plain differences of x log x would be off by far more."""
    close = [float(increase(100, 1000, second, 10**15, False)) for second in (2000, 2001)]
    assert close[0] - close[1] == pytest.approx(100 * math.log(2001 / 2000), rel=0.06)


def test_of_equal_letters_in_a_row_only_those_that_can_be_joined_count() -> None:
    assert list(joinable([1, 1, 1])) == [(1, 1)]
    assert list(joinable([1, 1, 1, 1, 2, 2])) == [(1, 1), (1, 1), (1, 2), (2, 2)]
    assert list(joinable([3])) == list(joinable([])) == []


def test_words_without_pairs_give_no_pieces() -> None:
    assert list(likeliest_pieces({})) == list(likeliest_pieces({"a": 3})) == list(likeliest_pieces({"ab": 0})) == []


# The vocabulary


def invented_texts() -> list[str]:
    """Sentences of made-up words with common endings, accents, capitals, marks and other scripts."""
    rng = random.Random(5)
    roots = ["".join(rng.choices("abdeéghilmnoöprstuñ", k=rng.randint(2, 6))) for _ in range(150)]
    endings = ["", "s", "ed", "ing", "Er", "est", "ness", "-to", "\u0301x"]
    marks = [".", "!", ", 日本語", " — don't", "\u00a042", " \x07a\x85b", "\tτέλος ΤΕΛΟΣ", "  " + "long" * 60]
    return [" ".join(rng.choice(roots) + rng.choice(endings) for _ in range(8)) + rng.choice(marks) for _ in range(300)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "texts.txt"
    path.write_text("\n".join(invented_texts()) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("lowercase", "strip"), [(True, True), (True, False), (False, False)])
def test_words_are_counted_as_the_library_splits_texts(corpus: Path, lowercase: bool, strip: bool) -> None:
    learner = LikelyWordPiece(lowercase, strip)
    counted = learner.count_words(read_texts(corpus, "text"))
    split = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    split.normalizer, split.pre_tokenizer = learner.normalizer, learner.short_words()
    split.train_from_iterator(
        read_texts(corpus, "text"), trainers.WordLevelTrainer(vocab_size=10**6, show_progress=False)
    )
    expected = Counter(
        token for text in read_texts(corpus, "text") for token in split.encode(text, add_special_tokens=False).tokens
    )
    assert counted == expected
    assert max(map(len, counted)) == 100


def test_the_vocabulary_has_the_same_beginning_and_the_pieces_in_the_order_they_were_chosen(corpus: Path) -> None:
    made = learn_vocabulary([corpus], "wordpiece", 400, criterion="likelihood")
    vocabulary = made.backend.get_vocab()
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    counts = LikelyWordPiece(True, True).count_words(read_texts(corpus, "text"))
    plain = learn_vocabulary([corpus], "wordpiece", 400).backend
    assert pieces[:5] == list(SPECIAL)
    beginning = next(place for place, piece in enumerate(pieces[5:], 5) if len(piece.removeprefix("##")) > 1)
    assert [plain.id_to_token(place) for place in range(beginning)] == pieces[:beginning]
    assert pieces[beginning:] == list(islice(likeliest_pieces(counts, 2), 400 - beginning))
    assert vocabulary != plain.get_vocab()
    rest = [json.loads(backend.to_str()) for backend in (made.backend, plain)]
    for document in rest:
        document["model"].pop("vocab")
    assert rest[0] == rest[1]


def test_transformers_reads_the_folder_alike(corpus: Path, tmp_path: Path) -> None:
    made = learn_vocabulary([corpus], "wordpiece", 500, criterion="likelihood")
    save_vocabulary(made, tmp_path / "pieces")
    theirs: Any = transformers.AutoTokenizer.from_pretrained(tmp_path / "pieces")
    texts = [*invented_texts()[:30], "", "unseen ж [MASK]"]
    rows = Tokenizer.from_folder(tmp_path / "pieces").encode(texts, max_length=10**6)
    assert [row.ids.tolist() for row in rows] == theirs(texts)["input_ids"]
    lines = (tmp_path / "pieces" / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    assert {line: place for place, line in enumerate(lines)} == made.backend.get_vocab()


def test_pairs_below_the_minimum_frequency_are_not_joined(tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("xyz\n" * 3 + "uvw\n" * 4)
    made = learn_vocabulary([file], "wordpiece", 300, criterion="likelihood", min_frequency=4).backend.get_vocab()
    assert "uvw" in made
    assert not {"xy", "xyz", "##yz"} & made.keys()


PRINT = """
import hashlib, sys
from pathlib import Path
from weft.corpus.vocabulary import learn_vocabulary
backend = learn_vocabulary([Path(sys.argv[1])], "wordpiece", 450, criterion="likelihood").backend
print(hashlib.sha256(backend.to_str().encode()).hexdigest())
"""


def test_the_same_file_gives_the_same_vocabulary_in_every_process(corpus: Path) -> None:
    backend = learn_vocabulary([corpus], "wordpiece", 450, criterion="likelihood").backend
    here = hashlib.sha256(backend.to_str().encode()).hexdigest()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PRINT, str(corpus)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.stdout.strip() == here


def test_progress_sees_every_piece(corpus: Path) -> None:
    seen: list[tuple[int, list[str]]] = []

    def choosing(pieces: Any, most: int) -> Any:
        seen.append((most, list(pieces)))
        return seen[-1][1]

    made = learn_vocabulary([corpus], "wordpiece", 300, criterion="likelihood", choosing=choosing)
    [(most, pieces)] = seen
    assert len(pieces) == most
    assert made.backend.id_to_token(299) == pieces[-1]
    learn_vocabulary([corpus], "wordpiece", 300, choosing=choosing)
    assert len(seen) == 1


def test_impossible_choices_are_named(corpus: Path) -> None:
    for kind in ("bpe", "unigram"):
        with pytest.raises(ConfigError, match=f"criterion 'likelihood' is for wordpiece, not {kind}, .*; leave it"):
            learn_vocabulary([corpus], kind, 300, criterion="likelihood")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="criterion 'ratio' is not one of: count, likelihood"):
        learn_vocabulary([corpus], "wordpiece", 300, criterion="ratio")  # type: ignore[arg-type]


# The command


def test_the_command_learns_by_likelihood_and_says_so(run_weft: Run, corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "pieces"
    options = ["--criterion", "likelihood", "--size", 400, "--output", target, "--show", "aber"]
    code, out, err = run_weft("vocab", corpus, *options)
    expected = learn_vocabulary([corpus], "wordpiece", 400, criterion="likelihood")
    assert code == 0, err
    assert Tokenizer.from_folder(target).backend.to_str() == expected.backend.to_str()
    assert "wordpiece, by likelihood" in out
    assert "tokens per word" in out
    assert " ".join(segment_word(expected, "aber")) in out


def test_fewer_pieces_than_asked_for_have_a_reason(run_weft: Run, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("secretword otherword\n" * 5)
    code, out, err = run_weft("vocab", tmp_path / "t.txt", "--criterion", "likelihood", "-o", tmp_path / "pieces")
    assert code == 0
    assert "of 30,000 asked for" in out
    assert "no more that occur 2 times and make them likelier" in " ".join(err.split())
    assert "secret" not in out + err


def test_the_command_refuses_a_criterion_with_another_kind(run_weft: Run, corpus: Path, tmp_path: Path) -> None:
    options = ["--kind", "bpe", "--criterion", "likelihood", "-o", tmp_path / "new"]
    code, _, err = run_weft("vocab", corpus, *options)
    assert code == 1
    assert "is for wordpiece" in " ".join(err.split())
    assert not (tmp_path / "new").exists()
