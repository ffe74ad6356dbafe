"""A pod as a process: what its spec says, done as the entry point of Spark's own image does it.

An executor's variables become the command line of its backend. A driver's words go to spark-submit, in client mode.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home

from millstream.spark.fetch import java
from servers.process import Server

IMAGE = "spark:4.3.0"
"""The one image that can be pulled here."""
ADDRESS = "127.0.0.1"
ENDED = ("Succeeded", "Failed")
JAVA_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


class Pod:
    """Started when it is created, if there is such an image. `hosts`: the addresses of services."""

    def __init__(self, spec: dict[str, Any], folder: Path, config_maps: list[dict[str, Any]], hosts: Path) -> None:
        self.spec = spec
        self.name = str(spec["metadata"]["name"])
        self.role = str(spec["metadata"].get("labels", {}).get("spark-role"))
        self._container = spec["spec"]["containers"][0]
        self._began = now()
        self._told: str | None = None
        self._server: Server | None = None
        if self._container["image"] == IMAGE:
            folder.mkdir()
            paths = mounted(spec["spec"], self._container, folder, config_maps)
            variables = self._variables(paths, hosts)
            self._server = Server(self._command(variables, paths), folder, variables)

    @property
    def runs(self) -> bool:
        return self._server is not None and self._server.process.poll() is None

    @property
    def log(self) -> str:
        """As `kubectl logs` shows it."""
        return "" if self._server is None else self._server.log.read_text(errors="replace")

    def kill(self) -> None:
        """As `kill -9` of its container's first process, or a lack of memory: the others go with it, at once."""
        assert self._server is not None
        os.killpg(self._server.process.pid, signal.SIGKILL)

    def stop(self) -> None:
        if self._server is not None:
            with suppress(ProcessLookupError):
                self._server.stop()

    def _variables(self, paths: dict[str, str], hosts: Path) -> dict[str, str]:
        """Those of the image, then those of the spec."""
        home = _find_spark_home()
        packages = sorted(map(str, Path(home, "python", "lib").glob("*.zip")))
        image = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",  # its python3 is this one
            "HOME": os.environ.get("HOME", "/"),
            "SPARK_HOME": home,
            "PYTHONPATH": ":".join(packages),
            "JAVA_TOOL_OPTIONS": f"-Djdk.net.hosts.file={hosts}",
        }
        given = {one["name"]: moved(self._value(one), paths) for one in self._container.get("env", [])}
        return {**image, **given}

    def _value(self, variable: dict[str, Any]) -> str:
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        known = {None: str(variable.get("value", "")), "status.podIP": ADDRESS, "metadata.name": self.name}
        return known[field]

    def _command(self, variables: dict[str, str], paths: dict[str, str]) -> list[str]:
        what, *arguments = [moved(str(word), paths) for word in self._container["args"]]
        home = variables["SPARK_HOME"]
        if what == "driver":
            own = variables["SPARK_DRIVER_BIND_ADDRESS"]
            settings = (f"spark.driver.bindAddress={own}", f"spark.executorEnv.SPARK_DRIVER_POD_IP={own}")
            told = (word for setting in settings for word in ("--conf", setting))
            return [f"{home}/bin/spark-submit", *told, "--deploy-mode", "client", *arguments]
        assert what == "executor", what
        numbered = ((JAVA_OPTION.fullmatch(name), value) for name, value in variables.items())
        options = [value for _, value in sorted((int(found[1]), value) for found, value in numbered if found)]
        size = variables["SPARK_EXECUTOR_MEMORY"]
        options_of = {
            "--driver-url": "SPARK_DRIVER_URL",
            "--executor-id": "SPARK_EXECUTOR_ID",
            "--cores": "SPARK_EXECUTOR_CORES",
            "--app-id": "SPARK_APPLICATION_ID",
            "--hostname": "SPARK_EXECUTOR_POD_IP",
            "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
            "--podName": "SPARK_EXECUTOR_POD_NAME",
        }
        path = f"{variables['SPARK_CONF_DIR']}:{home}/jars/*"
        main = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
        words = (word for option, name in options_of.items() for word in (option, variables[name]))
        return [java(), *options, f"-Xms{size}", f"-Xmx{size}", "-cp", path, main, *words]

    def news(self) -> dict[str, Any] | None:
        """Its status, if that has changed since it was asked for."""
        phase, state = self._state()
        if phase == self._told:
            return None
        self._told = phase
        if phase in ENDED:
            self._end()
        container = {"name": self._container["name"], "image": self._container["image"], "state": state}
        ready = phase == "Running"
        counted = {"ready": ready, "restartCount": 0, "imageID": IMAGE}
        return {
            "phase": phase,
            "podIP": ADDRESS,
            "hostIP": ADDRESS,
            "startTime": self._began,
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [{**container, **counted}],
        }

    def _end(self) -> None:
        """A container ends with its first process; a driver's Python may be left."""
        assert self._server is not None
        with suppress(ProcessLookupError):
            os.killpg(self._server.process.pid, signal.SIGKILL)

    def _state(self) -> tuple[str, dict[str, Any]]:
        if self._server is None:
            return "Pending", {"waiting": {"reason": "ErrImagePull", "message": "there is no such image"}}
        code = self._server.process.poll()
        if code is None:
            return "Running", {"running": {"startedAt": self._began}}
        # As in a shell: 137 means a killed process.
        shown = 128 - code if code < 0 else code
        ended = {"exitCode": shown, "startedAt": self._began, "finishedAt": now()}
        phase, reason = ("Succeeded", "Completed") if code == 0 else ("Failed", "Error")
        return phase, {"terminated": {**ended, "reason": reason}}


def can_be_mounted(spec: dict[str, Any], config_maps: list[dict[str, Any]]) -> bool:
    """Spark makes a driver's pod before its config map: a kubelet waits for what is to be mounted."""
    maps = {one["metadata"]["name"] for one in config_maps}
    named = {volume["configMap"]["name"] for volume in spec["spec"].get("volumes", []) if "configMap" in volume}
    return named <= maps


def mounted(
    spec: dict[str, Any], container: dict[str, Any], folder: Path, config_maps: list[dict[str, Any]]
) -> dict[str, str]:
    """A folder for each volume; where the spec mounts it -> where it is."""
    maps = {one["metadata"]["name"]: one.get("data", {}) for one in config_maps}
    volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
    found = {}
    for mount in container.get("volumeMounts", []):
        place = folder / mount["name"]
        place.mkdir(exist_ok=True)
        named = volumes.get(mount["name"], {}).get("configMap", {}).get("name")
        for name, text in maps.get(named, {}).items():
            (place / name).write_text(text)
        found[str(mount["mountPath"])] = str(place)
    return found


def moved(text: str, paths: dict[str, str]) -> str:
    """With the folders of this machine in place of those of the pod."""
    for inside, outside in sorted(paths.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(inside, outside)
    return text


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
