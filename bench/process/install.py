"""Environments of other engines, one for each, created once: `.tools/process/NAME-VERSION`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / ".tools" / "process"
DONE = "installed"
LONGEST = 900
"""Seconds for one command."""


class Missing(Exception):
    """An engine is not available here."""


def environment(name: str, *packages: str) -> Path:
    """The Python in which these packages are installed."""
    folder = TOOLS / f"{name}-{packages[0].partition('==')[2]}"
    python = folder / "bin" / "python"
    if (folder / DONE).exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    uv = shutil.which("uv")
    commands = [[sys.executable, "-m", "venv", str(folder)], [str(python), "-m", "pip", "install", "-q", *packages]]
    if uv is not None:
        of = ["--python", str(python)]
        commands = [
            [uv, "venv", "-q", "--seed", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "-q", *of, *packages],
        ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
        if done.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            said = done.stderr.strip().splitlines() or ["no word why"]
            raise Missing(f"{' '.join(packages)} cannot be installed: {said[-1]}")
    (folder / DONE).touch()
    return python
