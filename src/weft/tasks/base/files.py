"""Where a task's rows come from: files, rows in memory, or a share of the training rows."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.json_schema import SkipJsonSchema

from weft.data.opening import UTF8, check_encoding
from weft.data.tables import RowsInMemory
from weft.spec import Spec, describe


def _file_or_rows(value: Any) -> Any:
    if value is None or isinstance(value, str | RowsInMemory):
        return value
    raise ValueError(f"write the name of a file; received {describe(value)}")


def _files_or_rows(value: Any) -> Any:
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    if value is None or isinstance(value, str | RowsInMemory):
        return value
    raise ValueError(f"write the name of a file, a pattern such as part-*.csv, or a list; received {describe(value)}")


def _file_rows_or_share(value: Any) -> Any:
    share = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1
    if value is None or share or isinstance(value, str | RowsInMemory):
        return value
    raise ValueError(
        f"write the name of a file, or the share of the training rows to hold out, from 0 (none) to below 1; received "
        f"{describe(value)}"
    )


DEV_SHARE = 0.1  # of plenty of training rows

GivenRows = Annotated[InstanceOf[RowsInMemory], SkipJsonSchema()]
RowsOption = Annotated[str | GivenRows | None, BeforeValidator(_file_or_rows)]
FilesOption = Annotated[str | tuple[str, ...] | GivenRows | None, BeforeValidator(_files_or_rows)]
RowsOrShareOption = Annotated[
    str | Annotated[float, Field(ge=0, lt=1)] | GivenRows | None, BeforeValidator(_file_rows_or_share)
]


class TaskFiles(Spec):
    """Where a task's rows come from; no part of a trained model, and not stored with it.

    In Python, a table (pandas, polars, Arrow), a `datasets.Dataset` or rows as dicts may stand for a file.
    """

    train: FilesOption = None
    """File of the training rows (.csv, .tsv, .jsonl, .parquet; words and their tags also .conll, .bio, .conllu).

    Also several: a list of files, or a pattern (`part-*.csv`) for all that it matches, sorted by name.
    """
    dev: RowsOrShareOption = None
    """File of the rows to choose by, or the share of the training rows to hold out for that, 0 for none.

    If unset, a tenth of them where there are 400 or more and most labels have 40; fewer are all needed to learn from.
    """
    test: RowsOption = None
    """File of the rows to report on; the dev rows where there is none."""
    encoding: Annotated[str, AfterValidator(check_encoding)] = UTF8
    """In which encoding the files are, such as cp1252 for Excel's CSV."""
    fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the training rows to use, by label and seed."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Most training rows to use, by label and seed."""
    test_limit: Annotated[int, Field(ge=1)] | None = None
    """Most rows of the test file to report on, by label; the same rows whatever the seed."""

    def files(self) -> dict[str, tuple[str, ...]]:
        """The files that are named, by split."""
        return {split: source for split, source in self.sources().items() if isinstance(source, tuple)}

    def sources(self) -> dict[str, tuple[str, ...] | RowsInMemory]:
        """The files that are named and the rows that are given, by split."""
        named = {"train": self.train, "dev": self.dev, "test": self.test}
        listed = {split: (source,) if isinstance(source, str) else source for split, source in named.items()}
        return {split: source for split, source in listed.items() if isinstance(source, tuple | RowsInMemory)}

    @property
    def dev_share(self) -> float | None:
        """The share of the training rows to hold out, if unset that of plenty; None where dev rows are given."""
        return DEV_SHARE if self.dev is None else self.dev if isinstance(self.dev, float) else None

    @model_serializer(mode="wrap")
    def _without_rows(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The options; rows in memory are no part of a config that is written down."""
        given = self.sources().keys() - self.files().keys()
        plain = self.model_copy(update={name: type(self).model_fields[name].default for name in given})
        return {name: value for name, value in serialize(plain).items() if name not in given}

    def keep(self, rows: int) -> int:
        """How many of so many training rows `fraction` and `limit` leave."""
        size = rows if self.fraction is None else max(1, round(self.fraction * rows))
        return min(size, self.limit or size)
