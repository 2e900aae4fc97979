"""weft: one encoder, many tasks, few labels.

The names below are what users and plugins rely on. They are imported on first use, so that `import weft` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.comparison.progress import ComparisonCallback, MeanSoFar
    from weft.comparison.result import Comparison
    from weft.comparison.run import compare
    from weft.conditioning import Conditioning, NetworkShape
    from weft.corpus.loading import CorpusFormat, CorpusLoader, CorpusSource
    from weft.corpus.rows import ResampledRows
    from weft.data.dataset import Dataset, Prepared, Splits
    from weft.data.formats import Row
    from weft.data.predictions import PlainPrediction, PredictedSpan, Prediction
    from weft.data.records import Example, Gold, Input, Span, Tokens
    from weft.data.tables import Frame, RowsInMemory, Table
    from weft.encoder.attention import SelfAttention
    from weft.encoder.conditioner import Conditioner, Readout
    from weft.encoder.config import EncoderConfig
    from weft.encoder.encoder import Encoder
    from weft.errors import CheckpointError, ConfigError, DataError, EmptyTextWarning, TruncationWarning, WeftError
    from weft.heads import Head
    from weft.layers.features import Features
    from weft.losses import Loss, LossFunction, TargetType
    from weft.metrics.outcomes import Outcomes
    from weft.metrics.outcomes.means import MeanOutcomes
    from weft.metrics.sections import Section
    from weft.metrics.wrong_rows import Mistake
    from weft.model.devices import Device
    from weft.model.embed import EmbedOptions, TextEncoder, TextVectors, load_encoder
    from weft.model.evaluate import TaskResult
    from weft.model.inspection import Inspection, Piece, ReadRow, ReadText, Word
    from weft.model.model import Model, load
    from weft.model.results import TaskResults
    from weft.model.zero_shot import zero_shot
    from weft.pooling import Pooler
    from weft.reports.comparison_record import CellRecord, ClassDifference, ComparisonRecord, PairRecord
    from weft.sampling import Sampler
    from weft.spec import Spec
    from weft.targets import FittedTarget, Measures, Target
    from weft.tasks import Task
    from weft.tensors import (
        Batch,
        BoundaryIndex,
        FirstTokenAttention,
        Indices,
        MaskIndex,
        PairIndex,
        Scores,
        SpanIndex,
        States,
        WordIndex,
    )
    from weft.tokenization.examples import MaskedTokens, SubWords, TokenizedExample
    from weft.tokenization.tokenizer import Text, TokenizedRow, Tokenizer
    from weft.tokenization.windows import Window
    from weft.tokenization.words import Words
    from weft.training.estimator import Estimator
    from weft.training.progress import Callback
    from weft.training.run import train

    __version__: str

__all__ = [
    "Batch",
    "BoundaryIndex",
    "Callback",
    "CellRecord",
    "CheckpointError",
    "ClassDifference",
    "Comparison",
    "ComparisonCallback",
    "ComparisonRecord",
    "Conditioner",
    "Conditioning",
    "ConfigError",
    "CorpusFormat",
    "CorpusLoader",
    "CorpusSource",
    "DataError",
    "Dataset",
    "Device",
    "EmbedOptions",
    "EmptyTextWarning",
    "Encoder",
    "EncoderConfig",
    "Estimator",
    "Example",
    "Features",
    "FirstTokenAttention",
    "FittedTarget",
    "Frame",
    "Gold",
    "Head",
    "Indices",
    "Input",
    "Inspection",
    "Loss",
    "LossFunction",
    "MaskIndex",
    "MaskedTokens",
    "MeanOutcomes",
    "MeanSoFar",
    "Measures",
    "Mistake",
    "Model",
    "NetworkShape",
    "Outcomes",
    "PairIndex",
    "PairRecord",
    "Piece",
    "PlainPrediction",
    "Pooler",
    "PredictedSpan",
    "Prediction",
    "Prepared",
    "ReadRow",
    "ReadText",
    "Readout",
    "ResampledRows",
    "Row",
    "RowsInMemory",
    "Sampler",
    "Scores",
    "Section",
    "SelfAttention",
    "Span",
    "SpanIndex",
    "Spec",
    "Splits",
    "States",
    "SubWords",
    "Table",
    "Target",
    "TargetType",
    "Task",
    "TaskResult",
    "TaskResults",
    "Text",
    "TextEncoder",
    "TextVectors",
    "TokenizedExample",
    "TokenizedRow",
    "Tokenizer",
    "Tokens",
    "TruncationWarning",
    "WeftError",
    "Window",
    "Word",
    "WordIndex",
    "Words",
    "compare",
    "load",
    "load_encoder",
    "train",
    "zero_shot",
]

if not TYPE_CHECKING:  # to a type checker, a name that is not above does not exist
    _MODULES = {
        "comparison.progress": ("ComparisonCallback", "MeanSoFar"),
        "comparison.result": ("Comparison",),
        "comparison.run": ("compare",),
        "conditioning": ("Conditioning", "NetworkShape"),
        "corpus.loading": ("CorpusFormat", "CorpusLoader", "CorpusSource"),
        "corpus.rows": ("ResampledRows",),
        "data.dataset": ("Dataset", "Prepared", "Splits"),
        "data.formats": ("Row",),
        "data.predictions": ("PlainPrediction", "PredictedSpan", "Prediction"),
        "data.records": ("Example", "Gold", "Input", "Span", "Tokens"),
        "data.tables": ("Frame", "RowsInMemory", "Table"),
        "encoder.attention": ("SelfAttention",),
        "encoder.conditioner": ("Conditioner", "Readout"),
        "encoder.config": ("EncoderConfig",),
        "encoder.encoder": ("Encoder",),
        "errors": ("CheckpointError", "ConfigError", "DataError", "EmptyTextWarning", "TruncationWarning", "WeftError"),
        "heads": ("Head",),
        "layers.features": ("Features",),
        "losses": ("Loss", "LossFunction", "TargetType"),
        "metrics.outcomes": ("Outcomes",),
        "metrics.outcomes.means": ("MeanOutcomes",),
        "metrics.sections": ("Section",),
        "metrics.wrong_rows": ("Mistake",),
        "model.devices": ("Device",),
        "model.embed": ("EmbedOptions", "TextEncoder", "TextVectors", "load_encoder"),
        "model.evaluate": ("TaskResult",),
        "model.inspection": ("Inspection", "Piece", "ReadRow", "ReadText", "Word"),
        "model.model": ("Model", "load"),
        "model.results": ("TaskResults",),
        "model.zero_shot": ("zero_shot",),
        "pooling": ("Pooler",),
        "reports.comparison_record": ("CellRecord", "ClassDifference", "ComparisonRecord", "PairRecord"),
        "sampling": ("Sampler",),
        "spec": ("Spec",),
        "targets": ("FittedTarget", "Measures", "Target"),
        "tasks": ("Task",),
        "tensors": (
            "Batch",
            "BoundaryIndex",
            "FirstTokenAttention",
            "Indices",
            "MaskIndex",
            "PairIndex",
            "Scores",
            "SpanIndex",
            "States",
            "WordIndex",
        ),
        "tokenization.examples": ("MaskedTokens", "SubWords", "TokenizedExample"),
        "tokenization.tokenizer": ("Text", "TokenizedRow", "Tokenizer"),
        "tokenization.windows": ("Window",),
        "tokenization.words": ("Words",),
        "training.estimator": ("Estimator",),
        "training.progress": ("Callback",),
        "training.run": ("train",),
    }
    _MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module("importlib.metadata").version("weft")
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'weft' has no attribute {name!r}; public names: {', '.join(__all__)}")
        return getattr(import_module(f"weft.{_MODULE_OF[name]}"), name)

    def __dir__() -> list[str]:
        return __all__
