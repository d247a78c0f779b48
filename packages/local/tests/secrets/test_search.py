import json

from dragoman_local.secrets.frames import redact_frame
from dragoman_local.secrets.search import redact
from tests.every import every

SECRET = "".join(("s3cr3t", "Value", "0123456789"))
KEYS = [
    "sk-" + "a1B2" * 6,
    "sk-ant-api03-" + "x7" * 12,
    "ghp_" + "a" * 36,
    "github_pat_" + "b" * 30,
    "xoxb-" + "1" * 12,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + "c" * 35,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh",
    "hf_" + "d" * 30,
    *(f"vc{kind}_" + "k7Q2" * 8 for kind in "ak"),
    ".".join(("st", "5f" * 12, "a9" * 16, "b8" * 16)),
    "live_" + "a1B2c3" * 5,
    "test_" + "0f1" * 11 + "ab",
    "dnkey-" + "a1" * 13 + "-" + "b2" * 26,
    "p8e-" + "aB3d" * 8,
    "waka_" + "0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f",
    "polar_oat_" + "a1B2" * 10,
    "tr_prod_" + "a1B2" * 5,
    "signkey-prod-" + "0f" * 20,
    "sk_dev_" + "a1B2" * 10,
    "0f" * 18 + "NRAL",
]


@every("key", KEYS)
def test_keys_of_known_shapes_are_covered(key: str) -> None:
    assert redact(f"curl -H 'x: {key}' https://example.org") == "curl -H 'x: [redacted]' https://example.org"


@every(
    "text",
    [
        "curl -H 'Authorization: Bearer {}' x",
        "PASSWORD={} run",
        "export API_KEY='{}'",
        'x --token "{}"',
        "x --password {} y",
        "x --api-key={} y",
        "git clone https://user:{}@example.org/x",
        '{{"client_secret": "{}", "a": 1}}',
        "MY_ACCESS_TOKEN={}; y",
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_values_behind_telling_names_are_covered(text: str) -> None:
    covered = redact(text.format(SECRET))
    assert SECRET not in covered
    assert "[redacted]" in covered


@every("text", ["git status", "ls --author x", "cat token.txt", "tokenize x y", "https://example.org/a@b"])
def test_what_looks_like_nothing_stays(text: str) -> None:
    assert redact(text) == text


@every("text", ["éBearer {}", "é--token {}", "ébasic dXNlcjpzM2NyM3Q= authorization"])
def test_a_letter_that_json_escapes_hides_nothing(text: str) -> None:
    frame = json.dumps({"text": text.format(SECRET)}).encode()
    assert b"\\u00e9" in frame
    assert b"[redacted]" in redact_frame(frame)


@every(
    "text",
    [
        "user,password\nbob,{}\n",
        "user,password\r\nbob,{}\r\n",
        "host\tlogin\tpasswd\nsw9\troot\t{}",
        "*:*:*:replica:{}",
        'x\nkey = b"{}"',
        "x\nlog in as admin / {}",
    ],
)
def test_tables_and_lines_are_found_behind_the_commas_and_escapes_of_a_message(text: str) -> None:
    value = SECRET.capitalize() * 2
    message = {"id": 1, "args": ["-c", text.format(value)], "cwd": "/", "timeout": None}
    assert value.encode() not in redact_frame(json.dumps(message).encode())


@every("key", ["xoxd-" + "a1B2" * 6 + "%2F" + "b3%2B" * 4 + "%3D", "lsv2_pt_" + "a1" * 16 + "_" + "b2" * 5])
def test_no_end_of_a_key_stays(key: str) -> None:
    assert redact(f"x = '{key}'") == "x = '[redacted]'"


def test_a_mnemonic_is_found_behind_a_colon() -> None:
    words = " ".join(["abandon", "ability", "able", "about", "above", "absent"] * 2)
    assert redact(f'mnemonic: "{words}"') == 'mnemonic: "[redacted]"'
