"""Does what readers of the docs do, page by page, from top to end: `python page.py`, with a line of JSON for each.

The line names the page and a new folder to work in. A line goes out for each: how many blocks were followed, or what
went wrong. Pages that follow one another share a Spark, and nothing else.

- a `python` block is executed; a `text` block after it is what it printed;
- one that begins with `# name.py` is saved under that name, too; one that begins with `# test_name.py` is only saved;
- a `console` block is a dialogue: what follows `$ ` is run by a shell, the other lines are what it printed.

What a reader does not see, in HTML comments, is not executed. In what is printed, `…` stands for anything.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import traceback
import types
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OWN = sys.modules["__main__"]
"""Kept while a page's module takes its place."""
NAMED = re.compile(r"# (\w+\.py)\n")


def follow(page: Path) -> int:
    # As in a reader's script. The module must exist: dataclasses look up the one that defines them.
    sys.modules["__main__"] = types.ModuleType("__main__")
    names = vars(sys.modules["__main__"])
    printed: str | None = None
    text, done = page.read_text(), 0
    sys.path.insert(0, "")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        language, body = block.groups()
        if language == "python":
            printed = execute(body, names, f"{page.name}:{line}", line) if saved(body) else None
            done += 1
        elif language == "console":
            expect(page, line, transcript(body), body)
            done += 1
        elif language == "text" and printed is not None:
            expect(page, line, printed, body)
            printed = None
    return done


def saved(source: str) -> bool:
    """Saves a block that names a file; whether to execute it as well."""
    named = NAMED.match(source)
    if named is not None:
        Path(named.group(1)).write_text(source)
    return named is None or not named.group(1).startswith("test_")


def execute(source: str, names: dict[str, object], name: str, line: int) -> str:
    """What it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * (line - 1) + source, name, "exec"), names)
    return out.getvalue()


def transcript(text: str) -> str:
    lines = []
    for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        run = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines += [f"$ {command}", *(line.rstrip() for line in run.stdout.splitlines())]
    return "".join(f"{line}\n" for line in lines)


def expect(page: Path, line: int, printed: str, said: str) -> None:
    meant = re.escape(said).replace("…", "[^\n]*")
    if re.fullmatch(meant, printed) is None:
        raise SystemExit(f"{page.name}:{line} says\n{said}\nbut it is\n{printed}")


def main() -> None:
    # What pages and Spark print goes to the log: stdout is for answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        told = json.loads(line)
        os.chdir(told["folder"])
        try:
            answer: dict[str, object] = {"blocks": follow(Path(told["page"]))}
        except (Exception, SystemExit):
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
