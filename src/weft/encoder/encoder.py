"""The encoder: embeddings, then a stack of blocks, over packed tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from weft.encoder.block import Block
from weft.encoder.conditioner import Conditioner
from weft.encoder.config import EncoderConfig
from weft.encoder.embeddings import Embeddings
from weft.encoder.linear import LinearLayer
from weft.errors import DataError
from weft.tensors import Batch, FirstTokenAttention, States


class Encoder(nn.Module):
    """A BERT-family encoder that never computes padding.

    Set `gradient_checkpointing = True` to recompute each block in the backward pass: less memory, more time.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.gradient_checkpointing = False
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config, index) for index in range(config.num_hidden_layers))
        self.pooler = LinearLayer(config.hidden_size, config.hidden_size) if config.with_pooler else None
        self.unconditioned = Conditioner()
        self.apply(self._initialise)

    def forward(
        self,
        batch: Batch,
        conditioner: Conditioner | None = None,
        *,
        layers: Collection[int] = (),
        attention: Collection[int] = (),
        known: Mapping[int, Tensor] | None = None,
    ) -> States:
        """Encode a batch.

        Args:
            conditioner: the conditioning method; none by default.
            layers: whose hidden states to keep: 0 for the embeddings, 1 … for the blocks' outputs.
            attention: in which blocks, 0 …, to show where each row's first token looks. It is computed beside the
                fused kernel for that one row only, so asking does not slow the others down.
            known: what `lower_states` gave for this batch; the blocks above go on from it.
        """
        self._check(batch)
        conditioner = conditioner or self.unconditioned
        lower = {0: conditioner.at_input(self.embeddings(batch), batch)} if known is None else known
        begin = max(lower)
        x = lower[begin]
        kept = {layer: states for layer, states in lower.items() if layer in layers}
        shown: dict[int, FirstTokenAttention] = {}
        for index in range(begin, len(self.blocks)):
            x, looked = self._run(self.blocks[index], x, batch, conditioner, index in attention)
            if index + 1 in layers:
                kept[index + 1] = x
            if looked is not None:
                shown[index] = looked
        return conditioner.at_output(States(x, batch, kept, shown))

    def lower_states(self, batch: Batch, layers: Collection[int]) -> dict[int, Tensor]:
        """The hidden states of some layers, as in `forward`, up to the highest of them: unconditioned, no dropout."""
        self._check(batch)
        blocks, learning = list(self.blocks)[: max(layers)], self.training
        for module in (self.embeddings, *blocks):
            module.eval()
        kept: dict[int, Tensor] = {0: self.embeddings(batch)}
        for index, block in enumerate(blocks, 1):
            kept[index], _ = block(kept[index - 1], batch, self.unconditioned)
        for module in (self.embeddings, *blocks):
            module.train(learning)
        return {layer: kept[layer] for layer in layers}

    def pooled(self, states: States) -> Tensor:
        """The first token's state through the checkpoint's own pooler, (B, H)."""
        if self.pooler is None:
            raise ValueError("this encoder came without a pooler")
        return torch.tanh(self.pooler(states.first()))

    def _run(
        self, block: nn.Module, x: Tensor, batch: Batch, conditioner: Conditioner, show: bool
    ) -> tuple[Tensor, FirstTokenAttention | None]:
        if self.gradient_checkpointing and torch.is_grad_enabled():
            return checkpoint(block, x, batch, conditioner, show, use_reentrant=False)  # type: ignore[no-any-return]
        return block(x, batch, conditioner, show)  # type: ignore[no-any-return]

    def _check(self, batch: Batch) -> None:
        longest = max(length for _, length in batch.runs)
        if longest > self.config.max_length:
            raise DataError(
                f"a row has {longest} tokens, but this encoder takes at most {self.config.max_length}; "
                "truncate the text or split it into windows"
            )
        if batch.ids.device.type == "cpu":  # elsewhere a look at the values would stall the device
            low, high = (int(value) for value in batch.ids.aminmax())
            if low < 0 or high >= self.config.vocab_size:
                raise DataError(
                    f"token id {low if low < 0 else high} is outside the vocabulary, whose ids run from 0 to "
                    f"{self.config.vocab_size - 1}; the tokenizer and the encoder do not belong together"
                )

    def _initialise(self, module: nn.Module) -> None:
        """BERT's start: normal weights, zero biases, norms as the identity."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.initializer_range)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
