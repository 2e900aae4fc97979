"""Small rows of several kinds, and runs on them, for tests of what runs share."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.checkpoints.safetensors import digest, read_file
from weft.tokenization.tokenizer import Tokenizer
from weft.training.progress import Callback
from weft.training.run import train_one_of_many
from weft.training.shared import Shared

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]
FOX = {"kind": "classification", "train": "rows.csv", "label": "fox", "dev": 0.1}
LONG = {"kind": "classification", "train": "rows.csv", "label": "long", "dev": 0.1, "test": "test.csv"}
PAIRS = {"kind": "pair_classification", "train": "pairs.csv", "label": "same", "dev": 0.1}
TAGS = {"kind": "tagging", "train": "tags.jsonl", "dev": "tags.jsonl"}
CONFIGS: dict[str, dict[str, Any]] = {  # the last of few rows: contrasted, then fitted
    "two tasks on one file": {"tasks": {"fox": FOX, "long": LONG}},
    "tagging": {"tasks": {"words": TAGS}},
    "pairs": {"tasks": {"pairs": PAIRS, "fox": FOX}},
    "label attention": {"tasks": {"fox": FOX}, "conditioning": {"kind": "label_attention"}},
    "from scratch": {
        "tasks": {"fox": FOX},
        "encoder": {
            "scratch": {"tokenizer": "pieces", "num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2}
        },
    },
    "few labels": {"tasks": {"fox": FOX, "long": LONG}, "preset": {"kind": "few_labels", "steps": 3}},
}
Run = Callable[..., Path]


def make_files(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    """Rows with two labels, pairs, tagged words, and a tokenizer to begin from scratch with."""
    rng = random.Random(0)
    texts = list(dict.fromkeys(" ".join(rng.choices(WORDS, k=rng.randint(2, 6))) for _ in range(90)))[:80]
    lines = [f"{text},{'yes' if 'fox' in text else 'no'},{'long' if len(text) > 22 else 'short'}" for text in texts]
    (tmp_path / "rows.csv").write_text("\n".join(["text,fox,long", *lines[:48]]) + "\n", encoding="utf-8")
    (tmp_path / "test.csv").write_text("\n".join(["text,fox,long", *lines[48:]]) + "\n", encoding="utf-8")
    same = [f"{a},{b},{'yes' if a[:3] == b[:3] else 'no'}" for a, b in zip(texts[:40], texts[40:], strict=True)]
    (tmp_path / "pairs.csv").write_text("\n".join(["sentence1,sentence2,same", *same]) + "\n", encoding="utf-8")
    tagged = [(words, ["B-x" if word == "fox" else "O" for word in words]) for words in map(str.split, texts[:30])]
    document = "".join(json.dumps({"tokens": words, "tags": tags}) + "\n" for words, tags in tagged)
    (tmp_path / "tags.jsonl").write_text(document, encoding="utf-8")
    tokenizer.save(tmp_path / "pieces")
    return tmp_path


def runner(folder: Path, encoder: str) -> Run:
    """Train a config on the files of a folder, each time into a folder of its own."""

    def train(config: dict[str, Any], shared: Shared | None = None, **options: Any) -> Path:
        training = {"epochs": 2, "batch_size": 8, "choose_from": 1, **config.get("training", {})}
        document = {"encoder": {"from": encoder}, **config, "training": training}
        output = folder / f"run-{len(list(folder.glob('run-*')))}"
        train_one_of_many(document, output, **{"data": folder, "callback": Callback(), "shared": shared, **options})
        return output

    return train


def result(folder: Path) -> dict[str, Any]:
    """All that a run gives but the time it took."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    timed = ("created", "seconds", "peak_memory_mib")
    rest = {name: (folder / name).read_bytes() for name in ("weft.json", "metrics.json")}
    weights = digest(read_file(folder / "model.safetensors"))  # of every bit; the order of a file's head is by chance
    return {**{key: value for key, value in report.items() if key not in timed}, **rest, "weights": weights}
