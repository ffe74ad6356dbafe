"""HDFS whose name node and data node are separate processes, each of which can be killed."""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.spark.fetch import ivy, java, pinned
from servers.hdfs import JAR, QUICK
from servers.process import Server, free_port

PACKAGE = "org.apache.hadoop.hdfs.server"
NAME_NODE, DATA_NODE = f"{PACKAGE}.namenode.NameNode", f"{PACKAGE}.datanode.DataNode"


class Node:
    """It keeps its ports and its files when it is killed and started again."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = command
        self._folder = folder
        self.start()

    def start(self) -> None:
        self.server = Server(self._command, self._folder)

    def stop(self) -> None:
        self.server.stop()


class HdfsNodes:
    """A file system at `url`."""

    def __init__(self, folder: Path) -> None:
        rpc, self._web = free_port(), free_port()
        self.url = f"hdfs://127.0.0.1:{rpc}"
        (folder / "core-site.xml").write_text(site({"fs.defaultFS": self.url}))
        (folder / "hdfs-site.xml").write_text(site(settings(folder, rpc, self._web)))
        # Spark's own jars hold Hadoop's client of the same version.
        command = [java(), *QUICK, "-cp", f"{folder}:{ivy().parent}/*:{pinned((JAR,))[0]}"]
        for name in ("name", "data"):
            (folder / name).mkdir()
        formatted = [*command, NAME_NODE, "-format", "-nonInteractive"]
        subprocess.run(formatted, cwd=folder, check=True, capture_output=True)
        self.name_node = Node([*command, NAME_NODE], folder / "name")
        self.data_node = Node([*command, DATA_NODE], folder / "data")
        self.wait()

    def wait(self) -> None:
        """Until files can be written."""
        self.data_node.server.wait_until(self._answers)

    def restart(self, node: Node) -> None:
        """As after a crash: killed, and started again."""
        node.stop()
        node.start()
        self.wait()

    def _answers(self) -> bool:
        try:
            beans = self._asked("jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo")["beans"]
        except OSError:
            return False
        return bool(beans) and not beans[0]["Safemode"] and len(json.loads(beans[0]["LiveNodes"])) == 1

    def _asked(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._web}/{path}", timeout=5) as answer:
            return dict(json.load(answer))

    def files(self, folder: str) -> Iterator[str]:
        """All files below a folder that are not hidden, through WebHDFS."""
        listed = self._asked(f"webhdfs/v1{urllib.parse.quote(folder)}?op=LISTSTATUS")["FileStatuses"]["FileStatus"]
        for found in (one for one in listed if not one["pathSuffix"].startswith((".", "_"))):
            path = f"{folder}/{found['pathSuffix']}"
            if found["type"] == "DIRECTORY":
                yield from self.files(path)
            else:
                yield path

    def read(self, path: str) -> str:
        url = f"http://127.0.0.1:{self._web}/webhdfs/v1{urllib.parse.quote(path)}?op=OPEN"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return str(answer.read().decode())

    def stop(self) -> None:
        self.data_node.stop()
        self.name_node.stop()


def settings(folder: Path, rpc: int, web: int) -> dict[str, str]:
    return {
        "dfs.namenode.rpc-address": f"127.0.0.1:{rpc}",
        "dfs.namenode.http-address": f"127.0.0.1:{web}",
        "dfs.namenode.name.dir": f"file://{folder}/name/files",
        "dfs.datanode.data.dir": f"file://{folder}/data/files",
        "dfs.datanode.hostname": "127.0.0.1",
        **{f"dfs.datanode.{part}address": f"127.0.0.1:{free_port()}" for part in ("", "http.", "ipc.")},
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
        # A data node that is dead, or back again, is known to be so in seconds.
        "dfs.heartbeat.interval": "1",
        "dfs.namenode.heartbeat.recheck-interval": "1000",
        "dfs.namenode.safemode.extension": "0",
    }


def site(settings: dict[str, str]) -> str:
    lines = (f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    return "\n".join(["<configuration>", *lines, "</configuration>"])
