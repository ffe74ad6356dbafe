"""What the plan knows about the outside world; each connector has its own frozen options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from millstream.errors import Location, MillstreamError

if TYPE_CHECKING:
    from millstream.storage import CheckpointFolder

Format = Literal["json", "raw", "csv", "parquet", "rows", "debezium", "avro", "protobuf"]
"""`rows`: columns with types, as Spark has them, and no record around them."""
WHOLE_ROWS: tuple[Format, ...] = ("parquet", "avro", "protobuf")
"""Formats that the kernels write: they are handed whole rows, and make the bytes after records are counted."""
KeyFormat = Literal["json", "text"]
OnError = Literal["fail", "skip", "dead_letter"]
WriteMode = Literal["append", "upsert", "changelog"]


@runtime_checkable
class SourceOptions(Protocol):
    """Where rows come from."""

    @property
    def system(self) -> str: ...

    @property
    def label(self) -> str:
        """What users call it: a topic, a table, a folder."""

    @property
    def changelog(self) -> bool:
        """Whether rows carry an `op` column: insert or delete."""

    @property
    def format(self) -> Format:
        """How a record's value is read."""

    @property
    def on_error(self) -> OnError:
        """What happens to a record that cannot be read."""

    @property
    def dead_letters(self) -> SinkOptions | None: ...

    def partitions(self) -> int:
        """How many partitions it has; an error if it is not there."""

    @property
    def real_time(self) -> bool:
        """Whether its rows can be read one by one, as they arrive."""

    def reader(self) -> Reader:
        """How Spark reads it: records with key, value, partition, offset and timestamp, lines of text, or rows."""


@runtime_checkable
class SinkOptions(Protocol):
    """Where rows go."""

    @property
    def system(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        """The ways to write to it; the first is the default for tables."""

    @property
    def guarantee(self) -> str:
        """`exactly once (two phases)`: what `explain` says."""

    @property
    def format(self) -> Format: ...

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that make the record's key, where the user chose them."""

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns that say where a row goes. In files they are in the folders' names, not in the rows."""

    def check(self) -> None:
        """An error if it is not there."""

    def writer(self) -> dict[str, str]:
        """How the kernels write to it."""


@runtime_checkable
class LiesAt(Protocol):
    """A source or a sink that is a folder."""

    @property
    def path(self) -> str:
        """A path of this machine, or an address of another storage: `s3a://bucket/folder`."""


@runtime_checkable
class ChoosesNulls(Protocol):
    """A sink of JSON that may leave out the columns that are NULL."""

    @property
    def nulls(self) -> bool:
        """Whether they are written, as null."""


class Carrier(Protocol):
    """Brings whole epochs to a sink, each with its number, in one transaction."""

    def last(self) -> int | None:
        """The last epoch that arrived; -1: none. None: the system does not keep it, and an epoch that a crash
        interrupts is carried again."""

    def carry(self, epoch: int, records: Iterable[Carried]) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class RowShape:
    """A sink's rows as they are carried: the names of their columns, those of the key, and the types.

    `types`: a struct, in Spark's JSON.
    """

    columns: tuple[str, ...]
    key: tuple[str, ...]
    types: str


class Carried(Protocol):
    """A record on its way: without a value it deletes its key."""

    @property
    def key(self) -> bytes | None: ...

    @property
    def value(self) -> bytes | None: ...


@runtime_checkable
class CarriedSink(SinkOptions, Protocol):
    """A sink whose rows wait in the checkpoint's outbox, and are carried on when their epoch is committed."""

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> Carrier:
        """`writer`: under which name the sink keeps the number of its last epoch."""


@runtime_checkable
class SaysGuarantee(Protocol):
    """A source that `explain` shows with what it guarantees."""

    @property
    def guarantee(self) -> str:
        """`exactly once (by message id)`."""


@runtime_checkable
class NeedsJars(Protocol):
    """A source or sink for which Spark's own jars are not enough."""

    def jars(self) -> Jars: ...


@runtime_checkable
class KeepsSecrets(Protocol):
    """A sink whose `writer()` has placeholders for secrets: they go to the kernels by another way."""

    def secrets(self) -> dict[str, str]:
        """Placeholder -> what goes there."""


@runtime_checkable
class HasRecords(Protocol):
    """A source whose records have more than their values."""

    @property
    def record_columns(self) -> tuple[tuple[str, str, str], ...]:
        """Columns from the record itself: name, part of the record, type."""


@runtime_checkable
class HasIdentities(Protocol):
    """A source of things that may be deleted and created again under the same name."""

    def identities(self) -> dict[str, str]:
        """Name -> an id that no other thing of this name ever has."""


@runtime_checkable
class HasListeners(Protocol):
    """A source with a listener beside the running query. It is notified of each epoch, and may stop the job."""

    def listeners(self, job: str, source: str) -> tuple[Listener, ...]:
        """By the names of the job and of the source."""


@runtime_checkable
class ChecksWhatWasRead(Protocol):
    """A source of things that must stay as they were when a job read them."""

    def check_read(self, folder: CheckpointFolder, place: int) -> None:
        """An error if one has changed since the last committed epoch. `place`: the source's, among the job's."""


@runtime_checkable
class ExplainsErrors(Protocol):
    """A source or sink that explains its system's errors to users."""

    @property
    def errors(self) -> Errors: ...


@runtime_checkable
class TellsLag(Protocol):
    """A source that knows how many of its rows are not read yet."""

    def lag(self, told: Mapping[str, str], read: str) -> int | None:
        """At the end of an epoch. `told`: what the reader said about itself then; `read`: how far it was, as JSON."""


@runtime_checkable
class HasNoOrder(Protocol):
    """A source whose rows have no order, so that no row of a key is the latest one."""

    @property
    def without_order(self) -> str:
        """What its rows lie in: files."""


@runtime_checkable
class LimitsEpochs(Protocol):
    """A sink that holds something open during an epoch, and cannot do so forever."""

    @property
    def longest_epoch_ms(self) -> int: ...


def record_columns(options: SourceOptions) -> tuple[tuple[str, str, str], ...]:
    return options.record_columns if isinstance(options, HasRecords) else ()


@dataclass(frozen=True)
class Reader:
    """A Spark data source and its options. `gives`: what it calls a row."""

    format: str
    options: tuple[tuple[str, str], ...]
    gives: Literal["records", "lines", "rows"] = "records"
    arrival: str = "current_timestamp()"
    """SQL for the time at which a row came, where it gives rows; the epoch's, if it does not know."""
    marks: Reader | None = None
    """Records whose timestamps move the watermark on, and nothing else: for tests."""
    key_format: KeyFormat = "json"
    """How the key of a record without a value is read, where such a record deletes a row."""
    values: tuple[tuple[str, str], ...] = ()
    """What it takes to read values in Avro (`avro_schema`, or `registry` and `registry_login`) or Protobuf
    (`protobuf_message`, `protobuf_descriptors`), in the kernels' words."""
    batch: Reader | None = None
    """What a batch reads instead, where it is not what a stream reads."""
    names_topic: bool = False
    """Whether each record says which topic it is from."""
    computed: tuple[tuple[str, str], ...] = ()
    """Columns made from those of the record: name and SQL."""
    limits: tuple[tuple[str, str], ...] = ()
    """Options that limit an epoch. In real time, where a barrier ends it, the source does not take them."""


@dataclass(frozen=True)
class JarSet:
    """The jars of a connector or a storage: third-party jars to fetch, and perhaps its own jar.

    `pins`: a JSON file that lists those to fetch, each with its checksum. `own`: the path of the connector's jar.
    `sign`: a class in them, which shows that they are there. `from_start`: whether Spark must be started with them,
    because Spark itself uses them.
    """

    name: str
    pins: str
    own: str | None
    sign: str
    from_start: bool = False


@dataclass(frozen=True)
class Jars:
    """The jars that a source or sink needs, and the folder to take them from if they cannot be fetched."""

    set: JarSet
    folder: str | None = None


@dataclass(frozen=True)
class Listener:
    """A Java class that extends `millstream.source.SourceListener`, in a jar of the connector.

    It is created with the query's id, the source's place among the job's sources, and the arguments.
    """

    java_class: str
    arguments: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True)
class Affected:
    """A step of the job that reads from a system, or writes to it. `label`: what users call the thing there."""

    name: str
    label: str
    at: Location | None


@dataclass(frozen=True)
class ErrorPattern:
    """What a system's client or Spark says about an error, and what users see instead.

    `explain` gets the job's name, what was found, and the steps of the job that use the system.
    """

    text: re.Pattern[str]
    explain: Callable[[str, re.Match[str], tuple[Affected, ...]], MillstreamError]


@dataclass(frozen=True)
class Errors:
    """`hints`: by code, hints for errors that kernels raise without one.

    `transient`: the codes of errors that may go away when the job restarts.
    """

    patterns: tuple[ErrorPattern, ...] = ()
    hints: tuple[tuple[str, str], ...] = ()
    transient: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FieldType:
    """A column of a source's schema: name and Spark SQL type."""

    name: str
    type: str
