"""CoNLL files as rows: a word per line in columns, a blank line between sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from weft.data.columns import Header
from weft.data.opening import UTF8, open_text, read_lines, suffix_of
from weft.errors import DataError

Line = tuple[int, list[str]]  # number and fields

SUFFIXES = (".conll", ".bio", ".iob", ".iob2", ".bioes", ".conllu")
WRITTEN = (".conll", ".bio", ".iob2")  # whose tags are as ours: B- where a span begins, whatever stands before it

_UNIVERSAL = ".conllu"
_UNIVERSAL_COLUMNS = {"tokens": 1, "tags": 3, "lemma": 2, "upos": 3, "xpos": 4}  # after the first, which is the id
_DOCUMENT = "-DOCSTART-"


def read_conll(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line of each sentence's first word, and its columns.

    These are lists with one entry per word: `tokens`, the first; `tags`, the last, where there are several; and
    all of them as `column1`, `column2` and so on. Lines that begin a document are left out. In `.conllu` files there
    are `tokens`, `tags` (the universal part of speech), `lemma`, `upos` and `xpos`; comments are left out, and so are
    the lines of several words together (3-4) and of words that are not in the text (5.1).
    """
    universal = suffix_of(path) == _UNIVERSAL
    for sentence in _sentences(read_lines(path, encoding), path, universal):
        if not universal:
            yield sentence[0][0], _columns(sentence)
            continue
        words = [(number, fields) for number, fields in sentence if not set("-.") & set(fields[0])]
        if words:
            yield words[0][0], {name: [fields[at] for _, fields in words] for name, at in _UNIVERSAL_COLUMNS.items()}


def write_conll(path: Path, rows: Iterable[Mapping[str, Any]], header: Header = tuple) -> None:
    """A word per line with its tags behind it, a blank line after each sentence; texts without words are left out.

    Rows are columns of equal length, the words first. There is no header.
    """
    with open_text(path) as file:
        for row in rows:
            lines = list(zip(*row.values(), strict=True))
            if any(not field or set("\t\r\n") & set(field) for fields in lines for field in fields):
                raise DataError("a word is empty, or holds a tab or a line end, which no column can; write .jsonl")
            file.writelines("\t".join(fields) + "\n" for fields in lines)
            file.write("\n" if lines else "")


def _columns(sentence: list[Line]) -> dict[str, list[str]]:
    columns = [list(column) for column in zip(*(fields for _, fields in sentence), strict=True)]
    if len(columns) == 1:
        return {"tokens": columns[0]}
    numbered = {f"column{number}": column for number, column in enumerate(columns, 1)}
    return {"tokens": columns[0], "tags": columns[-1], **numbered}


def _sentences(lines: Iterator[tuple[int, str]], path: Path, universal: bool) -> Iterator[list[Line]]:
    sentence: list[Line] = []
    for number, line in lines:
        if universal and line.startswith("#"):  # elsewhere this is a word
            continue
        fields = _fields(line)
        if not fields or (not universal and fields[0] == _DOCUMENT):
            if sentence:
                yield sentence
            sentence = []
            continue
        _check(fields, number, sentence, path, universal)
        sentence.append((number, fields))
    if sentence:
        yield sentence


def _fields(line: str) -> list[str]:
    """The columns of a line: between tabs, or where it has none, between blanks. Other white space may be a word."""
    line = line.rstrip(" \r\n")
    if not line.strip(" \t"):
        return []
    return line.split("\t") if "\t" in line else [field for field in line.split(" ") if field]


def _check(fields: list[str], number: int, sentence: list[Line], path: Path, universal: bool) -> None:
    if sentence and len(fields) != len(sentence[0][1]):
        raise DataError(
            f"has {len(fields)} columns, but the sentence began with {len(sentence[0][1])} in line {sentence[0][0]}; "
            "every word of a sentence needs as many. Columns are separated by tabs, in lines without tabs by blanks, "
            "and sentences by a blank line",
            file=path,
            line=number,
        )
    needed = max(_UNIVERSAL_COLUMNS.values()) + 1
    if universal and len(fields) < needed:
        raise DataError(
            f"has {len(fields)} columns, but CoNLL-U has 10, of which the first {needed} are needed (id, form, lemma, "
            "upos, xpos); name a file of other columns .conll",
            file=path,
            line=number,
        )
