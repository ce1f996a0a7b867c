"""The last step: a fit of the counters on the solver's support by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch

from flitwatch_routing.reconstruction.sensing import LinkCounters

#: Values below this share of the largest are not traffic; the smallest share with a valid fit is used.
SUPPORTS = (1e-2, 1e-3, 1e-4)
STEPS = 100


@torch.no_grad()
def refine_support(
    sensing: LinkCounters, x: torch.Tensor, target: torch.Tensor, slack: torch.Tensor, go: Callable[[int], bool]
) -> torch.Tensor:
    """Return x, or its fit on a smaller support if that explains the counters better. Before every step, go(step) returns whether there is time."""
    if float(slack.max()) > 0 or not go(0):
        return x
    best, best_wrong = x, _misfit_norm(sensing, x, target, slack)
    for part in SUPPORTS:
        if not go(0):
            break
        inside = (x > part * x.max()).to(x)
        fit = _fit_places(sensing, x * inside, inside, target, go).clamp(min=0)
        wrong = _misfit_norm(sensing, fit, target, slack)
        if wrong < 0.5 * best_wrong:
            best, best_wrong = fit, wrong
    return best


def _misfit_norm(sensing: LinkCounters, x: torch.Tensor, target: torch.Tensor, slack: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(((sensing(x) - target).abs() - slack).clamp(min=0)))


def _fit_places(
    sensing: LinkCounters, x: torch.Tensor, inside: torch.Tensor, target: torch.Tensor, go: Callable[[int], bool]
) -> torch.Tensor:
    """Return least squares from x over the places `inside`: conjugate gradients on the normal equations, with monotone improvement."""
    r = inside * sensing.adjoint(target - sensing(x))
    p, square = r, float(r @ r)
    start = square
    for step in range(STEPS):
        if square <= 1e-24 * max(start, 1e-300) or not go(step):
            break
        q = sensing(p)
        energy = float(q @ q)
        if energy <= 0:
            break
        x = x + (square / energy) * p
        r = r - (square / energy) * (inside * sensing.adjoint(q))
        square, before = float(r @ r), square
        p = r + (square / before) * p
    return x
