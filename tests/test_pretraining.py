"""Encoders from raw text: from scratch, going on from others, beside other tasks; what cannot be learned from."""

from __future__ import annotations

import json
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.checkpoints.safetensors import read_file
from weft.cli import main as cli
from weft.config.document import parse_experiment
from weft.corpus import corpus as corpora
from weft.corpus.loading import CorpusLoader
from weft.corpus.masking import Unigrams
from weft.data.records import Example, Tokens
from weft.errors import ConfigError, DataError, EmptyTextWarning, WeftError
from weft.model.embed import load_encoder
from weft.model.folder import load_network
from weft.model.network import Network
from weft.spec import parse
from weft.tasks import Task
from weft.tasks.base.corpus import MaskedTask
from weft.tokenization.tokenizer import TokenizedRow, Tokenizer
from weft.training.interrupt import Interrupted
from weft.training.prepare import load_source
from weft.training.progress import Callback

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]
SECRET = "patientword"
SETTINGS = {"epochs": 1, "batch_size": 8, "baselines": False, "choose_from": 1}
WORDS_TASK = {"kind": "masked_words", "train": "train.txt", "dev": "dev.txt"}
NEXT_TASK = {"kind": "next_sentence", "train": "train.txt", "dev": "dev.txt"}
Run = Callable[..., tuple[int, str, str]]
Train = Callable[..., Path]


def text(documents: range, sentences: int = 5) -> str:
    """Documents of sentences that always continue in the same way: after each word comes its neighbour in the list."""
    blocks = []
    for number in documents:
        rng = random.Random(number)
        starts = [rng.randrange(len(WORDS)) for _ in range(sentences)]
        lines = [" ".join(WORDS[(start + step) % len(WORDS)] for step in range(6)) for start in starts]
        blocks.append("".join(f"{line.capitalize()}.\n" for line in lines))
    return "\n".join(blocks)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with train.txt, dev.txt, fox.csv and the vocabulary `pieces`."""
    (tmp_path / "train.txt").write_text(text(range(12)), encoding="utf-8")
    (tmp_path / "dev.txt").write_text(text(range(50, 55)), encoding="utf-8")
    rows = [f"{line},{'yes' if 'fox' in line else 'no'}" for line in text(range(80, 84)).splitlines() if line]
    (tmp_path / "fox.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `weft` and return its exit code, output and messages, which never hold a traceback or a text."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["weft", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        assert SECRET not in err
        return int(caught.value.code or 0), out, err

    return call


@pytest.fixture
def train(files: Path, small_encoder: str) -> Train:
    """Train on the files of the folder and return the model's folder."""

    def call(
        tasks: dict[str, Any], name: str = "model", callback: Callback | None = None, resume: bool = False, **parts: Any
    ) -> Path:
        given = parts.pop("training", {})
        rate = given.get("learning_rate", 1e-3)
        document = {
            "encoder": parts.pop("encoder", {"from": small_encoder}),
            "tasks": tasks,
            "training": {**SETTINGS, "learning_rate": rate, "head_learning_rate": rate, **given},
            "phases": [{}],
            **parts,
        }
        weft.train(document, files / name, data=files, device="cpu", callback=callback or Callback(), resume=resume)
        return files / name

    return call


def report(folder: Path) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    found: dict[str, Any] = json.loads((folder / "report.json").read_text(), parse_constant=refuse)
    return found


# From scratch


def scratch(**more: Any) -> dict[str, Any]:
    return {
        "scratch": {
            "tokenizer": "pieces",
            "num_hidden_layers": 2,
            "hidden_size": 32,
            "num_attention_heads": 2,
            "max_position_embeddings": 40,
            **more,
        }
    }


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_an_encoder_learns_from_nothing_with_a_vocabulary_of_its_own(
    files: Path, train: Train, command: Run, kind: str
) -> None:
    made = command("vocab", files / "train.txt", "--kind", kind, "--size", 320, "--output", files / "pieces")
    assert made[0] == 0
    settings = {"epochs": 10, "learning_rate": 2e-3, "batch_size": 4, "baselines": True}
    folder = train({"words": WORDS_TASK}, encoder=scratch(hidden_dropout_prob=0.0), training=settings)
    found = report(folder)
    result = found["tasks"]["words"]["result"]
    perplexities = [entry["scores"]["words"]["perplexity"] for entry in found["history"]]
    assert result["measures"]["scores"]["perplexity"] == pytest.approx(min(perplexities))  # by which it is chosen
    assert result["measures"]["scores"]["likelihood"] == pytest.approx(1 / min(perplexities))
    unigram = result["baselines"]["majority"]["perplexity"]  # what the head begins with
    assert min(perplexities) < perplexities[0]
    if kind != "unigram":  # whose pieces are whole words, of which these invented sentences hardly tell one by others
        assert min(perplexities) < unigram / 1.1
    assert found["encoder"]["name"] == "from scratch"
    assert (found["encoder"]["layers"], found["encoder"]["width"]) == (2, 32)
    config = load_network(folder).encoder.config
    assert (config.max_length, config.intermediate_size) == (40, 128)
    assert config.vocab_size == Tokenizer.from_folder(files / "pieces").size
    code, out, err = command("evaluate", folder, "--data", files / "dev.txt", "--json", files / "scores.json")
    assert code == 0, err
    assert json.loads((files / "scores.json").read_text())["words"] == result["measures"]["scores"]
    assert "perplexity" in out
    assert command("evaluate", folder)[0] == 0  # the files of its own config


def test_the_seed_decides_what_scratch_begins_with(files: Path, tiny_tokenizers: dict[str, Tokenizer]) -> None:
    tiny_tokenizers["wordpiece"].save(files / "pieces")

    def words(seed: int) -> torch.Tensor:
        document = {"encoder": scratch(intermediate_size=48), "tasks": {"words": WORDS_TASK}, "seed": seed}
        encoder = load_source(parse_experiment(document), files).encoder
        assert encoder.config.intermediate_size == 48
        assert encoder.config.num_attention_heads == 2
        return encoder.embeddings.words.weight

    assert torch.equal(words(1), words(1))
    assert not torch.equal(words(1), words(2))


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (scratch(), r"encoder\.scratch\.tokenizer: there is no folder pieces.*weft vocab"),
        (
            scratch(hidden_size=30, num_attention_heads=4),
            r"encoder\.scratch: hidden_size 30 must be a multiple of num_attention_heads 4",
        ),
        ({**scratch(), "from": "elsewhere"}, r"encoder: .*'elsewhere'.*from scratch.*remove one"),
        ({"scratch": {"num_hidden_layers": 2}}, r"encoder\.scratch\.tokenizer: is required"),
        (scratch(tokenizer="."), r"tokenizer\.json"),
    ],
)
def test_an_encoder_that_cannot_be_made_is_one_message(
    files: Path, train: Train, encoder: dict[str, Any], message: str
) -> None:
    with pytest.raises(WeftError, match=message):
        train({"words": WORDS_TASK}, encoder=encoder)
    assert not list(files.glob("model*"))


def test_a_scratch_config_survives_being_written_down() -> None:
    experiment = parse_experiment({"encoder": scratch(), "tasks": {"words": WORDS_TASK}})
    assert parse_experiment(experiment.to_dict()) == experiment


# Going on, and beside other tasks


def test_a_run_goes_on_from_another_and_its_encoder_serves_other_tasks(files: Path, train: Train) -> None:
    first = train({"words": WORDS_TASK}, "first", training={"epochs": 6, "learning_rate": 5e-3})
    before = report(first)["tasks"]["words"]["result"]["measures"]["scores"]["perplexity"]
    fresh = report(train({"words": WORDS_TASK}, "fresh", training={"learning_rate": 1e-12}))
    assert before < fresh["tasks"]["words"]["result"]["measures"]["scores"]["perplexity"] / 1.4
    for name, source in (("second", first), ("third", first / "transformers")):
        again = train({"words": WORDS_TASK}, name, encoder={"from": str(source)}, training={"learning_rate": 1e-12})
        found = report(again)["tasks"]["words"]["result"]["measures"]["scores"]["perplexity"]
        assert found == pytest.approx(before, rel=1e-4), name
        fox = {"kind": "classification", "train": "fox.csv", "dev": "fox.csv"}
        train({"fox": fox}, f"fox-{name}", encoder={"from": str(source)})


def test_masked_words_beside_another_task_count_by_their_weight(files: Path, train: Train) -> None:
    fox = {"kind": "classification", "train": "fox.csv", "dev": "fox.csv"}
    tasks = {"fox": fox, "words": {**WORDS_TASK, "weight": 0.1}, "next": NEXT_TASK}
    settings = {"choose_by": "fox", "epochs": 2}
    folder, same = (train(tasks, name, training=settings) for name in ("light", "same"))
    found = report(folder)
    assert set(found["tasks"]) == {"fox", "words", "next"}
    assert found["history"][-1]["agreement"]
    heavy = train({**tasks, "words": {**WORDS_TASK, "weight": 5.0}}, "heavy", training=settings)
    name = "encoder.embeddings.words.weight"
    light, again, weighty = (read_file(one / "model.safetensors")[name] for one in (folder, same, heavy))
    assert torch.equal(light, again)  # so that it is the weight which makes the difference
    assert not torch.equal(light, weighty)
    everything = weft.load(folder).predict(["The [MASK] fox jumps"])[0]
    assert set(everything) == {"fox", "words", "truncated", "empty"}
    assert [len(one) for one in weft.load(folder).predict(["The [MASK] fox", "The fox"], "words")] == [1, 0]
    assert weft.load(folder).predict([("The fox", "The dog")], "next")[0]["label"] in ("next", "elsewhere")


def test_tasks_on_one_file_set_the_same_documents_aside(files: Path, small_encoder: str) -> None:
    (files / "train.txt").write_text(text(range(40), sentences=3) + "\n" + text(range(90, 91), 40), encoding="utf-8")
    source = load_encoder(small_encoder)
    reader = CorpusLoader(source.tokenizer, source.encoder.config.max_length, files / "cache")
    seen = {}
    for kind, length in (("masked_words", 32), ("masked_words", 9), ("span_boundary", 20), ("next_sentence", 32)):
        task = parse(Task, {"kind": kind, "train": "train.txt", "dev": 0.4, "max_length": length})
        splits = task.load(reader, files, 13)
        dev: Any = splits.dev
        training: Any = splits.train
        seen[kind, length] = set(dev.corpus.sentence_documents.tolist())
        assert not seen[kind, length] & set(training.corpus.sentence_documents.tolist())
        assert len(seen[kind, length] | set(training.corpus.sentence_documents.tolist())) == 41
        first, last = (np.asarray(part.corpus.sentences)[[0, -1]] for part in (training, dev))
        for part, (begin, end) in ((training, first), (dev, last)):  # neither counts the other's tokens
            tokens = Counter(part.corpus.tokens[begin:end].tolist())
            del tokens[source.tokenizer.backend.token_to_id("[UNK]")]
            assert {i: n for i, n in enumerate(part.corpus.counts) if n} == dict(tokens)
    assert len({tuple(sorted(one)) for one in seen.values()}) == 1


@pytest.mark.parametrize("kind", ["masked_words", "span_boundary", "next_sentence"])
def test_a_share_is_set_aside_and_rows_are_limited(files: Path, train: Train, kind: str) -> None:
    options = {"kind": kind, "train": "train.txt", "dev": 0.2}
    whole = report(train({"t": options}, "whole", training={"baselines": True}))["tasks"]["t"]
    assert 0 < whole["rows"]["dev"] < whole["rows"]["train"]
    few = report(train({"t": {**options, "limit": 5}}, "few"))["tasks"]["t"]["rows"]
    assert (few["train"], few["dev"]) == (5, whole["rows"]["dev"])
    half = report(train({"t": {**options, "fraction": 0.5}}, "half"))["tasks"]["t"]["rows"]
    assert half["train"] == round(whole["rows"]["train"] / 2)


def test_tables_are_corpora_row_by_row(files: Path, train: Train) -> None:
    options = {"kind": "masked_words", "train": "fox.csv", "dev": "fox.csv", "documents": "rows"}
    assert report(train({"words": options}))["tasks"]["words"]["rows"]["train"] == 20


# Predictions


@pytest.fixture
def model(train: Train) -> Path:
    return train({"words": WORDS_TASK, "spans": {**WORDS_TASK, "kind": "span_boundary"}})


def test_fillers_are_given_for_every_mask_the_likeliest_first(model: Path, command: Run) -> None:
    loaded = weft.load(model)
    for task in ("words", "spans"):
        texts = ["The [MASK] brown [MASK] [MASK]", "The fox", "[MASK]", ""]
        with pytest.warns(EmptyTextWarning):
            answers = loaded.predict(texts, task)
        assert [len(one) for one in answers] == [3, 0, 1, 0]
        for one in [*answers[0], *answers[2]]:
            likely = [filler["score"] for filler in one["fillers"]]
            assert len(likely) == 10
            assert likely == sorted(likely, reverse=True)
            assert 0 < sum(likely) <= 1 + 1e-6
            assert (one["label"], one["score"]) == (one["fillers"][0]["token"], likely[0])
            assert set(one) == {"label", "score", "fillers"}
    code, out, _ = command("predict", model, "--task", "words", "--text", "The [MASK] brown fox")
    assert code == 0
    assert json.loads(out)["words"] == loaded.predict(["The [MASK] brown fox"], "words")[0]


def test_fillers_agree_with_the_plain_softmax_of_the_head(model: Path) -> None:
    network = load_network(model)
    tokenized = network.encode("words", [Example(("The [MASK] brown fox",), (), 1)])
    place = tokenized[0].rows[0].ids.tolist().index(network.tokenizer.mask_id)
    batch = network.collate("words", tokenized)
    with torch.no_grad():
        states = network.encoder(batch)
        likely = network.heads["vocabulary"](states.tokens[place : place + 1]).softmax(1)[0]
    (answer,) = weft.load(model).predict(["The [MASK] brown fox"], "words")[0]
    assert answer["score"] == pytest.approx(float(likely.max()), abs=1e-6)
    assert answer["label"] == network.tokenizer.backend.id_to_token(int(likely.argmax()))


def test_a_file_of_texts_is_answered(model: Path, command: Run, files: Path) -> None:
    (files / "some.txt").write_text("The [MASK] fox\nThe dog\n", encoding="utf-8")
    code, _, err = command(
        "predict", model, "--task", "words", "--input", files / "some.txt", "--output", files / "out.jsonl"
    )
    assert code == 0, err
    rows = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert [len(row["words"]) for row in rows] == [1, 0]


# Hiding


def test_what_is_hidden_of_a_corpus_follows_the_law_and_never_is_special(files: Path, small_encoder: str) -> None:
    """Over all rows of many turns: 15 % of the tokens, 80/10/10, whole words stay whole, [UNK] is left alone."""
    lines = [f"{line} ☃ zzz" for line in text(range(10), 20).replace("\n\n", "\n").splitlines()]
    (files / "train.txt").write_text("\n".join(lines), encoding="utf-8")
    source = load_encoder(small_encoder)
    unknown = source.tokenizer.backend.token_to_id("[UNK]")
    reader = CorpusLoader(source.tokenizer, 512, files / "cache")
    for options in ({}, {"whole_word_masking": True}):
        task = parse(Task, {"kind": "masked_words", "max_length": 512, **options})
        assert isinstance(task, MaskedTask)
        rows = reader.rows(files / "train.txt", task.format, 13)
        kinds: Counter[str] = Counter()
        for turn in range(40):
            drawn = list(rows.epoch(turn))
            for example, tokenized_example in zip(drawn, task.encode(drawn, source.tokenizer, 512), strict=True):
                assert example.tokens is not None
                assert tokenized_example.masked is not None
                (plain,), (begins,) = example.tokens.ids, example.tokens.begins_word
                places, gold = tokenized_example.masked.positions - 1, tokenized_example.masked.gold
                now = np.array(tokenized_example.rows[0].ids)[1:-1]
                assert gold is not None
                assert np.array_equal(plain[places], gold)
                assert unknown not in gold
                assert np.array_equal(np.delete(now, places), np.delete(plain, places))
                ordinary = int((plain != unknown).sum())
                masked = int((now[places] == source.tokenizer.mask_id).sum())
                changed = int((now != plain).sum())
                kinds.update(ordinary=ordinary, chosen=len(places), masked=masked, replaced=changed - masked)
                if options:
                    words = np.cumsum(begins)
                    assert not set(words[places].tolist()) & set(np.delete(words, places).tolist())
        assert kinds["chosen"] / kinds["ordinary"] == pytest.approx(0.15, abs=0.01)
        assert kinds["masked"] / kinds["chosen"] == pytest.approx(0.8, abs=0.02)
        assert 0.06 < kinds["replaced"] / kinds["chosen"] < 0.11  # a few are replaced by themselves


def test_boundary_scores_come_from_the_states_beside_each_span_and_the_place_in_it(
    files: Path, small_encoder: str
) -> None:
    """Against a plain loop. Spans never touch, so that each run of hidden places is one."""
    source, task = load_encoder(small_encoder), parse(Task, {**WORDS_TASK, "kind": "span_boundary", "p": 0.1})
    source.encoder.pooler = None
    torch.manual_seed(0)
    network = Network(source.encoder, source.tokenizer, {"t": task}, {"t": task.target().fit(())}).eval()
    rows = list(CorpusLoader(source.tokenizer, 32, files / "cache").rows(files / "train.txt", task.format, 13))
    tokenized = network.encode("t", rows)
    batch = network.collate("t", tokenized)
    reader: Any = network.features["<t>"]
    with torch.no_grad():
        states = network.encoder(batch)
        found = network.score_states("t", states)
        wanted = []
        for row, tokenized_example in enumerate(tokenized):
            assert tokenized_example.masked is not None
            hidden, own = tokenized_example.masked.positions.tolist(), states.row(row)
            told = []
            for place in hidden:
                left = right = place
                while left in hidden:
                    left -= 1
                while right in hidden:
                    right += 1
                offset = reader.offsets.weight[place - left - 1]
                told.append(reader.layers(torch.cat([own[left], own[right], offset])))
            wanted += [own[place] for place in hidden] + told
        expected = network.heads["vocabulary"](torch.stack(wanted))
    assert batch.indices.boundary.offsets.max() > 2
    torch.testing.assert_close(found.values, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["masked_words", "whole_words", "span_boundary"])
@pytest.mark.parametrize("words", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (6, 12)), 20])
def test_the_share_is_met_on_rows_of_any_length(kind: str, words: int, tiny_tokenizers: dict[str, Tokenizer]) -> None:
    """Each row is masked by itself, and short ones must not be hidden more than long ones."""
    options = {"kind": "masked_words", "whole_word_masking": True} if kind == "whole_words" else {"kind": kind}
    task, tokenizer = parse(Task, options), tiny_tokenizers["wordpiece"]
    ids = np.arange(10, 10 + words, dtype=np.int32)
    unigrams = Unigrams.from_counts(np.ones(tokenizer.size, np.int64))
    rows = [
        Example((), (), 1, tokens=Tokens((ids,), (np.ones(words, bool),), (1, 0, row), unigrams.below))
        for row in range(2000)
    ]
    hidden = sum(len(one.masked.positions) for one in task.encode(rows, tokenizer, 64) if one.masked is not None)
    assert hidden / (words * len(rows)) == pytest.approx(0.15, abs=0.012)


def test_batches_without_anything_hidden_do_no_harm(files: Path, train: Train) -> None:
    (files / "train.txt").write_text("\n".join(WORDS), encoding="utf-8")
    for kind in ("masked_words", "span_boundary"):
        task = {**WORDS_TASK, "kind": kind, "documents": "rows"}
        folder = train({"t": task}, kind, training={"batch_size": 1, "epochs": 2})
        losses = [loss for *_, loss in report(folder)["loss_history"]]
        assert 0.0 in losses
        assert max(losses) > 1


def test_rows_too_few_to_measure_on_are_one_message(files: Path, train: Train) -> None:
    (files / "dev.txt").write_text("fox\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"nothing is masked.*give more"):
        train({"t": {**WORDS_TASK, "mlm_probability": 0.01}})


def test_the_unigram_baseline_is_what_counting_gives(files: Path, train: Train, small_encoder: str) -> None:
    (files / "dev.txt").write_text(text(range(50, 55)) + "\nThe ☃ fox.\n", encoding="utf-8")
    for kind in ("masked_words", "span_boundary"):
        folder = train({"t": {**WORDS_TASK, "kind": kind}}, kind, training={"baselines": True})
        backend = load_encoder(small_encoder).tokenizer.backend

        def ids(name: str, backend: Any = backend) -> list[int]:
            lines = [line for line in (files / name).read_text().splitlines() if line]
            found = [i for line in lines for i in backend.encode(line, add_special_tokens=False).ids]
            return [i for i in found if i != backend.token_to_id("[UNK]")]

        counts = Counter(ids("train.txt"))
        total, dev = sum(counts.values()) + backend.get_vocab_size(), ids("dev.txt")
        logs = [np.log((counts[i] + 1) / total) for i in dev]
        scores = report(folder)["tasks"]["t"]["result"]["baselines"]["majority"]
        assert scores["perplexity"] == pytest.approx(float(np.exp(-np.mean(logs))))
        assert scores["accuracy"] == pytest.approx(np.mean([i == counts.most_common(1)[0][0] for i in dev]))
        if kind == "span_boundary":
            assert scores["boundary_perplexity"] == scores["perplexity"]


def test_the_unigram_baseline_counts_words_of_dev_that_training_never_saw(files: Path, small_encoder: str) -> None:
    (files / "train.txt").write_text("The fox. The fox.\n\n" * 9 + "A dog and a dog.\n", encoding="utf-8")
    source = load_encoder(small_encoder)
    reader = CorpusLoader(source.tokenizer, 32, files / "cache")
    task = parse(Task, {"kind": "masked_words", "train": "train.txt", "dev": 0.05})
    splits = task.load(reader, files, 13)
    unknown = source.tokenizer.backend.token_to_id("[UNK]")
    told: Any
    (told,) = task.target().fit(()).majority(splits.train, splits.dev)
    tokens = [i for i in np.concatenate([one.tokens.ids[0] for one in splits.dev if one.tokens]) if i != unknown]
    seen = {i for one in splits.train if one.tokens for i in one.tokens.ids[0].tolist()}
    assert set(tokens) - seen
    assert told.counts.own[0] == len(tokens)


# Bad input


@pytest.mark.parametrize("kind", ["masked_words", "next_sentence"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no text"),
        (b" \n\n \n", "holds no text"),
        (f"{SECRET}\n".encode() + bytes(range(256)), "train.txt, line 2: holds a NUL byte"),
        (f"{SECRET} ok\ncaf\xe9 {SECRET}\n".encode("latin-1"), "train.txt, line 2: is not UTF-8 (byte 0xe9"),
        (f"{SECRET} café\n".encode() + f"{SECRET} café\n".encode("utf-16"), "train.txt, line 2: "),
        ("☃☃ ☃☃\n\n☃ ☃\n☃\n".encode(), "train.txt: "),
    ],
)
def test_a_corpus_that_cannot_be_read_is_one_message(
    files: Path, command: Run, small_encoder: str, kind: str, content: bytes, message: str
) -> None:
    (files / "train.txt").write_bytes(content)
    before = sorted(files.rglob("*"))
    code, err = run_config(files, command, small_encoder, f'kind = "{kind}"\ndev = "dev.txt"')
    assert code == 1
    assert message in err
    assert sorted(path for path in files.rglob("*") if path.name != "run.toml") == before


def run_config(files: Path, command: Run, encoder: str, task: str, more: str = "") -> tuple[int, str]:
    (files / "run.toml").write_text(
        f'[encoder]\nfrom = "{encoder}"\n[tasks.t]\ntrain = "train.txt"\n{task}\n[training]\nepochs = 1\n{more}\n',
        encoding="utf-8",
    )
    code, out, err = command("train", files / "run.toml", "--output", files / "model")
    if code:
        assert out == ""
    return code, " ".join(err.split())


@pytest.mark.parametrize(
    ("task", "documents", "messages"),
    [
        ('kind = "next_sentence"\ndev = "dev.txt"', 1, ["train.txt", "at least 2 documents", "blocks"]),
        ('kind = "next_sentence"', 1, ["tasks.t.dev", "train.txt", "1 document", "name a file"]),
        ('kind = "next_sentence"', 3, ["tasks.t.dev", "train.txt", "3 documents", "needs 4", "name a file"]),
        ('kind = "masked_words"', 1, ["tasks.t.dev", "train.txt", "1 document", "name a file"]),
        ('kind = "masked_words"\ndev = "none.txt"', 2, ["none.txt", "no such file"]),
        ('kind = "next_sentence"\ndev = "dev.txt"\nmax_length = 4', 2, ["max_length", "at least 5"]),
        ('kind = "masked_words"\ndocuments = "rows"\ndev = "fox.csv"\ntext = "words"', 2, ["fox.csv", "'words'"]),
        ('kind = "masked_words"\ndev = "fox.csv"', 2, ["fox.csv", 'documents = "rows"']),
        ('kind = "masked_words"\ndev = "dev.txt"\nloss = "binary"', 2, ["tasks.t.loss", "binary"]),
        (
            'kind = "masked_words"\ndev = "dev.txt"\nloss = {kind = "cross_entropy", class_weights = "balanced"}',
            2,
            ["tasks.t.loss", "class_weights"],
        ),
        ('kind = "masked_words"\ndev = "dev.txt"\nmetric = "f1"', 2, ["tasks.t.metric", "accuracy"]),
    ],
)
def test_a_corpus_that_does_not_suit_its_task_is_one_message(
    files: Path, command: Run, small_encoder: str, task: str, documents: int, messages: list[str]
) -> None:
    (files / "train.txt").write_text(
        text(range(documents)).replace("fox", SECRET).replace("Fox", SECRET), encoding="utf-8"
    )
    before = sorted(files.rglob("*"))
    code, err = run_config(files, command, small_encoder, task)
    assert code == 1
    assert not [one for one in messages if one not in err], err
    assert sorted(path for path in files.rglob("*") if path.name != "run.toml") == before


@pytest.mark.parametrize("kind", ["masked_words", "span_boundary"])
def test_one_giant_line_is_a_corpus_like_any_other(files: Path, train: Train, kind: str) -> None:
    rng = random.Random(1)
    (files / "train.txt").write_text(" ".join(rng.choices(WORDS, k=40_000)), encoding="utf-8")
    found = report(train({"t": {**WORDS_TASK, "kind": kind, "limit": 16}}))
    assert found["tasks"]["t"]["rows"]["train"] == 16


def test_a_single_word_of_a_million_letters_is_no_trap(files: Path, train: Train) -> None:
    (files / "train.txt").write_text("the fox.\n" + "x" * 1_000_000 + "\n\nthe dog.\n", encoding="utf-8")
    assert report(train({"t": {**WORDS_TASK, "limit": 8}}))["tasks"]["t"]["rows"]["train"] <= 8


def test_next_sentence_finds_pairs_on_every_turn_of_a_very_small_corpus(files: Path, small_encoder: str) -> None:
    (files / "train.txt").write_text(text(range(3), sentences=2), encoding="utf-8")
    source = load_encoder(small_encoder)
    task = parse(Task, NEXT_TASK)
    rows = CorpusLoader(source.tokenizer, 64, files / "cache").rows(files / "train.txt", task.format, 13)
    for turn in range(60):
        golds = Counter(one.gold for one in rows.epoch(turn))
        assert golds["next"] >= 1
        assert golds["elsewhere"] >= 1


def test_a_tokenizer_without_a_mask_cannot_hide(files: Path, train: Train, tmp_path: Path) -> None:
    import tokenizers

    vocabulary = {word: i for i, word in enumerate(["[UNK]", *WORDS])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    Tokenizer(backend).save(tmp_path / "pieces")
    with pytest.raises(WeftError, match="no mask token"):
        train({"words": WORDS_TASK}, encoder=scratch())
    assert not list(files.glob("model*"))


# The cache


class Stop(Callback):
    """Asks for a stop after so many steps, and counts what was tokenized."""

    def __init__(self, after: int) -> None:
        self.after = after

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        self.after -= 1
        if not self.after:
            signal.raise_signal(signal.SIGINT)


def test_the_cache_is_used_again_on_resume_and_gone_after_the_run(
    files: Path, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = {"words": WORDS_TASK, "next": NEXT_TASK}
    written: list[Path] = []
    real = corpora.write_cache

    def spy(cache: Path, *rest: Any) -> None:
        written.append(cache)
        real(cache, *rest)

    monkeypatch.setattr(corpora, "write_cache", spy)
    with pytest.raises(Interrupted):
        train(tasks, callback=Stop(2))
    assert len(written) == 2  # one for each file, for both tasks
    assert list((files / "model.running" / "cache").glob("*.arrow"))
    folder = train(tasks, resume=True)
    assert len(written) == 2
    assert not (folder / "cache").exists()
    assert not list(files.glob("*.running"))


def test_what_is_missing_in_any_task_is_said_before_the_first_is_tokenized(
    files: Path, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "write_cache", lambda *args: pytest.fail("tokenized in vain"))
    with pytest.raises(DataError, match=r"lost\.txt: there is no such file or folder"):
        train({"words": WORDS_TASK, "next": {**NEXT_TASK, "test": "lost.txt"}})
    assert not list(files.glob("*.running"))


def test_a_folder_of_files_trains_is_checked_and_evaluated(files: Path, train: Train, command: Run) -> None:
    (files / "notes").mkdir()
    for number in range(12):
        (files / "notes" / f"{number:02}.txt").write_text(text(range(number, number + 1)), encoding="utf-8")
    task = {"kind": "next_sentence", "train": "notes", "dev": 0.2, "documents": "file"}
    folder = train({"next": task})
    assert report(folder)["tasks"]["next"]["rows"]["dev"] > 0
    assert command("evaluate", folder, "--data", files / "notes")[0] == 0
    assert command("vocab", files / "notes", "--size", 100, "--output", files / "pieces")[0] == 0
    config = files / "config.toml"
    config.write_text('[tasks.next]\nkind = "next_sentence"\ntrain = "notes/*.txt"\ndocuments = "file"\n')
    assert command("check", config)[0] == 0
    config.write_text('[tasks.next]\nkind = "next_sentence"\ntrain = "notes/*.md"\ndocuments = "file"\n')
    code, out, err = command("check", config)
    assert code != 0
    assert "no file matches this pattern" in " ".join((out + err).split())


def test_a_corpus_that_changed_is_refused_on_resume(files: Path, train: Train) -> None:
    with pytest.raises(Interrupted):
        train({"words": WORDS_TASK}, callback=Stop(2))
    changed = (files / "train.txt").read_text().replace("fox", "dog", 1)
    (files / "train.txt").write_text(changed, encoding="utf-8")
    with pytest.raises(ConfigError, match="training rows of words are not those"):
        train({"words": WORDS_TASK}, resume=True)


# Joining tokenized parts


def segments_of(row: TokenizedRow) -> list[int]:
    return [0] * len(row) if row.segments is None else row.segments.tolist()


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram"])
@given(
    first=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
    second=st.none() | st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
)
def test_joined_parts_are_what_the_tokenizer_itself_gives(
    tiny_tokenizers: dict[str, Tokenizer], kind: str, first: list[str], second: list[str] | None
) -> None:
    tokenizer = tiny_tokenizers[kind]
    texts = [" ".join(one) for one in (first, second) if one]
    apart = [tokenizer.backend.encode(one, add_special_tokens=False) for one in texts]
    starts = [np.array([True, *(a != b for a, b in pairwise(one.word_ids))]) for one in apart]
    row, begins = tokenizer.join([np.array(one.ids, np.int32) for one in apart], starts)
    whole = tokenizer.backend.encode(*texts)
    assert row.ids.tolist() == whole.ids
    assert segments_of(row) == whole.type_ids
    special = np.array(whole.special_tokens_mask, bool)
    assert not begins[special].any()
    assert begins[~special].tolist() == np.concatenate(starts).tolist()
    assert tokenizer.specials(len(texts) > 1) == special.sum()


def test_parts_are_joined_for_tokenizers_with_odd_or_no_special_tokens() -> None:
    import tokenizers
    from tokenizers import models, pre_tokenizers, processors

    vocabulary = {word: place for place, word in enumerate(["[UNK]", "<a>", "<b>", "<c>", *WORDS])}
    processor = processors.TemplateProcessing(
        single="$A:0 <a>:2 <b>:3",
        pair="<a>:1 <a>:1 $A:1 $B:3 <c>:4",
        special_tokens=[(f"<{name}>", vocabulary[f"<{name}>"]) for name in "abc"],
    )
    for special in (processor, None):
        backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        if special is not None:
            backend.post_processor = special
        tokenizer = Tokenizer(backend)
        for texts in (["the quick fox"], ["the quick fox", "over"]):
            parts = [np.array(backend.encode(one, add_special_tokens=False).ids, np.int32) for one in texts]
            row, begins = tokenizer.join(parts, [np.ones(len(part), bool) for part in parts])
            whole = backend.encode(*texts)
            assert row.ids.tolist() == whole.ids
            assert segments_of(row) == whole.type_ids
            assert int(begins.sum()) == sum(map(len, parts))
            assert len(begins) == len(row)
