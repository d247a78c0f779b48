"""JSON texts at the edge: forbidden ones, and allowed ones that many readers get wrong.

The environment variable `JSONTESTSUITE` may name a folder with the files of that suite (`y_*.json` and
`i_*.json`); they are then tried as well.
"""

from __future__ import annotations

SUITE = "JSONTESTSUITE"

FORBIDDEN: list[bytes] = [
    *(
        b"[1,]",
        b"[,1]",
        b"[1,,2]",
        b"[,]",
        b"[1 2]",
        b"[1",
        b"1]",
        b"[1}",
        b"[1]]",
        b"[[1]",
        b"[1:2]",
        b"[*]",
    ),
    *(b'{"a":1,}', b'{"a" 1}', b'{"a":}', b"{:1}", b'{"a"}', b'{"a"::1}', b'{"a":1', b'{"a":1]', b"{a:1}"),
    *(b"{1:1}", b"{'a':1}", b'{"a":1}}', b'{"a":1}{"b":2}', b'{,"a":1}', b'{"a":1 "b":2}', b"{[]:1}"),
    *(
        b"[01]",
        b"[-01]",
        b"[+1]",
        b"[0x1]",
        b"[1.]",
        b"[.1]",
        b"[1e]",
        b"[1e+]",
        b"[-]",
        b"[--1]",
        b"[1.2.3]",
    ),
    *(b"[NaN]", b"[Infinity]", b"[-Infinity]", b"[Inf]", b"[1_000]", b"[0o7]", b"[1f]", b"[- 1]", b"[1a]"),
    *(b"[True]", b"[FALSE]", b"[nul]", b"[nullx]", b"[None]", b"[undefined]", b"tru", b"nan", b"abc", b"*"),
    *(
        b'["a',
        b'a"]',
        b"['a']",
        b'["a\tb"]',
        b'["\x00"]',
        b'["\x1f"]',
        rb'["\x"]',
        rb'["\u00"]',
        rb'["\ug000"]',
    ),
    *(
        rb'["\U0041"]',
        b'["\xff"]',
        b'["\xc0\x80"]',
        b'["\xed\xbf\xbf"]',
        b'["\xf5\x80\x80\x80"]',
        b'["\xe2\x28"]',
    ),
    *(
        b"[1]//",
        b"[1]/**/",
        b"/**/1",
        b"[1]#",
        b"<a/>",
        b"[\xc2\xa01]",
        b"[\x0c1]",
        b"\xe2\x81\xa0[1]",
        b"``",
    ),
    *(b'"', b"{", b"[", b"}", b"]", b",", b":", b"\\", b'{"', b'["\\', b'{"a":"', b"[" * 100, b"{" * 100),
]

ALLOWED: list[bytes] = [
    *(
        b"[]",
        b"[ ]",
        b"[[]]",
        b"[null]",
        b"[1]",
        b"[ 1 , 2 ]",
        b"[1,null,true,false]",
        b'[""]',
        b"[[[[[[]]]]]]",
    ),
    *(
        b"{}",
        b'{"":0}',
        b'{"a":[]}',
        b'{"a":1,"b":2}',
        b'{"a":1,"a":2}',
        b'{"a":{"a":{"a":{}}}}',
        rb'{"\u0000":1}',
    ),
    *(
        b"[0]",
        b"[-0]",
        b"[0e1]",
        b"[0e+1]",
        b"[1E22]",
        b"[1E-2]",
        b"[1e+2]",
        b"[-0.0]",
        b"[123.456789]",
        b"[1.5e9]",
    ),
    *(b"[20e1]", b"[0.4e00669999999999999999]", b"[1e-999]", b"[123123e100000]", b"[-1e+9999]", b"[1e400]"),
    *(b"[100000000000000000000]", b"[-123123123123123123123123123123]", b"[9007199254740993]", b"[1e-400]"),
    *(b"[%b]" % (b"9" * 5000), b"[0.%b1]" % (b"0" * 5000), b"[1%b]" % (b"0" * 400), b"[-%b]" % (b"9" * 5000)),
    *(
        rb'["\u0060\u012a\u12AB"]',
        rb'["\uD801\udc37"]',
        rb'["\ud83d\ude39\ud83d\udc8d"]',
        rb'["\"\\\/\b\f\n\r\t"]',
    ),
    *(
        rb'["\\u0000"]',
        rb'["\u0000"]',
        rb'["\uFFFF"]',
        rb'["\u2028\u2029"]',
        b'["\x7f"]',
        '["⍂㈴⍂"]'.encode(),
    ),
    *(
        '["\U0010ffff"]'.encode(),
        '["\ufdd0\ufffe"]'.encode(),
        '["\u2028 \u2029"]'.encode(),
        '["é€😀"]'.encode(),
    ),
    *(rb'["\uD800"]', rb'["\uDFAA"]', rb'["\uD888\u1234"]', rb'["\uDd1e\uD834"]', rb'["\uD800\uD800\n"]'),
    *(b"[%b]" % (b'"a",' * 5000 + b'"a"'), b"[" * 500 + b"]" * 500, b'{"a":' * 200 + b"1" + b"}" * 200),
]
