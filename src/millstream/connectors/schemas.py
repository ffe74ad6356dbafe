"""The schemas of a source's or sink's values, checked against its format."""

from __future__ import annotations

import json
from pathlib import Path

from millstream.connectors.avro import CHECKS, Avro, Registry
from millstream.connectors.protobuf import Protobuf
from millstream.plan.connectors import Format

Schemas = Avro | Protobuf


def schemas(
    format: Format,
    avro_schema: str | Path | None,
    registry: str | Registry | None,
    protobuf: Protobuf | None,
    writes: bool,
) -> Schemas | None:
    if format != "avro" and (avro_schema is not None or registry is not None):
        raise CHECKS.wrong("a schema or a registry is for Avro.", 'format="avro"')
    if (format == "protobuf") != (protobuf is not None):
        hint = 'format="protobuf", protobuf=protobuf("shop.desc", "shop.Order")'
        raise CHECKS.wrong("Protobuf needs to know its messages, and nothing else does.", hint)
    return avro(avro_schema, registry, writes) if format == "avro" else protobuf


def avro(schema: str | Path | None, registry: str | Registry | None, writes: bool) -> Avro:
    if not writes and (schema is None) == (registry is None):
        raise CHECKS.wrong(
            "Avro is read by a schema or by a registry.", 'avro_schema=Path("order.avsc"), or registry="http://…"'
        )
    if isinstance(schema, Path):
        schema = schema.expanduser().read_text()
    if schema is not None:
        try:
            json.loads(schema)
        except ValueError as error:
            raise CHECKS.wrong(
                f"the Avro schema is not JSON: {error}.", "give its text, or a Path to its file"
            ) from error
    return Avro(schema, Registry(registry) if isinstance(registry, str) else registry)
