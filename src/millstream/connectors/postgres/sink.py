"""Tables of Postgres as sinks: rows and the epoch's number in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.connectors.postgres.carrier import PostgresCarrier
from millstream.connectors.postgres.connect import connect
from millstream.connectors.postgres.errors import ERRORS
from millstream.plan.connectors import Errors, Format, RowShape, WriteMode


@dataclass(frozen=True)
class PostgresSink:
    table: str
    address: str = field(repr=False)
    key: tuple[str, ...] = ()

    @property
    def system(self) -> str:
        return "postgres"

    @property
    def label(self) -> str:
        return self.table

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        return ("upsert", "append")

    @property
    def guarantee(self) -> str:
        return "exactly once (token in the same transaction)"

    @property
    def format(self) -> Format:
        return "json"

    @property
    def partition_by(self) -> tuple[str, ...]:
        return ()

    @property
    def errors(self) -> Errors:
        return ERRORS

    def check(self) -> None:
        connect(self.address).close()

    def writer(self) -> dict[str, str]:
        return {}

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> PostgresCarrier:
        return PostgresCarrier(self.table, self.address, writer, shape, upserts=mode == "upsert")
