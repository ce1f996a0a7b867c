"""Answers: numpy columns to JSON without a Python object per number, and entity tags."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import numpy as np
import orjson
from fastapi import Request
from fastapi.responses import Response
from numpy.typing import NDArray
from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
JSON = "application/json"
MOST_DEEP = 254
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


def build_model(model: type[Model], row: Mapping[str, Any] | None = None, /, **fields: Any) -> Model:
    """A model of what our own tables keep, `fields` before those of `row`.

    It is not validated: an integer that was kept stays an integer, numpy columns are not copied, and a row of an older version is still shown. A field that
    is not given is absent from the answer. This does what `model_construct` does without its look for aliases and defaults, which cost ten times as much.
    """
    values = {**row, **fields} if row else fields
    if not values.keys() <= model.model_fields.keys():
        field_names = _field_names(model)
        values = {field_names[name]: value for name, value in values.items() if name in field_names}
    instance = model.__new__(model)
    object.__setattr__(instance, "__dict__", values)
    object.__setattr__(instance, "__pydantic_fields_set__", set(values))
    object.__setattr__(instance, "__pydantic_extra__", None)
    object.__setattr__(instance, "__pydantic_private__", None)
    return instance


@cache
def _field_names(model: type[BaseModel]) -> dict[str, str]:
    """Fields by their names in JSON and in Python."""
    return {name: name for name in model.model_fields} | {json: name for name, json in _names_in_json(model).items()}


@cache
def _names_in_json(model: type[BaseModel]) -> dict[str, str]:
    return {name: field.serialization_alias or name for name, field in model.model_fields.items()}


@cache
def _has_aliases(model: type[BaseModel]) -> bool:
    return any(name != json for name, json in _names_in_json(model).items())


def _model_fields(model: BaseModel) -> dict[str, Any]:
    """One level of a model; orjson comes back for the models in it."""
    values, given_names = model.__dict__, model.model_fields_set
    if len(values) == len(given_names) and not _has_aliases(type(model)):
        return values
    names = _names_in_json(type(model))
    return {names[name]: value for name, value in values.items() if name in given_names}


def _encode_other(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _model_fields(value)
    # orjson takes contiguous arrays of native numbers; text and object arrays and strided views come here.
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "OU" else np.ascontiguousarray(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError


def _fit_large_numbers(value: Any, depth: int = 0) -> Any:
    # What is deeper orjson refuses too.
    if depth > MOST_DEEP:
        raise TypeError("nested too deep")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        try:
            return float(value)
        except OverflowError:
            return None
    if isinstance(value, BaseModel):
        return _fit_large_numbers(_model_fields(value), depth)
    if isinstance(value, dict):
        return {name: _fit_large_numbers(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_fit_large_numbers(inner, depth + 1) for inner in value]
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return _fit_large_numbers(value.tolist(), depth)
    return value


def dump_json(content: Any) -> bytes:
    """JSON of models, plain values, datetimes (UTC, RFC 3339) and numpy arrays; NaN and infinity become null, integers beyond 64 bits floats (beyond those, null)."""
    try:
        return orjson.dumps(content, default=_encode_other, option=_OPTIONS)
    except TypeError:
        # One such number in one row, as jsonb keeps 1e308, is no reason to refuse the whole list.
        return orjson.dumps(_fit_large_numbers(content), default=_encode_other, option=_OPTIONS)


def json_response(content: Any, cache_control: str = "no-cache", vary: str | None = None) -> Response:
    """A JSON answer; `vary` names the request's header that another form of it hangs on."""
    headers = {"Cache-Control": cache_control, **({} if vary is None else {"Vary": vary})}
    return Response(dump_json(content), media_type=JSON, headers=headers)


@dataclass(frozen=True)
class CachedAnswer:
    """An answer that is kept: its bytes, compressed once, and its entity tag."""

    body: bytes
    packed: bytes
    tag: str
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Memory it takes."""
        return len(self.body) + len(self.packed)


def cache_json(content: Any, level: int = 6) -> CachedAnswer:
    """JSON to be sent many times, compressed at a level of gzip."""
    return keep_bytes(dump_json(content), JSON, {}, level)


def keep_bytes(body: bytes, media_type: str, headers: Mapping[str, str], level: int) -> CachedAnswer:
    """Bytes of another kind to be sent many times, with headers of their own."""
    tag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    return CachedAnswer(body, gzip.compress(body, level, mtime=0), tag, media_type, headers)


def tagged_response(request: Request, kept: CachedAnswer, vary: str | None = None) -> Response:
    """A kept answer with its entity tag; 304 without a body where the caller has it already. `vary`: see `json_response`."""
    headers = {
        **kept.headers,
        "ETag": kept.tag,
        "Cache-Control": "no-cache",
        "Vary": "Accept-Encoding" if vary is None else f"{vary}, Accept-Encoding",
    }
    known_tags = request.headers.get("if-none-match", "")
    if known_tags.strip() == "*" or kept.tag.removeprefix("W/") in {
        part.strip().removeprefix("W/") for part in known_tags.split(",")
    }:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(kept.packed, media_type=kept.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(kept.body, media_type=kept.media_type, headers=headers)


def unknown_as_null(values: NDArray[np.integer[Any]]) -> list[int | None]:
    """Integers with -1 for unknown, as JSON has them."""
    return [None if value < 0 else value for value in values.tolist()]


def stall_ratio(stall_cycles: Any, flits: Any) -> NDArray[np.float32]:
    """Stalls over data sent, in times of one count of data, to five digits; NaN if either is unknown or nothing was sent."""
    flits = np.asarray(flits, dtype=np.float64)
    out = np.full(flits.shape, np.nan)
    np.divide(stall_cycles, flits, out=out, where=flits > 0)
    return round_significant(out)


def round_significant(values: NDArray[np.float64], digits: int = 5) -> NDArray[np.float32]:
    """Values to this many digits, as floats that are written with no more: a whole machine's ratios shrink by a third."""
    size = np.zeros(values.shape)
    np.log10(np.abs(values), out=size, where=np.abs(values) > 0)
    unit = 10.0 ** (digits - 1 - np.floor(np.nan_to_num(size)))
    return (np.rint(values * unit) / unit).astype(np.float32)


def finite_or_none(value: float) -> float | None:
    """A float as JSON has it."""
    return None if not np.isfinite(value) else float(value)


def utc_time(epoch_s: float | None) -> datetime | None:
    """A time from epoch seconds."""
    return None if epoch_s is None else datetime.fromtimestamp(epoch_s, UTC)


def utc_texts(epoch_s: NDArray[np.int64]) -> list[str]:
    """RFC 3339 times of whole seconds."""
    return [f"{text}Z" for text in np.datetime_as_string(epoch_s.astype("datetime64[s]")).tolist()]
