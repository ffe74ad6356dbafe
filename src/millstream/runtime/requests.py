"""Requests to a run, as files in its checkpoint, so that they may come from another machine.

<checkpoint>/requests/stop    {"format": 1, "until": 1767225900.0}: the run stops cleanly, and deletes it when it has
"""

from __future__ import annotations

import json
import logging
import time

from millstream.errors import MillstreamError
from millstream.storage import CheckpointFolder

LOG = logging.getLogger("millstream")

EVERY = 1.0
"""Seconds between two looks, where looking costs nothing."""
SELDOM = 5.0
"""And where each is a request to a server."""
PATIENCE = 60.0
"""Seconds to wait for a run to stop after it was asked to."""
MAX_CHAIN = 100


class Requests:
    """A run's side."""

    def __init__(self, folder: CheckpointFolder) -> None:
        self._folder = folder
        self._every = EVERY if folder.files.local else SELDOM
        self._looked = time.monotonic()

    def to_stop(self) -> bool:
        """Looks from time to time."""
        now = time.monotonic()
        if now - self._looked < self._every:
            return False
        self._looked = now
        try:
            text = self._folder.files.read(self._folder.stop_request)
        except (MillstreamError, OSError) as error:
            # Whether that ends the run is for its epochs to say, which need the storage, too.
            LOG.debug("no request to stop could be looked for: %s", error)
            return False
        return text is not None and json.loads(text)["until"] > time.time()

    def stopped(self) -> None:
        self._folder.files.delete(self._folder.stop_request)


def ask_to_stop(folder: CheckpointFolder, seconds: float = PATIENCE) -> bool:
    """Whether a run has stopped because of it."""
    folder.files.replace(folder.stop_request, json.dumps({"format": 1, "until": time.time() + seconds}))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if folder.files.read(folder.stop_request) is None:
            return True
        time.sleep(0.2)
    folder.files.delete(folder.stop_request)
    return False


def followed(address: str) -> str:
    """The checkpoint in which a rescaled job has continued; otherwise the same one."""
    for _ in range(MAX_CHAIN):
        folder = CheckpointFolder.at(address)
        text = folder.files.read(folder.retired)
        retired = json.loads(text) if text else {}
        if not retired.get("follow"):
            return address
        address = retired["by"]
    raise AssertionError(f"checkpoints that follow one another in a circle: {address}")
