"""Statements of SQL of our own texts, beside those with a stranger's."""

from __future__ import annotations

from dragoman.review.built_sql import is_own_statement
from tests.every import every

# Texts in which § stands where a statement begins. Each pair differs in what is put into it.
OWN = {
    "a constant": 'q = §f"SELECT a FROM {TABLE}"',
    "a field with the name of a table": (
        'class A:\n    def f(self):\n        q = §f"SELECT a FROM {self.table}"'
    ),
    "one of two texts": (
        'def f(up):\n    o = "ASC" if up else "DESC"\n    q = §f"SELECT a FROM t ORDER BY a {o}"'
    ),
    "marks of parameters": (
        'def f(ids):\n    m = ",".join("?" for _ in ids)\n    q = §"SELECT a FROM t WHERE a IN (%s)" % m'
    ),
    "a number": 'def f(n):\n    q = §"SELECT a FROM t LIMIT " + str(int(n))',
    "a column that was checked": (
        'def f(c):\n    if c not in COLUMNS:\n        raise ValueError\n    q = §f"SELECT {c} FROM t"'
    ),
    "conditions with marks": (
        'def f(name):\n    parts = []\n    if name:\n        parts.append("name = ?")\n'
        '    where = " AND ".join(parts) or "TRUE"\n    q = §f"SELECT a FROM t WHERE {where}"'
    ),
    "columns that are in a list": (
        "def f(d):\n    fields = [k for k in d if k in known]\n"
        '    sets = ", ".join(f"{k} = ?" for k in fields)\n'
        '    q = §f"UPDATE t SET {sets}"'
    ),
    "a loop over texts": 'def f():\n    for t in ("a", "b"):\n        run(§f"DELETE FROM {t}")',
    "a format": 'def f():\n    q = §"SELECT {} FROM t".format(COLUMNS)',
    "a whole number of Java": 'class A {\n  void f(int n) {\n    q = §"SELECT a FROM t LIMIT " + n;\n  }\n}',
    "a constant of Java": (
        'class A {\n  void f() {\n    q = §"SELECT " + COLUMNS + " FROM t WHERE a = ?";\n  }\n}'
    ),
    "a number in a format of Go": 'func f(n int) {\n\tq := §fmt.Sprintf("SELECT a FROM t LIMIT %d", n)\n}',
    "a constant of Go": 'const columns = "a, b"\n\nfunc f() {\n\tq := §"SELECT " + columns + " FROM t"\n}',
    "a constant of Kotlin": 'fun f() {\n    val q = §"SELECT a FROM $TABLE"\n}',
    "marks of JavaScript": (
        "function f(ids) {\n  const m = ids.map(() => '?').join(',');\n"
        "  q(§`SELECT a FROM t WHERE a IN (${m})`);\n}"
    ),
    "a constant in a format of Rust": 'fn f() {\n    let q = §format!("SELECT a FROM {TABLE}");\n}',
}
FOREIGN = {
    "a parameter": 'def f(name):\n    q = §f"SELECT a FROM t WHERE a = {name}"',
    "a parameter with a default": 'def f(o="a"):\n    q = §f"SELECT a FROM t ORDER BY {o}"',
    "a parameter with a type": 'def f(n: int):\n    q = §f"SELECT a FROM t LIMIT {n}"',
    "values in place of marks": (
        'def f(ids):\n    m = ",".join(ids)\n    q = §"SELECT a FROM t WHERE a IN (%s)" % m'
    ),
    "another name that was checked": (
        'def f(c, d):\n    if c not in COLUMNS:\n        raise ValueError\n    q = §f"SELECT {d} FROM t"'
    ),
    "conditions with values": (
        'def f(name):\n    parts = []\n    if name:\n        parts.append(f"name = {name}")\n'
        '    where = " AND ".join(parts) or "TRUE"\n    q = §f"SELECT a FROM t WHERE {where}"'
    ),
    "keys of a stranger": (
        'def f(d):\n    sets = ", ".join(f"{k} = ?" for k in d)\n    q = §f"UPDATE t SET {sets}"'
    ),
    "a constant and a parameter": 'def f(name):\n    q = §f"SELECT a FROM {TABLE} WHERE a = {name}"',
    "a format": 'def f(a):\n    q = §"SELECT {} FROM t".format(a)',
    "a text of Java": 'class A {\n  void f(String n) {\n    q = §"SELECT a FROM t LIMIT " + n;\n  }\n}',
    "a text in a format of Go": 'func f(n string) {\n\tq := §fmt.Sprintf("SELECT a FROM t LIMIT %s", n)\n}',
    "a parameter of Kotlin": "fun f(name: String): Cursor =\n    g(§\"SELECT a FROM t WHERE a = '$name'\")",
    "values of JavaScript": "function f(ids) {\n  q(§`SELECT a FROM t WHERE a IN (${ids.join(',')})`);\n}",
    "a parameter in a format of Rust": (
        'fn f(name: &str) {\n    let q = §format!("SELECT a FROM t WHERE a = {name}");\n}'
    ),
    "nothing at all": "§",
}


def is_own(text: str) -> bool:
    return is_own_statement(text.replace("§", "") + "\n", text.index("§"))


@every("name", sorted(OWN))
def test_a_statement_of_our_own_texts_is_one(name: str) -> None:
    assert is_own(OWN[name])


@every("name", sorted(FOREIGN))
def test_a_statement_with_a_text_of_a_stranger_is_none(name: str) -> None:
    assert not is_own(FOREIGN[name])
