"""Three managers and a three-node ZooKeeper, and what can happen to them."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from millstream.manager.client import Client
from servers.process import Server, free_port
from servers.proxy import Proxy
from servers.zookeeper_ensemble import Ensemble

PATIENCE = 60.0
"""Seconds to wait for a leader: running out is a failure, not a measure of speed."""
START = """
import sys
from pathlib import Path
from millstream.manager.server import serve
from millstream.manager.service import Options
home, port, hosts, *driver = sys.argv[1:]
options = Options(Path(home), port=int(port), coordination=f"zk://{hosts}/millstream", driver=tuple(driver))
serve(options, print)
"""


class Manager:
    """A manager as a process, with its own connection to ZooKeeper, which can be cut."""

    def __init__(self, number: int, home: Path, folder: Path, zookeeper: Ensemble, driver: tuple[str, ...]) -> None:
        self.port, self.folder, self.home, self._driver = free_port(), folder / f"manager{number}", home, driver
        self.folder.mkdir()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ways = [Proxy() for _ in zookeeper.nodes]
        for way, node in zip(self.ways, zookeeper.nodes, strict=True):
            way.to = node.port
        self.stopped = False
        self.start()

    def start(self) -> None:
        hosts = ",".join(f"127.0.0.1:{way.port}" for way in self.ways)
        command = [sys.executable, "-c", START, str(self.home), str(self.port), hosts, *self._driver]
        self.server = Server(command, self.folder, dict(os.environ))
        self.stopped = False

    def wait(self) -> None:
        self.server.wait_until(self.answers)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2):
                return True
        except OSError:
            return False

    @property
    def pid(self) -> int:
        return self.server.process.pid

    def kill(self) -> None:
        """The manager alone: its drivers are in their own sessions."""
        os.kill(self.pid, signal.SIGKILL)
        self.server.process.wait()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        self.stopped = True

    def wake(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        self.stopped = False

    def cut_off(self) -> None:
        for way in self.ways:
            way.cut()

    def mend(self) -> None:
        for way in self.ways:
            way.mend()

    def close(self) -> None:
        if self.stopped:
            self.wake()
        self.server.stop()
        for way in self.ways:
            way.__exit__()


class Managers:
    def __init__(self, all_: list[Manager], home: Path) -> None:
        self.all = all_
        self.home = home

    def client(self, manager: Manager) -> Client:
        return Client(manager.url, (self.home / "token").read_text().strip())

    def members(self, manager: Manager) -> list[dict[str, Any]]:
        """What a manager says about all of them; nothing if it does not answer."""
        token = (self.home / "token").read_text().strip()
        asked = urllib.request.Request(f"{manager.url}/api/v1/cluster", headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(asked, timeout=3) as answer:
                return list(json.load(answer))
        except (OSError, ValueError):
            return []

    def leader(self, asked: list[Manager] | None = None) -> Manager | None:
        """The leader, according to those that are asked."""
        for manager in asked or self.all:
            found = [each["url"] for each in self.members(manager) if each["leads"]]
            if found:
                return next(each for each in self.all if each.url == found[0])
        return None

    def await_leader(self, other_than: Manager | None = None) -> tuple[Manager, float]:
        """Who leads, and how long that took."""
        begun = time.monotonic()
        asked = [each for each in self.all if each is not other_than]
        while time.monotonic() - begun < PATIENCE:
            found = self.leader(asked)
            if found is not None and found is not other_than:
                return found, time.monotonic() - begun
            time.sleep(0.1)
        raise RuntimeError("no manager leads")


@contextmanager
def running(folder: Path, zookeeper: Ensemble, driver: tuple[str, ...], size: int = 3) -> Iterator[Managers]:
    home = folder / "home"
    with ExitStack() as stack:
        found = []
        for number in range(1, size + 1):
            manager = Manager(number, home, folder, zookeeper, driver)
            stack.callback(manager.close)
            manager.wait()
            found.append(manager)
        yield Managers(found, home)
