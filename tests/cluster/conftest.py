"""One Spark cluster for all tests here: a master and two workers of two slots each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from servers.standalone import Standalone, running
from tests.cluster.drivers import NOTHING, Driver
from tests.cluster.likes import Likes

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.server)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Standalone]:
    with running(workers=2, cores=2, memory="1g") as started:
        yield started


@pytest.fixture
def likes(tmp_path: Path) -> Likes:
    return Likes(tmp_path)


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[type[Driver]]:
    """Starts one, gone when the test ends."""
    started: list[Driver] = []

    class Started(Driver):
        def __init__(
            self, *command: str, known: Mapping[str, str] = NOTHING, more: Mapping[str, str] = NOTHING
        ) -> None:
            super().__init__(list(command), tmp_path, known, more)
            started.append(self)

    yield Started
    for one in started:
        one.stop()
