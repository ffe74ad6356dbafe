"""The job in its own process, run again and again on request: `python -m … FILE FOLDER [STORAGE]`.

A line of JSON comes in for every run, and one goes out at its end. One JVM serves many runs: it is started once.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.api.command import Command
from millstream.api.job import Job
from millstream.cli.jobfile import execute, the_job
from millstream.errors import MillstreamError
from millstream.plan.modes import Batch, MicroBatch, Mode, RealTime
from millstream.planner.stages import plan_job
from millstream.verify.portions import Portions
from millstream.verify.sandbox import CHECKPOINT, INPUT, PARTITIONS, sandboxed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOTS = 4
MODES: dict[str, Mode] = {"batch": Batch(), "micro-batch": MicroBatch(0, True), "real-time": RealTime(200)}


def load(file: Path) -> Job:
    """The job of a file, which is not run."""
    command = Command(explain=True)
    execute(file, command)
    return the_job(file, command)


def run(job: Job, folder: Path, told: dict[str, Any], spark: SparkSession) -> dict[str, Any]:
    from millstream.spark.memory import rest, unload_state
    from millstream.verify.moving import MOVES, Moving

    place, whole, elsewhere = folder / told["place"], folder / INPUT, told["elsewhere"]
    mode = MODES[told["mode"]]
    live = isinstance(mode, RealTime)
    moved = MOVES[told["moved"]] if told["moved"] else None
    try:
        bit_by_bit = live or moved is not None
        plan = plan_job(sandboxed(job._sinks, whole, place, told["rows_per_epoch"], bit_by_bit, elsewhere))
        root = elsewhere or str(place)
        portions = Portions(plan.sources, whole, place / INPUT) if bit_by_bit else None
        moving = Moving(job, plan, mode, root, spark, portions)
        going = moving.work_off(f"{root}/{CHECKPOINT}", job.parallelism) if moved is None else moved(moving)
        return {"late": sum(going.late().values()), "skipped": sum(going.skipped().values())}
    except MillstreamError as error:
        return {"code": error.code, "error": error.text()}
    finally:
        rest(spark)
        unload_state(spark)


def slots(job: Job) -> int:
    """In real time, one for every task, of which there may be more behind a savepoint."""
    plan = job.plan()
    return max(SLOTS, PARTITIONS * len(plan.sources) + (job.parallelism + 1) * len(plan.stages))


def beside(folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """What Spark keeps for itself: a process that is killed cannot delete it."""
    place = folder / "spark"
    place.mkdir(exist_ok=True)
    options = "spark.driver.extraJavaOptions"
    return {"spark.local.dir": str(place), options: f"{settings[options]} -Djava.io.tmpdir={place}"}


def main(file: str, folder: str, *storage: str) -> None:
    from millstream.spark import session, storages
    from millstream.spark.memory import QUICK
    from millstream.testing.faults import MANAGER

    # What the job prints, and what the JVM says, goes to the log: stdout is for answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    job = load(Path(file))
    settings = {**QUICK, **MANAGER, **beside(Path(folder), QUICK)}
    spark = session.make(slots(job), job.parallelism, settings, storages.jars(storage))
    session.prepare(spark, (), elsewhere=bool(storage))
    for line in sys.stdin:
        answers.write(json.dumps(run(job, Path(folder), json.loads(line), spark)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
