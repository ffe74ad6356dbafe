"""What all tests share: one Spark for everything, and golden texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from millstream.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden texts anew")


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden texts are to be written rather than compared."""
    return bool(request.config.getoption("--golden"))


QUICK = {
    # A test's queries are short: the second, slow compiler of the JVM never pays off.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """With a task slot for every task of a job in real time."""
    made = session.make(slots=12, parallelism=2, extra=QUICK)
    yield made
    made.stop()
