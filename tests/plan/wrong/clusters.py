"""Places to run a job that are refused."""

from __future__ import annotations

import millstream as ms
from tests.plan.wrong.declare import wrong


@wrong
def a_master_that_is_none(job: ms.Job) -> None:
    ms.cluster("host:7077")


@wrong
def a_master_among_the_settings(job: ms.Job) -> None:
    ms.cluster(conf={"spark.master": "spark://host:7077"})


@wrong
def a_spark_connect_server(job: ms.Job) -> None:
    ms.cluster("sc://host:15002")
