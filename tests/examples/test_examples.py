"""Every example tells its story: run as a file, it prints what its first lines say, and its job can be run live."""

from __future__ import annotations

import ast
import re
import runpy
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.api.command import Command
from millstream.cli.jobfile import execute, the_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(FOLDER.glob("*.py"))
QUICK = ("balances", "matches", "page_views")
"""Those that the quick tests run, too."""


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=() if file.stem in QUICK else pytest.mark.slow, id=file.stem) for file in FILES],
)
def test_a_story_is_true(
    file: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file), run_name="__main__")
    assert capsys.readouterr().out == told(file)
    assert list(tmp_path.iterdir()) == [], "a story touches nothing"


def told(file: Path) -> str:
    """What a file says that it prints."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    block = re.search(rf"^    \$ python examples/{file.name}\n((?:    .*\n?)+)", text, re.MULTILINE)
    assert block is not None, "no story"
    return textwrap.dedent(block.group(1)).rstrip("\n") + "\n"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_has_a_job_to_run(file: Path) -> None:
    command = Command(explain=True)
    execute(file, command)
    job = the_job(file, command)
    assert job.name == file.stem
    assert job.explain().startswith(f"job {file.stem}: ")


def test_the_list_names_them_all() -> None:
    listed = re.findall(r"^- \[(\w+\.py)\]\(\1\): ", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == [file.name for file in FILES]
