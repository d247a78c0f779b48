"""Files with secrets in them that others of the machine may read or change. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText

# Calls that make a file, with a mode that leaves all to the mask of the process.
_MADE_FOR_ALL = lazy_pattern(
    r"\bos\.open\([^\n]*,\s*0o?(?:666|777)\s*\)"
    r"|\b(?:os|ioutil)\.(?:WriteFile|OpenFile)\([^\n]*,\s*0o?(?:666|777|664)\s*\)"
    r"|\.mode\(\s*0o(?:666|777|664)\s*\)"
    r"|\bwriteFile(?:Sync)?\([^\n]*\bmode\s*:\s*0o(?:666|777)\b"
)
_SECRET = lazy_pattern(
    r"private_?key|credential|secret|passw(?:or)?d|(?<![a-z])tokens?(?![a-z])|\.(?:pem|key)\b|id_rsa|api_?key",
    re.IGNORECASE,
)


def open_secrets(code: CodeText) -> Iterator[CodeHit]:
    """Files that a function makes for everybody, and that by its words hold a secret."""
    words = ("0o666", "0o777", "0o664", "0666", "0777", "0664")
    for function in code.functions_with(words):
        text = code.text[function.head.start : function.end]
        if not _SECRET.search(text):
            continue
        for match in _MADE_FOR_ALL.finditer(code.code, function.head.start, function.end):
            yield CodeHit("flow/open-secret", match.start(), match.end())
