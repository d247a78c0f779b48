"""Good code that looks like a mistake: each shape beside the mistake that it must not be taken for."""

from __future__ import annotations

from dragoman.review.inspection import inspect
from dragoman.review.rules import own_rules
from tests.every import every

TWINS: dict[str, tuple[str, str, str, str]] = {
    "a template that is filled in later": (
        "x.py",
        "python/missing-f",
        'def f(user):\n    return "Hello {user}"\n',
        'def f(user):\n    text = "Hello {user}"\n    return text.format(user=user)\n',
    ),
    "a placeholder for another program": (
        "x.py",
        "python/missing-f",
        'def f(user):\n    return "Hello {user}"\n',
        'def f(user):\n    return "Hello {name}"\n',
    ),
    "a task that the function has cancelled itself": (
        "x.py",
        "python/swallowed-cancellation",
        "async def f(t):\n    try:\n        await t\n    except asyncio.CancelledError:\n        pass\n",
        "async def f(t):\n    t.cancel()\n    try:\n        await t\n"
        "    except asyncio.CancelledError:\n        pass\n",
    ),
    "the tests at the end of a file of Rust": (
        "x.rs",
        "rust/unwrapped-search",
        "fn f(t: &str) -> u8 {\n    t.parse().unwrap()\n}\n",
        "#[cfg(test)]\nmod tests {\n    fn f(t: &str) -> u8 {\n        t.parse().unwrap()\n    }\n}\n",
    ),
    "a value that the program itself has put there": (
        "x.rs",
        "flow/panic-instead-of-error",
        "fn f(t: &str) -> Result<u8, E> {\n    Ok(t.parse::<u8>().unwrap())\n}\n",
        "fn f(t: &mut Vec<u8>) -> Result<u8, E> {\n    Ok(t.pop().unwrap())\n}\n",
    ),
    "a length that was asked for before": (
        "x.rs",
        "rust/unsigned-subtraction",
        "fn f(a: &str, b: &str) -> usize {\n    a.len() - b.len()\n}\n",
        "fn f(a: &str, b: &str) -> usize {\n    if !a.ends_with(b) {\n        return 0;\n    }\n"
        "    a.len() - b.len()\n}\n",
    ),
    "a variable that holds numbers alone": (
        "x.sh",
        "shell/unquoted-test",
        'count="$1"\nif [ $count -eq 1 ]; then\n    run\nfi\n',
        "count=0\ncount=$((count + 1))\nif [ $count -eq 1 ]; then\n    run\nfi\n",
    ),
    "a copy that is a new object": (
        "x.js",
        "javascript/prototype-pollution",
        "function f(t, s) {\n  for (const k in s) {\n    t[k] = s[k];\n  }\n}\n",
        "function f(s) {\n  const t = {};\n  for (const k in s) {\n    t[k] = s[k];\n  }\n  return t;\n}\n",
    ),
    "a function of Go whose answer is nil": (
        "x.go",
        "go/empty-error-branch",
        "func f() error {\n\tif err := g(); err != nil {\n\t\treturn nil\n\t}\n\treturn nil\n}\n",
        "func f() *A {\n\ta, err := g()\n\tif err != nil {\n\t\treturn nil\n\t}\n\treturn a\n}\n",
    ),
    "the half of a pair that locks": (
        "x.py",
        "flow/lock-not-released",
        "class A:\n    def f(self):\n        self._lock.acquire()\n        return self.g()\n",
        "class A:\n    def __enter__(self):\n        self._lock.acquire()\n        return self\n\n"
        "    def __exit__(self, *_):\n        self._lock.release()\n",
    ),
    "elements that come in pairs": (
        "x.js",
        "logic/off-by-one",
        "for (let i = 0; i < h.length; i++) {\n  set(h[i], h[i + 1]);\n}\n",
        "for (let i = 0; i < h.length; i += 2) {\n  set(h[i], h[i + 1]);\n}\n",
    ),
    "a return of several lines in a case": (
        "x.ts",
        "logic/fallthrough",
        "switch (k) {\n  case 1:\n    show(\n      a,\n    );\n  case 2:\n    return b;\n}\n",
        "switch (k) {\n  case 1:\n    return (\n      a +\n      c(\n        d,\n      )\n    );\n"
        "  case 2:\n    return b;\n}\n",
    ),
    "a snippet with placeholders of its own": (
        "x.ts",
        "logic/placeholder-in-quotes",
        "const rank = 3;\nshow('topk(${rank})');\n",
        "show(snippet('topk(${rank})'));\n",
    ),
    "a generator is walked through and not awaited": (
        "x.py",
        "flow/missing-await",
        "async def f():\n    return 1\n\nasync def g():\n    x = f()\n    return x.name\n",
        "async def f():\n    yield 1\n\nasync def g():\n    x = f()\n    return x.name\n",
    ),
    "a method that sets what was None": (
        "x.py",
        "logic/null-dereference",
        "def f(self):\n    if self.c is None:\n        return self.c.flush()\n",
        "def f(self):\n    if self.c is None:\n        return self.init() + self.c.flush()\n",
    ),
    "a condition of several lines": (
        "x.py",
        "logic/repeated-condition",
        "if a:\n    f()\nelif b:\n    g()\nelif b:\n    h()\n",
        "if a:\n    f()\nelif (\n    b\n):\n    g()\nelif (\n    c\n):\n    h()\n",
    ),
    "a name that holds a tuple": (
        "x.py",
        "logic/accidental-tuple",
        "name = value,\n",
        "class A:\n    __slots__ = 'key',\n",
    ),
    "a loop that goes on where the first one stopped": (
        "x.py",
        "logic/exhausted-iterator",
        "def f(a):\n    it = map(g, a)\n    for x in it:\n        h(x)\n    for x in it:\n        h(x)\n",
        "def f(a):\n    it = map(g, a)\n    for x in it:\n        if x:\n            break\n"
        "    for x in it:\n        h(x)\n",
    ),
    "a method of its own with the name of a list's": (
        "x.py",
        "logic/changed-while-iterating",
        "def f(a):\n    for x in a:\n        if x:\n            a.remove(x)\n",
        "def f(self):\n    for x in self:\n        if x:\n            self.clear(x.name)\n",
    ),
    "a function that moves a file": (
        "x.py",
        "flow/unused-result",
        "def f(a, b):\n    for c in d:\n        a.replace(b, c)\n",
        "def f(a, b):\n    for c in d:\n        os.replace(b, c)\n",
    ),
    "a method of its own with the name of a text's": (
        "x.py",
        "flow/unused-result",
        "def f(self, a):\n    self.name.replace(a, b)\n",
        "def f(self, a):\n    self.replace(a, b)\n    self.split(a)\n",
    ),
    "a client of Go that gives back an error alone": (
        "x.go",
        "flow/resource-leak",
        "func f() {\n\tr, err := client.Get(p)\n\tuse(r, err)\n}\n",
        "func f() {\n\terr := client.Get(p, &names)\n\tuse(err)\n}\n",
    ),
    "the sum of a file": (
        "x.py",
        "flow/timing-attack",
        "def f(b, s):\n    mac = hmac.new(KEY, b, 'sha256').hexdigest()\n    return mac == s\n",
        "def f(b, expected):\n    digest = hashlib.sha256(b).hexdigest()\n    return digest == expected\n",
    ),
    "the last part of a name": (
        "x.java",
        "flow/path-traversal",
        "class A {\n  void f(MultipartFile file) {\n"
        "    Path p = root.resolve(Path.of(file.getOriginalFilename()));\n    file.transferTo(p);\n  }\n}\n",
        "class A {\n  void f(MultipartFile file) {\n"
        "    Path p = root.resolve(Path.of(file.getOriginalFilename()).getFileName());\n"
        "    file.transferTo(p);\n  }\n}\n",
    ),
    "a division of fractions": (
        "x.java",
        "logic/cut-quotient",
        "class A {\n  double f(int sum, int n) {\n    return n == 0 ? 0 : sum / n;\n  }\n}\n",
        "class A {\n  double f(double sum, int n) {\n    return n == 0 ? 0 : sum / n;\n  }\n}\n",
    ),
    "a call of another function with the name of a method": (
        "x.py",
        "flow/missing-await",
        "class A:\n    async def sleep(self): ...\n\n    async def f(self):\n        self.sleep()\n",
        "class A:\n    def f(self):\n        sleep(1)\n\n    async def sleep(self): ...\n",
    ),
    "a lock that is taken back": (
        "x.go",
        "flow/lock-not-released",
        "func (p *P) f() {\n\tp.mu.Lock()\n\tif p.n == 0 {\n\t\treturn\n\t}\n\tp.mu.Unlock()\n}\n",
        "func (p *P) f() {\n\tp.mu.Unlock()\n\twait()\n\tp.mu.Lock()\n}\n",
    ),
    "one of two branches": (
        "x.py",
        "logic/exhausted-iterator",
        "def f(a):\n    it = map(g, a)\n    for x in it:\n        h(x)\n    for x in it:\n        h(x)\n",
        "def f(a):\n    it = map(g, a)\n    if a:\n        for x in it:\n            h(x)\n    else:\n"
        "        for x in it:\n            h(x)\n",
    ),
    "a loop that is left after the change": (
        "x.py",
        "logic/changed-while-iterating",
        "def f(a):\n    for x in a:\n        if x:\n            a.remove(x)\n            log(x)\n",
        "def f(a):\n    for x in a:\n        if x:\n            a.remove(x)\n            log(x)\n"
        "            break\n",
    ),
    "an element behind the end that is asked for": (
        "x.js",
        "logic/off-by-one",
        "for (let i = 0; i < a.length; i++) {\n  const b = a[i + 1];\n  use(b.name);\n}\n",
        "for (let i = 0; i < a.length; i++) {\n  const b = a[i + 1];\n  if (b) {\n    use(b.name);\n  }\n}\n",
    ),
    "a stream that is used up at once": (
        "x.kt",
        "flow/resource-leak",
        "fun f(file: File): String {\n    val r = file.bufferedReader()\n    return r.readLine()\n}\n",
        "fun f(file: File): String {\n    val line = file.bufferedReader().use { it.readLine() }\n"
        "    return line\n}\n",
    ),
    "a chain of Kotlin that ends with a call for its effect": (
        "x.kt",
        "flow/unused-result",
        "fun f(xs: List<Int>) {\n    xs.map { it + 1 }\n    g()\n}\n",
        "fun f(xs: List<Int>) {\n    xs.map { h(it) }.forEach { it.get() }\n    g()\n}\n",
    ),
    "a thread for calls that block": (
        "x.kt",
        "flow/blocking-in-async",
        "fun f(scope: CoroutineScope) {\n    scope.launch {\n        Thread.sleep(5)\n    }\n}\n",
        "fun f(scope: CoroutineScope) {\n    scope.launch {\n        withContext(Dispatchers.IO) {\n"
        "            Thread.sleep(5)\n        }\n    }\n}\n",
    ),
    "a closure that runs where it may block": (
        "x.rs",
        "flow/blocking-in-async",
        "async fn f() -> String {\n    std::fs::read_to_string(P)\n}\n",
        "async fn f() -> String {\n    spawn_blocking(|| {\n        std::fs::read_to_string(P)\n"
        "    }).await\n}\n",
    ),
    "a sum without a key": (
        "x.go",
        "flow/timing-attack",
        "func f(k, b, s []byte) bool {\n\th := hmac.New(sha256.New, k)\n\th.Write(b)\n"
        "\treturn bytes.Equal(h.Sum(nil), s)\n}\n",
        "func f(token string, b, s []byte) bool {\n\th := sha256.New()\n\th.Write(b)\n"
        "\treturn bytes.Equal(h.Sum(nil), s)\n}\n",
    ),
    "a text that was decrypted": (
        "A.java",
        "flow/timing-attack",
        "class A {\n  boolean f(byte[] b, byte[] s) {\n"
        "    return Arrays.equals(mac.doFinal(b), s);\n  }\n}\n",
        "class A {\n  boolean f(byte[] b, byte[] token) {\n"
        "    return Arrays.equals(cipher.doFinal(b), plain);\n  }\n}\n",
    ),
    "a query that always has a row": (
        "x.py",
        "python/get-chain",
        "def f(db):\n    return db.execute('SELECT a FROM t').fetchone()[0]\n",
        "def f(db):\n    return db.execute('SELECT count(*) FROM t').fetchone()[0]\n",
    ),
    "a guard that its block ends": (
        "x.rs",
        "rust/guard-across-await",
        "async fn f() {\n    let g = s.lock().unwrap();\n    h(g.len()).await;\n}\n",
        "async fn f() {\n    let n = {\n        let g = s.lock().unwrap();\n        g.len()\n    };\n"
        "    h(n).await;\n}\n",
    ),
    "a length that is bounded by another": (
        "x.rs",
        "rust/unsigned-subtraction",
        "fn f(a: &[u8], n: usize) -> usize {\n    a.len() - n\n}\n",
        "fn f(a: &[u8], n: usize) -> usize {\n    let n = n.min(a.len());\n    a.len() - n\n}\n",
    ),
    "a length of what the function made itself": (
        "x.rs",
        "rust/unsigned-subtraction",
        "fn f(a: &[u8], room: usize) -> usize {\n    room - a.len()\n}\n",
        "fn f(a: &[u8]) -> usize {\n    let end = g(a);\n    a.len() - end\n}\n",
    ),
    "an entry that the loop asks for again": (
        "x.py",
        "flow/unchecked-absence",
        "def f(d, k):\n    v = d.get(k)\n    return v[0]\n",
        "def f(d, k):\n    v = d.get(k)\n    while v is None:\n        k = k.up\n        v = d.get(k)\n"
        "    return v[0]\n",
    ),
    "a get of something else than a dictionary": (
        "x.py",
        "flow/unchecked-absence",
        "class A:\n    def __init__(self):\n        self.d = {}\n\n    def f(self, k):\n"
        "        v = self.d.get(k)\n        v()\n",
        "class A:\n    def __init__(self, d):\n        self.d = d\n\n    def f(self, k):\n"
        "        v = self.d.get(k)\n        v()\n",
    ),
    "a call whose failure is caught": (
        "x.py",
        "flow/unchecked-absence",
        "def f(d, k):\n    v = d.get(k)\n    return v()\n",
        "def f(d, k):\n    v = d.get(k)\n    try:\n"
        "        return v()\n    except TypeError:\n        return 0\n",
    ),
    "a lock around what hardly fails": (
        "x.py",
        "flow/lock-not-released",
        "def f(self):\n    self.lock.acquire()\n    self.load()\n    self.lock.release()\n",
        "def f(self):\n    self.lock.acquire()\n    self.items.append(1)\n    self.lock.release()\n",
    ),
    "a script that has said how pipes fail": (
        "x.sh",
        "shell/failure-in-pipe",
        "set -e\npg_dump app | gzip > d.gz\n",
        "set -o pipefail\nset -e\npg_dump app | gzip > d.gz\n",
    ),
    "a parameter that the function makes anew": (
        "x.py",
        "flow/path-traversal",
        "@app.get('/f')\ndef f(name: str):\n    return open(name)\n",
        "@app.get('/f')\ndef f(name: str):\n    name = secure_filename(name)\n    return open(name)\n",
    ),
    "a part of a path that is taken out of it": (
        "x.rs",
        "flow/path-traversal",
        "async fn f(Path(name): Path<String>) {\n    tokio::fs::read(&name).await;\n}\n",
        "async fn f(Path(name): Path<String>) {\n"
        "    let Some(name) = Path::new(&name).file_name() else { return };\n"
        "    tokio::fs::read(&name).await;\n}\n",
    ),
    "a target whose host was asked for": (
        "x.py",
        "flow/open-redirect",
        "def f():\n    to = request.args['to']\n    return redirect(to)\n",
        "def f():\n    to = request.args['to']\n    if urlparse(to).netloc:\n        to = '/'\n"
        "    return redirect(to)\n",
    ),
    "a handler of each error": (
        "x.py",
        "logic/unreachable",
        "try:\n    f()\nexcept Exception:\n    g()\nexcept KeyError:\n    h()\n",
        "try:\n    f()\nexcept KeyError:\n    g()\nexcept Exception:\n    h()\n"
        "except BaseException:\n    h()\n\ntry:\n    f()\n"
        "except KeyError:\n    g()\n",
    ),
    "a number that is asked for before": (
        "A.java",
        "flow/unchecked-absence",
        "class A {\n  Map<String, Integer> m;\n  int f(String k) {\n    return m.get(k);\n  }\n}\n",
        "class A {\n  Map<String, Integer> m;\n  int f(String k) {\n    if (!m.containsKey(k)) return 0;\n"
        "    return m.get(k);\n  }\n}\n",
    ),
    "a reply that is handed on": (
        "x.go",
        "flow/resource-leak",
        "func f(c *http.Client) (int, error) {\n\tr, err := c.Get(u)\n\treturn r.StatusCode, err\n}\n",
        "func f(c *http.Client) (*http.Response, error) {\n\tr, err := c.Get(u)\n\treturn r, err\n}\n",
    ),
    "a promise that an arrow gives back": (
        "x.js",
        "flow/floating-promise",
        "function f(a) {\n  load(a).then((b) => show(b));\n}\n",
        "module.exports = (a) =>\n  load(a).then((b) => show(b));\n",
    ),
}


@every("name", sorted(TWINS))
def test_a_mistake_is_found_and_good_code_of_its_shape_is_not(name: str) -> None:
    path, rule, bad, good = TWINS[name]
    findings = [
        {finding.rule for finding in inspect(path, text, own_rules(), has_ruff=True).findings}
        for text in (bad, good)
    ]
    assert rule in findings[0]
    assert rule not in findings[1]
