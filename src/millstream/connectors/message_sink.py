"""The common part of sinks that send rows as messages, epoch by epoch, when the epoch is committed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypedDict

from millstream.connectors.avro import Registry
from millstream.connectors.protobuf import Protobuf
from millstream.connectors.schemas import Schemas, schemas
from millstream.connectors.topic_sink import TopicSink
from millstream.plan.connectors import Errors, Format
from millstream.plan.options import OptionChecks, columns

BINARY: tuple[Format, ...] = ("raw", "avro", "protobuf")
"""Formats whose values are not texts."""


@dataclass(frozen=True, kw_only=True)
class MessageSink(TopicSink):
    """`topic`: what users call the target."""

    schemas: Schemas | None = None

    system: ClassVar[str]
    errors: ClassVar[Errors]

    @property
    def binary(self) -> bool:
        return self.format in BINARY

    def secrets(self) -> dict[str, str]:
        return self.schemas.secrets() if self.schemas else {}

    def writer(self) -> dict[str, str]:
        subject = {"format": self.format, "subject": f"{self.topic}-value"}
        return {**subject, **self.schemas.settings()} if self.schemas else {}


class Writing(TypedDict):
    """The common options of sinks of messages."""

    format: Format
    changelog: bool
    key: tuple[str, ...]
    nulls: bool
    schemas: Schemas | None


def writing(
    checks: OptionChecks,
    *,
    format: Format,
    changelog: bool,
    key: str | tuple[str, ...],
    nulls: bool,
    avro_schema: str | Path | None,
    registry: str | Registry | None,
    protobuf: Protobuf | None,
) -> Writing:
    checks.one_of("format", format, ("json", *BINARY))
    if changelog and format == "raw":
        raise checks.wrong("raw records have no place for an op.", "leave out changelog or format")
    found = schemas(format, avro_schema, registry, protobuf, writes=True)
    return Writing(format=format, changelog=changelog, key=columns(key), nulls=nulls, schemas=found)


def token(writer: str, epoch: int, number: int) -> str:
    """The id of a message: the same when an epoch is sent again, so that readers can recognise a duplicate."""
    return f"{writer}-{epoch}-{number}"
