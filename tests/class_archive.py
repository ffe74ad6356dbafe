"""Spark's classes as the JVM keeps them once loaded and verified: every Spark that a test starts begins with these.

`python class_archive.py` writes them, if they are not there yet. With a FOLDER it is the small job that loads most of
them before they are written.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:NewRatio=1 -Xss4m -Xlog:disable"
"""A test's Spark does not live long enough for the JVM's slow compiler to pay off, and keeps little of what it made."""


def options(make: bool) -> str:
    """Of the JVMs that tests start. Where the archive does not fit, or is missing, the JVM does without it."""
    place = archive()
    if make and not place.exists():
        write(place)
    return f"{QUICK} -XX:SharedArchiveFile={place}" if place.exists() else QUICK


def archive() -> Path:
    """In the environment that its Spark belongs to: the JVM checks the paths and times of all jars."""
    from millstream.spark.fetch import java

    told = subprocess.run([java(), "-version"], capture_output=True, text=True).stderr
    name = hashlib.sha256(f"{told} {version('pyspark')}".encode()).hexdigest()[:12]
    return Path(sys.prefix) / "spark-classes" / f"{name}.jsa"


def write(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        part = Path(folder) / "part.jsa"
        opts = {"SPARK_SUBMIT_OPTS": f"{QUICK} -XX:ArchiveClassesAtExit={part}"}
        subprocess.run([sys.executable, __file__, folder], env={**os.environ, **opts}, capture_output=True)
        if part.exists():
            part.rename(place)


def train(folder: str) -> None:
    """A join and an aggregate, from a topic into another and into files."""
    import millstream as ms
    from millstream import files, journal
    from millstream.spark import session

    path = f"{folder}/journal"
    for topic in ("likes", "popular"):
        journal.create(path, topic, 1)
    with journal.producer(path, "likes") as producer:
        for n in range(10):
            producer.send({"liker": f"u{n % 3}", "liked": f"u{n % 2}"})
    job = ms.Job("classes", checkpoint=f"{folder}/checkpoint")
    likes = job.stream(journal.source("likes", path=path), schema="liker STRING, liked STRING")
    matches = likes.as_("a").join(likes.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
    matches.select("a.liker", "a.liked").to(files.sink(f"{folder}/files", format="parquet"), name="files")
    likes.group_by("liked").agg(likes="count(*)").to(journal.sink("popular", path=path))
    spark = session.make(8, 1, {})
    job.run(ms.available_now(), spark=spark)
    spark.stop()
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    java = gateway.proc
    # It ends when its input is closed, and then writes the archive.
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        train(sys.argv[1])
    else:
        options(make=True)
