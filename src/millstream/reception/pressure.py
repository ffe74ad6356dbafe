"""Back pressure: nothing is taken from a system while the disk is short, or the job far behind."""

from __future__ import annotations

import logging
import shutil
import time
from dataclasses import dataclass, field

from millstream.reception.retention import size
from millstream.storage import files_at

LOG = logging.getLogger("millstream")
FREE = 128 << 20
"""Bytes that are left free on the disk: the job must still be able to commit, and thereby to free space."""
LOOK = 0.5
"""Seconds between two looks."""


@dataclass
class Pressure:
    """`most`: how many bytes may wait in the journal for the job."""

    folder: str
    topic: str
    most: int
    free: int = FREE
    reason: str | None = field(default=None, init=False)
    _next_look: float = field(default=0.0, init=False)

    def high(self) -> bool:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK
            self._change(self._look())
        return self.reason is not None

    def _look(self) -> str | None:
        waiting = size(self.folder, self.topic)
        if waiting > self.most:
            return f"the job is behind: {waiting} bytes wait in the journal"
        if files_at(self.folder).local and (left := shutil.disk_usage(self.folder).free) < self.free:
            return f"the disk of {self.folder} is short of space: {left} bytes are left"
        return None

    def _change(self, reason: str | None) -> None:
        if reason is not None and self.reason is None:
            LOG.warning('nothing is received into "%s": %s', self.topic, reason)
        elif reason is None and self.reason is not None:
            LOG.warning('"%s" is received again', self.topic)
        self.reason = reason
