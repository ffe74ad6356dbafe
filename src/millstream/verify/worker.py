"""The job in a process of its own, run again and again as it is told: `python -m … FILE FOLDER [STORAGE]`.

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
from millstream.plan.restarts import no_restart
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
    from millstream.runtime.run import Run, Setting
    from millstream.spark.memory import rest, unload_state

    place, whole, elsewhere = folder / told["place"], folder / INPUT, told["elsewhere"]
    mode = MODES[told["mode"]]
    live = isinstance(mode, RealTime)
    try:
        plan = plan_job(sandboxed(job._sinks, whole, place, told["rows_per_epoch"], live, elsewhere))
        checkpoint = f"{elsewhere or place}/{CHECKPOINT}"
        portions = Portions(plan.sources, whole, place / INPUT) if live else None
        setting = Setting(mode, checkpoint, job.parallelism, spark)
        going = Run.begin(job.name, plan, setting, no_restart())
        if portions is not None:
            portions.work_off(going, checkpoint)
        going.wait()
        return {"late": sum(going.late().values()), "skipped": sum(going.skipped().values())}
    except MillstreamError as error:
        return {"code": error.code, "error": error.text()}
    finally:
        rest(spark)
        unload_state(spark)


def slots(job: Job) -> int:
    """In real time, one for every task."""
    plan = job.plan()
    return max(SLOTS, PARTITIONS * len(plan.sources) + job.parallelism * len(plan.stages))


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
