"""The journal itself reports what can go wrong with it; these are errors in options of sources and sinks."""

from __future__ import annotations

from millstream.plan.options import OptionChecks

CHECKS = OptionChecks("MS-JOURNAL-010")
