"""Shows a run in progress: a panel on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.live import Live

from millstream.metrics import view
from millstream.metrics.model import Metrics
from millstream.metrics.rates import Rates

DRAW_EVERY = 0.5
LINE_EVERY = 10.0


class Display:
    """Reads the figures when asked to, but not more often than is useful."""

    def __init__(
        self,
        read: Callable[[], Metrics],
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._console = console or Console(stderr=True, highlight=False)
        self._clock = clock
        self._rates = Rates(clock)
        self._live: Live | None = None
        self._every = DRAW_EVERY if self._console.is_terminal else LINE_EVERY
        self._next = clock() + (0 if self._console.is_terminal else LINE_EVERY)

    def look(self) -> None:
        if self._clock() >= self._next:
            self._next = self._clock() + self._every
            self._show()

    def _show(self) -> None:
        now = self._read()
        self._rates.note(now)
        if not self._console.is_terminal:
            self._console.print(view.line(now, self._rates), soft_wrap=True, markup=False)
            return
        if self._live is None:
            # What the job's own code prints goes above the panel, if it goes to the terminal at all.
            to_terminal = sys.stdout.isatty()
            self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=to_terminal)
            self._live.start()
        self._live.update(view.panel(now, self._rates, self._console.width), refresh=True)

    def close(self) -> None:
        """The last figures stay on the terminal."""
        if self._console.is_terminal:
            self._show()
        if self._live is not None:
            self._live.stop()
            self._live = None
