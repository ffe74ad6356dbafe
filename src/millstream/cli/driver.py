"""The driver of `millstream run --deploy-mode cluster`, on a machine of the cluster: Spark starts this file there.

`driver.py FOLDER FILE OPTION…`: works in FOLDER, if one is named, and runs the job in FILE, which Spark sent along.
`driver.py FOLDER FILE --reports RUN`: runs it for a manager, which has the run's folder RUN.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACK = (
    "hint:  send the packages of your environment along: millstream pack -o env.tar.gz, then --environment env.tar.gz"
)


def main(folder: str, file: str, *options: str) -> None:
    try:
        from millstream.cli.main import main as millstream
    except ImportError as error:
        message = f"MS-CLUSTER-005: the driver's Python, {sys.executable}, does not have Millstream."
        sys.exit(f"{message}\n  found: {error}\n  {PACK}")
    # Before the working folder changes. All files that were sent along are side by side here, as links.
    job = Path(file).absolute()
    if any(job.parent.glob("*.jar")):
        os.environ.setdefault("MILLSTREAM_JARS", str(job.parent))
    if folder:
        work_in(folder)
    if options[:1] == ("--reports",):
        from millstream.manager.driver import main as managed

        sys.exit(managed(options[1]))
    millstream(["run", str(job), *options])


def work_in(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        sys.exit(f"MS-CLUSTER-004: the driver's machine has no folder {folder}.\n  found: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
