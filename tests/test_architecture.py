"""The order of the packages, and that ARCHITECTURE.md names what is there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "millstream"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"

WORKS_ON_JOBS = {"api", "cli", "replay", "runtime", "spark", "storage", "testing"}
"""What the processes that a manager starts use."""
MAY_IMPORT: dict[str, set[str]] = {
    "storage": {"errors"},
    "plan": {"errors"},
    "planner": {"errors", "plan"},
    "metrics": {"errors", "plan", "planner"},
    "reports": {"errors", "metrics", "plan", "planner"},
    # It starts drivers as processes, and knows nothing about Spark; only the driver runs a job, or works on its state.
    "manager": {"errors", "metrics", "plan", "planner", "reports"} | WORKS_ON_JOBS,
    "spark": {"errors", "metrics", "plan", "planner", "storage"},
    "reception": {"errors", "journal", "plan", "storage"},
    "runtime": {"errors", "journal", "metrics", "plan", "planner", "spark", "storage"},
    # A job starts its run, and nothing else of the runtime.
    "api": {"errors", "plan", "planner", "runtime", "storage"},
}
"""What each layer knows about the others. Data goes down: api -> plan -> planner -> spark -> runtime."""

IN_A_FUNCTION = {("api", "runtime"), *(("manager", part) for part in WORKS_ON_JOBS)}
"""Only where it is needed, so that declaring a job, and managing one, needs no Spark."""


class Import:
    def __init__(self, file: Path, node: ast.stmt, module: str, inner: bool) -> None:
        self.file = file
        self.module = module
        self.inner = inner
        self.place = f"{file.relative_to(ROOT)}:{node.lineno} imports {module}"


def imports(file: Path) -> Iterator[Import]:
    """What a file imports when it runs: not what is under TYPE_CHECKING."""

    def visit(body: list[ast.stmt], inner: bool) -> Iterator[Import]:
        for node in body:
            if isinstance(node, ast.Import):
                yield from (Import(file, node, name.name, inner) for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                # `from millstream import journal` imports a module, too.
                names = [f"{node.module}.{name.name}" for name in node.names]
                yield from (Import(file, node, name, inner) for name in names)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                yield from visit(node.orelse, inner)
            else:
                function = inner or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                parts = (getattr(node, name, []) for name in ("body", "orelse", "finalbody", "handlers"))
                for part in parts:
                    yield from visit(part, function)

    yield from visit(ast.parse(file.read_text()).body, False)


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def package(module: str) -> str | None:
    """Of `millstream.plan.nodes.Join`, `plan`."""
    parts = module.split(".")
    return parts[1] if parts[0] == "millstream" and len(parts) > 1 else None


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_a_layer_imports_only_those_before_it(layer: str) -> None:
    allowed = {layer, *MAY_IMPORT[layer]}
    wrong = []
    for file in python_files(SOURCE / layer):
        for found in imports(file):
            other = package(found.module)
            lazily = (layer, other) in IN_A_FUNCTION
            if other is not None and (other not in allowed or (lazily and not found.inner)):
                wrong.append(found.place)
    assert wrong == []


def test_only_one_package_imports_pyspark() -> None:
    files = [file for file in python_files(SOURCE) if SOURCE / "spark" not in file.parents]
    wrong = [found.place for file in files for found in imports(file) if found.module.split(".")[0] == "pyspark"]
    assert wrong == []


def test_the_packages_are_those_that_are_checked() -> None:
    """A new package must be put in its place here."""
    found = {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}
    assert found - set(MAY_IMPORT) <= {"cli", "connectors", "demo", "journal", "replay", "testing", "verify"}


CONNECTORS = sorted(folder.name for folder in (SOURCE / "connectors").iterdir() if (folder / "__init__.py").exists())


@pytest.mark.parametrize("name", CONNECTORS)
def test_no_connector_is_named_by_what_runs_jobs(name: str) -> None:
    """Its options say all that is to be known. The journal is also what the runtime keeps rows in."""
    words = rf"MS-{name}-" if name in ("journal", "files") else rf"(?<![a-z]){name}(?![a-z])"
    files = [*python_files(SOURCE / "runtime"), *python_files(SOURCE / "planner"), *(SOURCE / "spark").glob("*.py")]
    known = {("journal", "failures.py", "MS-JOURNAL-009")}
    wrong = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        for line in file.read_text().splitlines()
        if re.search(words, line, re.IGNORECASE)
        and not any(name == of and file.name == place and code in line for of, place, code in known)
    ]
    assert wrong == []


def test_no_system_is_asked_for_by_name() -> None:
    """What holds for one of our connectors can hold for one that comes as a package: that is a protocol."""
    files = [file for file in python_files(SOURCE) if "connectors" not in file.parts]
    assert [str(file) for file in files if re.search(r"\.system (==|!=|in) ", file.read_text())] == []


@pytest.mark.parametrize("name", CONNECTORS)
def test_the_files_of_a_connector_have_the_same_names(name: str) -> None:
    folder = SOURCE / "connectors" / name
    text = {file.name: file.read_text() for file in folder.glob("*.py")}
    assert "options.py" in text, "what users say"
    assert {"source.py", "sink.py"} & set(text)
    homes = {
        "source.py": r"def reader\(self\)",
        "sink.py": r"def writer\(self\)",
        "errors.py": r"\b(ERRORS|CHECKS) = ",
        "carrier.py": r"def carry\(self",
        "receiver.py": r"def receive\(self",
        "options.py": r"^def (source|sink|changes)\(",
    }
    for home, sign in homes.items():
        assert [file for file in text if re.search(sign, text[file], re.MULTILINE)] in ([home], []), home


def python(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_declaring_a_job_needs_no_spark() -> None:
    assert python("import sys, millstream, millstream.journal; print('pyspark' in sys.modules)") == "False"


@pytest.mark.slow
def test_every_package_can_be_imported_first() -> None:
    """No circular imports, whichever module is imported first."""
    names = [".".join(file.parent.relative_to(SOURCE.parent).parts) for file in SOURCE.rglob("__init__.py")]
    script = f"""
import importlib, sys
for name in {names!r}:
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == "millstream"]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error)
"""
    assert python(script) == ""


def test_architecture_names_what_is_there() -> None:
    text = ARCHITECTURE.read_text()
    named = {path for path in re.findall(r"`([\w./-]+)`", text) if "/" in path}
    missing = [path for path in sorted(named) if not any((base / path).exists() for base in (ROOT, SOURCE))]
    assert missing == []
