"""Learned forecasters over windows: `fit(windows)` learns the log ratio to the mean curve, `predict(windows)` returns seconds.

All learn from the same windows, including those truncated by the end of a run (docs/adr/0025).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

from flitwatch_ml.forecast.series import Windows
from flitwatch_ml.forecast.served_net import ServedNet

Floats = NDArray[np.float64]


def flatten_windows(windows: Windows) -> Floats:
    """Return one row per window for learners without time: last step, mean, trend and spread of the past, placement, share of the run, ratio."""
    past = windows.past
    columns = [past[:, -1], past.mean(1), past[:, -1] - past[:, 0], past.std(1), windows.placement]
    return np.concatenate([*columns, windows.share[:, None], windows.ratio[:, None]], axis=1)


class RidgeForecaster(BaseEstimator):
    """Ridge regression on the flattened window; `strength` is the penalty per thousand windows."""

    def __init__(self, strength: float = 30.0) -> None:
        self.strength = strength

    def fit(self, windows: Windows) -> RidgeForecaster:
        rows = flatten_windows(windows)
        self.centre_, spread = rows.mean(0), rows.std(0)
        self.scale_ = np.where(spread > 1e-9, spread, 1.0)
        self.model_ = Ridge(alpha=self.strength * len(rows) / 1000).fit(
            (rows - self.centre_) / self.scale_, windows.target
        )
        return self

    def log_ratio(self, windows: Windows) -> Floats:
        return self.model_.predict((flatten_windows(windows) - self.centre_) / self.scale_)

    def predict(self, windows: Windows) -> Floats:
        """Return seconds of the next k steps, (windows,)."""
        return windows.curve_s * np.exp(self.log_ratio(windows))


class LightGBMForecaster(BaseEstimator):
    """Gradient boosting on the flattened window, L1 loss, `seeds` models averaged."""

    def __init__(self, seeds: int = 2) -> None:
        self.seeds = seeds

    def fit(self, windows: Windows) -> LightGBMForecaster:
        from lightgbm import LGBMRegressor

        rows, target = flatten_windows(windows), windows.target
        shape: dict[str, Any] = {
            "objective": "l1",
            "n_estimators": 150,
            "num_leaves": 8,
            "learning_rate": 0.05,
            "min_child_samples": 40,
        }
        draw: dict[str, Any] = {"subsample": 0.7, "subsample_freq": 1, "colsample_bytree": 0.5, "max_bin": 127}
        run: dict[str, Any] = {"n_jobs": 1, "verbose": -1, "deterministic": True, "force_col_wise": True}
        self.models_: list[Any] = [
            LGBMRegressor(**shape, **draw, **run, random_state=seed).fit(rows, target) for seed in range(self.seeds)
        ]
        return self

    def log_ratio(self, windows: Windows) -> Floats:
        rows = flatten_windows(windows)
        return np.mean([model.predict(rows) for model in self.models_], axis=0)

    def predict(self, windows: Windows) -> Floats:
        """Return seconds of the next k steps, (windows,)."""
        return windows.curve_s * np.exp(self.log_ratio(windows))


class AttentionForecaster(BaseEstimator):
    """Attention fitted to the residuals of ridge, averaged over `seeds` nets and optionally with LightGBM.

    Without `on_ridge` and `with_boosting` it is only attention (Bhatele 2020, section IV-C).

    Parameters
    ----------
    hidden, dropout, epochs : settings of the net; training takes at least `least_steps` optimiser steps regardless of `epochs`
    seeds : number of averaged nets
    on_ridge : learn the residual of a ridge forecast instead of the target
    with_boosting : average with LightGBM at equal weights
    device : "cpu", "cuda", or "auto" for a GPU if there is one
    """

    #: The net in its trained or its deployed form.
    net_: Any

    def __init__(
        self,
        hidden: int = 24,
        dropout: float = 0.2,
        epochs: int = 8,
        seeds: int = 3,
        on_ridge: bool = True,
        with_boosting: bool = True,
        seed: int = 0,
        device: str = "auto",
        least_steps: int = 300,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.epochs = epochs
        self.seeds = seeds
        self.on_ridge = on_ridge
        self.with_boosting = with_boosting
        self.seed = seed
        self.device = device
        self.least_steps = least_steps

    def fit(self, windows: Windows) -> AttentionForecaster:
        from flitwatch_ml.forecast.attention import train_nets

        self.device_ = _choose_device(self.device)
        self.ridge_ = RidgeForecaster().fit(windows) if self.on_ridge else None
        target = windows.target - (self.ridge_.log_ratio(windows) if self.ridge_ else 0.0)
        linear = _linear_inputs(windows)
        self.linear_centre_, spread = linear.mean(0), linear.std(0)
        self.linear_scale_ = np.where(spread > 1e-9, spread, 1.0)
        self.target_centre_, self.target_scale_ = float(target.mean()), float(max(target.std(), 1e-9))
        inputs = (
            windows.past,
            (linear - self.linear_centre_) / self.linear_scale_,
            (target - self.target_centre_) / self.target_scale_,
        )
        self.net_ = train_nets(
            *inputs,
            nets=self.seeds,
            hidden=self.hidden,
            dropout=self.dropout,
            epochs=self.epochs,
            least_steps=self.least_steps,
            seed=self.seed,
            device=self.device_,
        )
        self.boosting_ = LightGBMForecaster().fit(windows) if self.with_boosting else None
        return self

    def log_ratio(self, windows: Windows) -> Floats:
        linear = (_linear_inputs(windows) - self.linear_centre_) / self.linear_scale_
        if isinstance(self.net_, ServedNet):
            output = self.net_.predict(windows.past, linear)
        else:
            from flitwatch_ml.forecast.attention import predict_mean

            output = predict_mean(self.net_, windows.past, linear, self.device_)
        forecast = output * self.target_scale_ + self.target_centre_
        if self.ridge_ is not None:
            forecast = forecast + self.ridge_.log_ratio(windows)
        if self.boosting_ is not None:
            forecast = (forecast + self.boosting_.log_ratio(windows)) / 2
        return forecast

    def predict(self, windows: Windows) -> Floats:
        """Return seconds of the next k steps, (windows,)."""
        return windows.curve_s * np.exp(self.log_ratio(windows))

    def attention(self, windows: Windows) -> Floats:
        """Return weights over the past steps, (windows, m), oldest first; each row sums to one."""
        from flitwatch_ml.forecast.attention import mean_attention

        return mean_attention(self.net_, windows.past, self.device_)


class CountersForecaster(AttentionForecaster):
    """Attention over counters and placement, without step times (Bhatele 2020, section IV-C and figure 6)."""

    def fit(self, windows: Windows) -> CountersForecaster:
        super().fit(_keep_counters(windows))
        return self

    def log_ratio(self, windows: Windows) -> Floats:
        return super().log_ratio(_keep_counters(windows))

    def attention(self, windows: Windows) -> Floats:
        """Return weights over the past steps, (windows, m), oldest first; each row sums to one."""
        return super().attention(_keep_counters(windows))


def _keep_counters(windows: Windows) -> Windows:
    """Return the windows without the times of past steps (the first feature), their ratio to the mean curve, and the share of the run."""
    nothing = np.zeros(len(windows.run))
    return replace(windows, past=windows.past[:, :, 1:], ratio=nothing, share=nothing)


def _linear_inputs(windows: Windows) -> Floats:
    """Return the inputs that reach the output directly: the last step's time, placement, share of the run, ratio of the last m steps."""
    return np.concatenate(
        [windows.past[:, -1, :1], windows.placement, windows.share[:, None], windows.ratio[:, None]], axis=1
    )


def _choose_device(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
