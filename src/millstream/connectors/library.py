"""Client libraries that are not installed with Millstream itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from millstream.errors import MillstreamError


def library(name: str, extra: str) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MillstreamError(
            "MS-SETUP-010", f"the Python package {name} is missing.", hint=f"pip install 'millstream[{extra}]'"
        ) from error
