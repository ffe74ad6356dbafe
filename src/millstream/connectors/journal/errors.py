"""What can go wrong with a journal is said by the journal itself; here are the options of sources and sinks."""

from __future__ import annotations

from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-JOURNAL-010")
