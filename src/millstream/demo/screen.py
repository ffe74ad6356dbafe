"""Where the demo shows itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from millstream.demo import view
from millstream.demo.view import Snapshot

LINE_EVERY = 3.0


class Screen(Protocol):
    def wait(self, text: str) -> None:
        """Shows what the user is waiting for, until the next call."""

    def say(self, text: str) -> None:
        """Shows a text, and that nothing is being waited for."""

    def show(self, now: Snapshot) -> None: ...


@contextmanager
def screen(console: Console) -> Iterator[Screen]:
    """A live panel if this is a terminal, else lines."""
    if not console.is_terminal:
        yield Lines(console)
        return
    with Live(console=console, refresh_per_second=5) as live:
        yield Panels(live)


class Lines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = 0.0

    def wait(self, text: str) -> None:
        self._print(f"{text} …")

    def say(self, text: str) -> None:
        pass

    def show(self, now: Snapshot) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_EVERY
            self._print(view.line(now))

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False)


class Panels:
    """The panel, as soon as there is something to show, and a line below it."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._now: Snapshot | None = None
        self._footer: RenderableType = ""

    def wait(self, text: str) -> None:
        self._footer = Spinner("dots", Text(f"{text} …"), style="cyan")
        self._put()

    def say(self, text: str) -> None:
        self._footer = Text(text, style="dim")
        self._put()

    def show(self, now: Snapshot) -> None:
        self._now = now
        self._put()

    def _put(self) -> None:
        """Drawn by the live display's own clock."""
        self._live.update(
            view.panel(self._now, self._footer, self._live.console.width) if self._now else view.below(self._footer)
        )
