"""A bar, on a terminal, while state is saved."""

from __future__ import annotations

import threading

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar

from millstream.spark.state.reading import OpenedState

EVERY = 0.2


class Progress:
    """How many rows there are is not known before all are read, so the bar has no end."""

    def __init__(self, state: OpenedState) -> None:
        console = Console(stderr=True)
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("saving"),
            BarColumn(),
            TextColumn("{task.completed} rows"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("saving", total=None)
        self._state = state
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, name="millstream-progress", daemon=True)
        self._bar.start()
        self._thread.start()

    def _show(self) -> None:
        while not self._ended.wait(EVERY):
            self._bar.update(self._task, completed=self._state.rows())

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._bar.stop()
