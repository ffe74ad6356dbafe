"""What we add to Spark's optimizer gives what Spark gives without it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyspark.sql.functions as f

from millstream.spark import session
from millstream.spark.slots import Need

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PIECES = (b"/", b"//", b"a", b"\xc3\xa4", b"\xe6\xb0\xb4", b"\xf0\x9f\x8c\x8a", b".", b"\\E", b"\xff", b"\xc3", b"")
"""Delimiters, and texts of them: of several bytes, special in regular expressions, and not text at all."""


def test_split_part(spark: SparkSession) -> None:
    rng = random.Random(1)
    texts = [None, *(b"".join(rng.choices(PIECES, k=rng.randrange(9))) for _ in range(400))]
    rows = [(text, rng.choice((None, *PIECES)), rng.choice((-3, -1, 1, 2, 5))) for text in texts for _ in range(4)]

    def parts(of: SparkSession) -> DataFrame:
        # In one part: each has its own Python process.
        given = of.createDataFrame(of.sparkContext.parallelize(rows, 1), "text BINARY, delimiter BINARY, n INT")
        cut = given.selectExpr("CAST(text AS STRING) AS text", "CAST(delimiter AS STRING) AS delimiter", "n")
        return cut.select("text", f.expr("CAST(split_part(text, delimiter, n) AS BINARY)").alias("part"))

    ours = parts(session.use(spark, Need(1), 1))
    assert "PlainSplit" in ours._jdf.queryExecution().optimizedPlan().toString()
    assert ours.collect() == parts(spark).collect()
