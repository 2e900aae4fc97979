"""Linear layers give what torch's give, whichever library multiplies, and oneDNN multiplies where it should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from weft.encoder import linear as module
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.encoder.linear import LinearLayer, linear, onednn_is_quicker
from weft.tensors import pack

pytestmark = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")),
    reason="this build of torch has no oneDNN",
)
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    onednn_is_quicker.cache_clear()
    yield
    onednn_is_quicker.cache_clear()


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes that oneDNN is asked to multiply, on whichever processor this is."""
    asked: list[tuple[int, ...]] = []
    multiply = module._product

    def listed(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        asked.append((*x.shape, weight.shape[0]))
        return multiply(x, weight, bias)

    monkeypatch.setattr(module, "onednn_is_quicker", lambda: True)
    monkeypatch.setattr(module, "_product", listed)
    return asked


def factors(*shape: int, outputs: int = 5, bias: bool = True) -> tuple[Tensor, Tensor, Tensor | None]:
    x, weight = torch.randn(*shape), torch.randn(outputs, shape[-1])
    return x.requires_grad_(), weight.requires_grad_(), torch.randn(outputs).requires_grad_() if bias else None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(7, 4), (1, 4), (2, 3, 4)])
def test_values_and_gradients_are_torchs(shape: tuple[int, ...], bias: bool, products: list[tuple[int, ...]]) -> None:
    given = [one for one in factors(*shape, bias=bias) if one is not None]
    expected = F.linear(*given)
    into = torch.randn_like(expected)
    actual = linear(*given)
    torch.testing.assert_close(actual, expected, **TOLERANCE)
    torch.testing.assert_close(
        torch.autograd.grad(actual, given, into), torch.autograd.grad(expected, given, into), **TOLERANCE
    )
    assert len(products) == 3  # itself and two gradients


def test_only_the_gradients_asked_for_are_computed(products: list[tuple[int, ...]]) -> None:
    x, weight, bias = factors(7, 4)
    linear(x.detach(), weight, bias).sum().backward()
    assert len(products) == 2
    linear(x, weight.detach(), bias).sum().backward()
    assert len(products) == 4
    with torch.no_grad():
        linear(x, weight, bias)
    assert len(products) == 5


def test_half_precision_doubles_and_nothing_at_all_are_left_to_torch(products: list[tuple[int, ...]]) -> None:
    x, weight, bias = (one.detach() for one in factors(7, 4) if one is not None)
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(x, weight, bias).dtype == torch.bfloat16
    assert linear(x.double(), weight.double(), bias.double()).dtype == torch.float64
    assert linear(x[:0], weight, bias).shape == (0, 5)
    assert products == []


def test_the_whole_encoder_multiplies_by_it_and_its_states_and_gradients_stay(
    monkeypatch: pytest.MonkeyPatch, products: list[tuple[int, ...]]
) -> None:
    torch.manual_seed(0)
    config = EncoderConfig(
        vocab_size=10,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=8,
    )
    encoder = Encoder(config).eval()
    batch = pack([[2, 5, 3], [2, 6, 7, 8, 3], [2, 3]])

    def gradients() -> list[Tensor]:
        encoder.zero_grad()
        encoder(batch).tokens.square().sum().backward()
        return [parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None]

    quick = gradients()
    assert len(products) == 3 * 6 * 2
    monkeypatch.setattr(module, "onednn_is_quicker", lambda: False)
    torch.testing.assert_close(quick, gradients(), **TOLERANCE)
    assert len(products) == 3 * 6 * 2


@pytest.mark.parametrize(
    ("capability", "processor", "quicker"),
    [
        ("AVX512", "vendor_id : AuthenticAMD", True),
        ("AVX512", "vendor_id : GenuineIntel", False),  # MKL has AVX-512 there
        ("AVX2", "vendor_id : AuthenticAMD", False),
        ("AVX512", "", False),
    ],
)
def test_onednn_multiplies_on_other_makers_processors_with_avx512(
    capability: str, processor: str, quicker: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    monkeypatch.setattr(module, "_processor", lambda: processor)
    assert onednn_is_quicker() is quicker


def test_a_system_without_proc_is_asked_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_CPU_INFO", tmp_path / "none")
    monkeypatch.setattr("platform.processor", lambda: "AMD64 Family 25, AuthenticAMD")
    assert module._processor() == "AMD64 Family 25, AuthenticAMD"


def test_layers_are_those_of_torch_by_name_and_start() -> None:
    torch.manual_seed(0)
    ours = LinearLayer(3, 2)
    torch.manual_seed(0)
    theirs = torch.nn.Linear(3, 2)
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=0, atol=0)
