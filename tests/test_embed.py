"""Vectors are those of `transformers`, in the order of the texts, whatever their neighbours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import transformers

import weft.model.embed
from weft.checkpoints.source import find_folder
from weft.data.vectors import write_vectors
from weft.errors import CheckpointError, ConfigError, DataError, TruncationWarning, WeftError
from weft.model.embed import EmbedOptions, TextEncoder, TextVectors, load_encoder
from weft.tensors import batches_by_length, pack
from weft.tokenization.tokenizer import Text, Tokenizer

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "",
    "a",
    "Über-coffee, 日本語 & 👩‍👩‍👧!",
    "the dog",
    "  the   dog ",
    "don't jump over the lazy fox, lazy dog",
]


@pytest.fixture(params=["tiny", "minilm"])
def encoder(request: pytest.FixtureRequest) -> TextEncoder:
    found: TextEncoder = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def theirs() -> transformers.PreTrainedModel:
    return transformers.AutoModel.from_pretrained(find_folder("minilm")).eval()


def hidden_states(
    model: transformers.PreTrainedModel, texts: list[str], pairs: list[str] | None = None
) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    """All hidden states of `transformers` over a padded batch, and its mask."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(find_folder("minilm"))
    inputs = tokenizer(texts, pairs, padding=True, return_tensors="pt")
    with torch.inference_mode():
        return model(**inputs, output_hidden_states=True).hidden_states, inputs["attention_mask"]


def mean_over_mask(states: torch.Tensor, mask: torch.Tensor) -> np.ndarray:
    weights = mask.unsqueeze(-1).to(states)
    return ((states * weights).sum(1) / weights.sum(1)).numpy()


def test_a_vector_depends_on_neither_order_nor_neighbours(encoder: TextEncoder) -> None:
    together = encoder.embed(TEXTS)
    alone = np.concatenate([encoder.embed([text]) for text in TEXTS])
    backwards = encoder.embed(TEXTS[::-1])[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(together, backwards, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("level", ["sentence", "word", "token"])
def test_many_windows_and_batches_keep_the_order(
    tiny: TextEncoder, monkeypatch: pytest.MonkeyPatch, level: weft.model.embed.Level
) -> None:
    texts = [text for text in TEXTS if len(text) < 24] * 5
    options = EmbedOptions(level)
    expected = list(tiny.stream(texts, options))
    monkeypatch.setattr(weft.model.embed, "_WINDOW", 4)
    monkeypatch.setattr(weft.model.embed, "_BATCH_TOKENS", 12)
    found = list(tiny.stream(iter(texts), options))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.spans == other.spans
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-5, rtol=1e-5)


def test_texts_are_read_a_window_at_a_time(tiny: TextEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weft.model.embed, "_WINDOW", 4)
    texts = iter(["the dog"] * 10)
    next(tiny.stream(texts))
    assert len(list(texts)) == 6


def test_batches_hold_every_row_once_and_no_more_tokens_than_allowed() -> None:
    lengths = [3, 9, 1, 30, 4, 4, 2]
    batches = list(batches_by_length(lengths, 10))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or sum(lengths[place] for place in batch) <= 10 for batch in batches)
    assert list(batches_by_length([], 10)) == []


def test_mean_pooling_is_the_mean_of_transformers_over_the_mask(
    minilm: TextEncoder, theirs: transformers.PreTrainedModel
) -> None:
    states, mask = hidden_states(theirs, TEXTS)
    np.testing.assert_allclose(minilm.embed(TEXTS), mean_over_mask(states[-1], mask), atol=1e-5, rtol=0)


def test_pairs_are_embedded_as_by_transformers(minilm: TextEncoder, theirs: transformers.PreTrainedModel) -> None:
    states, mask = hidden_states(theirs, TEXTS, TEXTS[::-1])
    found = minilm.embed(list(zip(TEXTS, TEXTS[::-1], strict=True)))
    np.testing.assert_allclose(found, mean_over_mask(states[-1], mask), atol=1e-5, rtol=0)


def test_cls_pooling_is_the_first_state(minilm: TextEncoder, theirs: transformers.PreTrainedModel) -> None:
    states, _ = hidden_states(theirs, TEXTS)
    np.testing.assert_allclose(minilm.embed(TEXTS, pooling="cls"), states[-1][:, 0].numpy(), atol=1e-5, rtol=0)


def test_last4_is_the_mean_of_the_last_four_hidden_states(
    minilm: TextEncoder, theirs: transformers.PreTrainedModel
) -> None:
    states, mask = hidden_states(theirs, TEXTS)
    expected = torch.stack(states[-4:]).mean(0)
    found = minilm.embed(TEXTS, layers="last4")
    np.testing.assert_allclose(found, mean_over_mask(expected, mask), atol=1e-5, rtol=0)
    for row, one in enumerate(minilm.embed(TEXTS, layers="last4", level="token")):
        tokens = expected[row, 1 : int(mask[row].sum()) - 1].numpy()  # without [CLS] and [SEP]
        np.testing.assert_allclose(one.vectors, tokens, atol=1e-5, rtol=0)


def test_last4_of_an_encoder_with_fewer_layers_is_the_mean_of_those_without_the_embeddings(small_encoder: str) -> None:
    encoder = load_encoder(small_encoder)
    (row,) = encoder.tokenizer.encode(["the quick fox"], max_length=32)
    with torch.inference_mode():
        states = encoder.encoder.eval()(pack([row.ids]), layers=(1, 2)).layers
    expected = ((states[1] + states[2]) / 2).mean(0)
    found = encoder.embed(["the quick fox"], layers="last4")[0]
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5, rtol=0)


def test_a_word_is_the_mean_of_its_tokens(minilm: TextEncoder) -> None:
    text = "Unbelievably, tokenizers embed."
    (words,) = minilm.embed([text], level="word")
    (tokens,) = minilm.embed([text], level="token")
    assert [text[start:end] for start, end in words.spans] == ["Unbelievably", ",", "tokenizers", "embed", "."]
    assert len(tokens.spans) > len(words.spans)
    for (start, end), vector in zip(words.spans, words.vectors, strict=True):
        inside = [place for place, (low, high) in enumerate(tokens.spans) if start <= low and high <= end]
        np.testing.assert_allclose(vector, tokens.vectors[inside].mean(0), atol=1e-6, rtol=0)


@pytest.mark.parametrize("level", ["sentence", "word", "token"])
def test_normalized_vectors_have_length_1_and_the_same_direction(
    encoder: TextEncoder, level: weft.model.embed.Level
) -> None:
    for plain, scaled in zip(
        encoder.stream(TEXTS[:1], EmbedOptions(level)),
        encoder.stream(TEXTS[:1], EmbedOptions(level, normalize=True)),
        strict=True,
    ):
        lengths = np.linalg.norm(plain.vectors, axis=1, keepdims=True)
        np.testing.assert_allclose(scaled.vectors, plain.vectors / lengths, atol=1e-6, rtol=0)


def test_an_empty_text_has_a_sentence_vector_and_no_words(encoder: TextEncoder) -> None:
    width = encoder.encoder.config.hidden_size
    assert np.isfinite(encoder.embed([""])).all()
    for level in ("word", "token"):
        (one,) = encoder.embed([""], level=level)
        assert one.vectors.shape == (0, width)
        assert one.spans == []


def test_no_texts_give_no_vectors(encoder: TextEncoder) -> None:
    assert encoder.embed([]).shape == (0, encoder.encoder.config.hidden_size)
    assert encoder.embed([], level="word") == []


def test_an_empty_text_is_refused_where_the_tokenizer_adds_no_special_tokens(tiny: TextEncoder) -> None:
    tiny.tokenizer.backend.post_processor = None
    with pytest.raises(DataError, match="adds no special tokens"):
        tiny.embed(["the dog", ""])


@pytest.mark.parametrize("wrong", [3, None, b"secret", "secret \ud800", ("secret", "b", "c"), ("secret", None)])
def test_what_is_not_a_text_is_refused_by_its_row_and_not_quoted(
    tiny: TextEncoder, monkeypatch: pytest.MonkeyPatch, wrong: Text
) -> None:
    monkeypatch.setattr(weft.model.embed, "_WINDOW", 2)
    with pytest.raises(DataError, match=r"^row 4 ") as caught:
        tiny.embed(["the dog"] * 4 + [wrong])
    assert "secret" not in str(caught.value)


def test_a_bare_text_is_not_taken_for_a_list_of_characters(tiny: TextEncoder) -> None:
    with pytest.raises(DataError, match="put it into a list") as caught:
        tiny.embed("secret")
    assert "secret" not in str(caught.value)


def test_unknown_choices_are_refused_all_at_once(tiny: TextEncoder) -> None:
    with pytest.raises(ConfigError) as caught:
        tiny.embed(["the dog"], level="letter", pooling="max", truncation="none")  # type: ignore[arg-type]
    assert [fault.split()[0] for fault in caught.value.faults] == ["level", "pooling", "truncation"]


@pytest.mark.parametrize("max_length", [0, -1, 25])
def test_a_limit_the_encoder_does_not_take_is_refused(tiny: TextEncoder, max_length: int) -> None:
    with pytest.raises(ConfigError, match=rf"max_length {max_length} is outside 1 … 24"):
        tiny.embed(["the dog"], max_length=max_length)


def test_cut_texts_are_counted_in_a_warning(tiny: TextEncoder) -> None:
    with pytest.warns(TruncationWarning, match="2 of 3 texts were longer than 24 tokens and were cut"):
        found = tiny.embed(["the dog", "the dog " * 30, "fox " * 60])
    assert found.shape == (3, 16)


def test_the_part_that_stays_is_the_part_asked_for(tiny: TextEncoder) -> None:
    with pytest.warns(TruncationWarning):
        (head,) = tiny.embed(["the fox jumps over"], level="word", max_length=4)
    with pytest.warns(TruncationWarning):
        (tail,) = tiny.embed(["the fox jumps over"], level="word", max_length=4, truncation="tail")
    assert head.spans[0] == (0, 3)
    assert tail.spans[-1][1] == 18
    assert head.dropped > 0


def test_a_saved_encoder_gives_bit_identical_vectors(encoder: TextEncoder, tmp_path: Path) -> None:
    encoder.save(tmp_path / "new" / "folder")
    again = load_encoder(tmp_path / "new" / "folder")
    assert not again.report.missing
    assert not again.report.surplus
    assert np.array_equal(again.embed(TEXTS[:3]), encoder.embed(TEXTS[:3]))


def test_an_encoder_can_be_saved_over_the_folder_it_came_from(tiny: TextEncoder, tiny_folder: Path) -> None:
    before = tiny.embed(TEXTS[:3])
    tiny.save(tiny_folder)
    assert np.array_equal(tiny.embed(TEXTS[:3]), before)
    assert np.array_equal(load_encoder(tiny_folder).embed(TEXTS[:3]), before)
    assert sorted(path.name for path in tiny_folder.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]


def test_saving_where_a_file_is_in_the_way_is_refused(tiny: TextEncoder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WeftError, match="cannot write"):
        tiny.save(tmp_path / "file")


def test_a_tokenizer_larger_than_the_embedding_is_refused(tiny: TextEncoder, minilm: TextEncoder) -> None:
    with pytest.raises(CheckpointError, match="ids up to 30521.*use the tokenizer that came with the weights"):
        TextEncoder(tiny.encoder, minilm.tokenizer)


def test_a_byte_level_tokenizer_gives_words_without_blanks(
    tiny: TextEncoder, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    tokenizer = tiny_tokenizers["bytes"]
    config = weft.model.embed.replace(tiny.encoder.config, vocab_size=tokenizer.size)
    encoder = TextEncoder(type(tiny.encoder)(config), tokenizer)
    (words,) = encoder.embed([" the  fox\n"], level="word")
    assert words.spans == [(1, 4), (6, 9)]
    assert words.vectors.shape == (2, 16)


@pytest.mark.parametrize("level", ["sentence", "word", "token"])
def test_files_of_all_formats_hold_the_same_vectors(
    tiny: TextEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: weft.model.embed.Level
) -> None:
    monkeypatch.setattr("weft.data.vectors._CHUNK", 2)
    options = EmbedOptions(level, max_length=12)
    rows = list(tiny.stream(TEXTS, options))
    expected = np.concatenate([one.vectors for one in rows])
    for suffix in ("parquet", "jsonl", "npy") if level == "sentence" else ("parquet", "jsonl"):
        write_vectors(tmp_path / f"out.{suffix}", tiny.stream(TEXTS, options), 16, level)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert table == lines
    np.testing.assert_array_equal(np.array([line["vector"] for line in lines], np.float32), expected)
    if level == "sentence":
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
        assert [(line["row"], line["dropped"]) for line in lines] == [(n, one.dropped) for n, one in enumerate(rows)]
    else:
        spans = [(n, *span) for n, one in enumerate(rows) for span in one.spans]
        assert [(line["row"], line["start"], line["end"]) for line in lines] == spans


@pytest.mark.parametrize("suffix", ["npy", "parquet", "jsonl"])
def test_no_texts_make_a_valid_file_without_rows(tiny: TextEncoder, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    write_vectors(path, tiny.stream([]), 16, "sentence")
    if suffix == "npy":
        assert np.load(path).shape == (0, 16)
    else:
        assert (pq.read_table(path).num_rows if suffix == "parquet" else path.stat().st_size) == 0


@pytest.mark.parametrize("suffix", ["npy", "parquet", "jsonl"])
def test_a_failure_in_the_middle_leaves_the_folder_as_it_was(
    tiny: TextEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr("weft.data.vectors._CHUNK", 2)
    path = tmp_path / "out" / f"old.{suffix}"
    path.parent.mkdir()
    path.write_text("old")

    def failing() -> Iterator[TextVectors]:
        yield from tiny.stream(TEXTS)
        raise DataError("the text ends here")

    for name in (path.name, f"new.{suffix}"):
        with pytest.raises(DataError):
            write_vectors(path.with_name(name), failing(), 16, "sentence")
    assert [found.name for found in path.parent.iterdir()] == [path.name]
    assert path.read_text() == "old"


def test_a_target_that_cannot_hold_the_vectors_is_refused_before_the_work(tmp_path: Path) -> None:
    def never() -> Iterator[TextVectors]:
        pytest.fail("the work began")
        yield

    for path, level, message in (
        (tmp_path / "out.csv", "sentence", "allowed: .npy, .parquet, .jsonl"),
        (tmp_path / "out.npy", "word", "name a .parquet or .jsonl file"),
        (tmp_path, "sentence", "this is a folder, but a file to write is needed, such as .*vectors.parquet"),
        (tmp_path / "out", "sentence", "the name ends in no type, as out.parquet does; allowed: .npy"),
    ):
        with pytest.raises(ConfigError, match=message):
            write_vectors(path, never(), 16, level)
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(ConfigError, match="this is a folder"):
        write_vectors(tmp_path / "folder.npy", never(), 16, "sentence")
