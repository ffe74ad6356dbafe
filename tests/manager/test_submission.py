"""What comes with a job, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millstream import journal
from millstream.errors import MillstreamError
from millstream.manager.bundle import files, requirements
from millstream.manager.package import FILE, pack_package
from millstream.manager.policy import policy
from millstream.plan.restarts import ExponentialDelay, FailureRate, FixedDelay, Never
from tests.manager.house import JOB, House

WITH_HELP = JOB.replace('"{name}"', "helped.NAME").replace("import millstream", "import helped\nimport millstream")


def test_modules_beside_the_file_go_along(tmp_path: Path) -> None:
    (tmp_path / "package" / "deep").mkdir(parents=True)
    for name, text in {
        "job.py": "import first\nfrom package import deep\nimport json\n",
        "first.py": "import second",
        "second.py": "",
        "unrelated.py": "",
        "package/__init__.py": "import third",
        "package/deep/rows.csv": "1,2",
        "third.py": "",
    }.items():
        (tmp_path / name).write_text(text)
    found = [str(part.relative_to(tmp_path)) for part in files(tmp_path / "job.py")]
    assert found == ["first.py", "job.py", "package/__init__.py", "package/deep/rows.csv", "second.py", "third.py"]


def test_a_helper_module_travels(manager: House) -> None:
    answer = manager.send({"job.py": WITH_HELP, "helped.py": 'NAME = "assisted"'}, conf={"fake": "finish"})
    assert answer.json()["name"] == "assisted", answer.text
    graph = manager.http.get("/api/v1/jobs/assisted/graph").json()
    assert [box["id"] for box in graph["boxes"]] == ["source:likes", "operator:counted", "sink:counts"]
    assert graph["boxes"][0]["at"] == "job.py:6"
    assert [(edge["from"], edge["to"]) for edge in graph["edges"]] == [
        ("source:likes", "operator:counted"),
        ("operator:counted", "sink:counts"),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("print('no job')", "MS-CLI-004"),
        ("1 / 0", "MS-CLI-003"),
        ("this is not Python", "MS-CLI-003"),
        ("import os; os._exit(3)", "MS-MANAGER-007"),
        (JOB.format(name="bad").replace("liker", "nobody", 1).replace('"liker"', '"licker"'), "MS-"),
    ],
)
def test_a_file_that_is_no_job_is_refused(manager: House, text: str, code: str) -> None:
    answer = manager.send({"job.py": text})
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"].startswith(code)
    assert str(manager.service.home.path) not in answer.text
    assert manager.http.get("/api/v1/jobs").json()["total"] == 0
    assert not list((manager.service.home.path / "received").iterdir())


def test_a_folder_that_is_not_there_is_named(manager: House) -> None:
    answer = manager.send({"job.py": JOB.format(name="lost")}, folder="/no/such/folder")
    assert (answer.status_code, answer.json()["code"]) == (422, "MS-MANAGER-008")


def test_how_it_runs_is_checked(manager: House) -> None:
    answer = manager.send({"job.py": JOB.format(name="odd")}, restarts="sometimes")
    assert (answer.status_code, answer.json()["code"]) == (422, "MS-MANAGER-004")
    answer = manager.send({"job.py": JOB.format(name="odd")}, parallelism="many")
    assert (answer.status_code, answer.json()["code"]) == (422, "MS-MANAGER-422")


def test_packages_are_declared_as_scripts_do(tmp_path: Path) -> None:
    file = tmp_path / "job.py"
    file.write_text('# /// script\n# dependencies = ["millstream", "humanize>=4"]\n# ///\nimport humanize\n')
    assert requirements(file) == ["humanize>=4"]
    file.write_text("# /// script\n# dependencies = [\n# ///\n")
    with pytest.raises(MillstreamError, match="MS-MANAGER-006"):
        requirements(file)
    file.write_text("import json\n")
    assert requirements(file) == []


def test_policies_as_they_are_written() -> None:
    assert policy("never") == Never()
    assert policy("3/10s") == FixedDelay(3, 10_000)
    assert policy("3") == FixedDelay(3, 10_000)
    assert isinstance(policy("exponential"), ExponentialDelay)
    assert isinstance(policy("5 in 1h"), FailureRate)


def test_a_parallelism_that_the_machine_cannot_hold_is_refused(manager: House) -> None:
    journal.create(str(manager.folder / "journal"), "likes", 2)
    spec: dict[str, Any] = {"mode": "real-time", "master": "local[4]", "conf": {"fake": "finish"}}
    answer = manager.send({"job.py": JOB.format(name="wide")}, parallelism=3, **spec)
    assert (answer.status_code, answer.json()["code"]) == (422, "MS-RUN-003")
    assert "needs 5 task slots at once" in answer.json()["message"]
    assert manager.send({"job.py": JOB.format(name="wide")}, parallelism=2, **spec).status_code == 201


def project(folder: Path, entries: str) -> Path:
    (folder / "src" / "shop").mkdir(parents=True)
    made = JOB.format(name="packed")
    lines = "".join(f"    {line}\n" for line in made.splitlines()[3:])
    head = "import millstream as ms\nfrom millstream import journal\n\n\n"
    (folder / "src" / "shop" / "jobs.py").write_text(f"{head}def make() -> ms.Job:\n{lines}    return job\n")
    (folder / "src" / "shop" / "__init__.py").touch()
    points = f'[project.entry-points."millstream.jobs"]\n{entries}'
    (folder / "pyproject.toml").write_text(f'[project]\nname = "shop"\n{points}')
    return folder


def test_a_project_with_an_entry_point_is_a_job(manager: House, tmp_path: Path) -> None:
    packed = pack_package(project(tmp_path / "shop", 'shop = "shop.jobs:make"\n'), None)
    fields = {"file": FILE, "spec": json.dumps({"folder": str(manager.folder), "conf": {"fake": "finish"}})}
    answer = manager.http.post("/api/v1/jobs", files={"archive": ("job.tar.gz", packed)}, data=fields)
    assert answer.json()["name"] == "packed", answer.text
    graph = manager.http.get("/api/v1/jobs/packed/graph").json()
    assert graph["boxes"][0]["at"] == "shop/jobs.py:7"


@pytest.mark.parametrize(
    ("entry", "entries"), [(None, ""), (None, 'a = "shop.jobs:a"\nb = "shop.jobs:b"\n'), ("c", 'a = "shop.jobs:a"\n')]
)
def test_an_entry_point_that_is_not_clear_is_asked_for(tmp_path: Path, entry: str | None, entries: str) -> None:
    with pytest.raises(MillstreamError, match="MS-MANAGER-018"):
        pack_package(project(tmp_path, entries), entry)
    assert pack_package(tmp_path, "shop.jobs:make")
