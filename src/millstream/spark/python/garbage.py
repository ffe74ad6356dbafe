"""Python's search for reference cycles, which is left out where many rows are alive at once.

It would walk over all of them again and again, though they are freed by their count as soon as they are done with.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Cycles that users' code makes meanwhile are found afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
