"""The shared Spark, set up for the journal's tests, and the kernels' jar."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
STATE = "org.apache.spark.sql.execution.streaming.state"


def load_build_hook() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("build_hook", ROOT / "kernels" / "build_hook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if importlib.util.find_spec("hatchling") is None:
        # Only the hook's base class comes from hatchling, and compiling does not need it.
        stub = types.ModuleType("hatchling.builders.hooks.plugin.interface")
        stub.BuildHookInterface = object  # type: ignore[attr-defined]
        sys.modules[stub.__name__] = stub
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = ROOT / "src" / "millstream" / "jars" / "millstream-kernels.jar"
    if built.exists():
        return built
    fresh = tmp_path_factory.mktemp("jar") / "millstream-kernels.jar"
    load_build_hook().compile_kernels(fresh)
    return fresh


SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": f"{STATE}.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "500ms",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.streaming.realTimeMode.asyncProgressTrackingByDefault.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": "millstream.faults.FaultyCheckpoints",
}


@pytest.fixture(scope="module")
def spark(spark: SparkSession) -> SparkSession:
    """A session of its own in the Spark that all tests share."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session


def make_session(jar: Path, scratch: Path) -> SparkSession:
    """For a process of its own."""
    builder = (
        SparkSession.builder.master("local[4]")
        .appName("journal")
        .config("spark.jars", str(jar))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(scratch))
    )
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
