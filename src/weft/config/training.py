"""How the weights are learned: batches, rates, what is measured on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from weft.spec import Spec


def _default_rows(given: dict[str, Any]) -> int | None:
    return 32 if given.get("batch_tokens") is None else None


class Batching(Spec):
    """How rows are gathered into batches: by their number, by their tokens, or until either is reached."""

    renamed: ClassVar[Mapping[str, str]] = {"by_length": "group_by_length"}

    batch_tokens: Annotated[int, Field(ge=1)] | None = None
    """The most tokens a batch may hold; no limit if unset. A row that alone has more is a batch of its own."""

    batch_size: Annotated[int, Field(ge=1)] | None = Field(default_factory=_default_rows)
    """The most rows a batch may hold; if unset, 32 without `batch_tokens` and no limit with it."""

    group_by_length: bool = False
    """Whether a batch gathers rows of about the same length.

    No padding is saved, for weft has none; but rows of one length share one attention call, so each step makes fewer
    calls. With `batch_size` alone, steps then differ more in tokens; with `batch_tokens` they do not.
    """


class Training(Batching):
    """How the weights are learned."""

    renamed: ClassVar[Mapping[str, str]] = {
        "schedule": "lr_scheduler_type",
        "accumulate": "gradient_accumulation_steps",
        "dev_rows": "max_dev_rows",
        "early_stopping": "early_stopping_patience",
        "samples": "report_texts",
        "trackers": "report_to",
    }

    epochs: Annotated[int, Field(ge=1)] | None = None
    """Passes over the rows; by the preset if unset."""
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    """Of the encoder; by the preset if unset."""
    head_learning_rate: Annotated[float, Field(gt=0)] | None = None
    """For everything outside the encoder; by the preset if unset."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    """How strongly weights are drawn to zero in each step (AdamW); biases and norms are not."""
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Factor on the learning rate from each layer to the one below."""
    warmup_ratio: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of the steps of a phase in which the learning rate rises from near zero to its full value."""
    lr_scheduler_type: Literal["linear", "cosine", "constant"] = "linear"
    """How the learning rate falls after warm-up; `constant` does not."""
    max_grad_norm: Annotated[float, Field(ge=0)] = 1.0
    """Longest gradient of a step; 0 for no limit."""
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None
    """How much of a running average of the weights each step keeps: with 0.99 it is that of about the last hundred
    steps. The average is measured and kept in place of the last weights; there is none if unset."""
    gradient_accumulation_steps: Annotated[int, Field(ge=1)] | None = None
    """Batches per step of the optimizer; 1 if unset, and one per task with `pcgrad`."""
    loss_weights: Literal["fixed", "uncertainty"] = "fixed"
    """`fixed`: each task's `weight`; `uncertainty`: learned beside it (Kendall et al. 2018)."""
    conflict: Literal["ignore", "pcgrad"] = "ignore"
    """What to do where tasks' gradients point against each other (`pcgrad`: Yu et al. 2020)."""
    gradient_agreement: bool = True
    """Whether to measure after each epoch how far the tasks' gradients point the same way."""
    max_dev_rows: Annotated[int, Field(ge=1)] = 2000
    """Most dev rows per task to look at after each epoch; the final report looks at all."""
    early_stopping_patience: Annotated[int, Field(ge=1)] | None = None
    """Stop a phase after so many evaluations without gain."""
    choose_by: str = "overall"
    """What the best weights are: `overall` (mean gain over each task's majority baseline), or a task's name."""
    choose_from: Annotated[int, Field(ge=1)] = 100
    """The fewest dev rows that weights are chosen by: fewer cannot tell one epoch from the next. A task with fewer has
    no say; where no task has, the last weights are taken."""
    keep_best_per_task: bool = True
    """Also keep the weights that were best for each task, in `best/`."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """`auto`: bf16 on a GPU that has it, else fp32."""
    baselines: bool = True
    """Also measure the commonest answer and a method without an encoder, to see whether the encoder earns its keep."""
    report_texts: Annotated[int, Field(ge=0)] = 0
    """How many texts of each task the report shows: those of the most confident mistakes, and for spans also some with
    their true and predicted spans. None unless asked for: not everybody who may read a report may read the texts."""
    report_to: tuple[Literal["tensorboard", "mlflow", "wandb"], ...] = ()
    """Where else to log, through accelerate; nowhere by default."""
