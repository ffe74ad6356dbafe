"""The pytest plugin: `millstream.run(job, inputs)` in a Spark session that all tests share.

    def test_a_match(millstream):
        result = millstream.run(job, {"likes": [{"liker": "ann", …}, {"liker": "bob", …}]})
        assert result["matches"].rows == [{"liker": "ann", "liked": "bob"}]

pytest imports it whether a test asks for it or not: so it imports nothing of Millstream or Spark until one does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.testing import Runner


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "millstream_spark", "settings of the Spark session that tests share, a line each: name=value", "linelist", []
    )
    parser.addini("millstream_connectors", "connectors whose jars that session has: kafka", "args", [])


@pytest.fixture(scope="session")
def millstream_connectors(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The connectors whose jars the shared session has."""
    return tuple(request.config.getini("millstream_connectors"))


@pytest.fixture(scope="session")
def millstream_spark(request: pytest.FixtureRequest, millstream_connectors: tuple[str, ...]) -> Iterator[SparkSession]:
    """The shared session. Override it to bring your own, with Millstream's jar among its `spark.jars`."""
    from millstream.connectors import Jars, jar_set
    from millstream.spark.memory import quick

    lines = (line.partition("=") for line in request.config.getini("millstream_spark"))
    jars = tuple(Jars(jar_set(name)) for name in millstream_connectors)
    spark = quick({name.strip(): value.strip() for name, _, value in lines}, jars)
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def millstream(millstream_spark: SparkSession) -> Runner:
    """Runs whole jobs with given rows: `millstream.run(job, inputs)`."""
    from millstream.testing import Runner

    return Runner(millstream_spark)
