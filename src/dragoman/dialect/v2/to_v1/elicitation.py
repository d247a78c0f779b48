"""Questions to the user: v2's forms in v1. Only formats are named more freely in v2."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_object
from dragoman.dialect.v2.to_v1.fields import Teller, without
from dragoman.schema.v1.elicitation import STRING_FORMATS


def form(params: Object, tell: Teller) -> Object:
    """A v2 `elicitation/create` in v1; the same object if nothing has to change."""
    schema = as_object(params.get("requestedSchema"))
    properties = as_object(schema.get("properties"))
    known = {name: _property(as_object(value), value, tell) for name, value in properties.items()}
    if known == properties:
        return params
    return {**params, "requestedSchema": {**schema, "properties": known}}


def _property(fields: Object, value: Json, tell: Teller) -> Json:
    format_ = fields.get("format")
    if fields.get("type") != "string" or format_ is None or format_ in STRING_FORMATS:
        return value
    tell.lost("a format of text that v1 does not know", "left out of the form")
    return without(fields, "format")
