"""Forks the processes that run users' Python code, as pyspark's own daemon does, but with our worker in them."""

from __future__ import annotations

import sys
import types
from typing import IO

import pyspark.daemon


def main(infile: IO[bytes], outfile: IO[bytes]) -> None:
    """Imported in the forked process only: libraries that start threads must not be there before."""
    from millstream.spark.python.worker import serve

    serve(infile, outfile)


if __name__ == "__main__":
    ours = types.ModuleType("pyspark.worker")
    ours.main = main  # type: ignore[attr-defined]
    sys.modules["pyspark.worker"] = ours
    pyspark.daemon.manager()
