"""Labels of a text: one of several, or any number of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, model_validator

from weft.data.cells import is_blank
from weft.data.label_words import label_texts
from weft.heads.cosine import Cosine
from weft.pooling.mean import Mean
from weft.spec import describe
from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.tasks.base.costs import CostsOption
from weft.tasks.base.spellings import SpelledTask, respell
from weft.tasks.base.text import TextTask


def _names(labels: Any) -> Any:
    """The labels of a list, or of a table of what each means."""
    return list(labels) if isinstance(labels, Mapping) else labels


class Classification(TextTask, SpelledTask):
    """Reads a text; answers with a label, or with `multilabel` with any number of labels.

    A cell with several labels is a JSON list, or one text with `separator` between the labels. A blank cell means that
    the row has no answer for this task, unless `blank` says otherwise; a lone separator, or an empty list, that no
    label applies.

    Without training rows, it answers with the label of `labels` whose words are nearest to the text.
    """

    kind: Literal["classification"] = "classification"
    example: ClassVar[Mapping[str, Any]] = {"train": "messages.csv", "text": "message", "label": "urgency"}
    multilabel: bool = False
    """Whether a row may have any number of labels, also none, instead of exactly one."""
    separator: str = "|"
    """What stands between the labels of a cell that is one text, with `multilabel`."""
    blank: Literal["skip", "none"] = "skip"
    """What a blank cell means, with `multilabel`: that nobody has answered, so that the row is passed over (`skip`), or
    that no label applies (`none`), which is learned and measured as any answer."""
    labels: Annotated[
        tuple[str, ...] | None, BeforeValidator(_names, json_schema_input_type=tuple[str, ...] | dict[str, str] | None)
    ] = None
    """All labels in order; those that occur in training by default. `ordinal` losses need the order.

    A table names and describes them: {refund = "The customer wants money back."}.
    """
    descriptions: dict[str, str] | None = None
    """What `labels` mean, by label, as a table of `labels` says it: read instead of a label's name, where there are no
    or few training rows. Words that could stand in the texts do best."""
    costs: CostsOption | None = None
    """What wrong answers cost, by the true label and the one answered, e.g. {urgent = {non-urgent = 20}}; others 1."""

    @model_validator(mode="before")
    @classmethod
    def _read_table(cls, data: Any) -> Any:
        """A table of labels as their names and what each means."""
        labels = data.get("labels") if isinstance(data, Mapping) else None
        if not isinstance(labels, Mapping):
            return data
        if data.get("descriptions") is not None:
            raise ValueError("labels are described twice, by their table and by descriptions; leave one of them out")
        wrong = [label for label, text in labels.items() if not isinstance(text, str)]
        if wrong:
            received = describe(labels[wrong[0]])
            raise ValueError(f'labels is a table of NAME = "what it means", in words; received {received} for one')
        return {**data, "descriptions": {name: text for name, text in labels.items() if text}}

    @model_validator(mode="after")
    def _describes_labels(self) -> Self:
        if unknown := [name for name in self.descriptions or {} if name not in (self.labels or ())]:
            raise ValueError(
                f"descriptions is about {len(unknown)} that labels does not name; describe labels in one table: "
                'labels = {NAME = "what it means"}'
            )
        return self

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        return [{}, {"multilabel": True}, {"costs": {"a": {"b": 3.0}}}]

    def respell(self, cell: Any) -> tuple[Any, list[str]]:
        if self.blank == "none" and is_blank(cell):
            return [], []
        return respell(cell, self.map or {}, self.separator if self.multilabel else None)

    def idle_options(self) -> dict[str, str]:
        several = {"costs": "every label is decided by itself; leave it out, or leave out multilabel"}
        one = {"blank": "a row has exactly one label, so a blank cell is no answer; leave it out, or set multilabel"}
        return super().idle_options() | (several if self.multilabel else one)

    @property
    def without_rows(self) -> bool:
        return self.train is None and not self.multilabel and len(self.labels or ()) > 1

    @property
    def rows_remedy(self) -> str:
        alone = "" if self.multilabel else "; or name its labels, two or more, and it answers by their words alone"
        return super().rows_remedy + alone

    def label_text(self, label: str) -> str:
        return (self.descriptions or {}).get(label) or super().label_text(label)

    def label_texts(self) -> dict[str, str]:
        described = self.descriptions or {}
        texts = label_texts((name, described.get(name)) for name in self.labels or ())
        return dict(zip(self.labels or (), texts.values(), strict=True))  # by the names as they are written

    def settled(self, rows: int) -> Self:
        """Without rows, labels are compared with texts by angle, in the mean of the tokens, where nothing else is set.

        The first token, which conditioning methods feed, has learned nothing there.
        """
        if not self.without_rows:
            return self
        own = {"head": Cosine(), "pooling": Mean()}
        return self.model_copy(update={name: part for name, part in own.items() if name not in self.model_fields_set})

    def target(self) -> Target:
        if self.multilabel:
            return LabelsTarget(labels=self.labels or (), separator=self.separator)
        return LabelTarget(labels=self.labels or (), costs=self.costs)
