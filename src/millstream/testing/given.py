"""What a test gives to a job: rows, deletes, raw records and watermarks, epoch by epoch.

{"likes": [{"liker": "ann", …}, {"liker": "bob", …}]}                       one epoch
{"likes": [[{"liker": "ann", …}], [Watermark("2026-01-01T00:05:00Z")]]}     two epochs
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from millstream.errors import MillstreamError, did_you_mean
from millstream.journal.values import encode_value
from millstream.plan.connectors import record_columns
from millstream.plan.errors import here
from millstream.plan.nodes import Source

Row = dict[str, Any]
Moment = str | datetime


@dataclass(frozen=True)
class Delete:
    """Takes a row out of a table: by its key, or, in a changelog, by the whole row."""

    row: Row


@dataclass(frozen=True)
class Record:
    """A record as it is, for raw sources and for what cannot be read. `timestamp`: when it came, if not now."""

    value: bytes | str | None
    key: bytes | str | None = None
    timestamp: Moment | None = None


@dataclass(frozen=True)
class Watermark:
    """No row of this source is older from here on: event time moves on without a row."""

    at: Moment


Item = Mapping[str, Any] | Delete | Record | Watermark
Inputs = Mapping[str, Sequence[Item | Sequence[Item]]]
"""Of each source a list of items, which is one epoch, or a list of such lists."""
Entry = tuple[str | None, str | None, int]
"""Key and value in base 64, and a time in microseconds."""
Arrived = tuple[str | None, str | None, int | None]
"""The same, where the time may be that of its epoch."""


def cut(name: str, items: Sequence[Item | Sequence[Item]]) -> list[list[Item]]:
    """A flat list is one epoch."""
    nested = [isinstance(item, list | tuple) for item in items]
    if any(nested) and not all(nested):
        raise wrong(
            f'source "{name}" is given rows beside lists of rows.',
            hint="give a list of rows, which is one epoch, or a list of such lists",
        )
    return [list(part) for part in items] if any(nested) else [list(items)]  # type: ignore[arg-type]


def entries(source: Source, items: Sequence[Item], now: int) -> list[Entry]:
    """The records of an epoch, which came at a time, in microseconds."""
    found = [record(source, item) for item in items if not isinstance(item, Watermark)]
    return [(key, value, now if when is None else when) for key, value, when in found]


def marks(source: Source, items: Sequence[Item], clock: int | None) -> list[Entry]:
    """Times that bring the source's watermark to where the test wants it. Processing time goes by the clock."""
    found = [item for item in items if isinstance(item, Watermark)]
    if found and source.time is None:
        raise wrong(
            f'source "{source.name}" is given a watermark, but has no event time.',
            hint='say which column it is: job.stream(…, time="at")',
        )
    times = [micros(moment(item.at)) for item in found]
    times += [clock * 1000] if source.arrival is not None and clock is not None else []
    return [(None, None, time + source.lateness_ms * 1000) for time in times]


def record(source: Source, item: Item) -> Arrived:
    match item:
        case Record(value, key, timestamp):
            when = None if timestamp is None else micros(moment(timestamp))
            return encoded(encode_value("key", key), encode_value("value", value), when)
        case Delete(row):
            return deleted(source, row)
        case Mapping():
            return added(source, dict(item))
        case _:
            raise wrong(
                f'source "{source.name}" is given a {type(item).__name__}.',
                hint="give rows as dicts, Delete(…), Record(…) or Watermark(…)",
            )


def added(source: Source, row: Row) -> Arrived:
    check(source, row)
    value = plain(row)
    key = plain(key_of(source, row)) if source.upserts else None
    return json_entry(key, {"op": "insert", **value} if source.options.changelog else value)


def deleted(source: Source, row: Row) -> Arrived:
    if source.append_only:
        raise wrong(f'source "{source.name}" is a stream: nothing can be taken out of it.', hint="use job.table()")
    check(source, row)
    if source.options.changelog:
        return json_entry(None, {"op": "delete", **plain(row)})
    return json_entry(plain(key_of(source, row)), None)


def key_of(source: Source, row: Row) -> Row:
    missing = [name for name in source.upserts or () if name not in row]
    if missing:
        raise wrong(f'table "{source.name}" is given a row without its key, {", ".join(missing)}: {row}.')
    return {name: row[name] for name in source.upserts or ()}


def check(source: Source, row: Row) -> None:
    if source.options.format == "raw":
        raise wrong(f'source "{source.name}" reads raw records, and is given a row.', hint="give it Record(value, key)")
    of_record = {source.arrival, *(name for name, _, _ in record_columns(source.options))}
    names = [part.name for part in source.schema if part.name not in of_record]
    unknown = next((name for name in row if name not in names), None)
    if unknown is not None:
        raise wrong(
            f'source "{source.name}" is given {unknown}, which is not in its schema.',
            found="columns: " + ", ".join(names),
            hint=did_you_mean(str(unknown), names),
        )


def plain(value: Any) -> Any:
    """Decimals as text: JSON's numbers would lose digits."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def json_entry(key: Row | None, value: Row | None) -> Arrived:
    return encoded(encode_value("key", key), encode_value("value", value), None)


def encoded(key: bytes | None, value: bytes | None, when: int | None) -> Arrived:
    return base64_text(key), base64_text(value), when


def base64_text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def moment(at: Moment) -> datetime:
    """A time in ISO 8601; without a zone it is UTC."""
    try:
        when = at if isinstance(at, datetime) else datetime.fromisoformat(at)
    except ValueError:
        raise wrong(f"{at!r} is not a time.", hint='write it as "2026-01-01T00:05:00Z"') from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def micros(when: datetime) -> int:
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def wrong(message: str, *, found: str | None = None, hint: str | None = None) -> MillstreamError:
    return MillstreamError("MS-TEST-003", message, at=here(), found=found, hint=hint)


def script(clock: Sequence[int | None], sources: Mapping[str, list[list[Entry]]]) -> str:
    """All of it as text, for the kernel that hands it out step by step."""
    return json.dumps({"clock": list(clock), "sources": dict(sources)})
