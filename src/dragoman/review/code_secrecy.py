"""Secrets compared, logged, hashed or kept so that others learn them, and texts that a shell reads. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.review.code_patterns import family, lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement, text_in_brackets

_NAME = (
    r"(?:\w*(?:signature|hmac|digest|api_?key|secret|auth_?token|access_?token|api_?token|csrf_?token"
    r"|reset_?token|webhook_?token|bearer|x_token|hash)\w*|sig|mac|token)"
)
_MADE = lazy_pattern(
    r"(?:(?:const|let|var|val"
    r"|final)\s+)?(?:\w[\w<>\[\]]*\s+)?(?P<name>\w+)(?:\s*:\s*\w+)?\s*:?=\s*(?P<value>.*)"
)
_MAC = lazy_pattern(
    r"\bhmac\.new\(|\bhmac\.digest\(|\bcreateHmac\(|\b(?!\w*[cC]ipher)\w+\.doFinal\(|\b\w+\.Sum\("
    r"|\bHmac\w*::|\.finalize\(\)\.into_bytes\(\)|\b(?:scrypt|pbkdf2)Sync\(|\bhashlib\.\w+\([^()]*(?:secret|key)"
)
_KNOWN = lazy_pattern(
    r"(?:\w*(?:expected|computed|calculated|stored|valid|configured|wanted)\w*"
    r"|(?:\w+\.)*(?:settings|config|cfg|env|environ|app)\b[\w.\[\]\"' ]*"
    r"|(?:\w+\.)*_?(?:\w+_)?(?:sign|signature|hmac|mac)\([^()]*\)|(?:\w+\.)*[a-z]+(?:Signature|Hmac|Mac)\([^()]*\)"
    r"|os\.(?:environ|Getenv|getenv)\b.*|process\.env\.\w+|System\.getenv\(.*"
    r"|[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET)[A-Z0-9_]*"
    r"|(?:self|this|\w)\.\w*(?:secret|token|key)\w*)",
    re.IGNORECASE,
)
_SIDE = r"(?:[\w$][\w.$]*(?:(?:\[[^\]]*\]|\([^()]*\))[\w.$]*)*)"
# A text before it says which kind of sum it is.
_PREFIX = r"(?:[\"'`][^\"'`]*[\"'`]\s*\+\s*|f?[\"'`]\s*)?"
_COMPARISON = lazy_pattern(
    rf"(?P<left>{_SIDE})\s*(?:===?|!==?)\s*{_PREFIX}(?P<right>{_SIDE})"
    rf"|f[\"']\s*(?P<made>\w+)\s*[\"']\s*(?:==|!=)\s*(?P<given>{_SIDE})"
    rf"|[\"'`][^\"'`]*[\"'`]\s*\+\s*(?P<sum>{_SIDE})\s*(?:===?|!==?)\s*(?P<other>{_SIDE})"
)
_EQUALS = lazy_pattern(
    rf"(?P<left>{_SIDE})\.(?:equals(?:IgnoreCase)?|contentEquals|compareTo)\(\s*(?P<right>{_SIDE})\s*\)"
    rf"|\b(?:Arrays\.equals|bytes\.Equal|reflect\.DeepEqual"
    rf"|strings\.Compare)\(\s*(?P<first>{_SIDE})\s*,\s*(?P<second>{_SIDE})\s*\)"
)
_CONSTANT = lazy_pattern(r"(?:none|null|nil|undefined|true|false|\d.*|[\"'`].*)", re.IGNORECASE)
_SECRET_NAME = lazy_pattern(rf"(?:[\w.$]*\.)?{_NAME}(?:\.\w+\(\))?", re.IGNORECASE)
_HEADER = lazy_pattern(r"headers?\b.*|.*\.(?:headers?|Header)\b.*|.*getHeader\(.*")


# What one of the two sides has, or a call that makes it.
_COMPARED_WORDS = (
    *("signature", "hmac", "digest", "api_key", "apikey", "secret", "token", "bearer", "hash", "sig", "mac"),
    *("dofinal", "finalize", "header", ".sum(", "pass", "submitted", "provided", "received", "expected"),
)


# What the pattern of sums with a key has.
_MAC_WORDS = ("hmac.", "createHmac(", "doFinal(", ".Sum(", "Hmac", "hashlib.", "scryptSync(", "pbkdf2Sync(")
_KEYED_WORDS = (
    *("hmac", "signature", "digest", "api_key", "apikey", "secret", "token", "dofinal"),
    *("csrf", "basicauth", "b64decode", "scryptsync"),
)
_SUM_ONLY = lazy_pattern(r"^(?!.*(?:token|api_?key|bearer|sig\b|mac\b)).*(?:digest|hash)", re.IGNORECASE)


def early_comparisons(code: CodeText) -> Iterator[CodeHit]:
    """Signatures and keys compared so that the time tells how much of them was right."""
    if not code.has_any(_KEYED_WORDS, in_any_case=True):
        return
    # A sum of Go is one with a key only if something makes such sums.
    has_macs = (
        code.has_any(_MAC_WORDS)
        and _MAC.search(code.code) is not None
        and (code.language != "go" or "hmac.New" in code.code)
    )
    has_headers = code.has_any(("eader", "metadata", "req.get(", "request.get("))
    # A sum of a file is no secret; one that was made with a key is.
    has_keyed_sums = code.has_any(("hmac", "signature", "secret", "dofinal"), in_any_case=True)
    places = code.places(("==", "!=", "qual(", "quals(", "compareTo("))
    for function in code.functions_at(places):
        indexes = function.statements_at(places)
        if (has_macs or has_headers) and not _names_secret(code.part(function)):
            continue
        macs = _macs(function) if has_macs else set()
        given_names = _given(function) if has_headers else set()
        for index in indexes:
            statement = function.statements[index]
            if statement.line is function.head and code.language != "kotlin":
                continue
            if not macs and not given_names and not _names_secret(statement.text):
                continue
            for match in (*_COMPARISON.finditer(statement.text), *_EQUALS.finditer(statement.text)):
                left, right = [part for part in match.groups() if part is not None][:2]
                if not has_keyed_sums and _SUM_ONLY.search(f"{left} {right}") and not {left, right} & macs:
                    continue
                if has_macs and (_MAC.search(left) or _MAC.search(right)):
                    yield _hit("flow/timing-attack", statement)
                    break
                if (
                    _is_guessable(left, right, macs)
                    or _is_given(left, right, given_names)
                    or _is_presented(left, right, code, function)
                ):
                    yield _hit("flow/timing-attack", statement)
                    break


def _names_secret(text: str) -> bool:
    lower_text = text.lower()
    return any(word in lower_text for word in _COMPARED_WORDS)


def _macs(function: Function) -> set[str]:
    """Names of values that were made with a key."""
    names: set[str] = set()
    for statement in function.statements:
        match = _MADE.match(statement.text)
        if match is None:
            continue
        value = match["value"]
        if _MAC.search(value) or any(
            re.search(rf"(?<![\w.]){name}\b(?!\.(?:Write|update|length|len)\b)", value) for name in names
        ):
            names.add(match["name"])
    return names


def _given(function: Function) -> set[str]:
    """Names of values that a header of the request brought."""
    names: set[str] = set()
    for statement in function.statements:
        match = _MADE.match(statement.text)
        if match is not None and _FROM_HEADER.search(match["value"]):
            names.add(match["name"])
    return names


_FROM_HEADER = lazy_pattern(
    r"\.(?:headers?|Header)\b(?:\(\s*[\"'`]|\[|\.get\(|\.Get\(|\(\)\.get\()|\b(?:getHeader|GetHeader|get_header)\("
    r"|\bmetadata\.get\(|\breq(?:uest)?\.(?:get|header)\(\s*[\"'`]"
)
_OWN_SECRET = lazy_pattern(r"(?:[\w$]+\.)*\w*(?:token|secret|api_?key|password|signature)\w*", re.IGNORECASE)


def _is_given(left: str, right: str, given_names: set[str]) -> bool:
    """Whether what a request brought is compared with a secret of ours."""
    return any(
        given in given_names and other not in given_names and _OWN_SECRET.fullmatch(other) is not None
        for given, other in ((left, right), (right, left))
    )


# Two sides that say by their names which of them a stranger has sent, and what makes it a secret.
_PRESENTED = lazy_pattern(
    r"(?:\w+_)?(?:given|submitted|provided|received|supplied|presented|incoming)(?:_\w+)?"
)
_EXPECTED = lazy_pattern(r"(?:\w+_)?(?:expected|stored|computed|correct|saved|wanted)(?:_\w+)?")
_IS_ABOUT_SECRETS = lazy_pattern(
    r"csrf|hmac|signature|api_?key|(?:auth|access|reset|session)_?token", re.IGNORECASE
)
_IS_LOGIN = lazy_pattern(r"BasicAuth\(\)|b64decode\(|\bauthorization\b", re.IGNORECASE)
_PASSED = lazy_pattern(r"(?:[\w$]+\.)*(?:pass|passwd|password|pwd)", re.IGNORECASE)


def _is_presented(left: str, right: str, code: CodeText, function: Function) -> bool:
    """Whether what somebody has sent to be let in is compared with what was expected."""
    if _CONSTANT.fullmatch(left) or _CONSTANT.fullmatch(right):
        return False
    text = code.text[function.head.start : function.end]
    for one, other in ((left, right), (right, left)):
        if _PRESENTED.fullmatch(one) and _EXPECTED.fullmatch(other) and _IS_ABOUT_SECRETS.search(text):
            return True
        if _PASSED.fullmatch(one) and re.fullmatch(r"\w+", other) and _IS_LOGIN.search(text):
            return True
    return False


def _is_guessable(left: str, right: str, macs: set[str]) -> bool:
    if _CONSTANT.fullmatch(left) or _CONSTANT.fullmatch(right) or "length" in left or "len(" in left:
        return False
    if {left, right} & macs:
        return True
    for one, other in ((left, right), (right, left)):
        is_secret = _SECRET_NAME.fullmatch(one) or _HEADER.fullmatch(one)
        if is_secret and _KNOWN.fullmatch(other) and _SECRET_NAME.search(f"{one} {other}"):
            return not re.search(
                r"type|kind|length|size|count|status|name|_id\b|Id\b|version|algorithm|blob|commit|hashCode"
                # Two of our own: what was and what is, or two objects that are compared.
                r"|\b(?:old|new|last|previous|prev|cached)(?:_|[A-Z])|\b(?:other|that)\.",
                f"{one} {other}",
            )
    return False


_LOGS = lazy_pattern(
    r"(?<![\w.])(?:self\.|this\.|s\.|app\.|c\.|req\.|request\.|fastify\.|server\.|ctx\.)?_?(?:log|logger|logging|LOG|LOGGER|Log|console"
    r"|slog|logrus|zap|sugar|tracing|current_app\.logger|Timber|winston|pino|klog|glog|lager|structlog)"
    r"(?:\.|::)(?:\w+\.)?(?:debug|info|warn|warning|error|critical|exception|log|trace|fatal|d|i|w"
    r"|e|v|fine\w*|config|severe|verbose|silly|notice|Print\w*|Info\w*|Debug\w*|Warn\w*|Error\w*|Fatal\w*|WithFields?|With)(?:\s*\{\s*|\(?\(?)"
    r"|\b(?:info|debug|warn|error|trace|println|eprintln)!\(|\bSystem\.(?:out|err)\.print(?:ln"
    r"|f)?\(|(?<![\w.])print(?:ln)?\(|\bfmt\.Print(?:f|ln)?\("
)
_LOG_WORDS = ("log", "LOG", "Log", "console", "zap", "sugar", "tracing", "Timber", "print", "Print", "!(")
_LOGGED = lazy_pattern(
    r"(?<![\w.\"'])(?:[\w.]+\.)?(?:(?:\w+_)?(?:password|passwd|passphrase|pwd|secret|api_?key"
    r"|private_?key|access_?token|auth_?token|refresh_?token|credit_?card|card_?number|ssn|cvv"
    r"|client_?secret|secret_?key|signing_?key|cvc|session_?token|bearer_?token)|\w*[a-z](?:Password|Secret|SecretKey|ApiKey|PrivateKey|AccessToken|AuthToken"
    r"|RefreshToken|CardNumber)|(?<=\.)(?:Password|ClientSecret|SecretKey|AccessToken|RefreshToken|CVV|CVC|SSN|PIN)|[cC]ard\.[nN]umber|apiKey|secretKey|accessToken"
    r"|authToken|refreshToken|clientSecret|privateKey|token"
    r"|authorization)(?:\(\))?(?=\s*(?:[,)}+;\"'`\]]|$|\s))(?!\s*(?:=|is\b|in\b|!=|if\b|else\b|\?))",
)
_HIDDEN = lazy_pattern(
    r"mask|redact|hash|len\(|length|\bbool\(|\*\*\*|sanit|type\(|(?<!ac)count|\[:\d|slice\(|substring\("
    r"|\bis_|\bhas_",
    re.IGNORECASE,
)


_SECRET_WORDS = (
    *("passw", "passphrase", "pwd", "secret", "token", "api_key", "apikey", "private_key", "privatekey"),
    *("ssn", "cvv", "card", "authorization", "env"),
)
# All of it, with every key that the process was given.
_ENVIRONMENT = lazy_pattern(
    r"\bos\.environ\b(?!\s*[.\[])|\bprocess\.env\b(?!\s*(?:\?\.|[.\[]))|\bSystem\.getenv\(\s*\)|\bos\.Environ\(\)|\benv::vars\(\)"
)


def logged_secrets(code: CodeText) -> Iterator[CodeHit]:
    """Values with the name of a secret in the arguments of a call that logs."""
    if not code.has_any(_SECRET_WORDS, in_any_case=True):
        return
    for function in code.functions_with(_SECRET_WORDS, in_any_case=True):
        for statement in function.statements:
            if not any(word in statement.text for word in _LOG_WORDS):
                continue
            match = _LOGS.search(statement.text)
            if match is None:
                continue
            arguments = text_in_brackets(statement.text, match.end())
            if _ENVIRONMENT.search(arguments) or (
                _LOGGED.search(arguments) and not _HIDDEN.search(arguments)
            ):
                yield _hit("flow/logged-secret", statement)


_FAST = lazy_pattern(
    r"\bhashlib\.(?:sha\d+|md5|blake2\w|new)\(|\bcreateHash\(|\bsha(?:1|256|512)\.(?:Sum\w*|New)\("
    r"|\bmd5\.(?:Sum|New)\(|\bSha(?:256|512)::(?:new|digest)"
    r"|\bMessageDigest\.getInstance\(|\bDigestUtils\.sha\w+\(|\bHashing\.sha\w+\("
    r"|\bCryptoJS\.SHA\w*\(|\bdigest\.digest\(|\bsubtle\.digest\("
)
_PASSWORD = lazy_pattern(r"passw(?:or)?d|passphrase|\bpwd\b", re.IGNORECASE)
_SLOW = lazy_pattern(r"pbkdf2|scrypt|bcrypt|argon2|PBEKeySpec|hmac", re.IGNORECASE)


def fast_password_hashes(code: CodeText) -> Iterator[CodeHit]:
    """Passwords given to a hash that is made to be fast."""
    if not code.has_any(("passw", "passphrase", "pwd"), in_any_case=True) or not _FAST.search(code.code):
        return
    for function in code.functions:
        text = " ".join(statement.text for statement in function.statements)
        if _SLOW.search(text) or not _PASSWORD.search(text):
            continue
        for statement in function.statements:
            if statement.line is not function.head and _FAST.search(statement.text):
                yield _hit("flow/fast-password-hash", statement)
                break


_BUILT = {
    "python": (
        r"(?:f[\"'][^\"']*\s\w|[\"'][^\"']*[\"']\s*(?:\+\s*\w|%\s*[\w(]|\.format\(\s*\w)"
        r"|\w+\s*\+\s*[\"'])"
    ),
    "javascript": r"(?:`[^`]*\s\w[^`]*`|[\"'][^\"']*[\"']\s*\+\s*\w|\w\s*\+\s*[\"'])",
}
_SHELLS = {
    "python": (
        r"\b(?:os\.(?:system|popen)|subprocess\.(?:getoutput|getstatusoutput)"
        r"|(?:asyncio\.)?create_subprocess_shell|\w+\.exec_command|(?:c|ctx|conn|connection)\.(?:run"
        r"|sudo))\(\s*"
    ),
    "javascript": r"(?<![\w.])(?:(?:child_process|cp)\.)?(?:{names})\(\s*",
}
_RUNNERS = lazy_pattern(r"\b(\w+)\s*=\s*(?:util\.)?promisify\(.*\bexec\b")


def built_commands(code: CodeText) -> Iterator[CodeHit]:
    """Texts with a variable in them that are given to a shell."""
    language = family(code.language)
    shells = _SHELLS.get(language)
    if shells is None or not any(
        word in code.code for word in ("exec", "system(", "popen(", "getoutput", "_shell(", ".run(")
    ):
        return
    if language == "javascript":
        if "child_process" not in code.text:
            return
        names = {"exec", "execSync", *(match[1] for match in _RUNNERS.finditer(code.code))}
        shells = shells.replace("{names}", "|".join(sorted(names)))
    elif not re.search(r"subprocess|\bos\b|paramiko|asyncio|fabric|invoke", code.code):
        return
    built = re.compile(_BUILT[language])
    call = re.compile(shells)
    for function in code.functions:
        texts: set[str] = set()
        for statement in function.statements:
            if (match := call.search(statement.text)) is not None:
                argument = text_in_brackets(statement.text, match.end())
                first = re.match(r"\w+", argument)
                if built.match(argument) or (
                    first is not None and first[0] in texts and "quote" not in argument
                ):
                    yield _hit("flow/built-command", statement)
            made = _MADE.match(statement.text)
            if made is not None:
                is_built = built.match(made["value"]) is not None and "quote" not in made["value"]
                (texts.add if is_built else texts.discard)(made["name"])


# Calls that make a file, with a mode that leaves all to the mask of the process.
_MADE_FOR_ALL = lazy_pattern(
    r"\bos\.open\([^\n]*,\s*0o?(?:666|777)\s*\)"
    r"|\b(?:os|ioutil)\.(?:WriteFile|OpenFile)\([^\n]*,\s*0o?(?:666|777|664)\s*\)"
    r"|\.mode\(\s*0o(?:666|777|664)\s*\)"
    r"|\bwriteFile(?:Sync)?\([^\n]*\bmode\s*:\s*0o(?:666|777)\b"
)
_HELD_SECRET = lazy_pattern(
    r"private_?key|credential|secret|passw(?:or)?d|(?<![a-z])tokens?(?![a-z])|\.(?:pem|key)\b|id_rsa|api_?key|[a-z]_key\b",
    re.IGNORECASE,
)


def open_secrets(code: CodeText) -> Iterator[CodeHit]:
    """Files that a function makes for everybody, and that by its words hold a secret."""
    words = ("0o666", "0o777", "0o664", "0666", "0777", "0664")
    for function in code.functions_with(words):
        text = code.text[function.head.start : function.end]
        if not _HELD_SECRET.search(text):
            continue
        for match in _MADE_FOR_ALL.finditer(code.code, function.head.start, function.end):
            yield CodeHit("flow/open-secret", match.start(), match.end())


def _hit(rule: str, statement: Statement) -> CodeHit:
    return CodeHit(rule, statement.start, statement.start + len(statement.line.text))
