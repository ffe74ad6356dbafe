"""A user's program that runs a job on the cluster, as its own process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PYTHON = sys.executable
JOBS = Path(__file__).parent / "jobs"
OTHERS = ("MILLSTREAM_", "PYSPARK_", "PYTHONPATH")
"""Variables of the process that runs the tests."""
# What runs for seconds is compiled quickly, not well.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
DEFAULTS = {
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.executor.memory": "600m",
}
"""Spark's own file of settings, as a cluster's machines have one."""


NOTHING: Mapping[str, str] = {}


PATIENCE = 180
"""Seconds after which something hangs: not a measure of speed."""
MILLSTREAM = "from millstream.cli.main import main; main()"


def script(name: str) -> str:
    return str(JOBS / name)


class Driver:
    """A user's program on the cluster. Spark's output goes to a file in its folder."""

    def __init__(
        self, command: list[str], folder: Path, known: Mapping[str, str] = NOTHING, more: Mapping[str, str] = NOTHING
    ) -> None:
        """`known`: variables of its environment. `more`: for Spark's settings file."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        conf = folder / "conf"
        conf.mkdir(exist_ok=True)
        spark = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(conf)}
        # spark-submit looks for Python, and by it for Spark, on the path.
        found = {"PATH": f"{Path(PYTHON).parent}:{os.environ['PATH']}", "MILLSTREAM_LOG": str(folder / "spark.log")}
        defaults = {**DEFAULTS, **more}
        (conf / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in defaults.items()))
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**own, **spark, **found, **known},
            stdout=subprocess.PIPE,
            stderr=(folder / "stderr.txt").open("w"),
            text=True,
        )
        self._stderr = folder / "stderr.txt"

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    def lines(self) -> list[str]:
        """What it has printed, when it has ended."""
        out, _ = self.process.communicate(timeout=300)
        return out.splitlines()

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


def until(condition: Callable[[], bool], driver: Driver) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert driver.process.poll() is None, driver.stderr
        assert time.monotonic() < deadline, driver.stderr
        time.sleep(0.1)
