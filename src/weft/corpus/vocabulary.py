"""Vocabularies learned from text files of any size, on the Hugging Face `tokenizers` library.

Three kinds, all in BERT's manner: [PAD] [UNK] [CLS] [SEP] [MASK] are the ids 0 to 4, and a pair of texts reads
[CLS] a [SEP] b [SEP], so that each can pretrain an encoder from scratch.

    wordpiece   BERT's own: words are split at blanks and punctuation, ## marks a piece inside a word, and a word with
                an unseen character is [UNK]
    bpe         byte-pair encoding over bytes: nothing is ever [UNK], and a cased vocabulary that keeps accents gives
                every text back unchanged but for blanks before [MASK], which the mask takes in
    unigram     the likeliest pieces under a unigram language model: words are split at blanks only, ▁ marks their
                beginning, and an unseen character is [UNK]

The files are read twice: once for their faults, their length and their alphabet, and once to learn. The same files give
the same vocabulary. The library alone does not see to that, since it walks over words in an order that differs from
process to process; so WordPiece is given its alphabet sorted, and the scores of unigram are rounded and sorted here.
"""

from __future__ import annotations

import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from weft.corpus.documents import read_pieces
from weft.data.atomic import write_atomically
from weft.data.formats import read_column
from weft.errors import ConfigError, DataError, WeftError
from weft.tokenization.tokenizer import Tokenizer

Kind = Literal["wordpiece", "bpe", "unigram"]
Progress = Callable[[Iterable[str], int | None], Iterable[str]]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SETTINGS: dict[str, Any] = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    **{f"{token[1:-1].lower()}_token": token for token in SPECIAL},
    "model_max_length": 512,
    "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    "clean_up_tokenization_spaces": False,
}
LONGEST_WORD = 100  # characters, as in BERT; the time to learn a word grows by the square of its length
LONGEST_TEXT = 5_000  # characters; the library holds dozens of bytes for each character of a text in hand


def learn_vocabulary(
    files: Sequence[Path],
    kind: Kind,
    size: int,
    *,
    min_frequency: int = 2,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    column: str = "text",
    progress: Progress = lambda texts, total: texts,
) -> Tokenizer:
    """A tokenizer whose vocabulary of at most `size` pieces is learned from files.

    Every line of a .txt file that holds text is a text (its column is `text`), and one of more than 64 KB is several;
    of the other types that `read_rows` knows, the texts are a column. Accents are stripped where letters are
    lower-cased, as in BERT, unless `strip_accents` says otherwise. Words longer than 100 characters are learned from in
    parts.

    Fewer pieces are learned where no more occur `min_frequency` times. Unigram asks instead that a longer piece occurs
    in two different words, and may drop more pieces than it must.

    `progress` wraps the texts of each of the two readings; their number is None in the first.
    """
    check_choices(files, kind, size, min_frequency)
    learner = LEARNERS[kind](lowercase, lowercase if strip_accents is None else strip_accents)
    texts = _Texts(files, column, progress)
    alphabet = learner.alphabet(iter(texts))
    if not (texts.words and alphabet):
        raise DataError(
            f"there is no word in the {texts.count:,} texts of {len(files)} files to learn from; name files with text"
        )
    needed = len(SPECIAL) + len(alphabet)
    if size < needed:
        raise ConfigError(
            f"a vocabulary of {size:,} pieces is too small: {len(SPECIAL)} special tokens and {len(alphabet):,} "
            f"{learner.signs} come before any longer piece; ask for a size of more than {needed:,}"
        )
    return learner.tokenizer(learner.learn(iter(texts), alphabet, size, min_frequency))


def check_choices(files: Sequence[Path], kind: Kind, size: int, min_frequency: int) -> None:
    """Raise for every choice that no texts could make possible."""
    faults = []
    if not files:
        faults.append("there is no file to learn from; name at least one")
    if kind not in get_args(Kind):
        faults.append(f"kind {kind!r} is not one of: {', '.join(get_args(Kind))}")
    if size <= len(SPECIAL):
        faults.append(f"size {size} leaves no room for pieces beside {len(SPECIAL)} special tokens; ask for more")
    if min_frequency < 1:
        faults.append(f"min_frequency {min_frequency} is not possible; allowed: 1 or more")
    if kind == "unigram" and min_frequency != 2:
        faults.append(f"min_frequency {min_frequency} is not possible with unigram, which always asks for 2; leave it")
    if faults:
        raise ConfigError(*faults)


class _Texts:
    """The texts of all files, in parts that the library can hold, from the beginning at every `iter`."""

    def __init__(self, files: Sequence[Path], column: str, progress: Progress) -> None:
        self.files, self.column, self.progress = files, column, progress
        self.count: int | None = None  # of texts, known after the first reading
        self.words = False  # whether there is anything but blanks

    def __iter__(self) -> Iterator[str]:
        count = 0
        texts = (text for file in self.files for text in _read_texts(file, self.column))
        for text in self.progress(texts, self.count):
            count += 1
            self.words = self.words or not (text.isspace() or not text)
            yield from parts(_without_special(text))
        self.count = count


def _read_texts(path: Path, column: str) -> Iterator[str]:
    """The texts of a file; a giant line of plain text comes in several, so that it need not fit into memory."""
    if path.suffix.lower() == ".txt" and column == "text":
        return (piece.rstrip("\r\n") for _, piece in read_pieces(path, "rows"))
    return read_column(path, column)


def parts(text: str) -> Iterator[str]:
    """A text in parts of at most 5,000 characters, which begin with a blank wherever there is one."""
    start = 0
    while len(text) - start > LONGEST_TEXT:
        blank = text.rfind(" ", start + 1, start + LONGEST_TEXT)
        end = blank if blank > 0 else start + LONGEST_TEXT
        yield text[start:end]
        start = end
    yield text[start:]


def _without_special(text: str) -> str:
    """The text without what reads as a special token, since no piece may be spelled as one."""
    if "[" in text:
        for token in SPECIAL:
            text = text.replace(token, " ")
    return text


class Learner(ABC):
    """One way to learn pieces: how texts are cleaned and split into words, and which pieces come of them."""

    signs = "single characters"  # what the alphabet consists of, in messages
    mask_takes_blanks = False  # whether [MASK] stands for the blanks before it too, as the pieces it hides do
    decoder: Any

    def __init__(self, lowercase: bool, strip_accents: bool) -> None:
        self.normalizer = self.clean(lowercase, strip_accents)
        self.pre_tokenizer = self.split()

    @abstractmethod
    def clean(self, lowercase: bool, strip_accents: bool) -> Any:
        """The library's normalizer, or None."""

    @abstractmethod
    def split(self) -> Any:
        """The library's pre-tokenizer, from texts to words."""

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
        longest = pre_tokenizers.Split(tokenizers.Regex(f".{{{LONGEST_WORD}}}"), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([self.pre_tokenizer, longest])
        backend.train_from_iterator(texts, trainer)
        return backend

    def tokenizer(self, model: Any) -> Tokenizer:
        """The model with everything around it, as it reads texts from now on."""
        backend = tokenizers.Tokenizer(model)
        if self.normalizer:
            backend.normalizer = self.normalizer
        backend.pre_tokenizer, backend.decoder = self.pre_tokenizer, self.decoder
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
    decoder = decoders.WordPiece()

    def clean(self, lowercase: bool, strip_accents: bool) -> Any:
        return normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)

    def split(self) -> Any:
        return pre_tokenizers.BertPreTokenizer()

    def alphabet(self, texts: Iterator[str]) -> list[str]:
        trainer = trainers.WordPieceTrainer(vocab_size=0, show_progress=False)
        found = self.train(models.WordPiece(unk_token="[UNK]"), trainer, texts).get_vocab()
        return sorted(found, key=lambda sign: (len(sign), sign))

    def learn(self, texts: Iterator[str], alphabet: list[str], size: int, min_frequency: int) -> Any:
        first = [*SPECIAL, *alphabet]  # sorted: of equally frequent pairs, the library joins the one with smaller ids
        trainer = trainers.WordPieceTrainer(
            vocab_size=size, min_frequency=min_frequency, special_tokens=first, show_progress=False
        )
        return self.train(models.WordPiece(unk_token="[UNK]"), trainer, texts).model


class BytePairs(Learner):
    """Byte-pair encoding whose alphabet is the 256 bytes."""

    signs = "bytes"
    mask_takes_blanks = True
    decoder = decoders.ByteLevel()

    def clean(self, lowercase: bool, strip_accents: bool) -> Any:
        if not (lowercase or strip_accents):
            return None
        steps = [_letters(lowercase, strip_accents, clean_text=False)]
        return normalizers.Sequence([*steps, normalizers.NFC()] if strip_accents else steps)

    def split(self) -> Any:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)

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

    decoder = decoders.Metaspace()

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


LEARNERS: dict[Kind, type[Learner]] = {"wordpiece": WordPiece, "bpe": BytePairs, "unigram": Unigram}


def save_vocabulary(tokenizer: Tokenizer, folder: Path) -> None:
    """Write a new tokenizer folder that weft and transformers load: complete or not at all.

    It holds `tokenizer.json`, `tokenizer_config.json` and, for WordPiece, `vocab.txt` with a piece per line.
    """
    check_target(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{folder.name}.", dir=folder.parent, ignore_cleanup_errors=True
        ) as private:
            unfinished = Path(private) / folder.name  # inside, where it has the usual permissions
            tokenizer.save(unfinished)
            if isinstance(tokenizer.backend.model, models.WordPiece):
                vocabulary = tokenizer.backend.get_vocab()
                lines = "".join(f"{piece}\n" for piece in sorted(vocabulary, key=vocabulary.__getitem__))
                write_atomically(unfinished / "vocab.txt", lambda path: path.write_text(lines, encoding="utf-8"))
            unfinished.rename(folder)
    except OSError as error:
        raise WeftError(f"cannot write {folder}: {error.strerror or error}") from None


def check_target(folder: Path) -> None:
    """Raise where the folder to be written exists."""
    if folder.exists():
        raise ConfigError(f"the output {folder} exists already; name another with --output, or remove it")


def segment_word(tokenizer: Tokenizer, word: str) -> list[str]:
    """The pieces of a word inside a text, where a blank comes before it.

    Pieces of bytes are shown as the characters they stand for, a blank as ▁; those that end within a character are
    shown as the vocabulary spells them.
    """
    backend = tokenizer.backend
    ids = backend.encode(f" {word}", add_special_tokens=False).ids
    pieces = [str(backend.id_to_token(id)) for id in ids]
    if not isinstance(backend.decoder, decoders.ByteLevel):
        return pieces
    spelled = [backend.decode([id], skip_special_tokens=False).replace(" ", "▁") for id in ids]
    return [piece if "\N{REPLACEMENT CHARACTER}" in text else text for piece, text in zip(pieces, spelled, strict=True)]


@dataclass(frozen=True, slots=True)
class Measured:
    """How a vocabulary cuts texts."""

    words: int  # between blanks
    tokens: int
    unknown: int  # tokens that are [UNK]


def measure(tokenizer: Tokenizer, files: Sequence[Path], column: str = "text", texts: int = 10_000) -> Measured:
    """Words, tokens and unknown tokens of the first texts of files."""
    words = tokens = unknown = 0
    first = islice((text for file in files for text in _read_texts(file, column)), texts)
    pieces = (part for text in first for part in parts(text))
    while batch := list(islice(pieces, 256)):
        words += sum(len(text.split()) for text in batch)
        for encoding in tokenizer.backend.encode_batch_fast(batch, add_special_tokens=False):
            tokens += len(encoding.ids)
            unknown += encoding.ids.count(SPECIAL.index("[UNK]"))
    return Measured(words, tokens, unknown)
