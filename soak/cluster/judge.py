"""Compares what is in the sinks, and what the state says, with the input."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyarrow.fs import FileSelector, FileType

from servers.hdfs_nodes import HdfsNodes
from servers.s3 import S3
from soak.judge import Verdict, compared, orders, read, totals

Lines = Callable[[], Iterator[dict[str, Any]]]


@dataclass(frozen=True)
class Judged:
    sinks: list[Verdict]
    wrong: int
    """Customers whose state the input does not explain."""

    @property
    def well(self) -> bool:
        return not self.wrong and not any(part.lost or part.duplicated for part in self.sinks)


def judge(servers: str, lines: Lines) -> Judged:
    """`servers`: of Kafka. `lines`: of all files that a program finds when it lists the folder."""
    given = orders(read(servers, "orders"))
    found = {"every (Kafka)": read(servers, "every"), "files (JSON)": lines()}
    sinks = [compared(sink, given, orders(rows)) for sink, rows in found.items()]
    state = {row["customer"]: (row["orders"], row["total"]) for row in read(servers, "totals")}
    expected = totals(given)
    wrong = sum(state.get(customer) != expected.get(customer) for customer in state.keys() | expected.keys())
    return Judged(sinks, wrong)


def in_hdfs(hdfs: HdfsNodes, folder: str) -> Iterator[dict[str, Any]]:
    for path in hdfs.files(folder):
        yield from map(json.loads, hdfs.read(path).splitlines())


def in_s3(s3: S3, folder: str) -> Iterator[dict[str, Any]]:
    store = s3.files()
    for found in store.get_file_info(FileSelector(folder, recursive=True)):
        hidden = found.path.rpartition("/")[2].startswith((".", "_"))
        if found.type == FileType.File and not hidden:
            with store.open_input_stream(found.path) as stream:
                yield from map(json.loads, stream.read().decode().splitlines())
