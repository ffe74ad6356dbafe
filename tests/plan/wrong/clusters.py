"""Places to run a job that are refused, before anything is started."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import millstream as ms
from millstream import journal
from tests.plan.wrong.declare import orders, wrong

PODS = {"spark.kubernetes.container.image": "spark:4.3.0"}
NOBODY = "k8s://http://127.0.0.1:1"
"""Where nothing listens."""
SITE = """<configuration>
  <property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property>
  <property><name>yarn.resourcemanager.address</name><value>${yarn.resourcemanager.hostname}:1</value></property>
</configuration>"""
KNOWN = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "KUBECONFIG", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")


@contextmanager
def told(**variables: str) -> Iterator[None]:
    """A machine with these settings of clusters."""
    others = {name: value for name, value in os.environ.items() if name not in KNOWN}
    with patch.dict(os.environ, {**others, "HOME": "/home/ann", **variables}, clear=True):
        yield


@wrong
def a_master_that_is_none(job: ms.Job) -> None:
    ms.cluster("host:7077")


@wrong
def a_master_among_the_settings(job: ms.Job) -> None:
    ms.cluster(conf={"spark.master": "spark://host:7077"})


@wrong
def a_driver_elsewhere_among_the_settings(job: ms.Job) -> None:
    ms.cluster("yarn", conf={"spark.submit.deployMode": "cluster"})


@wrong
def a_spark_connect_server(job: ms.Job) -> None:
    ms.cluster("sc://host:15002")


@wrong
def yarn_without_settings_of_hadoop(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    with told():
        job.run(on=ms.cluster("yarn", shared_disk=True))


@wrong
def yarn_with_settings_that_are_not_there(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    with told(HADOOP_CONF_DIR="/nowhere/conf"):
        job.run(on=ms.cluster("yarn", shared_disk=True))


@wrong
def yarn_with_settings_that_name_no_resource_manager(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    with told(YARN_CONF_DIR="/"):
        job.run(on=ms.cluster("yarn", shared_disk=True))


@wrong
def yarn_that_does_not_answer(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    with tempfile.TemporaryDirectory() as folder, told(HADOOP_CONF_DIR=folder):
        Path(folder, "yarn-site.xml").write_text(SITE)
        job.run(on=ms.cluster("yarn", shared_disk=True))


@wrong
def kubernetes_without_an_image(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    with told():
        job.run(on=ms.cluster("k8s://https://host:443", shared_disk=True))


@wrong
def kubernetes_without_credentials(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    with told():
        job.run(on=ms.cluster("k8s://https://host:443", conf=PODS, shared_disk=True))


@wrong
def kubernetes_that_does_not_answer(job: ms.Job) -> None:
    orders(job).to(journal.sink("out"))
    with told():
        job.run(on=ms.cluster(NOBODY, conf=PODS, shared_disk=True))
