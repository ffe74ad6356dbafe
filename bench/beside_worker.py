"""`python beside_worker.py GROUP EVENTS`, in the root of a version's tree: runs the cases that it reads, line by line.

It belongs to this version, and imports the benchmarks of the tree that it is run in: it asks them for nothing that
versions do not have in common.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

READY = "ready"


def basics(work: Path, events: int) -> Callable[[str], float]:
    from bench.basics import CASES, Bench, generate

    bench, cases = Bench(work, events), {case.name: case for case in CASES}
    for topic, seed in (("events", 2), ("left", 2), ("right", 1)):
        generate(bench.path, topic, events // (1 if topic == "events" else 2), seed)
    return lambda name: bench.by_millstream(cases[name]).cpu


def nexmark(work: Path, events: int) -> Callable[[str], float]:
    from bench.nexmark import log
    from bench.nexmark.jobs import Jobs
    from bench.nexmark.run import TOOLS, source

    log.write(work / "events", events, 1)
    there = source(work / "events", events)
    jobs = Jobs(TOOLS, work, there, there)
    return lambda query: jobs.cost(query, None).cpu


def main(group: str, events: int) -> None:
    work = Path(tempfile.mkdtemp(prefix="millstream-beside-"))
    try:
        cost = {"basics": basics, "nexmark": nexmark}[group](work, events)
        print(READY, flush=True)
        for line in sys.stdin:
            print(f"cpu {cost(line.strip())}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    main(sys.argv[1], int(sys.argv[2]))
