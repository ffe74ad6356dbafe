"""A Spark master and workers, of the wheel. `python -m servers.standalone` starts them and says where they are."""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home

from servers.process import Server, children, command, free_port, in_own_folder, serve_until_stopped

HOST = "127.0.0.1"
DAEMON = {
    "SPARK_DAEMON_MEMORY": "256m",
    # A worker that is dead is known to be so in seconds.
    "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.worker.timeout=5",
}
OTHERS = ("MILLSTREAM_", "PYSPARK_", "PYTHONPATH", "SPARK_")
"""Variables of the process that starts the cluster, which its machines do not get."""


def spark(folder: Path, known: Mapping[str, str], main: str, *arguments: str) -> Server:
    """One of Spark's own servers, of the wheel."""
    folder.mkdir(exist_ok=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
    home = _find_spark_home()
    return Server([f"{home}/bin/spark-class", main, *arguments], folder, {**own, **DAEMON, **known, "SPARK_HOME": home})


class Master:
    """Keeps its address when it is killed and started again."""

    def __init__(self, folder: Path, zookeeper: str | None) -> None:
        self._folder = folder
        self.web = free_port()
        self.address = f"{HOST}:{free_port()}"
        self._options = DAEMON["SPARK_DAEMON_JAVA_OPTS"]
        if zookeeper is not None:
            self._options += f" -Dspark.deploy.recoveryMode=ZOOKEEPER -Dspark.deploy.zookeeper.url={zookeeper}"
        self.start()

    def start(self) -> None:
        where = ("--host", HOST, "--port", self.address.partition(":")[2], "--webui-port", str(self.web))
        known = {"SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_JAVA_OPTS": self._options}
        self._server = spark(self._folder, known, "org.apache.spark.deploy.master.Master", *where)

    def wait(self) -> None:
        self._server.wait_until(lambda: self.state() is not None)

    def kill(self) -> None:
        self._server.stop()

    def state(self) -> dict[str, Any] | None:
        """What it says about itself; None: it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.web}/json/", timeout=5) as answer:
                return dict(json.load(answer))
        except OSError:
            return None

    def leads(self) -> bool:
        state = self.state()
        return state is not None and state["status"] == "ALIVE"


class Worker:
    """A started worker. Its executors end with it."""

    def __init__(self, server: Server, host: str, disk: Path) -> None:
        self.server = server
        self.host = host
        self.disk = disk
        """Where its executors keep their local files: shuffles, state."""

    @property
    def executors(self) -> list[int]:
        """The pids of its executors."""
        return [pid for pid in children(self.server.process.pid) if b"CoarseGrainedExecutorBackend" in command(pid)]

    def kill_executor(self) -> None:
        """As `kill -9` does. The worker starts another one."""
        os.kill(self.executors[0], signal.SIGKILL)

    def kill(self) -> None:
        self.server.stop()


class Standalone:
    """The cluster: jobs go to `master`. Each worker has `cores` slots.

    `zookeeper`: two masters use it to elect a leader; otherwise there is one. `apart`: each worker has its own address,
    127.77.0.N, which can be cut off.
    """

    def __init__(
        self, folder: Path, cores: int, memory: str, zookeeper: str | None = None, apart: bool = False
    ) -> None:
        self.folder = folder
        self.cores = cores
        self.memory = memory
        self.workers: list[Worker] = []
        self._apart = apart
        self._numbers = 0
        self.masters = [Master(folder / f"master{number}", zookeeper) for number in range(2 if zookeeper else 1)]
        self.master = "spark://" + ",".join(master.address for master in self.masters)
        for master in self.masters:
            master.wait()

    def add(self, number: int = 1) -> None:
        """Starts more workers, and waits until the master knows them."""
        for _ in range(number):
            self.start_worker()
        self.wait()

    def wait(self) -> None:
        """Waits until the leading master knows all workers."""
        for worker in self.workers:
            worker.server.wait_until(lambda: self.alive() == len(self.workers))

    def start_worker(self, disk: Path | None = None) -> Worker:
        self._numbers += 1
        folder = self.folder / f"worker{self._numbers}"
        host = f"127.77.0.{self._numbers % 250 + 1}" if self._apart else HOST
        disk = disk or folder / "disk"
        size = ("--cores", str(self.cores), "--memory", self.memory)
        place = ("--host", host, "--webui-port", str(free_port()), "--work-dir", str(folder / "work"))
        known = {"SPARK_LOCAL_IP": host, "SPARK_LOCAL_DIRS": str(disk)}
        server = spark(folder, known, "org.apache.spark.deploy.worker.Worker", *place, *size, self.master)
        self.workers.append(Worker(server, host, disk))
        return self.workers[-1]

    def kill(self, worker: Worker) -> None:
        """A worker and its executors, as when a machine fails."""
        self.workers.remove(worker)
        worker.kill()

    def leader(self) -> Master | None:
        return next((master for master in self.masters if master.leads()), None)

    def alive(self) -> int | None:
        """How many workers the leading master knows; None: there is none."""
        state = self.state()
        return None if state is None else int(state["aliveworkers"])

    def state(self) -> dict[str, Any] | None:
        """What the leading master says about itself."""
        leader = self.leader()
        return None if leader is None else leader.state()

    def stop(self) -> None:
        for worker in self.workers:
            worker.kill()
        for master in self.masters:
            master.kill()


@contextmanager
def running(workers: int = 2, cores: int = 4, memory: str = "2g") -> Iterator[Standalone]:
    """In its own folder, deleted afterwards."""
    with in_own_folder("spark", lambda folder: Standalone(folder, cores, memory)) as cluster:
        cluster.add(workers)
        yield cluster


if __name__ == "__main__":
    serve_until_stopped(running(int(sys.argv[1]) if sys.argv[1:] else 2), lambda cluster: cluster.master)
