"""The published schemas: where they are found, and the proof that they are the ones we generated from.

The files belong to the specification and are not part of this repository. They come with the TypeScript SDK,
which the interoperability tests install; version and content are pinned, so that a newer one is a decision
and not an accident.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

VERSION = "2.4.0"
PINNED = {
    "v1/schema.json": "0d0b1ca83c4872e5473f68926a894c7a8203b59b118e2a79bfe43dd76fbcbc1a",
    "v1/schema.unstable.json": "ce7881d10c854bcac4f0e7d3a9ce4fb0f612ec0a09e64b572940beec4668c189",
    "v2/schema.json": "b6c91055df549d6f1db1d76d692d0561dad433e03d8ed114ea9b5baed9da72c5",
    "v2/schema.unstable.json": "49e10f8c1935854363ed5b176cc6560d856642ba5020c97d264d34de4b6f1b31",
}
DEFAULT_PACKAGE = (
    Path(__file__).parents[2] / "tests" / "interop" / "ts" / "node_modules" / "@agentclientprotocol" / "sdk"
)

Definitions = dict[str, Any]


class SourceProblem(Exception):
    """The schemas are not there, or are not the pinned ones."""


def load(package: Path) -> dict[str, tuple[Definitions, Definitions]]:
    """For each protocol version its stable and its unstable definitions."""
    manifest = package / "package.json"
    if not manifest.is_file():
        raise SourceProblem(f"no package at {package}: run `make setup`, or name a folder with --package")
    found = json.loads(manifest.read_text())["version"]
    if found != VERSION:
        raise SourceProblem(f"the package is version {found}, the generator is pinned to {VERSION}")
    return {
        version: (
            _definitions(package, f"{version}/schema.json"),
            _definitions(package, f"{version}/schema.unstable.json"),
        )
        for version in ("v1", "v2")
    }


def _definitions(package: Path, name: str) -> Definitions:
    content = (package / "schema" / name).read_bytes()
    if hashlib.sha256(content).hexdigest() != PINNED[name]:
        raise SourceProblem(f"schema/{name} is not the pinned file")
    definitions: Definitions = json.loads(content)["$defs"]
    return definitions
