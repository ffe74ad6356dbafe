"""Whether executors can run a job's Python code and its receivers, asked before it starts: by one small Spark job."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.apart import ReceivesApart, receivers_apart
from millstream.plan.errors import Step
from millstream.plan.node import walk
from millstream.plan.nodes import Source
from millstream.plan.python import Call, Process
from millstream.planner.stages import JobPlan
from millstream.spark.python.ship import ship
from millstream.spark.slots import Need, count, local, needed

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


@dataclass(frozen=True)
class Wanted:
    """What is to be there for a step. `does`: how errors begin. `lacks`: how they go on if it is not there."""

    step: Step
    does: str
    lacks: str
    object: object
    called: bool = False
    """Whether only a call shows that all is there."""


def check_executors(plan: JobPlan, spark: SparkSession, need: Need) -> None:
    """Refuses a job whose Python code, or receivers, or what they import, is not available where they would run."""
    if local(spark):
        return
    wanted = [of_code(node) for node in walk(plan.flow) if isinstance(node, Process | Call)]
    if needed(spark, need).receivers:
        wanted += [of_receivers(source) for source in plan.sources if receivers_apart(source.options)]
    if not wanted:
        return
    codes = [(pickle.dumps(ship(one.object, one.step.name, one.step.at)), one.called) for one in wanted]
    tasks = max(1, min(MOST, count(spark)))
    try:
        answers = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(probing(codes)).collect()
    except Exception as error:
        raise no_python(spark, f"{error}\n{getattr(error, '_stackTrace', '')}", wanted[0]) from error
    for answer in answers:
        refuse_lack(answer, wanted, spark)


def of_code(step: Process | Call) -> Wanted:
    code = (step.run.code if isinstance(step, Process) else step.code).object
    return Wanted(Step(step.name, step.at), "runs Python code", " that cannot be loaded on the executor on", code)


def of_receivers(source: Source) -> Wanted:
    assert isinstance(source.options, ReceivesApart)
    called = source.options.needed_there()
    lacks = ", and what they need is missing on the executor on"
    return Wanted(Step(source.name, source.at), "has receivers on executors", lacks, called, called=True)


def probing(codes: list[tuple[bytes, bool]]) -> Callable[[Iterable[int]], Iterable[Answer]]:
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
        for code, called in codes:
            try:
                loaded = pickle.loads(code).load()
                if called:
                    loaded()
                errors.append(None)
            except Exception as error:
                errors.append(f"{type(error).__name__}: {getattr(error, 'message', error)}")
        return [(host, there, errors)]

    return probe


def refuse_lack(answer: Answer, wanted: list[Wanted], spark: SparkSession) -> None:
    host, there, errors = answer
    python, here = spark.sparkContext.pythonExec, version("millstream")
    if there is None:
        message = f", and the Python of the executor on {host} does not have Millstream."
        raise lacking(wanted[0], message, f"{python}: {errors[0]}")
    if there != here:
        message = f", and the executor on {host} has Millstream {there}, not {here}."
        raise lacking(wanted[0], message, python)
    for one, error in zip(wanted, errors, strict=True):
        if error is not None:
            raise lacking(one, f"{one.lacks} {host}.", error)


def no_python(spark: SparkSession, said: str, first: Wanted) -> MillstreamError:
    """The executors' Python could not even be asked."""
    python, here = spark.sparkContext.pythonExec, f"{sys.version_info.major}.{sys.version_info.minor}"
    if NO_PROGRAM.search(said):
        return lacking(first, f", and executors have no {python}.", None)
    if OTHER_VERSION.search(said):
        others = [found for found in VERSION.findall(said) if found != here]
        there = f"Python {others[0]}" if others else "another Python"
        return lacking(first, f", and executors run {there}, while this is Python {here}.", python)
    return lacking(first, ", and the executors' Python cannot run it.", f"{python}: {said_by_python(said)}")


def said_by_python(said: str) -> str:
    """Of all that Spark says about a failed task, the error."""
    return next((line.strip() for line in reversed(said.splitlines()) if "Error" in line), said.strip()[:300])


def lacking(wanted: Wanted, message: str, found: str | None) -> MillstreamError:
    return wanted.step.error("MS-CLUSTER-005", f"{wanted.does}{message}", found=found, hint=PACK)
