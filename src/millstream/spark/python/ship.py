"""Sends users' Python objects to the processes that run them."""

from __future__ import annotations

import inspect
import pickle
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import SparkContext, cloudpickle

from millstream.errors import Location, MillstreamError
from millstream.plan.cluster import is_local
from millstream.spark.python.modules import SentModules, packed

INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
BESIDE = str(Path(__file__).resolve().parents[3])
"""Where Millstream lies, and in an environment that was sent along all other packages."""


@dataclass(frozen=True)
class Shipped:
    """An object on its way, the user's modules, and the folders in which others may be found."""

    data: bytes
    modules: bytes
    path: tuple[str, ...]

    def load(self) -> Any:
        sys.path += [folder for folder in self.path if folder not in sys.path]
        if self.modules and not any(getattr(finder, "sent", None) == self.modules for finder in sys.meta_path):
            sys.meta_path.append(SentModules(self.modules))
        return pickle.loads(self.data)


def ship(what: object, step: str, at: Location | None) -> Shipped:
    """The user's own files go along; what is installed is looked up where the object arrives."""
    by_value(what)
    try:
        return Shipped(cloudpickle.dumps(what), modules(), tuple(folder for folder in sys.path if folder))
    except Exception as error:
        raise MillstreamError(
            "MS-PROCESS-009",
            f'step "{step}" runs code that cannot be sent to Spark\'s processes.',
            at=at,
            found=f"{type(error).__name__}: {error}",
            hint="make connections, locks and open files inside the code, where they are used",
        ) from error


def environment(context: SparkContext) -> dict[str, str]:
    """In which the Python of Spark's own Python code runs ours. A process is used again by later tasks."""
    return {**context.environment, "SPARK_REUSE_WORKER": "1"}


def by_value(what: object) -> None:
    module = inspect.getmodule(what if inspect.isroutine(what) or isinstance(what, type) else type(what))
    if module is not None and module.__name__ != "__main__" and of_the_user(module):
        cloudpickle.register_pickle_by_value(module)


def modules() -> bytes:
    """The source of the user's own modules that are imported here: of a package, all of it.

    For the machines of a cluster, which do not have the user's folders.
    """
    context = SparkContext._active_spark_context
    return b"" if context is None or is_local(context.master) else packed(users_files())


def users_files() -> dict[str, str]:
    """The source of each, by its path as Python would import it."""
    found: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        if "." in name or name == "__main__" or not of_the_user(module):
            continue
        archive = getattr(module.__loader__, "archive", None)
        found |= from_archive(archive, name) if archive else from_disk(module)
    return found


def from_disk(module: ModuleType) -> dict[str, str]:
    file = Path(str(module.__file__)).resolve()
    package = hasattr(module, "__path__")
    files = file.parent.rglob("*.py") if package else [file]
    root = file.parent.parent if package else file.parent
    return {str(one.relative_to(root)): one.read_text() for one in files if one.suffix == ".py"}


def from_archive(archive: str, module: str) -> dict[str, str]:
    """As spark-submit brings them to a driver on a cluster."""
    with zipfile.ZipFile(archive) as files:
        wanted = (name for name in files.namelist() if name == f"{module}.py" or name.startswith(f"{module}/"))
        return {name: files.read(name).decode() for name in wanted if name.endswith(".py")}


def of_the_user(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if file is None or module.__name__ not in sys.modules:
        return False
    path = str(Path(file).resolve())
    return not path.startswith((*INSTALLED, BESIDE))
