"""Requests to a run, as files in its checkpoint."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from millstream.errors import MillstreamError
from millstream.runtime import requests
from millstream.runtime.requests import Requests
from millstream.storage import CheckpointFolder
from millstream.storage.local import LocalFiles


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckpointFolder:
    monkeypatch.setattr(requests, "EVERY", 0.0)
    return CheckpointFolder.at(str(tmp_path))


def test_a_run_stops_that_is_asked_to_in_time(folder: CheckpointFolder) -> None:
    asked = Requests(folder)
    assert not asked.to_stop()
    folder.files.replace(folder.stop_request, json.dumps({"format": 1, "until": time.time() - 1}))
    assert not asked.to_stop(), "whoever asked has given up"
    folder.files.replace(folder.stop_request, json.dumps({"format": 1, "until": time.time() + 60}))
    assert asked.to_stop()


@pytest.mark.parametrize("error", [MillstreamError("MS-STORAGE-001", "it is down."), OSError(5, "it is down")])
def test_a_storage_that_is_down_asks_for_nothing(
    error: Exception, folder: CheckpointFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(self: LocalFiles, path: str) -> str | None:
        raise error

    asked = Requests(folder)
    monkeypatch.setattr(LocalFiles, "read", down)
    assert not asked.to_stop()
