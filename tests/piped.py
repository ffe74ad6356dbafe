"""Another process, whose three pipes a test reads and writes."""

from __future__ import annotations

import subprocess
from typing import IO


class Piped(subprocess.Popen[str]):
    """Its pipes are there, other than those of any process."""

    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]
