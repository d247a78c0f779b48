"""Every definition of the four published schema files, against the generated types."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from dragoman.schema import codec, read, v1, v2, write
from dragoman.schema.base import Bare
from dragoman.schema.v1 import unstable as unstable_v1
from dragoman.schema.v2 import unstable as unstable_v2
from tests.every import every

from .instances import UNKNOWN_TAG, instances
from .published_schemas import (
    ENVELOPES,
    FILES,
    MERGED,
    THROUGH_UNION,
    VERSIONS,
    Judge,
    definitions,
    needs_schemas,
    readable,
    type_of,
)

ALL = [(version, name, definition) for version, name in FILES for definition in readable(version, name)]


def with_tag(kind: Any, value: Any) -> Any:
    """A member that was read outside its union is written with the tag it has inside."""
    config = kind.__struct_config__ if isinstance(kind, type) and issubclass(kind, Bare) else None
    if config and config.tag_field:
        return {config.tag_field: config.tag, **value}
    return value


@needs_schemas
@every(("version", "name", "definition"), ALL)
def test_what_the_schema_allows_is_read_and_written_back_with_the_same_meaning(
    version: str, name: str, definition: str
) -> None:
    kind = type_of(version, definition)
    for what, value in instances(definitions(version, name), definition):
        message = read(json.dumps(value).encode(), kind)
        assert json.loads(write(message)) == with_tag(kind, value), what


@needs_schemas
@every(("version", "name", "definition"), ALL)
def test_what_we_write_is_strictly_valid(version: str, name: str, definition: str) -> None:
    known = definitions(version, name)
    judge, kind = Judge(known), type_of(version, definition)
    for what, value in instances(known, definition):
        written = json.loads(write(read(json.dumps(value).encode(), kind)))
        assert judge.accepts(known[definition], written), what


@needs_schemas
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_valid_messages_without_unknown_parts_take_the_fast_way(version: str) -> None:
    known = definitions(version)
    for definition in readable(version):
        decode = codec._decoders[type_of(version, definition)]
        for _, value in instances(known, definition):
            raw = json.dumps(value).encode()
            if UNKNOWN_TAG.encode() not in raw:
                decode(raw)


@needs_schemas
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_every_definition_has_a_type_or_a_reason_not_to(version: str) -> None:
    for name in ("schema", "schema.unstable"):
        known = set(definitions(version, name))
        assert all(hasattr(VERSIONS[version], definition) for definition in readable(version, name))
        assert set(THROUGH_UNION) <= known
        assert known >= {definition for definition in ENVELOPES if not definition.startswith("Proxy")}
    assert set(definitions(version)) >= MERGED | ENVELOPES


@needs_schemas
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_enumerations_are_importable_as_data(version: str) -> None:
    found = 0
    for schema in definitions(version).values():
        options = schema.get("oneOf") or schema.get("anyOf") or []
        values = {option["const"] for option in options if "const" in option}
        if values and all(option.get("type") in ("string", "integer") for option in options):
            module = VERSIONS[version]
            data = [getattr(module, name) for name in module.__all__ if name.isupper()]
            assert values in data
            found += 1
    assert found == len([name for name in VERSIONS[version].__all__ if name.isupper()])


@needs_schemas
@pytest.mark.parametrize(("version", "unstable"), [("v1", unstable_v1), ("v2", unstable_v2)])
def test_what_is_unstable_is_what_the_stable_file_lacks(version: str, unstable: Any) -> None:
    stable, full = definitions(version, "schema"), definitions(version)
    missing = set(full) - set(stable) - ENVELOPES - MERGED
    assert missing == set(unstable.TYPES)
    fields = {
        f"{name}.{field}"
        for name in stable.keys() - ENVELOPES
        for field in full[name].get("properties", {}).keys() - stable[name].get("properties", {}).keys()
    }
    assert fields == {field for field in unstable.FIELDS if not field.startswith("SessionStateUpdate.")}
    for variant in unstable.VARIANTS:
        union, _, tag = variant.partition(".")
        assert f'"const": "{tag}"' in json.dumps(full[union])
        assert f'"const": "{tag}"' not in json.dumps(stable[union])


@pytest.mark.parametrize("module", [v1, v2])
def test_every_exported_name_exists_once(module: Any) -> None:
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize(("mine", "other"), [("v1", "v2"), ("v2", "v1")])
def test_one_version_does_not_load_the_other_nor_the_slow_reader(mine: str, other: str) -> None:
    # Loaded below a bare package, so that what else `dragoman` imports does not count.
    script = f"""
import importlib.util, sys, types
package = types.ModuleType("dragoman")
package.__path__ = [path for path in {json.dumps(list(_package_path()))}]
sys.modules["dragoman"] = package
import dragoman.schema.{mine}.methods
loaded = [name for name in sys.modules if name.startswith("dragoman.")]
assert not any(".{other}" in name or "lenient" in name or "hoist" in name for name in loaded), loaded
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def _package_path() -> list[str]:
    import dragoman

    return list(dragoman.__path__)
