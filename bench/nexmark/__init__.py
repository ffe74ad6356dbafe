"""Nexmark: the auction benchmark, q0 to q23, for Millstream, Flink SQL and hand-written PySpark."""
