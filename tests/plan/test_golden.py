"""Plans and error texts, compared with golden files. `./dev golden` rewrites them; review them as a diff."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import millstream as ms
from tests.plan import plans, wrong
from tests.plan.stage_text import stage_text

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "millstream"
GOLDEN = HERE / "golden"
ERRORS = GOLDEN / "errors.txt"
CHECKED = ("api", "plan", "planner", "connectors/journal", "connectors/files", "connectors/kafka")
WHILE_IT_RUNS = ("errors.py", "read.py", "topics.py")
"""Files of connectors whose errors come when a job runs, except those of options."""
CODE = re.compile(r"MS-[A-Z]+-\d{3}")
OF_OPTIONS = re.compile(r'OptionChecks\("(MS-[A-Z]+-\d{3})"')
PLACE = re.compile(r"\S*wrong/\w+\.py:\d+")


def compare(file: Path, text: str, golden: bool) -> None:
    if golden:
        file.write_text(text)
    assert text == file.read_text(), f"{file.name} differs; if that is right, run ./dev golden"


@pytest.mark.parametrize("name", plans.ALL)
def test_plan(name: str, golden: bool) -> None:
    job = plans.ALL[name]()
    compare(GOLDEN / f"{name}.txt", f"{job.explain()}\n\n{stage_text(job.plan())}\n", golden)


def test_every_golden_plan_has_a_job() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == {*plans.ALL, "errors"}


def refused(name: str) -> ms.MillstreamError:
    with pytest.raises(ms.MillstreamError) as caught:
        wrong.ALL[name]()
    return caught.value


def test_errors(golden: bool) -> None:
    texts = [f"{name.replace('_', ' ')}\n{PLACE.sub('wrong.py:…', refused(name).text())}\n" for name in wrong.ALL]
    compare(ERRORS, "\n".join(texts), golden)


@pytest.mark.parametrize("name", wrong.ALL)
def test_errors_name_the_line(name: str) -> None:
    """The user's own line: one within the function that is wrong, whose lines in a file do not matter."""
    at = refused(name).at
    assert at is not None
    file = Path(at.file)
    assert file.parent.name == "wrong"
    lines = function_lines(file, name)
    line = file.read_text().splitlines()[at.line - 1]
    assert line in lines
    assert line != lines[0], "the definition itself"


def function_lines(file: Path, name: str) -> list[str]:
    text = file.read_text()
    start = text.index(f"def {name}(")
    return text[start : text.find("\n\n\n", start)].splitlines()


def test_every_code_has_a_golden_text() -> None:
    raised = {
        code
        for folder in CHECKED
        for file in (SOURCE / folder).rglob("*.py")
        for code in (OF_OPTIONS if file.name in WHILE_IT_RUNS else CODE).findall(file.read_text())
    }
    assert sorted(raised - set(CODE.findall(ERRORS.read_text()))) == []
