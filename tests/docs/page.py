"""Does what a page of the docs says, from its top to its end: `python page.py PAGE`, in a new folder.

- a `python` block is executed; a `text` block after it is what it printed;
- a `console` block is a dialogue: what follows `$ ` is run by a shell, the other lines are what it printed;
- an HTML comment that begins with `first:` is Python that is executed before what follows: it makes the files
  that the page takes for granted.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$|^<!-- first:\n(.*?)^-->$", re.MULTILINE | re.DOTALL)


def follow(page: Path) -> int:
    names: dict[str, object] = {"__name__": "page"}
    printed: str | None = None
    text, done = page.read_text(), 0
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        language, body, hidden = block.groups()
        if hidden or language == "python":
            printed = execute(hidden or body, names, f"{page.name}:{line}", line)
            done += 1
        elif language == "console":
            expect(page, line, transcript(body), body)
            done += 1
        elif language == "text" and printed is not None:
            expect(page, line, printed, body)
            printed = None
    return done


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
    if printed != said:
        raise SystemExit(f"{page.name}:{line} says\n{said}\nbut it is\n{printed}")


if __name__ == "__main__":
    print(follow(Path(sys.argv[1])), "blocks")
