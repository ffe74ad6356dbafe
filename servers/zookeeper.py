"""ZooKeeper, from Spark's own jars: several Spark masters use it to elect a leader."""

from __future__ import annotations

import socket
from pathlib import Path

from millstream.spark.fetch import ivy, java
from servers.process import Server, free_port

QUICK = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dzookeeper.admin.enableServer=false")
SETTINGS = """tickTime=1000
maxSessionTimeout=6000
clientPortAddress=127.0.0.1
clientPort={port}
dataDir={data}
"""
"""A client that says nothing for six seconds is gone: Spark itself would wait for a minute."""


class ZooKeeper:
    """One server, at `address`."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        settings = folder / "zoo.cfg"
        settings.write_text(SETTINGS.format(port=port, data=folder / "data"))
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        self._server = Server([java(), *QUICK, "-cp", f"{ivy().parent}/*", main, str(settings)], folder)
        self._server.wait_until(lambda: answers(port))

    def stop(self) -> None:
        self._server.stop()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True
