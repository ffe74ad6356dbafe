"""A manager for each test, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.manager.house import House, house


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setenv("PYTHONPATH", "")  # put back afterwards: drivers find the tests by it
    with house(tmp_path) as found:
        yield found
        found.bury()
