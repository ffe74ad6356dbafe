"""A Spark master and workers, of the wheel. `python -m servers.standalone` starts them and says where they are."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home

from servers.process import Server, children, command, free_port

HOST = "127.0.0.1"
DAEMON = {
    "SPARK_LOCAL_IP": HOST,
    "SPARK_DAEMON_MEMORY": "256m",
    # A worker that is dead is known to be so in seconds.
    "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.worker.timeout=5",
}
OTHERS = ("MILLSTREAM_", "PYSPARK_", "PYTHONPATH", "SPARK_")
"""Of whoever starts the cluster: its machines know nothing of it."""


class Worker:
    """A started worker. Its executors end with it."""

    def __init__(self, server: Server) -> None:
        self.server = server

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
    """The cluster: jobs go to `master`. Each worker has `cores` slots."""

    def __init__(self, folder: Path, cores: int, memory: str) -> None:
        self.folder = folder
        self.cores = cores
        self.memory = memory
        self.workers: list[Worker] = []
        self._numbers = 0
        self._port, self._web = free_port(), free_port()
        self.master = f"spark://{HOST}:{self._port}"
        where = ("--host", HOST, "--port", str(self._port), "--webui-port", str(self._web))
        self._server = self._started("master", "org.apache.spark.deploy.master.Master", *where)
        self._server.wait_until(lambda: self.alive() is not None)

    def _started(self, name: str, main: str, *arguments: str) -> Server:
        folder = self.folder / name
        folder.mkdir()
        own = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        home = _find_spark_home()
        return Server([f"{home}/bin/spark-class", main, *arguments], folder, {**own, **DAEMON, "SPARK_HOME": home})

    def add(self, number: int = 1) -> None:
        """Starts more workers, and waits until the master knows them."""
        wanted = len(self.workers) + number
        for _ in range(number):
            self._numbers += 1
            name = f"worker{self._numbers}"
            size = ("--cores", str(self.cores), "--memory", self.memory)
            place = ("--host", HOST, "--webui-port", str(free_port()), "--work-dir", str(self.folder / name / "work"))
            main = "org.apache.spark.deploy.worker.Worker"
            self.workers.append(Worker(self._started(name, main, *place, *size, self.master)))
        for worker in self.workers[-number:]:
            worker.server.wait_until(lambda: (self.alive() or 0) >= wanted)

    def kill(self, worker: Worker) -> None:
        """A worker and its executors, as when a machine fails."""
        self.workers.remove(worker)
        worker.kill()

    def alive(self) -> int | None:
        """How many workers the master knows; None: it does not answer."""
        state = self.state()
        return None if state is None else int(state["aliveworkers"])

    def state(self) -> dict[str, Any] | None:
        """What the master says of itself."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self._web}/json/", timeout=5) as answer:
                return dict(json.load(answer))
        except OSError:
            return None

    def stop(self) -> None:
        for worker in self.workers:
            worker.kill()
        self._server.stop()


@contextmanager
def running(workers: int = 2, cores: int = 4, memory: str = "2g") -> Iterator[Standalone]:
    """In a folder of its own, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-spark-"))
    try:
        cluster = Standalone(folder, cores, memory)
        try:
            cluster.add(workers)
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    # Blocked, so that they wait for `sigwait` and end nobody before the cluster is stopped.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    with running(int(sys.argv[1]) if sys.argv[1:] else 2) as started:
        print(started.master, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
