"""Everything that makes training impossible, gathered instead of stopping at the first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.errors import ConfigError, DataError, Fault, WeftError


class Faults:
    """Faults by the dotted path of the config that each is about, in the order they were found; each once."""

    def __init__(self) -> None:
        self._found: dict[Fault, type[WeftError]] = {}

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, path: str, message: str, error: type[WeftError] = ConfigError) -> None:
        """Note a fault, and which error it would have been."""
        self._found.setdefault(Fault(path, message), error)

    @contextmanager
    def catch(self, path: str) -> Iterator[None]:
        """Note what is raised inside as a fault at this path, or further in where the error names a path from there."""
        try:
            yield
        except ConfigError as error:
            for fault in error.located:
                self.add(".".join(filter(None, (path, fault.path))), fault.message)
        except WeftError as error:
            self.add(path, str(error), type(error))

    def raise_all(self) -> None:
        """Raise one error with all of them, if there are any; a DataError where all are about data."""
        if not self._found:
            return
        if set(self._found.values()) == {DataError}:
            raise DataError("\n".join(map(str, self._found)))
        raise ConfigError(*self._found)
