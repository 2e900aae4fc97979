"""`compare.csv`: one line for each task, variant and size; what is committed, and what Markdown pages are made from.

Equal records give equal bytes: numbers have six significant digits, lines end in a line feed, and cells stand in the
record's order, so that the first variant of a task is its base.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from weft.errors import DataError
from weft.reports.comparison_record import ComparisonRecord

DIGITS = 6
ALL = "all"  # as size: None
BASELINE = "baseline_"
COLUMNS = (
    *("task", "variant", "size", "seeds", "metric", "mean", "low", "high"),
    *("difference", "p", "verdict", "seconds", "parameters"),  # scripts rely on these thirteen, in this order
    *("difference_low", "difference_high", "trained_parameters", "rows", "equivalence", "lower_is_better"),
    *("p_seeds", "p_crossed", "p_rows", "diverged"),
)
OF_ALL = ("smallest_p", "seeds_needed", "quick", "unfinished")  # of the whole record: the same on every line


def write_csv(record: ComparisonRecord) -> str:
    """The text of the CSV file; the same for equal records."""
    names = list(dict.fromkeys(name for values in record.baselines.values() for name in values))
    lines = [_line([*COLUMNS, *OF_ALL, *(BASELINE + name for name in names)])]
    of_all = record.model_dump(include=set(OF_ALL))
    for cell in record.cells:
        values = cell.model_dump(include=set(COLUMNS)) | of_all
        values["size"] = ALL if cell.size is None else cell.size
        others = record.baselines.get(cell.task, {})
        lines.append(_line([_words(value) for value in (*_each(values), *map(others.get, names))]))
    return "".join(lines)


def read_csv(text: str, file: str | Path | None = None) -> ComparisonRecord:
    """What a CSV text holds of a record; raises DataError that names line, column and what is wrong there."""
    reader = csv.DictReader(io.StringIO(text, newline=""), restval="")
    bases: dict[str, str] = {}  # the first variant of each task
    lines: list[ComparisonRecord] = []
    try:
        if missing := [name for name in (*COLUMNS, *OF_ALL) if name not in (reader.fieldnames or ())]:
            raise DataError(f"the columns {', '.join(missing)} are missing; a compare.csv has them", file=file, line=1)
        for line in reader:
            is_base = bases.setdefault(line["task"], line["variant"]) == line["variant"]
            lines.append(_record(line, is_base))
    except csv.Error as error:
        raise DataError(f"cannot be read as CSV: {error}", file=file, line=reader.line_num + 1) from None
    except ValidationError as error:
        fault = error.errors()[0]
        raise DataError(fault["msg"], file=file, line=reader.line_num, column=str(fault["loc"][-1])) from None
    baselines = {task: values for one in lines for task, values in one.baselines.items() if values}
    whole = lines[0] if lines else ComparisonRecord()
    return whole.model_copy(update={"cells": tuple(one.cells[0] for one in lines), "baselines": baselines})


def _record(line: Mapping[str, str], is_base: bool) -> ComparisonRecord:
    """A line as a record of one cell."""
    names = [name for name in line if name and name.startswith(BASELINE)]
    baselines = {name.removeprefix(BASELINE): words for name, words in _said(line, names).items()}
    cell = {**_said(line, COLUMNS), "is_base": is_base}
    return ComparisonRecord.model_validate(
        {"cells": [cell], "baselines": {line["task"]: baselines}, **_said(line, OF_ALL)}
    )


def _line(values: Iterable[str]) -> str:
    """A line that ends in a line feed; a carriage return in a name is quoted, as by writers that end lines in both."""
    text = io.StringIO(newline="")
    csv.writer(text).writerow(values)
    return text.getvalue().removesuffix("\r\n") + "\n"


def _each(values: Mapping[str, object]) -> Iterable[object]:
    return (values[name] for name in (*COLUMNS, *OF_ALL))


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value + 0.0:.{DIGITS}g}"  # no minus before 0
    return "" if value is None else str(value)


def _said(line: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What a line says under these names; an empty cell, and `all` rows, say nothing."""
    return {name: line[name] for name in names if line[name] and (name, line[name]) != ("size", ALL)}
