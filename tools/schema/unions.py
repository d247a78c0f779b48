"""JSON schema definitions to items: what is a struct, an enumeration, an alias, a union, and who is whose
variant.

A variant whose base is used nowhere else *is* that base, with the tag added. A base that is used elsewhere
too keeps its name, and the variant extends it. Objects that the schema composes of alternatives which msgspec
cannot tell apart by one tag are either merged into one struct (`_flattened`) or become a `Choice`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from . import names
from .fields import Schema, has_meta, join, read_fields, read_type, referred
from .model import Alias, Choice, Enumeration, Field, Item, Struct, TypeText, Union, Version


@dataclass(frozen=True)
class Variant:
    """One alternative of a union: a tag, other fields of its own, and the definition it refers to."""

    tag_field: str
    tag: str
    schema: Schema
    ref: str | None
    open: bool  # the alternative for every other tag


def build(version: str, definitions: Schema) -> Version:
    builder = Builder(version, definitions)
    for name, schema in definitions.items():
        builder.define(name, schema)
    return builder.version


class Builder:
    def __init__(self, version: str, definitions: Schema) -> None:
        self.version = Version(version)
        self.definitions = definitions
        self.uses = Counter(_references(definitions))
        self.variant_bases = {
            variant.ref
            for name, schema in definitions.items()
            if not names.ENVELOPES.match(name)
            for variant in self._variants(schema)
            if variant.ref and variant.tag and self.uses[variant.ref] == 1
            if names.VARIANTS.get((name, variant.tag), variant.ref) == variant.ref  # else the base stays too
        }

    def define(self, name: str, schema: Schema) -> None:
        if names.ENVELOPES.match(name):
            self.version.absorbed[name] = "a JSON-RPC envelope"
        elif name in names.FLATTENED:
            self.version.absorbed[name] = "merged into the objects that refer to it"
        elif name not in self.variant_bases:  # those are written by their union
            self.version.add(self._item(name, schema))

    def _item(self, name: str, schema: Schema) -> Item:
        options = _options(schema)
        if not options:
            if schema.get("type") == "object":
                return self._struct(name, schema)
            return Alias(name, read_type(schema))
        if values := _constants(options):
            return Enumeration(name, values, open=len(values) < len(options))
        if "properties" not in schema and (alias := _alias(name, options)):
            return alias
        if _needs_merging(schema, options):
            return self._flattened(name, schema)
        return self._union(name, schema)

    def _struct(self, name: str, schema: Schema, **extra: Any) -> Struct:
        also_read = names.ALSO_READ.get(name, ())
        return Struct(name, read_fields(schema), meta=has_meta(schema), also_read=also_read, **extra)

    def _flattened(self, name: str, schema: Schema) -> Struct:
        """All alternatives in one struct: what only some of them have is optional."""
        merged = {field.wire: field for field in read_fields(schema)}
        options = [self._resolved(option) for option in _options(schema)]
        for option in options:
            for field in self._own_fields(option):
                merged.setdefault(
                    field.wire, Field(field.wire, field.type, required=False, marks=field.marks)
                )
        fields = tuple(field for field in merged.values() if field.type.text != "None")
        one_of = () if "properties" in schema else tuple(option["required"][0] for option in options)
        return Struct(name, fields, meta=self._has_meta(schema), one_of=one_of)

    def _union(self, name: str, schema: Schema) -> Item:
        variants = self._variants(schema)
        members = [
            (variant.tag, self._member(name, schema, variant)) for variant in variants if not variant.open
        ]
        tag_field = next(variant.tag_field for variant in variants if variant.tag_field)
        if any(not tag for tag, _ in members):
            same, others = names.UNTAGGED[name]
            tagged = tuple((tag, member) for tag, member in members if tag)
            untagged = next(member for tag, member in members if not tag)
            return Choice(name, "tag", tagged, tag_field, untagged, same, others)
        catch_all = next((variant.schema for variant in variants if variant.open), {})
        return Union(
            name,
            tag_field,
            tuple(member for _, member in members),
            refuses_unknown=(self.version.name, name) in names.REFUSING,
            unknown_needs=self._needs(schema, catch_all, tag_field),
            unknown_one_of=_alternatives(catch_all, self.definitions) if catch_all else (),
            unknown_only_one="oneOf" in catch_all,
        )

    def _member(self, union: str, shared: Schema, variant: Variant) -> str:
        """Write the struct of one variant and return its name."""
        own = _without(read_fields(variant.schema), variant.tag_field)
        outer = read_fields(shared)
        tag = (variant.tag_field, variant.tag) if variant.tag else None
        meta = has_meta(shared) or has_meta(variant.schema)
        if variant.ref is None:
            name = names.VARIANTS[union, variant.tag]
            self.version.add(Struct(name, outer + own, tag, meta=meta))
            return name
        target = self.definitions[variant.ref]
        if tag and self.uses[variant.ref] > 1 and not _options(target):
            name = names.VARIANTS.get((union, variant.tag), names.pascal(variant.tag))
            self.version.add(Struct(name, outer + own, tag, base=variant.ref, meta=meta))
            return name
        name = names.VARIANTS.get((union, variant.tag), variant.ref)
        one_of = _alternatives(target, self.definitions)
        fields = outer + own + self._target_fields(target)
        also_read = names.ALSO_READ.get(name, ())
        exactly = "oneOf" in target
        meta = meta or self._has_meta(target)
        self.version.add(Struct(name, fields, tag, None, meta, one_of, bool(one_of) and exactly, also_read))
        return name

    def _target_fields(self, target: Schema) -> tuple[Field, ...]:
        """The fields of a variant's base, with those of its own alternatives merged in as optional ones."""
        merged = {field.wire: field for field in read_fields(target)}
        variants = self._variants(target)
        if tag_field := next((variant.tag_field for variant in variants if variant.tag), ""):
            merged.setdefault(tag_field, Field(tag_field, TypeText("str"), required=True))
        for option in map(self._resolved, _options(target)):
            for field in self._own_fields(option):
                merged.setdefault(
                    field.wire, Field(field.wire, field.type, required=False, marks=field.marks)
                )
        return tuple(merged.values())

    def _own_fields(self, option: Schema) -> tuple[Field, ...]:
        """Fields of one alternative, those of what it refers to and of its own alternatives included."""
        fields = read_fields(option)
        for part in (*option.get("allOf", ()), *_options(option)):
            if not _is_constant(part):
                fields += self._own_fields(self._resolved(part))
        return fields

    def _has_meta(self, schema: Schema) -> bool:
        parts = (*schema.get("allOf", ()), *_options(schema))
        return has_meta(schema) or any(self._has_meta(self._resolved(part)) for part in parts)

    def _resolved(self, schema: Schema) -> Schema:
        name = referred(schema)
        resolved: Schema = self.definitions[name] if name else schema
        return resolved

    def _needs(self, shared: Schema, catch_all: Schema, tag_field: str) -> tuple[tuple[str, str], ...]:
        fields = read_fields(shared) + read_fields(catch_all)
        return tuple(
            (field.wire, "any" if field.type.text == "Any" else "str")
            for field in fields
            if field.required and field.wire != tag_field and catch_all
        )

    def _variants(self, schema: Schema) -> list[Variant]:
        return [_variant(option) for option in _options(schema)]


def _variant(option: Schema) -> Variant:
    ref = referred(option) or next(
        (name for part in option.get("allOf", ()) if (name := referred(part))), None
    )
    for wire, value in option.get("properties", {}).items():
        if "const" in value:
            return Variant(wire, str(value["const"]), option, ref, open=False)
        if "not" in option and value == {**value, "type": "string"}:
            return Variant(wire, "", option, ref, open=True)
    return Variant("", "", option, ref, open=False)


def _options(schema: Schema) -> list[Schema]:
    options: list[Schema] = schema.get("oneOf") or schema.get("anyOf") or []
    return options


def _is_constant(option: Schema) -> bool:
    return "const" in option or option == {**option, "type": "null"}


def _constants(options: list[Schema]) -> tuple[str | int, ...]:
    """The values of an enumeration, empty if this is none."""
    plain = all(option.get("type") in ("string", "integer") for option in options)
    return tuple(option["const"] for option in options if "const" in option) if plain else ()


def _alias(name: str, options: list[Schema]) -> Item | None:
    """Unions that are told apart by JSON itself, by a key, or by what is in a list."""
    if all(option.get("type") == "array" for option in options):
        return Choice(name, "item", tuple((read_type(option).text, "") for option in options))
    refs = [referred(option) for option in options]
    if all(refs):
        members = tuple(("", ref) for ref in refs if ref)
        return Choice(name, "key", members) if len(members) > 1 else Alias(name, read_type(options[0]))
    if any("properties" in option or referred(option) for option in options) and {} not in map(
        _bare, options
    ):
        return None
    return Alias(name, join([read_type(option) for option in map(_bare, options)]))


def _bare(option: Schema) -> Schema:
    return {key: value for key, value in option.items() if key not in ("title", "description")}


def _needs_merging(schema: Schema, options: list[Schema]) -> bool:
    """Alternatives without names: told apart by a field that the object has anyway, or only by their keys."""
    unnamed = all("properties" in option and "allOf" not in option for option in options)
    untagged = unnamed and not any(
        "const" in value for option in options for value in option["properties"].values()
    )
    declared = schema.get("properties", {})
    return untagged or any(wire in declared for option in options for wire in option.get("properties", ()))


def _alternatives(schema: Schema, definitions: Schema) -> tuple[str, ...]:
    """The fields that tell an object's unnamed alternatives apart, e.g. the two scopes of an elicitation."""
    refs = [referred(option) for option in _options(schema)]
    if not refs or not all(refs):
        return ()
    return tuple(definitions[ref]["required"][0] for ref in refs if ref)


def _without(fields: tuple[Field, ...], wire: str) -> tuple[Field, ...]:
    return tuple(field for field in fields if field.wire != wire)


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for part in schema for name in _references(part)]
    if not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return [str(schema["$ref"]).rpartition("/")[2]]
    return [name for part in schema.values() for name in _references(part)]
