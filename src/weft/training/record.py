"""What a finished run is remembered by: the record that its report, its card and comparisons are made from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from weft.config.experiment import Experiment
from weft.data.dataset import Splits
from weft.model.evaluate import TaskResult
from weft.model.network import Network
from weft.model.predict import predict
from weft.reports.record import (
    AnnotatedText,
    BestRecord,
    EncoderRecord,
    EvaluationRecord,
    ResultRecord,
    RunRecord,
    TaskRecord,
)
from weft.training.accelerator import Hardware
from weft.training.state import TrainingState


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run beside what it learned."""

    experiment: Experiment
    base: Path  # the folder of the tasks' files
    data: Mapping[str, Splits]
    hardware: Hardware
    trained_parameters: int
    config: str  # as it was written down
    reasons: tuple[str, ...] = ()  # why it learned as it did, where a preset chose
    too_good: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by task, why figures may look so

    def record(self, state: TrainingState, results: Mapping[str, TaskResult], network: Network) -> RunRecord:
        """Everything a report shows, without any text of the users' but for those the config asks for."""
        config, choice = network.encoder.config, self.experiment.encoder
        encoder_parameters = sum(p.numel() for p in network.encoder.parameters())
        return RunRecord(
            weft=version("weft"),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            seed=self.experiment.seed,
            encoder=EncoderRecord(
                name=choice.name if choice.scratch is None else "from scratch",
                layers=config.num_hidden_layers,
                width=config.hidden_size,
                parameters=encoder_parameters,
            ),
            conditioning=network.conditioning.to_dict()["kind"],
            added_parameters=sum(p.numel() for p in network.parameters()) - encoder_parameters,
            trained_parameters=self.trained_parameters,
            device=str(self.hardware.device),
            precision=self.hardware.precision,
            seconds=state.seconds,
            peak_memory_mib=peak_memory(),
            tokens=state.tokens,
            rows=state.rows,
            row_passes=state.row_passes,
            padding_saved=1 - state.tokens / state.padded if state.padded else None,
            stopped=state.stopped,
            reasons=self.reasons,
            best=_best(state),
            tasks={name: self._task_record(name, result, network, state) for name, result in results.items()},
            history=tuple(EvaluationRecord.model_validate(entry) for entry in state.history),
            loss_history=tuple(state.loss_history),
            data=str(self.base.resolve()),
            config=self.config,
        )

    def _task_record(self, name: str, result: TaskResult, network: Network, state: TrainingState) -> TaskRecord:
        splits, asked = self.data[name], self.experiment.training.report_texts
        texts = {row.line: " / ".join(row.texts) for row in splits.report[1]} if asked else {}
        return TaskRecord(
            name=name,
            kind=self.experiment.tasks[name].to_dict()["kind"],
            metric=result.metric,
            rows={"train": len(splits.train), "dev": len(splits.dev), "test": len(splits.test)},
            reported_on=splits.report[0],
            calibrated=network.targets[name].calibratable and bool(splits.dev),
            uncalibrated_costs=network.targets[name].weighs_uncalibrated,
            chose_weights=self._chose(name, state),
            too_good=self.too_good.get(name, ()),
            result=ResultRecord.model_validate(result.to_dict()),
            sections=tuple(section.with_texts(texts, asked) for section in result.sections),
            samples=tuple(self._samples(network, name)),
        )

    def _chose(self, name: str, state: TrainingState) -> bool:
        """Whether a task's dev rows had a say in which of several weights were taken."""
        training = self.experiment.training
        telling = len(self.data[name].dev) >= training.choose_from and training.choose_by in ("overall", name)
        return telling and len(state.history) > 1

    def _samples(self, network: Network, name: str) -> list[AnnotatedText]:
        """The first texts of a task in which anything is marked, as far as the config asks for them."""
        if not network.tasks[name].gives_spans:
            return []
        rows = [one for one in self.data[name].report[1] if one.gold][: self.experiment.training.report_texts]
        answers = predict(network, [{name: row} for row in rows]) if rows else ()
        spans = [answer.predictions[name].gold for answer in answers]
        return [
            AnnotatedText.model_validate({"text": row.texts[0], "gold": row.gold, "found": found})
            for row, found in zip(rows, spans, strict=True)
        ]


def _best(state: TrainingState) -> dict[str, BestRecord]:
    at = {name: (best["phase"], best["epoch"]) for name, best in state.best.items()}  # heads are fitted without a step
    folders = {name: "." if at[name] == at["overall"] else f"best/{name}" for name in at}
    return {
        name: BestRecord.model_validate(best if name == "overall" else {**best, "folder": folders[name]})
        for name, best in state.best.items()
    }


def peak_memory() -> float | None:
    """The most memory this process has held, in MiB; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / (1024 * 1024 if sys.platform == "darwin" else 1024)
