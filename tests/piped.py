"""Another process, of which a test reads and writes all three pipes."""

from __future__ import annotations

import subprocess
from typing import IO


class Piped(subprocess.Popen[str]):
    """Its pipes are there, other than those of any process."""

    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]
