"""How a run is shown."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from millstream.metrics import Metrics
from millstream.metrics.display import Display
from millstream.metrics.rates import WINDOW, Rates
from millstream.metrics.view import line, panel
from tests.metrics.figures import METRICS, NOON, house, later


def rates(*moments: float) -> Rates:
    """Of figures that were read at these moments."""
    times = iter((0.0, *moments))
    made = Rates(lambda: next(times))
    for moment in moments:
        made.note(later(moment))
    return made


def drawn(now: Metrics, rates: Rates, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(panel(now, rates, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_rates_are_those_of_the_last_seconds() -> None:
    def doors(now: Metrics) -> float:
        return now.source("doors").rows

    assert rates(0).of(doors) == 0
    assert rates(0, 1, 2).of(doors) == 1000
    slow = rates(0, 1)
    assert Rates.of(slow, doors) == 1000
    times = iter((0.0, 0.0, 5.0, 5.0 + WINDOW, 5.0 + 2 * WINDOW))
    rested = Rates(lambda: next(times))
    for moment in (0, 5, 5, 5):
        rested.note(later(moment))
    assert rested.of(doors) == 0, "what was long ago does not count"


def test_the_panel() -> None:
    shown = drawn(replace(later(2), at=NOON + timedelta(days=1)), rates(0, 2), 100)
    rows = [row.strip("│ \n").split() for row in shown.splitlines()]
    assert "alerts running" in shown
    assert "epoch 11 in 5.2 s" in shown
    assert "commit 80 ms" in shown
    assert "started again 1×" in shown
    assert "held back by lamps" in shown
    assert ["doors", "62,000", "1,000", "100.0", "kB", "0", "2026-01-01", "12:00:00"] in rows
    assert ["lamps", "10", "0", "–", "–", "2026-01-01", "11:59:56"] in rows
    assert ["per_minute", "62,010", "1,000", "0", "3", "10%", "1.2", "MB"] in rows
    assert ["alerts", "700", "0", "0", "B", "epoch", "11"] in rows


@pytest.mark.parametrize("width", [100, 60])
def test_all_of_the_panel(width: int, golden: bool) -> None:
    """On a wide terminal, as docs/metrics.md shows it, and on a narrow one."""
    times = iter((0.0, 3600.0, 3610.0))
    made = Rates(lambda: next(times))
    made.note(house(0))
    made.note(house(10))
    shown = drawn(house(10), made, width)
    file = Path(__file__).parent / "golden" / f"panel_{width}.txt"
    if golden:
        file.write_text(shown)
    assert shown == file.read_text(), "if that is right, run ./dev golden"
    assert "per_minute" in shown
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert width != 100 or f"```text\n{shown}```" in page.read_text(), "docs/metrics.md shows another one"


def test_the_panel_fits_a_narrow_terminal() -> None:
    for width in (60, 80, 200):
        lines = drawn(later(2), rates(0, 2), width).splitlines()
        assert {len(row) for row in lines} == {min(width, 96)}


def test_before_the_first_epoch() -> None:
    now = Metrics("alerts", "running", NOON)
    assert "the first one is running" in drawn(now, rates(0), 80)
    assert line(now, rates(0)) == "00:00  alerts running  epoch –  in 0 (0/s)  out 0 (0/s)"


def test_a_source_without_rows_holds_time_back() -> None:
    """Then there is no watermark at all, and users want to know why."""
    now = replace(later(2), watermark=None)
    assert "watermark –, held back by lamps" in drawn(now, rates(0, 2), 100)
    assert "watermark – by lamps" in line(now, rates(0, 2))


def test_the_line() -> None:
    assert line(later(2), rates(0, 2)) == (
        "00:02  alerts running  epoch 11  in 62,010 (1,000/s)  out 705 (0/s)  lag 0  "
        "watermark 11:59:56 by lamps  state 1.2 MB  late 3"
    )


def test_elsewhere_than_on_a_terminal_a_line_comes_every_ten_seconds() -> None:
    now = [0.0]
    console = Console(file=io.StringIO(), width=40, highlight=False)
    display = Display(lambda: METRICS, console, lambda: now[0])
    for second in range(25):
        now[0] = float(second)
        display.look()
    display.close()
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [text.split()[0] for text in lines] == ["00:10", "00:20"]
