"""Every example in README and docs is true: each page is followed from its top to its end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]


def page(path: Path) -> object:
    """A page that runs a job starts Spark, which takes its time."""
    marks = [pytest.mark.slow] if re.search(r"\b(run|start)\(", path.read_text()) else []
    marks += [pytest.mark.server] if path.stem in SERVERS else []
    return pytest.param(path, marks=marks, id=path.name)


@contextmanager
def a_postgres() -> Iterator[dict[str, str]]:
    from servers import postgres

    with postgres.running() as server:
        yield {"MILLSTREAM_POSTGRES": server.address()}


@contextmanager
def a_kafka() -> Iterator[dict[str, str]]:
    from servers import kafka

    with kafka.running() as server:
        yield {"MILLSTREAM_KAFKA": server.servers}


SERVERS: dict[str, Callable[[], AbstractContextManager[dict[str, str]]]] = {"kafka": a_kafka, "postgres": a_postgres}
"""Pages that take a server for granted, and what they find in their environment."""


@pytest.mark.parametrize("path", [page(path) for path in PAGES])
def test_what_a_page_says_is_true(path: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with SERVERS.get(path.stem, lambda: nullcontext({}))() as known:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("page.py")), str(path)],
            cwd=work,
            env={**environment(tmp_path), **known},
            capture_output=True,
            text=True,
            timeout=600,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    blocks = re.findall(r"^```(?:python|console)$", path.read_text(), re.MULTILINE)
    assert int(done.stdout.split()[0]) >= len(blocks)


def environment(folder: Path) -> dict[str, str]:
    """A shell that finds this checkout's `millstream`."""
    command = folder / "bin" / "millstream"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom millstream.cli.main import main\nmain()\n")
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MILLSTREAM_")}
    return {**kept, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}


def test_the_commands_of_the_readme_exist() -> None:
    listed = subprocess.run([str(ROOT / "dev")], capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"\./dev (\w+)", README.read_text()))
    assert {"demo", "test"} <= named
    assert named <= set(re.findall(r"^\./dev (\w+)", listed, re.MULTILINE))


def test_the_files_that_the_readme_links_to_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
