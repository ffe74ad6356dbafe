"""Compiles the Java kernels against the jars of the installed pyspark and puts the jar into the package."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path(__file__).parent / "millstream"
# A fixed time in the archive: the same sources give the same jar.
EPOCH = (1980, 1, 1, 0, 0, 0)


class KernelsBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        jar = Path(self.root) / "src" / "millstream" / "jars" / "millstream-kernels.jar"
        compile_kernels(jar)
        build_data["pure_python"] = True


def compile_kernels(jar: Path) -> None:
    javac = shutil.which("javac")
    if javac is None:
        raise SystemExit(
            "millstream: no Java compiler found. Install a JDK, version 17 or newer, and put `javac` on the PATH."
        )
    with tempfile.TemporaryDirectory() as out:
        sources = sorted(str(path) for path in SOURCES.rglob("*.java"))
        command = [javac, "--release", "17", "-nowarn", "-proc:none", "-cp", spark_jars(), "-d", out, *sources]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"millstream: the Java kernels do not compile.\n{done.stderr}")
        pack(Path(out), jar)


def spark_jars() -> str:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SystemExit("millstream: pyspark is not installed, and the Java kernels are compiled against its jars.")
    return str(Path(spec.origin).parent / "jars" / "*")


def pack(classes: Path, jar: Path) -> None:
    jar.parent.mkdir(parents=True, exist_ok=True)
    part = jar.with_suffix(".part")
    services = Path(__file__).parent / "META-INF"
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for root, base in ((classes, classes), (services, services.parent)):
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                name = zipfile.ZipInfo(path.relative_to(base).as_posix(), EPOCH)
                name.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(name, path.read_bytes())
    part.replace(jar)
