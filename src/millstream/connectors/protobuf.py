"""How values in Protobuf are read and written: by a type of messages, from a file of descriptors."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path

from millstream.connectors.avro import CHECKS


@dataclass(frozen=True)
class Protobuf:
    """A message's full name, and the descriptors of it and all that it refers to, in base 64."""

    message: str
    descriptors: str = field(repr=False)

    def settings(self) -> dict[str, str]:
        return {"protobuf_message": self.message, "protobuf_descriptors": self.descriptors}

    def filled(self) -> dict[str, str]:
        return self.settings()

    def secrets(self) -> dict[str, str]:
        return {}


def protobuf(descriptors: str | Path | bytes, message: str) -> Protobuf:
    """Messages of one type: `protobuf("shop.desc", "shop.Order")`.

    `descriptors`: the file that `protoc --include_imports --descriptor_set_out=shop.desc shop.proto` writes, or its
    bytes. `message`: the type's full name, package included.
    """
    if not isinstance(descriptors, bytes):
        path = Path(descriptors).expanduser()
        try:
            descriptors = path.read_bytes()
        except OSError as error:
            hint = f"protoc --include_imports --descriptor_set_out={path} YOUR.proto"
            raise CHECKS.wrong(f"the descriptors {path} cannot be read: {error.strerror}.", hint) from error
    return Protobuf(message, b64encode(descriptors).decode())
