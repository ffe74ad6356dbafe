"""A sink that keeps nothing."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.connectors import Format, WriteMode


@dataclass(frozen=True)
class BlackholeSink:
    """Rows are computed in full, column by column, and dropped."""

    changelog: bool = False

    @property
    def system(self) -> str:
        return "blackhole"

    @property
    def label(self) -> str:
        return "blackhole"

    @property
    def format(self) -> Format:
        return "rows"

    @property
    def key(self) -> tuple[str, ...]:
        return ()

    @property
    def partition_by(self) -> tuple[str, ...]:
        return ()

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        return ("changelog",) if self.changelog else ("upsert", "append")

    @property
    def guarantee(self) -> str:
        return "keeps nothing"

    def check(self) -> None:
        """It is always there."""

    def writer(self) -> dict[str, str]:
        return {"kind": "blackhole"}
