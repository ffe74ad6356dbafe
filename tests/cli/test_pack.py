"""The archive for executors' Python: what it holds, and that it runs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli import pack
from millstream.cli.main import main


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without the largest package, which takes seconds to pack."""
    folder = tmp_path_factory.mktemp("packed")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pack, "SPARKS", (*pack.SPARKS, "pyarrow"))
        done = CliRunner().invoke(main, ["pack", "millstream", "-o", str(folder / "env.tar.gz")])
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"{folder}/env.tar.gz: ")
    with tarfile.open(folder / "env.tar.gz") as archive:
        archive.extractall(folder / "environment", filter="data")
    return folder / "environment"


def test_it_holds_millstream_and_what_it_needs(unpacked: Path) -> None:
    found = {path.name for path in (unpacked / "packages").iterdir()}
    assert {"millstream", "sqlglot", "click", "rich"} <= found
    assert not {"pyspark", "py4j", "pytest", "mypy"} & found
    assert any(name.startswith("millstream-") and name.endswith(".dist-info") for name in found)


def test_its_python_finds_them(unpacked: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    environment = {"PATH": "/usr/bin:/bin", "MILLSTREAM_PYTHON": str(bare / "bin" / "python")}
    ask = "import millstream, sqlglot; print(millstream.__file__); print(sqlglot.__file__)"
    done = subprocess.run([unpacked / "bin" / "python", "-c", ask], env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    assert all(line.startswith(str(unpacked / "packages")) for line in done.stdout.splitlines())
    assert len(done.stdout.splitlines()) == 2


def test_a_package_that_is_not_installed() -> None:
    done = CliRunner().invoke(main, ["pack", "no-such-package"])
    assert done.exit_code == 1
    assert "MS-CLI-006: the package no-such-package is not installed here." in done.output
