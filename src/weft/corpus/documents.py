"""Raw text as documents, line by line, however long the lines are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from weft.data.formats import can_read, read_column, unknown_type
from weft.data.opening import NO_TEXT, open_bytes, refuse_workbook, suffix_of
from weft.errors import ConfigError, DataError

Documents = Literal["blocks", "file", "rows"]

_PIECE = 1 << 16  # bytes of a line that are handled at a time


def read_pieces(path: Path, documents: Documents = "blocks", column: str = "text") -> Iterator[tuple[int, str]]:
    """The lines of a file that hold text, each with the number of its document and with its line end.

    A line of more than 64 KB comes in pieces, cut before a blank where it has one, so that memory does not depend on
    the length of lines or documents.
    """
    check_kind(path, documents)
    if suffix_of(path) == ".txt":
        yield from _plain(path, documents)
        return
    for number, text in enumerate(read_column(path, column)):
        for line in text.splitlines(keepends=True):
            yield from ((number, piece) for piece in _cut_line(line) if piece.strip())


def check_kind(path: Path, documents: Documents) -> None:
    """Raise where a file is not there, is of no known type, or cannot be divided into documents as asked."""
    if documents not in get_args(Documents):
        raise ConfigError(f"documents = {documents!r} is not one of: {', '.join(get_args(Documents))}")
    if not can_read(path):
        raise DataError(unknown_type(path), file=path)
    if not path.is_file():
        raise DataError("this is a folder, not a file" if path.is_dir() else "there is no such file", file=path)
    if suffix_of(path) != ".txt" and documents != "rows":
        raise DataError(
            f"documents = {documents!r} is for plain text (.txt); in a table every row is a document: "
            'set documents = "rows"',
            file=path,
        )


def _plain(path: Path, documents: Documents) -> Iterator[tuple[int, str]]:
    document, previous, blank = 0, 0, True
    for line, text, ends in _line_pieces(path):
        if text.strip():
            document = line if documents == "rows" else document + (documents == "blocks" and blank)
            blank = False
            yield document, text
        elif ends and line != previous:  # a whole line, not what is left of one
            blank = True
        previous = line


def _line_pieces(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line number, text and whether the line ends there, for lines and pieces of long ones."""
    with open_bytes(path) as file:
        refuse_workbook(file, path)
        line, position, rest = 1, 0, b""
        while read := file.readline(_PIECE):
            raw = rest + read
            ends = len(read) < _PIECE or read.endswith(b"\n")
            cut = len(raw) if ends else _cut_at(raw)
            yield line, _decode(raw[:cut], path, line, position), ends
            rest, position = raw[cut:], position + cut
            if ends:
                line, position = line + 1, 0
        if rest:
            yield line, _decode(rest, path, line, position), True


def _cut_at(raw: bytes) -> int:
    """Where to cut the beginning of a long line: after a sentence, else before a blank, else between characters."""
    for mark, inside in ((b". ", 1), (b" ", 0)):
        at = raw.rfind(mark)
        if at > 0:
            return at + inside
    at = len(raw) - 1
    while at > max(0, len(raw) - 4) and raw[at] & 0xC0 == 0x80:  # the later bytes of a character
        at -= 1
    return at or len(raw)


def _cut_line(line: str) -> Iterator[str]:
    while len(line) > _PIECE:
        at = max(line.rfind(" ", 1, _PIECE), 0) or _PIECE
        yield line[:at]
        line = line[at:]
    yield line


def _decode(raw: bytes, path: Path, line: int, position: int) -> str:
    if b"\0" in raw:
        raise DataError(f"holds a NUL byte, {NO_TEXT}", file=path, line=line)
    try:
        return raw.decode("utf-8-sig" if line == 1 and not position else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"is not UTF-8 (byte {raw[error.start]:#04x} at position {position + error.start + 1}); convert the file, "
            "for example with: iconv -f WINDOWS-1252 -t UTF-8",
            file=path,
            line=line,
        ) from None
