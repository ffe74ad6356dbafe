"""Who did what, and when: a line for each, added and never changed."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from millstream.manager.home import Home
from millstream.reports.folder import backwards


class Audit:
    def __init__(self, home: Home) -> None:
        self._file = home.audit

    def note(self, who: str, what: str, job: str | None, outcome: str) -> None:
        line = json.dumps({"at": round(time.time() * 1000), "who": who, "what": what, "job": job, "outcome": outcome})
        opened = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(opened, (line + "\n").encode())
        finally:
            os.close(opened)

    def last(self, most: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for line in backwards(self._file):
            if len(found) == most:
                break
            found.append(json.loads(line))
        return found
