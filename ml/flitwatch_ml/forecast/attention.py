"""Scalar dot-product attention over the last m steps, with a fully connected head (Bhatele 2020, section IV-C).

The last step is the query, the m steps are keys and values. The head gets the result, the last step, and the linear inputs, which also reach the output
directly. Several nets with different initial weights, dropout and input noise are trained together. On one core, calls dominate the time of such a
small net, so that n nets cost about as much as one. The rest of the time is spent on random numbers and products over all m steps, so the code
minimises both.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

Floats = NDArray[np.float64]
MAX_BATCH = 256
INPUT_NOISE = 0.05
#: Number of steps for which random numbers are drawn at once. Each step uses a stretch of them with a random start.
STRETCHES = 4


class Stretches:
    """Random numbers drawn once by `draw(count)`. Each call returns a stretch of them, as drawing takes longer than the net itself."""

    def __init__(self, draw: Callable[[int], torch.Tensor]) -> None:
        self._draw = draw
        self._numbers = torch.empty(0)

    def of(self, shape: torch.Size) -> torch.Tensor:
        """Return numbers in a shape; the numbers of one call are independent."""
        size = math.prod(shape)
        if len(self._numbers) < STRETCHES * size:
            self._numbers = self._draw(STRETCHES * size)
        begin = int(torch.randint(len(self._numbers) - size + 1, ()))
        return self._numbers[begin : begin + size].view(shape)


class Dropout(nn.Module):
    """Dropout with stretches of one mask."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self._masks: Stretches | None = None

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        if not self.training or self.share == 0:
            return values
        if self._masks is None:
            keep_share, device = 1 - self.share, values.device
            self._masks = Stretches(lambda count: torch.empty(count, device=device).bernoulli_(keep_share) / keep_share)
        return values * self._masks.of(values.shape)


class Linear(nn.Module):
    """n independent affine maps: (n, rows..., inputs) to (n, rows..., outputs)."""

    def __init__(self, nets: int, inputs: int, outputs: int, zero: bool = False) -> None:
        super().__init__()
        bound = 0.0 if zero else 1 / math.sqrt(max(inputs, 1))
        self.weight = nn.Parameter(torch.empty(nets, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(nets, 1, outputs))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        shape = rows.shape
        mapped = torch.baddbmm(self.bias, rows.reshape(shape[0], -1, shape[-1]), self.weight)
        return mapped.reshape(*shape[:-1], -1)


class Attention(nn.Module):
    """(nets, windows, m, features) and (nets, windows, linear inputs) to (nets, windows)."""

    def __init__(self, nets: int, steps: int, features: int, linear: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.shape = (nets, steps, features, linear, hidden, dropout)
        self.nets = nets
        self.embed = Linear(nets, features, hidden)
        self.position = nn.Parameter(torch.zeros(nets, 1, steps, hidden))
        self.query, self.key, self.value = (Linear(nets, hidden, hidden) for _ in range(3))
        self.first = Linear(nets, 2 * hidden + linear, 2 * hidden)
        self.last = Linear(nets, 2 * hidden, 1, zero=True)  # training starts at the linear forecast
        self.linear = Linear(nets, linear, 1)
        self.dropout = Dropout(dropout)

    def embedded(self, past: torch.Tensor) -> torch.Tensor:
        """Return (nets, windows, m, hidden)"""
        rows = past.reshape(self.nets, -1, past.shape[-1]) @ self.embed.weight
        shift = self.embed.bias.unsqueeze(1) + self.position
        return torch.tanh(rows.view(*past.shape[:-1], -1) + shift)

    def weights(self, embedded: torch.Tensor) -> torch.Tensor:
        """Return the last step's attention over the m steps, (nets, windows, m); each row sums to one.

        A step's score is the product of its key and the query. The key's map is applied to the query, which has one row instead of m. Its bias is
        the same for all steps and cancels in the softmax.
        """
        query = self.query(embedded[:, :, -1]) @ self.key.weight.transpose(1, 2)
        scores = (embedded @ query.unsqueeze(-1)).squeeze(-1) / math.sqrt(embedded.shape[-1])
        return torch.softmax(scores, dim=-1)

    def forward(self, past: torch.Tensor, linear: torch.Tensor) -> torch.Tensor:
        embedded = self.dropout(self.embedded(past))
        # The weights sum to one, so the value of the mean is the mean of the values.
        context = self.value((self.weights(embedded).unsqueeze(-2) @ embedded).squeeze(-2))
        hidden = self.first(torch.cat([context, embedded[:, :, -1], linear], dim=-1))
        return (self.linear(linear) + self.last(self.dropout(functional.gelu(hidden)))).squeeze(-1)


def train_nets(
    past: Floats,
    linear: Floats,
    target: Floats,
    *,
    nets: int,
    hidden: int,
    dropout: float,
    epochs: int,
    least_steps: int,
    seed: int,
    device: str,
) -> Attention:
    """Fit with L1 loss, AdamW and one cycle. The caller standardises the targets. Deterministic by seed on one device."""
    torch.set_num_threads(1)  # a second thread does not help such a small net, and delays it on a busy machine
    torch.manual_seed(seed)
    x, z, y = (torch.as_tensor(part, dtype=torch.float32, device=device) for part in (past, linear, target))
    model = Attention(nets, x.shape[1], x.shape[2], z.shape[1], hidden, dropout).to(device)
    batch = min(MAX_BATCH, max(64, len(y) // 8))
    a_pass = math.ceil(len(y) / batch)
    epochs = max(epochs, math.ceil(least_steps / a_pass))
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=epochs * a_pass)
    noise = Stretches(lambda count: INPUT_NOISE * torch.randn(count, device=device))
    model.train()
    for _ in range(epochs):
        order = torch.randperm(len(y), device=device)
        for start in range(0, len(y), batch):
            rows = order[start : start + batch]
            shown = x[rows].expand(nets, -1, -1, -1)
            noisy = shown + noise.of(shown.shape)
            loss = (model(noisy, z[rows].expand(nets, -1, -1)) - y[rows]).abs().mean(1).sum()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            schedule.step()
    return model.eval()


def predict_mean(model: Attention, past: Floats, linear: Floats, device: str) -> Floats:
    """Return the mean output (windows,) of a trained model's nets."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        x, z = (torch.as_tensor(part, dtype=torch.float32, device=device) for part in (past, linear))
        outputs = model(x.expand(model.nets, -1, -1, -1), z.expand(model.nets, -1, -1))
        return outputs.mean(0).cpu().numpy().astype(float)


def mean_attention(model: Attention, past: Floats, device: str) -> Floats:
    """Return the mean weights over a trained model's nets, (windows, m), oldest step first; each row sums to one."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        x = torch.as_tensor(past, dtype=torch.float32, device=device).expand(model.nets, -1, -1, -1)
        return model.weights(model.embedded(x)).mean(0).cpu().numpy().astype(float)
