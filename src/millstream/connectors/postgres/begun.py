"""What is known about a reception, beside its journal: as FORMAT.md says.

<checkpoint>/received/<table>.json           its slot, its table and key, its snapshot when that is whole
<checkpoint>/received/<table>.acknowledged   how far in the database's log the slot was told to go
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from millstream.connectors.postgres.table import Table
from millstream.errors import MillstreamError
from millstream.storage import files_at

FORMAT = 2
READ = (1, FORMAT)
"""Those that can be read. In the first, nothing was ever cut off the journal."""


@dataclass(frozen=True)
class Snapshot:
    """Which transactions a snapshot holds, in Postgres' own words: `xmin:xmax:running,…`.

    `end`: a place in the log behind all of them. Transactions are numbered round a circle, places are not.
    """

    text: str
    end: int

    def holds(self, xid: int, place: int) -> bool:
        _, high, running = self.text.split(":")
        ids = {int(part) % 2**32 for part in running.split(",") if part}
        return place < self.end and xid not in ids and before(xid, int(high))


def before(xid: int, other: int) -> bool:
    return 0 < (other - xid) % 2**32 < 2**31


@dataclass(frozen=True)
class Begun:
    slot: str
    table: int
    key: tuple[str, ...]
    snapshot: Snapshot | None = None
    """None as long as it is not whole."""
    format: int = FORMAT


class Notes:
    """The files of one table."""

    def __init__(self, folder: str, table: Table) -> None:
        self._table = table
        self._files = files_at(folder)
        self._file = f"{folder}/{table.name}.json"
        self._place = f"{folder}/{table.name}.acknowledged"

    def begun(self) -> Begun | None:
        text = self._files.read(self._file)
        return None if text is None else self._parsed(json.loads(text))

    def _parsed(self, saved: dict[str, Any]) -> Begun:
        if saved.get("format") not in READ:
            raise MillstreamError(
                "MS-CHECKPOINT-004",
                f'what was received of table "{self._table.name}" has format {saved.get("format", 0)}, not {FORMAT}.',
                hint="start over with another checkpoint folder",
            )
        snapshot = Snapshot(**saved["snapshot"]) if saved["snapshot"] is not None else None
        return Begun(saved["slot"], saved["table"], tuple(saved["key"]), snapshot, saved["format"])

    def begin(self, slot: str, snapshot: Snapshot | None = None) -> Begun:
        begun = Begun(slot, self._table.number, self._table.key, snapshot)
        self._files.replace(self._file, json.dumps(asdict(begun)))
        return begun

    @property
    def acknowledged(self) -> int:
        return int(self._files.read(self._place) or 0)

    def acknowledge(self, place: int) -> None:
        """Called before the slot advances: if the slot is further than this, another client has advanced it."""
        self._files.replace(self._place, str(place))
