"""Compiles and runs the kernels' own tests, which need no Spark query: `python -m kernels.test`."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from kernels.build_hook import class_path
from kernels.style.__main__ import LINT
from millstream.spark.fetch import Pin, java, pinned

SOURCES = Path(__file__).parent
JARS = SOURCES.parents[1] / "src" / "millstream" / "jars"

JUNIT = Pin(
    "org.junit.platform",
    "junit-platform-console-standalone",
    "1.11.4",
    "b016ef6b1c3454d6d7c2c88ce081dabf289699686af6622d6e4e2e1b54b4a2fc",
)

OPENS = tuple(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.nio", "sun.nio.ch"))
"""What Spark's rows use of the JDK."""


def compiled(against: str, out: str) -> None:
    command = ["javac", "--release", "17", *LINT, "-proc:none", "-cp", against, "-d", out]
    files = sorted(map(str, SOURCES.rglob("*.java")))
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"the Java tests do not compile\n{done.stderr}")


def run(against: str, out: str) -> subprocess.CompletedProcess[str]:
    launcher = "org.junit.platform.console.ConsoleLauncher"
    options = ("--scan-classpath", out, "--details=summary", "--disable-banner", "--fail-if-no-tests")
    command = [
        java(),
        *OPENS,
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        os.pathsep.join([out, against]),
        launcher,
        "execute",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True)


def main() -> None:
    began = time.monotonic()
    ours = os.pathsep.join(map(str, sorted(JARS.glob("*.jar"))))
    against = os.pathsep.join([ours, str(pinned([JUNIT])[0]), class_path()])
    with tempfile.TemporaryDirectory() as out:
        compiled(against, out)
        done = run(against, out)
    seeds = [line for line in done.stdout.splitlines() if line.startswith("seeds of random")]
    print("\n".join(seeds))
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n")
        raise SystemExit("Java: tests failed")
    passed = re.search(r"(\d+) tests successful", done.stdout)
    print(f"Java: {passed[1] if passed else 'no'} tests passed in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
