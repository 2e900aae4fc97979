"""What is to be answered, from memory: texts, pairs, or the rows of a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.data.formats import Row
from weft.data.records import Input
from weft.data.tables import Frame, RowSource, Table, is_frame, open_rows
from weft.data.texts import list_texts
from weft.errors import ConfigError, DataError
from weft.model.inputs import Inputs, OtherColumns, all_of, choose_tasks, plain_texts, table_inputs
from weft.model.network import Network
from weft.tokenization.tokenizer import Text, check_texts

Given = Iterable[Text | Mapping[str, Any]] | Table | Frame


def given_inputs(network: Network, given: Given, task: str | None, columns: OtherColumns) -> Inputs:
    """What is to be answered, from memory: texts, pairs as tuples, or the rows of a frame, also as dicts.

    Rows need the columns the tasks were trained with, or `columns`; all that is wrong with them is one error.
    """
    wanted = None if task is None else [task]
    rows: Any = given if is_frame(given) else list_texts(given)
    if is_frame(given) or (rows and isinstance(rows[0], Mapping)):
        return _given_rows(network, rows, wanted, columns)
    if columns and rows:
        raise ConfigError("columns are of a frame, or of rows as dicts, but received texts; leave them out")
    check_texts(rows)
    if not rows:
        return plain_texts(iter(()), choose_tasks(network, wanted), ())
    pair = isinstance(rows[0], tuple)
    if any(isinstance(text, tuple) != pair for text in rows):
        raise DataError("received texts and pairs mixed; predict them one after the other")
    names = ("text", "text_pair")[: 1 + pair]
    cells = (text if isinstance(text, tuple) else (text,) for text in rows)
    numbered = (Row(number, dict(zip(names, row, strict=True))) for number, row in enumerate(cells, 1))
    return plain_texts(numbered, choose_tasks(network, wanted, pair), names)


def _given_rows(network: Network, given: RowSource, wanted: Sequence[str] | None, columns: OtherColumns) -> Inputs:
    """The rows of a frame, each read before any is answered; a frame without rows is as a list without texts."""
    names, (source, rows) = choose_tasks(network, wanted), open_rows(given)
    found = list(rows)
    if not found:
        return plain_texts(iter(()), names, ())
    inputs = table_inputs(source, iter(found), network, names, wanted is not None, columns)
    known, faults = dict[int, dict[str, Input]](), dict[str, None]()
    for row in found:
        try:
            known[row.line] = inputs.read(row)
        except DataError as error:
            faults[str(error)] = None
    if faults:
        raise all_of(list(faults), source)
    return replace(inputs, read=lambda row: known[row.line])
