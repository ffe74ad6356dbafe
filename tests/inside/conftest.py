"""One job, run once, for all tests that only look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import millstream as ms
from tests.inside.orders import ROWS, Orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def orders(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Orders:
    """After all its rows."""
    made = Orders(tmp_path_factory.mktemp("orders"))
    made.feed(ROWS)
    made.job().run(ms.available_now(), spark=spark)
    return made
