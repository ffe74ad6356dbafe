"""Every example in docs/journal.md is true."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import millstream

PAGE = Path(__file__).parents[2] / "docs" / "journal.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MILLSTREAM_JOURNAL", raising=False)
    shell = shell_environment(tmp_path)
    names: dict[str, object] = {}
    printed, ran = "", []
    for language, text in BLOCK.findall(PAGE.read_text()):
        ran.append(language)
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(text, names)
            printed = out.getvalue()
        elif language == "text":
            assert printed == text
        else:
            assert transcript(text, shell).splitlines() == text.splitlines()
    assert ran.count("python") == ran.count("text") == 4
    assert ran.count("console") == 1


def transcript(text: str, environment: dict[str, str]) -> str:
    """The commands of a console block, with what they print now."""
    lines = []
    for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        run = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        lines += [f"$ {command}", *(line.rstrip() for line in run.stdout.splitlines())]
    return "\n".join(lines)


def shell_environment(folder: Path) -> dict[str, str]:
    """A shell that finds this checkout's `millstream`."""
    command = folder / "bin" / "millstream"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom millstream.cli.main import main\nmain()\n")
    command.chmod(0o755)
    source = str(Path(millstream.__file__).parent.parent)
    return {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": source}
