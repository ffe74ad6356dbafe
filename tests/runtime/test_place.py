"""Where a job may run: what is refused before Spark is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import millstream as ms
from millstream import files, journal
from millstream.api.command import Command, commanded
from millstream.cli.main import main
from millstream.plan.cluster import Cluster
from millstream.runtime.run import Run
from millstream.spark import where
from millstream.spark.python.modules import SentModules, packed


def copy(folder: Path, **options: Any) -> ms.Job:
    job = ms.Job("copy", checkpoint=str(folder / "checkpoint"), **options)
    for topic in ("in", "out"):
        journal.create(str(folder / "journal"), topic)
    rows = job.stream(journal.source("in", path=str(folder / "journal")), schema="id INT")
    rows.to(journal.sink("out", path=str(folder / "journal")))
    return job


def refused(job: ms.Job, **options: Any) -> ms.MillstreamError:
    with pytest.raises(ms.MillstreamError) as caught:
        job.start(ms.available_now(), **options)
    return caught.value


def test_a_local_checkpoint_under_a_cluster(tmp_path: Path) -> None:
    error = refused(copy(tmp_path), on=ms.cluster("spark://127.0.0.1:1"))
    assert (error.code, error.found) == ("MS-CLUSTER-004", str(tmp_path / "checkpoint"))
    assert error.message.startswith('the checkpoint of job "copy" is a folder of this machine, and spark://127.0.0.1:1')


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_local_folder_under_a_cluster(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "millstream.runtime.shared_disk.scheme", lambda path: "hdfs" if "checkpoint" in path else "file"
    )
    job = ms.Job("copy", checkpoint=str(tmp_path / "checkpoint"))
    (tmp_path / "rows").mkdir()
    source = files.source(str(tmp_path / "rows"), format="json")
    job.stream(source, schema="id INT", name="in").to(files.sink(str(tmp_path / "out"), format="json"), name="out")
    named = "in" if kind == "source" else "out"
    if kind == "sink":
        monkeypatch.setattr("millstream.runtime.shared_disk.scheme", lambda path: "file" if "out" in path else "hdfs")
    error = refused(job, on=ms.cluster("yarn"))
    assert error.code == "MS-CLUSTER-004"
    assert error.message.startswith(f'{kind} "{named}" is a folder of this machine, and yarn runs on others')
    assert error.at is not None


@pytest.mark.parametrize("said", ["job", "cluster"])
def test_a_shared_disk_is_believed(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Cluster] = []
    monkeypatch.setattr(Run, "begin", lambda job, plan, how, restarts: begun.append(how.on))
    copy(tmp_path, shared_disk=said == "job").start(on=ms.cluster("yarn", shared_disk=said == "cluster"))
    assert begun == [Cluster("yarn", shared_disk=True)]


def test_the_command_line_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(Run, "begin", lambda job, plan, how, restarts: begun.append((how.on, how.parallelism)))
    said = ms.cluster("spark://there:7077", conf={"spark.cores.max": "8"})
    with commanded(Command(on=said, parallelism=5)):
        copy(tmp_path).start(on=ms.cluster("yarn", conf={"spark.cores.max": "2", "spark.x": "y"}, shared_disk=True))
    conf = (("spark.cores.max", "8"), ("spark.x", "y"))
    assert begun == [(Cluster("spark://there:7077", conf, shared_disk=True), 5)]


@pytest.mark.parametrize(("master", "code"), [("localhost:7077", "MS-CLUSTER-001"), ("sc://host", "MS-CLUSTER-003")])
def test_what_is_no_master(master: str, code: str) -> None:
    with pytest.raises(ms.MillstreamError, match=code):
        ms.cluster(master)


def test_a_master_among_the_settings() -> None:
    with pytest.raises(ms.MillstreamError, match="MS-CLUSTER-001"):
        ms.cluster(conf={"spark.master": "yarn"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--master", "spark://h:1", "--deploy-mode", "cluster"], "no Python driver on a standalone cluster"),
        (["--master", "local[4]", "--deploy-mode", "cluster"], "no cluster is named that can run it"),
        (["--deploy-mode", "cluster"], "hint:  --master yarn or --master k8s://…"),
        (["--conf", "spark.x"], "write it as NAME=VALUE"),
        (["--master", "sc://h"], "MS-CLUSTER-003"),
    ],
)
def test_options_that_mean_nothing(options: list[str], said: str) -> None:
    done = CliRunner().invoke(main, ["run", "job.py", *options])
    assert done.exit_code != 0
    assert said in done.output


def test_an_archive_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ms.MillstreamError, match="MS-CLUSTER-007"):
        where.environment(ms.cluster("yarn", environment=str(tmp_path / "env.tar.gz")), {})


def test_jars_of_the_user_stay() -> None:
    assert where.together("a.jar,b.jar", None, "b.jar,c.jar", "") == "a.jar,b.jar,c.jar"


def test_a_session_of_spark_connect_by_its_class(tmp_path: Path) -> None:
    session: Any = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    error = refused(copy(tmp_path), spark=session)
    assert error.code == "MS-CLUSTER-003"
    assert "use a classic session" in str(error.hint)


def test_an_environment_of_spark_connect(tmp_path: Path) -> None:
    """In its own process: this one has a classic session."""
    script = """
import millstream as ms
from millstream import journal
journal.create("journal", "in"), journal.create("journal", "out")
job = ms.Job("copy")
job.stream(journal.source("in"), schema="id BIGINT").to(journal.sink("out"))
job.run(ms.available_now())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "SPARK_REMOTE": "sc://host/;token=secret"},
        capture_output=True,
        text=True,
    )
    assert done.stderr.startswith("MS-CLUSTER-003: the address in SPARK_REMOTE is Spark Connect's"), done.stderr
    assert "secret" not in done.stderr


@pytest.mark.slow
def test_a_job_goes_on_when_spark_ends_under_it(tmp_path: Path) -> None:
    """As a cluster ends an application whose executors fail too often."""
    script = """
import millstream as ms
from millstream import journal
from pyspark.sql import SparkSession
for topic in ("in", "out"):
    journal.create("journal", topic)
def send(value):
    with journal.producer("journal", "in") as producer:
        producer.send({"id": value})
def seen():
    return sorted(record.json()["id"] for record in journal.read("journal", "out"))
job = ms.Job("copy")
job.stream(journal.source("in"), schema="id BIGINT").to(journal.sink("out"))
send(1)
run = job.start(ms.micro_batch("100 ms"), restarts=ms.fixed_delay(attempts=5, delay="100 ms"))
while seen() != [1]:
    run.poll(0.1)
SparkSession.getActiveSession().sparkContext._jsc.sc().stop()
send(2)
while seen() != [1, 2]:
    run.poll(0.1)
run.stop()
print(run.state.value, len(run.failures) > 0)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.stdout == "stopped True\n", done.stderr


@pytest.mark.long
def test_a_real_session_of_spark_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc_status", reason="needs pyspark[connect]")
    script = """
from pyspark.sql import SparkSession
import millstream as ms
from millstream import journal
journal.create("journal", "in"), journal.create("journal", "out")
job = ms.Job("copy")
job.stream(journal.source("in"), schema="id BIGINT").to(journal.sink("out"))
spark = SparkSession.builder.remote("local").getOrCreate()
for given in ({"spark": spark}, {}):
    try:
        job.run(ms.available_now(), **given)
    except ms.MillstreamError as error:
        print(error.code)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["MS-CLUSTER-003", "MS-CLUSTER-003"], done.stderr


def test_modules_are_imported_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = packed(
        {"sent_one.py": "from sent_two.inner import two\n", "sent_two/__init__.py": "", "sent_two/inner.py": "two = 2"}
    )
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, SentModules(sent)])
    import sent_one  # type: ignore[import-not-found]

    assert sent_one.two == 2
    assert packed({}) == b""
