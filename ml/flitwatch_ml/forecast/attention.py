"""Scalar dot-product attention over the last m steps, with a fully connected head (Bhatele 2020, section IV-C).

The last step asks, the m steps answer; the head sees the answer, the last step, and the linear inputs, which also reach the output directly.
Several nets with their own first weights, dropout and input noise are trained side by side: on one core the time of so small a net goes
into the calls, not into the arithmetic, so that n nets cost about as much as one.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

Floats = NDArray[np.float64]
MAX_BATCH = 256
INPUT_NOISE = 0.05


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
        self.dropout = nn.Dropout(dropout)

    def weights(self, embedded: torch.Tensor) -> torch.Tensor:
        """Attention of the last step over the m steps, (nets, windows, m), each row summing to one."""
        query = self.query(embedded[:, :, -1])
        scores = (self.key(embedded) @ query.unsqueeze(-1)).squeeze(-1) / math.sqrt(embedded.shape[-1])
        return torch.softmax(scores, dim=-1)

    def forward(self, past: torch.Tensor, linear: torch.Tensor) -> torch.Tensor:
        embedded = self.dropout(torch.tanh(self.embed(past) + self.position))
        context = (self.weights(embedded).unsqueeze(-2) @ self.value(embedded)).squeeze(-2)
        seen = self.first(torch.cat([context, embedded[:, :, -1], linear], dim=-1))
        return (self.linear(linear) + self.last(self.dropout(functional.gelu(seen)))).squeeze(-1)


def train(
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
    """Fit by L1 loss, AdamW and one cycle; targets are standardised by the caller. Deterministic by seed on one device."""
    torch.set_num_threads(1)  # so small a net gains nothing from a second thread, and waits for it on a busy machine
    torch.manual_seed(seed)
    x, z, y = (torch.as_tensor(part, dtype=torch.float32, device=device) for part in (past, linear, target))
    model = Attention(nets, x.shape[1], x.shape[2], z.shape[1], hidden, dropout).to(device)
    batch = min(MAX_BATCH, max(64, len(y) // 8))
    a_pass = math.ceil(len(y) / batch)
    epochs = max(epochs, math.ceil(least_steps / a_pass))
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=epochs * a_pass)
    model.train()
    for _ in range(epochs):
        order = torch.randperm(len(y), device=device)
        for start in range(0, len(y), batch):
            rows = order[start : start + batch]
            shown = x[rows].expand(nets, -1, -1, -1)
            noisy = shown + INPUT_NOISE * torch.randn(shown.shape, device=device)
            loss = (model(noisy, z[rows].expand(nets, -1, -1)) - y[rows]).abs().mean(1).sum()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            schedule.step()
    return model.eval()


def predict(model: Attention, past: Floats, linear: Floats, device: str) -> Floats:
    """Mean output (windows,) of a trained model's nets."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        x, z = (torch.as_tensor(part, dtype=torch.float32, device=device) for part in (past, linear))
        outputs = model(x.expand(model.nets, -1, -1, -1), z.expand(model.nets, -1, -1))
        return outputs.mean(0).cpu().numpy().astype(float)
