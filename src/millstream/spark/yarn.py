"""What YARN expects where a job is started: Hadoop's settings, and access to its resource manager."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from millstream.errors import MillstreamError
from millstream.plan.errors import here
from millstream.spark.answering import refuse_silent

FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
SITE = "yarn-site.xml"
MANAGER = "yarn.resourcemanager"
PORT = 8032
VARIABLE = re.compile(r"\$\{([^}]+)\}")
WHERE = "HADOOP_CONF_DIR=/etc/hadoop/conf, for instance: the folder with core-site.xml and yarn-site.xml of the cluster"


def check(settings: Mapping[str, str]) -> None:
    """Without them Spark ends with a Java trace, or waits for a quarter of an hour. `settings`: Spark's."""
    folders = {name: os.environ[name] for name in FOLDERS if os.environ.get(name)}
    if not folders:
        raise lacking("neither HADOOP_CONF_DIR nor YARN_CONF_DIR says where Hadoop's settings are.")
    for name, folder in folders.items():
        if not Path(folder).is_dir():
            raise lacking(f"{name} names a folder that is not there.", folder)
    said = {name: value for folder in folders.values() for name, value in site(Path(folder) / SITE).items()}
    said |= {name.removeprefix("spark.hadoop."): value for name, value in settings.items()}
    if not any(name.startswith(MANAGER) for name in said):
        there = ", ".join(f"{name}={folder}" for name, folder in folders.items())
        raise lacking(f"Hadoop's settings name no resource manager: no {SITE} does.", there)
    refuse_silent("YARN's resource manager", list(addresses(said)))


def lacking(message: str, found: str | None = None) -> MillstreamError:
    return MillstreamError(
        "MS-CLUSTER-010", f"the job is to run on YARN, and {message}", at=here(), found=found, hint=WHERE
    )


def site(file: Path) -> dict[str, str]:
    """The settings in a file of Hadoop's; none if it is not there, or includes what only Hadoop can read."""
    if not file.is_file():
        return {}
    try:
        root = ElementTree.parse(file).getroot()
    except ElementTree.ParseError as error:
        raise lacking(f"{file.name} cannot be read.", f"{file}: {error}") from error
    pairs = ((part.findtext("name"), part.findtext("value")) for part in root.iter("property"))
    return {name.strip(): (value or "").strip() for name, value in pairs if name}


def addresses(said: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Addresses of the resource manager, or of all that take turns; none if only Hadoop knows."""
    ids = said.get(f"{MANAGER}.ha.rm-ids", "").replace(" ", "")
    for end in [f".{one}" for one in ids.split(",")] if ids else [""]:
        host = said.get(f"{MANAGER}.hostname{end}")
        address = said.get(f"{MANAGER}.address{end}") or (f"{host}:{PORT}" if host else "")
        address = VARIABLE.sub(lambda found: said.get(found.group(1), found.group(0)), address)
        name, _, port = address.rpartition(":")
        if name and "$" not in name and port.isdecimal():
            yield name, int(port)
