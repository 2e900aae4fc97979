"""The files that a corpus is read from: one by its name, those of a folder, or those that a pattern matches."""

from __future__ import annotations

from pathlib import Path

from weft.data.formats import READABLE, can_read
from weft.errors import DataError


def corpus_files(path: Path) -> list[Path]:
    """The files that a path stands for, sorted by name.

    A file stands for itself and a folder for the files directly in it that have a known suffix. A path that does not
    exist, with `*`, `?` or `[` in what is missing of it, is a pattern and stands for all files it matches, whatever
    their suffix, as who writes one means them all. Hidden files belong to neither.
    """
    if path.is_file():
        return [path]
    try:
        files = _in_folder(path) if path.is_dir() else _matching(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError(f"cannot be searched for files: {reason}", file=path) from None
    return sorted(files, key=Path.as_posix)


def _in_folder(folder: Path) -> list[Path]:
    named = [path for path in folder.iterdir() if not path.name.startswith(".") and can_read(path)]
    files = [path for path in named if path.is_file()]
    if not files:
        raise DataError(f"this folder holds no file to read; possible are: {', '.join(READABLE)}", file=folder)
    return files


def _matching(path: Path) -> set[Path]:
    base = next(parent for parent in path.parents if parent.is_dir())  # which may itself have a [ in its name
    pattern = path.relative_to(base)
    if not any(mark in str(pattern) for mark in "*?["):
        raise DataError("there is no such file or folder", file=path)
    if any("**" in part and part != "**" for part in pattern.parts):  # some versions of Python take it for *
        raise ValueError("** stands for any number of whole folders; write * for a part of a name")
    if pattern.name == "**":  # which only newer versions of Python take for files, too
        pattern /= "*"
    files = {file for file in base.glob(str(pattern)) if file.is_file()}
    files = {file for file in files if not any(part.startswith(".") for part in file.relative_to(base).parts)}
    if not files:
        raise DataError(f"no file matches this pattern; possible are: {', '.join(READABLE)}", file=path)
    return files
