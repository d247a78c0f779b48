"""Texts with secrets that are none. They are put together here, so that no scanner finds one in this file.

The random parts come from a generator with a fixed seed: they look as random as the real ones.
"""

from __future__ import annotations

import random
import string

_dice = random.Random(20)
_LETTERS = string.ascii_letters + string.digits


def noise(size: int, alphabet: str = _LETTERS) -> str:
    return "".join(_dice.choices(alphabet, k=size))


HEX = "0123456789abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

# kind → (texts with one, texts that only look like it)
EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "private-key": (
        [f"-----BEGIN {kind}PRIVATE KEY-----\n{noise(64)}\n" for kind in ("", "RSA ", "OPENSSH ")],
        [
            "-----BEGIN PUBLIC KEY-----\n" + noise(64),
            "-----BEGIN PRIVATE KEY-----\n...\n",
            "-----BEGIN PRIVATE KEY-----",
        ],
    ),
    "aws-key": (
        ["key = 'AKIA" + noise(16, UPPER) + "'"],
        ["AKIAIOSFODNN7" + "EXAMPLE", "AKIA" + "A" * 16, "AKIA" + noise(20, UPPER)],
    ),
    "aws-secret": (
        ["aws_secret_access_key = " + noise(40), "AWS_SECRET_KEY: '" + noise(40) + "'"],
        ["aws_secret_access_key = $SECRET", "git_commit = " + noise(40, HEX), "aws_secret = " + "a" * 40],
    ),
    "github-token": (
        ["ghp_" + noise(36), "token: gho_" + noise(36)],
        ["ghp_" + "x" * 36, "ghp_short", "xghp_" + noise(36)],
    ),
    "authorization": (
        [
            '.header("Authorization", "Bearer ' + noise(43) + '")',
            "'Authorization': 'Basic " + noise(32) + "'",
        ],
        ['.header("Authorization", "Bearer " + token)', "Authorization: 'Bearer " + "x" * 30 + "'"],
    ),
    "variable-default": (
        ['variable "api_token" {\n  type = string\n  default = "' + noise(32) + '"\n}'],
        [
            'variable "api_token" {\n  type = string\n}',
            'variable "api_token" {\n  default = "changeme-please"\n}',
            'variable "image" {\n  default = "' + noise(32) + '"\n}',
        ],
    ),
    "gitlab-token": (["glpat-" + noise(20)], ["glpat-" + "x" * 20, "glpat-abc"]),
    "slack": (
        [
            "xoxb-" + noise(12, "2938475610") + "-" + noise(13, "2938475610") + "-" + noise(24),
            "https://hooks.slack.com/services/T" + noise(8, UPPER) + "/B" + noise(8, UPPER) + "/" + noise(24),
        ],
        ["xoxb-your-token", "https://hooks.slack.com/services/XXX"],
    ),
    "stripe-key": (["sk_live_" + noise(24)], ["sk_test_" + noise(24), "sk_live_xxxx"]),
    "google-key": (["AIza" + noise(35)], ["AIza" + "a" * 35, "AIzaShort"]),
    "model-key": (
        [
            "sk-ant-api03-" + noise(80),
            "sk-proj-" + noise(60),
            "sk-" + noise(48),
            "hf_" + noise(34, string.ascii_letters),
        ],
        ["sk-ant-api03-...", "sk-learn is a library", "task-" + noise(48)],
    ),
    "registry-token": (
        ["npm_" + noise(36), "pypi-AgEIcHlwaS5vcmc" + noise(60)],
        ["npm_config_registry", "npm_" + "a" * 36],
    ),
    "service-token": (
        [
            "SG." + noise(22) + "." + noise(43),
            "dop_v1_" + noise(64, HEX),
            noise(10, "2938475610") + ":AA" + noise(33),
        ],
        ["SG.x.y", "dapi_client = 1", "12:30:AA"],
    ),
    "web-token": (
        ["eyJ" + noise(30) + ".eyJ" + noise(60) + "." + noise(43)],
        ["eyJ" + noise(30), "eyJ.eyJ.x"],
    ),
    "storage-key": (
        ["AccountKey=" + noise(86) + "==;"],
        ["AccountKey=<key>;", "AccountKey=" + "A" * 86 + "=="],
    ),
    "url-password": (
        ["postgres://app:" + noise(12) + "@db.internal/x"],
        [
            "postgres://user:password@db.internal/x",
            "postgres://app:${PW}@db.internal/x",
            "http://host:8080/@x",
            "postgres://app:" + noise(12) + "@localhost/x",
        ],
    ),
    "assigned": (
        [
            "password = '" + noise(20) + "7k'",
            '"apiKey": "' + noise(32) + '"',
            "client_secret: '" + noise(24) + "',",
            'var jwtSecret = []byte("' + noise(32) + '")',
            'const apiKey: string = "' + noise(24) + '";',
            'const secret = process.env.SECRET || "' + noise(24) + '";',
        ],
        [
            "password = 'correct horse battery'",
            'const apiKey: string = process.env.API_KEY ?? "";',
            'var jwtSecret = []byte(os.Getenv("JWT_SECRET_1"))',
            "password = os.environ['PASSWORD_1']",
            "token = 'your-token-goes-here-1'",
            "secret_name = 'projects/1/secrets/2'",
            "next_page_token = '" + noise(20) + "'",
            "password = 'aaaaaaaaaaaa1'",
            "token_url = 'https://x.io/oauth2/token'",
            "api_key = '${API_KEY_2}'",
        ],
    ),
    "configured": (
        [
            "API_KEY=" + noise(32),
            "export DB_PASSWORD=" + noise(20),
            "- name: DB_PASSWORD\n  value: '" + noise(20) + "'",
        ],
        [
            "API_KEY=$OTHER_KEY_NAME_1",
            "PASSWORD_FILE=/run/secrets/db1",
            "TOKEN=",
            "API_KEY=changeme1234567890",
        ],
    ),
}
