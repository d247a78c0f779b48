"""Text without secrets, as far as secrets can be told by their looks.

Pure. Keys of well-known shapes, values behind names such as `password=` or `--token`, and logins in addresses
become `[redacted]`. What looks like nothing special stays: this is a net under the audit log, no promise.
"""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "[redacted]"

_NAMES = (
    r"[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|apikey|access[_-]?key|private[_-]?key"
    r"|credentials?|authorization|auth[_-]?key)[\w.-]*"
)

_WHOLE: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bhf_[A-Za-z0-9]{20,}"
    r"|\bpypi-[A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    re.DOTALL,
)
_BEARER: Final = re.compile(r"\b(bearer|basic)(\s+)[A-Za-z0-9+/=._~-]{8,}", re.IGNORECASE)
_LOGIN: Final = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@'\"]+@")
_NAMED: Final = re.compile(
    rf"(?<![\w.-])({_NAMES})(\\?[\"']?\s*[=:]\s*)(\\?\"[^\"\n]*\\?\"|\\?'[^'\n]*\\?'|[^\s\"'&;,]+)",
    re.IGNORECASE,
)
_FLAG: Final = re.compile(rf"(--?{_NAMES})(\s+)(?!-)(\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'&;]+)", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a variable or a flag of this name holds a secret."""
    return re.fullmatch(_NAMES, name, re.IGNORECASE) is not None


_SETTINGS_FILE: Final = re.compile(
    r"\.env.*|.*\.(?:env|ini|cfg|conf|toml|ya?ml|json|properties)|\.(?:npmrc|netrc|pypirc)|credentials",
    re.IGNORECASE,
)
_LITERAL: Final = re.compile(
    rf"(?<![\w.-])({_NAMES})([\"']?\s*[=:]\s*)(\"[^\"\s]{{8,}}\"|'[^'\s]{{8,}}')", re.IGNORECASE
)


def redact_file(text: str, *, name: str) -> str:
    """The text of a file with what looks like a secret covered; every line keeps its number.

    In code, `token: str` is a type: only literals behind such names are covered there, any value in a file
    of settings.
    """
    text = _WHOLE.sub(lambda match: REDACTED + "\n" * match[0].count("\n"), text)
    if _SETTINGS_FILE.fullmatch(name):
        return redact(text)
    text = _BEARER.sub(rf"\1\2{REDACTED}", text)
    text = _LOGIN.sub(rf"\1{REDACTED}@", text)
    return _LITERAL.sub(rf"\1\2{REDACTED}", text)


def redact(text: str) -> str:
    """The same text, with what looks like a secret covered."""
    text = _WHOLE.sub(REDACTED, text)
    text = _BEARER.sub(rf"\1\2{REDACTED}", text)
    text = _LOGIN.sub(rf"\1{REDACTED}@", text)
    text = _FLAG.sub(rf"\1\2{REDACTED}", text)
    return _NAMED.sub(rf"\1\2{REDACTED}", text)
