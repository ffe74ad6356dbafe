"""Changes of a table as a source: a snapshot, then logical replication, through a journal beside the checkpoint.

table ─snapshot─▶ journal ◀─pgoutput─ slot        the slot moves on when the journal has the changes for good
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from millstream.connectors.journal import JournalSource
from millstream.connectors.postgres.connect import connect
from millstream.connectors.postgres.errors import ERRORS
from millstream.connectors.postgres.receiver import PostgresReceiver
from millstream.connectors.postgres.table import Table, look_up
from millstream.plan.connectors import Errors, Format, OnError, Reader, SinkOptions
from millstream.reception import Limits
from millstream.storage.checkpoint import batch_copy

LIMITS = Limits(message_bytes=sys.maxsize)
"""The journal itself refuses a row that is too large for it."""


@dataclass(frozen=True)
class PostgresChanges:
    table: str
    address: str = field(repr=False)
    publication: str | None = None
    slot: str | None = None
    limits: Limits = field(default=LIMITS, repr=False)
    folder: str | None = field(default=None, repr=False)
    """The journal that the changes are received into."""

    @property
    def system(self) -> str:
        return "postgres"

    @property
    def label(self) -> str:
        return self.table

    @property
    def topic(self) -> str:
        return self.table

    @property
    def changelog(self) -> bool:
        return False

    @property
    def format(self) -> Format:
        return "json"

    @property
    def on_error(self) -> OnError:
        return "fail"

    @property
    def dead_letters(self) -> SinkOptions | None:
        return None

    @property
    def real_time(self) -> bool:
        return True

    def lag(self, told: Mapping[str, str], read: str) -> int | None:
        """Of what is received."""
        return self.journal().lag(told, read)

    @property
    def errors(self) -> Errors:
        return ERRORS

    def partitions(self) -> int:
        return 1

    def bound(self, job: str, journal: str) -> PostgresChanges:
        own = re.sub(r"\W", "_", f"{job}_{self.table}", flags=re.ASCII).lower()[:40]
        # Two checkpoints of one job are two copies, and shortened names may be equal.
        place = hashlib.sha256(f"{journal}/{self.table}".encode()).hexdigest()[:8]
        return replace(
            self,
            publication=self.publication or f"millstream_{own}",
            slot=self.slot or f"millstream_{own}_{place}",
            folder=journal,
        )

    @cached_property
    def found(self) -> Table:
        with connect(self.address) as connection:
            return look_up(connection, self.table)

    def schema(self) -> str:
        return self.found.schema

    def key(self) -> tuple[str, ...]:
        return self.found.key

    def journal(self) -> JournalSource:
        assert self.folder is not None
        return JournalSource(self.topic, self.folder)

    def reader(self) -> Reader:
        assert self.folder is not None
        batch = JournalSource(self.topic, batch_copy(self.folder, self.topic))
        return replace(self.journal().reader(), batch=batch.reader())

    def receiver(self) -> PostgresReceiver:
        assert self.folder
        assert self.publication
        assert self.slot
        return PostgresReceiver(self.found, self.address, self.folder, self.publication, self.slot, self.limits)
