"""Tokenizers in model folders: `tokenizer.json` or the older vocabulary files, and their settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer
from tokenizers.implementations.byte_level_bpe import ByteLevelBPETokenizer
from tokenizers.processors import RobertaProcessing

from weft.data.atomic import write_atomically
from weft.errors import CheckpointError

FILE, SETTINGS = "tokenizer.json", "tokenizer_config.json"
_ROBERTA_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def read_folder(folder: Path) -> tuple[tokenizers.Tokenizer, dict[str, Any] | None]:
    """The library's tokenizer and, where there are any, its settings."""
    settings = _read_settings(folder / SETTINGS)
    try:
        return _read_backend(folder, settings or {}), settings
    except CheckpointError:
        raise
    except Exception as error:  # the library raises bare Exception for every kind of damage
        raise CheckpointError(f"the tokenizer in {folder} cannot be read ({error}); copy its files anew") from None


def write_folder(backend: tokenizers.Tokenizer, settings: Mapping[str, Any] | None, folder: Path) -> None:
    """Write `tokenizer.json`, and `tokenizer_config.json` where there are settings."""
    text = backend.to_str(pretty=True)  # the library's own `save` raises bare Exceptions where a disk is full
    write_atomically(folder / FILE, lambda path: path.write_text(text, encoding="utf-8"))
    if settings is not None:
        written = json.dumps(settings, indent=2) + "\n"
        write_atomically(folder / SETTINGS, lambda path: path.write_text(written, encoding="utf-8"))


def _read_settings(path: Path) -> dict[str, Any] | None:
    try:
        settings = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); copy the file anew") from None
    if not isinstance(settings, dict):
        raise CheckpointError(f"{path} holds a JSON {type(settings).__name__}, not an object; copy the file anew")
    return settings


def _read_backend(folder: Path, options: Mapping[str, Any]) -> tokenizers.Tokenizer:
    """`tokenizer.json`, else WordPiece (`vocab.txt`), else byte-level BPE (`vocab.json`, `merges.txt`)."""
    if (folder / FILE).exists():
        return tokenizers.Tokenizer.from_file(str(folder / FILE))
    backend: tokenizers.Tokenizer
    if (folder / "vocab.txt").exists():
        backend = BertWordPieceTokenizer.from_file(
            str(folder / "vocab.txt"),
            lowercase=options.get("do_lower_case", True),
            strip_accents=options.get("strip_accents"),
            handle_chinese_chars=options.get("tokenize_chinese_chars", True),
        )._tokenizer
        return backend
    if (folder / "vocab.json").exists() and (folder / "merges.txt").exists():
        space = bool(options.get("add_prefix_space", False))
        backend = ByteLevelBPETokenizer.from_file(
            str(folder / "vocab.json"), str(folder / "merges.txt"), add_prefix_space=space
        )._tokenizer
        ends = {name: (token, backend.token_to_id(token) or 0) for name, token in (("cls", "<s>"), ("sep", "</s>"))}
        backend.post_processor = RobertaProcessing(ends["sep"], ends["cls"], add_prefix_space=space)
        known = [token for token in _ROBERTA_SPECIAL if backend.token_to_id(token) is not None]
        backend.add_special_tokens([_roberta_special(token, options) for token in known])
        return backend
    raise CheckpointError(
        f"{folder} has no {FILE} (nor vocab.txt, nor vocab.json with merges.txt). Where you have transformers, "
        "AutoTokenizer.from_pretrained(folder).save_pretrained(folder) writes it"
    )


def _roberta_special(token: str, options: Mapping[str, Any]) -> tokenizers.AddedToken:
    """A special token that takes in the blanks before it where the settings say so, as RoBERTa's say of its mask."""
    mask = options.get("mask_token")
    declared = [mask, *dict(options.get("added_tokens_decoder") or {}).values()]
    settings = [entry for entry in declared if isinstance(entry, dict)]
    lstrip = any(entry.get("content") == token and entry.get("lstrip") for entry in settings)
    return tokenizers.AddedToken(token, lstrip=lstrip, normalized=False, special=True)
