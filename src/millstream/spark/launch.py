"""Starting Spark's JVM: its log goes to a file, and Ctrl-C stays ours.

Spark, log4j and the JVM itself all write to the JVM's stderr. A user's terminal is for the user, so for
sessions that Millstream makes, stderr is a file: `$MILLSTREAM_LOG`, or a temporary one that is deleted at the
end if no error refers to it. With `MILLSTREAM_VERBOSE=1` it is the terminal after all.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger

from millstream.errors import MillstreamError, verbose

JAVA = "-XX:-G1UseAdaptiveIHOP -XX:InitiatingHeapOccupancyPercent=60"
"""While Spark starts, Java learns that memory fills up fast, and then marks all of it every few seconds, for good."""
OPTIONS = "SPARK_SUBMIT_OPTS"


class Log:
    """Where the JVM's stderr goes; None as long as it goes to the terminal."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._temporary = False

    def open(self) -> int | None:
        """The file, to be written to; None: the terminal, or wherever spark-submit, which started the JVM, writes."""
        if verbose() or "PYSPARK_GATEWAY_PORT" in os.environ:
            return None
        named = os.environ.get("MILLSTREAM_LOG")
        if named:
            self.path = Path(named).expanduser().resolve()
            return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        file, name = tempfile.mkstemp(prefix="millstream-", suffix=".log")
        self.path, self._temporary = Path(name), True
        atexit.register(self._remove)
        return file

    def keep(self) -> Path | None:
        """The file, to be shown to the user: from now on it stays."""
        self._temporary = False
        return self.path

    def _remove(self) -> None:
        if self._temporary and self.path is not None:
            self.path.unlink(missing_ok=True)


LOG = Log()
"""Of this process's one JVM."""


def launch(settings: dict[str, str]) -> None:
    """Starts the JVM, if there is none yet."""
    if SparkContext._gateway is not None:
        return
    file = LOG.open()
    try:
        gateway = launch_gateway(SparkConf().setAll(list(settings.items())), Started(stderr=file))
    except (PySparkRuntimeError, OSError) as error:
        raise did_not_start() from error
    finally:
        if file is not None:
            os.close(file)
    SparkContext._ensure_initialized(gateway=gateway)


class Started(dict[str, Any]):
    """How the JVM's process is started: it ignores SIGTERM, just as pyspark makes it ignore Ctrl-C.

    systemd ends all processes of a service at once, and would take Spark away from a job that is about to stop cleanly.
    The JVM ends when this process does.
    """

    def __setitem__(self, name: str, value: Any) -> None:
        changes: dict[str, Callable[[Any], Any]] = {"preexec_fn": ignoring_sigterm, "env": with_java_options}
        super().__setitem__(name, changes[name](value) if name in changes else value)


def with_java_options(variables: dict[str, str]) -> dict[str, str]:
    """Ours before the user's. The setting for them would hide those in Spark's own files."""
    return {**variables, OPTIONS: f"{JAVA} {variables.get(OPTIONS, '')}".strip()}


def ignoring_sigterm(before: Callable[[], None]) -> Callable[[], None]:
    def ignore() -> None:
        before()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    return ignore


def quiet() -> None:
    """Pyspark writes each error that it hands on to stderr as well, as a line of JSON with the JVM's trace."""
    if not verbose():
        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


def did_not_start() -> MillstreamError:
    said = LOG.path.read_text(errors="replace").split("\n") if LOG.path else []
    first = next((line.strip() for line in said if line.strip() and not line.startswith("WARNING")), None)
    return MillstreamError(
        "MS-SETUP-003",
        "Spark's Java process did not start.",
        found=first,
        hint="it needs Java 17 or newer, as java on the PATH or in JAVA_HOME",
    )


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Spark's Python side answers Ctrl-C by cancelling all its tasks, which makes a running query fail
    instead of stop. The earlier handler of Ctrl-C stays in place."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
