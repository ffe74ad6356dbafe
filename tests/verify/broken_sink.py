"""A job whose sinks break their promise: after a crash one has duplicates, one lacks rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import millstream as ms
from millstream import journal
from millstream.plan.connectors import Carried, Carrier, Format, RowShape, WriteMode
from millstream.testing.changelog import Rows


@dataclass(frozen=True)
class Broken:
    """Appends lines to a file, and notes the epoch's number before or after it, not in the same transaction."""

    token_first: bool
    path: str = ""

    key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    modes: tuple[WriteMode, ...] = ("append",)
    format: Format = "json"
    system = "broken"
    label = "broken"
    guarantee = "exactly once (so it says)"

    def check(self) -> None:
        Path(self.path).mkdir(parents=True, exist_ok=True)

    def writer(self) -> dict[str, str]:
        return {}

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> Carrier:
        return BrokenCarrier(Path(self.path), self.token_first)

    def moved(self, folder: Path) -> Broken:
        return replace(self, path=str(folder))

    def contents(self, folder: Path) -> Rows:
        file = folder / "rows.jsonl"
        return Counter(file.read_text().splitlines() if file.exists() else [])


class BrokenCarrier:
    def __init__(self, folder: Path, token_first: bool) -> None:
        self._rows = folder / "rows.jsonl"
        self._token = folder / "epoch"
        self._token_first = token_first

    def last(self) -> int:
        return int(self._token.read_text()) if self._token.exists() else -1

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        if self._token_first:
            self._token.write_text(str(epoch))
        for record in records:
            with self._rows.open("ab") as out:
                out.write((record.value or b"") + b"\n")
        self._token.write_text(str(epoch))

    def close(self) -> None:
        pass


def made() -> ms.Job:
    job = ms.Job("broken")
    likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING")
    likes.to(Broken(token_first=True), name="hasty")
    likes.to(Broken(token_first=False), name="hesitant")
    return job


job = made()
