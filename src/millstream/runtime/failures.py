"""What went wrong in Spark, as an error for people: code, step, the user's line."""

from __future__ import annotations

import re

from millstream.errors import Location, MillstreamError
from millstream.plan.node import walk
from millstream.planner.stages import JobPlan
from millstream.runtime.bad_values import bad_value
from millstream.spark.launch import LOG

OURS = re.compile(r"(MS-[A-Z]+-\d{3}): (.*)")
STEP = re.compile(r'(?:step|source|sink) "([^"]+)"')
TRANSIENT = {
    "MS-RUN-004",
    "MS-RUN-005",
    "MS-SINK-005",
    "MS-JOURNAL-009",
    "MS-AVRO-003",
    "MS-POSTGRES-001",
    "MS-DELTA-001",
    "MS-KAFKA-003",
    "MS-KAFKA-005",
    "MS-PROCESS-105",
}
"""Spark failed for a reason of its own, a disk is full (so does the journal say), a committed epoch could not be
published, a database, a table's storage, Kafka or its registry does not answer, a Python process was killed."""
HINTS = {
    "MS-CHECKPOINT-006": "this run was thought to have ended: leave the job to the other one",
    "MS-CHECKPOINT-005": "stop the other run first: a process that hangs holds its checkpoint until it has ended",
    "MS-DECODE-001": 'where such records may come, the source can put them aside: on_error="dead_letter"',
    "MS-KAFKA-008": 'allow more by kafka.cluster(settings={"max.request.size": …}) and the topic\'s max.message.bytes, '
    "or leave such rows out",
    "MS-KAFKA-006": "these rows are lost to the sink. To go on without them, delete the sink's list of that epoch in "
    "the folder sinks of the checkpoint; to have them, start the job with a new checkpoint",
}
"""What to do about errors that come from the JVM."""
REFUSED = re.compile(r"\w*(?:Authentication|Authorization)Exception: ([^\n]+)")
"""By Kafka, to whoever reads."""
LOST = re.compile(r"(?:Some data may have been lost.*?Reason:|OffsetOutOfRangeException:)\s*([^\n]+)", re.DOTALL)
"""Records of Kafka; the second in real time."""
UNREAD = re.compile(r"while reading file (\S+)")
SPARKS = re.compile(r"\.?( SQLSTATE: \w+)+$")
"""What Spark adds to a message."""
FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large", re.IGNORECASE)


def explained(job: str, error: BaseException, plan: JobPlan) -> MillstreamError:
    """The error that users see; what the JVM said stays behind it as its cause."""
    if isinstance(error, MillstreamError):
        return error
    text = str(error)
    # Spark's message leaves out what it was caused by.
    whole = f"{text}\n{getattr(error, '_stackTrace', '')}"
    ours = OURS.search(text)
    if ours is not None:
        said = SPARKS.sub("", ours.group(2)).strip()
        found = MillstreamError(ours.group(1), said, at=place(said, plan), hint=HINTS.get(ours.group(1)))
    elif FULL.search(whole):
        found = MillstreamError(
            "MS-RUN-005",
            f'job "{job}" stopped because a disk is full.',
            found=first(whole, FULL),
            hint="free some space and start it again: it goes on where it was",
        )
    elif (bad := bad_value(text, plan.flow)) is not None and UNREAD.search(text) is None:
        found = bad
    elif (unread := UNREAD.search(text)) is not None:
        found = MillstreamError(
            "MS-FILES-003",
            f'job "{job}" stopped because a file does not fit the schema, or is damaged.',
            found=unread.group(1).rstrip("."),
            hint="mend it or take it away, and start the job again: it goes on where it was",
        )
    elif (lost := LOST.search(whole)) is not None:
        source = next((source for source in plan.sources if source.options.label in lost.group(1)), plan.sources[0])
        found = MillstreamError(
            "MS-KAFKA-009",
            f'source "{source.name}": records that job "{job}" was to read are no longer in Kafka.',
            at=source.at,
            found=lost.group(1),
            hint='keep records longer than the job may be away; to go on with what is left, say on_loss="skip"',
        )
    elif (refused := REFUSED.search(whole)) is not None:
        found = MillstreamError("MS-KAFKA-010", f'job "{job}" is refused by Kafka.', found=refused.group(1).strip())
    else:
        found = MillstreamError("MS-RUN-004", f'job "{job}" failed: {reason(text)}', hint=where_spark_tells())
    found.__cause__ = error
    return found


def transient(error: MillstreamError) -> bool:
    """Whether another start may help: not where the job, its data or its checkpoint is wrong."""
    return error.code in TRANSIENT


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
