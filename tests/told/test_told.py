"""The kernels' settings, kind by kind, against the golden JSON that the kernels' own tests read."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from millstream.spark.lower.told import Hosted, Told, as_json
from tests.told.samples import SAMPLES

GOLDEN = Path(__file__).parent / "golden"
KINDS = [sample.kind for sample in SAMPLES]


def hosted(told: Told) -> Hosted:
    return Hosted(
        name="totals",
        keys=(1, 2),
        port=0,
        upserts=False,
        follows=True,
        images=(None, "STRUCT(`row`.k0 AS f0)"),
        told=told,
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=KINDS)
def test_golden(sample: Told, golden: bool) -> None:
    """`./dev golden` rewrites them; review them as a diff."""
    (said,) = json.loads(as_json([hosted(sample)]))
    text = json.dumps(said, indent=2) + "\n"
    file = GOLDEN / f"{sample.kind}.json"
    if golden:
        file.write_text(text)
    assert text == file.read_text(), f"{file.name} differs; if that is right, run ./dev golden"


def test_every_kind_has_one() -> None:
    assert sorted(kind.kind for kind in Told.__subclasses__()) == sorted(KINDS)
    assert {file.stem for file in GOLDEN.glob("*.json")} == set(KINDS)


def test_names_say_the_same_everywhere() -> None:
    """A field of one name has one kind of value in all of them."""
    found: dict[str, set[str]] = {}
    for sample in SAMPLES:
        for name, value in asdict(sample).items():
            found.setdefault(name, set()).add(type(value).__name__)
    mixed = {name: kinds for name, kinds in found.items() if len(kinds - {"NoneType"}) > 1}
    assert mixed == {}
