"""The hooks through which a conditioning method may speak to the encoder."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from weft.tensors import Batch, States

if TYPE_CHECKING:
    from weft.encoder.attention import SelfAttention


@dataclass(frozen=True)
class Readout:
    """What each row's first token gathers in one layer, and how."""

    gathered: Tensor  # (B, N, D)
    weights: Tensor  # (T, N) where it looked, summing to 1 over each row
    winning_label: Tensor  # (T, N) the label whose score won, -1 where the first token's own did


class Conditioner(nn.Module):
    """A conditioner that changes nothing: every hook is the identity, every hook is always called.

    A method subclasses this and overrides the hooks it needs. `batch.task` names the task in hand, `layer.index` the
    layer, and `layer.query`, `layer.key`, `layer.value` are that layer's own projections.
    """

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        """Change the embedded tokens, (T, H), before the first layer."""
        return x

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Change the queries, keys and values, (T, H) each, that were projected from the layer's input x, (T, H)."""
        return q, k, v

    def at_readout(self, q_first: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch) -> Readout | None:
        """Replace what each row's first token gathers in one layer.

        Gets the first tokens' queries (B, N, D) and all keys and values (T, N, D); None keeps what the fused kernel
        computed.
        """
        return None

    def at_block(self, x: Tensor, index: int, batch: Batch) -> Tensor | None:
        """What to add to block `index`'s result before its last norm, from its input x, (T, H); None for nothing."""
        return None

    def at_output(self, states: States) -> States:
        """Change the final states."""
        return states

    @property
    def reaches_inside(self) -> bool:
        """Whether it has hooks of its own before `at_output`, so that no layer gives what it would give without."""
        own, none = type(self), Conditioner
        hooks = (own.at_input, own.at_qkv, own.at_readout, own.at_block)
        return hooks != (none.at_input, none.at_qkv, none.at_readout, none.at_block)

    def encoder_key(self, task: str) -> Hashable:
        """Equal for tasks that see the same encoder, so that one pass serves them all."""
        return ""

    def extra_loss(self, task: str, head: Callable[[Tensor], Tensor]) -> Tensor | None:
        """What a method adds to a task's loss, given the task's head; None for nothing."""
        return None

    def start(self, words: Callable[[Sequence[str]], Tensor], class_means: Callable[[str], Tensor]) -> None:
        """Begin from what is known before training; called once for a new network, never for a loaded one.

        Args:
            words: the mean input embedding of each of some phrases, (phrases, H).
            class_means: the mean final state of the first token for each label of a task, (L, H).
        """
