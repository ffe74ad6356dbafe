"""Every example in README and docs is true: each page is followed from its top to its end."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pyspark.find_spark_home import _find_spark_home

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PATIENCE = 600
"""Seconds after which something hangs: not a measure of speed."""
NOTHING: Mapping[str, str] = {}
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]


def page(path: Path) -> object:
    """A page that runs a job starts Spark, and one with a dialogue many processes: both take time."""
    marks = [pytest.mark.slow] if re.search(r"\b(run|start)\(|^```console$", path.read_text(), re.MULTILINE) else []
    marks += [pytest.mark.server] if path.stem in SERVERS else []
    marks += [pytest.mark.long] if path.stem in LONG else []
    return pytest.param(path, marks=marks, id=path.name)


@contextmanager
def a_postgres() -> Iterator[dict[str, str]]:
    from servers import postgres

    with postgres.running() as server:
        yield {"MILLSTREAM_POSTGRES": server.address()}


@contextmanager
def a_kafka() -> Iterator[dict[str, str]]:
    from servers import kafka

    with kafka.running() as server:
        yield {"MILLSTREAM_KAFKA": server.servers}


@contextmanager
def a_rabbitmq() -> Iterator[dict[str, str]]:
    from servers import rabbitmq

    with rabbitmq.running() as server:
        yield {"MILLSTREAM_RABBITMQ": server.url, "MILLSTREAM_RABBITMQ_STREAMS": server.url_streams}


@contextmanager
def an_activemq() -> Iterator[dict[str, str]]:
    from servers import activemq

    with activemq.running("artemis") as server:
        yield {"MILLSTREAM_ACTIVEMQ": server.url}


@contextmanager
def a_kinesis() -> Iterator[dict[str, str]]:
    from servers import kinesis

    with kinesis.running() as server:
        yield server.environment


@contextmanager
def an_sqs() -> Iterator[dict[str, str]]:
    from servers import sqs

    with sqs.running() as server:
        yield server.environment


@contextmanager
def a_cluster() -> Iterator[dict[str, str]]:
    from servers import standalone

    with standalone.running(workers=1, cores=2, memory="1g") as cluster:
        yield {"SPARK_MASTER": cluster.master, "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def storages() -> Iterator[dict[str, str]]:
    from servers import hdfs, s3

    with hdfs.running() as files, s3.running() as store, TemporaryDirectory() as conf:
        lines = (f"spark.hadoop.{name} {value}" for name, value in s3.settings(store.endpoint).items())
        (Path(conf) / "spark-defaults.conf").write_text("\n".join(lines))
        yield {"SPARK_CONF_DIR": conf, "BUCKET": f"s3a://{s3.BUCKET}", "HDFS": files.url}


@contextmanager
def a_yarn() -> Iterator[dict[str, str]]:
    from servers import yarn

    with yarn.running() as cluster, small_sparks() as small:
        yield {"HADOOP_CONF_DIR": str(cluster.conf), "SPARK_HOME": _find_spark_home(), **small}


@contextmanager
def a_kubernetes() -> Iterator[dict[str, str]]:
    from servers import kubernetes
    from servers.pod import IMAGE

    with kubernetes.running() as cluster, TemporaryDirectory() as shared:
        in_a_pod = kubernetes.driver_in_a_pod(cluster.master, Path(shared))
        uploads = in_a_pod["spark.kubernetes.file.upload.path"]
        with small_sparks(in_a_pod) as small:
            yield {"KUBERNETES": cluster.master, "IMAGE": IMAGE, "UPLOADS": uploads, **small}


@contextmanager
def small_sparks(more: Mapping[str, str] = NOTHING) -> Iterator[dict[str, str]]:
    """Spark's own settings for a small machine."""
    small = {"spark.executor.memory": "600m", "spark.driver.memory": "600m", "spark.executor.cores": "2", **more}
    with TemporaryDirectory() as folder:
        lines = "".join(f"{name} {value}\n" for name, value in small.items())
        Path(folder, "spark-defaults.conf").write_text(lines)
        yield {"SPARK_CONF_DIR": folder, "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def a_manager() -> Iterator[dict[str, str]]:
    from servers.process import Server, free_port

    with TemporaryDirectory() as home:
        port = free_port()
        start = "from millstream.cli.main import main; main()"
        command = [sys.executable, "-c", start, "manager", "--home", home, "--port", str(port)]
        server = Server(command, Path(home))
        try:
            server.wait_until((Path(home) / "address").exists)
            yield {"MILLSTREAM_HOME": home, "COLUMNS": "100"}
        finally:
            server.stop()


LONG = ("cluster", "kinesis", "kubernetes", "rabbitmq", "sqs", "state", "storage", "yarn")
"""Pages that take minutes: for their servers, or for many a command that starts Spark."""
SERVERS: dict[str, Callable[[], AbstractContextManager[dict[str, str]]]] = {
    "activemq": an_activemq,
    "cluster": a_cluster,
    "kafka": a_kafka,
    "kinesis": a_kinesis,
    "kubernetes": a_kubernetes,
    "manager": a_manager,
    "postgres": a_postgres,
    "rabbitmq": a_rabbitmq,
    "security": a_manager,
    "sqs": an_sqs,
    "storage": storages,
    "yarn": a_yarn,
}
"""Pages that need a server, and what they find in their environment."""


class Follower:
    """A process that follows pages, one after the other."""

    def __init__(self, folder: Path, known: dict[str, str]) -> None:
        self._log = folder / "log.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("page.py"))],
                cwd=folder,
                env={**environment(folder), **known},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def follow(self, page: Path, folder: Path) -> int:
        """How many blocks it has followed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"page": str(page), "folder": str(folder)}) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        assert ready, "nothing happens any more"
        answer = json.loads(self._process.stdout.readline() or '{"error": "the process has ended"}')
        assert "error" not in answer, answer["error"] + self._log.read_text(errors="replace")[-3000:]
        return int(answer["blocks"])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def follower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Follower]:
    """Of all pages that need no server."""
    with closing(Follower(tmp_path_factory.mktemp("pages"), {})) as made:
        yield made


@pytest.fixture
def own_follower(path: Path, tmp_path: Path) -> Iterator[Follower]:
    """For one page alone, with the server that it needs."""
    with SERVERS.get(path.stem, lambda: nullcontext({}))() as known:
        folder = tmp_path / "process"
        folder.mkdir()
        with closing(Follower(folder, known)) as made:
            yield made


@pytest.mark.parametrize("path", [page(path) for path in PAGES])
def test_what_a_page_says_is_true(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The README's reader has started nothing before."""
    work = tmp_path / "work"
    work.mkdir()
    alone = path == README or path.stem in SERVERS
    follower: Follower = request.getfixturevalue("own_follower" if alone else "follower")
    done = follower.follow(path, work)
    blocks = re.findall(r"^```(?:python|console)$", path.read_text(), re.MULTILINE)
    assert done == len(blocks)


def environment(folder: Path) -> dict[str, str]:
    """A shell that finds this checkout's `millstream`."""
    command = folder / "bin" / "millstream"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom millstream.cli.main import main\nmain()\n")
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MILLSTREAM_")}
    # Spark's warnings about other installed packages are not on any page.
    known = {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore::FutureWarning"}
    return {**kept, "PATH": f"{command.parent}:{os.environ['PATH']}", **known}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_hides_nothing(path: Path) -> None:
    """What is needed to run a page is there for its readers to see."""
    assert "<!--" not in path.read_text()


def test_the_commands_of_the_readme_exist() -> None:
    listed = subprocess.run([str(ROOT / "dev")], capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"\./dev (\w+)", README.read_text()))
    assert {"demo", "test"} <= named
    assert named <= set(re.findall(r"^\./dev (\w+)", listed, re.MULTILINE))


def test_the_files_that_the_readme_links_to_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
