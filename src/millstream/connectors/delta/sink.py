"""Delta tables as sinks: rows and the epoch's number in one commit of the table's log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millstream.connectors.delta.carrier import DeltaCarrier
from millstream.connectors.delta.errors import ERRORS, deltalake
from millstream.plan.connectors import Errors, Format, RowShape, WriteMode


@dataclass(frozen=True)
class DeltaSink:
    path: str
    partition_by: tuple[str, ...] = ()
    key: tuple[str, ...] = ()

    @property
    def system(self) -> str:
        return "delta"

    @property
    def label(self) -> str:
        return Path(self.path).name

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        return ("upsert", "append")

    @property
    def guarantee(self) -> str:
        return "exactly once (token in the same commit)"

    @property
    def format(self) -> Format:
        return "json"

    @property
    def errors(self) -> Errors:
        return ERRORS

    def check(self) -> None:
        """The table is made when the first epoch is written."""
        deltalake()

    def writer(self) -> dict[str, str]:
        return {}

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> DeltaCarrier:
        return DeltaCarrier(self.path, self.partition_by, writer, shape, upserts=mode == "upsert")
