"""Learns the tests' tokenizers anew. They are committed, because learning breaks ties differently each time.

python tests/vocabularies/make.py
"""

from __future__ import annotations

from pathlib import Path

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

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


if __name__ == "__main__":
    for kind, build in {"wordpiece": tiny_wordpiece, "bytes": tiny_bytes, "unigram": tiny_unigram}.items():
        build().save(str(Path(__file__).with_name(f"{kind}.json")))
