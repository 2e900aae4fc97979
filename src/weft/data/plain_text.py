"""Plain text: UTF-8 lines with their numbers, each of which is a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from weft.errors import DataError


def read_plain_text(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line as a text; a blank line is an empty one."""
    return ((number, {"text": line.rstrip("\r\n")}) for number, line in read_lines(path))


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file, with their line ends."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", file=path) from None
    with file:
        yield from decode_lines(file, path)


def decode_lines(stream: Iterable[bytes], name: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of an open stream, decoded one by one so that a bad one can be named."""
    for number, raw in enumerate(stream, 1):
        if b"\0" in raw:
            raise DataError(
                "holds a NUL byte, so this is not plain text; save the file as UTF-8", file=name, line=number
            )
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise DataError(
                f"is not UTF-8 (byte {byte:#04x} at position {error.start + 1}); convert the file, for example "
                "with: iconv -f WINDOWS-1252 -t UTF-8",
                file=name,
                line=number,
            ) from None
