"""HDFS and S3 have no locks: a run whose commit is held back, and that is replaced meanwhile, can do no harm."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.testing.faults import Fault
from servers.hdfs import Hdfs
from servers.s3 import S3, settings
from servers.s3_proxy import S3Proxy
from tests.conftest import within_reach
from tests.crash.likes import ENOUGH, Generator, expected
from tests.crash.lives import Lives
from tests.crash.process import until
from tests.crash.serve import CONNECTORS, SETTINGS
from tests.storage.test_storage_kill import Place, finish

pytestmark = [pytest.mark.slow, pytest.mark.server]


def reaching(endpoint: str, *buckets: str) -> dict[str, str]:
    """The environment of a job's process that reaches these buckets through this proxy."""
    names = [bucket.removeprefix("s3a://") for bucket in buckets]
    reach = {f"spark.hadoop.{key}": value for name in names for key, value in settings(endpoint, name).items()}
    return {SETTINGS: json.dumps(reach), CONNECTORS: "s3"}


def replaced(
    place: Place,
    lives: tuple[Lives, Lives],
    first_goes_on: Callable[[Lives, Callable[[], None]], None],
    spark: SparkSession,
) -> None:
    """The first run is held back, the second one takes over and commits; then the first one goes on, and is refused."""
    first, second = (one.of(place.folder, "micro-batch", place.at, place.likes) for one in lives)

    def take_over() -> None:
        before = place.committed()
        second.begin()
        until(lambda: place.committed() >= before + 2)

    with Generator(place.likes, seed=3) as generator:
        first_goes_on(first, take_over)
        assert "MS-CHECKPOINT-006" in (first.failure() or "")
        before = place.committed()
        until(lambda: place.committed() > before)
        second.stop()
        until(lambda: expected(generator.likes)[0].total() > ENOUGH)
        generator.finish()
        finish(second, place, generator.likes, spark)


def two(tmp_path: Path, environment: dict[str, str], second: dict[str, str]) -> tuple[Lives, Lives]:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    job = "tests.crash.match_job"
    return Lives(job, tmp_path / "first", environment), Lives(job, tmp_path / "second", second)


@pytest.mark.long
@pytest.mark.parametrize("point", ["decision.before", "sink.publish.before"])
def test_on_hdfs(point: str, hdfs: Hdfs, spark: SparkSession, tmp_path: Path) -> None:
    name = secrets.token_hex(4)
    place = Place(f"{hdfs.url}/{name}", f"{hdfs.url}/{name}-likes", tmp_path / "unused")
    place.make_topics()
    lives = two(tmp_path, {}, {})
    with lives[0], lives[1]:
        replaced(place, lives, lambda first, meanwhile: first.held(Fault(point, 3), meanwhile), spark)


@pytest.mark.parametrize("what", ["decisions/0+5$", pytest.param("commits/3$", marks=pytest.mark.long)])
def test_on_s3(what: str, s3: S3, s3_proxy: S3Proxy, spark: SparkSession, tmp_path: Path) -> None:
    """The request itself is held, on its way to the store: it arrives when the second run has decided otherwise."""
    run, likes = (within_reach(s3, spark, s3.endpoint) for _ in range(2))
    place = Place(f"{run}/run", f"{likes}/likes", tmp_path / "unused")
    place.make_topics()
    lives = two(tmp_path, reaching(s3_proxy.endpoint, run, likes), reaching(s3.endpoint, run, likes))

    def held(first: Lives, meanwhile: Callable[[], None]) -> None:
        rule = s3_proxy.hold(f"PUT .*/{what}")
        first.begin()
        until(rule.met.is_set)
        meanwhile()
        rule.release()

    with lives[0], lives[1]:
        replaced(place, lives, held, spark)
