"""Several managers that agree through ZooKeeper: who leads, and the records.

/epoch          who leads; its version counts up with every new leader, and every write checks it
/candidates/…   an ephemeral, numbered node for each manager: the first one leads
/members/…      an ephemeral node for each manager: where it listens
/jobs/NAME      a job's record
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, KazooException, NodeExistsError, NoNodeError, RolledBackError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState

from millstream.errors import MillstreamError
from millstream.manager.documents import Changed, Document, NotLeading
from millstream.manager.service import Member

LOG = logging.getLogger("millstream.manager")
SESSION = 4.0
"""Seconds after which a manager that is not heard of is given up."""
PATIENCE = 3.0
"""Seconds that a question may take."""
FIRST = 20.0
"""Seconds within which ZooKeeper has to answer when a manager starts."""
LOOK = 0.25
AWAY = (KazooException, KazooTimeoutError, OSError)
"""What is raised while ZooKeeper is away."""


class ZooKeeper:
    """A connection that comes back by itself. Questions never wait longer than `PATIENCE`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "zk" or not parts.netloc:
            raise MillstreamError(
                "MS-MANAGER-024",
                f"{url!r} does not say where ZooKeeper is.",
                hint="zk://host:2181,host:2181,host:2181/millstream",
            )
        self.root = parts.path.rstrip("/") or "/millstream"
        retry = {"max_tries": -1, "delay": 0.1, "max_delay": 0.5, "max_jitter": 0.1}
        self._client = KazooClient(hosts=parts.netloc, timeout=SESSION, connection_retry=retry)
        self._client.logger.setLevel(logging.CRITICAL)  # it logs every attempt
        try:
            self._client.start(timeout=FIRST)
            for path in ("/jobs", "/members", "/candidates", "/epoch"):
                self._client.ensure_path(self.root + path)
        except AWAY as error:
            with suppress(Exception):
                self._client.stop()
            raise MillstreamError(
                "MS-MANAGER-024",
                f"ZooKeeper does not answer at {parts.netloc}.",
                found=str(error) or type(error).__name__,
                hint="the manager needs most of its servers to start; one that runs waits for them",
            ) from error

    @property
    def connected(self) -> bool:
        return bool(self._client.connected and self._client.state == KazooState.CONNECTED)

    @property
    def session(self) -> int | None:
        told = self._client.client_id
        return int(told[0]) if told else None

    def get(self, path: str) -> tuple[bytes, int]:
        body, stat = self._client.get_async(self.root + path).get(timeout=PATIENCE)
        return bytes(body), int(stat.version)

    def get_many(self, paths: list[str]) -> list[tuple[bytes, int] | None]:
        """Asked all at once. None: it has just gone."""
        asked = [self._client.get_async(self.root + path) for path in paths]
        found: list[tuple[bytes, int] | None] = []
        for each in asked:
            try:
                body, stat = each.get(timeout=PATIENCE)
                found.append((bytes(body), int(stat.version)))
            except NoNodeError:
                found.append(None)
        return found

    def children(self, path: str) -> list[str]:
        return sorted(self._client.get_children_async(self.root + path).get(timeout=PATIENCE))

    def set(self, path: str, body: bytes, version: int) -> int:
        """Its new version."""
        return int(self._client.set_async(self.root + path, body, version).get(timeout=PATIENCE).version)

    def announce(self, path: str, body: bytes, numbered: bool = False) -> str:
        """A node that is there as long as this manager is; its name."""
        made = self._client.create_async(self.root + path, body, ephemeral=True, sequence=numbered)
        return str(made.get(timeout=PATIENCE)).rpartition("/")[2]

    def together(self) -> Any:
        return self._client.transaction()

    def close(self) -> None:
        with suppress(*AWAY):
            self._client.stop()
            self._client.close()


class Election:
    """Whether this manager leads, looked at again and again by a thread of its own."""

    def __init__(self, zookeeper: ZooKeeper, url: str) -> None:
        self._zookeeper = zookeeper
        self._me = Member(url, True, socket.gethostname(), os.getpid())
        self._number: int | None = None
        self._candidate: tuple[int | None, str] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="millstream-election", daemon=True)
        self._thread.start()

    def number(self) -> int | None:
        """The version of `/epoch` that this manager wrote: no write without it is taken."""
        return self._number if self._zookeeper.connected else None

    def deposed(self) -> None:
        """ZooKeeper has said so."""
        self._number = None

    def _run(self) -> None:
        while not self._ended.wait(LOOK):
            try:
                self._look()
            except AWAY:
                continue  # it comes back, or somebody else leads
            except Exception:
                LOG.exception("the election failed; it begins again")

    def _look(self) -> None:
        if not self._zookeeper.connected:
            return
        session = self._zookeeper.session
        if self._candidate is None or self._candidate[0] != session:
            self._number = None
            self._stand(session)
        assert self._candidate is not None
        first = self._zookeeper.children("/candidates")[:1]
        if first != [self._candidate[1]]:
            self._number = None
            if self._candidate[1] not in self._zookeeper.children("/candidates"):
                self._candidate = None
        elif self._number is None:
            self._lead()

    def _stand(self, session: int | None) -> None:
        body = json.dumps(asdict(self._me)).encode()
        name = self._zookeeper.announce("/candidates/n", body, numbered=True)
        with suppress(NodeExistsError):
            self._zookeeper.announce(f"/members/{name}", body)
        self._candidate = (session, name)

    def _lead(self) -> None:
        """From the moment that this is written, nothing that an earlier leader writes is taken."""
        _, version = self._zookeeper.get("/epoch")
        number = self._zookeeper.set("/epoch", json.dumps(asdict(self._me)).encode(), version)
        self._number = number
        LOG.info("this manager leads, as number %d", number, extra={"fields": {"leadership": number}})

    def members(self) -> list[Member]:
        try:
            names = self._zookeeper.children("/members")
            told = self._zookeeper.get_many([f"/members/{name}" for name in names])
            first = self._zookeeper.children("/candidates")[:1]
        except AWAY:
            return [Member(self._me.url, False, self._me.host, self._me.pid)]
        found = [(name, json.loads(each[0])) for name, each in zip(names, told, strict=True) if each]
        return [Member(each["url"], [name] == first, each["host"], each["pid"]) for name, each in found]

    def leader_url(self) -> str | None:
        if self.number() is not None:
            return self._me.url
        found = [each.url for each in self.members() if each.leads]
        return found[0] if found and found[0] != self._me.url else None

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


class ZooKeeperDocuments:
    """Records in ZooKeeper. While it is away, what was last read is shown, and nothing is written."""

    def __init__(self, zookeeper: ZooKeeper, election: Election) -> None:
        self._zookeeper = zookeeper
        self._election = election
        self._last: dict[str, Document] = {}
        self.all()  # ZooKeeper may be gone before anybody asks

    def all(self) -> list[Document]:
        if self._zookeeper.connected:
            with suppress(*AWAY):
                names = self._zookeeper.children("/jobs")
                told = self._zookeeper.get_many([f"/jobs/{name}" for name in names])
                found = {
                    name: Document(name, each[0].decode(), each[1])
                    for name, each in zip(names, told, strict=True)
                    if each is not None
                }
                self._last = found
        return list(self._last.values())

    def read(self, name: str) -> Document | None:
        if not self._zookeeper.connected:
            return self._last.get(name)
        try:
            body, version = self._zookeeper.get(f"/jobs/{name}")
        except NoNodeError:
            return None
        except AWAY:
            return self._last.get(name)
        found = Document(name, body.decode(), version)
        self._last = {**self._last, name: found}
        return found

    def create(self, name: str, body: str) -> None:
        self._write(lambda together, path: together.create(path, body.encode()), name)

    def replace(self, document: Document, body: str) -> None:
        self._write(lambda together, path: together.set_data(path, body.encode(), document.version), document.name)

    def delete(self, document: Document) -> None:
        self._write(lambda together, path: together.delete(path, document.version), document.name)

    def _write(self, what: Any, name: str) -> None:
        """Taken only if this manager still leads: both are one transaction."""
        number = self._election.number()
        if number is None:
            raise NotLeading(name)
        together = self._zookeeper.together()
        together.check(f"{self._zookeeper.root}/epoch", number)
        what(together, f"{self._zookeeper.root}/jobs/{name}")
        try:
            leads, done = together.commit_async().get(timeout=PATIENCE)
        except AWAY as error:
            raise NotLeading(f"ZooKeeper does not answer: {error}") from error
        if isinstance(leads, BadVersionError):
            self._election.deposed()
            raise NotLeading(name)
        if isinstance(done, BadVersionError | NodeExistsError | NoNodeError):
            raise Changed(name)
        if isinstance(done, KazooException) or isinstance(leads, KazooException | RolledBackError):
            raise NotLeading(f"{leads} {done}")

    def close(self) -> None:
        self._election.close()
        self._zookeeper.close()
