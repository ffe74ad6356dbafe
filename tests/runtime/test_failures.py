"""What users see of a failure, and whether another start may help."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream import delta, files, journal, kafka, postgres
from millstream.plan.connectors import SinkOptions, SourceOptions
from millstream.planner.stages import JobPlan
from millstream.runtime.failures import explained, transient


class SparkError(Exception):
    """Spark's message leaves out what it was caused by; it stands in the trace."""

    _stackTrace = (
        "org.apache.spark.SparkException: [CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT] Error writing state store files\n"
        "\tat org.apache.spark.sql.Some.commit(Some.scala:1)\n"
        "Caused by: java.io.IOException: No space left on device\n"
        "\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)\n"
    )


def copying(source: SourceOptions, sink: SinkOptions) -> JobPlan:
    job = ms.Job("copy")
    job.stream(source, "id BIGINT", name="in").to(sink)
    return job.plan()


def plain() -> JobPlan:
    return copying(journal.source("in"), journal.sink("out"))


def test_a_full_disk_is_seen_behind_sparks_own_words() -> None:
    found = explained("copy", SparkError("[STREAM_FAILED] terminated with exception: CANNOT_COMMIT"), plain())
    assert (found.code, found.found) == ("MS-RUN-005", "java.io.IOException: No space left on device")
    assert transient(found, plain())


def test_a_full_disk_is_a_reason_to_start_again_whoever_says_so() -> None:
    assert transient(ms.MillstreamError("MS-JOURNAL-009", "the disk is full."), plain())
    assert not transient(ms.MillstreamError("MS-DECODE-001", "a record cannot be read."), plain())


def of_kafka() -> JobPlan:
    return copying(kafka.source("likes", servers="one:9092"), kafka.sink("out", servers="one:9092"))


LOST = """[STREAM_FAILED] terminated with exception: Some data may have been lost because they are not available in
Kafka any more. Reason: partition likes-0's offset was changed from 10 to 3
"""


@pytest.mark.parametrize(
    ("said", "code", "found"),
    [
        (LOST, "MS-KAFKA-009", "partition likes-0's offset was changed from 10 to 3"),
        ("x.OffsetOutOfRangeException: likes-0 at 3\n", "MS-KAFKA-009", "likes-0 at 3"),
        ("x.TopicAuthorizationException: Not authorized: [likes]\n", "MS-KAFKA-010", "Not authorized: [likes]"),
    ],
)
def test_what_kafka_says_is_explained_where_a_job_reads_it(said: str, code: str, found: str) -> None:
    error = explained("copy", Exception(said), of_kafka())
    assert (error.code, error.found) == (code, found)
    assert not transient(error, of_kafka())
    assert explained("copy", Exception(said), plain()).code == "MS-RUN-004"


def test_a_file_that_cannot_be_read_is_explained_where_a_job_reads_files() -> None:
    said = Exception("[FAILED_READ_FILE] Encountered error while reading file /in/a.csv. SQLSTATE: KD001")
    error = explained("copy", said, copying(files.source("in", format="csv"), journal.sink("out")))
    assert (error.code, error.found) == ("MS-FILES-003", "/in/a.csv")
    assert explained("copy", said, plain()).code == "MS-RUN-004"


def test_hints_of_a_connector_for_errors_of_its_kernels() -> None:
    said = Exception('MS-KAFKA-008: sink "out": a record is too large.')
    assert "max.request.size" in str(explained("copy", said, of_kafka()).hint)
    assert explained("copy", said, plain()).hint is None


@pytest.mark.parametrize(
    ("code", "sink"),
    [
        ("MS-KAFKA-003", kafka.sink("out", servers="one:9092")),
        ("MS-AVRO-003", kafka.sink("out", servers="one:9092")),
        ("MS-POSTGRES-001", postgres.sink("out", address="")),
        ("MS-DELTA-001", delta.sink("out")),
    ],
)
def test_a_system_that_does_not_answer_is_a_reason_to_start_again(code: str, sink: SinkOptions) -> None:
    error = ms.MillstreamError(code, "nobody answers.")
    assert transient(error, copying(journal.source("in"), sink))
    assert not transient(error, plain())
