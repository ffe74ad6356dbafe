"""What users are told of a failure, and whether another start may help."""

from __future__ import annotations

import millstream as ms
from millstream import journal
from millstream.runtime.failures import explained, transient


class SparkError(Exception):
    """Spark's message leaves out what it was caused by; it stands in the trace."""

    _stackTrace = (
        "org.apache.spark.SparkException: [CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT] Error writing state store files\n"
        "\tat org.apache.spark.sql.Some.commit(Some.scala:1)\n"
        "Caused by: java.io.IOException: No space left on device\n"
        "\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)\n"
    )


def test_a_full_disk_is_seen_behind_sparks_own_words() -> None:
    job = ms.Job("copy")
    job.stream(journal.source("in"), schema="id BIGINT").to(journal.sink("out"))
    found = explained("copy", SparkError("[STREAM_FAILED] terminated with exception: CANNOT_COMMIT"), job.plan())
    assert (found.code, found.found) == ("MS-RUN-005", "java.io.IOException: No space left on device")
    assert transient(found)


def test_a_full_disk_is_a_reason_to_start_again_whoever_says_so() -> None:
    assert transient(ms.MillstreamError("MS-JOURNAL-009", "the disk is full."))
    assert not transient(ms.MillstreamError("MS-DECODE-001", "a record cannot be read."))
