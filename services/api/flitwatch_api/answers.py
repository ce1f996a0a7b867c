"""Responses: JSON from numpy columns without a Python object per number, and entity tags."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
import orjson
from fastapi import Request
from fastapi.responses import Response
from numpy.typing import NDArray
from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
Item = TypeVar("Item")
JSON = "application/json"
MOST_DEEP = 254
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


class Items(BaseModel, Generic[Item]):
    """A complete list."""

    items: list[Item]


class Page(Items[Item], Generic[Item]):
    """A page of a list, and where the next one begins; null: this is the last."""

    next_cursor: str | None


def build_model(model: type[Model], row: Mapping[str, Any] | None = None, /, **fields: Any) -> Model:
    """Build a model from stored values. `fields` override those of `row`.

    The values are not validated: stored integers stay integers, numpy columns are not copied, and rows of older versions are still shown. Missing
    fields are absent from the response. Unlike `model_construct`, this does not search for aliases and defaults, which would take ten times as
    long.
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
    """Return the fields' names in JSON and in Python."""
    return {name: name for name in model.model_fields} | {json: name for name, json in _names_in_json(model).items()}


@cache
def _names_in_json(model: type[BaseModel]) -> dict[str, str]:
    return {name: field.serialization_alias or name for name, field in model.model_fields.items()}


@cache
def _has_aliases(model: type[BaseModel]) -> bool:
    return any(name != json for name, json in _names_in_json(model).items())


def _encode_other(value: Any) -> Any:
    if isinstance(value, BaseModel):
        # One level: orjson calls this again for nested models.
        values, given_names = value.__dict__, value.model_fields_set
        if len(values) == len(given_names) and not _has_aliases(type(value)):
            return values
        names = _names_in_json(type(value))
        return {names[name]: field for name, field in values.items() if name in given_names}
    # orjson accepts contiguous arrays of native numbers. Text arrays, object arrays and strided views are converted here.
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "OU" else np.ascontiguousarray(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError


def _fit_large_numbers(value: Any, depth: int = 0) -> Any:
    # orjson refuses deeper values too.
    if depth > MOST_DEEP:
        raise TypeError("nested too deep")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        try:
            return float(value)
        except OverflowError:
            return None
    if isinstance(value, BaseModel):
        return _fit_large_numbers(_encode_other(value), depth)
    if isinstance(value, dict):
        return {name: _fit_large_numbers(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_fit_large_numbers(inner, depth + 1) for inner in value]
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return _fit_large_numbers(value.tolist(), depth)
    return value


def dump_json(content: Any) -> bytes:
    """Encode models, plain values, datetimes (UTC, RFC 3339) and numpy arrays as JSON. NaN and infinity become null. Integers beyond 64 bits become
    floats, or null beyond their range."""
    try:
        return orjson.dumps(content, default=_encode_other, option=_OPTIONS)
    except TypeError:
        # One such number in one row (jsonb can store 1e308) must not fail the whole list.
        return orjson.dumps(_fit_large_numbers(content), default=_encode_other, option=_OPTIONS)


def json_response(
    content: Any, cache_control: str = "no-cache", *, status: int = 200, location: str | None = None
) -> Response:
    headers = {"Cache-Control": cache_control} | ({} if location is None else {"Location": location})
    return Response(dump_json(content), status, headers, JSON)


@dataclass(frozen=True)
class CachedAnswer:
    """Cached response: its bytes, compressed once, and its entity tag."""

    body: bytes
    packed: bytes
    tag: str
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return len(self.body) + len(self.packed)


def cache_json(content: Any, level: int = 6) -> CachedAnswer:
    """Encode JSON that will be sent many times, with this gzip level."""
    return keep_bytes(dump_json(content), JSON, {}, level)


def keep_bytes(body: bytes, media_type: str, headers: Mapping[str, str], level: int) -> CachedAnswer:
    """Cache bytes of another media type that will be sent many times, with their own headers."""
    tag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    return CachedAnswer(body, gzip.compress(body, level, mtime=0), tag, media_type, headers)


def tagged_response(request: Request, kept: CachedAnswer, vary: str | None = None) -> Response:
    """Return a cached response with its entity tag, or 304 without a body if the caller already has it. `vary`: see `json_response`."""
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
    """Convert integers with -1 for unknown to JSON values with null."""
    return [None if value < 0 else value for value in values.tolist()]


def stall_ratio(stall_cycles: Any, flits: Any) -> NDArray[np.float32]:
    """Return stalls divided by data sent, in units of one count of data, to five digits. NaN if either is unknown or no data were sent."""
    flits = np.asarray(flits, dtype=np.float64)
    out = np.full(flits.shape, np.nan)
    np.divide(stall_cycles, flits, out=out, where=flits > 0)
    return round_significant(out)


def round_significant(values: NDArray[np.float64], digits: int = 5) -> NDArray[np.float32]:
    """Round values to this many digits, as floats with a short decimal form: a whole machine's ratios shrink by a third."""
    size = np.zeros(values.shape)
    np.log10(np.abs(values), out=size, where=np.abs(values) > 0)
    unit = 10.0 ** (digits - 1 - np.floor(np.nan_to_num(size)))
    return (np.rint(values * unit) / unit).astype(np.float32)


def finite_or_none(value: float) -> float | None:
    """Return the float, or None if it is not finite."""
    return None if not np.isfinite(value) else float(value)


def utc_time(epoch_s: float | None) -> datetime | None:
    """Return a UTC datetime of epoch seconds."""
    return None if epoch_s is None else datetime.fromtimestamp(epoch_s, UTC)


def utc_texts(epoch_s: NDArray[np.int64]) -> list[str]:
    """Return RFC 3339 times of whole epoch seconds."""
    return [f"{text}Z" for text in np.datetime_as_string(epoch_s.astype("datetime64[s]")).tolist()]
