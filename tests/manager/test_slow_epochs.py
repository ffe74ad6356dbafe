"""Why an epoch was slow."""

from __future__ import annotations

from typing import Any

from millstream.manager.page.gantt import bars
from millstream.manager.page.words import length, per_second
from millstream.manager.views import clear_ms, rate


def epoch(number: int, **phases: int) -> dict[str, Any]:
    took = {"offsets": 5, "plan": 10, "log": 15, "rows": 150, "commit": 20} | phases
    return {"epoch": number, "started": 0, "rows": 100, "duration_ms": sum(took.values()), "phases_ms": took}


def test_the_phase_that_took_longer_than_usual_is_named() -> None:
    found = bars([epoch(3, commit=900), epoch(2), epoch(1)])
    assert [bar.slow for bar in found] == ["slow: commit took 900 ms, usually 20 ms", None, None]


def test_many_rows_are_a_reason() -> None:
    late = epoch(4) | {"rows": 90_000, "duration_ms": 3_050, "phases_ms": {**epoch(4)["phases_ms"], "rows": 3_000}}
    assert bars([late, epoch(3), epoch(2)])[0].slow == (
        "slow: rows took 3 s, usually 150 ms; it had 90,000 rows, usually 100"
    )


def test_bars_fill_the_width_of_the_longest() -> None:
    long, short = bars([epoch(2), epoch(1)])
    assert sum(part.width for part in long.parts) == 100
    assert [part.phase for part in short.parts] == ["offsets", "plan", "log", "rows", "commit"]


def test_rates_and_the_time_to_clear_a_lag() -> None:
    samples = [{"at": 60_000, "rows_in": 6_000, "lag": 500}, {"at": 0, "rows_in": 0, "lag": 1_000}]
    assert rate(samples, "rows_in") == 100
    assert clear_ms(samples) == 60_000
    growing = [{"at": 60_000, "rows_in": 0, "lag": 2_000}, {"at": 0, "rows_in": 0, "lag": 1_000}]
    assert clear_ms(growing) is None


def test_numbers_have_units() -> None:
    assert [length(ms) for ms in (12, 1_500, 60_000, 600_000, 9_000_000, 400_000_000)] == [
        *("12 ms", "1.5 s", "60 s", "10 min", "2.5 h", "5 days"),
    ]
    assert [per_second(rate) for rate in (0, 3.25, 104, 999.7, 1_200, 2_500_000)] == [
        *("0/s", "3.2/s", "104/s", "1.0 k/s", "1.2 k/s", "2.5 M/s"),
    ]
