"""Presets: how to learn where a config does not say, one kind per file.

A preset looks at what is known of the tasks' rows and gives parts of a config, which anybody could have written: phases
and settings of training. `weft train CONFIG --show-config` prints them. What a config names itself is never changed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.spec import Spec


@dataclass(frozen=True)
class TaskFacts:
    """What a preset may know of a task."""

    rows: int  # to learn from
    labels: int  # of whole rows; 0 for tasks that have none
    rows_per_label: float  # of the label in the middle
    contrasts: bool  # whether rows can be brought together by their labels
    fits: bool  # whether its head can be fitted at once
    exclusive: bool = True  # whether a row has one label at most


@dataclass(frozen=True)
class Facts:
    """What a preset may know of a run."""

    tasks: Mapping[str, TaskFacts]
    batch_size: int  # rows of a batch, about
    raw: bool = False  # whether there is raw text among what is learned from, of which nothing is known before
    frozen: bool = False  # the encoder, by the config
    conditioned: bool = False  # whether a method adds weights that must be learned
    named: tuple[str, ...] = ()  # settings by which the config says how to learn


@dataclass(frozen=True)
class Expansion:
    """Parts of a config, and one line on each choice."""

    phases: list[dict[str, Any]] = field(default_factory=list)
    training: dict[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


class Preset(Spec, root=True):
    """The root of all presets."""

    @abstractmethod
    def expand(self, facts: Facts) -> Expansion:
        """The parts of a config that it stands for."""


def has_few_labels(facts: TaskFacts) -> bool:
    """Whether so few rows tell what a task is about that fine-tuning alone would not be the best to do.

    Of many labels, of which a row has one, all rows together are soon enough to fine-tune by.
    """
    many = facts.exclusive and facts.labels > FEW_LABELS
    most = _FEW_OF_MANY if many else _FEW
    return facts.labels > 0 and facts.rows_per_label <= (most if facts.contrasts else 1)


FEW_LABELS = 6  # more of them are many
_FEW, _FEW_OF_MANY = 100, 15  # rows of a label
