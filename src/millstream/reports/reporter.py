"""Writes a run's reports, once a second, from its own thread: a hanging run is reported on, too."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from millstream.metrics.model import EpochMetrics, Metrics
from millstream.metrics.rates import Rates
from millstream.reports.figures import behind_ms, epoch, plain, rates, sample
from millstream.reports.folder import RunFolder, append, replace

EVERY = 1.0
SAMPLE_EVERY = 5.0
CHECKPOINTS_EVERY = 10.0
"""Their files are listed, which takes longer the more there are: then it is done less often."""
SHARE = 200
"""Takes at most one part in this many of a run's time."""
MOST_CHECKPOINTS = 100


class Reported(Protocol):
    """A run, as far as it is reported on."""

    def metrics(self) -> Metrics: ...

    def epochs(self, after: int) -> list[EpochMetrics]: ...

    @property
    def busy(self) -> bool: ...

    def checkpoints(self) -> Sequence[Any]: ...

    def rows(self) -> dict[str, Any]: ...


class Reporter:
    """An observer of a run. Figures are read from the JVM: if that hangs, so does the heartbeat."""

    def __init__(
        self, folder: RunFolder, rows: bool = False, lost: Callable[[], dict[str, Any] | None] = lambda: None
    ) -> None:
        """`rows`: whether a few of those that pass are reported. `lost`: how the run has ended, if this process can do
        nothing more for it."""
        self._folder = folder
        self._shows_rows = rows
        self._lost = lost
        self._run: Reported | None = None
        self._beats = 0
        self._looked = time.monotonic()
        self._last_epoch = -1
        self._ended_at = time.monotonic()
        self._next_sample = 0.0
        self._next_checkpoints = 0.0
        self._rates = Rates()
        self._told: dict[str, Any] = {"state": "starting"}
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._beat, name="millstream-reports", daemon=True)

    def start(self) -> None:
        self._report()
        self._thread.start()

    def follow(self, run: Reported) -> None:
        self._run = run
        self._ended_at = time.monotonic()

    def look(self) -> None:
        """Called by the run's own thread, which shows that it does not hang. It also gets its orders here."""
        self._looked = time.monotonic()
        if self._folder.ordered() == "stop":
            # As `docker stop` does: the thread that waits for the run stops it.
            os.kill(os.getpid(), signal.SIGTERM)

    def close(self) -> None:
        """The run is over; its last figures stay."""
        with suppress(Exception):  # Spark may be gone, and what was reported stays
            self._report()
        self._run = None

    def end(self, told: dict[str, Any]) -> None:
        """The process is about to end."""
        self._over.set()
        self._thread.join(timeout=EVERY)
        self._folder.end(told)

    def _beat(self) -> None:
        while not self._over.wait(EVERY):
            if self._folder.ordered() == "cancel":
                os.killpg(os.getpgid(0), signal.SIGKILL)
            with suppress(OSError):  # a full disk must not end a run that writes elsewhere
                self._report()
            lost = self._lost()
            if lost is not None:
                with suppress(OSError):
                    self._folder.end(lost)
                os._exit(1)  # its threads may wait for ever

    def _report(self) -> None:
        with self._writing:
            run = self._run
            if run is not None:
                self._figures(run)
            self._beats += 1
            self._folder.beat(
                {
                    "beats": self._beats,
                    "at": round(time.time() * 1000),
                    "pid": os.getpid(),
                    "looked_ms_ago": round((time.monotonic() - self._looked) * 1000),
                    "epoch_ended_ms_ago": round((time.monotonic() - self._ended_at) * 1000),
                    **self._told,
                }
            )

    def _figures(self, run: Reported) -> None:
        try:
            now, busy = run.metrics(), run.busy
            new = run.epochs(self._last_epoch)
        except Exception as error:  # between two starts, or when Spark is gone, there are none
            self._told = {**self._told, "silent": str(error)[:300]}
            return
        if new:
            self._last_epoch = new[-1].epoch
            self._ended_at = time.monotonic()
            append(self._folder.epochs, map(epoch, new))
        self._rates.note(now)
        self._told = {
            "state": now.state,
            "busy": busy,
            "behind_ms": behind_ms(now),
            "rates": rates(now, self._rates),
            "metrics": plain(now),
        }
        if self._shows_rows:
            replace(self._folder.rows, {"rows": run.rows()})
        if time.monotonic() >= self._next_sample:
            self._next_sample = time.monotonic() + SAMPLE_EVERY
            append(self._folder.samples, [sample(now)])
        if new and time.monotonic() >= self._next_checkpoints:
            self._checkpoints(run)

    def _checkpoints(self, run: Reported) -> None:
        begun = time.monotonic()
        with suppress(Exception):  # a file that is just replaced, a storage that does not answer: the next time
            found = run.checkpoints()[-MOST_CHECKPOINTS:]
            replace(self._folder.checkpoints, {"checkpoints": plain(found)})
        self._next_checkpoints = begun + max(CHECKPOINTS_EVERY, SHARE * (time.monotonic() - begun))
