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


MIXED = "".join(("Tq7_", "vR2m", "Lp9xWd"))
HEX = "".join(("9f86d081", "884c7d65", "9a2feaa0", "c55ad015"))

CLASSES = [
    # a value in several parts, in groups, as numbers, or one of several
    'password = "first8part" + "{MIXED}"',
    "candidates for the vault password: x1Y_{MIXED}2, {MIXED} or Zk4_{MIXED}",
    "API_KEYS={RANDOM},{RANDOM}x",
    "x = 1\nmaster key: 80B8 11B5 C78F 9B9A 7FA9 3A89",
    "uint8_t aes_key[8] = {{ 0x15, 0xce, 0x01, 0x5c, 0xfb, 0xaa, 0x44, 0x6a }};",
    "known passwords:\n* {MIXED}1\n* {MIXED}2\n",
    "Recovery codes:\n34e2b-53661\n0c57b-c325d",
    # quotes and marks of other languages
    "c.password = %q({MIXED})",
    "DRIVER=x;SERVER=y;PWD={{{MIXED}}}",
    "password: &db {MIXED}",
    "password: crypt_it('{MIXED}')",
    "$tokens = @{{ Db = '{RANDOM}'; Mail = '{RANDOM}' }}",
    "db_pass=Q\\${MIXED}",
    "password\\u003a \\u0022{MIXED}\\u0022",
    # calls
    'mysql_real_connect(&c, "db", "root", "{MIXED}", "shop", 0, NULL, 0);',
    'client.connect("10.0.0.4", 22, "root", "{MIXED}")',
    'new NetworkCredential("bot", "{MIXED}", "corp")',
    'new SymmetricSecurityKey(Encoding.UTF8.GetBytes("{MIXED}"))',
    'btoa("ann:{MIXED}")',
    "`Bearer ${{'{RANDOM}'}}`",
    # commands
    "aws ssm put-parameter --type SecureString --value '{MIXED}'",
    "restic --password-command 'echo {MIXED}' snapshots",
    "read -r PASS <<< '{MIXED}'",
    "printf '%s\\n' '{MIXED}' '{MIXED}x' | passwd ann",
    "cat > /run/secrets/db <<X\n{MIXED}\nX",
    "kubectl get secret x | base64 -d\n{MIXED}",
    "echo '{MIXED}' > .vault_pass",
    "$ echo $DB_PASSWORD\n{MIXED}",
    ">>> settings.DB_PASSWORD\n'{MIXED}'",
    "influx config create -t {RANDOM}{RANDOM}== -o x",
    "crypto isakmp key {MIXED} address 10.0.0.1",
    # databases
    "SET PASSWORD FOR 'app'@'%' = '{MIXED}';",
    "ATTACH DATABASE 'x.db' AS e KEY '{MIXED}';",
    "EXEC sp_addlogin 'ann', '{MIXED}';",
    # files
    "x.example\tTRUE\t/\tTRUE\t1790000000\tsid\t{RANDOM}",
    '{{"name": "sid", "value": "{RANDOM}", "domain": "x.example"}}',
    "kind: Secret\nstringData:\n  a.ini: |\n    [db]\n    password = {MIXED}\n",
    '{{"kty":"RSA","d":"{RANDOM}","p":"{RANDOM}x"}}',
    "<RSAKeyValue><P>{RANDOM}</P><D>{RANDOM}x</D></RSAKeyValue>",
    'resource "random_password" "db" {{\n  result = "{MIXED}"\n}}',
    "Administrator:500:aad3b435b51404eeaad3b435b51404ee:{HEX}:::",
    "ann:1001:" + "X" * 32 + ":{HEX}:[U ]:LCT-65A1B2C3:",
    '"ann" "md5{HEX}"',
    "# chap-secrets\nann * {MIXED} *\n",
    "WIFI:T:WPA;S:Nest;P:{MIXED};;",
    "title,password,totp\nMail,x,JBSWY3DPEHPK3PXP\n",
    # prose
    "pw for the zip: {MIXED}",
    "My new wifi password's {MIXED}, tell the guests",
    "the password (for staging) is {MIXED}",
    "Just type {MIXED} when it asks for the passphrase.",
    "then enter `admin` and `{MIXED}`",
    "> Secret key\n> `{RANDOM}`",
    "Salasana on {MIXED}",
    "Clé secrète : {RANDOM}",
]


@every("text", CLASSES)
def test_what_people_write_in_other_ways_is_hidden(text: str) -> None:
    written = text.format(MIXED=MIXED, RANDOM=RANDOM, HEX=HEX)
    values = [MIXED, RANDOM, HEX, "0c57b", "7FA9 3A89", "0xaa, 0x44", "JBSWY3DP"]
    told = [value for value in values if value in written]
    for shown in (redact(written), redact_frame(json.dumps({"text": f"a\n{written}\nb"}).encode()).decode()):
        assert [value for value in told if value in shown] == []


@every(
    "text",
    [
        'password = "required" + suffix',
        'tokens = ["a"]; name = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9"',
        "tokens: Foo, Bar2, Baz",
        "uint8_t key_sizes[8] = { 0x15, 0xce, 0x01, 0x5c, 0xfb, 0xaa, 0x44, 0x6a };",
        "class Wrapped Keys:\n    first: X25519PrivateKey\n",
        "private_key: x25519.X25519PrivateKey\n    | ec.EllipticCurvePrivateKey\n",
        'password = password.encode("latin1")',
        "password = %q(password)",
        "password: *default",
        "DRIVER=x;PWD={pwd};UID={uid}",
        'button.connect("clicked", on_click)',
        "echo value1 > out.txt",
        "docker build -t registry-mirror/some-long-application-name-v2 .",
        "int(im.size[0] * im.size[1] * 4)  # secret",
        "a = scale * kFactor16 * b  # no secrets here",
        "arn:aws:ec2:*:*:vpc-endpoint/*",
        "https://play.example/?code=%23!%5Ballow(unused)%5D%0Afn+main()+%7B",
        "the token's sha256 hash",
        "Bresenham lines\n      on VIA/S3 ProSavage DDR-K",
        "snmp-server community public",
        "enter `admin` and `submit`",
        '{"name": "theme", "value": "dark", "domain": "x.example"}',
        "| base64 -d\nno secret found",
    ],
)
def test_what_is_written_in_the_same_ways_and_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text
