"""Names with a value, in every notation that people use: the value goes, and what is no secret stays."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.secrets.frames import has_frame_hint, redact_frame
from dragoman_local.secrets.names import REDACTED, is_secret_variable, is_telling
from dragoman_local.secrets.search import find, redact, redact_file
from dragoman_local.secrets.shapes import SHAPES
from tests.every import every

SECRET = "".join(("tr0ub", "4dor", "Heron"))

HIDDEN = [
    # shell and environment
    "export DB_PASSWORD={}",
    "PGPASSWORD={} psql -h db",
    'API_TOKEN="{}" run',
    "set AWS_SECRET_ACCESS_KEY={}",
    "_authToken={}",
    "//registry/:_password={}",
    "\x1b[32mINFO\x1b[0m \x1b[1mapi_key\x1b[0m=\x1b[33m{}\x1b[0m",
    # settings
    "#cloud-config\nchpasswd:\n  list: |\n    root:{}\n  expire: false\n",
    "enable secret 0 {}",
    "radius-server host 10.4.1.9 key 0 {}",
    # code of other languages
    '{{rabbit, [{{default_pass, <<"{}">>}}]}}.',
    'Const DB_PASSWORD As String = "{}"',
    "{{ adminPassword:: '{}' }}",
    # dialogues
    'expect "assword:"\nsend "{}\\r"',
    "AUTH LOGIN\n334 UGFzc3dvcmQ6\n{}\n235 ok",
    "login/pass: ida / {}",
    # settings
    "password = {}",
    "spring.datasource.password={}",
    "db.password: {}",
    "[db]\npassword = {}\nuser = me",
    'token = "{}"',
    "  - password: {}",
    "password: |\n  {}\nuser: me",
    "env:\n  - name: API_TOKEN\n    value: {}\n",
    "machine host login me password {}",
    # JSON, also within strings
    '{{"password": "{}"}}',
    '{{"clientSecret":"{}","a":1}}',
    '{{\\"api_key\\": \\"{}\\", \\"a\\": 1}}',
    '{{"name": "API_TOKEN", "value": "{}"}}',
    # markup
    "<password>{}</password>",
    "<ns:clientSecret type='x'>{}</ns:clientSecret>",
    '<add key="DbPassword" value="{}" />',
    '<user name="me" password="{}"/>',
    # headers
    "Authorization: Bearer {}",
    "Authorization: Token {}",
    "X-Api-Key: {}",
    "Cookie: sid={}; theme=dark",
    "Set-Cookie: sid={}; HttpOnly",
    "curl -H 'X-Auth-Token: {}' https://example.org",
    # addresses and connections
    "postgres://app:{}@db:5432/x",
    "https://example.org/x?a=1&access_token={}&b=2",
    "Server=db;Database=x;User Id=sa;Password={};Encrypt=True",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};",
    "app:{}@tcp(db:3306)/x",
    # commands
    "curl -u me:{} https://example.org",
    "mysql -uroot -p{} shop",
    "sshpass -p {} ssh host",
    "docker login -u me -p {} registry.example.org",
    "tool --password {} --verbose",
    "tool --token={}",
    "tool --api-key '{}'",
    'run(["tool", "--password", "{}"])',
    "redis-cli -h db -a {}",
    "kubectl create secret generic x --from-literal=password={}",
    "openssl rsa -in k.pem -passin pass:{}",
    "aws configure set aws_secret_access_key {}",
    # code
    'password = "{}"',
    "password: '{}',",
    'String dbPassword = "{}";',
    'let password: &str = "{}";',
    'password := "{}"',
    'const apiKey: string = "{}";',
    'password: str = "{}"',
    'builder.setPassword("{}")',
    'Config().password("{}")',
    'os.getenv("DB_PASSWORD", "{}")',
    'const s = process.env.SECRET || "{}"',
    '$config["password"] = "{}";',
    "'password' => '{}',",
    'SecretStr("{}")',
    "CREATE USER a IDENTIFIED BY '{}'",
    "ALTER ROLE a WITH PASSWORD '{}'",
    # images and manifests
    "ENV API_TOKEN={}",
    "ENV API_TOKEN {}",
    "ARG NPM_TOKEN={}",
    "apiVersion: v1\nkind: Secret\ndata:\n  some.file: {}\n",
    # commands that read a secret from their input
    "echo {} | docker login -u ci --password-stdin",
    "sudo -S <<< '{}'",
    "helm upgrade x . --set postgresql.auth.password={} --set a=b",
    # markup whose name is an attribute or an element of its own
    '<property name="hibernate.connection.password">{}</property>',
    "<property><name>ConnectionPassword</name><value>{}</value></property>",
    '<meta-data android:name="API_KEY" android:value="{}"/>',
    # keys of signatures, fallbacks, assignments of other languages
    "jwt.sign(payload, '{}')",
    "crypto.createHmac('sha256', '{}')",
    "getenv('DB_PASSWORD') ?: '{}'",
    'dbpass <- "{}"',
    # prose and logs
    "The password is {}, do not lose it.",
    "the password for the database is {}",
    "root password set to {}",
    "use password {} to log in",
    "level=debug user=ann secret={} ip=10.0.0.8",
]


@every("text", HIDDEN)
def test_a_value_behind_a_telling_name_is_hidden(text: str) -> None:
    written = text.format(SECRET)
    assert SECRET not in redact(written)
    assert REDACTED in redact(written)
    frame = json.dumps({"text": f"first line\n{written}\nlast line"}).encode()
    assert SECRET.encode() not in redact_frame(frame)
    if "\n" not in written and not written.startswith("ENV"):  # what is known by its lines is not known there
        quoted = json.dumps({"text": json.dumps({"inner": written})}).encode()
        assert SECRET.encode() not in redact_frame(quoted)


LETTERS = "".join(("qXrTk", "WzPdN", "hVbGm", "LsFjC", "yRtKx", "QwBnZ"))


@every("text", ["X-Api-Key: {}", 'token = "{}"', "Authorization: Bearer {}", "--api-key {}", "NPM_TOKEN: {}"])
def test_letters_in_an_order_that_no_words_have_are_a_secret(text: str) -> None:
    assert LETTERS not in redact(text.format(LETTERS))


@every(
    "text",
    [
        "eva:{SHA}2DaV7e+HWZ+TTThg8osOImqdkVg=",
        'secret "$9$Xy7NbsaJDkqf2gQ39pBIRcre"; ## SECRET-DATA',
        "sonar.login=2a665b147dd38f9761ed13367083028c1fba7e53",
        'psk="ein dachs im bau 7"',
        "(Benutzer=ida, Kennwort=Bohnenstange)",
    ],
)
def test_hashes_and_words_in_their_places_are_covered(text: str) -> None:
    assert REDACTED in redact(text)


def test_a_secret_is_covered_wherever_it_stands() -> None:
    assert SECRET not in redact(f'connect(dsn, "app", "{SECRET}"); options = {{password: "{SECRET}"}}')
    # not what is a word as well
    assert redact("password: 'staging-server1'\nhost: staging-server1\n").endswith("host: staging-server1\n")


@every("text", ['("Authorization", "Basic {}")', "headers.set('Authorization', 'Basic {}');"])
def test_what_a_header_has_behind_its_scheme_is_a_secret(text: str) -> None:
    assert "q7Zk" not in redact(text.format("q7Zk" * 5))


KEY, PIECE = "aB3dE5fG7hJ9kL1mN3pQ5rS7t", "".join(("Zx8Cv7", "Bn6Mq5We4Rt3Yu"))
LISTS = [
    '{{"secrets": {{"a": "{}", "b": "{}"}}}}',
    '{{"apiTokens": {{"ann": "{}", "ben": "{}"}}}}',
    '{{"tokens": [{{"name": "ci", "value": "{}"}}, {{"name": "cd", "value": "{}"}}]}}',
    'tokens = ["{}", "{}"]',
    "api_keys: ['{}', '{}']",
    "PASSWORDS = (\n    '{}',\n    '{}',\n)\n",
    'const apiKeys = {{ stripe: "{}", mail: "{}" }};',
    "secrets = {{'db' => '{}', 'mail' => '{}'}}",
    'password = ["{}", "{}"]',
    '{{\\"accessTokens\\": {{\\"a\\": \\"{}\\", \\"b\\": \\"{}\\"}}}}',
]


@every("text", LISTS)
def test_each_value_of_a_list_or_a_table_with_a_telling_name_is_hidden(text: str) -> None:
    written = text.format(KEY, PIECE)
    for shown in (redact(written), redact_frame(json.dumps({"text": written}).encode()).decode()):
        assert (KEY in shown, PIECE in shown) == (False, False)


@every(
    "text",
    [
        'tokens = ["hello", "Hello2World", "the-end"]',
        '{"tokens": {"prompt": "1024", "model": "gpt-4o-mini"}}',
        '{"secrets": {"user": "aB3dE5fG7hJ9", "file": "aB3dE5fG7hJ9"}}',
        'passwords = ["string", "required", "<one>"]',
        'PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]',
        'tokens = ["a"]\nname = "aB3dE5fG7hJ9kL1mN3pQ5rS7t"',
    ],
)
def test_words_in_such_lists_and_what_stands_behind_them_stay(text: str) -> None:
    assert redact(text) == text


@every(
    "text",
    [
        "INSERT INTO users VALUES (1, 'ann', '{}', 'ann@example.org');",
        "insert into shop.api_keys values ('ann', '{}')",
        'const mail = new Client("{}");',
        "client = MailClient('{}')",
        'maps.init("{}")',
        "require('mail')('{}')",
    ],
)
def test_a_key_without_a_name_is_known_by_what_takes_it(text: str) -> None:
    assert KEY not in redact(text.format(KEY))
    assert KEY.encode() not in redact_frame(json.dumps({"text": text.format(KEY)}).encode())


@every(
    "text",
    [
        "INSERT INTO users VALUES (1, 'ann', 'ann@example.org', '2024-05-01T12:00:00Z', 'Europe/Berlin');",
        "INSERT INTO events VALUES ('aB3dE5fG7hJ9kL1mN3pQ5rS7t');",
        'parse("aB3dE5fG7hJ9kL1mN3pQ5rS7t")',
        'new Client("https://example.org/a/b")',
        'new Client("my-application-name-for-tests")',
    ],
)
def test_other_rows_and_arguments_stay(text: str) -> None:
    assert redact(text) == text


WORDS = [
    "AUTH {}",
    "> AUTH default {}",
    'The password is "{}".',
    "its password is '{}'",
    'Enter "{}" as the password.',
    "the wifi password: {}",
    "Our router's password: {}",
    "username: ann, password: {}",
    "login: ann / password: {}",
]


@every("text", WORDS)
def test_a_password_of_letters_is_known_where_people_write_it(text: str) -> None:
    word = "".join(("sword", "fish"))
    assert word not in redact(text.format(word))
    assert word.encode() not in redact_frame(json.dumps({"text": text.format(word)}).encode())


@every("text", [text.format(word) for text in WORDS for word in ("required", "missing", "string", "secret")])
def test_a_word_about_a_password_stays(text: str) -> None:
    assert redact(text) == text


STAYS = [
    "Commands: `curl -u`, `mysql -p`, `sshpass -p`, `docker login -p`, options with a name",
    "*Pair a Phone* passes the token to `dragoman hub pair` in the environment",
    "four characters are a token. `split=1` sends them apart",
    'secret = "httpsProxyHandler"',
    "token: MyHttpsTokenHandlerFactory",
    "password xxx for the example",
    "password = ${DB_PASSWORD}",
    "password: $DB_PASSWORD",
    "password=<your password>",
    "PASSWORD=changeme",
    "API_KEY=xxxxxxxxxxxx",
    "token: str",
    "token: Optional[str] = None",
    "password: string;",
    "password = getpass()",
    "password = user.password",
    "connect(user=user, password=password)",
    "const token = await getToken();",
    "if token == '(':",
    "max_tokens=4096",
    "MAX_TOKENS=4096",
    "next_page_token = 'abc123def456'",
    "tokenizer: bert-base-uncased",
    "public_key = 'abc123def456'",
    'TOKEN_URL = "https://example.org/oauth2/token"',
    "password_file: /run/secrets/db",
    "private_key = '/etc/ssl/key.pem'",
    "password: true",
    "secret: null",
    'label="Password"',
    '"password": "Password"',
    'password = input("Enter your password: ")',
    '"token": "keyword.control"',
    "a password is required",
    "the token is missing",
    "--password-stdin",
    "--token-file /run/token",
    "git@github.com:owner/name.git",
    "https://host:8080/path@v2",
    "mail me@example.org",
    "Authorization: required",
    "sessionId: 0192f0c4-7b1e-7c3a-9d2e-1f2a3b4c5d6e",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "ask-the-other-question-tomorrow-morning",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0Z3VS5JJcds3xfn",
    # lists of names
    "names = [\n    'fputcsv',\n    'passthru',\n    'readfile',\n    'realpath',\n]\n",
    "    r'passwordbox|'\n    r'pause|'\n    r'random|'\n",
    '    "ssh2_auth_password",\n    "ssh2_auth_pubkey_file",\n',
    "def sign(private_key: Ed25519PrivateKey | Ed448PrivateKey) -> bytes: ...",
    'class SimpleCredential(Credential):\n    """Simple credentials implementation"""\n',
    "image = '" + "A" * 40 + "BAAA" + "A" * 40 + "'",
    "Here is the key idea: count each token, pass the result on, and keep a cookie's header.",
]


@every("text", STAYS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) is text or redact(text) == text


@every(
    "name",
    ["password", "db_password", "dbPassword", "X-Api-Key", "spring.datasource.password", "accessToken"],
)
def test_a_name_is_telling_in_every_spelling(name: str) -> None:
    assert is_telling(name)
    assert is_telling(name.replace("_", "-"))


@every(
    "name",
    ["sessionId", "toolCallId", "inputTokens", "tokenCount", "authMethods", "publicKey", "key", "monkey"],
)
def test_names_of_the_protocol_are_not_telling(name: str) -> None:
    assert not is_telling(name)


def test_variables_of_the_shell_are_no_secrets() -> None:
    assert not any(map(is_secret_variable, ("PWD", "OLDPWD", "PATH", "HOME", "SSH_AUTH_SOCK")))
    assert all(map(is_secret_variable, ("A_KEY", "GITHUB_PAT", "MY_TOKEN", "PGPASSWORD")))


def test_each_row_is_a_pattern_and_has_its_word() -> None:
    for shape in SHAPES:
        re.compile(shape.pattern)
        assert len(shape.word) >= 2, shape.kind


def test_the_kind_says_what_was_found() -> None:
    key = "ghp_" + "a1B2" * 9
    text = f"use {key} and DB_PASSWORD={SECRET}"
    assert [(text[start:end], kind) for start, end, kind in find(text)] == [
        (key, "github"),
        (SECRET, "named"),
    ]


@every(
    "text",
    [
        '{"type": "password",\n "options": null,\n "label": "API key"}\n',
        '{"required": ["SecretId", "SecretString", "ClientRequestToken", "RoleArn"]}\n',
    ],
)
def test_the_next_key_and_the_next_item_of_a_file_of_settings_stay(text: str) -> None:
    assert redact_file(text, name="api.json") == text


def test_a_covered_file_keeps_its_lines() -> None:
    block = "-----BEGIN PRIVATE KEY-----\nMIIEowA1B2\nabc=\n-----END PRIVATE KEY-----"
    text = f"first\n{block}\ntoken = letmein\nlast\n"
    assert redact_file(text, name="x.ini").split("\n")[-3:] == [f"token = {REDACTED}", "last", ""]
    assert redact_file(text, name="x.ini").count("\n") == text.count("\n")
    assert "letmein" in redact_file(text, name="x.py"), "in code this is the name of a variable"


PIECES = st.sampled_from(
    [
        *(text.format(SECRET) for text in HIDDEN),
        *STAYS,
        "\n",
        " ",
        '"',
        "'",
        "\\",
        "=",
        ":",
        "--",
        "@",
        "ghp_",
        REDACTED,
        "password",
        "token=",
        "a1B2" * 9,
        "-----BEGIN PRIVATE KEY-----",
        "é",
        "K",
        "İ",
    ]
)
TEXTS = st.lists(PIECES, max_size=5).map("".join)


@given(TEXTS)
def test_nothing_is_found_in_a_redacted_text(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(TEXTS)
def test_without_a_hint_nothing_is_found(text: str) -> None:
    frames = (
        json.dumps([text], ensure_ascii=is_ascii).encode(errors="replace") for is_ascii in (True, False)
    )
    assert all(map(has_frame_hint, frames)) or not find(text)


@given(
    st.recursive(
        TEXTS | st.integers(), lambda x: st.lists(x, max_size=3) | st.dictionaries(TEXTS, x, max_size=3)
    )
)
def test_a_redacted_frame_differs_in_strings_alone(value: Any) -> None:
    assert _without_strings(json.loads(redact_frame(json.dumps(value).encode()))) == _without_strings(value)


def _without_strings(value: Any) -> Any:
    if isinstance(value, dict):
        return [_without_strings(field) for field in value.values()]
    return [_without_strings(item) for item in value] if isinstance(value, list) else isinstance(value, int)


@every(
    "piece",
    [
        "password ",
        "token: ",
        "a.",
        "-",
        "--token ",
        "1.-",
        "://a:",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
        "\\",
        "' ",
        "key=\\",
        "curl ",
        "<password ",
        "secret\n",
        "aB1",
        "login a ",
        "value",
        "password='",
        'token="',
        "a:b@tcp(",
        "sk-",
        "token,x\n",
        "token\tx\na\tb\n",
        "use a as ",
        "log in as a / b1",
        "/hook",
        "connect('a','b'",
        "verification code ",
        "passwords?\na: b1c2d3e4 ",
        "a1B2c3D4e5F6g7H8.",
        "password:\n  type: x\n",
        "phrase is abc ",
        'tokens = ["a", ',
        '"secrets": {"a": {"b": "c"}, ',
        "insert into users values ('a', ",
        "AUTH abcdefg ",
        "the password: ",
        "user: a, password: ",
        'new Client("a1B2c3D4e5F6g7H8i9J0',
        "token,",
        'enter "abcdefg" ',
    ],
)
def test_a_text_of_one_piece_is_searched_within_reach(piece: str) -> None:
    # A search that tries every end from every start would take minutes here.
    assert find(piece * (20_000 // len(piece))) is not None
