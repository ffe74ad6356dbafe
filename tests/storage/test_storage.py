"""Files of a checkpoint: whole or not there, whoever writes at the same time and whatever a crash leaves."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream.spark.files import bridge
from millstream.storage import CheckpointFolder, Files, absolute, files_at, remote
from millstream.storage.local import LocalFiles
from servers.s3_proxy import S3Proxy


@pytest.fixture
def storage(folder: str) -> Files:
    return files_at(folder)


@pytest.fixture
def files() -> Files:
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


def test_a_write_that_fails_leaves_what_was_there(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "file")
    files.replace(file, "one")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            files.replace(file, "two")
        with pytest.raises(OSError, match="No space"):
            files.create(str(tmp_path / "other"), "two")
    assert files.read(file) == "one"
    assert os.listdir(tmp_path) == ["file"]


def test_what_is_written_is_synced_before_it_has_its_name(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the content, then the folder: a power cut must not find a name without its content."""
    synced: list[tuple[str, bool]] = []
    original = os.fsync

    def sync(fd: int) -> None:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        synced.append(("folder" if name == tmp_path.name else "content", (tmp_path / "file").exists()))
        original(fd)

    monkeypatch.setattr(os, "fsync", sync)
    files.create(str(tmp_path / "file"), "one")
    assert synced == [("content", False), ("folder", True)]


def test_names_without_what_a_crash_left(files: Files, tmp_path: Path) -> None:
    (tmp_path / ".file.0123.part").write_text("ha")
    (tmp_path / "file").write_text("whole")
    assert files.names(str(tmp_path)) == ["file"]
    assert files.names(str(tmp_path / "nowhere")) == []


@pytest.mark.parametrize("address", ["gs://bucket/a", "s3://bucket/a", "gs:/bucket/a", "s3a:///a"])
def test_a_storage_that_is_not_known(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would become a folder of that name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ms.MillstreamError) as error:
        ms.Job("a", checkpoint=address)
    assert error.value.code == "MS-CHECKPOINT-008"
    assert error.value.at is not None
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
