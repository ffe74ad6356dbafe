"""Exactly once on HDFS and S3: a job with its checkpoint, its topics and its files there is killed at named places.

On HDFS it dies for real. The S3 server keeps objects in a folder: there most kills are images of that folder.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream import journal
from millstream.storage import CheckpointFolder
from millstream.testing.faults import POINTS, Fault
from servers.hdfs import Hdfs
from servers.s3 import S3, settings
from tests.conftest import within_reach
from tests.crash.likes import ENOUGH, Generator, expected, found
from tests.crash.lives import Lives
from tests.crash.process import until
from tests.crash.serve import CONNECTORS, SETTINGS

pytestmark = [pytest.mark.slow, pytest.mark.server]


@dataclass
class Place:
    """Where a job is, where its likes are, and the proxy to it."""

    at: str
    likes: str
    folder: Path
    """What is copied: all that the job writes."""
    server: int | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def make_topics(self) -> None:
        journal.create(self.likes, "likes", 2)
        journal.create(f"{self.at}/journal", "matches", 2)
        journal.create(f"{self.at}/journal", "popular", 1)

    def committed(self) -> int:
        return max(CheckpointFolder.at(f"{self.at}/checkpoint").committed(), default=-1)


@pytest.fixture
def on_hdfs(hdfs: Hdfs, spark: SparkSession, tmp_path: Path) -> Place:
    name = secrets.token_hex(4)
    return Place(f"{hdfs.url}/{name}", f"{hdfs.url}/{name}-likes", tmp_path / "unused")


@pytest.fixture
def on_s3(s3: S3, spark: SparkSession) -> Place:
    run, likes = (within_reach(s3, spark, s3.endpoint) for _ in range(2))
    names = [address.removeprefix("s3a://") for address in (run, likes)]
    reach = {f"spark.hadoop.{key}": value for name in names for key, value in settings(s3.endpoint, name).items()}
    environment = {SETTINGS: json.dumps(reach), CONNECTORS: "s3"}
    return Place(f"{run}/run", f"{likes}/likes", s3.objects / names[0], s3.server.process.pid, environment)


def finish(lives: Lives, place: Place, likes: list[tuple[str, str, int]], spark: SparkSession) -> None:
    """A last run without faults, until every like is counted; then all sinks must be right."""
    path = f"{place.at}/journal"
    wanted = sum(count for count, _ in expected(likes)[1].values())
    lives.begin()
    until(lambda: sum(count for count, _ in found(path)[1].values()) >= wanted, every=1)
    lives.stop()
    matches, popular = found(path)
    want_matches, want_popular = expected(likes)
    assert want_matches.total() > ENOUGH, "the likes were too few to show anything"
    rows = spark.read.parquet(f"{place.at}/files").select("liker", "liked", "first", "second").collect()
    for sink in (matches, Counter(tuple(row) for row in rows)):
        assert sink - want_matches == Counter(), "some are there that should not be, or twice"
        assert want_matches - sink == Counter(), "some are missing"
    assert popular == want_popular


def killed(
    place: Place, mode: str, points: tuple[str, ...], in_earnest: set[str], spark: SparkSession, scratch: Path
) -> None:
    place.make_topics()
    with (
        Lives("tests.crash.match_job", scratch, place.environment) as lives,
        # Each flush is a segment: few larger ones.
        Generator(place.likes, seed=1, at_once=20, pause=1) as generator,
    ):
        lives.of(place.folder, mode, place.at, place.likes, server=place.server)
        for point in points:
            fault = Fault(point, place.committed() + 3)
            (lives.killed if point in in_earnest else lives.imaged)(fault)
        generator.finish()
        try:
            finish(lives, place, generator.likes, spark)
        except AssertionError as error:
            error.add_note((scratch / "log.txt").read_text(errors="replace")[-3000:])
            raise


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    made = tmp_path / "lives"
    made.mkdir()
    return made


FEW = ("sink.prepare.after", "sink.publish.between")


def test_killed_on_s3(on_s3: Place, spark: SparkSession, scratch: Path) -> None:
    killed(on_s3, "micro-batch", FEW, {"sink.publish.between"}, spark, scratch)


@pytest.mark.long
def test_killed_on_hdfs(on_hdfs: Place, spark: SparkSession, scratch: Path) -> None:
    killed(on_hdfs, "micro-batch", ("sink.publish.between",), {"sink.publish.between"}, spark, scratch)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_killed_at_every_point_on_s3(on_s3: Place, mode: str, spark: SparkSession, scratch: Path) -> None:
    killed(on_s3, mode, POINTS, {"state.during", "commits.after"}, spark, scratch)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_killed_at_every_point_on_hdfs(on_hdfs: Place, mode: str, spark: SparkSession, scratch: Path) -> None:
    killed(on_hdfs, mode, POINTS, set(POINTS), spark, scratch)
