"""Ways to learn the sub-words of a vocabulary, on the Hugging Face `tokenizers` library.

All are in BERT's manner: [PAD] [UNK] [CLS] [SEP] [MASK] are the ids 0 to 4, and a pair of texts reads
[CLS] a [SEP] b [SEP], so that each can pretrain an encoder from scratch.

    wordpiece   BERT's own: words are split at blanks and punctuation, ## marks a piece inside a word, and a word with
                an unseen character is [UNK]; two pieces are joined because they meet often (as in the library), or
                because that makes the texts likeliest (`word_pieces`)
    bpe         byte-pair encoding over bytes: nothing is ever [UNK], and a cased vocabulary that keeps accents gives
                every text back unchanged but for blanks before [MASK], which the mask takes in
    unigram     the likeliest pieces under a unigram language model: words are split at blanks only, ▁ marks their
                beginning, and an unseen character is [UNK]

The library alone does not give the same vocabulary for the same texts, since it walks over words in an order that
differs from process to process; so WordPiece is given its alphabet sorted, and the scores of unigram are rounded and
sorted here.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from weft.corpus.word_pieces import likeliest_pieces
from weft.tokenization.tokenizer import Tokenizer

Kind = Literal["wordpiece", "bpe", "unigram"]
Criterion = Literal["count", "likelihood"]
PieceProgress = Callable[[Iterable[str], int], Iterable[str]]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SETTINGS: dict[str, Any] = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    **{f"{token[1:-1].lower()}_token": token for token in SPECIAL},
    "model_max_length": 512,
    "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    "clean_up_tokenization_spaces": False,
}
LONGEST_WORD = 100  # characters, as in BERT; the time to learn a word grows by the square of its length


class Learner(ABC):
    """One way to learn pieces: how texts are cleaned and split into words, and which pieces come of them."""

    signs = "single characters"  # what the alphabet consists of, in messages
    mask_takes_blanks = False  # whether [MASK] stands for the blanks before it too, as the pieces it masks do

    def __init__(
        self, lowercase: bool, strip_accents: bool, choosing: PieceProgress = lambda pieces, most: pieces
    ) -> None:
        self.normalizer = self.clean(lowercase, strip_accents)
        self.pre_tokenizer = self.split()
        self.choosing = choosing  # wraps the pieces of a learner that does not leave choosing them to the library

    @abstractmethod
    def clean(self, lowercase: bool, strip_accents: bool) -> Any:
        """The library's normalizer, or None."""

    @abstractmethod
    def split(self) -> Any:
        """The library's pre-tokenizer, from texts to words."""

    @abstractmethod
    def decoder(self) -> Any:
        """The library's decoder, from pieces back to texts."""

    @abstractmethod
    def alphabet(self, texts: Iterator[str]) -> list[str]:
        """The pieces of one character that the vocabulary must have, sorted; reads all texts."""

    @abstractmethod
    def learn(self, texts: Iterator[str], alphabet: list[str], size: int, min_frequency: int) -> Any:
        """The library's model, with the special tokens as its first ids."""

    def train(self, model: Any, trainer: Any, texts: Iterator[str]) -> tokenizers.Tokenizer:
        """The model trained by the library, on words of at most 100 characters."""
        backend = tokenizers.Tokenizer(model)
        if self.normalizer:
            backend.normalizer = self.normalizer
        backend.pre_tokenizer = self.short_words()
        backend.train_from_iterator(texts, trainer)
        return backend

    def short_words(self) -> Any:
        """The library's pre-tokenizer to learn with, whose words have at most 100 characters."""
        longest = pre_tokenizers.Split(tokenizers.Regex(f".{{{LONGEST_WORD}}}"), "isolated")
        return pre_tokenizers.Sequence([self.pre_tokenizer, longest])

    def tokenizer(self, model: Any) -> Tokenizer:
        """The model with everything around it, as it reads texts from now on."""
        backend = tokenizers.Tokenizer(model)
        if self.normalizer:
            backend.normalizer = self.normalizer
        backend.pre_tokenizer, backend.decoder = self.pre_tokenizer, self.decoder()
        backend.add_special_tokens([self.special(token) for token in SPECIAL])
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(token, SPECIAL.index(token)) for token in ("[CLS]", "[SEP]")],
        )
        return Tokenizer(backend, SETTINGS)

    def special(self, token: str) -> tokenizers.AddedToken:
        """A special token as it is found in texts."""
        lstrip = token == "[MASK]" and self.mask_takes_blanks
        return tokenizers.AddedToken(token, lstrip=lstrip, normalized=False, special=True)


class WordPiece(Learner):
    """Pieces joined by frequency, as BERT's are spelled."""

    signs = "single characters (one that begins words and stands inside others counts twice)"

    def clean(self, lowercase: bool, strip_accents: bool) -> Any:
        return normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)

    def split(self) -> Any:
        return pre_tokenizers.BertPreTokenizer()

    def decoder(self) -> Any:
        return decoders.WordPiece()

    def alphabet(self, texts: Iterator[str]) -> list[str]:
        trainer = trainers.WordPieceTrainer(vocab_size=0, show_progress=False)
        vocabulary = self.train(models.WordPiece(unk_token="[UNK]"), trainer, texts).get_vocab()
        return sorted(vocabulary, key=lambda sign: (len(sign), sign))

    def learn(self, texts: Iterator[str], alphabet: list[str], size: int, min_frequency: int) -> Any:
        first = [*SPECIAL, *alphabet]  # sorted: of equally frequent pairs, the library joins the one with smaller ids
        trainer = trainers.WordPieceTrainer(
            vocab_size=size, min_frequency=min_frequency, special_tokens=first, show_progress=False
        )
        return self.train(models.WordPiece(unk_token="[UNK]"), trainer, texts).model


class LikelyWordPiece(WordPiece):
    """Pieces joined where that raises the likelihood of the texts the most, spelled and read as BERT's."""

    def learn(self, texts: Iterator[str], alphabet: list[str], size: int, min_frequency: int) -> Any:
        first = [*SPECIAL, *alphabet]
        most = size - len(first)
        pieces = islice(likeliest_pieces(self.count_words(texts), min_frequency), most)
        vocabulary = [*first, *self.choosing(pieces, most)]
        return models.WordPiece({piece: id for id, piece in enumerate(vocabulary)}, unk_token="[UNK]")

    def count_words(self, texts: Iterator[str]) -> Counter[str]:
        """How often each word occurs, as `train` would split the texts.

        Cleaning and splitting look at nothing beyond a blank, so what stands between blanks is cleaned once however
        often it occurs.
        """
        split, words = self.short_words(), Counter[str]()
        for chunk, count in Counter(chunk for text in texts for chunk in text.split(" ")).items():
            for word, _ in split.pre_tokenize_str(self.normalizer.normalize_str(chunk)):
                words[word] += count
        return words


class BytePairs(Learner):
    """Byte-pair encoding whose alphabet is the 256 bytes."""

    signs = "bytes"
    mask_takes_blanks = True

    def clean(self, lowercase: bool, strip_accents: bool) -> Any:
        if not (lowercase or strip_accents):
            return None
        steps = [_letters(lowercase, strip_accents, clean_text=False)]
        return normalizers.Sequence([*steps, normalizers.NFC()] if strip_accents else steps)

    def split(self) -> Any:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)

    def decoder(self) -> Any:
        return decoders.ByteLevel()

    def alphabet(self, texts: Iterator[str]) -> list[str]:
        for _ in texts:
            pass
        return sorted(pre_tokenizers.ByteLevel.alphabet())

    def learn(self, texts: Iterator[str], alphabet: list[str], size: int, min_frequency: int) -> Any:
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=min_frequency,
            special_tokens=list(SPECIAL),
            initial_alphabet=alphabet,
            show_progress=False,
        )
        return self.train(models.BPE(), trainer, texts).model


class Unigram(Learner):
    """Pieces with probabilities, pruned from many until the wanted number is left."""

    def clean(self, lowercase: bool, strip_accents: bool) -> Any:
        """Blanks in front stay, since the text after a special token is cleaned by itself and may go on with one.

        What cleaning removes from the front becomes a blank, as `split` marks only what the text begins with.
        """
        removed = r"\p{Cc}\p{Cf}\p{Co}\x{FFFD}" + (r"\p{Mn}" if strip_accents else "")
        return normalizers.Sequence(
            [
                normalizers.NFKC(),
                normalizers.Replace(tokenizers.Regex(rf"\A[{removed}]+"), " "),
                _letters(lowercase, strip_accents, clean_text=True),
                normalizers.NFC(),
                normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
                normalizers.Strip(left=False),
            ]
        )

    def split(self) -> Any:
        return pre_tokenizers.Metaspace(prepend_scheme="first")  # "[MASK]." must not read "[MASK] ."

    def decoder(self) -> Any:
        return decoders.Metaspace()

    def alphabet(self, texts: Iterator[str]) -> list[str]:
        return sorted(
            self.train(models.BPE(), trainers.BpeTrainer(vocab_size=0, show_progress=False), texts).get_vocab()
        )

    def learn(self, texts: Iterator[str], alphabet: list[str], size: int, min_frequency: int) -> Any:
        trainer = trainers.UnigramTrainer(
            vocab_size=size, special_tokens=list(SPECIAL), unk_token="[UNK]", show_progress=False
        )
        trained = json.loads(self.train(models.Unigram(), trainer, texts).to_str())["model"]["vocab"]
        scores = {piece: score for piece, score in trained if piece not in SPECIAL}
        return models.Unigram([(token, 0.0) for token in SPECIAL] + _settle(scores, alphabet, size), unk_id=1)


def _letters(lowercase: bool, strip_accents: bool, clean_text: bool) -> Any:
    return normalizers.BertNormalizer(
        clean_text=clean_text, handle_chinese_chars=False, strip_accents=strip_accents, lowercase=lowercase
    )


def _settle(scores: dict[str, float], alphabet: list[str], size: int) -> list[tuple[str, float]]:
    """Unigram pieces, best first, as they are in every run and never more than fit.

    The library sums up in a changing order, so that scores differ in their last digits. To characters that earned no
    score it gives the lowest one plus 0.0001 for each before it; here they all have the lowest.
    """
    lowest = min(scores.values(), default=0.0)
    unearned = lowest + 1e-4 * len(alphabet)
    settled = {piece: round(score, 6) for piece, score in scores.items()}
    for sign in alphabet:
        if settled.get(sign, lowest) <= unearned:
            settled[sign] = round(lowest, 6)
    ranked = sorted(settled.items(), key=lambda item: (-item[1], item[0]))
    longer = [item for item in ranked if item[0] not in set(alphabet)]
    dropped = {piece for piece, _ in longer[size - len(SPECIAL) - len(alphabet) :]}
    return [item for item in ranked if item[0] not in dropped]


LEARNERS: dict[tuple[Kind, Criterion], type[Learner]] = {
    ("wordpiece", "count"): WordPiece,
    ("wordpiece", "likelihood"): LikelyWordPiece,
    ("bpe", "count"): BytePairs,
    ("unigram", "count"): Unigram,  # which never counts pairs; no criterion is asked for
}
