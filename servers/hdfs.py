"""HDFS: a name node and a data node in one process. `python -m servers.hdfs` starts one and prints its address."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.spark.fetch import Pin, ivy, java, pinned
from servers.process import Server, free_port

JAR = Pin(
    "org.apache.hadoop",
    "hadoop-client-minicluster",
    "3.5.0",
    "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c",
)
MAIN = Path(__file__).with_name("Hdfs.java")
QUICK = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dlog4j2.level=WARN")


class Hdfs:
    """A file system at `url`. It keeps its port and its files when it is stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ready = folder / "ready"
        # Spark's own jars hold Hadoop's client of the same version.
        path = f"{ivy().parent}/*:{pinned((JAR,))[0]}"
        files = (str(folder / "files"), str(free_port()), str(self._ready))
        self._command = [java(), *QUICK, "-cp", path, str(MAIN), *files]
        self.start()
        self.url = self._ready.read_text()

    def start(self) -> None:
        self._ready.unlink(missing_ok=True)
        self.server = Server(self._command, self._folder)
        self.server.wait_until(lambda: self._ready.exists() and bool(self._ready.read_text()))

    def stop(self) -> None:
        """As in a crash: killed."""
        self.server.stop()


@contextmanager
def running() -> Iterator[Hdfs]:
    """In a folder of its own, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-hdfs-"))
    try:
        hdfs = Hdfs(folder)
        try:
            yield hdfs
        finally:
            hdfs.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    # Blocked, so that they wait for `sigwait` and end nobody before the server is stopped.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    with running() as started:
        print(started.url, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
