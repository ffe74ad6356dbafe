"""Compiles the Java kernels against the jars of the installed pyspark and puts the jar into the package."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path(__file__).parent / "millstream"
PACKAGE = Path(__file__).parents[1] / "src" / "millstream"
FETCH = PACKAGE / "spark" / "fetch.py"
CLIENTS = {"kafka": "kafka-clients", "rabbitmq": "stream-client"}
"""Rooms of kernels that need a client which pyspark does not bring: each is its own jar, and its connector's."""
# A fixed time in the archive: the same sources give the same jar.
EPOCH = (1980, 1, 1, 0, 0, 0)


class KernelsBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        compile_kernels(Path(self.root) / "src" / "millstream" / "jars")
        build_data["pure_python"] = True


def compile_kernels(jars: Path) -> None:
    javac = shutil.which("javac")
    if javac is None:
        raise SystemExit(
            "millstream: no Java compiler found. Install a JDK, version 17 or newer, and put `javac` on the PATH."
        )
    rooms = {name: set((SOURCES / name).rglob("*.java")) for name in CLIENTS}
    ours = set(sources()).difference(*rooms.values())
    services = Path(__file__).parent / "META-INF"
    with tempfile.TemporaryDirectory() as out:
        compile_java(javac, ours, [spark_jars()], Path(out))
        pack([(Path(out), Path(out)), (services, services.parent)], jars / "millstream-kernels.jar")
        for name, room in rooms.items():
            with tempfile.TemporaryDirectory() as room_out:
                compile_java(javac, room, [out, client(name), spark_jars()], Path(room_out))
                pack([(Path(room_out), Path(room_out))], jars / f"millstream-{name}.jar")


def sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def class_path() -> str:
    """What all of the kernels are compiled against."""
    return os.pathsep.join([*map(client, CLIENTS), spark_jars()])


def compile_java(javac: str, sources: set[Path], class_path: list[str], out: Path) -> None:
    files = sorted(str(path) for path in sources)
    options = ["--release", "17", "-nowarn", "-proc:none", "-cp", os.pathsep.join(class_path), "-d", str(out)]
    done = subprocess.run([javac, *options, *files], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"millstream: the Java kernels do not compile.\n{done.stderr}")


def client(connector: str) -> str:
    """Fetched as a running job would fetch it; needed to compile, and not packed."""
    spec = importlib.util.spec_from_file_location("millstream_fetch", FETCH)
    assert spec is not None
    assert spec.loader is not None
    fetch = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = fetch
    spec.loader.exec_module(fetch)
    try:
        pins = fetch.listed(PACKAGE / "connectors" / connector / "jars.json")
        return str(fetch.pinned([pin for pin in pins if pin.name == CLIENTS[connector]])[0])
    except fetch.FetchFailed as error:
        raise SystemExit(
            f"millstream: the client of {connector}, which kernels need, cannot be fetched: {error}"
        ) from error


def spark_jars() -> str:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SystemExit("millstream: pyspark is not installed, and the Java kernels are compiled against its jars.")
    return str(Path(spec.origin).parent / "jars" / "*")


def pack(parts: list[tuple[Path, Path]], jar: Path) -> None:
    """Files of folders, each under its name within a base."""
    jar.parent.mkdir(parents=True, exist_ok=True)
    part = jar.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for root, base in parts:
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                name = zipfile.ZipInfo(path.relative_to(base).as_posix(), EPOCH)
                name.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(name, path.read_bytes())
    part.replace(jar)
