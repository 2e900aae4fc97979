"""Files of text as they are opened: plain or compressed (`.gz`), in the encoding that somebody says, or UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from weft.errors import DataError

UTF8 = "utf-8"
COMPRESSED = ".gz"
NO_TEXT = "so this is no text file, or a damaged one; export its rows anew, as CSV in UTF-8 for example"

_EXCEL = "cp1252"  # what Excel's "CSV" is in western Europe
_WORKBOOKS = (b"PK\3\4", b"\xd0\xcf\x11\xe0")  # how .xlsx, .ods and .zip begin, and the older .xls
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")  # bytes that hardly any text holds
_UNPACKING = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True)
class EncodedFile(os.PathLike[str]):
    """A file whose texts are in another encoding than UTF-8."""

    path: Path
    encoding: str

    def __fspath__(self) -> str:
        return str(self.path)


def suffix_of(path: Path) -> str:
    """What says how a file is written, in small letters: `.csv`, also of `x.csv.gz`."""
    inner = path.with_suffix("") if path.suffix.lower() == COMPRESSED else path
    return inner.suffix.lower()


def check_encoding(name: str) -> str:
    """The encoding of this name; a ValueError where there is none in which texts could be."""
    try:
        if codecs.lookup(name)._is_text_encoding:
            return name
    except (LookupError, ValueError):  # the latter of a name with a NUL
        pass
    raise ValueError(f"{name!r} is no encoding; allowed are such as utf-8, cp1252 (Excel's CSV), latin-1, utf-16")


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """A file to read, unpacked where it is compressed; DataError where it cannot be opened or unpacked."""
    try:
        with gzip.open(path) if path.suffix.lower() == COMPRESSED else path.open("rb") as file:
            yield file  # type: ignore[misc]
    except _UNPACKING:
        raise DataError(
            "is no whole .gz file; copy it anew, or name it without .gz if it is plain", file=path
        ) from None
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", file=path) from None


@contextmanager
def open_text(path: Path, encoding: str = UTF8, newline: str | None = "") -> Iterator[IO[str]]:
    """A file to write, packed where its name says so; the same texts give the same bytes at any time."""
    with path.open("wb") as file:
        packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.suffix.lower() == COMPRESSED else None
        with io.TextIOWrapper(packed or file, encoding=encoding, newline=newline) as text:
            yield text


def read_lines(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file, with their line ends."""
    with open_bytes(path) as file:
        yield from decode_lines(file, path, encoding)


def decode_lines(stream: IO[bytes], name: Path, encoding: str = UTF8) -> Iterator[tuple[int, str]]:
    """The numbered lines of an open stream; `name` is what errors call it."""
    refuse_workbook(stream, name)
    utf8 = _is_utf8(encoding) or _begins(stream, codecs.BOM_UTF8)  # what a file says of itself holds for it alone
    yield from _decode_utf8(stream, name) if utf8 else _decode(stream, name, encoding)


def refuse_workbook(stream: IO[bytes], name: Path) -> None:
    """Raise where what is to be read as text begins as zip files and workbooks do."""
    if _begins(stream, *_WORKBOOKS):
        raise DataError(
            "is a workbook of Excel or another zip file, and no text, whatever its name says; open a workbook and save "
            "its sheet as CSV (in Excel: CSV UTF-8), or unpack a zip file, and name what comes out",
            file=name,
        )


def _begins(stream: IO[bytes], *marks: bytes) -> bool:
    """Whether a stream begins with one of these marks; one in memory does not say."""
    peek = getattr(stream, "peek", None)
    return peek is not None and bytes(peek(4)[:4]).startswith(marks)


def _decode_utf8(stream: IO[bytes], name: Path) -> Iterator[tuple[int, str]]:
    """Each line as soon as it is there, decoded by itself so that a bad one can be named."""
    for number, raw in enumerate(stream, 1):
        if b"\0" in raw:
            problem = f"holds a NUL byte, {NO_TEXT}"
            if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                problem = f"is UTF-16, not UTF-8; {_remedy('utf-16')}"
            raise DataError(problem, file=name, line=number)
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else UTF8)
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            where = f"is not UTF-8 (byte {byte:#04x} at position {error.start + 1})"
            raise DataError(f"{where}{_likely(raw)}", file=name, line=number) from None


def _decode(file: IO[bytes], name: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Lines of any encoding, ended by line feeds alone, as those of UTF-8 are."""
    number, text = 0, io.TextIOWrapper(file, encoding=encoding, newline="\n")
    try:
        for number, line in enumerate(text, 1):
            yield number, line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeError:
        problem = f"is not {encoding}, or not from here on; leave the encoding out for UTF-8, or name another"
        raise DataError(problem, file=name, line=number + 1) from None
    finally:
        text.detach()  # whoever opened the file closes it


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def _likely(raw: bytes) -> str:
    """What a line that is no UTF-8 probably is, and how to say so."""
    if not _CONTROLS.isdisjoint(raw):
        return f" and holds control characters, {NO_TEXT}"
    try:
        raw.decode(_EXCEL)
    except UnicodeDecodeError:
        return f"; save the file as UTF-8, or say which encoding it has, as {_said('latin-1')}"
    return f"; probably it is Windows-1252, as Excel saves CSV; {_remedy(_EXCEL)}"


def _remedy(encoding: str) -> str:
    return f"say {_said(encoding)}, or save the file as UTF-8 (in Excel: CSV UTF-8)"


def _said(encoding: str) -> str:
    return f'--encoding {encoding} (in a config, encoding = "{encoding}" of the task)'
