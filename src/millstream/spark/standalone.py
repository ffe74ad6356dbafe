"""How many task slots a standalone cluster has. Its master says so on its page for programs, `http://HOST:8080/json/`."""

from __future__ import annotations

import json
import os
import re
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.spark.asked import CORES, CPUS

SCHEME = "spark://"
PORT, PORT_VARIABLE, USUAL_PORT = "spark.master.ui.port", "SPARK_MASTER_WEBUI_PORT", "8080"
MEMORY, MOST_CORES = "spark.executor.memory", "spark.cores.max"
SECONDS = 5
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""A master is in the same network: no proxy knows it."""
MEGABYTES = {"": 1 / 1024**2, "k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}
SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)


class CannotTell(Exception):
    """The master does not answer, or not there; the text says what was tried."""


@dataclass(frozen=True)
class Worker:
    """Cores and megabytes of a machine, and what of them no other application has."""

    cores: int
    free_cores: int
    memory: int
    free_memory: int


@dataclass(frozen=True)
class Room:
    """Task slots that a job could have, and those that it could have now."""

    slots: int
    free: int


def room(master: str, settings: Mapping[str, str]) -> Room:
    """`settings`: Spark's, which say how large executors are, and at which port the master has its page."""
    workers = workers_of(master, settings)
    return Room(
        slots([(worker.cores, worker.memory) for worker in workers], settings),
        slots([(worker.free_cores, worker.free_memory) for worker in workers], settings),
    )


def workers_of(master: str, settings: Mapping[str, str]) -> list[Worker]:
    """Of the master that leads, where several take turns."""
    port = settings.get(PORT) or os.environ.get(PORT_VARIABLE) or USUAL_PORT
    tried = []
    for address in master.removeprefix(SCHEME).split(","):
        page = f"http://{address.rpartition(':')[0]}:{port}/json/"
        try:
            said = read(page)
        except (OSError, ValueError) as error:
            tried.append(f"{page}: {getattr(error, 'reason', error)}")
            continue
        if said.get("url") != SCHEME + address:
            tried.append(f"{page} is the page of {said.get('url') or 'something else'}")
        elif said.get("status") == "ALIVE":
            return [worker(one) for one in said["workers"] if one["state"] == "ALIVE"]
        else:
            tried.append(f"{page}: the master does not lead")
    raise CannotTell("; ".join(tried))


def read(page: str) -> dict[str, Any]:
    with DIRECTLY.open(page, timeout=SECONDS) as answer:
        found = json.load(answer)
    return found if isinstance(found, dict) else {}


def worker(said: dict[str, Any]) -> Worker:
    return Worker(said["cores"], said["coresfree"], said["memory"], said["memoryfree"])


def slots(machines: Sequence[tuple[int, int]], settings: Mapping[str, str]) -> int:
    """In executors as the master hands them out: of a size, or one for each machine with all its cores."""
    memory = max(1, megabytes(settings.get(MEMORY, "1g")))
    cpus, most = int(settings.get(CPUS, "1")), int(settings.get(MOST_CORES, "0"))
    if CORES not in settings:
        found = sum(cores // cpus for cores, there in machines if there >= memory)
        return min(found, most // cpus) if most else found
    each = int(settings[CORES])
    executors = sum(min(cores // each, there // memory) for cores, there in machines)
    return (min(executors, most // each) if most else executors) * (each // cpus)


def megabytes(size: str) -> int:
    """As Spark reads it: bytes, if nothing else is said."""
    found = SIZE.fullmatch(size.strip())
    return int(int(found[1]) * MEGABYTES[found[2].lower()]) if found else 0
