"""What the names of columns and files say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def word_set(words: str) -> frozenset[str]:
    """The words of a line."""
    return frozenset(words.split())


_TEXT = word_set(
    "text message sentence review body content comment question utterance tweet document doc abstract description post "
    "query headline email mail title note notes passage paragraph snippet summary transcript statement input prompt "
    "complaint feedback report case request"
)
_ANSWER = word_set("label labels class classes category categories target y gold")
_ABOUT_ROWS = word_set(
    "source split fold lang language author user username country city version file filename url link channel "
    "annotator worker agent gender age location origin platform device dataset set domain date time timestamp created "
    "updated"
)
_SCORE = word_set("score similarity relatedness sim rating value")
_COMPARED = word_set(
    "duplicate duplicates duplicated dup same identical similar similarity alike paraphrase paraphrases relatedness "
    "equivalent entailment entails match matches matching gleich identisch duplikat dublette doppelt ähnlich "
    "ähnlichkeit identique doublon similaire igual idéntico duplicado duplicada parecido uguale duplicato simile"
)
_TOKENS = word_set("tokens words token word forms form")
_ID = re.compile(r"(.*[ _.-])?([a-z]?id\d*|uuid|guid|index|idx|nr|number|key|#)|(id|index)[ _.-].*|unnamed: \d+|")
_PAIRS = (("1", "2"), ("a", "b"), ("left", "right"), ("first", "second"), ("x", "y"))
_PAIRED = (
    *(("premise", "hypothesis"), ("query", "passage"), ("query", "document"), ("question", "sentence")),
    *(("question", "passage"), ("question", "answer"), ("context", "response"), ("original", "paraphrase")),
)
_SPLITS = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("dev", "devel", "valid", "validation", "val", "eval"), "dev"),
    **dict.fromkeys(("test", "testing", "tst"), "test"),
}
_PART = re.compile(r"[^\W_]+")


def words_of(name: str) -> list[str]:
    """The words of a name in small letters: `fineLabel_2` is fine, label, 2."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.findall(r"[^\W\d_]+|\d+", apart)]


def is_called_text(name: str) -> bool:
    return not _TEXT.isdisjoint(words_of(name))


def is_called_answer(name: str) -> bool:
    return not _ANSWER.isdisjoint(words_of(name))


def is_called_plainly(name: str) -> bool:
    """Whether a name says that this is the answer, and not what is asked for."""
    return set(words_of(name)) <= _ANSWER | _SCORE


def is_called_score(name: str) -> bool:
    return not _SCORE.isdisjoint(words_of(name))


def is_called_comparison(name: str) -> bool:
    """Whether a name asks how two texts stand to each other."""
    return not _COMPARED.isdisjoint(words_of(name))


def is_about_rows(name: str) -> bool:
    """Whether a name says where a row comes from, and not what it says."""
    return not _ABOUT_ROWS.isdisjoint(words_of(name))


def is_called_id(name: str) -> bool:
    return _ID.fullmatch(name.strip().lower()) is not None


def is_called_tokens(name: str) -> bool:
    return words_of(name)[:1] != [] and words_of(name)[-1] in _TOKENS


def find_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """The names that belong together as the two texts of a pair, in order: sentence1 and sentence2."""
    lower = {name.lower(): name for name in names}
    found: dict[tuple[str, str], None] = {}
    for name in names:
        for one, other in _PAIRS:
            stem, mark = name.lower()[: -len(one)], name.lower()[-len(one) :]
            if mark == one and (stem + other) in lower and lower[stem + other] != name:
                found[name, lower[stem + other]] = None
    found |= {(lower[one], lower[other]): None for one, other in _PAIRED if one in lower and other in lower}
    return list(found)


def split_of(stem: str) -> tuple[str | None, str]:
    """Which split a file is by its name, and the name without that: `trec_train` is train of trec."""
    for match in _PART.finditer(stem):
        if (split := _SPLITS.get(match[0].lower())) is not None:
            rest = [stem[: match.start()].strip(" _.-"), stem[match.end() :].strip(" _.-")]
            return split, "_".join(filter(None, rest))
    return None, stem


def plain_name(wanted: str, taken: Iterable[str]) -> str:
    """A name that a task may have, with a number where another task is called so."""
    name = re.sub(r"[^\w-]+", "_", wanted).strip("_") or "task"
    used = {*taken, "overall", "truncated", "empty"}
    if name not in used:
        return name
    return next(found for number in range(2, len(used) + 3) if (found := f"{name}_{number}") not in used)
