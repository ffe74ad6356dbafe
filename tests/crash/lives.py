"""A job that is killed at one place after another, mostly without dying: its process stops at the place, its folder is
copied as a killed process would have left it, and the next run continues from the copy, in the same JVM."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

from millstream.testing.faults import Fault
from millstream.verify.images import copy, frozen, restore
from millstream.verify.visits import Listener, Watch
from servers.proxy import Proxy
from tests.crash.process import PATIENCE

ROOT = Path(__file__).parents[2]


class At(Watch):
    """Does something at the first visit of a place in the fault's epoch or a later one; the place may be any sink's."""

    def __init__(self, fault: Fault, act: Callable[[], None]) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.met = threading.Event()
        self._fault, self._what = fault, act

    def visit(self, point: str, epoch: int, sink: str) -> None:
        with self._lock:
            if point == self._fault.point and epoch >= (self._fault.epoch or 0) and not self.met.is_set():
                self.begun.set()
                self._what()
                self.met.set()


class Lives:
    """The runs of a module's job. The module's `start(spark, folder, *arguments)` returns a Run that writes only into
    that folder. What it reads may grow meanwhile, elsewhere."""

    def __init__(self, module: str, scratch: Path, environment: dict[str, str] | None = None) -> None:
        self._image = scratch / "image"
        self._log = scratch / "log.txt"
        self._own = scratch / "spark"
        self._own.mkdir()
        self._module = module
        self._environment = environment or {}
        self._listener = Listener()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._listener.close()

    def of(self, folder: Path, *arguments: str, server: int | None = None) -> Self:
        """From now on runs have this folder, and these arguments. `server`: the process group of a server that
        writes into the folder for them."""
        folder.mkdir(exist_ok=True)
        self._folder, self._arguments = folder, [str(folder), *arguments]
        self._server = server
        return self

    def imaged(self, fault: Fault, proxy: Proxy | None = None) -> None:
        """Up to a fault; the folder is then as it was at that moment. `proxy`: the job's connection to a server, to
        which the process is dead from that moment on. It lets nothing through until the run has ended."""
        shutil.rmtree(self._image, ignore_errors=True)
        self._until(At(fault, lambda: self._take_image(proxy)))
        if proxy is None:
            self.stop()
        else:
            self._tell("stop")
            self._answer()  # it may have failed: its server is gone
            proxy.mend()
        restore(self._image, self._folder)

    def killed(self, fault: Fault) -> None:
        """Up to a fault, at which the process and its JVM are killed for real."""
        self._until(At(fault, self._kill_group))
        self.kill()

    def held(self, fault: Fault, meanwhile: Callable[[], None]) -> None:
        """Up to a fault, where it stops while something else happens; then it continues."""
        self._until(At(fault, meanwhile))

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Inside, its process does nothing at all, as if suspended."""
        assert self._process is not None
        with frozen(self._process.pid):
            yield

    def failure(self) -> str | None:
        """When the run has ended by itself: what it failed with, if it has."""
        error: str | None = self._answer()
        return error

    def begin(self) -> None:
        """A run without faults."""
        self._listener.watch = Watch()
        self._tell(self._arguments)

    def kill(self) -> None:
        """For real, wherever it is."""
        if self._process is not None:
            if self._process.poll() is None:
                self._kill_group()
            self._process.communicate()
            self._process = None

    def stop(self) -> None:
        self._tell("stop")
        self.wait()

    def wait(self) -> None:
        """Until the run has ended, well."""
        error = self._answer()
        assert error is None, error

    def _answer(self) -> Any:
        """When the run has ended: what it failed with, if it has."""
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        assert ready, self._said("the run does not end")
        answer = self._process.stdout.readline()
        assert answer, self._said("the process ended by itself")
        return json.loads(answer)

    def _until(self, watch: At) -> None:
        self._listener.watch = watch
        self._tell(self._arguments)
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + PATIENCE
        while not watch.met.wait(0.02):
            over, _, _ = select.select([self._process.stdout], [], [], 0)
            # A process that is killed at the place ends before that is known.
            assert not over or watch.begun.is_set(), self._said("the run ended before it came to the place")
            assert time.monotonic() < deadline, self._said("nothing happens any more")

    def _tell(self, what: Any) -> None:
        if self._process is None:
            self._process = self._started()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()

    def _started(self) -> subprocess.Popen[bytes]:
        more = {"MILLSTREAM_VERBOSE": "1", "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("serve.py")), self._module, str(self._own)],
                env={**os.environ, **more, **self._environment, **self._listener.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def _take_image(self, proxy: Proxy | None) -> None:
        assert self._process is not None
        with frozen(self._process.pid), nullcontext() if self._server is None else frozen(self._server):
            copy(self._folder, self._image)
            if proxy is not None:
                proxy.hang_up()

    def _kill_group(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)

    def _said(self, what: str) -> str:
        return f"{what}:\n{self._log.read_text(errors='replace')[-3000:]}"
