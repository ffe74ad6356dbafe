"""A manager's parts, put together."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.manager.actions import Actions
from millstream.manager.audit import Audit
from millstream.manager.changes import Changes
from millstream.manager.home import Home
from millstream.manager.readers import Readers
from millstream.manager.registry import Registry
from millstream.manager.tokens import Tokens

if TYPE_CHECKING:
    from millstream.manager.supervisor import Supervisor


@dataclass(frozen=True)
class Options:
    """What `millstream manager` is told."""

    home: Path
    host: str = "127.0.0.1"
    port: int = 8484
    certificate: Path | None = None
    key: Path | None = None
    token: bool = True
    insecure: bool = False
    """Whether it may listen to other machines without TLS or a token."""
    driver: tuple[str, ...] = (sys.executable, "-m", "millstream.manager.driver")
    """The command that runs a job; the folder of its run comes behind it."""
    beat_within: float = 30.0
    """Seconds without a heartbeat after which a driver is taken to hang. It beats once a second."""
    coordination: str | None = None
    traces: str | None = None
    """Where spans of epochs and operations are sent, by OTLP over HTTP."""
    rows: bool = False
    """Whether a few of the rows that pass through jobs are kept and shown."""
    flink: bool = False
    """Whether Flink's REST is answered, too."""
    advertise: str | None = None
    """The address under which other managers reach this one."""

    @property
    def url(self) -> str:
        scheme = "https" if self.certificate else "http"
        return self.advertise or f"{scheme}://{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        return self.host in ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Member:
    """One of the managers."""

    url: str
    leads: bool
    host: str
    pid: int


@dataclass
class Service:
    options: Options
    home: Home
    registry: Registry
    tokens: Tokens
    audit: Audit
    actions: Actions
    changes: Changes
    readers: Readers
    supervisor: Supervisor
    members: Callable[[], list[Member]]
    leader_url: Callable[[], str | None]
    """Where writes go; None: there is no leader now. This manager's own address: it leads."""
    started_at: float = field(default_factory=time.time)

    def about(self) -> dict[str, Any]:
        """What it was told, and what it has; nothing that is secret."""
        return {
            "version": version(),
            "home": str(self.home.path),
            "url": self.options.url,
            "tls": self.options.certificate is not None,
            "token": self.options.token,
            "coordination": (self.options.coordination or "none").partition("?")[0],
            "python": sys.version.split()[0],
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started_at": round(self.started_at * 1000),
        }


def version() -> str:
    from importlib.metadata import version as of

    return of("millstream")
