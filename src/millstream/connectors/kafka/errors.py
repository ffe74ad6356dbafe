"""What can go wrong with Kafka, as users see it."""

from __future__ import annotations

import re

from millstream.errors import MillstreamError
from millstream.plan.connectors import Affected, ErrorPattern, Errors
from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-KAFKA-001")


def lost(job: str, found: re.Match[str], steps: tuple[Affected, ...]) -> MillstreamError:
    source = next((step for step in steps if step.label in found.group(1)), steps[0])
    return MillstreamError(
        "MS-KAFKA-009",
        f'source "{source.name}": records that job "{job}" was to read are no longer in Kafka.',
        at=source.at,
        found=found.group(1),
        hint='keep records longer than the job may be away; to go on with what is left, say on_loss="skip"',
    )


def refused(job: str, found: re.Match[str], steps: tuple[Affected, ...]) -> MillstreamError:
    return MillstreamError("MS-KAFKA-010", f'job "{job}" is refused by Kafka.', found=found.group(1).strip())


ERRORS = Errors(
    patterns=(
        # The second message comes in real time.
        ErrorPattern(
            re.compile(r"(?:Some data may have been lost.*?Reason:|OffsetOutOfRangeException:)\s*([^\n]+)", re.DOTALL),
            lost,
        ),
        # When reading.
        ErrorPattern(re.compile(r"\w*(?:Authentication|Authorization)Exception: ([^\n]+)"), refused),
    ),
    hints=(
        (
            "MS-KAFKA-008",
            'allow more by kafka.cluster(settings={"max.request.size": …}) and the topic\'s max.message.bytes, '
            "or leave such rows out",
        ),
        (
            "MS-KAFKA-006",
            "these rows are lost to the sink. To go on without them, delete the sink's list of that epoch in "
            "the folder sinks of the checkpoint; to have them, start the job with a new checkpoint",
        ),
    ),
    # Brokers, or the registry, do not answer.
    transient=frozenset({"MS-KAFKA-003", "MS-KAFKA-005", "MS-AVRO-003"}),
)
