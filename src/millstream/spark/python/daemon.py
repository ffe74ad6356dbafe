"""Forks the processes that run users' Python code, as pyspark's own daemon does, but with our worker in them."""

from __future__ import annotations

import gc
import sys
import types
from typing import IO

import pyspark.daemon


def main(infile: IO[bytes], outfile: IO[bytes]) -> None:
    """Imported in the forked process only: libraries that start threads must not be there before."""
    from millstream.spark.python.worker import serve

    serve(infile, outfile)


class Sparing:
    """What pyspark's daemon asks for after each task: to look for cycles among all objects that there are, which took
    an eighth of the time. Python does that by itself, from time to time."""

    @staticmethod
    def collect() -> int:
        return gc.collect(0)


if __name__ == "__main__":
    vars(pyspark.daemon)["gc"] = Sparing
    ours = types.ModuleType("pyspark.worker")
    ours.main = main  # type: ignore[attr-defined]
    sys.modules["pyspark.worker"] = ours
    pyspark.daemon.manager()
