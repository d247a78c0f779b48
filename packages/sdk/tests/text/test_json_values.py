"""Values as JSON: whatever a file is called, the report about it can be written and read."""

import json

from dragoman.text.json_values import encode_json, in_ascii


def test_what_is_no_text_is_written_as_the_replacement_character() -> None:
    value = {"path\udcff": ["a\udcfe", ("b", {"c": "\ud800"})], "number": 1}
    assert json.loads(encode_json(value)) == {
        "path\ufffd": ["a\ufffd", ["b", {"c": "\ufffd"}]],
        "number": 1,
    }


def test_an_indent_makes_many_lines_of_the_same_value() -> None:
    assert encode_json({"a": [1]}, indent=2) == b'{\n  "a": [\n    1\n  ]\n}'


def test_what_a_terminal_would_obey_is_escaped() -> None:
    encoded = encode_json({"a": "\x9b31m"})
    assert b"\\u009b" in encoded
    assert json.loads(encoded) == {"a": "\x9b31m"}


def test_json_in_ascii_has_the_same_value() -> None:
    text = encode_json({"ä": "→ 😀"}).decode()
    assert in_ascii(text).isascii()
    assert json.loads(in_ascii(text)) == {"ä": "→ 😀"}
