"""Content blocks of v2 in v1: both have the same five types, but v2 has icons and allows more types."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text, without
from dragoman.dialect.v2.to_v1.fields import Kinds, LossReporter, fits, fitting, with_originals

_NEEDED: dict[str, Kinds] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource_link": {"name": str, "uri": str},
    "resource": {"resource": dict},
}
_TEXT_OR_NONE = (str, type(None))
_OPTIONAL: Kinds = {
    "_meta": (dict, type(None)),
    "annotations": (dict, type(None)),
    "description": _TEXT_OR_NONE,
    "mimeType": _TEXT_OR_NONE,
    "size": (int, type(None)),
    "title": _TEXT_OR_NONE,
    "uri": _TEXT_OR_NONE,
}
_ANNOTATIONS: Kinds = {
    "_meta": (dict, type(None)),
    "audience": (list, type(None)),
    "lastModified": _TEXT_OR_NONE,
    "priority": (float, type(None)),
}
_CONTENTS: Kinds = {"mimeType": _TEXT_OR_NONE, "_meta": (dict, type(None))}
_PLAIN_TEXT = {"type", "text"}
_ROLES = ("assistant", "user")


def block(value: Json, report: LossReporter) -> Object | None:
    """Translate one block; None if it is not a block. An unchanged block is the same object."""
    fields = as_object(value)
    kind = as_text(fields.get("type"))
    required_types = _NEEDED.get(kind)
    if required_types is None:
        return _unknown(fields, kind, report) if kind else _drop_malformed(report)
    if not all(fits(fields.get(name), member_type) for name, member_type in required_types.items()):
        return _drop_malformed(report)
    if fields.keys() == _PLAIN_TEXT:
        return fields
    clean_fields = fitting(fields, _OPTIONAL, report)
    if "annotations" in clean_fields:
        clean_fields = _check_annotations(clean_fields, report)
    if kind == "resource":
        return _resource(clean_fields, report)
    if kind == "resource_link" and clean_fields.get("icons") is not None:
        report.note_loss("icons of a link", "left out: version 1 has none")
        clean_fields = without(clean_fields, "icons")
    return fields if clean_fields == fields else clean_fields


def blocks(value: Json, report: LossReporter) -> list[Object]:
    """Translate a list of blocks, without values that are not blocks."""
    entries = [block(entry, report) for entry in as_list(value)]
    return [entry for entry in entries if entry is not None]


def _unknown(fields: Object, kind: str, report: LossReporter) -> Object:
    report.note_loss("content of a type that v1 does not know", "a text in its place, the original in _meta")
    text = f"[content of type {kind}, which version 1 of the protocol cannot carry]"
    return with_originals({"type": "text", "text": text}, fields)


def _drop_malformed(report: LossReporter) -> Object | None:
    report.note_loss("malformed content", "left out")
    return None


def _check_annotations(fields: Object, report: LossReporter) -> Object:
    value = fields["annotations"]
    if value is None:
        return without(fields, "annotations")
    annotations = fitting(as_object(value), _ANNOTATIONS, report)
    audience = annotations.get("audience")
    if audience is not None and any(role not in _ROLES for role in audience):
        report.note_loss("an audience that v1 does not know", "left out of the annotations")
        annotations = {**annotations, "audience": [role for role in audience if role in _ROLES]}
    return fields if annotations == value else {**fields, "annotations": annotations}


def _resource(fields: Object, report: LossReporter) -> Object | None:
    resource = fitting(as_object(fields["resource"]), _CONTENTS, report)
    has_content = fits(resource.get("text"), str) or fits(resource.get("blob"), str)
    if not has_content or not fits(resource.get("uri"), str):
        return _drop_malformed(report)
    return {**fields, "resource": resource}
