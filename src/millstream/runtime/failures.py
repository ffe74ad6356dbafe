"""What went wrong in Spark, as an error for users: code, step, the user's line."""

from __future__ import annotations

import re

from millstream.errors import Location, MillstreamError
from millstream.plan.connectors import Affected, Errors, ExplainsErrors
from millstream.plan.node import walk
from millstream.plan.nodes import Sink, Source
from millstream.planner.stages import JobPlan
from millstream.runtime.bad_values import bad_call, bad_value
from millstream.runtime.identities import MADE_ANEW
from millstream.spark import jvm
from millstream.spark.launch import LOG

OURS = re.compile(r"(MS-[A-Z]+-\d{3}): (.*)")
STEP = re.compile(r'(?:step|source|sink) "([^"]+)"')
UNKNOWN = "MS-RUN-004"
"""The code of errors whose reason only Spark knows."""
TRANSIENT = {
    *(UNKNOWN, "MS-RUN-003", "MS-RUN-005", "MS-RUN-014", "MS-SINK-005", "MS-JOURNAL-009", "MS-PROCESS-105"),
    *("MS-CLUSTER-008", "MS-CLUSTER-016", "MS-STORAGE-001"),
}
"""Spark itself failed, a cluster has too few slots or does not answer, a disk is full (according to Spark or the
journal), a barrier hung, a committed epoch could not be published, a Python process was killed, no executor had a
receiver, a storage did not answer. Connectors have more."""
HINTS = {
    "MS-CHECKPOINT-006": "this run was thought to have ended: leave the job to the other one",
    "MS-CHECKPOINT-005": "stop the other run first: a process that hangs holds its checkpoint until it has ended",
    "MS-SINK-010": "go on with the checkpoint that ran last: what this one would write, the sink takes for written",
    "MS-SINK-008": "start the job as it was, so that these rows are published, and then take the sink out",
    "MS-DECODE-001": 'where such records may come, the source can put them aside: on_error="dead_letter"',
    "MS-RUN-014": "is a sink or a machine stuck? what is committed is safe, and the rest is read again",
    "MS-SOURCE-007": MADE_ANEW,
}
"""What to do about errors that come from the JVM. Connectors have more."""
SPARKS = re.compile(r"\.?( SQLSTATE: \w+)+$")
"""What Spark adds to a message."""
SAVING = re.compile(r"the checkpoint's file \S+ could not be written|a checkpoint failed: |MS-RUN-014: ")
"""Messages of epochs that could not be saved: from Spark's files, from a task's background saving, from barriers."""
TOO_FEW = re.compile(r"CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT\].*?needs (\d+) concurrent.*?only (\d+) ", re.DOTALL)
FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large", re.IGNORECASE)


def explained(job: str, error: BaseException, plan: JobPlan) -> MillstreamError:
    """The error that users see; what the JVM said stays behind it as its cause."""
    if isinstance(error, MillstreamError):
        return error
    text = str(error)
    # Spark's message leaves out what it was caused by.
    whole = f"{text}\n{getattr(error, '_stackTrace', '')}"
    if (ours := OURS.search(text)) is not None:
        said = SPARKS.sub("", ours.group(2)).strip()
        found = MillstreamError(ours.group(1), said, at=place(said, plan), hint=hints(plan).get(ours.group(1)))
    elif (few := TOO_FEW.search(whole)) is not None:
        found = MillstreamError(
            "MS-RUN-003",
            f'job "{job}" lost task slots: real time needs {few.group(1)} at once, and {few.group(2)} are free.',
            hint="it goes on when the cluster has replaced its executors, if it is started again",
        )
    elif FULL.search(whole):
        found = MillstreamError(
            "MS-RUN-005",
            f'job "{job}" stopped because a disk is full.',
            found=first(whole, FULL),
            hint="free some space and start it again: it goes on where it was",
        )
    elif (theirs := of_a_system(job, whole, plan)) is not None:
        found = theirs
    elif (bad := bad_value(text, plan.flow)) is not None:
        found = bad
    elif (failed := bad_call(whole, plan.flow)) is not None:
        found = failed
    elif jvm.gone():
        memory = "was it killed for lack of memory?"
        hint = f"{memory} {told}" if (told := where_spark_tells()) else memory
        found = MillstreamError(UNKNOWN, f'job "{job}" failed: Spark\'s Java process has ended.', hint=hint)
    else:
        found = MillstreamError(UNKNOWN, f'job "{job}" failed: {reason(text)}', hint=where_spark_tells())
    found.__cause__ = error
    return found


def systems(plan: JobPlan) -> dict[Errors, tuple[Affected, ...]]:
    """What the job's connectors say about errors, each with the steps that use its system."""
    found: dict[Errors, tuple[Affected, ...]] = {}
    nodes: tuple[Source | Sink, ...] = (*plan.sources, *plan.statics, *plan.sinks)
    for node in nodes:
        step = Affected(node.name, node.options.label, node.at)
        if isinstance(node.options, ExplainsErrors):
            found[node.options.errors] = (*found.get(node.options.errors, ()), step)
    return found


def of_a_system(job: str, text: str, plan: JobPlan) -> MillstreamError | None:
    for errors, steps in systems(plan).items():
        for pattern in errors.patterns:
            if (match := pattern.text.search(text)) is not None:
                return pattern.explain(job, match, steps)
    return None


def hints(plan: JobPlan) -> dict[str, str]:
    return HINTS | {code: hint for errors in systems(plan) for code, hint in errors.hints}


def of_a_checkpoint(error: BaseException) -> bool:
    """Whether the checkpoint failed, and not the job itself."""
    return SAVING.search(f"{error}\n{getattr(error, '_stackTrace', '')}") is not None


def transient(error: MillstreamError, plan: JobPlan) -> bool:
    """Whether another start may help: not where the job, its data or its checkpoint is wrong."""
    return error.code in TRANSIENT.union(*(errors.transient for errors in systems(plan)))


def where_spark_tells() -> str | None:
    log = LOG.keep()
    return f"Spark's own log is {log}" if log else None


def place(message: str, plan: JobPlan) -> Location | None:
    step = STEP.search(message)
    if step is None:
        return None
    for node in walk(plan.flow):
        if node.name == step.group(1):
            return node.at
    return None


def first(text: str, pattern: re.Pattern[str]) -> str:
    return next(line.strip().removeprefix("Caused by: ") for line in text.splitlines() if pattern.search(line))


def reason(text: str) -> str:
    """The innermost cause that says something."""
    causes = [line.split(":", 1)[-1].strip() for line in text.splitlines() if line.startswith("Caused by:")]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (causes[-1] if causes else lines[0] if lines else "no reason given")[:500]
