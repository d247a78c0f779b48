"""How a name and its value are written: in shell, settings, markup, headers, code, prose. One pattern for
what stands between them, of which each group is a family of notations. Pure.
"""

from __future__ import annotations

import functools
import re

SPACE = r"(?:[ \t]|\\+t|(?:\x1b|\\+u001b)\[[\d;]*m)"
"""Spaces, and colours of a terminal, which are as little part of a value."""
BREAK = r"(?:[ \t\r\n]|\\+[nrt])"
QUOTE = r"""\\*["'`]"""
_WRAPPED = (
    r"(?:(?:new +)?(?:[\w.]{0,30}secret_?str(?:ing)?|string(?:::from)?|str|bytes|buffer\.from|\[\]byte"
    rf"|some|ok|textencoder\(\)\.encode)\({SPACE}{{0,4}}"
    rf"|[\w.:]{{0,40}}(?:crypt|hash|base64|b64|md5|sha\d{{1,3}})\w{{0,12}}\((?={QUOTE}"
    rf"[^\"'`\n]{{0,64}}[\d!#$%^&*])"
    rf"|[\w.:]{{0,40}}(?:env|environ|get|fetch|getproperty|var)\({QUOTE}[\w.:-]{{1,64}}{QUOTE}{SPACE}*,{SPACE}*)?"
    rf"(?:[*@$]?[brunl]{{0,2}}\#{{0,2}}(?={QUOTE})|f(?={QUOTE}[^\"'`{{\n]{{6,200}}{QUOTE}))"
)
_BELOW = (
    rf"{SPACE}*+(?:\r|\\+r)?(?:\n|\\+n){BREAK}{{0,20}}+"
    r"(?=(?!-+(?:\s|\\))[\w!\#$%&*+./=?@^~-]{8,128}(?:\s|\\+[nr]|\"|\Z))"
)
"""A value that stands alone in the line below its name."""

_FOLLOW = (
    r"(?P<rest>[\w.-]{0,48}+)"
    r"(?:"
    # <add key="Password" value="…">, {"name": "TOKEN", "value": "…"}, name: TOKEN with value: … below
    rf"(?P<pair>(?:{QUOTE})?+{BREAK}{{0,40}}+(?:,|:|:?{SPACE}{{0,2}}\{{)?{BREAK}{{0,40}}+"
    rf"(?:(?:type|description|sensitive|nullable|noecho)\b"
    rf"(?:[^\n\\]|\\+[^n\\]){{0,80}}+{BREAK}{{1,40}}+){{0,3}}"
    rf"(?:{QUOTE}type{QUOTE}{SPACE}?:{SPACE}?{QUOTE}\w{{1,30}}{QUOTE},{BREAK}{{0,40}})?"
    rf"(?:{QUOTE})?+(?:-value{SPACE}|(?:\w{{1,12}}:)?(?:value|default(?:value)?|content)(?:{QUOTE})?+"
    rf"{SPACE}{{0,20}}+[:=]){SPACE}{{0,4}}+"
    # name="password" of a form, and its value below
    rf"|{QUOTE}(?:\r?\n|(?:\\+r)?\\+n){{2}})"
    # password: str = "…", password string = "…", password = "…", "password": "…", password => "…", a || "…"
    rf"|(?P<sign>(?:{QUOTE}|[\])*]|\[(?:{QUOTE})?[\w-]{{0,40}}(?:{QUOTE})?\]){{0,4}}+{SPACE}{{0,20}}+(?:"
    rf":{SPACE}{{0,2}}[&'\w.\[\]<>?|; ]{{1,30}}?{SPACE}{{0,2}}=(?![=>])(?={SPACE}{{0,4}}{_WRAPPED})"
    rf"|(?:as{SPACE})?(?:string|str|\[\]byte){SPACE}{{0,2}}:?=|=>|:=|\?\?|\?:|\|\|?|(?:!|\?|::)?={{1,3}}(?![=>~])"
    rf"|\+=(?={SPACE}{{0,4}}{QUOTE})|(?<= )(?:-c?(?:eq|ne)|—|–|â\x80[\x93\x94]|\\+u201[34])(?= )"
    rf"|(?<= )\([^()\n\\\"'=,]{{1,32}}\):(?= )"
    rf"|:(?::(?={SPACE}{{0,4}}{QUOTE}))?(?!{_BELOW}|[:=])"
    r"|->|<-|→|[âÂ]\x86\x92|\\+u2192"
    r"|\{ get; (?:(?:private )?set|init); \} ="
    r"|\)?\.(?:type|fill|send_?keys|set_?value|(?:is_?)?eq(?:uals?)?(?:ignorecase)?|to_?(?:be|equal))\("
    rf")(?:\*{{1,2}}|</(?:b|strong|em|code)>)?{SPACE}{{0,20}}"
    # password = ("…", password: ["…", password = {{ value = "…", "password": {{"S": "…", password=[…]
    rf"(?:{BREAK}{{0,30}}+@?(?:[(\[]|(?:\[{BREAK}{{0,20}}+)?\{{{BREAK}{{0,20}}(?:{QUOTE})?\w{{1,20}}(?:"
    rf"{QUOTE})?{SPACE}{{0,4}}[:=])?"
    rf"{BREAK}{{0,30}}+(?={QUOTE}))?"
    rf"(?:{_WRAPPED}|<(?:b|code|strong|tt)>|\[(?=[^\s\[\]\"'`]{{6,}}\])(?![^\]]*[az9]-[az9])"
    # of LDAP and Spring: what follows is a hash, or the password as it is
    r"|\{(?:noop|plain|clear(?:text)?|b?crypt|md5|ssha\d{0,3}|sha\d{0,3}|pbkdf2\w{0,20}|base64)\}"
    # the anchor of YAML; braces of ODBC, quotes of Ruby, Perl and Lua
    r"|(?:&(?!mut |dyn )|!!)[\w-]{1,40} (?=[^\s=])|\{(?=[^\s{}\"'`$:.()]{0,63}[\d!@#%^&*]"
    r"[^\s{}\"'`$:.()]{0,63}\}(?:[;\"'\s]|\Z))"
    r"|%?q{1,2}[({\[<|](?=[^\s\"'`(){}\[\]<>|]{6,64}[)}\]>|])|\[\[(?=[^\s\"'`\[\]]{6,64}\]\]))?"
    # a field that the next string fills
    rf"(?:(?:\{{\}}|%[sv]){QUOTE},{SPACE}{{0,4}}+(?={QUOTE}))?)"
    # "password", "…", s:8:"password";s:4:"…"
    rf"|(?P<comma>{QUOTE}(?:{BREAK}{{0,8}}+,{BREAK}{{0,24}}+|;s:[0-9]{{1,4}}:)(?={QUOTE}))"
    # setPassword("…"), .password("…")
    rf"|(?P<call>\({SPACE}{{0,4}}+(?={QUOTE}))"
    # the password is …
    r"|(?P<said>(?: (?:for|of|to|on|at|in|between|del|du|de|der|für|f[ãÃ]¼r|f\\+u00fcr)"
    r"(?: [\w.@'/-]{1,30}){1,4}?| \([^()\n]{1,32}\))?"
    rf"(?:{SPACE}++(?:is|was|are|ist|lautet|es|est|è|é|[ãÃ][¨©]|\\+u00e[89]"
    r"|to|from|(?:used to|will|should) be)"
    rf"(?: now| set to)?|['’]s(?= )|(?<=[\w.@'/-])(?=: )|(?: was| has been)? "
    rf"(?:set|changed|reset|updated) to):?{SPACE}++"
    rf"(?=\S*[\d!#$%^&*]|{QUOTE}))"
    # password "…", {{password, "…"}}
    rf"|(?P<beside>,?{SPACE}++(?:[bn]|<<)?(?={QUOTE})|:?{SPACE}{{0,4}}(?:(?:\r|\\+r)?(?:\n|\\+n)){{1,2}}(?:>{SPACE}+)?(?=`[^\s`\\]{{12,128}}`))"
    # <password type="x">…</password>, <entry key="password">…</entry>, <name>password</name><value>…</value>
    rf"|(?P<tag>(?:{QUOTE})?+(?: [^<>\n]{{0,200}}+)?+(?:>|&gt;){BREAK}{{0,40}}(?:<!\[cdata\[|<value>)?"
    rf"|:?</(?:key|name|t[dh]|dt)>{BREAK}{{0,40}}<(?:string|value|td|dd)>(?:<code>)?{BREAK}{{0,40}})"
    # requirepass …
    rf"|(?P<line>(?:{SPACE}++|:{_BELOW})"
    rf"(?=[^\s\"'`\\\d]{{0,127}}\d)(?=[^\s\"'`\\]{{6,128}};?(?:\s|\\+[nr]|\Z|\")))"
    r")"
)


@functools.cache
def follow() -> re.Pattern[str]:
    """Return the pattern of what follows a stem: the rest of the name, and what stands before the value."""
    return re.compile(_FOLLOW, re.ASCII)
