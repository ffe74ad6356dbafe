"""Formats the Java sources, or checks them: `python -m kernels.style [--check]`. What has not changed is not read."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from kernels.build_hook import class_path, sources
from millstream.spark.fetch import Pin, java, pinned

ROOT = Path(__file__).parents[2]
FORMAT = Path(__file__).with_name("Format.java")
FOLDERS = (ROOT / "kernels", ROOT / "bench" / "nexmark" / "java")

FORMATTER = (
    Pin(
        "com.palantir.javaformat",
        "palantir-java-format",
        "2.66.0",
        "bb9a745b6637776ab892d7677c1119c12d8904f26a1b2fc20a40ca9317a349f2",
    ),
    Pin(
        "com.palantir.javaformat",
        "palantir-java-format-spi",
        "2.66.0",
        "602d126055d4ad35763bc425d2c495fea9e46c4cd9ff485fbbb71a32cb583be4",
    ),
    Pin("com.google.guava", "guava", "33.4.8-jre", "f3d7f57f67fd622f4d468dfdd692b3a5e3909246c28017ac3263405f0fe617ed"),
    Pin(
        "com.google.guava",
        "failureaccess",
        "1.0.3",
        "cbfc3906b19b8f55dd7cfd6dfe0aa4532e834250d7f080bd8d211a3e246b59cb",
    ),
    Pin(
        "org.functionaljava",
        "functionaljava",
        "4.8",
        "13793ca76d765993ca6cfe919f2c4f5f57362853cf281177c5f8240532aaaee8",
    ),
)

COMPILER_PARTS = ("api", "code", "file", "main", "parser", "processing", "tree", "util")
"""What the formatter uses of the compiler, which does not show it."""

# Of Spark's jars, which name other jars and classes that are not there: nothing of ours to mend.
LINT = ("-Xlint:all,-path,-classfile", "-Werror")


class Seen:
    """Digests of what was found in order."""

    def __init__(self, name: str) -> None:
        self._file = Path(sys.prefix) / name
        self._digests = set(self._file.read_text().split()) if self._file.exists() else set()

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    def keep(self, digests: Iterable[str]) -> None:
        self._file.write_text("\n".join(sorted(digests)))


def digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def java_files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in folder.rglob("*.java"))


def formatted(check: bool) -> list[str]:
    """The files that were not in order."""
    seen = Seen("java-formatted")
    tool = digest(FORMAT, Path(__file__))
    files = {path: tool[:12] + digest(path) for path in java_files()}
    unknown = [path for path, found in files.items() if found not in seen]
    wrong = run_formatter(unknown, check) if unknown else []
    if not wrong:
        seen.keep(files.values())
    return wrong


def run_formatter(files: list[Path], check: bool) -> list[str]:
    exports = [f"--add-exports=jdk.compiler/com.sun.tools.javac.{part}=ALL-UNNAMED" for part in COMPILER_PARTS]
    jars = ":".join(str(jar) for jar in pinned(FORMATTER))
    command = [java(), *exports, "-cp", jars, str(FORMAT), *(["--check"] if check else []), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.stderr:
        raise SystemExit(done.stderr)
    return [str(Path(line).relative_to(ROOT)) for line in done.stdout.splitlines()]


def linted() -> None:
    """Compiles the kernels with all of the compiler's warnings, which are errors."""
    javac = shutil.which("javac")
    assert javac is not None
    seen = Seen("java-linted")
    found = digest(*sources(), Path(__file__))
    if found in seen:
        return
    with tempfile.TemporaryDirectory() as out:
        command = [javac, "--release", "17", *LINT, "-proc:none", "-cp", class_path(), "-d", out]
        done = subprocess.run([*command, *map(str, sources())], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    seen.keep([found])


def main() -> None:
    check = "--check" in sys.argv[1:]
    wrong = formatted(check)
    for file in wrong:
        print(f"{'would format' if check else 'formatted'} {file}")
    if check:
        if wrong:
            raise SystemExit("Java files are not formatted: run ./dev format")
        linted()
        print(f"Java: {len(java_files())} files formatted, no warnings")


if __name__ == "__main__":
    main()
