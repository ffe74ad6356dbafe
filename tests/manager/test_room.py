"""Whether a cluster has room for a job is asked when it is submitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream import journal
from millstream.errors import MillstreamError
from millstream.manager.room import on_cluster
from millstream.spark.slots import Need
from millstream.spark.standalone import megabytes, slots
from servers.process import free_port
from servers.standalone import Standalone, running
from tests.manager.house import JOB, House

MACHINES = [(4, 4096), (8, 2048), (2, 512)]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, 12),
        ({"spark.executor.memory": "3g"}, 4),
        ({"spark.executor.memory": "512m"}, 14),
        ({"spark.task.cpus": "2"}, 6),
        ({"spark.cores.max": "5"}, 5),
        ({"spark.executor.cores": "3"}, 3 + 2 * 3),
        ({"spark.executor.cores": "3", "spark.task.cpus": "2"}, 1 + 2),
        ({"spark.executor.cores": "1", "spark.executor.memory": "1g"}, 4 + 2),
        ({"spark.executor.cores": "2", "spark.cores.max": "5"}, 4),
        ({"spark.executor.memory": "8g"}, 0),
    ],
)
def test_slots_in_executors_as_the_master_hands_them_out(settings: dict[str, str], found: int) -> None:
    assert slots(MACHINES, settings) == found


def test_sizes_as_spark_writes_them() -> None:
    assert [megabytes(size) for size in ("2g", "512M", "1048576", "2048kb", "many")] == [2048, 512, 1, 2, 0]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Standalone]:
    with running(workers=1, cores=4, memory="1g") as started:
        yield started


def wide(manager: House, name: str, parallelism: int, cluster: str, web: int, **more: Any) -> Any:
    path = manager.folder / "journal"
    if not path.exists():
        journal.create(str(path), "likes", 2)
    conf = {"fake": "run", "spark.master.ui.port": str(web)}
    spec: dict[str, Any] = {"mode": "real-time", "master": cluster, "conf": conf, **more}
    return manager.send({"job.py": JOB.format(name=name)}, parallelism=parallelism, **spec)


@pytest.mark.server
@pytest.mark.slow
def test_a_parallelism_that_a_cluster_cannot_hold_is_refused(manager: House, cluster: Standalone) -> None:
    web = cluster.masters[0].web
    answer = wide(manager, "wide", 3, cluster.master, web)
    assert (answer.status_code, answer.json()["code"]) == (422, "MS-RUN-003")
    why = "needs 5 task slots at once (2 for the sources' partitions, 1 × 3 for the stages' tasks)"
    assert f"{why}, and {cluster.master} has 4." in answer.json()["message"]
    # The file's own mode counts, too; micro-batches need no more than a slot.
    assert wide(manager, "wide", 3, cluster.master, web, mode=None).status_code == 422
    assert wide(manager, "narrow", 3, cluster.master, web, mode="micro-batch").status_code == 201
    assert wide(manager, "wide", 2, cluster.master, web).status_code == 201
    job = manager.until("wide", "running")
    assert job["moves"][0]["reason"] == "admin started it"
    # What cannot be held is refused before the job is stopped for it.
    answer = manager.http.post("/api/v1/jobs/wide/rescale", json={"parallelism": 3})
    assert (answer.status_code, answer.json()["code"]) == (422, "MS-RUN-003")
    assert manager.job("wide")["state"] == "running"


@pytest.mark.server
@pytest.mark.slow
def test_the_page_of_another_master_says_nothing(manager: House, cluster: Standalone) -> None:
    web = cluster.masters[0].web
    answer = wide(manager, "wide", 3, "spark://127.0.0.1:1", web)
    assert answer.status_code == 201, answer.text
    page = f"http://127.0.0.1:{web}/json/"
    assert answer.json()["operations"][-1]["note"].endswith(f"({page} is the page of {cluster.master})")


def test_a_cluster_that_cannot_be_asked_is_named_when_the_job_starts(manager: House) -> None:
    web = free_port()
    assert wide(manager, "wide", 3, "spark://127.0.0.1:1", web).status_code == 201
    assert manager.until("wide", "running")["moves"][0]["reason"] == (
        "admin started it; spark://127.0.0.1:1 could not be asked whether it has the 5 task slots that real time needs "
        f"at once (http://127.0.0.1:{web}/json/: [Errno 111] Connection refused)"
    )


def test_clusters_that_give_executors_by_number() -> None:
    need = Need(5, "all of them")
    assert on_cluster("yarn", {}, need, 2) == (
        "whether yarn has room for the 5 task slots that real time needs at once shows when it gives executors"
    )
    with pytest.raises(MillstreamError, match="MS-CLUSTER-014"):
        on_cluster("yarn", {"spark.executor.instances": "2"}, need, 2)
