"""Names that announce a secret, and values that are plainly not secrets. Pure values, no search."""

from __future__ import annotations

import base64
import binascii
import functools
import re
from enum import IntEnum

REDACTED = "[redacted]"

LONGEST_LOOK = 256
"""The characters of a value that are checked."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PASSWORDS = _words(
    """
    pass passcode passphrase passw passwd password passwort psk psw pswd pw pwd contraseña passe
    """
)
_WORDS = PASSWORDS | _words(
    """
    accesskey accountkey apikey apitoken auth authkey authorization authtoken bearer cookie cred
    credential credentials creds dockerconfigjson jwt kennwort otp totp passkey privatekey secret secretkey
    sessid phpsessid setcookie sig signature token xapikey
    """
)
_ENDS = tuple(
    _words(
        """
        password passwd passphrase secret token apikey accesskey secretkey privatekey authkey pwd passwort
        accountkey
        """
    )
)
_NO_PASSWORDS = _words(
    "bypass compass trespass surpass encompass overpass underpass lastpass keepass sshpass"
)
_KEY_OWNERS = _words(
    """
    access account admin aes algolia anthropic api app auth authorization cipher client consumer cookie
    crypto data datadog decryption deploy encrypt encryption fcm functions gemini genie github google
    hmac host ikm ingest integration jwt license live mailgun maps master openai personal preshared
    private psk recovery rest role root routing sas secret sendgrid server service session shared
    signature signing ssh storage stripe subscription symmetric unseal validation vapid vault wallet
    webhook wpa write
    """
)
"""What stands before `key` where it is a secret. `primary`, `cache` and `public` keys are none."""

_NOT_AFTER = _words(
    """
    age agent alg algo algorithm and arg args arn at attr attribute audience backend bits budget builder
    button by cache callback change changed char chars charset checksum class client cmd code codes
    color column command config configs context count counts created date description digest dir
    disabled domain duration enabled encoding end endpoint env error errors event expiration expire
    expires expiry factory family field fields file filename files fingerprint flow fn folder for form
    format func function generator group handler hash header headers help hint host id ids idx in index
    info input is issuer key keyring keys kind label len length level lifetime limit link list
    management manager map mask max message method methods middleware min mode module msg name names
    node not of off on option options or output page param params parser path pattern placeholder plugin
    policy port pos position prefix prompt prop property props provider rate ref regex regexp request
    required reset response result role rotate rotation rule rules scan scanning scheme scope scopes
    screen server service session sessions set settings size sock socket source start state status store
    stream strength style suffix table template text the threshold through time timeout title tree ttl
    type types update updated uri url urls usage user username valid validator value var variable
    version view was
    """
)
"""Behind a telling word these say that something about the secret is meant, and not the secret."""

_NOT_BEFORE = _words(
    """
    abort bos by cancel cancellation class close cls comment completion consume continuation
    count current cursor eos expected first function has high input invalid is keyword last lexer low
    mask match max method min missing multi n next no non num open operator output pad page parser peek
    prev previous progress prompt public punctuation sep single special stop string sub sync syntax
    total type unexpected unk word
    """
)


class Doubt(IntEnum):
    """How much a value must look like a secret, depending on its name and its place."""

    NONE = 0
    """Any value counts, except a placeholder and a reference."""
    WORD = 1
    """One word that does not look like code."""
    RANDOM = 2
    """Letters with digits or signs, unlike any ordinary word."""


@functools.lru_cache(4096)
def name_parts(name: str) -> tuple[str, ...]:
    """Split `X-Api-Key`, `xApiKey` and `x.api_key` into `x`, `api`, `key`."""
    return tuple(part.lower() for part in _PARTS.findall(name))


@functools.lru_cache(4096)
def is_telling(name: str) -> bool:
    """Whether the value under this name is a secret, by the parts of the name."""
    parts = name_parts(name)
    at = next((at for at in reversed(range(len(parts))) if _is_telling_part(parts, at)), None)
    return (
        at is not None
        and "public" not in parts
        and not any(part in _NOT_AFTER for part in parts[at + 1 : at + 3])
        and not (at and parts[at - 1] in _NOT_BEFORE and parts[at] in {"token", "secret", "signature"})
    )


def is_several(name: str) -> bool:
    """Whether a name tells of several secrets: `tokens`, `apiKeys`."""
    return name[-1:] in ("s", "S") and not is_telling(name) and is_telling(name[:-1])


def names_something_else(name: str) -> bool:
    """Whether the value under a name is something about a secret: its file, its user, its length."""
    return any(part in _NOT_AFTER and part not in ("key", "value") for part in name_parts(name))


def _is_telling_part(parts: tuple[str, ...], at: int) -> bool:
    part = parts[at]
    if part in _WORDS:
        is_other = part == "pw" and parts[at + 1 : at + 2] not in ((), ("1",), ("2",))
        # Alone, these are ordinary words of code.
        return not is_other and (
            part not in {"auth", "signature", "sig", "pass", "pw", "bearer", "jwt", "otp", "psk", "passe"}
            or len([part for part in parts if part.isalpha()]) > 1
        )
    is_key = part in ("key", "salt") and at > 0 and parts[at - 1] in _KEY_OWNERS
    return is_key or part.endswith(_ENDS) or (part.endswith("pass") and part not in _NO_PASSWORDS)


@functools.lru_cache(4096)
def is_password(name: str) -> bool:
    """Whether people choose its value: then it may be any word."""
    return any(
        part in PASSWORDS
        or (part.endswith(("password", "passwd", "pwd", "pass")) and part not in _NO_PASSWORDS)
        for part in name_parts(name)
    )


@functools.lru_cache(4096)
def is_secret_variable(name: str) -> bool:
    """Whether an environment variable has a secret value. Wider than `is_telling`: its value is known, and
    hiding it costs nothing.
    """
    parts = name_parts(name)
    return (is_telling(name) and name not in {"PWD", "OLDPWD"}) or (
        parts[-1:] in {("key",), ("pat",), ("auth",), ("pass",), ("pw",), ("bearer",), ("jwt",)}
        and parts[-2:-1] != ("public",)
    )


_PLACEHOLDERS = _words(
    """
    - a an and anonymous any array ask auto bar basic baz bearer binary bool boolean bytes change-me
    change_me changeme char const cookie date default dict disabled double dummy empty enabled env
    example fake false file float foo for from hash hidden id if in inherit int integer interactive
    invalid is key let list login map masked missing name never nil no none not null number object of
    off omitted on optional or pass password placeholder prompt redacted removed required return secret
    self set stdin str string tbd test text the this time to todo token true type undefined unknown
    unset user username value var varchar void with yes
    """
)
_REFERENCE = re.compile(
    r"""\$(?:\{|\(|\w+\b(?![!@\#%^&*])|\{\{)|<[^<>]*>?$|\{\{|\{%|%[({]|%\w+%$|%[sdrv]\b|@\{|\#\{
    |\{[\w.:!$()\[\]'"]*\}$|[*&][a-z][a-z_-]*$
    |(?:process|os|env|config|settings|self|this|args|opts|options|params|request|req|cfg|secrets|vars|var|local
    |data|ctx|context|user|app|props|state|event|kwargs|options)\s*[.\[(]
    |(?:op|vault|file|keyring|env|secret|secretref|ssm|arn|ref\+\w+|https?|wss?|data|urn)(?::|%3A)|ENC\[|!\w
    |(?:\.{0,2}/|~/|[A-Za-z]:\\+)(?:[\w.@~-]+[/\\]+)*[\w.@~-]*$|[\w./-]+\.(?:pem|key|txt|json|ya?ml|crt|cer|pub|env
    |p12|pfx|jks|sock|py|js|ts|go|rs|md|toml|ini|cfg|html?|css|php|java|rb|sh|kdbx|gpg|asc)$""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_PLACE = re.compile(
    r"^(?:your|insert|enter|replace|paste)[-_ ]?[a-z]|^(?:my|the|some)[-_](?:secret|token|key|password|api)"
    r"|[-_](?:here|goes)$|(?<![a-z0-9])x{3,}(?![a-z0-9])|x{5,}|[-_]your[-_]|\*\*\*|\.\.\.|…|•"
    r"|^\[[A-Za-z ]+\]?$|change[-_]?me|placeholder|^example"
    r"|(?:^|[^a-z])(?:dummy|sample|fake)(?:[^a-z]|$)|redacted|[-_]example$",
    re.IGNORECASE,
)
_ORDINARY = re.compile(
    r"(?:[A-Za-z][A-Za-z]*(?:[-_. :/|,][A-Za-z]+)*|[\d.,:/x -]+|v?\d+(?:\.\d+)+[\w.-]*"
    r"|(?:sha|md|utf|base|aes|rsa|oauth|int|uint|float|hs|rs|es|ps|p|ed|x|http|s|ipv|latin|iso|cp|i|u|f|win|h)"
    r"-?\d{1,5}(?:[-_.]\w+)*|[A-Z]{2,5}-\d{1,3}|#[0-9a-fA-F]{3,8}|0x[0-9a-fA-F]{1,8})",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*[;,]?", re.ASCII)
_SIGNS = re.compile(r"[!@#$%^&*+=?~]")


def is_placeholder(value: str) -> bool:
    """Whether it is a placeholder for a secret: `<token>`, `${TOKEN}`, `xxx`, `changeme`, a file, nothing."""
    bare = value[:LONGEST_LOOK].strip().strip("\"'`\\ ?")
    return (
        len(set(bare)) < 2
        or bare.lower() in _PLACEHOLDERS
        or (REDACTED in bare and not any(map(str.isalnum, bare.replace(REDACTED, ""))))
        or _REFERENCE.match(bare) is not None
        or (_PLACE.search(bare) is not None and REDACTED not in bare)
        or "${" in bare
    )


def looks_secret(value: str, doubt: Doubt, *, is_quoted: bool) -> bool:
    """Whether a value after a telling name may be a secret."""
    value = value[:LONGEST_LOOK]
    if is_placeholder(value):
        return False
    if doubt is Doubt.NONE or is_gibberish(value, is_quoted=is_quoted):
        return True
    if (
        len(value) < 4
        or any(map(str.isspace, value))
        or not (value.isascii() or any(map(str.isdigit, value)))
    ):
        return False
    if doubt is Doubt.WORD:
        return not _names_itself(value) and (is_quoted or not _is_code(value))
    if (
        len(value) < 6
        or _ORDINARY.fullmatch(value)
        or value[0] in "[{("
        or (not is_quoted and _is_code(value))
    ):
        return False
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    has_sign = is_quoted and len(value) >= 8 and value.isascii() and _SIGNS.search(value) is not None
    return has_letter and (has_digit or has_sign)


_CONSONANTS = re.compile(r"[b-df-hj-np-tv-z]{5}", re.IGNORECASE)


def is_gibberish(value: str, *, is_quoted: bool) -> bool:
    """Whether it is only letters in an order that no words have. Code may have names such as `httpsProxy`:
    without quotes, more letters are required, and more changes of case than names have.
    """
    return (
        len(value) >= (12 if is_quoted else 20)
        and value.isascii()
        and value.isalpha()
        and (_CONSONANTS.search(value) is not None or len(value) >= 24)
        and len(value) < (4 if is_quoted else 3) * len(_PARTS.findall(value))
    )


def _names_itself(value: str) -> bool:
    """Labels such as `password_field` and `CurrentPassword` are written behind such names, too."""
    low = value.lower()
    return any(stem in low for stem in ("pass", "pwd", "secret", "token", "credential")) and (
        "__" in low or not any(map(str.isdigit, value))
    )


def _is_code(value: str) -> bool:
    """Whether an unquoted value is a name or an expression of code."""
    is_expression = any(sign in value for sign in "()[]{}<>\\") or "=>" in value
    return is_expression or (
        _IDENTIFIER.fullmatch(value) is not None
        and (
            not any(map(str.isdigit, value))
            or (
                len(value) < 16
                and "$" not in value[1:]
                and not _is_scrambled(value)
                and ("_" in value or "." in value or value[0].isupper())
            )
            or (len(value) >= 16 and has_name_words(value) and not (value.isupper() and value.isalnum()))
        )
    )


_NAME = re.compile(r"[._]{0,2}[A-Za-z][\w./:-]*", re.ASCII)


def has_name_words(value: str) -> bool:
    """Whether it is built like a name in code: words joined by capitals, digits, dots or dashes."""
    words = [part for part in _PARTS.findall(value) if part.isalpha()]
    is_long = sum(map(len, words)) >= 3.5 * len(words) > 0
    return (
        is_long
        and _NAME.fullmatch(value) is not None
        and not any(_CONSONANTS.search(word.replace("y", "i")) for word in words if not word.isupper())
    )


_MIXED = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d).{8,}|[0-9a-f]{20,}", re.ASCII)


def is_mixed(value: str) -> bool:
    """Whether it has small letters, capitals and digits, or is one long number of base 16; and is no name."""
    return _MIXED.fullmatch(value) is not None and not has_name_words(value)


def _is_scrambled(value: str) -> bool:
    """Whether letters of both cases and digits change too often for a name of a few characters."""
    words = [part for part in _PARTS.findall(value) if part.isalpha()]
    return _MIXED.fullmatch(value) is not None and sum(map(len, words)) < 2.5 * len(words)


def is_login(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        login = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in login and login.isascii() and login.decode("ascii").isprintable()


_PHRASE = re.compile(r"(?:[^\W_A-Z]{2,12}(?: [^\W_A-Z]{2,12}){1,11}|[^\W_]{2,15}(?: [^\W_]{1,15}){2,11})")
_TEXT_WORDS = _words(
    """
    a an and any api are as at auth be but by can cannot change characters code confirm copy could current
    do does empty enter error expected expired expires failed field for forgot from generate generated get
    given has have here hide if in incorrect input invalid is it its key least length login long match
    matches maximum minimum missing must my new no not null of old on one only optional or our password
    passwords placeholder please provide provided random required reset save secret secrets see set should
    show sign string strong test that the this to token tokens too type updated use used user username using
    valid value was we weak when will with without wrong you your
    """
)


_STATES = _words(
    """
    absent accepted active already always available blank bogus broken chosen clear cleartext common
    complex compulsory confidential correct different done either enough exactly fine forgotten given
    gone good hidden however identical important incorrect insecure insensitive kept known literally
    longer lost mandatory merely metadata mismatch mostly needed neither never normally nothing null
    obvious often once only optional outdated plain plaintext present private public random rather
    removable safe sensitive shorter shown simple simply something somewhere still stolen strong
    stronger sufficient taken transient trivial unchanged unique unsafe useless usually visible weaker
    within without write written wrong
    """
)


def is_state(word: str) -> bool:
    """Whether a word of small letters says how a password is, or what it is for, and not the password."""
    return any(word in words for words in (_STATES, _TEXT_WORDS, _PLACEHOLDERS)) or word.endswith(
        ("ed", "ing", "able", "ible", "ly", "less", "ful", "ent", "ant", "ive", "ary", "ory", "ous")
    )


def is_phrase(value: str, *, is_sure: bool = False) -> bool:
    """Whether it is a passphrase: some lower case words that do not form normal text. Where no text for a
    screen can be, any words count.
    """
    is_words = _PHRASE.fullmatch(value) is not None
    return is_words and (is_sure or _TEXT_WORDS.isdisjoint(value.lower().split()))
