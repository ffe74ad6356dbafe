"""Users' code in another process, debugged from this one's terminal."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from millstream.replay.terminal import lent

STOPS = """
from millstream.spark.python.failures import Failure
def on_row(price):
    breakpoint()
    return 10 / price
try:
    on_row(0)
except ZeroDivisionError as error:
    Failure("budget", "on_row", None, None, error, None)
"""


def test_a_breakpoint_and_an_error_are_looked_at_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO("p price + 41\ncontinue\np price + 1\nquit\n"))
    monkeypatch.setattr(sys, "stdout", shown)
    with lent():
        subprocess.run([sys.executable, "-c", STOPS], check=True, timeout=120)
    text = shown.getvalue()
    assert "(Pdb) 41" in text
    assert "ZeroDivisionError: division by zero" in text
    assert "(Pdb) 1" in text
