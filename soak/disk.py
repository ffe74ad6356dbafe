"""A small disk that can be filled up. Mounting one needs root."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEGABYTES = 128


class Disk:
    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def _ballast(self) -> Path:
        return self.path / "ballast"

    def fill(self) -> None:
        """Not a byte is left."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def mounted(path: Path, megabytes: int = MEGABYTES) -> Iterator[Disk | None]:
    """None where mounting is not allowed: the folder is then an ordinary one."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(path)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        yield None
        return
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
