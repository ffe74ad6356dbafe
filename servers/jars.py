"""The jars of servers, fetched once into a folder of the cache."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from millstream.spark.fetch import cache, resolve


def fetched(name: str, coordinates: Sequence[str], without: Sequence[str] = (), instead: Sequence[str] = ()) -> Path:
    """The folder of all that `coordinates` need; `without` some of it by name, and with others `instead`."""
    folder = cache() / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder.parent))
        resolve(coordinates, part, transitive=True)
        for left_out in (file for pattern in without for file in part.glob(pattern)):
            left_out.unlink()
        if instead:
            resolve(instead, part, transitive=False)
        try:
            part.rename(folder)
        except OSError:  # another was quicker
            shutil.rmtree(part)
    return folder
