"""What can go wrong with Kinesis, as users see it."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-KINESIS-001")
LARGEST = 1 << 20
"""Bytes of a record, its partition key included."""


def lost(stream: str, shard: str, place: str) -> MillstreamError:
    return MillstreamError(
        "MS-KINESIS-002",
        f'records of stream "{stream}" that the job was to read are no longer there.',
        found=f"the record {place} of {shard}, behind which it was to go on, is gone",
        hint='keep records longer than the job may be away; to go on with what is left, say on_loss="skip"',
    )


def too_large(stream: str, number: int, size: int) -> MillstreamError:
    return MillstreamError(
        "MS-KINESIS-003",
        f'a row for "{stream}" is too large for Kinesis. It waits in the checkpoint and is not lost.',
        found=f"row {number} of its epoch has {size} bytes; Kinesis takes {LARGEST}",
        hint="leave out large columns, or write them to another sink and send a reference",
    )


def refused(stream: str, found: str) -> MillstreamError:
    return MillstreamError("MS-KINESIS-004", f'Kinesis does not take all rows for "{stream}".', found=found)
