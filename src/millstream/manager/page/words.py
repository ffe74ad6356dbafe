"""Numbers and times as the page says them: units always, and the exact time on hover."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from millstream.manager.views import JobView
from millstream.metrics.text import size

NONE = "–"
SHAPES = {"healthy": "●", "held back": "◐", "failing": "✕", "starting": "◌", "at rest": "○"}
"""Beside the word, so that nobody need tell colours apart."""


def columns(rows: list[dict[str, Any]]) -> list[str]:
    """Of rows that are JSON, in the order in which they come."""
    return list(dict.fromkeys(name for each in rows for name in parsed(each)))


def parsed(row: dict[str, Any]) -> dict[str, Any]:
    """A row's columns, without those that begin with _; none: it is not JSON, or only the beginning of it."""
    try:
        found = json.loads(row["row"])
    except ValueError:
        return {}
    return {name: value for name, value in found.items() if name[:1] != "_"} if isinstance(found, dict) else {}


def length(milliseconds: float | None) -> str:
    """`12 ms`, `3.4 s`, `4 min`, `2.5 h`, `3 days`."""
    if milliseconds is None:
        return NONE
    seconds = milliseconds / 1000
    for limit, unit, word in ((1, 0.001, "ms"), (100, 1, "s"), (6_000, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit:
            value = seconds / unit
            return (
                f"{value:.0f} {word}" if word == "ms" or value >= 10 or value == int(value) else f"{value:.1f} {word}"
            )
    return f"{seconds / 86_400:.0f} days"


def number(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f}"


def per_second(rate: float | None) -> str:
    """`104/s`, `1.2 k/s`."""
    if rate is None:
        return NONE
    for limit, unit, sign in ((999.5, 1, ""), (999_500, 1_000, " k"), (float("inf"), 1_000_000, " M")):
        if rate < limit:
            value = rate / unit
            return f"{value:.1f}{sign}/s" if 0 < value < 10 else f"{value:.0f}{sign}/s"
    return NONE


def bytes_of(value: float | None) -> str:
    return NONE if value is None else size(int(value))


def moment(millis: int | None) -> str:
    return NONE if millis is None else f"{datetime.fromtimestamp(millis / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def ago(millis: int | None) -> Markup:
    """`12 s ago`, with the exact time on hover."""
    if millis is None:
        return Markup(NONE)
    passed = max(0.0, time.time() * 1000 - millis)
    said = "now" if passed < 1_000 else f"{length(passed // 1000 * 1000)} ago"
    return Markup('<time title="{}">{}</time>').format(moment(millis), said)


def cell(value: object) -> str:
    """A value of a row."""
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def badge(shown: JobView) -> Markup:
    word = shown.health if shown.health == "held back" else str(shown.state)
    kind = shown.health.replace(" ", "-")
    return Markup('<span class="badge {}"><i aria-hidden="true">{}</i> {}</span>').format(
        kind, SHAPES[shown.health], word
    )
