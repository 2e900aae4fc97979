"""From files to examples, and from the options of a task to what it does with them: each with its exact result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from checking import check, read_measured
from weft.checkpoints.hf import read_encoder
from weft.checkpoints.safetensors import read_file, write_tensors
from weft.checkpoints.source import find_folder
from weft.config.document import parse_experiment
from weft.corpus.loading import CorpusLoader
from weft.corpus.masking import Masked, Unigrams, mask_spans, mask_tokens, mask_words
from weft.data.dataset import Splits
from weft.data.formats import write_rows
from weft.data.records import Example, Input
from weft.data.splits import split_off, subsample
from weft.data.unicode import normalise
from weft.errors import DataError
from weft.layers.spans import SpanFeatures
from weft.losses.binary import Binary
from weft.losses.cross_entropy import CrossEntropy
from weft.spec import parse
from weft.targets.label import LabelTarget
from weft.targets.labels import FittedLabels, LabelsTarget
from weft.targets.score import ScoreTarget
from weft.targets.spans import SpansTarget
from weft.targets.tags import BioTarget, FittedTags, TagOptions
from weft.tasks import Task
from weft.tasks.base.corpus import MaskedTask, UnmaskedRow
from weft.tokenization.tokenizer import Tokenizer
from weft.training.reading import read_examples
from weft.training.task_data import Fold, load_data

PLAIN = {"kind": "classification", "train": "rows.csv"}


def write_csv(path: Path, rows: Sequence[Sequence[Any]], header: Sequence[str] = ("text", "label")) -> None:
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in (header, *rows)), encoding="utf-8")


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def load(folder: Path, seed: int = 13, **task: Any) -> Splits:
    """The rows of one task of `rows.csv`."""
    return load_data({"t": parse(Task, {**PLAIN, **task})}, folder, seed)["t"]


def lines(rows: Sequence[Example]) -> list[int]:
    return [row.line for row in rows]


ROWS = [(f"text number {number}", "abab"[number % 4] if number % 5 else "c") for number in range(40)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`rows.csv` of 40 texts with three labels, `dev.csv` and `test.csv`."""
    write_csv(tmp_path / "rows.csv", ROWS)
    write_csv(tmp_path / "dev.csv", [("dev text", "a"), ("another", "c")])
    write_csv(tmp_path / "test.csv", [("test text", "b")])
    return tmp_path


# splits


@pytest.mark.parametrize("seed", [1, 2, 13])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_the_rows_set_aside_follow_from_share_and_seed_and_nobody_learns_from_them(
    folder: Path, seed: int, share: float
) -> None:
    splits = load(folder, seed, dev=share)
    _, held_out = split_off([normalise(text) for text, _ in ROWS], [label for _, label in ROWS], share, seed)
    assert lines(splits.dev) == [place + 2 for place in held_out]
    assert sorted(lines(splits.dev) + lines(splits.train)) == list(range(2, 42))
    assert (list(splits.test), splits.report) == ([], ("dev", splits.dev))


def test_tasks_that_set_other_shares_of_one_file_aside_each_get_their_own(folder: Path) -> None:
    shares = {"few": 0.2, "half": 0.5}
    found = load_data({name: parse(Task, {**PLAIN, "dev": share}) for name, share in shares.items()}, folder, 1)
    assert {name: len(one.dev) for name, one in found.items()} == {"few": 8, "half": 20}


def test_files_of_their_own_are_chosen_by_and_reported_on(folder: Path) -> None:
    splits = load(folder, dev="dev.csv", test="test.csv")
    assert [row.texts for row in splits.dev] == [("dev text",), ("another",)]
    assert [row.texts for row in splits.test] == [("test text",)]
    assert lines(splits.train) == list(range(2, 42))
    assert splits.report == ("test", splits.test)


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"fraction": 0.25}, 10),
        ({"limit": 7}, 7),
        ({"limit": 700}, 40),
        ({"fraction": 0.25, "limit": 7}, 7),
        ({"fraction": 0.25, "limit": 30}, 10),
    ],
)
@pytest.mark.parametrize("seed", [1, 13])
def test_fraction_and_limit_take_the_smaller_sample_by_label_and_seed(
    folder: Path, options: dict[str, Any], size: int, seed: int
) -> None:
    splits = load(folder, seed, dev="dev.csv", **options)
    expected = subsample([label for _, label in ROWS], size, seed)
    assert lines(splits.train) == [place + 2 for place in expected]


def test_a_limit_of_test_rows_keeps_the_shares_of_labels_and_the_same_rows_for_every_seed(folder: Path) -> None:
    write_csv(folder / "test.csv", ROWS)
    whole, few = load(folder, test="test.csv"), load(folder, test="test.csv", test_limit=10)
    assert lines(few.test) == lines(load(folder, seed=2, test="test.csv", test_limit=10).test)
    assert Counter(row.gold for row in few.test) == {"a": 4, "b": 4, "c": 2}
    assert set(lines(few.test)) < set(lines(whole.test))
    assert len(whole.test) == 40
    assert lines(few.train) == lines(whole.train)
    assert lines(load(folder, test="test.csv", test_limit=41).test) == lines(whole.test)


def test_a_limit_of_test_rows_leaves_folds_whole(folder: Path) -> None:
    tasks = {"t": parse(Task, {**PLAIN, "test_limit": 1})}
    assert sum(len(load_data(tasks, folder, 1, Fold(4, index))["t"].test) for index in range(4)) == len(ROWS)


def test_what_a_split_keeps_in_proportion() -> None:
    assert LabelTarget().stratum("yes") == "yes"
    assert LabelsTarget().stratum(("a", "b")) == ("a", "b")
    assert [ScoreTarget().stratum(score) for score in (0.0, 0.2, 0.3, 2.4, 2.6)] == [0, 0, 1, 5, 5]
    spans = SpansTarget()
    assert spans.stratum(((0, 2, "x"),)) == spans.stratum(((3, 4, "y"), (5, 6, "x"))) != spans.stratum(())


def test_labels_that_only_dev_or_only_test_have_are_refused(folder: Path) -> None:
    for part in ("dev", "test"):
        write_csv(folder / "odd.csv", [("odd text", "zebra")])
        with pytest.raises(
            DataError, match=rf"tasks.t.{part}: .*line 2: label \(of 5 characters\) never occurs in training"
        ):
            load(folder, **{"dev": "dev.csv", part: "odd.csv"})


# rows


def test_rows_without_an_answer_are_passed_over_and_the_others_keep_their_lines(tmp_path: Path) -> None:
    rows = [{"text": "a", "label": "x"}, {"text": "b"}, {"text": "c", "label": None}, {"text": "d", "label": " "}]
    path = write_jsonl(tmp_path / "rows.jsonl", [*rows, {"text": "e", "label": 7}])
    found = read_examples(parse(Task, PLAIN), path)
    assert [(row.texts, row.gold, row.line) for row in found] == [(("a",), "x", 1), (("e",), "7", 5)]
    write_csv(tmp_path / "rows.csv", [("a", "x"), ("b", ""), ("c", "y")])
    for read in (read_examples, read_measured):
        assert lines(read(parse(Task, PLAIN), tmp_path / "rows.csv")) == [2, 4]


def test_half_a_character_in_a_text_or_a_word_is_named_by_its_line(tmp_path: Path) -> None:
    half = '{"text": "a\\ud800", "tokens": ["b\\ud800"], "tags": ["O"], "label": "x"}\n'
    (tmp_path / "rows.jsonl").write_text('{"text": "a", "tokens": ["b"], "tags": ["O"], "label": "y"}\n' + half)
    for kind in ("classification", "tagging"):
        with pytest.raises(DataError, match=r"rows\.jsonl, line 2.*half a character"):
            read_examples(parse(Task, {"kind": kind}), tmp_path / "rows.jsonl")


def test_answers_are_written_in_their_own_letters(tmp_path: Path) -> None:
    assert write_rows(tmp_path / "a.jsonl", [{"text": "café ✓", "a": {"b": [1]}}, {"text": "", "a": {}}]) == 2
    text = (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    assert text == '{"text": "café ✓", "a": {"b": [1]}}\n{"text": "", "a": {}}\n'
    write_rows(tmp_path / "a.csv", [{"text": "café", "a": {"b": ["ü"], "c": 1}}])
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines() == ["text,a.b,a.c", 'café,"[""ü""]",1']


# options of tasks


def test_several_labels_are_divided_as_asked_trimmed_and_each_counted_once() -> None:
    task = parse(Task, {"kind": "classification", "multilabel": True, "separator": ";", "labels": ["c", "a|x", "b"]})
    row = Input(("text",))
    assert task.target().read(" a|x ;b; a|x", row, "label") == ("a|x", "b")
    assert task.target().read(["b", "c"], row, "label") == ("b", "c")
    assert [task.target().read(cell, row, "label") for cell in (";", [], " ")] == [(), (), None]
    target = task.target().fit([("b",), ("a|x", "b")])
    assert isinstance(target, FittedLabels)
    assert target.labels == ("c", "a|x", "b")
    assert (task.target().default_loss, task.target().default_metric) == (Binary(), "f1_micro")
    one = parse(Task, {"kind": "classification", "labels": ["z", "y"]})
    assert one.target().read(" z ", row, "label") == "z"
    assert one.target().fit(["y"]).labels == ("z", "y")
    assert (one.target().default_loss, one.target().default_metric) == (CrossEntropy(), "f1_macro")


def test_scores_have_the_column_scale_and_output_asked_for() -> None:
    task = parse(Task, {"kind": "similarity", "score": "how", "scale": [0, 5], "output": "cosine"})
    assert (task.gold_column(), task.siamese) == ("how", True)
    target = task.target().fit([1.0, 2.0])
    assert target == ScoreTarget(scale=(0.0, 5.0), activation="cosine").fit([1.0, 2.0])
    free = parse(Task, {"kind": "similarity", "output": "sigmoid"}).target().fit([1.0, 2.0])
    assert free == ScoreTarget(scale=None, activation="sigmoid").fit([1.0, 2.0])
    assert free.to_dict() != target.to_dict()


TAGS = [((0, 1, "x"),), ((0, 1, "y"), (2, 3, "x"))]


def test_taggers_and_span_finders_hand_their_options_to_what_answers() -> None:
    options = {"decoder": "greedy", "subwords": "first", "subword_pooling": "combined", "labels": ["y", "x"]}
    tags = parse(Task, {"kind": "tagging", **options}).target().fit(TAGS)
    expected = BioTarget(labels=("y", "x"), options=TagOptions("greedy", "first", "combined")).fit(TAGS)
    assert tags == expected
    assert tags != parse(Task, {"kind": "tagging"}).target().fit(TAGS)
    assert type(parse(Task, {"kind": "tagging", "scheme": "plain"}).target().fit(TAGS)) is FittedTags
    spans = parse(Task, {"kind": "spans", "max_width": 3, "flat": True, "negatives": 2.5}).target().fit(TAGS)
    assert spans == SpansTarget(max_width=3, flat=True, negatives=2.5).fit(TAGS)


@pytest.mark.parametrize("ends", ["plain", "networks"])
@pytest.mark.parametrize("content", ["mean", "attention", "none"])
def test_a_span_finder_reads_what_it_was_asked_to_read(ends: str, content: str) -> None:
    options = {"ends": ends, "content": content, "size": 5, "max_width": 3}
    reader = parse(Task, {"kind": "spans", **options}).build_features(8)
    expected = SpanFeatures(8, 5, 3, ends, content)  # type: ignore[arg-type]
    assert {name: one.shape for name, one in reader.state_dict().items()} == {
        name: one.shape for name, one in expected.state_dict().items()
    }


def test_marks_that_overlap_are_refused_only_where_an_answer_cannot_say_them() -> None:
    content, cell = Input(("the quick fox",)), [[0, 9, "x"], [4, 9, "y"]]
    assert parse(Task, {"kind": "spans"}).target().read(cell, content, "spans") == ((0, 9, "x"), (4, 9, "y"))
    for task in ({"kind": "spans", "flat": True}, {"kind": "tagging"}):
        with pytest.raises(ValueError, match="overlap"):
            parse(Task, task).target().read(cell, content, "spans")


def test_repair_mends_marks_only_where_asked() -> None:
    content, cell = Input(("the quick fox",)), [[3, 0, "x"], [0, 99, "y"]]
    assert parse(Task, {"kind": "spans"}).target().repair(cell, content, "spans") == (cell, Counter())
    repairs, counts = parse(Task, {"kind": "spans", "repair": True}).target().repair(cell, content, "spans")
    assert (repairs, counts.total()) == ([[0, 3, "x"], [0, 13, "y"]], 2)
    flat, _ = parse(Task, {"kind": "tagging", "repair": True}).target().repair(cell, content, "spans")
    assert flat == [[0, 13, "y"]]


def test_words_and_their_answers_are_in_the_first_column_that_is_there() -> None:
    task = parse(Task, {"kind": "spans", "tokens": "w", "text": "t", "tags": "g", "entities": "e", "spans": "s"})
    assert (task.text_columns(["w", "t"]), task.text_columns(["t"])) == (("w",), ("t",))
    assert [task.gold_column(["w", *rest]) for rest in ("seg", "se", "s", "")] == ["g", "e", "s", "g"]
    assert [task.gold_column(["t", *rest]) for rest in ("seg", "sg", "g", "")] == ["e", "s", "g", "s"]


@pytest.mark.parametrize(("overlap", "rows"), [(0, 3), (4, 5)])
def test_long_texts_are_read_in_windows_that_overlap_as_asked(
    tiny_tokenizers: dict[str, Tokenizer], overlap: int, rows: int
) -> None:
    task = parse(Task, {"kind": "spans", "stride": overlap})
    (tokenized_example,) = task.encode([Input((" ".join(["fox"] * 24),))], tiny_tokenizers["wordpiece"], 10)
    assert len(tokenized_example.rows) == rows  # windows of 8 words: 3 side by side, or one more for every 4 words
    assert len(tokenized_example.by_word) == 24


@pytest.mark.parametrize("encode", ["cross", "siamese"])
@pytest.mark.parametrize("kept", ["head", "tail", "head_tail"])
def test_the_part_that_stays_of_a_pair_is_the_part_asked_for(
    tiny_tokenizers: dict[str, Tokenizer], encode: str, kept: Any
) -> None:
    task = parse(Task, {"kind": "pair_classification", "encode": encode, "truncation": kept})
    tokenizer, pair = tiny_tokenizers["wordpiece"], ("the " * 9 + "fox " * 9, "lazy " * 9 + "dog " * 9)
    (tokenized_example,) = task.encode([Input(pair)], tokenizer, 11)
    whole: list[Any] = [pair] if encode == "cross" else list(pair)
    expected = tokenizer.encode(whole, max_length=11, truncation=kept)
    for row, whole_row in zip(tokenized_example.rows, expected, strict=True):
        assert row.ids.tolist() == whole_row.ids.tolist()
        assert np.array_equal(row.segments, whole_row.segments)


# masked words


@pytest.fixture
def line() -> UnmaskedRow:
    """Forty words of one or two tokens between two special ones."""
    words = np.repeat(np.arange(40), [1, 2] * 20)
    special = np.zeros(len(words) + 2, bool)
    special[[0, -1]] = True
    return UnmaskedRow(np.arange(len(special)) + 10, special, np.concatenate([[-1], words, [-1]]))


def assert_same(found: Masked, expected: Masked) -> None:
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), value)


def test_hidden_words_are_chosen_by_the_share_and_the_whole_words_asked_for(line: UnmaskedRow) -> None:
    unigrams = Unigrams.from_counts(np.ones(100, np.int64))
    for share in (0.15, 0.4):
        for whole in (False, True):
            task = parse(Task, {"kind": "masked_words", "mlm_probability": share, "whole_word_masking": whole})
            assert isinstance(task, MaskedTask)
            found = task.mask_row(line, 4, unigrams, np.random.default_rng(3))
            rng = np.random.default_rng(3)
            plain = (4, unigrams, rng, share)
            expected = (
                mask_words(line.ids, line.special, line.word_of, *plain, minimum=0)
                if whole
                else mask_tokens(line.ids, line.special, *plain, minimum=0)
            )
            assert_same(found, expected)


@pytest.mark.parametrize("options", [{}, {"mlm_probability": 0.5}, {"p": 0.9}, {"longest": 2, "p": 0.05}])
def test_hidden_spans_follow_the_law_asked_for(line: UnmaskedRow, options: dict[str, Any]) -> None:
    unigrams = Unigrams.from_counts(np.ones(100, np.int64))
    law = {"mlm_probability": 0.15, "p": 0.2, "longest": 10, **options}
    law["share"] = law.pop("mlm_probability")
    task = parse(Task, {"kind": "span_boundary", **options})
    assert isinstance(task, MaskedTask)
    for seed in range(4):
        found = task.mask_row(line, 4, unigrams, np.random.default_rng(seed))
        rest = (np.zeros_like(line.ids), 4, unigrams, np.random.default_rng(seed))
        assert_same(found, mask_spans(line.ids, line.special, line.word_of, *rest, **law, minimum=0))


def test_of_a_text_with_a_mask_the_part_asked_for_stays(tiny_tokenizers: dict[str, Tokenizer]) -> None:
    tokenizer = tiny_tokenizers["wordpiece"]
    content = Input(("the " * 9 + "[MASK] " + "fox " * 9,))
    for kept, places in (("head", 0), ("tail", 0)):
        task = parse(Task, {"kind": "masked_words", "truncation": kept})
        (tokenized_example,) = task.encode([content], tokenizer, 8)
        assert tokenized_example.masked is not None
        assert len(tokenized_example.masked.positions) == places
        word = tokenizer.encode(["the" if kept == "head" else "fox"], max_length=9)[0].ids[1]
        assert set(tokenized_example.rows[0].ids[1:-1]) == {word}


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram"])
def test_a_mask_is_written_the_same_way_for_every_tokenizer(tiny_tokenizers: dict[str, Tokenizer], kind: str) -> None:
    tokenizer = tiny_tokenizers[kind]
    (tokenized_example,) = parse(Task, "masked_words").encode([Input(("the [MASK] fox [MASK]",))], tokenizer, 30)
    assert tokenized_example.masked is not None
    assert [tokenized_example.rows[0].ids[place] for place in tokenized_example.masked.positions] == [
        tokenizer.mask_id
    ] * 2


# raw text


SENTENCE = "the quick fox jumps over the lazy dog"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """`train.txt` of 40 documents of two sentences, and `test.txt` of two."""
    blocks = [f"{SENTENCE}\n{SENTENCE}"] * 40
    (tmp_path / "train.txt").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    (tmp_path / "test.txt").write_text("\n\n".join(blocks[:2]) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def reader(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> CorpusLoader:
    return CorpusLoader(tiny_tokenizers["wordpiece"], 64, tmp_path / "cache")


def corpus_splits(reader: CorpusLoader, corpus: Path, seed: int = 1, **options: Any) -> Splits:
    task = parse(Task, {"kind": "masked_words", "train": "train.txt", "dev": 0.25, **options})
    return task.load(reader, corpus, seed)


def test_a_corpus_gives_as_many_rows_as_asked_evenly_spread(reader: CorpusLoader, corpus: Path) -> None:
    whole = corpus_splits(reader, corpus)
    assert (len(whole.train), len(whole.dev), len(whole.test)) == (30, 10, 0)
    few = corpus_splits(reader, corpus, limit=6)
    assert lines(few.train) == lines(whole.train)[::5]
    assert len(corpus_splits(reader, corpus, fraction=0.5).train) == 15
    assert len(corpus_splits(reader, corpus, fraction=0.5, limit=4).train) == 4
    assert len(few.dev) == 10
    assert len(corpus_splits(reader, corpus, test="test.txt").test) == 2
    pairs = corpus_splits(reader, corpus, kind="next_sentence", limit=5)
    assert len(pairs.train) == 5


def test_rows_of_a_corpus_are_no_longer_than_asked(reader: CorpusLoader, corpus: Path) -> None:
    specials = 2
    for limit, longest in ((12, 12), (900, 64)):
        splits = corpus_splits(reader, corpus, max_length=limit, documents="file", dev="test.txt")
        sizes = [len(row.tokens.ids[0]) + specials for row in splits.train if row.tokens is not None]
        assert max(sizes) <= longest
        assert max(sizes) > longest - 10


def test_documents_of_a_corpus_are_what_the_task_says_they_are(reader: CorpusLoader, corpus: Path) -> None:
    def rows(documents: str) -> int:
        return len(corpus_splits(reader, corpus, documents=documents, dev="test.txt").train)

    assert (rows("rows"), rows("blocks")) == (80, 40)
    assert rows("file") < 40
    write_csv(corpus / "notes.csv", [("zzz", SENTENCE)] * 6, ("text", "note"))
    task = parse(Task, {"kind": "masked_words", "text": "note", "documents": "rows"})
    found = task.rows(reader, corpus / "notes.csv")
    assert len(found) == 6
    assert all(len(one.tokens.ids[0]) > 6 for one in found if one.tokens is not None)


def drawn(rows: Any) -> list[tuple[int, ...]]:
    return [row.tokens.seed for row in rows]


def test_what_is_hidden_depends_on_seed_turn_and_row_and_in_dev_on_the_row_alone(
    reader: CorpusLoader, corpus: Path
) -> None:
    one, other = corpus_splits(reader, corpus, seed=1), corpus_splits(reader, corpus, seed=2)
    assert drawn(one.dev) == drawn(other.dev)
    train: Any = one.train
    chances = [*drawn(train), *drawn(train.epoch(1)), *drawn(other.train)]
    assert len(set(chances)) == len(chances) == 90
    assert drawn(train.epoch(0)) == drawn(train)
    pairs: Any = corpus_splits(reader, corpus, kind="next_sentence").train
    assert pairs.epoch(1).pairs.tolist() != pairs.pairs.tolist()
    assert pairs.epoch(0).pairs.tolist() == pairs.pairs.tolist()


# checkpoints


def test_a_hub_id_is_asked_for_by_its_revision_and_never_for_pickles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def download(name: str, **options: Any) -> str:
        asked.update(options, name=name)
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert find_folder("someone/encoder", "v2") == tmp_path
    assert (asked["name"], asked["revision"]) == ("someone/encoder", "v2")

    def taken(file: str) -> bool:
        return any(fnmatch(file, pattern) for pattern in asked["allow_patterns"])

    assert all(map(taken, ("config.json", "model.safetensors", "tokenizer.json", "vocab.txt")))
    assert not any(map(taken, ("pytorch_model.bin", "model.pt", "run.py", "model.onnx")))


def test_an_encoder_in_half_precision_is_loaded_in_full(tiny_folder: Path) -> None:
    path = tiny_folder / "model.safetensors"
    whole = read_file(path)
    write_tensors({name: tensor.half() for name, tensor in whole.items()}, path)
    encoder, _ = read_encoder(tiny_folder)
    assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}
    assert all(parameter.requires_grad for parameter in encoder.parameters())
    torch.testing.assert_close(
        encoder.embeddings.words.weight, whole["embeddings.word_embeddings.weight"], rtol=1e-3, atol=1e-3
    )


# checks


def findings(folder: Path, tokenizer: Tokenizer | None = None, **document: Any) -> list[str]:
    found = check(parse_experiment(document), folder, tokenizer, 64)
    return [f"{one.path}: {one.message}" for one in found if one.severity != "note"]


def test_a_rate_that_ruins_the_encoder_is_found_in_the_phase_that_sets_it(folder: Path) -> None:
    def rates(*phases: dict[str, Any], **more: Any) -> list[str]:
        found = findings(folder, tasks={"t": {**PLAIN, "dev": "dev.csv"}}, phases=list(phases), **more)
        return [one.split(":")[0] for one in found if "will ruin the encoder" in one]

    assert rates({"learning_rate": 0.01}, {"learning_rate": 1e-4}) == ["phases.0.learning_rate"]
    assert rates({}, {"learning_rate": 0.01, "train_layers": 0}) == []
    high = {"training": {"learning_rate": 0.01}}
    assert rates({}, **high) == ["training.learning_rate"]
    assert rates({"train_layers": 1}, encoder={"train_layers": 0}, **high) == ["phases.0.learning_rate"]


def test_only_spans_wider_than_the_widest_are_called_too_wide(
    tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    rows = [{"text": "the quick fox jumps", "spans": [[0, end, "x"]]} for end in (3, 9, 13)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    for max_width, wide in ((1, "lines 2, 3"), (2, "line 3"), (3, None)):
        task = {"kind": "spans", "train": "rows.jsonl", "dev": "rows.jsonl", "max_width": max_width}
        said = [
            one for one in findings(tmp_path, tiny_tokenizers["wordpiece"], tasks={"t": task}) if "max_width" in one
        ]
        assert [one.startswith(f"tasks.t.train: rows.jsonl, {wide}: ") for one in said][:1] == ([True] if wide else [])


def test_pooling_that_dilutes_what_labels_feed_is_told(folder: Path) -> None:
    def told(pooling: str | None, conditioning: Any) -> bool:
        task = {**PLAIN, "dev": "dev.csv", **({} if pooling is None else {"pooling": pooling})}
        found = findings(folder, tasks={"t": task}, conditioning=conditioning)
        return any(one.startswith("tasks.t.pooling: label attention feeds the first token") for one in found)

    assert [told(pooling, "label_attention") for pooling in (None, "cls", "mean", "max")] == [False, False, True, True]
    assert told("mean", ["task_input", "label_attention"])
    assert not told("mean", "task_input")


@pytest.mark.parametrize("slip", ["urgant", "urgnt", "urgentt", "ugrent"])
def test_a_rare_label_that_is_another_with_a_slip_is_told(tmp_path: Path, slip: str) -> None:
    labels = ["urgent"] * 20 + ["calm"] * 20 + [slip] * 2
    write_csv(tmp_path / "rows.csv", [(f"text {number}", label) for number, label in enumerate(labels)])
    said = findings(tmp_path, tasks={"t": {**PLAIN, "dev": "rows.csv"}})
    pair = f"labels that look alike: '{slip}' (2 rows) and 'urgent' (20 rows)"
    assert [one for one in said if "look alike" in one][:1] == [f"tasks.t.train: rows.csv, line 42: {pair}"]


def test_spans_that_do_not_begin_and_end_with_words_are_told(
    tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    spans = [[0, 3], [0, 2], [5, 9], [4, 9], [3, 4]]  # the second and third begin or end in a word, the last is a blank
    rows = [{"text": "the quick fox jumps", "spans": [[*span, "x"]]} for span in spans]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    task = {"kind": "spans", "train": "rows.jsonl", "dev": "rows.jsonl"}
    said = findings(tmp_path, tiny_tokenizers["wordpiece"], tasks={"t": task})
    told = [one for one in said if "not of whole words" in one]
    assert told[0].startswith("tasks.t.train: rows.jsonl, lines 2, 3, 5: 3 of 5 (60.0 %) rows have a span")
    write_jsonl(tmp_path / "rows.jsonl", rows[:2])
    said = findings(tmp_path, tiny_tokenizers["wordpiece"], tasks={"t": task})
    assert any("line 2: 1 of 2 (50.0 %) rows has a span" in one for one in said)
