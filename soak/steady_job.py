"""A job that runs in real time for a long time: `python -m soak.steady_job FOLDER EVERY`. It answers a line on its
input with what it has in use.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import millstream as ms
from millstream import journal
from millstream.spark import jvm, session


def job(folder: str) -> ms.Job:
    """Rows pass a shuffle, state and the timers of windows that close."""
    path = f"{folder}/journal"
    made = ms.Job("steady", checkpoint=f"{folder}/checkpoint", parallelism=2)
    rows = made.stream(journal.source("rows", path=path), "k INT, sent BIGINT, at TIMESTAMP", time="at")
    rows.group_by("k").agg(n="count(*)", sent="max(sent)").to(journal.sink("counts", path=path))
    rows.window(ms.tumbling("1 second")).group_by("k").agg(n="count(*)").final().to(journal.sink("closed", path=path))
    return made


def in_use() -> dict[str, int]:
    """Bytes on the heap that are needed, bytes of the JVM as the system sees it, and threads."""
    runtime: Any = jvm.named("java.lang.Runtime").getRuntime()
    jvm.named("java.lang.System").gc()
    process = jvm.named("java.lang.ProcessHandle").current().pid()
    status = Path(f"/proc/{process}/status").read_text()
    figures = dict(line.split(":", 1) for line in status.splitlines())
    return {
        "heap": int(runtime.totalMemory()) - int(runtime.freeMemory()),
        "resident": int(figures["VmRSS"].split()[0]) * 1024,
        "threads": int(figures["Threads"]),
    }


def main(folder: str, every: str) -> None:
    spark = session.make(8, 2, {"spark.local.dir": folder})
    run = job(folder).start(ms.real_time(every), spark=spark)
    for _ in sys.stdin:
        run.poll(0)  # raises what has gone wrong
        print(json.dumps(in_use()), flush=True)
    run.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
