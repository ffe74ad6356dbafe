"""The common part of sources whose messages are received into a journal beside the checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Self, TypedDict

from millstream.connectors.avro import Registry
from millstream.connectors.elsewhere import check_there, files_of
from millstream.connectors.journal import JournalSource
from millstream.connectors.protobuf import Protobuf
from millstream.connectors.schemas import Schemas, schemas
from millstream.journal.record import Headers
from millstream.plan.connectors import Format, KeyFormat, OnError, Reader, SinkOptions
from millstream.plan.options import OptionChecks
from millstream.reception import PART, Front, Limits, System
from millstream.storage.checkpoint import received_topic

HEADERS = "ARRAY<STRUCT<key: STRING, value: BINARY>>"
FORMATS: tuple[Format, ...] = ("json", "avro", "protobuf", "debezium", "raw")
PARTS = {
    "key": ("BINARY", "key"),
    "timestamp": ("TIMESTAMP", "timestamp"),
    "headers": (
        HEADERS,
        f"transform(filter(headers, h -> NOT startswith(h.name, '{PART}')), "
        "h -> struct(h.name AS key, h.value AS value))",
    ),
    "message_id": ("STRING", None),
    "redelivered": ("BOOLEAN", f"exists(headers, h -> h.name = '{PART}redelivered')"),
}
"""What every message has besides its value: its type, and SQL over the record in the journal; None: a header's text."""
DEFAULTS = Limits()
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Identity:
    """What identifies a redelivered message: its message id, or a header or column that the user names."""

    header: str | None = None
    column: str | None = None

    @property
    def shown(self) -> str:
        return f"header {self.header}" if self.header else f"column {self.column}" if self.column else "message id"

    def of(self, message_id: str | None, headers: Headers, value: bytes | None) -> str | None:
        if self.header is not None:
            found = next((text for name, text in headers if name == self.header), None)
            return None if found is None else found.decode(errors="replace")
        return message_id if self.column is None else in_column(value, self.column)


def in_column(value: bytes | None, column: str) -> str | None:
    """None if the message cannot be read: the job will say so, by its `on_error`."""
    try:
        found = json.loads(value or b"{}")
    except ValueError:
        return None
    named = found.get(column) if isinstance(found, dict) else None
    return None if named is None else str(named)


@dataclass(frozen=True, kw_only=True)
class MessageSource:
    """A source of messages. A connector says what it connects to, and what its messages have besides these parts."""

    format: Format = "json"
    changelog: bool = False
    on_error: OnError = "fail"
    record: tuple[tuple[str, str], ...] = ()
    key_format: KeyFormat = "json"
    schemas: Schemas | None = None
    max_rows_per_epoch: int | None = None
    identity: Identity = Identity()
    limits: Limits = DEFAULTS
    folder: str | None = None
    """The journal into which messages are received."""
    step: str | None = None
    """The name of the job's step, which is that of the topic there."""
    stand_in: System | None = field(default=None, repr=False)
    """What messages are received from instead, where a job is tried out."""

    real_time: ClassVar[bool] = True
    own_parts: ClassVar[dict[str, str]] = {}
    """Parts of this system's messages, with their types."""
    system: ClassVar[str]
    library: ClassVar[tuple[str, str] | None] = None
    """What its client needs: a Python package, and the extra that brings it. None: receivers stay in the driver."""

    @property
    def label(self) -> str:
        raise NotImplementedError

    @property
    def dead_letters(self) -> SinkOptions | None:
        raise NotImplementedError

    def connection(self) -> System:
        raise NotImplementedError

    @property
    def topic(self) -> str:
        return received_topic(self.system, self.step or self.label)

    @property
    def consumed(self) -> str | None:
        """The queue: whoever else consumes it gets the messages that are missing here."""
        raise NotImplementedError

    @property
    def record_columns(self) -> tuple[tuple[str, str, str], ...]:
        return tuple((name, part, self.parts()[part][0]) for name, part in self.record)

    @classmethod
    def parts(cls) -> dict[str, tuple[str, str]]:
        """Type and SQL of each part that a message has."""
        known = {**PARTS, **{name: (type_, None) for name, type_ in cls.own_parts.items()}}
        return {name: (type_, sql or header(name, type_)) for name, (type_, sql) in known.items()}

    def partitions(self) -> int:
        return self.limits.receivers

    def bound(self, job: str, journal: str) -> Self:
        return replace(self, folder=journal)

    def of_step(self, name: str) -> Self:
        return replace(self, step=name)

    def schema(self) -> None:
        """Messages do not name their columns: the user does."""
        return

    def key(self) -> tuple[str, ...]:
        return ()

    def journal(self) -> JournalSource:
        assert self.folder is not None
        return JournalSource(self.topic, self.folder, max_rows_per_epoch=self.max_rows_per_epoch)

    def lag(self, told: Mapping[str, str], read: str) -> int | None:
        """Of what is received; what still waits in the system is counted by the receiver."""
        return self.journal().lag(told, read)

    def reader(self) -> Reader:
        wanted = {part for _, part in self.record} - {"key", "timestamp"}
        computed = [(name, sql) for name, (_, sql) in self.parts().items() if name in wanted]
        return replace(
            self.journal().reader(),
            key_format=self.key_format,
            values=tuple(self.schemas.filled().items()) if self.schemas else (),
            computed=tuple(computed),
        )

    @property
    def receivers_apart(self) -> int:
        """Several may run on a cluster. A stand-in lies in a folder of this machine."""
        several = self.limits.receivers > 1 and self.stand_in is None
        return self.limits.receivers if several and self.library is not None else 0

    def needed_there(self) -> Callable[[], object]:
        assert self.library is not None
        return partial(check_there, *self.library, files_of(self.connection()))

    def receiver(self) -> Front:
        assert self.folder is not None
        system = self.stand_in or self.connection()
        return Front(self.step or self.label, system, self.folder, self.topic, self.limits)


def header(name: str, type_: str) -> str:
    """SQL for the first header of this name."""
    found = f"get(filter(headers, h -> h.name = '{PART}{name}'), 0).value"
    return f"CAST(CAST({found} AS STRING) AS {type_})" if type_ != "BINARY" else found


def identity(checks: OptionChecks, id_header: str | None, id_column: str | None, format: Format) -> Identity:
    if id_header is not None and id_column is not None:
        raise checks.wrong("messages are told apart by a header or by a column, not by both.", "leave one out")
    if id_column is not None and format not in ("json", "debezium"):
        raise checks.wrong("id_column is for JSON.", 'id_header="…", or format="json"')
    return Identity(id_header, id_column)


def record_parts(
    checks: OptionChecks, record: Sequence[str] | Mapping[str, str], parts: Mapping[str, object]
) -> tuple[tuple[str, str], ...]:
    """Columns from the message itself, as the user names them."""
    if isinstance(record, str):
        record = (record,)
    chosen = tuple(record.items()) if isinstance(record, Mapping) else tuple((part, part) for part in record)
    for _, part in chosen:
        checks.one_of("record", part, tuple(parts))
    return chosen


class Reading(TypedDict):
    """The common options of sources of messages."""

    format: Format
    changelog: bool
    on_error: OnError
    record: tuple[tuple[str, str], ...]
    key_format: KeyFormat
    schemas: Schemas | None
    max_rows_per_epoch: int | None
    identity: Identity
    limits: Limits


def reading(
    checks: OptionChecks,
    parts: Mapping[str, object],
    target: str,
    *,
    format: Format,
    changelog: bool,
    record: Sequence[str] | Mapping[str, str],
    key_format: KeyFormat,
    on_error: OnError | None,
    dead_letters: str | None,
    max_rows_per_epoch: int | None,
    remember: int,
    buffer_bytes: int,
    avro_schema: str | Path | None,
    registry: str | Registry | None,
    protobuf: Protobuf | None,
    id_header: str | None = None,
    id_column: str | None = None,
    receivers: int = 1,
    max_message_bytes: int | None = None,
) -> Reading:
    """`parts`: what its messages have besides their value. `target`: where unreadable messages go."""
    policy = checks.policy(on_error, dead_letters, target, '"bad_orders"')
    checks.one_of("format", format, FORMATS)
    checks.one_of("key_format", key_format, ("json", "text"))
    checks.above_zero("max_rows_per_epoch", max_rows_per_epoch)
    return Reading(
        format=format,
        changelog=changelog,
        on_error=policy,
        record=record_parts(checks, record, parts),
        key_format=key_format,
        schemas=schemas(format, avro_schema, registry, protobuf, writes=False),
        max_rows_per_epoch=max_rows_per_epoch,
        identity=identity(checks, id_header, id_column, format),
        limits=limits(
            checks,
            receivers=receivers,
            remember=remember,
            buffer_bytes=buffer_bytes,
            max_message_bytes=max_message_bytes,
        ),
    )


def limits(
    checks: OptionChecks, *, receivers: int, remember: int, buffer_bytes: int, max_message_bytes: int | None
) -> Limits:
    checks.above_zero("receivers", receivers)
    checks.above_zero("remember", remember)
    largest = Limits.message_bytes if max_message_bytes is None else max_message_bytes
    if not 0 < largest <= Limits.message_bytes:
        raise checks.wrong(
            f"max_message_bytes is {largest}.", f"1 to {Limits.message_bytes}: the journal takes no more"
        )
    check_buffer(checks, buffer_bytes)
    return Limits(receivers, remember, buffer_bytes, largest)


def check_buffer(checks: OptionChecks, buffer_bytes: int) -> None:
    """The last segment is never cut off: with room for little more, reception would stand still for good."""
    if buffer_bytes < 64 * MEGABYTE:
        raise checks.wrong(f"buffer_bytes is {buffer_bytes}.", "give 64 MiB or more")
