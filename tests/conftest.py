"""Tiny tokenizers and encoders, made in memory, and the packaged real one."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
import torch
from hypothesis import settings
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

from weft.checkpoints.hf import write_encoder
from weft.embed import TextEncoder, load_encoder
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.text.tokenizer import Tokenizer

settings.register_profile("weft", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("weft")
torch.set_num_threads(1)  # for tensors this small, threads that wait for each other are slower than one

CORPUS = ["the quick brown fox jumps over the lazy dog", "naïve café, über-coffee!", "日本語 テキスト", "don't 1234"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def tiny_wordpiece() -> tokenizers.Tokenizer:
    """A lower-casing WordPiece tokenizer that writes [CLS] A [SEP] B [SEP]."""
    backend = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    )
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return backend


def tiny_bytes() -> tokenizers.Tokenizer:
    """A byte-level BPE tokenizer like RoBERTa's, whose offsets carry the blank before a word."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=320, special_tokens=ROBERTA_SPECIAL, initial_alphabet=alphabet, show_progress=False
        ),
    )
    backend.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    return backend


def tiny_unigram() -> tokenizers.Tokenizer:
    """A unigram tokenizer like XLM-RoBERTa's, which writes blanks as ▁."""
    backend = tokenizers.Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.train_from_iterator(
        CORPUS,
        trainers.UnigramTrainer(vocab_size=80, special_tokens=ROBERTA_SPECIAL, unk_token="<unk>", show_progress=False),
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return backend


TINY = {"wordpiece": tiny_wordpiece, "bytes": tiny_bytes, "unigram": tiny_unigram}


@pytest.fixture(scope="session")
def tiny_tokenizers() -> dict[str, Tokenizer]:
    """One tokenizer of each kind, by `wordpiece`, `bytes` and `unigram`."""
    return {kind: Tokenizer(build()) for kind, build in TINY.items()}


@pytest.fixture
def tiny_folder(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> Path:
    """The folder of a random BERT of five layers that takes 24 tokens."""
    torch.manual_seed(0)
    tokenizer = tiny_tokenizers["wordpiece"]
    config = EncoderConfig(
        vocab_size=tokenizer.size,
        hidden_size=16,
        num_hidden_layers=5,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=24,
        initializer_range=0.3,
    )
    folder = tmp_path / "tiny"
    write_encoder(Encoder(config), folder)
    tokenizer.save(folder)
    return folder


@pytest.fixture
def tiny(tiny_folder: Path) -> TextEncoder:
    """The encoder of `tiny_folder`."""
    return load_encoder(tiny_folder)


@pytest.fixture(scope="session")
def minilm() -> TextEncoder:
    """The packaged real encoder."""
    return load_encoder("minilm")


@pytest.fixture(scope="session")
def small_encoder(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> str:
    """The folder of a random BERT of two layers that takes 32 tokens, and learns in a second; for `encoder.from`."""
    torch.manual_seed(0)
    tokenizer = tiny_tokenizers["wordpiece"]
    config = EncoderConfig(
        vocab_size=tokenizer.size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=32,
        initializer_range=0.3,
    )
    folder = tmp_path_factory.mktemp("encoders") / "small"
    write_encoder(Encoder(config), folder)
    tokenizer.save(folder)
    return str(folder)
