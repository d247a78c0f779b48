"""Notations between a name and its value, and blocks of lines below a name: one text for each."""

from __future__ import annotations

import json

from dragoman_local.secrets.frames import redact_frame
from dragoman_local.secrets.names import REDACTED
from dragoman_local.secrets.search import redact
from tests.every import every

SECRET = "".join(("tr0ub", "4dor", "Heron"))
RANDOM = "".join(("aB3dE5f", "G7hJ9kL1m", "N3pQ5rS7t"))

HIDDEN = [
    # a list or a table of one
    'api_token = ["{}"]',
    '{{"client_secret": {{"S": "{}"}}}}',
    'admin_password = {{ value = "{}" }}',
    "token=[{}]",
    "default['postgresql']['password']['postgres'] = '{}'",
    'static const char kApiKey[] = "{}";',
    # a hash or a password behind its scheme
    "password={{noop}}{}",
    # assignments and comparisons
    "API_TOKEN ?= {}",
    'password += "{}"',
    'if ($password -eq "{}")',
    'expect(form.password).toBe("{}")',
    'password = f"{}"',
    'log.info("password: {{}}", "{}")',
    ":password: {}",
    "setx API_TOKEN {}",
    "-DapiKey={}",
    # prose and markup
    "API token — {}",
    "<tr><td>API token</td><td>{}</td></tr>",
    "<b>Password:</b> {}",
    '<input value="{}" name="password">',
    '{{"value": "{}", "name": "DB_PASSWORD"}}',
    '<meta name="api-key" content="{}">',
    '"adminPassword": {{ "type": "securestring", "defaultValue": "{}" }}',
    # written as in addresses and in HTML
    "next=https%3A%2F%2Fa.example%3Faccess_token%3D{}%26x%3D1",
    "&quot;password&quot;:&quot;{}&quot;",
    # beside other words
    "winexe -U 'CORP/ann%{}' //host cmd",
    '{{"name": "Cookie", "value": "sid={}; theme=dark"}}',
    # lines below a name
    "client_secret:\n{}\n",
    "insert into users (name, password)\n values ('ann', '{}')",
]


@every("text", HIDDEN)
def test_a_value_is_hidden_in_every_notation(text: str) -> None:
    written = text.format(SECRET)
    assert SECRET not in redact(written)
    frame = json.dumps({"text": f"first line\n{written}\nlast line"}).encode()
    assert SECRET.encode() not in redact_frame(frame)


@every(
    "text",
    [
        "api_keys:\n  - {}\nother: 1\n",
        "tokens:\n  - name: ann\n    value: {}\n",
        '"tokens": {{\n  "ann": "{}"\n}}',
        '[passwords]\nann = "{}"\n',
        "my key is {}, keep it.",
        "auth: {}",
        '{{"auths": {{"registry.example": {{"auth": "{}"}}}}}}',
        "tool auth {}",
        "tool login {}",
        "use `{}` as the bearer token",
    ],
)
def test_random_text_is_hidden_below_and_beside_its_name(text: str) -> None:
    written = text.format(RANDOM)
    assert REDACTED in redact(written)
    assert RANDOM not in redact(written)
    frame = json.dumps({"text": f"first line\n{written}\nlast line"}).encode()
    assert RANDOM.encode() not in redact_frame(frame)


def test_a_name_of_code_does_not_end_with_the_sign_of_one() -> None:
    assert redact("become_password: Harbor_579$") == "become_password: [redacted]"


def test_digits_are_hidden_behind_the_name_of_a_password() -> None:
    assert redact("Your one-time password is 260910") == "Your one-time password is [redacted]"


@every(
    "text",
    [
        "credentials:\n  region: us-east-1\n  user: ann4you12\n  role: admin-role-1\n",
        "imagePullSecrets:\n  - name: registry-login-12\n",
        "password:\n  minLength: 8\n  pattern: '[a-z0-9]{8,}'\n",
        '"token": {\n  "type": "string",\n  "description": "a word2 or 3"\n}',
        '"password": ["required", "min:8"]',
        '"accessKey": {\n  "Region": "us-east-1",\n  "CreateDate": "2019-04-18T20:45:36+00:00"\n}',
        "'write_tokens': {\n    'price_key': 'cache_write_1h_tok',\n    x: indent(call1, 2),\n}",
        'PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]',
        "token = [a-z0-9_]",
        "insert into tokens (name, length) values ('ann', 'b4c5d6e7f8')",
        "| Key | Value |\n|---|---|\n| Admin password | <none> |\n| Region | eu-west-12 |",
        "new Set([`cookie`, `authorization`]); a = f1(x2).y3;",
        "@X_PKCS8_ENCRYPTED_KEY: PKCS-12 bag with a key",
        "key = new_by_curve_name(NID_X9_62_prime256v1);",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app1-x",
        "if token:\n    return1\n",
        "--token -e x1\n",
    ],
)
def test_what_only_stands_there_stays(text: str) -> None:
    assert redact(text) == text
