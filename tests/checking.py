"""What `weft check` finds, with an encoder that is made for the test or without one, and what is measured on."""

from __future__ import annotations

from pathlib import Path

from weft.checks.findings import Finding
from weft.checks.run import run_checks
from weft.config.experiment import Experiment
from weft.data.formats import read_rows
from weft.data.records import Example
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.model.embed import TextEncoder
from weft.tasks import Task
from weft.tasks.base.examples import read_example
from weft.tokenization.tokenizer import Tokenizer
from weft.training.faults import Faults
from weft.training.prepare import prepare_with


def check(
    experiment: Experiment, base: Path, tokenizer: Tokenizer | None = None, max_length: int = 24
) -> list[Finding]:
    """All findings, for an encoder with this tokenizer that takes so many tokens."""
    source = None
    if tokenizer is not None:
        config = EncoderConfig(
            vocab_size=tokenizer.size,
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=8,
            max_position_embeddings=max_length,
        )
        source = TextEncoder(Encoder(config), tokenizer)
    return run_checks(prepare_with(experiment, base, source, Faults())).findings


def read_measured(task: Task, path: Path) -> list[Example]:
    """The rows of a file as a model is measured on them, which must be those that training reads."""
    return [example for row in read_rows(path) if (example := read_example(task, row, path)) is not None]
