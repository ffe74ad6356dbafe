"""A new folder on each storage."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.spark.files import bridge
from millstream.storage import remote
from servers.hdfs import Hdfs

REMOTE = (pytest.param("hdfs", marks=pytest.mark.server), pytest.param("s3", marks=pytest.mark.server))
STORAGES = ("local", *REMOTE)


@pytest.fixture(params=STORAGES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_folder(request, tmp_path)


@pytest.fixture(params=REMOTE)
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Not on this machine."""
    return new_folder(request, tmp_path)


@pytest.fixture
def hdfs_folder(hdfs: Hdfs, spark: SparkSession) -> str:
    return f"{hdfs.url}/{secrets.token_hex(4)}"


def new_folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return str(tmp_path)
    remote.through(bridge)
    request.getfixturevalue("spark")
    if request.param == "hdfs":
        return f"{request.getfixturevalue('hdfs').url}/{secrets.token_hex(4)}"
    return f"{request.getfixturevalue('bucket')}/folder"
