"""Load: numbers stream into every broker, whatever breaks meanwhile. What was not confirmed is sent again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from soak.brokers.broker import Broker
from soak.load import Background

LOG = logging.getLogger("soak")
PER_STEP, STEP = 10, 0.2
"""How many numbers are sent at a time, and seconds in between."""
SETTLED = 2.0
"""Seconds after which a server has kept what it has confirmed."""


class Load(Background):
    """Of one broker. `sent`: how many numbers were confirmed, from 0."""

    def __init__(self, broker: Broker) -> None:
        super().__init__()
        self.sent = 0
        self._broker = broker
        self._sending = threading.Lock()

    def _go(self) -> None:
        while not self._stop.wait(STEP):
            with self._sending:
                try:
                    self._broker.send(range(self.sent, self.sent + PER_STEP))
                except Exception as error:  # its server is away: the same numbers come again
                    LOG.debug("%s did not take numbers: %s", self._broker.title, error)
                    continue
                self.sent += PER_STEP

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is sent meanwhile, and what was sent before is kept."""
        with self._sending:
            time.sleep(SETTLED)
            yield
