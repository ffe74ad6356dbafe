"""CHANGELOG.md: what every entry says."""

from __future__ import annotations

import re
from pathlib import Path

CHANGES = Path(__file__).parents[2] / "CHANGELOG.md"


def test_every_entry_says_what_happens_to_saved_state() -> None:
    unreleased = CHANGES.read_text().split("\n## ")[1]
    entries = [" ".join(entry.split()) for entry in re.split(r"\n(?:- |### .*)", unreleased)[1:] if entry.strip()]
    assert len(entries) > 100
    assert [entry for entry in entries if "Saved state: " not in entry] == []
