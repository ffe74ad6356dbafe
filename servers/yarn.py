"""YARN: a resource manager and node managers, with their HDFS. `python -m servers.yarn` starts them and prints the
folder that HADOOP_CONF_DIR is to name."""

from __future__ import annotations

import getpass
import json
import os
import signal
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kernels.test.__main__ import JUNIT
from millstream.spark.fetch import Pin, ivy, java, pinned
from millstream.spark.yarn import site as settings
from servers import hdfs
from servers.process import Server, command, descendants, in_own_folder, serve_until_stopped

BOUNCY_CASTLE = tuple(
    Pin("org.bouncycastle", f"{name}-jdk18on", "1.78.1", checksum)
    for name, checksum in (
        ("bcprov", "add5915e6acfc6ab5836e1fd8a5e21c6488536a8c1f21f386eeb3bf280b702d7"),
        ("bcpkix", "4b48ea084e5232b9d79ebca1887b9de037b124931807cd60710748c2aee08cc9"),
        ("bcutil", "d9fa56f97b0f761ce3bc8d9d74c5d7137a987bf5bd3abfe1003f9bafa45a1d2f"),
    )
)
JARS = (hdfs.JAR, JUNIT, *BOUNCY_CASTLE)
MAIN = Path(__file__).with_name("Yarn.java")
CORE_SITE = """<configuration>
  <property><name>fs.defaultFS</name><value>{url}</value></property>
</configuration>
"""
EXECUTOR, MASTER = b"YarnCoarseGrainedExecutorBackend", b"deploy.yarn.ApplicationMaster"


class Yarn:
    """A cluster whose clients have HADOOP_CONF_DIR=`conf`. Each machine has `megabytes` megabytes for containers."""

    def __init__(self, folder: Path, url: str, machines: int, megabytes: int) -> None:
        self.conf = folder / "conf"
        self.conf.mkdir()
        (self.conf / "core-site.xml").write_text(CORE_SITE.format(url=url))
        site = self.conf / "yarn-site.xml"
        path = ":".join([f"{ivy().parent}/*", *map(str, pinned(JARS))])
        asked = (url, str(machines), str(megabytes), str(site))
        home = str(Path(java()).resolve().parents[1])
        self._server = Server(
            [java(), *hdfs.QUICK, "-cp", path, str(MAIN), *asked],
            folder,
            {**os.environ, "JAVA_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        self._server.wait_until(site.exists)
        self._web = settings(site)["yarn.resourcemanager.webapp.address"]

    @property
    def executors(self) -> list[int]:
        """The pids of Spark's executors, each in its own container."""
        return self._processes(EXECUTOR)

    @property
    def application_masters(self) -> list[int]:
        """In cluster mode they are the drivers."""
        return self._processes(MASTER)

    def _processes(self, sign: bytes) -> list[int]:
        """Java's own, not those of the scripts that started it."""
        found = ((pid, command(pid).split(b"\0")) for pid in descendants(self._server.process.pid))
        return [pid for pid, words in found if words[0].endswith(b"java") and any(sign in word for word in words)]

    def applications(self) -> dict[str, str]:
        """Each that has come so far, and its state."""
        listed = self._asked("apps")["apps"] or {"app": []}
        return {app["id"]: app["state"] for app in listed["app"]}

    def kill(self, application: str) -> None:
        """As `yarn application -kill` does."""
        self._asked(f"apps/{application}/state?user.name={getpass.getuser()}", {"state": "KILLED"})

    def _asked(self, path: str, change: dict[str, str] | None = None) -> dict[str, Any]:
        """Of the resource manager, by its REST API."""
        request = urllib.request.Request(
            f"http://{self._web}/ws/v1/cluster/{path}",
            data=None if change is None else json.dumps(change).encode(),
            headers={"Content-Type": "application/json"},
            method="GET" if change is None else "PUT",
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return dict(json.load(answer))

    def stop(self) -> None:
        """Containers have their own process groups: they go first."""
        containers = descendants(self._server.process.pid)
        self._server.stop()
        for pid in containers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def running(machines: int = 2, megabytes: int = 4096) -> Iterator[Yarn]:
    """In its own folder, deleted afterwards."""
    with (
        hdfs.running() as storage,
        in_own_folder("yarn", lambda folder: Yarn(folder, storage.url, machines, megabytes)) as yarn,
    ):
        yield yarn


if __name__ == "__main__":
    serve_until_stopped(running(int(sys.argv[1]) if sys.argv[1:] else 2), lambda yarn: str(yarn.conf))
