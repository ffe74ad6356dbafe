"""What was received goes along where there are no locks, too: a run that still receives is fenced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.errors import MillstreamError
from tests.crash.process import until
from tests.savepoints.orders import Orders, summed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long


def test_a_job_whose_old_run_still_receives(elsewhere: str, spark: SparkSession) -> None:
    orders = Orders(elsewhere, spark)
    orders.put(1, 2)
    orders.run(orders.job()).savepoint(f"{elsewhere}/saved")
    orders.put(3)
    with orders.receiving(orders.job()) as wrong:
        orders.job("next").restore(f"{elsewhere}/saved", spark=spark)
        orders.put(4)
        until(lambda: bool(wrong))
    assert isinstance(wrong[0], MillstreamError)
    assert wrong[0].code == "MS-JOURNAL-005"
    assert not any(b"4" in (message.value or b"") for message in orders.queue.acknowledged)
    orders.run(orders.job("next"))
    assert orders.sums() == summed(1, 2, 3, 4)
