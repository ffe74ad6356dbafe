"""A connector in a separate package: the one that docs/connectors.md writes, built, installed, used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import millstream as ms
from millstream.connectors import connector, names

PAGE = (Path(__file__).parents[2] / "docs" / "connectors.md").read_text()
JOB = """
import sqlite3
import millstream as ms
from millstream import sqlite

shop = sqlite3.connect("shop.db")
job = ms.Job("spending", parallelism=1)
orders = job.stream(sqlite.source("shop.db", "orders"))
orders.group_by("customer").agg(orders="count(*)", total="sum(price)").to(sqlite.sink("shop.db", "spending"))
orders.to(sqlite.sink("shop.db", "copy"), name="copy")
"""
SHOP = """
import sqlite3
shop = sqlite3.connect("shop.db")
shop.execute("CREATE TABLE orders (customer TEXT, price REAL)")
shop.execute("CREATE TABLE copy (customer TEXT, price REAL)")
shop.execute("CREATE TABLE spending (customer TEXT PRIMARY KEY, orders INTEGER, total REAL)")
"""
ROWS = """
shop.executemany("INSERT INTO orders VALUES (?, ?)", [("ann", 3.5), ("bob", None), ("ann", 4.0)])
shop.commit()
"""
SHOWN = """
print(*shop.execute("SELECT * FROM spending ORDER BY customer"), *shop.execute("SELECT count(*) FROM copy"))
"""


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's code, up to where it is tried, as an unpacked wheel, as pip installs it."""
    from hatchling.builders.wheel import WheelBuilder

    project = tmp_path_factory.mktemp("millstream-sqlite")
    (project / "millstream_sqlite.py").write_text("\n\n".join(blocks("python", PAGE.split("## Try it")[0])))
    (project / "pyproject.toml").write_text(blocks("toml", PAGE)[0])
    wheel = next(iter(WheelBuilder(str(project)).build(directory=str(project / "dist"))))
    installed = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    assert (installed / "millstream_sqlite-0.1.0.dist-info" / "entry_points.txt").exists()
    return installed


def python(script: str, package: Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(package), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **more},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_job_from_end_to_end(package: Path, tmp_path: Path) -> None:
    script = SHOP + ROWS + JOB + "job.run(ms.available_now())" + SHOWN
    script += ROWS + "job.run(ms.available_now())" + SHOWN + "job.run(ms.available_now())" + SHOWN
    done = python(script, package, tmp_path)
    assert done.returncode == 0, done.stderr
    first = "('ann', 2, 7.5) ('bob', 1, None) (3,)"
    second = "('ann', 4, 15.0) ('bob', 2, None) (6,)"
    assert done.stdout.splitlines() == [first, second, second]


@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    [
        "carry.during@0",
        *(
            pytest.param(point, marks=pytest.mark.long)
            for point in ("carry.before@0", "carry.after@0", "sink.publish.before@0")
        ),
    ],
)
def test_a_job_that_is_killed(package: Path, tmp_path: Path, point: str) -> None:
    """The protocol of the page is exactly once: what is carried again is not duplicated."""
    killed = python(
        SHOP + ROWS + JOB + "job.run(ms.available_now())",
        package,
        tmp_path,
        MILLSTREAM_FAULT=point,
        MILLSTREAM_VERBOSE="1",
    )
    assert f"killed at {point}" in killed.stderr
    assert killed.returncode != 0
    done = python(JOB + "job.run(ms.available_now())" + SHOWN, package, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "('ann', 2, 7.5) ('bob', 1, None) (3,)"


@pytest.mark.slow
def test_in_real_time(package: Path, tmp_path: Path) -> None:
    script = SHOP + ROWS + JOB + "run = job.start(ms.real_time('500 ms'))" + ROWS
    script += """
import time
until = time.monotonic() + 60
while shop.execute("SELECT count(*) FROM copy").fetchall() != [(6,)] and time.monotonic() < until:
    run.poll(0.1)
run.stop()
"""
    done = python(script + SHOWN, package, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "('ann', 4, 15.0) ('bob', 2, None) (6,)"


def test_wrong_options_name_the_users_line(package: Path, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text('from millstream import sqlite\n\nsqlite.source(":memory:", "orders")\n')
    done = python("import runpy; runpy.run_path('job.py')", package, tmp_path)
    assert "MS-SQLITE-001" in done.stderr
    assert "at:    job.py:3" in done.stderr


def test_connectors_that_are_found() -> None:
    assert {"delta", "files", "journal", "kafka", "postgres"} <= set(names())
    assert connector("kafka") is ms.kafka  # type: ignore[attr-defined]


def refused(name: str) -> ms.MillstreamError:
    with pytest.raises(ms.MillstreamError) as error:
        connector(name)
    return error.value


def test_a_connector_that_is_not_installed() -> None:
    error = refused("kafak")
    assert (error.code, error.hint) == ("MS-SETUP-007", "did you mean kafka?")
    with pytest.raises(AttributeError, match="kafak"):
        ms.kafak  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="kafak"):
        from millstream import kafak  # type: ignore[attr-defined]  # noqa: F401


def metadata(folder: Path, package: str, entry: str) -> None:
    about = folder / f"{package}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[millstream.connectors]\n{entry}\n")


def test_two_packages_with_one_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata(tmp_path, "one", "redis = one")
    metadata(tmp_path, "two", "redis = two")
    monkeypatch.syspath_prepend(str(tmp_path))
    error = refused("redis")
    assert (error.code, error.found) == ("MS-SETUP-007", "one, two")


@pytest.mark.parametrize("text", ["import nothing_of_this_name", "x = 1"])
def test_a_package_that_is_no_connector(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata(tmp_path, "odd", f"odd = odd_{len(text)}")
    (tmp_path / f"odd_{len(text)}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert refused("odd").code == "MS-SETUP-008"
