"""Origins of other sites that are allowed as they come, together with cookies. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText

_CREDENTIALS = lazy_pattern(
    r"""Access-Control-Allow-Credentials["'`][\s,:\])=]+["'`]?true|\b(?:allow_credentials|supports_credentials|CORS_ALLOW_CREDENTIALS|AllowCredentials)\s*[=:]\s*["']?True"""
    r"""|(?<![\w"'])credentials\s*:\s*true\b|\b(?:setAllowCredentials|allow_?credentials)\(\s*true\s*\)|\.supports_credentials\(\s*\)""",
    re.IGNORECASE,
)
_ORIGIN = lazy_pattern(
    r"""["'`]Access-Control-Allow-Origin["'`]\s*(?:,|\]\s*=|:)\s*(?P<value>["'`]null["'`]|[A-Za-z_][\w.\[\]"'()!?-]*)""",
    re.IGNORECASE,
)
# A setting that lets every origin in.
_EVERY = lazy_pattern(
    r"""\bAllowOriginFunc:\s*func\([^()]*\)\s*(?:bool|\(\s*bool\s*,\s*error\s*\))\s*\{\s*return\s+true\b|\banyHost\(\s*\)"""
    r"""|\bAllow(?:ed)?Origins:\s*\[\]string\{\s*"\*"\s*\}|\bAllowAllOrigins:\s*true\b"""
    r"""|\b(?:add|set)?[aA]llowedOrigin(?:Pattern)?s?\(\s*(?:\w+\.(?:of|asList|singletonList)\(\s*|listOf\(\s*)?"\*\""""
    r"""|\b(?:originPatterns|origins)\s*=\s*[\[{]?\s*"\*"|\ballow_origin_regex\s*=\s*r?["'](?:\^)?(?:https\?://)?\.[*+]\$?["']"""
    r"""|\borigin\s*:\s*(?:\[\s*["'`]\*["'`]\s*\]|["'`]\*["'`]|true\b|/\.[*+]/)"""
    r"""|\borigin\s*:\s*(?:async\s*)?\(?\s*ctx\s*\)?\s*=>\s*ctx\.(?:get\(|headers?\b|request\.headers?\b)"""
    r"""|\bAllowOrigin::mirror_request\(|\ballow_any_origin\(\s*\)"""
    r"""|\borigin\s*:\s*\(\s*\w+\s*,\s*\w+\s*\)\s*=>\s*\{?\s*(?:return\s+)?\w+\(\s*null\s*,\s*(?:true|origin)\s*\)"""
)
_STAR = lazy_pattern(r"""\ballow_origins\s*=\s*(?P<name>\w+)""")


def reflected_origins(code: CodeText) -> Iterator[CodeHit]:
    """Origins that are allowed as they come, with credentials."""
    if not code.text_has_any(("redentials", "REDENTIALS")) or not _CREDENTIALS.search(code.text):
        return
    for match in _EVERY.finditer(code.text):
        if _CREDENTIALS.search(code.text, max(0, match.start() - 600), match.end() + 600):
            yield CodeHit("flow/reflected-origin", match.start(), match.end())
    for match in _STAR.finditer(code.text):
        if re.search(rf"""\b{match["name"]}\s*(?::[^=\n]*)?=\s*\[\s*["']\*["']""", code.text):
            yield CodeHit("flow/reflected-origin", match.start(), match.end())
    for match in _ORIGIN.finditer(code.text):
        begin = max(0, match.start() - 1500)
        before, value = code.text[begin : match.start()], match["value"]
        near = code.text[begin : match.end() + 600]
        if not _CREDENTIALS.search(near):
            continue
        name = re.split(r"[.\[(!?]", value)[0]
        if value.lower().strip("\"'`") == "null" or (
            re.search(
                r"[oO]rigin", before if name.lower() not in ("origin", "req", "request") else name + "origin"
            )
            and not _asks_origin(before, name)
        ):
            yield CodeHit("flow/reflected-origin", match.start(), match.end())


def _asks_origin(before: str, name: str) -> bool:
    """Whether somebody has asked whether this origin is one of ours."""
    return (
        re.search(
            rf"(?:if|when|&&|\?)[^\n]*(?:\b{re.escape(name)}\b|[oO]rigin)[^\n]*"
            r"(?:===?|\bin\b|\bequals\b|test\(|match|startswith|endswith)"
            r"|(?:includes|has|indexOf|contains|Contains|get(?!\(\s*[\"'])|isAllowed\w*|allowed\w*)[(\[][^\n]*[oO]rigin"
            r"|[aA]llow\w*\[\s*\w*[oO]rigin"
            # A table of origins, by the origin.
            rf"|\bif\b[^\n]*\w\[\s*{re.escape(name.rstrip(')'))}\s*\]",
            before,
            re.IGNORECASE,
        )
        is not None
    )
