"""JSON schema properties to fields and type texts."""

from __future__ import annotations

from typing import Any

from .model import Field, TypeText

Schema = dict[str, Any]

MARKS = {
    "x-deserialize-default-on-error": "ON_ERROR",
    "x-deserialize-skip-invalid-items": "SKIP_ITEMS",
    "x-deserialize-default-on-null": "ON_NULL",
}
INTEGERS = {
    ("int32", None): "Int32",
    ("int64", None): "Int64",
    ("uint16", 0): "UInt16",
    ("uint16", 1): "PositiveUInt16",
    ("uint32", 0): "UInt32",
    ("uint32", 1): "PositiveUInt32",
    ("uint64", 0): "UInt64",
}
ANY = TypeText("Any", frozenset({"Any"}))


def referred(schema: Schema) -> str | None:
    """The definition that this schema is nothing but a reference to."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    parts = schema.get("allOf", [])
    return referred(parts[0]) if len(parts) == 1 and "properties" not in schema else None


def read_fields(schema: Schema) -> tuple[Field, ...]:
    """The declared properties of an object, but for `_meta`, which every struct root has."""
    required = schema.get("required", ())
    return tuple(
        Field(
            wire, read_type(value), wire in required, frozenset(MARKS[key] for key in value if key in MARKS)
        )
        for wire, value in schema.get("properties", {}).items()
        if wire != "_meta"
    )


def has_meta(schema: Schema) -> bool:
    return "_meta" in schema.get("properties", {})


def read_type(schema: Schema) -> TypeText:
    if name := referred(schema):
        return TypeText(name, frozenset({name}))
    options = schema.get("anyOf", [])
    if len(options) == 2 and options[1] == {"type": "null"}:
        inner = read_type(options[0])
        return TypeText(inner.text, inner.needs, nullable=inner.text != "Any")
    if options:
        return join([read_type(option) for option in options])
    kind = schema.get("type")
    if isinstance(kind, list):
        inner = _plain(kind[0], schema)
        return TypeText(inner.text, inner.needs, nullable=True)
    return _plain(kind, schema)


def join(parts: list[TypeText]) -> TypeText:
    """A union of types that JSON itself tells apart."""
    if ANY in parts:
        return ANY
    texts = [part.text for part in parts if part.text != "None"]
    needs = frozenset().union(*(part.needs for part in parts))
    return TypeText(" | ".join(texts), needs, nullable=len(texts) < len(parts))


def _plain(kind: str | None, schema: Schema) -> TypeText:
    match kind:
        case None:
            return ANY
        case "null":
            return TypeText("None")
        case "boolean":
            return TypeText("bool")
        case "string":
            return _scalar("NonEmptyStr" if schema.get("minLength") == 1 else "str")
        case "integer":
            return _scalar(INTEGERS[schema["format"], schema.get("minimum")])
        case "number":
            return _scalar("UnitFloat" if "maximum" in schema else "float")
        case "array":
            return _list(schema)
        case "object":
            return _mapping(schema)
    raise ValueError(f"no type for {schema}")


def _scalar(name: str) -> TypeText:
    return TypeText(name, frozenset() if name in ("str", "float") else frozenset({name}))


def _list(schema: Schema) -> TypeText:
    item = read_type(schema["items"])
    text = f"list[{item.spelled()}]"
    if schema.get("minItems") == 1:
        return TypeText(f"Annotated[{text}, Meta(min_length=1)]", item.needs | {"Annotated", "Meta"})
    return TypeText(text, item.needs)


def _mapping(schema: Schema) -> TypeText:
    values = schema.get("additionalProperties", True)
    item = ANY if values is True else read_type(values)
    return TypeText(f"dict[str, {item.spelled()}]", item.needs)
