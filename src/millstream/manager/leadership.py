"""Who of the managers may write and act."""

from __future__ import annotations

import os
import socket
from typing import Protocol

from millstream.manager.service import Member


class Leadership(Protocol):
    def number(self) -> int | None:
        """Of this manager's leadership, which no other ever had; None: it does not lead."""

    def members(self) -> list[Member]:
        """All managers."""

    def leader_url(self) -> str | None:
        """Where the leader listens; None: there is none now."""


class Alone:
    """There is one manager."""

    def __init__(self, url: str) -> None:
        self._url = url

    def number(self) -> int | None:
        return 1

    def members(self) -> list[Member]:
        return [Member(self._url, True, socket.gethostname(), os.getpid())]

    def leader_url(self) -> str | None:
        return self._url
