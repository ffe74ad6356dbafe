"""Reads a topic as any client could, and notes when each row came: `python -m bench.latency.probe PLACE ISOLATION OUT`.

It ends when its input is closed and nothing more comes. OUT has three numbers per row: its id, when it was due, when it
arrived.
"""

from __future__ import annotations

import json
import select
import sys
import time
from array import array
from pathlib import Path
from typing import cast

from bench.latency.places import Place
from millstream.journal.reader import Isolation


def told_to_end() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def run(place: Place, isolation: Isolation, out: Path) -> None:
    found = array("q")
    for value in place.values(isolation):
        if value is None:
            if told_to_end():
                break
            continue
        now = time.time_ns()
        row = json.loads(value)
        found.extend((row["id"], row["sent"], now))
    out.write_bytes(found.tobytes())


if __name__ == "__main__":
    where, isolation, to = sys.argv[1:]
    run(Place.of(where), cast(Isolation, isolation), Path(to))
