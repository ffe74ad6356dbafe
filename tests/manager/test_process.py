"""`millstream manager` as a process: what it says, what it writes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

from servers.process import free_port
from tests.manager.house import until

START = [sys.executable, "-c", "from millstream.cli.main import main; main()", "manager"]


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_it_tells_its_token_once_and_ends_when_told(tmp_path: Path) -> None:
    port = free_port()
    command = [*START, "--home", str(tmp_path / "home"), "--port", str(port), "--log", "json"]
    for first in (True, False):
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        until(lambda: answers(port))
        second = subprocess.run([*command[:-4], "--port", str(port)], capture_output=True, text=True, cwd=tmp_path)
        assert "MS-MANAGER-021" in second.stderr
        os.kill(started.pid, signal.SIGTERM)
        said, log = started.communicate(timeout=60)
        assert f"manager at http://127.0.0.1:{port}" in said
        assert ("token  ms_" in said) is first
        assert all(json.loads(line) for line in log.splitlines())
    token = tmp_path / "home" / "token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600


def test_it_does_not_serve_other_machines_unprotected(tmp_path: Path) -> None:
    refused = subprocess.run(
        [*START, "--home", str(tmp_path / "home"), "--host", "0.0.0.0"], capture_output=True, text=True, cwd=tmp_path
    )
    assert refused.returncode == 1
    assert "MS-MANAGER-022: the manager is not served to other machines without TLS." in refused.stderr
    assert not (tmp_path / "home").exists()
