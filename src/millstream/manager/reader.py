"""Reads the state and rows of a job for people who look: `python -m millstream.manager.reader`, in the job's folder.

A question is a line of JSON on stdin, its answer a line on stdout, behind a mark: Spark may write there, too. The first
answer takes as long as Spark takes to start. It ends when nobody has asked for a while, or the manager is gone.
"""

from __future__ import annotations

import json
import select
import sys
from pathlib import Path
from typing import Any

MARK = "millstream-state:"
IDLE = 180.0
"""Seconds without a question after which it ends."""
MOST_ROWS = 1_000


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    from millstream.errors import MillstreamError
    from millstream.reports.figures import failure

    try:
        return rows(asked) if asked.get("what") == "rows" else state(asked)
    except MillstreamError as error:
        return {"error": failure(error, False)}


def state(asked: dict[str, Any]) -> dict[str, Any]:
    """Which steps have state, and how many rows; of one step, or of a key, the rows."""
    from millstream.cli.state import picked, rows_of
    from millstream.runtime.state import saved_state

    operator, keys = asked["operator"], tuple(asked["keys"])
    with saved_state(asked["checkpoint"], asked["at"], operators=[operator] if operator else None) as found:
        lists = []
        for one in found.lists:
            told: dict[str, Any] = {"operator": one.operator, "list": one.name, "kind": one.kind, "total": one.rows}
            if operator or keys:
                kept = picked(rows_of(found, one), keys)
                told |= {"found": len(kept), "rows": kept[: min(asked["limit"], MOST_ROWS)]}
            lists.append(told)
        return {"job": found.job, "epoch": found.epoch, "lists": lists}


def rows(asked: dict[str, Any]) -> dict[str, Any]:
    """What the sinks were given in the newest of these epochs that is kept: it is run again, in a sandbox."""
    from millstream.cli.jobfile import job_of
    from millstream.cli.replay import told
    from millstream.errors import MillstreamError
    from millstream.replay import replay
    from millstream.runtime.described import read_checkpoint
    from millstream.runtime.requests import followed
    from millstream.testing.written import in_order

    job = job_of(Path(asked["file"]), asked["checkpoint"], asked["parallelism"])
    kept = set(read_checkpoint(followed(job.checkpoint)).folder.committed())
    epoch = next((one for one in asked["epochs"] if one in kept), None)
    if epoch is None:
        raise MillstreamError(
            "MS-STATE-001",
            "no epoch is kept that had rows, and not too many.",
            hint="ask again when rows have come; to keep more epochs, checkpoints=ms.checkpoints(keep=…)",
        )
    found = replay(job, epoch)
    limit = min(asked["limit"], MOST_ROWS)
    sinks = [
        {"sink": name, "found": len(all_), "rows": [told(row) for row in in_order(all_)[:limit]]}
        for name, all_ in found.outputs.items()
    ]
    return {"job": job.name, "epoch": epoch, "sinks": sinks}


def main() -> None:
    while True:
        ready, _, _ = select.select([sys.stdin], [], [], IDLE)
        line = sys.stdin.readline() if ready else ""
        if not line:
            return
        # What Python holds of the user's, as a date, is text for JSON.
        print(MARK + json.dumps(answer(json.loads(line)), default=str), flush=True)


if __name__ == "__main__":
    main()
