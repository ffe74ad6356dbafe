"""Epochs as bars of phases, and why a slow one was slow."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from millstream.manager.page.words import length

SLOW = 2.0
"""Times the usual."""
AT_LEAST_MS = 200


@dataclass(frozen=True)
class Part:
    phase: str
    ms: int
    left: float
    width: float
    """Both in percent of the longest epoch on the page."""


@dataclass(frozen=True)
class Bar:
    epoch: int
    started: int
    rows: int
    ms: int
    parts: tuple[Part, ...]
    slow: str | None = None


def bars(epochs: list[dict[str, Any]]) -> list[Bar]:
    longest = max((each["duration_ms"] for each in epochs), default=0) or 1
    return [bar(each, longest, slow(each, epochs)) for each in epochs]


def bar(epoch: dict[str, Any], longest: int, why: str | None) -> Bar:
    parts, left = [], 0
    for phase, ms in epoch["phases_ms"].items():
        if ms:
            parts.append(Part(phase, ms, 100 * left / longest, 100 * ms / longest))
        left += ms
    return Bar(epoch["epoch"], epoch["started"], epoch["rows"], epoch["duration_ms"], tuple(parts), why)


def slow(epoch: dict[str, Any], all_: list[dict[str, Any]]) -> str | None:
    """The phase that took most beyond its usual time; None: the epoch was not slow."""
    usual = median(each["duration_ms"] for each in all_)
    if epoch["duration_ms"] < max(SLOW * usual, usual + AT_LEAST_MS):
        return None
    usually = {phase: median(each["phases_ms"].get(phase, 0) for each in all_) for phase in epoch["phases_ms"]}
    if not usually:
        return "slow"
    phase = max(usually, key=lambda name: epoch["phases_ms"][name] - usually[name])
    rows = median(each["rows"] for each in all_)
    many = f"; it had {epoch['rows']:,} rows, usually {rows:,.0f}" if epoch["rows"] > SLOW * max(rows, 1) else ""
    return f"slow: {phase} took {length(epoch['phases_ms'][phase])}, usually {length(usually[phase])}{many}"
