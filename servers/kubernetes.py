"""Kubernetes' API as a server in memory, and a kubelet that starts pods as processes of this machine.

Pods' specs are real, and so are their loss and replacement. There are no images: one name is known, and stands for the
installed Spark. There is no network but loopback, and no volumes but empty folders and config maps.

`python -m servers.kubernetes` starts one and prints its master.
"""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from millstream.spark.fetch import Pin, ivy, java, pinned
from servers.pod import Pod, can_be_mounted
from servers.process import Server, free_port, in_own_folder, serve_until_stopped

JARS = tuple(
    Pin(group, name, version, checksum)
    for group, name, version, checksum in (
        (
            "io.fabric8",
            "kubernetes-server-mock",
            "7.6.1",
            "2c76a300c19e2d359a1b465d3cbbc90428470a74822282f05830185faa346fb2",
        ),
        ("io.fabric8", "mockwebserver", "7.6.1", "e160c151c605f1be87c60c3d93711e2a4621ce0491ce02a437ccf57fa83d266d"),
        ("io.vertx", "vertx-web", "4.5.26", "2f01d04fd07a7b08d63f3680ff9d05c4f7b4880f1bae10a8d2f30c6c2f407687"),
        (
            "io.vertx",
            "vertx-bridge-common",
            "4.5.26",
            "175fc6af72dbecae11019f562e40892094d4d3c1172c40315f855593cb562067",
        ),
    )
)
MAIN = Path(__file__).with_name("Kubernetes.java")
QUICK = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
OFTEN = 0.1
"""Seconds between two looks of the kubelet at its pods."""


class Api:
    """The API server, as the kubelet and tests speak to it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return dict(json.load(answer))

    def answers(self) -> bool:
        try:
            self.ask("GET", "/version")
        except OSError:
            return False
        return True

    def listed(self, plural: str) -> list[dict[str, Any]]:
        """Of all namespaces."""
        return list(self.ask("GET", f"/api/v1/{plural}")["items"])

    def report(self, pod: dict[str, Any], status: dict[str, Any]) -> None:
        # Not merged: the server would put lists together.
        change = [{"op": "replace", "path": "/status", "value": status}]
        self.ask("PATCH", f"{path_of(pod)}/status", change, "application/json-patch+json")

    def delete(self, one: dict[str, Any], plural: str = "pods") -> None:
        self.ask("DELETE", path_of(one, plural))


def path_of(one: dict[str, Any], plural: str = "pods") -> str:
    about = one["metadata"]
    return f"/api/v1/namespaces/{about['namespace']}/{plural}/{about['name']}"


class Kubernetes:
    """A cluster of one machine: jobs go to `master`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port = free_port()
        self.api = Api(port)
        self.master = f"k8s://{self.api.url}"
        path = ":".join([f"{ivy().parent}/*", *map(str, pinned(JARS))])
        self._server = Server([java(), *QUICK, "-cp", path, str(MAIN), str(port)], folder)
        self._server.wait_until(self.api.answers)
        self._pods: dict[str, Pod] = {}
        self._stopped = threading.Event()
        self.failure: Exception | None = None
        self._kubelet = threading.Thread(target=self._serve)
        self._kubelet.start()

    def pods(self, role: str = "executor") -> list[Pod]:
        """Those that run."""
        return [pod for pod in self.all_pods(role) if pod.runs]

    def all_pods(self, role: str) -> list[Pod]:
        """Those that have ended, or cannot start, as well."""
        return [pod for pod in list(self._pods.values()) if pod.role == role]

    def delete(self, pod: Pod) -> None:
        """As `kubectl delete pod` does, or a node that is drained."""
        self.api.delete(pod.spec)

    def _serve(self) -> None:
        while not self._stopped.wait(OFTEN):
            try:
                self._look()
            except Exception as error:  # tests ask for it
                self.failure = error
                return

    def _look(self) -> None:
        wanted = {pod["metadata"]["uid"]: pod for pod in self.api.listed("pods")}
        for uid in self._pods.keys() - wanted.keys():
            self._pods.pop(uid).stop()
            self._collect(uid)
        for uid, spec in wanted.items():
            if uid not in self._pods:
                self._start(uid, spec)
            status = self._pods[uid].news() if uid in self._pods else None
            if status is not None:
                self._report(spec, status)

    def _start(self, uid: str, spec: dict[str, Any]) -> None:
        config_maps = self.api.listed("configmaps")
        if can_be_mounted(spec, config_maps):
            self._pods[uid] = Pod(spec, self._folder / uid, config_maps, self._hosts())

    def _collect(self, uid: str) -> None:
        """What belongs to a pod goes with it."""
        for plural in ("pods", "services", "configmaps"):
            for one in self.api.listed(plural):
                if any(owner["uid"] == uid for owner in one["metadata"].get("ownerReferences", [])):
                    with unless_deleted():
                        self.api.delete(one, plural)

    def _report(self, spec: dict[str, Any], status: dict[str, Any]) -> None:
        with unless_deleted():
            self.api.report(spec, status)

    def _hosts(self) -> Path:
        """What DNS does in a real cluster: says where services are. All of them are here."""
        services = [service["metadata"] for service in self.api.listed("services")]
        names = [
            "localhost",
            socket.gethostname(),
            *(f"{about['name']}.{about['namespace']}.svc" for about in services),
        ]
        file = self._folder / "hosts"
        file.write_text("".join(f"127.0.0.1 {name}\n" for name in names))
        return file

    def stop(self) -> None:
        self._stopped.set()
        self._kubelet.join()
        for pod in self._pods.values():
            pod.stop()
        self._server.stop()


def driver_in_a_pod(master: str, shared: Path) -> dict[str, str]:
    """What a job needs to be told if its driver is to run in a pod here."""
    (shared / "uploads").mkdir(exist_ok=True)
    return {
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        "spark.kubernetes.file.upload.path": f"file://{shared / 'uploads'}",
        # Pods would look for kubernetes.default.svc, with TLS.
        "spark.kubernetes.driver.master": master.removeprefix("k8s://"),
    }


@contextmanager
def unless_deleted() -> Iterator[None]:
    try:
        yield
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise


@contextmanager
def running() -> Iterator[Kubernetes]:
    """In its own folder, deleted afterwards."""
    with in_own_folder("kubernetes", Kubernetes) as cluster:
        yield cluster
    if cluster.failure is not None:
        raise cluster.failure


if __name__ == "__main__":
    serve_until_stopped(running(), lambda cluster: cluster.master)
