"""ZooKeeper on three nodes. `python -m servers.zookeeper_ensemble` starts them and says where they listen."""

from __future__ import annotations

import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.spark.fetch import ivy, java
from servers.process import Server, free_port
from servers.zookeeper import QUICK

HOST = "127.0.0.1"
CONFIG = """\
tickTime=500
initLimit=20
syncLimit=10
maxSessionTimeout=10000
admin.enableServer=false
4lw.commands.whitelist=srvr
forceSync=no
clientPortAddress=127.0.0.1
"""


class Node:
    """One of the servers."""

    def __init__(self, folder: Path, number: int, peers: list[str], port: int) -> None:
        self.folder, self.port = folder, port
        data = folder / "data"
        data.mkdir(parents=True)
        (data / "myid").write_text(str(number))
        lines = [CONFIG, f"clientPort={port}\ndataDir={data}\n", *(f"{peer}\n" for peer in peers)]
        (folder / "zoo.cfg").write_text("".join(lines))
        self.start()

    def start(self) -> None:
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self.server = Server(
            [java(), *QUICK, "-cp", f"{ivy().parent}/*", main, str(self.folder / "zoo.cfg")], self.folder
        )

    def serves(self) -> bool:
        """Whether it is part of a majority."""
        try:
            with socket.create_connection((HOST, self.port), timeout=2) as asked:
                asked.sendall(b"srvr")
                told = b""
                while part := asked.recv(4096):
                    told += part
        except OSError:
            return False
        return b"Mode: " in told

    def stop(self) -> None:
        self.server.stop()


class Ensemble:
    def __init__(self, folder: Path, size: int) -> None:
        ports = [(free_port(), free_port()) for _ in range(size)]
        peers = [f"server.{n}={HOST}:{first}:{second}" for n, (first, second) in enumerate(ports, 1)]
        self.nodes = [Node(folder / f"node{n}", n, peers, free_port()) for n in range(1, size + 1)]
        self.wait()

    def wait(self) -> None:
        for node in self.nodes:
            node.server.wait_until(node.serves)

    @property
    def hosts(self) -> str:
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()


@contextmanager
def running(size: int = 3) -> Iterator[Ensemble]:
    """In its own folder, deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-zookeeper-"))
    try:
        servers = Ensemble(folder, size)
        try:
            yield servers
        finally:
            servers.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    with running() as started:
        print(started.hosts, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
