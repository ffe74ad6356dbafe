"""What Kubernetes expects where a job is started: an image, and permission to create pods from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from millstream.errors import MillstreamError
from millstream.plan.errors import here
from millstream.spark.answering import refuse_silent

SCHEME = "k8s://"
IMAGE = "spark.kubernetes.container.image"
IMAGES = {
    "executors": "spark.kubernetes.executor.container.image",
    "the driver": "spark.kubernetes.driver.container.image",
}
CREDENTIALS = "spark.kubernetes.authenticate."
VARIABLES = ("KUBERNETES_AUTH_TOKEN", "KUBERNETES_CERTS_CLIENT_FILE", "KUBERNETES_CERTS_CLIENT_DATA")
OF_A_POD = "/var/run/secrets/kubernetes.io/serviceaccount/token"
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
PORTS = {"http": 80, "https": 443}
ACCOUNT = f"{CREDENTIALS}driver.serviceAccountName"
UPLOAD = "spark.kubernetes.file.upload.path"


def check(master: str, settings: Mapping[str, str], driver_too: bool = False) -> None:
    """Spark would say so late, and in a Java trace. `driver_too`: the driver is a pod, as well."""
    refuse_no_image(settings, driver_too)
    refuse_nobody(master, settings)
    if driver_too:
        refuse_helpless_driver(settings)
    if not any(os.environ.get(name) for name in PROXIES):
        refuse_silent("the API server of Kubernetes", [address(master)])


def refuse_no_image(settings: Mapping[str, str], driver_too: bool) -> None:
    for whose, name in list(IMAGES.items())[: 2 if driver_too else 1]:
        if not settings.get(name, settings.get(IMAGE)):
            raise MillstreamError(
                "MS-CLUSTER-011",
                f"the job is to run on Kubernetes, and no image is named for the pods of {whose}.",
                at=here(),
                hint=f"{IMAGE}=NAME, as --conf or in conf={{…}}: an image with Spark 4.3 and, for Python steps, "
                "Python and its packages",
            )


def refuse_nobody(master: str, settings: Mapping[str, str]) -> None:
    """Without credentials no pods can be made. Without TLS there is a proxy that knows who asks."""
    if url(master).scheme == "http" or any(name.startswith(CREDENTIALS) for name in settings):
        return
    files = os.environ.get("KUBECONFIG", str(Path.home() / ".kube" / "config")).split(os.pathsep)
    if any(os.environ.get(name) for name in VARIABLES) or any(Path(file).is_file() for file in (*files, OF_A_POD)):
        return
    raise MillstreamError(
        "MS-CLUSTER-012",
        "the job is to run on Kubernetes, and there is nothing here that says to its API server who asks.",
        at=here(),
        found="neither a file of kubectl's (" + ", ".join(files) + ") nor the token of a pod's service account",
        hint=f"set KUBECONFIG, or {CREDENTIALS}oauthTokenFile=FILE of a service account that may make pods",
    )


def refuse_helpless_driver(settings: Mapping[str, str]) -> None:
    if not settings.get(ACCOUNT) and not settings.get("spark.kubernetes.driver.podTemplateFile"):
        raise MillstreamError(
            "MS-CLUSTER-012",
            "the driver is to run in a pod of Kubernetes, and no service account is named for it.",
            at=here(),
            hint=f"--conf {ACCOUNT}=NAME: one that may make, watch and delete pods, services and config maps; the "
            'namespace\'s own, "default", most often may not',
        )
    if not settings.get(UPLOAD):
        raise MillstreamError(
            "MS-CLUSTER-013",
            "the driver is to run in a pod of Kubernetes, and no storage is named from which it gets the job's files.",
            at=here(),
            hint=f"--conf {UPLOAD}=s3a://BUCKET/FOLDER or hdfs://…: Spark puts them there",
        )


def address(master: str) -> tuple[str, int]:
    found = url(master)
    return found.hostname or "", found.port or PORTS.get(found.scheme, 443)


def url(master: str) -> SplitResult:
    """As Spark reads it: https by default."""
    plain = master.removeprefix(SCHEME)
    return urlsplit(plain if "://" in plain else f"https://{plain}")
