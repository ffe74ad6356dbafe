"""Files of a checkpoint: whole or not there, whatever writes at the same time, and whatever a crash leaves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream import files, journal
from millstream.runtime.savepoints.manifest import read_savepoint
from millstream.spark.files import bridge
from millstream.storage import CheckpointFolder, Files, absolute, files_at, remote
from millstream.storage.local import LocalFiles
from servers.s3 import S3
from servers.s3_proxy import S3Proxy


@pytest.fixture
def storage(folder: str) -> Files:
    return files_at(folder)


@pytest.fixture
def disk() -> Files:
    return LocalFiles()


def test_a_file_is_created_once(storage: Files, folder: str) -> None:
    file = f"{folder}/new/folder/file"
    assert storage.read(file) is None
    assert storage.create(file, "one é")
    assert not storage.create(file, "two")
    assert storage.read(file) == "one é"
    assert storage.names(f"{folder}/new/folder") == ["file"]
    assert storage.names(f"{folder}/new") == ["folder"]


def test_of_many_who_create_a_file_one_succeeds(storage: Files, folder: str) -> None:
    file, together, won = f"{folder}/file", threading.Barrier(8), []

    def try_to(number: int) -> None:
        together.wait()
        if storage.create(file, f"{number}\n" * 1000):
            won.append(number)

    threads = [threading.Thread(target=try_to, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.read(file) == f"{won[0]}\n" * 1000


def test_a_file_is_replaced(storage: Files, folder: str) -> None:
    file = f"{folder}/file"
    storage.replace(file, "one")
    storage.replace(file, "two")
    assert storage.read(file) == "two"
    assert storage.names(folder) == ["file"]


def test_a_file_is_deleted_if_it_is_there(storage: Files, folder: str) -> None:
    storage.replace(f"{folder}/file", "")
    storage.replace(f"{folder}/other", "")
    storage.delete(f"{folder}/file")
    storage.delete(f"{folder}/file")
    assert storage.names(folder) == ["other"]


def test_there_is_no_such_folder(storage: Files, folder: str) -> None:
    assert storage.names(f"{folder}/nowhere") == []


@pytest.mark.server
def test_a_creation_whose_answer_is_lost(s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession) -> None:
    """The client asks again, and is refused because of what it wrote itself."""
    remote.through(bridge)
    file = f"{bucket_behind_proxy}/file"
    s3_proxy.lose("PUT .*/file")
    assert files_at(file).create(file, "one")
    assert [request.new for request in s3_proxy.requests("PUT .*/file")] == [True, True]
    assert not files_at(file).create(file, "two")
    assert files_at(file).read(file) == "one"


@pytest.mark.server
def test_a_store_that_takes_no_notice_of_conditions(
    s3: S3, s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession
) -> None:
    """Two runs would both begin. Here the first object is taken away before the second one comes, as if it were
    replaced."""
    journal.create(bucket_behind_proxy, "t")
    job = ms.Job("copy", checkpoint=f"{bucket_behind_proxy}/checkpoint")
    source = journal.source("t", path=bucket_behind_proxy)
    job.stream(source, schema="n INT").to(files.sink(f"{bucket_behind_proxy}/files", format="json"))
    first, second = (s3_proxy.hold("PUT .*/.created-", times=1) for _ in range(2))
    first.release()

    def replace() -> None:
        assert second.met.wait(60)
        (name,) = {request.path.strip("/") for request in s3_proxy.requests("PUT .*/.created-")}
        s3.files().delete_file(name)
        second.release()

    between = threading.Thread(target=replace)
    between.start()
    with pytest.raises(ms.MillstreamError) as error:
        job.run(ms.available_now(), spark=spark)
    between.join()
    assert error.value.code == "MS-STORAGE-002"
    assert files_at(job.checkpoint).names(job.checkpoint) == []


def test_a_write_that_fails_leaves_what_was_there(disk: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(tmp_path / "file")
    disk.replace(file, "one")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            disk.replace(file, "two")
        with pytest.raises(OSError, match="No space"):
            disk.create(str(tmp_path / "other"), "two")
    assert disk.read(file) == "one"
    assert os.listdir(tmp_path) == ["file"]


def test_what_is_written_is_synced_before_it_has_its_name(
    disk: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the content, then the folder: a power cut must not find a name without its content."""
    synced: list[tuple[str, bool]] = []
    original = os.fsync

    def sync(fd: int) -> None:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        synced.append(("folder" if name == tmp_path.name else "content", (tmp_path / "file").exists()))
        original(fd)

    monkeypatch.setattr(os, "fsync", sync)
    disk.create(str(tmp_path / "file"), "one")
    assert synced == [("content", False), ("folder", True)]


def test_names_without_what_a_crash_left(disk: Files, tmp_path: Path) -> None:
    (tmp_path / ".file.0123.part").write_text("ha")
    (tmp_path / "file").write_text("whole")
    assert disk.names(str(tmp_path)) == ["file"]
    assert disk.names(str(tmp_path / "nowhere")) == []


MAKES: dict[str, Callable[[str], object]] = {
    "checkpoint": lambda address: ms.Job("a", checkpoint=address),
    "journal source": lambda address: journal.source("likes", path=address),
    "journal sink": lambda address: journal.sink("likes", path=address),
    "files": lambda address: files.sink(address, format="json"),
    "journal": lambda address: journal.create(address, "likes", 1),
    "producer": lambda address: journal.producer(address, "likes"),
    "reader": lambda address: journal.read(address, "likes"),
}


@pytest.mark.parametrize("what", MAKES)
@pytest.mark.parametrize("address", ["gs://bucket/a", "s3://bucket/a", "gs:/bucket/a", "s3a:///a"])
def test_a_storage_that_is_not_known(address: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would become a folder of that name. No server is asked before."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ms.MillstreamError) as error:
        MAKES[what](address)
    assert error.value.code == "MS-CHECKPOINT-008"
    assert list(tmp_path.iterdir()) == []


def test_one_address_however_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    full = CheckpointFolder(str(tmp_path / "a b"))
    assert CheckpointFolder.at("a b") == CheckpointFolder.at("./a b/") == full
    assert CheckpointFolder.at(f"file://{tmp_path}/a%20b") == full
    assert CheckpointFolder.at(f"file:{tmp_path}/a%20b") == full
    assert files_at(full.root).resolved(full.root) == full.root


def test_addresses_of_other_storages_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("s3a://bucket/a") == "s3a://bucket/a"
    assert absolute("a") == str(tmp_path / "a")


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("hdfs://node:9000//jobs/a/", "hdfs://node:9000/jobs/a"),
        ("HDFS:/jobs/a", "hdfs:///jobs/a"),
        ("hdfs:///jobs/a", "hdfs:///jobs/a"),
        ("s3a://bucket/a b/", "s3a://bucket/a b"),
    ],
)
def test_one_address_of_other_storages(given: str, full: str) -> None:
    assert CheckpointFolder.at(given) == CheckpointFolder(full)
    assert CheckpointFolder.at(full) == CheckpointFolder(full)


def test_every_path_lies_under_the_checkpoint() -> None:
    folder = CheckpointFolder("s3a://bucket/job")
    parts = [name for name, part in vars(CheckpointFolder).items() if isinstance(part, property)]
    named = [getattr(folder, name) for name in parts if name != "files"]
    assert len(set(named)) == len(named) > 8
    assert all(path.startswith("s3a://bucket/job/") for path in named)


def test_committed_epochs(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    assert folder.committed() == []
    for name in ("0", "10", "9", ".10.crc", ".11.0123.tmp"):
        folder.files.replace(f"{folder.commits}/{name}", "v1")
    assert folder.committed() == [0, 9, 10]


def test_below_a_file_there_is_nothing(disk: Files, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("")
    assert disk.read(f"{tmp_path}/job.py/savepoint.json") is None
    assert disk.names(f"{tmp_path}/job.py/jobs") == []
    with pytest.raises(ms.MillstreamError, match=r"MS-SAVEPOINT-002: there is no savepoint at .*job\.py"):
        read_savepoint(f"{tmp_path}/job.py")
