"""The journal itself reports what can go wrong with it; these are errors of sources and sinks."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-JOURNAL-010")


def changelog_in_a_compacted_topic(topic: str) -> MillstreamError:
    return MillstreamError(
        "MS-JOURNAL-016",
        f'topic "{topic}" is compacted, and cannot hold a changelog: each of its changes counts.',
        hint="leave out changelog=True, or create the topic without compact=True.",
    )
