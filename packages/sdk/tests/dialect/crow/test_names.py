from __future__ import annotations

from importlib import import_module

import msgspec

from dragoman.dialect.crow.names import SNAKE_OF, fits, readable, to_camel, to_snake, with_original

CARRIED = ("commands", "config", "content", "modes", "plan", "prompt", "tool_call", "update")
ONLY_ASKED = {"configId", "modeId"}  # in requests that crow does not have


def test_every_name_that_an_update_or_an_answer_can_have_is_spelled_anew() -> None:
    names = set()
    for module in CARRIED:
        for kind in vars(import_module(f"dragoman.schema.v1.{module}")).values():
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                names |= set(kind.__struct_encode_fields__)
    camel = {name for name in names if name.isascii() and not name.islower()}
    assert camel - ONLY_ASKED == set(SNAKE_OF)


def test_names_that_somebody_made_up_keep_their_spelling() -> None:
    value = {"mimeType": 1, "myOwn": [{"oldText": 2, "my_own": 3}]}
    assert to_snake(value) == {"mime_type": 1, "myOwn": [{"old_text": 2, "my_own": 3}]}
    assert to_camel(to_snake(value)) == value


def test_values_that_belong_to_others_are_not_looked_into() -> None:
    opaque = {"_meta": {"mimeType": 1}, "rawInput": {"mimeType": 2}, "rawOutput": [{"mimeType": 3}]}
    spelled = {"_meta": {"mimeType": 1}, "raw_input": {"mimeType": 2}, "raw_output": [{"mimeType": 3}]}
    assert to_snake(opaque) == spelled
    assert to_camel(spelled) == opaque


def test_a_member_that_has_the_new_name_already_wins() -> None:
    assert to_camel({"mime_type": 1, "mimeType": 2}) == {"mimeType": 2}


def test_what_fits_is_whole_and_what_is_readable_may_have_more() -> None:
    block = {"type": "text", "text": "x"}
    assert fits(block, "ContentBlock")
    assert not fits({**block, "mood": 1}, "ContentBlock")
    assert readable({**block, "mood": 1}, "ContentBlock")
    assert not readable({"type": "song"}, "ContentBlock")
    assert not readable({"type": "text", "text": 7}, "ContentBlock")
    assert not readable({"type": "text", "text": "x", "annotations": 7}, "ContentBlock")


def test_an_original_is_kept_beside_what_is_there() -> None:
    fields = with_original({"a": 1, "_meta": {"b": 2}}, {"c": 3})
    assert fields["_meta"] == {"b": 2, "dragoman/dialect": {"name": "crow", "raw": {"c": 3}}}
