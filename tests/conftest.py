"""What all tests share: one Spark for everything, and golden texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden texts anew")


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden texts are to be written rather than compared."""
    return bool(request.config.getoption("--golden"))


@pytest.fixture(scope="session")
def millstream_connectors(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Fetched only if a test is to need them."""
    return ("kafka",) if any(item.get_closest_marker("server") for item in request.session.items) else ()


@pytest.fixture(scope="session")
def spark(millstream_spark: SparkSession) -> SparkSession:
    """That of the plugin."""
    return millstream_spark
