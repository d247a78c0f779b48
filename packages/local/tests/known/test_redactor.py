"""Secrets are taken out, and the rest stays readable."""

from dragoman_local.known.redactor import Redactor, redact_shapes
from tests.every import every

# Put together here, so that nothing that looks like a key stands in the repository.
SHAPED = [
    "sk-" + "a1B2" * 6,
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2" * 9,
    "AIza" + "a1B2" * 9,
    "xoxb-" + "1234567890-" * 2,
    "AKIA" + "ABCD" * 4,
    "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0." + "x7" * 5,
]


@every("key", SHAPED)
def test_what_has_the_shape_of_a_key_goes(key: str) -> None:
    assert redact_shapes(f"before {key} after") == "before [redacted] after"


@every(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer [redacted]"),
        ('{"apiKey": "abcdefgh12345"}', '{"apiKey": "[redacted]"}'),
        ("--token=abcdefgh12345 --fast", "--token=[redacted] --fast"),
        ('"inputTokens": 123456789', '"inputTokens": 123456789'),
        ("a token is missing", "a token is missing"),
        ("set OPENAI_API_KEY first", "set OPENAI_API_KEY first"),
        ("task-1234567890-abcdefghij", "task-1234567890-abcdefghij"),
    ],
)
def test_what_is_called_a_key_goes_and_words_stay(text: str, shown: str) -> None:
    assert redact_shapes(text) == shown


def test_values_of_variables_with_telling_names_show_the_name() -> None:
    redact = Redactor({"MY_API_KEY": "plain-looking", "HOME": "/home/ann", "SSH_AUTH_SOCK": "/tmp/ssh-1"})
    told = "plain-looking is in /home/ann and /tmp/ssh-1"
    assert redact(told) == "[MY_API_KEY] is in /home/ann and /tmp/ssh-1"


def test_all_values_that_were_set_on_purpose_go_but_short_words_stay() -> None:
    redact = Redactor({"LEVEL": "debug", "THING": "some thing"}, all_values=True)
    assert redact("debug: some thing") == "debug: [THING]"


def test_a_value_is_found_in_a_frame_too() -> None:
    redact = Redactor({"KEY": 'with "quotes"'})
    assert redact('{"x":"with \\"quotes\\""}') == '{"x":"[KEY]"}'


def test_the_longer_of_two_values_is_taken_first() -> None:
    redact = Redactor({"A_KEY": "abcdef"}) | Redactor({"B_KEY": "abcdefgh"})
    assert redact("abcdefgh abcdef") == "[B_KEY] [A_KEY]"
