"""How the demo looks: a panel on a terminal, plain lines anywhere else."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from millstream.demo.meter import WINDOW, Latency
from millstream.metrics.text import clock, size, span

WIDTH = 78


@dataclass(frozen=True)
class Snapshot:
    """All that is shown, at one moment."""

    elapsed: float = 0.0
    length: float | None = None
    likes: int = 0
    likes_rate: float = 0.0
    matches: int = 0
    matches_rate: float = 0.0
    uncommitted: Latency | None = None
    committed: Latency | None = None
    epochs: int = 0
    every_ms: int = 0
    state_rows: int | None = None
    state_bytes: int = 0
    latest: tuple[str, str] | None = None


def panel(now: Snapshot, footer: RenderableType, columns: int = 80) -> RenderableType:
    length = f" of {clock(now.length)}" if now.length else ""
    framed = Panel(
        figures(now, notes=columns >= WIDTH),
        title=Text("millstream demo", style="bold"),
        title_align="left",
        subtitle=Text(clock(now.elapsed) + length),
        subtitle_align="right",
        border_style="cyan",
        padding=(1, 2),
        width=WIDTH if columns >= WIDTH else None,
    )
    return Group(framed, below(footer))


def below(footer: RenderableType) -> RenderableType:
    """Not wider than it is: the terminal writes ^C behind it, which must not begin a new line."""
    return Padding(footer, (0, 2), expand=False)


def figures(now: Snapshot, notes: bool) -> Table:
    """Columns that stay where they are, whatever the numbers. A narrow terminal has no room for notes."""
    table = Table.grid()
    table.add_column(width=20)
    table.add_column(width=14, justify="right", style="bold")
    table.add_column(width=11, justify="right")
    table.add_column(width=27 if notes else 0, style="dim", no_wrap=True)
    rows = (
        ("likes", f"{now.likes:,}", f"{now.likes_rate:,.0f}/s", ""),
        ("matches", f"{now.matches:,}", f"{now.matches_rate:,.0f}/s", pair(now.latest)),
        ("", "", "", ""),
        (
            "from like to match",
            Text("p50", style="not bold dim"),
            Text("p99", style="dim"),
            f"last {WINDOW:.0f} s",
        ),
        ("  read uncommitted", *latency(now.uncommitted, "green"), "as soon as it is found"),
        ("  read committed", *latency(now.committed, "yellow"), "once its epoch commits"),
        ("", "", "", ""),
        ("epochs", f"{now.epochs:,}", f"every {span(now.every_ms)}", ""),
        ("state", *state(now), ""),
    )
    for *cells, note in rows:
        table.add_row(*cells, f"   {note}" if notes else "")
    return table


def latency(measured: Latency | None, colour: str) -> tuple[Text, Text]:
    shown = (span(measured.p50), span(measured.p99)) if measured else ("–", "–")
    return Text(shown[0], style=f"bold {colour}"), Text(shown[1], style=f"bold {colour}")


def line(now: Snapshot) -> str:
    """The same on one line, for a log."""
    parts = [
        clock(now.elapsed),
        f"{now.likes:,} likes ({now.likes_rate:,.0f}/s)",
        f"{now.matches:,} matches",
        f"uncommitted {both(now.uncommitted)}",
        f"committed {both(now.committed)}",
        f"epochs {now.epochs}",
        f"state {', '.join(part for part in state(now) if part)}",
    ]
    return "  ".join(parts)


def state(now: Snapshot) -> tuple[str, str]:
    """How many rows there are, if they are counted, and how large they are."""
    return "" if now.state_rows is None else f"{now.state_rows:,} rows", size(now.state_bytes)


def both(latency: Latency | None) -> str:
    return f"p50 {span(latency.p50)} p99 {span(latency.p99)}" if latency else "–"


def pair(people: tuple[str, str] | None) -> str:
    return f"{people[0]} ♥ {people[1]}" if people else ""
