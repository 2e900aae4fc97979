"""Labels as somebody lists them: with commas between them, or in a file that may describe each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.data.formats import Row, can_read, read_rows
from weft.data.label_words import label_texts
from weft.data.opening import suffix_of
from weft.data.redact import shown_columns
from weft.errors import ConfigError, DataError

LABEL, DESCRIPTION = "label", "description"  # columns of a table of labels
_LONGEST = 60  # characters of what is called as a file
_BEFORE_DESCRIPTION = re.compile(r"\t|:(?:\s|$)")


def read_labels(given: str) -> dict[str, str]:
    """What is read of each label, by its name, from a list of names or from the file that is called so.

    A list has commas. A .txt file has a label per line, and after a tab or a colon and a blank its description; blank
    lines are passed over. A table (.csv, .tsv, .jsonl, .parquet) has a column `label` and may have `description`.
    """
    if os.path.isfile(given):
        return label_texts(_in_file(Path(given)))
    if "," not in given:
        what = repr(given) if len(given) <= _LONGEST and can_read(Path(given)) else "labels"
        raise ConfigError(
            f"received {what} without a comma, and no file is called so; write the labels with commas between them, or "
            "name a file with a label per line"
        )
    return label_texts((name, "") for name in given.split(","))


def _in_file(path: Path) -> Iterator[tuple[Any, Any]]:
    plain = suffix_of(path) == ".txt"
    for row in read_rows(path):
        if not plain:
            yield _of_table(row, path)
        elif line := row.columns["text"].strip():
            name, *description = _BEFORE_DESCRIPTION.split(line, maxsplit=1)
            yield name, "".join(description)


def _of_table(row: Row, path: Path) -> tuple[Any, Any]:
    if LABEL not in row.columns:
        columns = shown_columns(row.columns, (LABEL, DESCRIPTION), row.naming)
        raise DataError(f"has no column {LABEL!r}, which names the labels; {columns}", file=path, line=row.line)
    name = row.columns[LABEL]
    return str(name) if isinstance(name, int) else name, row.columns.get(DESCRIPTION)
