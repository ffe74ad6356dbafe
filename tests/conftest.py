"""What all tests share: one Spark for everything, golden texts, and an order in which two workers end together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import class_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LONGEST = (
    "crash/test_kill.py",
    "oracle/test_law.py",
    "docs/test_readme.py",
    "verify/test_verify_job.py",
    "kafka/test_kafka_kill.py",
    "delta/test_delta_kill.py",
    "oracle/test_closing_law.py",
    "postgres/test_postgres_kill.py",
)
"""Files of minutes. A worker takes one whole: begun last, it would leave the other without work."""


def pytest_configure(config: pytest.Config) -> None:
    """Before there are workers, which have what is in the environment."""
    if "SPARK_SUBMIT_OPTS" not in os.environ:
        many = bool(config.getoption("numprocesses", None))
        os.environ["SPARK_SUBMIT_OPTS"] = class_archive.options(make=many)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get("/".join(item.path.parts[-2:]), len(order)))


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
