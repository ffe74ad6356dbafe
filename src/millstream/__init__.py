"""Millstream: Flink's model and guarantees on Spark, in Python."""
