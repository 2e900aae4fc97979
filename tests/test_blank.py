"""Weights that are read from a file are not drawn at random first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

import weft
from weft.encoder.blank import Blank
from weft.training.progress import Callback

STORED = sorted((Path(__file__).parent / "stored" / "format1").iterdir())  # of raw text, of texts, of words


def test_within_the_context_nothing_is_drawn_and_after_it_everything_is() -> None:
    before = torch.get_rng_state()
    with Blank():
        nn.Linear(3, 3)
        nn.Embedding(3, 3)
        nn.init.normal_(tensor=torch.empty(3))
        torch.randn(3, 2)
    assert torch.equal(torch.get_rng_state(), before)
    drawn = [nn.Linear(3, 3).weight, nn.Embedding(3, 3).weight, nn.init.normal_(torch.zeros(3))]
    assert all(len(weight.unique()) == weight.numel() for weight in drawn)
    assert not torch.equal(torch.get_rng_state(), before)


def test_loading_leaves_the_random_state_alone(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,label\n" + "the fox,a\nthe dog,b\n" * 4)
    task = {"kind": "classification", "train": "rows.csv", "dev": "rows.csv"}
    document = {"encoder": {"from": str(tiny_folder)}, "tasks": {"t": task}, "training": {"baselines": False}}
    weft.train(document, tmp_path / "model", data=tmp_path, device="cpu", callback=Callback())
    before = torch.get_rng_state()
    weft.load_encoder(tiny_folder)
    for folder in (tmp_path / "model", *STORED):
        weft.load(folder)
    assert torch.equal(torch.get_rng_state(), before)


def test_neither_loading_nor_predicting_imports_the_compiler_of_torch(tiny_folder: Path) -> None:
    code = f"import sys, weft; weft.load_encoder({str(tiny_folder)!r})\n"
    for folder, task, text in zip(STORED, ("fill", "urgent", "links"), ("a [MASK] fox", "fox", "a fox"), strict=True):
        code += f"weft.load({str(folder)!r}, device='cpu').predict([{text!r}], {task!r})\n"
    code += "print('torch' in sys.modules, 'torch._dynamo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
