"""What the tasks say about a row, and how many of the rows they could not read whole or at all."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.data.predictions import Prediction
from weft.errors import EmptyTextWarning, TruncationWarning
from weft.model.inputs import FLAGS
from weft.model.network import Network


@dataclass(frozen=True)
class Answer:
    """What the tasks say about one row, and which of them did not read all of it, or had nothing to read."""

    predictions: dict[str, Prediction]
    truncated: frozenset[str]  # tasks whose text was longer than they read
    empty: frozenset[str]  # tasks whose text, or one of whose two texts, has no tokens

    def flags(self) -> dict[str, bool]:
        """Whether a text was cut and whether there was nothing to read, for any of the tasks."""
        return dict(zip(FLAGS, (bool(self.truncated), bool(self.empty)), strict=True))


@dataclass
class Tally:
    """How many of some rows were cut, and in how many there was nothing to read."""

    rows: int = 0
    truncated: int = 0
    empty: int = 0
    cut_by: set[str] = field(default_factory=set)  # tasks

    def add(self, answer: Answer) -> Answer:
        self.rows += 1
        self.truncated += bool(answer.truncated)
        self.empty += bool(answer.empty)
        self.cut_by |= answer.truncated
        return answer

    def warnings(self, network: Network) -> list[UserWarning]:
        """A sentence about each of the two, where there is anything to say."""
        found: list[UserWarning] = []
        if self.truncated:
            limits = ", ".join(
                f"{name}: {network.max_length(name)} tokens" for name in network.tasks if name in self.cut_by
            )
            texts = f"{self.truncated:,} of {self.rows:,} rows were longer than what is read of them and were cut"
            found.append(TruncationWarning(f"{texts} ({limits}); `truncated` says which"))
        if self.empty:
            texts = f"{self.empty:,} of {self.rows:,} rows had nothing to read"
            found.append(
                EmptyTextWarning(f"{texts}; labels and scores given for them mean nothing; `empty` says which")
            )
        return found
