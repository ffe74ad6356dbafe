"""What users send, as the bytes that are written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias

from millstream.errors import MillstreamError
from millstream.journal.record import Headers

Value: TypeAlias = bytes | str | dict[str, Any] | None

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MAX_U16 = 0xFFFF


def encode_value(what: str, value: Value) -> bytes | None:
    """Text as UTF-8, a dict as compact JSON."""
    try:
        if value is None or isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, dict):
            return _json(value).encode()
        if isinstance(value, bytearray | memoryview):
            return bytes(value)
    except (TypeError, ValueError) as error:
        raise _wrong(f"a record's {what} cannot be written: {error}.") from None
    raise _wrong(f"a record's {what} cannot be of type {type(value).__name__}.")


def milliseconds(when: int | datetime) -> int:
    """A timestamp since 1970; a datetime without a zone is taken as UTC."""
    if isinstance(when, datetime):
        return (_utc(when) - _EPOCH) // _MILLISECOND
    if not -(2**63) <= when < 2**63:
        raise _wrong(f"a record's timestamp cannot be {when}.")
    return when


def encode_headers(headers: Iterable[tuple[str, bytes | str | None]]) -> Headers:
    encoded = tuple((name, encode_value("header", value)) for name, value in headers)
    if len(encoded) > _MAX_U16:
        raise _wrong(f"a record cannot have {len(encoded)} headers.")
    for name, _ in encoded:
        if len(encode_value("header's name", name) or b"") > _MAX_U16:
            raise _wrong(f"a header's name cannot have {len(name)} letters.")
    return encoded


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return _utc(value).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"JSON has no {type(value).__name__}")


def _utc(when: datetime) -> datetime:
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain).encode


def _wrong(message: str) -> MillstreamError:
    hint = "send bytes, text, None, or a dict of what JSON knows and datetimes; timestamps are milliseconds."
    return MillstreamError("MS-JOURNAL-011", message, hint=hint)
