"""What all tests share: one Spark for everything, golden texts, and an order in which two workers end together."""

from __future__ import annotations

import os
import secrets
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from tests import class_archive, hanging

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from servers.hdfs import Hdfs
    from servers.s3 import S3
    from servers.s3_proxy import S3Proxy


LONGEST = (
    "kafka",
    "postgres",
    "docs/test_readme.py",
    "cluster/test_where.py",
    "cluster/test_yarn.py",
    "verify/test_verify_job.py",
    "crash/test_kill.py",
    "oracle/test_closing_law.py",
    "delta/test_delta_kill.py",
)
"""Folders and files that take minutes. A worker takes each as a whole: started last, it would leave the other idle."""
TOGETHER = ("activemq", "kafka", "kinesis", "postgres", "rabbitmq", "sqs", "storage")
"""Folders whose files share a server: one worker takes them all."""
APART = ("oracle/test_law.py",)
"""Files of many tests that share nothing but Spark: the next free worker takes the next one. They come last."""
LONG_SECONDS = 3600
"""A long test that takes longer than this hangs. pyproject.toml has the limit for all others."""
FIXED_SEED = 1
NEW_SEEDS = 4
"""Of a long run."""
SEED = "MILLSTREAM_SEED"


def pytest_configure(config: pytest.Config) -> None:
    """Before there are workers, which inherit the environment, and how signals are handled."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So it is in the background of a shell. Tests interrupt jobs.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "SPARK_SUBMIT_OPTS" not in os.environ:
        many = bool(config.getoption("numprocesses", None))
        os.environ["SPARK_SUBMIT_OPTS"] = class_archive.options(make=many)
    if config.getoption("--seed") is not None:
        os.environ[SEED] = str(config.getoption("--seed"))
    os.environ.setdefault(SEED, str(secrets.randbelow(10**6)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the time went to; and with the seed, a failure of a random test can be repeated."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.split("::")[0].rpartition("/")[0].removeprefix("tests/")] += report.duration
    most = sorted(((spent, folder) for folder, spent in seconds.items() if spent >= 30), reverse=True)
    longest = ", ".join(f"{folder} {spent / 60:.1f}" for spent, folder in most)
    if longest:
        terminalreporter.write_line(f"minutes by folder, of all workers together: {longest}")
    new = os.environ[SEED]
    terminalreporter.write_line(f"seeds of random tests: {FIXED_SEED} and {new}; repeat them with --seed {new}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`seeds` of a random test: one that is always the same, and one that is new in every run. --long has more of
    these, all of them in one run of the job: what a run costs is mostly its start."""
    if "seeds" in metafunc.fixturenames:
        new, more = int(os.environ[SEED]), NEW_SEEDS if metafunc.config.getoption("--long") else 1
        metafunc.parametrize("seeds", [(FIXED_SEED, *range(new, new + more))], ids=["new"])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    order = {name: place for place, name in enumerate(LONGEST)}
    last = {name: len(order) + 1 for name in APART}
    items.sort(key=lambda item: (order | last).get(group(item), len(order)))
    for item in items:
        if group(item) not in APART:
            item.add_marker(pytest.mark.xdist_group(group(item)))
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(LONG_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    marker = item.get_closest_marker("timeout")
    given = item.config.getoption("timeout")
    limit = float(marker.args[0] if marker else item.config.getini("timeout") if given is None else given)
    # --timeout 0: there is no limit, as when a test is debugged.
    with hanging.shown(limit) if limit else nullcontext():
        return (yield)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Without groups in the names of tests, xdist would give workers single tests of a file."""
    if hasattr(session.config, "workerinput"):
        grouped = [item for item in session.items if item.get_closest_marker("xdist_group")]
        assert all("@" in item.nodeid for item in grouped), "pytest-xdist does not know the groups of this pytest"


def group(item: pytest.Item) -> str:
    """What a worker takes as a whole: a file, or a folder whose tests share a server."""
    folder = item.path.parent.name
    return folder if folder in TOGETHER else f"{folder}/{item.path.name}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="rewrite the golden texts")
    parser.addoption("--long", action="store_true", help="with what is long and random, too")
    parser.addoption("--seed", type=int, help="the seed of random tests that is new in every run")


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden texts are to be written rather than compared."""
    return bool(request.config.getoption("--golden"))


@pytest.fixture(scope="session")
def millstream_connectors(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Fetched only if a test needs them."""
    return (
        ("kafka", "rabbitmq", "s3") if any(item.get_closest_marker("server") for item in request.session.items) else ()
    )


@pytest.fixture(scope="session")
def spark(millstream_spark: SparkSession) -> SparkSession:
    """That of the plugin."""
    return millstream_spark


@pytest.fixture(scope="session")
def hdfs() -> Iterator[Hdfs]:
    from servers.hdfs import running

    with running() as server:
        yield server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    from servers.s3 import running

    with running() as server:
        yield server


@pytest.fixture
def bucket(s3: S3, spark: SparkSession) -> str:
    """The test's own bucket, as `s3a://…`, which the shared Spark can reach."""
    return within_reach(s3, spark, s3.endpoint)


@pytest.fixture
def s3_proxy(s3: S3) -> Iterator[S3Proxy]:
    """A proxy before S3."""
    from servers.s3_proxy import S3Proxy

    with S3Proxy(s3.port) as proxy:
        yield proxy


@pytest.fixture
def bucket_behind_proxy(s3: S3, s3_proxy: S3Proxy, spark: SparkSession) -> str:
    """The test's own bucket, as `s3a://…`, which Spark reaches through the proxy."""
    return within_reach(s3, spark, s3_proxy.endpoint)


def within_reach(s3: S3, spark: SparkSession, endpoint: str) -> str:
    """Hadoop keeps a client for each bucket: a new one has its own settings."""
    from servers.s3 import settings

    name = f"bucket-{secrets.token_hex(4)}"
    s3.make_bucket(name)
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for key, value in settings(endpoint, name).items():
        hadoop.set(key, value)
    return f"s3a://{name}"
