"""HDFS: a name node and a data node in one process. `python -m servers.hdfs` starts one and prints its address."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from millstream.spark.fetch import Pin, ivy, java, pinned
from servers.process import Server, free_port, in_own_folder, serve_until_stopped

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


def running() -> AbstractContextManager[Hdfs]:
    """In its own folder, deleted afterwards."""
    return in_own_folder("hdfs", Hdfs)


if __name__ == "__main__":
    serve_until_stopped(running(), lambda hdfs: hdfs.url)
