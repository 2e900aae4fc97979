"""weft's defaults with 8, 16 and 64 labels per class beside SetFit, a probe, TF-IDF and plain fine-tuning.

    pip install setfit==1.2.0
    python benchmarks/few_labels.py weft probe tfidf fine_tuning setfit_paper setfit_default

Every method learns from the same rows, answers the same test rows and starts from the same all-MiniLM-L6-v2. Each run
is written as it ends, one file per method, so that long ones can be interrupted and go on. Seconds are not kept:
few_labels_seconds.py measures them.

    python benchmarks/few_labels.py --choose --output few_labels_settings

compares settings of the preset on rows set aside from the training files: what became the default was chosen there.
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIELDS = ("set", "per_class", "seed", "rows", "seconds", "right")
TEST_ROWS = 1000
Row = tuple[tuple[str, ...], str]  # one text or two, and the label


@dataclass(frozen=True)
class Set:
    """A data set: where its rows are and how they are named."""

    test: str
    texts: tuple[str, ...] = ("sentence",)

    @property
    def kind(self) -> str:
        return "classification" if len(self.texts) == 1 else "pair_classification"


SETS = {
    "trec": Set("test.csv"),
    "sst5": Set("dev.csv"),
    "cola": Set("dev.csv"),
    "medical_abstracts": Set("test.csv"),
    "mrpc": Set("test.csv", ("sentence1", "sentence2")),
    "symptom2disease": Set("test.csv"),
    "banking77": Set("test.csv"),
}


def read(file: Path, texts: Sequence[str]) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as opened:
        return [(tuple(row[text] for text in texts), row["label"]) for row in csv.DictReader(opened)]


def draw(rows: Sequence[Row], per_class: int, seed: int) -> list[Row]:
    """So many rows of each label, or all where there are fewer, in an order that follows from the seed."""
    by_label = defaultdict(list)
    for row in rows:
        by_label[row[1]].append(row)
    chance = random.Random(seed)
    drawn = [
        row for label in sorted(by_label) for row in chance.sample(by_label[label], len(by_label[label]))[:per_class]
    ]
    chance.shuffle(drawn)
    return drawn


def set_aside(rows: Sequence[Row], most: int) -> tuple[list[Row], list[Row]]:
    """Rows to draw from, and others to choose settings by: at most a third, the same ones whatever is drawn."""
    order = random.Random(0).sample(rows, len(rows))
    aside = min(len(rows) // 3, most)
    return order[aside:], order[:aside]


@dataclass(frozen=True)
class Job:
    """What a method is given."""

    of: Set
    train: list[Row]
    test: list[Row]
    seed: int

    @property
    def labels(self) -> list[str]:
        return [label for _, label in self.train]


Answer = tuple[float, list[str]]  # seconds of training, and a label for each test row


def setfit(job: Job, callbacks: Sequence[Any] = (), without_padding: bool = False, **recipe: Any) -> Answer:
    """SetFit with its default head, a logistic regression; `without_padding`, its encoder computes none."""
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    from weft.checkpoints.source import packaged_folder

    model = SetFitModel.from_pretrained(str(packaged_folder()), local_files_only=True)
    if without_padding:
        from peers.setfit_packed import leave_padding_out

        leave_padding_out(model.model_body)
    rows = Dataset.from_dict({"text": [texts[0] for texts, _ in job.train], "label": job.labels})
    with tempfile.TemporaryDirectory() as place:
        settings = TrainingArguments(
            output_dir=place, seed=job.seed, batch_size=16, num_epochs=1, save_strategy="no", report_to=[],
            show_progress_bar=False, **recipe,
        )  # fmt: skip
        trainer = Trainer(model=model, args=settings, train_dataset=rows, callbacks=[*callbacks])
        began = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - began
    return seconds, [str(label) for label in model.predict([texts[0] for texts, _ in job.test])]


def setfit_paper(job: Job) -> Answer:
    """As in its paper: twenty pairs of each kind for every row."""
    return setfit(job, without_padding=True, num_iterations=20)


def setfit_default(job: Job) -> Answer:
    """As it comes: every pair of rows, those of one label repeated until there are as many."""
    return setfit(job, without_padding=True)


def tfidf(job: Job) -> Answer:
    """Words and pairs of words, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    began = time.perf_counter()
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(C=10, max_iter=2000)
    )
    model.fit([" ".join(texts) for texts, _ in job.train], job.labels)
    seconds = time.perf_counter() - began
    return seconds, list(model.predict([" ".join(texts) for texts, _ in job.test]))


def probe(job: Job) -> Answer:
    """The encoder as it is, logistic regression on its normalised mean states."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    import weft

    encoder = weft.load_encoder("minilm", device="cpu")

    def features(rows: list[Row]) -> Any:
        columns = [encoder.embed([texts[place] for texts, _ in rows]) for place in range(len(job.of.texts))]
        columns = [np.asarray(column) / np.linalg.norm(np.asarray(column), axis=1, keepdims=True) for column in columns]
        return columns[0] if len(columns) == 1 else np.hstack([abs(columns[0] - columns[1]), columns[0] * columns[1]])

    began = time.perf_counter()
    model = LogisticRegression(C=10, max_iter=2000).fit(features(job.train), job.labels)
    seconds = time.perf_counter() - began
    return seconds, list(model.predict(features(job.test)))


def weft_run(job: Job, **settings: Any) -> Answer:
    """weft from a config of ten lines, plus what is given."""
    import weft

    with tempfile.TemporaryDirectory() as place:
        write(Path(place) / "train.csv", job.of, job.train)
        columns = {"text": job.of.texts[0] if len(job.of.texts) == 1 else list(job.of.texts)}
        task = {"kind": job.of.kind, "train": "train.csv", **columns, "label": "label"}
        config = {"data": place, "seed": job.seed, "tasks": {"answer": task}, **settings}
        began = time.perf_counter()
        model = weft.train(config, Path(place) / "model", callback=weft.Callback())
        seconds = time.perf_counter() - began
        answers = model.predict([texts[0] if len(texts) == 1 else texts for texts, _ in job.test], task="answer")
        return seconds, [str(answer["label"]) for answer in answers]


def preset(**options: Any) -> Callable[[Job], Answer]:
    """weft with other options of its preset than the default ones, in half precision, for there are many of them."""
    return lambda job: weft_run(
        job, preset={"kind": "few_labels", "steps": 30, **options}, training={"precision": "bf16"}
    )


def tuned(**options: Any) -> Callable[[Job], Answer]:
    """weft with its preset for many labels, in half precision."""
    return lambda job: weft_run(job, preset={"kind": "fine_tuning", **options}, training={"precision": "bf16"})


def fine_tuning(job: Job) -> Answer:
    """weft without its presets: one phase from fresh heads, at rates that suit heads and encoder."""
    rates = {"epochs": 8, "learning_rate": 1e-4, "head_learning_rate": 2e-3}
    return weft_run(job, phases=[{}], training=rates)


def write(file: Path, of: Set, rows: list[Row]) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow((*of.texts, "label"))
        writer.writerows((*texts, label) for texts, label in rows)


METHODS: dict[str, Callable[[Job], Answer]] = {
    "weft": weft_run,
    "fine_tuning": fine_tuning,
    "probe": probe,
    "tfidf": tfidf,
    "setfit_paper": setfit_paper,
    "setfit_default": setfit_default,
}

SETTINGS: dict[str, Callable[[Job], Answer]] = {
    "30 steps": preset(),
    **{f"{steps} steps": preset(steps=steps) for steps in (15, 60, 120)},
    **{loss: preset(loss=loss) for loss in ("supervised_contrastive", "pairwise_cosine")},
    **{f"temperature {value}": preset(loss="supervised_contrastive", temperature=value) for value in (0.05, 0.2)},
    **{f"interpolate {value}": preset(interpolate=value) for value in (0.5, 0.99)},
    "without words": preset(words=False),
    "only fitted": lambda job: weft_run(job, phases=[{"fit": "logistic"}], training={"precision": "bf16"}),
    "only fitted without words": lambda job: weft_run(
        job, phases=[{"fit": "logistic", "words": False}], training={"precision": "bf16"}
    ),
    "fine_tuning": tuned(),
    "8 epochs": tuned(least_epochs=8),
}


def done(file: Path) -> set[tuple[str, ...]]:
    if not file.exists():
        return set()
    with file.open(encoding="utf-8", newline="") as opened:
        return {(row["set"], row["per_class"], row["seed"]) for row in csv.DictReader(opened)}


def record(file: Path, *cells: object) -> None:
    new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        if new:
            writer.writerow(FIELDS)
        writer.writerow(cells)


def packed(right: Sequence[bool]) -> str:
    """Which test rows were answered rightly, four to a hexadecimal digit."""
    bits = "".join("01"[one] for one in right).ljust(-(-len(right) // 4) * 4, "0")
    return "".join(f"{int(bits[start : start + 4], 2):x}" for start in range(0, len(bits), 4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", help=f"{', '.join(METHODS)}; or, to choose, {', '.join(SETTINGS)}")
    parser.add_argument("--choose", action="store_true", help="compare settings, on rows of the training files")
    parser.add_argument("--aside", type=int, default=500, help="rows of a training file to choose by, at most")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("docs/results/few_labels"))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--per-class", nargs="+", type=int, default=[8, 16, 64])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    known = SETTINGS if options.choose else METHODS
    methods = options.methods or list(known)
    if unknown := [name for name in methods if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    options.output.mkdir(parents=True, exist_ok=True)
    for per_class in options.per_class:
        for seed in range(1, options.seeds + 1):
            for name in options.sets:
                of = SETS[name]
                rows = read(options.data / name / "train.csv", of.texts)
                if options.choose:
                    rows, test = set_aside(rows, options.aside)
                else:
                    test = read(options.data / name / of.test, of.texts)
                    test = random.Random(0).sample(test, min(len(test), TEST_ROWS))
                train = draw(rows, per_class, seed)
                for method in methods:
                    file = options.output / f"{method.replace(' ', '_')}.csv"
                    if (name, str(per_class), str(seed)) in done(file) or (
                        method.startswith("setfit") and name == "mrpc"
                    ):
                        continue
                    seconds, answers = known[method](Job(of, train, test, seed))
                    right = [answer == label for answer, (_, label) in zip(answers, test, strict=True)]
                    record(file, name, per_class, seed, len(test), "", packed(right))
                    share = sum(right) / len(right)
                    print(
                        f"{method} {name} {per_class} per class, seed {seed}: {share:.4f} in {seconds:.1f} s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
