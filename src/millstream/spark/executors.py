"""Whether executors can run a job's Python code, asked before it starts: by one small Spark job."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.errors import Step
from millstream.plan.node import walk
from millstream.plan.python import Call, Process
from millstream.planner.stages import JobPlan
from millstream.spark.python.ship import ship
from millstream.spark.slots import count, local

MOST = 32
"""Tasks of the check. Each asks the executor that it comes to."""
PACK = (
    "give executors the packages of this environment: millstream pack -o env.tar.gz, then "
    'ms.cluster(…, environment="env.tar.gz") or --environment env.tar.gz'
)
NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')
OTHER_VERSION = re.compile(r"PYTHON_VERSION_MISMATCH")
VERSION = re.compile(r"\b3\.\d+")
Answer = tuple[str, str | None, list[str | None]]
"""An executor's host, its version of Millstream if it has one, and for each step what went wrong with its code."""


def check_python(plan: JobPlan, spark: SparkSession) -> None:
    """Refuses a job with Python steps whose code, or what it imports, is not available where it would run."""
    steps = [node for node in walk(plan.flow) if isinstance(node, Process | Call)]
    if not steps or local(spark):
        return
    codes = [pickle.dumps(ship(object_of(step), step.name, step.at)) for step in steps]
    tasks = max(1, min(MOST, count(spark)))
    try:
        answers = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(probing(codes)).collect()
    except Exception as error:
        raise no_python(spark, f"{error}\n{getattr(error, '_stackTrace', '')}", steps[0]) from error
    for answer in answers:
        refuse_lack(answer, steps, spark)


def object_of(step: Process | Call) -> object:
    return (step.run.code if isinstance(step, Process) else step.code).object


def probing(codes: list[bytes]) -> Callable[[Iterable[int]], Iterable[Answer]]:
    """Nested, so that it is sent as it is: by its name it could not be found where Millstream is missing."""

    def probe(_: Iterable[int]) -> Iterable[Answer]:
        import importlib.metadata
        import pickle
        import socket

        host = socket.gethostname()
        errors: list[str | None] = []
        try:
            import millstream  # noqa: F401

            there = importlib.metadata.version("millstream")
        except Exception as error:
            return [(host, None, [f"{type(error).__name__}: {error}"])]
        for code in codes:
            try:
                pickle.loads(code).load()
                errors.append(None)
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
        return [(host, there, errors)]

    return probe


def refuse_lack(answer: Answer, steps: list[Process | Call], spark: SparkSession) -> None:
    host, there, errors = answer
    python, here = spark.sparkContext.pythonExec, version("millstream")
    if there is None:
        message = f"runs Python code, and the Python of the executor on {host} does not have Millstream."
        raise lacking(steps[0], message, f"{python}: {errors[0]}")
    if there != here:
        message = f"runs Python code, and the executor on {host} has Millstream {there}, not {here}."
        raise lacking(steps[0], message, python)
    for step, error in zip(steps, errors, strict=True):
        if error is not None:
            raise lacking(step, f"runs Python code that cannot be loaded on the executor on {host}.", error)


def no_python(spark: SparkSession, said: str, step: Process | Call) -> MillstreamError:
    """The executors' Python could not even be asked."""
    python, here = spark.sparkContext.pythonExec, f"{sys.version_info.major}.{sys.version_info.minor}"
    if NO_PROGRAM.search(said):
        return lacking(step, f"runs Python code, and executors have no {python}.", None)
    if OTHER_VERSION.search(said):
        others = [found for found in VERSION.findall(said) if found != here]
        there = f"Python {others[0]}" if others else "another Python"
        return lacking(step, f"runs Python code, and executors run {there}, while this is Python {here}.", python)
    found = next((line.strip() for line in reversed(said.splitlines()) if "Error" in line), said.strip()[:300])
    return lacking(step, "runs Python code, and the executors' Python cannot run it.", f"{python}: {found}")


def lacking(step: Process | Call, message: str, found: str | None) -> MillstreamError:
    return Step(step.name, step.at).error("MS-CLUSTER-005", message, found=found, hint=PACK)
