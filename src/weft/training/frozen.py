"""The states of layers that do not learn, computed once instead of in every epoch.

Layers that do not learn, and that no conditioning method reaches into, run without dropout: what they say about a row
is the same in every epoch, while the row is only passed through, and in every run that begins from the same encoder.

The last bits of a state may depend on the rows it is computed with. So these are always the same for a run: its rows,
file by file in the order of the file, in windows. Windows are shared with other runs only where they hold the same
rows, so that a run gives the same bits whatever ran before it; runs that use all rows of a file, however they divide
them, share all.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.config.experiment import Experiment
from weft.data.records import Example
from weft.encoder.encoder import Encoder
from weft.model.network import Network
from weft.tensors import Batch, pack
from weft.tokenization.tokenizer import TokenizedRow
from weft.training.plan import PhasePlan

_WINDOW = 32  # rows
_MOST_OF_A_RUN = 2**29  # bytes; with more, states are computed wherever they are needed
_MOST_KEPT = 2**30  # bytes of all runs together
_Hidden = dict[int, Tensor]  # (T, H) by layer
RowsOfFiles = Mapping[str, Sequence[Sequence[Example]]]  # of each task, those of one file together and in its order


class KeptStates:
    """Windows of states by what they were computed from, the latest used of them as far as there is room."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self.most, self.bytes = most, 0
        self._windows: OrderedDict[Hashable, _Hidden] = OrderedDict()

    def get(self, key: Hashable) -> _Hidden | None:
        """A window that was put here, if it is still here."""
        if key in self._windows:
            self._windows.move_to_end(key)
        return self._windows.get(key)

    def put(self, key: Hashable, states: _Hidden) -> None:
        """Keep a window, and forget those that were not used for the longest time."""
        self._windows[key] = states
        self.bytes += _size(states)
        while self.bytes > self.most and len(self._windows) > 1:
            self.bytes -= _size(self._windows.popitem(last=False)[1])


def _size(states: _Hidden) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in states.values())


class FrozenLayers:
    """The hidden states of an encoder's lowest layers, for `Network.frozen`.

    Args:
        depth: how many blocks do not learn.
        layers: the hidden states to give beside that of block `depth`, 0 for the embeddings.
        files: the token rows that will be asked for, those of one file together; of others, states are computed anew
            whenever they are asked for.
        kept: where windows are kept.
        source: what tells this encoder from others whose windows are kept there.
    """

    def __init__(
        self,
        encoder: Encoder,
        depth: int,
        layers: Sequence[int],
        files: Sequence[Sequence[TokenizedRow]],
        kept: KeptStates,
        source: Hashable,
    ) -> None:
        self.encoder, self.depth, self.kept = encoder, depth, kept
        self.layers = tuple(sorted({*(layer for layer in layers if layer < depth), depth}))
        self.source = (source, self.layers)
        self._states: dict[bytes, _Hidden] = {}  # of each row
        self._window_of: dict[bytes, Batch] = {}
        for rows in files:
            self._add_file(rows)

    def __call__(self, batch: Batch) -> _Hidden:
        """The states of a batch's tokens by layer, computed without dropout and without a gradient."""
        keys = [key for key, _ in _rows(batch)] if batch.ids.device.type == "cpu" and self._window_of else []
        if not keys or any(key not in self._window_of for key in keys):
            return self._compute(batch)
        found = [self._look_up(key) for key in keys]
        return {layer: torch.cat([states[layer] for states in found]) for layer in self.layers}

    def windows(self) -> dict[Hashable, int]:
        """The tokens of every window that may be asked for, by the name it is kept under; only processors have any."""
        if next(self.encoder.parameters()).device.type != "cpu":
            return {}
        different = {id(window): window for window in self._window_of.values()}.values()
        return {self._name(window): len(window.ids) for window in different}

    def compute(self, batch: Batch) -> _Hidden:
        """What a call gives, computed anew."""
        with torch.inference_mode(False), torch.autocast("cpu", enabled=False):
            return self._compute(batch)

    def _add_file(self, rows: Sequence[TokenizedRow]) -> None:
        """Lay out the windows of a file: every row once, but for windows all of whose rows other files have brought.

        A row that another file has brought, too, stays in its window, so that windows of one file are the same
        whichever rows of another a run has drawn.
        """
        own = {_key(row.ids, row.segments): row for row in rows}
        for first in range(0, len(own), _WINDOW):
            part = list(own.values())[first : first + _WINDOW]
            window = pack([row.ids for row in part], [row.segments for row in part])
            for key, _ in _rows(window):
                self._window_of.setdefault(key, window)

    def _look_up(self, key: bytes) -> _Hidden:
        """The states of one row, after computing those of its window where they are not known."""
        if key not in self._states:
            window = self._window_of[key]
            name = self._name(window)
            states = self.kept.get(name)
            if states is None:
                states = self.compute(window)
                self.kept.put(name, states)
            for row, where in _rows(window):
                if self._window_of[row] is window:  # and no other file has brought it before
                    self._states[row] = {layer: tensor[where] for layer, tensor in states.items()}
        return self._states[key]

    def _name(self, window: Batch) -> Hashable:
        return self.source, hashlib.sha256(b"".join(row for row, _ in _rows(window))).digest(), window.runs

    @torch.no_grad()
    def _compute(self, batch: Batch) -> _Hidden:
        return self.encoder.lower_states(batch, self.layers)


def _rows(batch: Batch) -> Iterator[tuple[bytes, slice]]:
    """What tells each row of a batch from others, and where it lies, in packed order."""
    ids, segments = batch.ids.numpy(), batch.segments.numpy()
    start = 0
    for count, length in batch.runs:
        for _ in range(count):
            where = slice(start, start + length)
            yield _key(ids[where], segments[where]), where
            start += length


def _key(ids: NDArray[Any], segments: NDArray[Any] | None) -> bytes:
    kinds = np.zeros(len(ids), np.uint8) if segments is None else segments.astype(np.uint8)
    return ids.astype(np.int32).tobytes() + kinds.tobytes()


def encoder_source(experiment: Experiment) -> Hashable:
    """What tells the encoder that a run begins from from others."""
    choice = experiment.encoder
    return (choice.name, choice.revision) if choice.scratch is None else (str(choice.scratch), experiment.seed)


class Freezing:
    """Which layers of a run do not learn, phase by phase, and their states.

    Args:
        rows: what the tasks read, for kinds that read rows as they are written.
        kept: states that other runs have computed.
        source: the encoder that the run begins from.
    """

    def __init__(
        self, network: Network, plans: Sequence[PhasePlan], rows: RowsOfFiles, kept: KeptStates, source: Hashable
    ) -> None:
        self.network, self.rows, self.kept, self.source = network, rows, kept, source
        self.depths = [self._depth(plan) for plan in plans]
        self._as_loaded: dict[int, FrozenLayers] = {}  # by depth

    def in_phase(self, phase: int) -> FrozenLayers | None:
        """The layers that do not learn in a phase; None where all do."""
        depth = self.depths[phase]
        if min(self.depths[: phase + 1]) == depth:
            return self._loaded(depth)
        return self._build(depth, KeptStates()) if depth else None  # which have learned before

    def in_all_phases(self) -> FrozenLayers | None:
        """The layers that are as they were loaded, whichever epoch was the best."""
        return self._loaded(min(self.depths)) if self.depths else self.whole()

    def whole(self) -> FrozenLayers | None:
        """All layers, as they were loaded."""
        return None if self.network.conditioner.reaches_inside else self._loaded(len(self.network.encoder.blocks))

    def _depth(self, plan: PhasePlan) -> int:
        """How many of the lowest blocks do not learn and say the same for all tasks."""
        if isinstance(plan.train_layers, str) or self.network.conditioner.reaches_inside:
            return 0
        return max(0, self.network.encoder.config.num_hidden_layers - plan.train_layers)

    def _loaded(self, depth: int) -> FrozenLayers | None:
        if depth and depth not in self._as_loaded:
            self._as_loaded[depth] = self._build(depth, self.kept)
        return self._as_loaded.get(depth)

    def _build(self, depth: int, kept: KeptStates) -> FrozenLayers:
        network, config = self.network, self.network.encoder.config
        layers = sorted({layer for task in network.tasks.values() for layer in task.layers(config.num_hidden_layers)})
        files = [
            [row for tokenized in network.encode(name, examples) for row in tokenized.rows]
            for name, examples_of_files in self.rows.items()
            for examples in examples_of_files
        ]
        held = sum(len(row) for rows in files for row in rows) * (1 + len(layers)) * config.hidden_size * 4
        return FrozenLayers(network.encoder, depth, layers, files if held <= _MOST_OF_A_RUN else (), kept, self.source)
