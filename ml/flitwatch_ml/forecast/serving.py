"""The winner of a backtest, fitted to all runs, as bytes that contain arrays and trees but no code."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import Ridge

from flitwatch_domain.errors import BadInput
from flitwatch_ml.forecast.backtest import COUNTERS, paper_forecasters
from flitwatch_ml.forecast.baselines import NAIVE
from flitwatch_ml.forecast.forecasters import (
    AttentionForecaster,
    CountersForecaster,
    LightGBMForecaster,
    RidgeForecaster,
)
from flitwatch_ml.forecast.series import Standard, StepSeries, Windows
from flitwatch_ml.forecast.served_net import ServedNet

Floats = NDArray[np.float64]
FORMAT = 1


@dataclass(frozen=True)
class Choice:
    """Forecasters deployed together, with their error and interval (% and log) on runs not used in the choice, the reason, and the shift of the log."""

    members: tuple[str, ...]
    mape: float
    half_width90: float
    why: str = ""
    shift: float = 0.0

    @property
    def name(self) -> str:
        """The members' names."""
        return " + ".join(self.members)


@dataclass(frozen=True)
class Serving:
    """A fitted forecaster with its standard and interval.

    Attributes
    ----------
    name : ratio, curve, last steps, ridge, lightgbm, attention, attention alone or attention on counters; for several members, all their names
    model : the fitted forecaster; None for those that need no learning
    half_width90 : half-width of the 90 % interval, in log
    mape : % error on held-out runs
    members : forecasters whose forecasts are averaged in log, in place of a model
    shift : what is added to the log of the forecast
    """

    name: str
    standard: Standard
    model: Any
    m: int
    k: int
    half_width90: float
    mape: float
    members: tuple[Serving, ...] = ()
    shift: float = 0.0

    def forecast(self, series: StepSeries) -> tuple[Windows, Floats]:
        """Return the window that ends with each run's last step, and the forecast seconds of the next k steps, (runs,).

        All runs of `series` have the same number of known steps, at least m.
        """
        windows = self.standard.at_end(series, self.m, self.k)
        return windows, self.predict(windows)

    def predict(self, windows: Windows) -> Floats:
        """Return seconds of the next k steps, (windows,); `windows` must use this forecaster's standard."""
        if self.members:
            forecast_s = np.exp(np.mean(np.log([member.predict(windows) for member in self.members]), axis=0))
        elif self.model is None:
            forecast_s = NAIVE[self.name](windows, self.k)
        else:
            forecast_s = self.model.predict(windows)
        return forecast_s * np.exp(self.shift)


def fit_serving(series: StepSeries, m: int, k: int, sets: tuple[str, ...], chosen: Choice) -> Serving:
    """Return the chosen forecasters, fitted to all runs."""
    standard = Standard.learn(series, sets)
    windows = standard.training(series, m, k)

    def one(name: str) -> Serving:
        prototype = paper_forecasters().get(name)
        model = None if prototype is None else clone(prototype).fit(windows)
        return Serving(name, standard, model, m, k, chosen.half_width90, chosen.mape)

    members = tuple(one(name) for name in chosen.members)
    if len(members) == 1:
        return replace(members[0], shift=chosen.shift)
    return Serving(chosen.name, standard, None, m, k, chosen.half_width90, chosen.mape, members, chosen.shift)


def dump_serving(serving: Serving) -> bytes:
    """Return a fitted forecaster as bytes."""
    standard = serving.standard
    arrays: dict[str, NDArray[Any]] = {
        "standard.curve_s": standard.curve_s,
        "standard.centre": standard.centre,
        "standard.scale": standard.scale,
        "standard.placement_centre": standard.placement_centre,
        "standard.placement_scale": standard.placement_scale,
    }
    head: dict[str, Any] = {
        "format": FORMAT,
        "name": serving.name,
        "m": serving.m,
        "k": serving.k,
        "half_width90": serving.half_width90,
        "mape": serving.mape,
        "shift": serving.shift,
        "sets": list(standard.sets),
    }
    if serving.members:
        head["members"] = len(serving.members)
        arrays |= {
            f"member.{at}": np.frombuffer(dump_serving(member), np.uint8) for at, member in enumerate(serving.members)
        }
    elif isinstance(serving.model, RidgeForecaster):
        _put_ridge(serving.model, arrays, "ridge")
    elif isinstance(serving.model, LightGBMForecaster):
        _put_trees(serving.model, arrays, "trees")
    elif isinstance(serving.model, AttentionForecaster):
        head["attention"] = _put_attention(serving.model, arrays)
    file = io.BytesIO()
    np.savez_compressed(file, head=np.frombuffer(json.dumps(head).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def load_serving(stored: bytes) -> Serving:
    """Load the output of `dump_serving`; raise BadInput for other bytes."""
    try:
        with np.load(io.BytesIO(stored), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(arrays["head"].tobytes())
        if head["format"] != FORMAT:
            raise BadInput(f"the forecaster was stored in format {head['format']}", advice="Estimate again.")
        parts = ("curve_s", "centre", "scale", "placement_centre", "placement_scale")
        standard = Standard(**{name: arrays[f"standard.{name}"] for name in parts}, sets=tuple(head["sets"]))
        members = tuple(load_serving(arrays[f"member.{at}"].tobytes()) for at in range(head.get("members", 0)))
        model = None if members else _load_model(head, arrays)
    except (ValueError, KeyError, OSError, EOFError) as failure:
        raise BadInput("the stored forecaster cannot be read", advice="Estimate again.") from failure
    measured = (head["half_width90"], head["mape"])
    return Serving(head["name"], standard, model, head["m"], head["k"], *measured, members, head.get("shift", 0.0))


def _load_model(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    match head["name"]:
        case "ridge":
            return _load_ridge(arrays, "ridge")
        case "lightgbm":
            return _load_trees(arrays, "trees")
        case "attention" | "attention alone":
            return _load_attention(AttentionForecaster, head["attention"], arrays)
        case name if name == COUNTERS:
            return _load_attention(CountersForecaster, head["attention"], arrays)
        case name if name in NAIVE:
            return None
        case name:
            raise BadInput(f"there is no forecaster {name!r}", advice="Estimate again.")


def _put_ridge(model: RidgeForecaster, arrays: dict[str, NDArray[Any]], prefix: str) -> None:
    arrays[f"{prefix}.centre"], arrays[f"{prefix}.scale"] = model.centre_, model.scale_
    arrays[f"{prefix}.weights"] = np.append(model.model_.coef_, model.model_.intercept_)


def _load_ridge(arrays: dict[str, NDArray[Any]], prefix: str) -> RidgeForecaster:
    forecaster = RidgeForecaster()
    forecaster.centre_, forecaster.scale_ = arrays[f"{prefix}.centre"], arrays[f"{prefix}.scale"]
    forecaster.model_ = Ridge()
    forecaster.model_.coef_, forecaster.model_.intercept_ = (
        arrays[f"{prefix}.weights"][:-1],
        float(arrays[f"{prefix}.weights"][-1]),
    )
    return forecaster


def _put_trees(model: LightGBMForecaster, arrays: dict[str, NDArray[Any]], prefix: str) -> None:
    for number, booster in enumerate(model.models_):
        text = booster.booster_.model_to_string() if hasattr(booster, "booster_") else booster.model_to_string()
        arrays[f"{prefix}.{number}"] = np.frombuffer(text.encode(), np.uint8)


def _load_trees(arrays: dict[str, NDArray[Any]], prefix: str) -> LightGBMForecaster:
    from lightgbm import Booster

    forecaster = LightGBMForecaster()
    forecaster.models_ = [
        Booster(model_str=arrays[name].tobytes().decode()) for name in sorted(arrays) if name.startswith(f"{prefix}.")
    ]
    return forecaster


class _AttentionHead(TypedDict):
    """Header stored with the arrays of an attention forecaster: settings, sizes of layers, scale of the target, and underlying models."""

    parameters: dict[str, Any]
    shape: Any
    target_centre: float
    target_scale: float
    ridge: bool
    trees: bool


def _put_attention(model: AttentionForecaster, arrays: dict[str, NDArray[Any]]) -> _AttentionHead:
    arrays["linear_centre"], arrays["linear_scale"] = model.linear_centre_, model.linear_scale_
    for name, value in model.net_.state_dict().items():
        arrays[f"net.{name}"] = value.cpu().numpy()
    if model.ridge_ is not None:
        _put_ridge(model.ridge_, arrays, "ridge")
    if model.boosting_ is not None:
        _put_trees(model.boosting_, arrays, "trees")
    return {
        "parameters": model.get_params(),
        "shape": model.net_.shape,
        "target_centre": model.target_centre_,
        "target_scale": model.target_scale_,
        "ridge": model.ridge_ is not None,
        "trees": model.boosting_ is not None,
    }


def _load_attention(
    of: type[AttentionForecaster], head: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> AttentionForecaster:
    forecaster = of(**{**head["parameters"], "device": "cpu"})
    forecaster.device_ = "cpu"
    forecaster.linear_centre_, forecaster.linear_scale_ = arrays["linear_centre"], arrays["linear_scale"]
    forecaster.target_centre_, forecaster.target_scale_ = head["target_centre"], head["target_scale"]
    forecaster.net_ = ServedNet.of(
        {name.removeprefix("net."): arrays[name] for name in arrays if name.startswith("net.")}
    )
    forecaster.ridge_ = _load_ridge(arrays, "ridge") if head["ridge"] else None
    forecaster.boosting_ = _load_trees(arrays, "trees") if head["trees"] else None
    return forecaster
