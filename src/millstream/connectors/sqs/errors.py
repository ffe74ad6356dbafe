"""What can go wrong with SQS, as users see it."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-SQS-001")
LARGEST = 256 * 1024
"""Bytes of a message, its attributes included."""


def too_large(queue: str, number: int, size: int) -> MillstreamError:
    return MillstreamError(
        "MS-SQS-002",
        f'a row for "{queue}" is too large for SQS. It waits in the checkpoint and is not lost.',
        found=f"row {number} of its epoch has {size} bytes; SQS takes {LARGEST}",
        hint="leave out large columns, or write them to another sink and send a reference",
    )


def refused(queue: str, found: str) -> MillstreamError:
    return MillstreamError("MS-SQS-003", f'SQS does not take all rows for "{queue}".', found=found)
