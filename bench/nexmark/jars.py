"""The engines' own Java sources of events, compiled when they are needed."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import zipfile
from pathlib import Path

SOURCES = Path(__file__).parent / "java"
FACTORIES = "META-INF/services/org.apache.flink.table.factories.Factory"


def spark_jar(folder: Path, spark_jars: Path) -> Path:
    return jar(folder, "spark", spark_jars, {})


def flink_jar(folder: Path, flink_jars: Path) -> Path:
    names = ("EventsFactory", "SideFactory")
    return jar(folder, "flink", flink_jars, {FACTORIES: "".join(f"nexmark.flink.{name}\n" for name in names)})


def jar(folder: Path, engine: str, against: Path, services: dict[str, str]) -> Path:
    sources = [*sorted((SOURCES / "nexmark").glob("*.java")), *sorted((SOURCES / "nexmark" / engine).glob("*.java"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    made = folder / f"nexmark-{engine}-{digest}.jar"
    if made.exists():
        return made
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as out:
        command = ["javac", "--release", "17", "-nowarn", "-proc:none", "-cp", str(against / "*"), "-d", out]
        subprocess.run([*command, *map(str, sources)], check=True)
        with zipfile.ZipFile(made, "w") as archive:
            for path in sorted(path for path in Path(out).rglob("*") if path.is_file()):
                archive.write(path, path.relative_to(out))
            for name, text in services.items():
                archive.writestr(name, text)
    return made
