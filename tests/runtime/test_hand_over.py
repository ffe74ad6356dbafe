"""`millstream run --deploy-mode cluster`: what is refused here, and what the cluster gets."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import millstream as ms
from millstream import journal
from millstream.cli.main import main
from millstream.errors import MillstreamError
from millstream.spark import ahead, submit, where, yarn
from millstream.spark.asked import RECOVERY, asked
from millstream.spark.launch import Log
from millstream.spark.python.ship import from_archive
from millstream.spark.slots import Need
from millstream.spark.submit import DRIVER, Listener, Submission, command
from tests.plan.wrong.clusters import PODS, told

JOB = """
import millstream as ms
from millstream import journal
import beside_the_job
job = ms.Job("copy", parallelism=3)
job.stream(journal.source("in"), schema="id INT").to(journal.sink("out"))
"""
ON_PODS = [f"--conf={name}={value}" for name, value in PODS.items()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for topic in ("in", "out"):
        journal.create(str(tmp_path / "journal"), topic)
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "beside_the_job.py").write_text("two = 2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def run(*options: str) -> str:
    done = CliRunner().invoke(main, ["run", "job.py", "--deploy-mode", "cluster", *options])
    assert done.exit_code == 1
    return done.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--master", "yarn"], "MS-CLUSTER-004: the checkpoint of job "),
        (
            ["--master", "yarn", "--shared-disk"],
            "MS-CLUSTER-010: the job is to run on YARN, and neither HADOOP_CONF_DIR",
        ),
        (
            ["--master", "k8s://https://h", "--shared-disk"],
            "MS-CLUSTER-011: the job is to run on Kubernetes, and no image",
        ),
        (["--master", "k8s://https://h", "--shared-disk", *ON_PODS], "MS-CLUSTER-012: the job is to run on Kubernetes"),
    ],
)
def test_what_is_missing_is_said_before_the_cluster_hears_of_it(options: list[str], said: str, folder: Path) -> None:
    with told():
        assert run(*options).startswith(said)


def test_a_driver_in_a_pod_needs_an_account_and_a_storage(folder: Path) -> None:
    where = ["--master", "k8s://http://127.0.0.1:1", "--shared-disk", *ON_PODS]
    with told():
        assert run(*where) == (
            "MS-CLUSTER-012: the driver is to run in a pod of Kubernetes, and no service account is named for it.\n"
            "  hint:  --conf spark.kubernetes.authenticate.driver.serviceAccountName=NAME: one that may make, watch "
            'and delete pods, services and config maps; the namespace\'s own, "default", most often may not\n'
        )
        where += ["--conf", "spark.kubernetes.authenticate.driver.serviceAccountName=spark"]
        assert run(*where) == (
            "MS-CLUSTER-013: the driver is to run in a pod of Kubernetes, and no storage is named from which it gets "
            "the job's files.\n"
            "  hint:  --conf spark.kubernetes.file.upload.path=s3a://BUCKET/FOLDER or hdfs://…: Spark puts them there\n"
        )
        where += ["--conf", "spark.kubernetes.file.upload.path=s3a://jobs"]
        assert run(*where) == (
            "MS-CLUSTER-008: the API server of Kubernetes does not answer.\n"
            "  found: 127.0.0.1:1: Connection refused\n"
            "  hint:  is it running, and is this machine in its network?\n"
        )


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[Submission]:
    """What would go to the cluster."""
    found: list[Submission] = []
    monkeypatch.setattr(ahead, "check", lambda on, driver_too: None)
    monkeypatch.setattr("millstream.cli.hand_over.submit", lambda what, listener: found.append(what))
    return found


def test_what_is_handed_over(folder: Path, handed: list[Submission]) -> None:
    options = ["--master", "yarn", "--deploy-mode", "cluster", "--shared-disk", "--restarts", "--mode", "real-time"]
    more = ["--conf", "spark.executorEnv.MILLSTREAM_PYTHON=/py", "--conf", "spark.jars=a.jar", "--parallelism", "5"]
    done = CliRunner().invoke(main, ["run", "job.py", *options, *more])
    assert done.exit_code == 0, done.output
    assert done.stderr == "copy: starting on yarn\ncopy: finished\n"
    words = command(handed[0], folder)
    assert words[words.index(str(DRIVER)) + 1 :] == [
        *(str(folder), "job.py", "--master", "yarn", "--quiet", "--shared-disk", "--mode", "real-time"),
        *("--parallelism", "5", "--restarts"),
    ]
    assert after(words, "--deploy-mode") == ["cluster"]
    assert after(words, "--files") == [str(folder / "job.py")]
    assert after(words, "--jars")[0].startswith("a.jar,")
    assert after(words, "--jars")[0].endswith("millstream-kernels.jar")
    settings = dict(pair.split("=", 1) for pair in after(words, "--conf"))
    assert settings["spark.yarn.appMasterEnv.MILLSTREAM_PYTHON"] == "/py"
    assert "spark.jars" not in settings
    with zipfile.ZipFile(after(words, "--py-files")[0]) as modules:
        assert modules.read("beside_the_job.py") == b"two = 2"


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (None, 130, ["copy: interrupted before yarn had said that it takes it"]),
        (
            "application_1_2",
            0,
            [
                "copy: handed over, as application_1_2; Ctrl-C leaves it running",
                "copy: goes on running on yarn",
            ],
        ),
    ],
)
def test_ctrl_c_before_and_after_the_cluster_has_the_job(
    folder: Path,
    handed: list[Submission],
    monkeypatch: pytest.MonkeyPatch,
    name: str | None,
    code: int,
    said: list[str],
) -> None:
    def interrupted(what: Submission, listener: Listener) -> None:
        if name is not None:
            listener.named(name)
        raise KeyboardInterrupt

    monkeypatch.setattr("millstream.cli.hand_over.submit", interrupted)
    done = CliRunner().invoke(main, ["run", "job.py", "--master", "yarn", "--deploy-mode", "cluster", "--shared-disk"])
    assert (done.exit_code, done.stderr.splitlines()) == (code, ["copy: starting on yarn", *said])


def after(words: Sequence[str], option: str) -> list[str]:
    return [words[place + 1] for place, word in enumerate(words) if word == option]


def test_the_job_that_the_file_runs_is_meant(folder: Path, handed: list[Submission]) -> None:
    more = 'ms.Job("other"); job.run(on=ms.cluster(shared_disk=True)); raise RuntimeError("not reached")'
    (folder / "job.py").write_text(f"{JOB}\n{more}")
    options = ["--master", "yarn", "--deploy-mode", "cluster", "--shared-disk"]
    assert CliRunner().invoke(main, ["run", "job.py", *options]).exit_code == 0
    assert handed[0].job == "copy"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"hostname": "a"}, [("a", 8032)]),
        ({"address": "b:1"}, [("b", 1)]),
        ({"hostname": "a", "address": "${yarn.resourcemanager.hostname}:2"}, [("a", 2)]),
        ({"address": "${of.another.file}:2"}, []),
        ({"ha.rm-ids": "one, two", "hostname.one": "a", "address.two": "b:3"}, [("a", 8032), ("b", 3)]),
        ({"scheduler.class": "x"}, []),
    ],
)
def test_where_the_resource_manager_is(said: dict[str, str], found: list[tuple[str, int]]) -> None:
    named = {f"yarn.resourcemanager.{name}": value for name, value in said.items()}
    assert list(yarn.addresses(named)) == found


def test_sparks_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "# a comment\nspark.a  one two \nspark.b=x=y\n\nspark.c: z\nspark.d\n"
    (tmp_path / "spark-defaults.conf").write_text(lines)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert ahead.from_file() == {"spark.a": "one two", "spark.b": "x=y", "spark.c": "z", "spark.d": ""}


REAL_TIME = Need(6, "2 for the sources' partitions, 2 × 2 for the stages' tasks")


@pytest.mark.parametrize(
    ("master", "known", "need", "wanted"),
    [
        ("spark://h:1", {}, REAL_TIME, {}),
        ("yarn", {}, REAL_TIME, {"spark.executor.instances": "6"}),
        ("yarn", {"spark.executor.cores": "4"}, REAL_TIME, {"spark.executor.instances": "2"}),
        ("yarn", {"spark.executor.cores": "4", "spark.task.cpus": "2"}, REAL_TIME, {"spark.executor.instances": "3"}),
        ("k8s://h", {}, Need(16), {"spark.executor.instances": "5"}),
        ("k8s://h", {"spark.executor.instances": "1"}, Need(16), {}),
        ("k8s://h", {}, REAL_TIME, {"spark.executor.instances": "6", RECOVERY: "false"}),
        ("k8s://h", {RECOVERY: "true"}, REAL_TIME, {"spark.executor.instances": "6"}),
        ("yarn", {"spark.executor.instances": "7"}, REAL_TIME, {}),
        ("yarn", {"spark.dynamicAllocation.enabled": "true"}, REAL_TIME, {"spark.dynamicAllocation.minExecutors": "6"}),
    ],
)
def test_how_many_executors_are_asked_for(
    master: str, known: dict[str, str], need: Need, wanted: dict[str, str]
) -> None:
    """By a job of parallelism 5."""
    assert asked(master, known, need, 5) == wanted


def test_too_few_executors_are_asked_for() -> None:
    with pytest.raises(MillstreamError) as caught:
        asked("yarn", {"spark.executor.instances": "2", "spark.executor.cores": "2"}, REAL_TIME, 2)
    caught.value.at = None
    assert caught.value.text() == (
        "MS-CLUSTER-014: real time needs 6 task slots at once (2 for the sources' partitions, 2 × 2 for the stages' "
        "tasks), and the settings ask for fewer.\n"
        "  found: spark.executor.instances 2, each with 2\n"
        "  hint:  leave spark.executor.instances out, or ask for 3; or lower parallelism"
    )


def test_modules_that_came_in_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as made:
        for name in ("one.py", "two/__init__.py", "two/deep/er.py", "two/data.txt", "twofold.py"):
            made.writestr(name, name)
    archive = str(tmp_path / "modules.zip")
    assert from_archive(archive, "one") == {"one.py": "one.py"}
    assert list(from_archive(archive, "two")) == ["two/__init__.py", "two/deep/er.py"]


@pytest.fixture
def spark_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Hands a job over to a spark-submit that prints these lines; what the job's user is told of it."""
    monkeypatch.setattr(submit, "_find_spark_home", lambda: str(folder))
    monkeypatch.setenv("MILLSTREAM_LOG", str(folder / "log"))
    monkeypatch.delenv("MILLSTREAM_VERBOSE", raising=False)
    monkeypatch.setattr(submit, "LOG", Log())

    def said(master: str, *lines: str, code: int = 0) -> list[str]:
        script = folder / "bin" / "spark-submit"
        script.parent.mkdir()
        (folder / "lines").write_text("\n".join(lines))
        script.write_text(f"#!/bin/sh\ncat {folder / 'lines'}\nexit {code}\n")
        script.chmod(0o755)
        told: list[str] = []
        what = Submission("copy", folder / "job.py", ms.cluster(master), (), "", ())
        try:
            submit.submit(what, Listener(told.append, told.append))
        except MillstreamError as error:
            told += error.text().replace(str(folder), "").splitlines()
        return told

    return said


def test_a_cluster_that_takes_nothing(spark_says: Callable[..., list[str]]) -> None:
    """What spark-submit says last, and where the rest is."""
    lines = ("Submitted application application_1_2", "	 diagnostics: too large")
    assert spark_says("yarn", *lines, code=1) == [
        "application_1_2",
        'MS-CLUSTER-015: job "copy" failed on the cluster.',
        "  found: too large",
        "  hint:  `yarn logs -applicationId application_1_2` shows what the driver said; what spark-submit said is in "
        "/log",
    ]


def test_a_cluster_that_makes_no_pod(spark_says: Callable[..., list[str]]) -> None:
    thrown = 'Exception in thread "main" io.fabric8.KubernetesClientException: Message: pods is forbidden'
    assert spark_says("k8s://http://h", thrown, "	at io.fabric8…", code=1) == [
        'MS-CLUSTER-015: the cluster did not take job "copy".',
        "  found: Message: pods is forbidden",
        "  hint:  what spark-submit said is in /log",
    ]


FAILED = ("	 phase: Failed", "		 exit code: 137", "		 termination reason: OOMKilled")


@pytest.mark.parametrize(
    ("lines", "namespace", "found"),
    [
        (("	 phase: Succeeded", "		 exit code: 0", "		 termination reason: Completed"), "default", None),
        (FAILED, "default", "its pod ended with exit code 137 (OOMKilled)"),
        (FAILED, "jobs", "its pod ended with exit code 137 (OOMKilled)"),
        (FAILED[:1], "default", "its pod was ended before its program had: was it evicted?"),
        (
            ("Application status for spark-1 (phase: Running)",),
            "jobs",
            "its pod was deleted; until then it was Running",
        ),
    ],
)
def test_what_becomes_of_a_pod(
    spark_says: Callable[..., list[str]], lines: tuple[str, ...], namespace: str, found: str | None
) -> None:
    """spark-submit itself ends well, whatever it is."""
    state = ("	 pod name: copy-1-driver", f"	 namespace: {namespace}", "	 phase: Running", *lines)
    where = "" if namespace == "default" else f" --namespace {namespace}"
    failed = [
        'MS-CLUSTER-015: job "copy" failed on the cluster.',
        f"  found: {found}",
        f"  hint:  `kubectl logs copy-1-driver{where}` shows what the driver said; what spark-submit said is in /log",
    ]
    assert spark_says("k8s://http://h", *state) == ["copy-1-driver", *(failed if found else [])]


def test_a_pod_that_does_not_start(spark_says: Callable[..., list[str]]) -> None:
    reasons = ("ContainerCreating", "ErrImagePull", "ImagePullBackOff", "ErrImagePull")
    lines = [f"		 pending reason: {reason}" for reason in reasons]
    assert spark_says("k8s://http://h", *lines, "	 phase: Succeeded") == ["ErrImagePull", "ImagePullBackOff"]


@pytest.mark.parametrize(("chosen", "python"), [(None, []), ("/py", ["spark.pyspark.python=/py"])])
def test_an_image_has_its_own_python(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None, python: list[str]
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if chosen is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", chosen)
    words = command(Submission("copy", folder / "job.py", ms.cluster("k8s://http://h"), (), "", ()), folder)
    assert [word for word in words if word.startswith("spark.pyspark.python")] == python


def test_one_jar_of_a_name() -> None:
    """Spark's executors take no two."""
    assert where.one_of_a_name("file:/sent/k.jar,/a.jar", None, "/installed/k.jar") == "file:/sent/k.jar,/a.jar"


@pytest.mark.parametrize(
    ("name", "wanted", "found", "fits"),
    [
        ("spark.executor.memory", "1g", "1g", True),
        ("spark.executor.memory", "1g", "11g", False),
        ("spark.executor.memory", "1g", None, False),
        ("spark.executor.extraJavaOptions", "-Xss4m", "-Djava.net.preferIPv6Addresses=false -Xss4m", True),
        ("spark.executor.extraJavaOptions", "-Xss4m", "-Djava.net.preferIPv6Addresses=false", False),
    ],
)
def test_a_session_has_what_was_chosen(name: str, wanted: str, found: str | None, fits: bool) -> None:
    """Spark puts its own options before those of the user."""
    assert where.same(name, wanted, found) == fits
