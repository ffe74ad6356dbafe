"""What Spark lacks to use the storage of a job. A client of HDFS comes with Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from millstream.plan.connectors import Jars, JarSet
from millstream.storage.files import scheme

S3 = JarSet(
    "s3",
    pins=str(Path(__file__).with_name("s3.json")),
    own=None,
    sign="org.apache.hadoop.fs.s3a.S3AFileSystem",
    from_start=True,
)
"""A tenth of what Hadoop's own bundle brings: this set was tried with the Spark that Millstream is built for."""

NEEDED = {"s3a": S3}
BY_NAME = {needed.name: needed for needed in NEEDED.values()}


def jars(addresses: Iterable[str]) -> tuple[Jars, ...]:
    """What is needed to read and write there."""
    schemes = dict.fromkeys(scheme(address) for address in addresses)
    return tuple(Jars(NEEDED[found]) for found in schemes if found in NEEDED)
