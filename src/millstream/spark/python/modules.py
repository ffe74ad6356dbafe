"""Imports modules that came with a user's code, from memory: the machine has no file of them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType


def packed(files: Mapping[str, str]) -> bytes:
    """The same bytes for the same files: processes that ran the code before know it by them."""
    return zlib.compress(json.dumps(dict(sorted(files.items()))).encode()) if files else b""


class SentModules(MetaPathFinder, InspectLoader):
    """Asked last: what is installed goes first."""

    def __init__(self, sent: bytes) -> None:
        self.sent = sent
        self._files: dict[str, str] = json.loads(zlib.decompress(sent))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        file = self._file(fullname)
        return None if file is None else spec_from_loader(fullname, self, origin=file)

    def is_package(self, fullname: str) -> bool:
        file = self._file(fullname)
        return file is not None and file.endswith("/__init__.py")

    def get_source(self, fullname: str) -> str | None:
        file = self._file(fullname)
        return None if file is None else self._files[file]

    def _file(self, fullname: str) -> str | None:
        base = fullname.replace(".", "/")
        return next((file for file in (f"{base}/__init__.py", f"{base}.py") if file in self._files), None)
