"""Rules that follow values and branches: each with what it finds, and what it leaves alone."""

from __future__ import annotations

from dragoman.review.catalogue import rule_examples
from dragoman.review.code_rule_texts import CODE_RULES
from dragoman.review.flow_tables import tables
from dragoman.review.inspection import inspect
from tests.every import every

RULES = {*(rule.id for rule in CODE_RULES), *(rule.id for rule in tables().sink)}
EXAMPLES = {name: example for name, example in rule_examples().items() if name in RULES}


def found(path: str, text: str) -> set[str]:
    result = inspect(path, text, (), has_ruff=True)
    assert result.failures == []
    return {finding.rule for finding in result.findings}


def test_every_rule_has_an_example() -> None:
    assert EXAMPLES.keys() == RULES
    assert {rule.id for rule in tables().sink} <= EXAMPLES.keys()


@every("name", EXAMPLES)
def test_a_rule_finds_the_bug_and_leaves_its_twin_alone(name: str) -> None:
    example = EXAMPLES[name]
    assert name in found(example.path, example.bad)
    assert name not in found(example.path, example.good)


def test_a_line_that_a_machine_wrote_costs_no_time() -> None:
    assert found("x.py", "a" * 200_000 + "\n") == set()
    assert found("x.go", "func f() {\n\tx := " + "a." * 100_000 + "b\n}\n") == set()


def test_a_type_of_many_lines_without_a_lock_costs_no_time() -> None:
    fields = "".join(f"        field{number} int\n" for number in range(60))
    assert found("x.go", f"package m\n\ntype T struct {{\n{fields}}}\n\nvar lock sync.Mutex\n") == set()


def test_offsets_stay_right_behind_strings_and_comments() -> None:
    text = "// été\nconst s = 'ü';\nfunction newToken() {\n  return Math.random();\n}\n"
    (hit,) = [f for f in inspect("x.js", text, (), has_ruff=True).findings if f.rule == "flow/weak-random"]
    assert (hit.line, hit.place.column) == (4, 3)


@every(
    ("text", "line"),
    [
        ("async def f(): ...\nasync def g():\n    x = f()\n    return x.name\n", 3),
        ("async def f(): ...\nasync def g():\n    x = f()\n    return await x\n", None),
        ("async def f(): ...\nasync def g():\n    x = f()\n    x.close()\n", None),
        ("async def f(): ...\nasync def g():\n    x = f()\n    run(x)\n    x.name\n", None),
        (
            "class A:\n    @work()\n    async def f(self): ...\n    def g(self):\n        self.f()\n",
            None,
        ),
    ],
)
def test_a_coroutine_that_is_used_as_its_result_is_not_awaited(text: str, line: int | None) -> None:
    hits = [
        f.line for f in inspect("x.py", text, (), has_ruff=True).findings if f.rule == "flow/missing-await"
    ]
    assert hits == ([] if line is None else [line])


@every(
    ("text", "line"),
    [
        ("for k, v in d.items():\n    if v:\n        del d[k]\n", 3),
        ("for k in self.d.keys():\n    self.d.pop(k)\n", 2),
        ("for k, v in list(d.items()):\n    del d[k]\n", None),
        ("for k, v in d.items():\n    d[k] = v + 1\n", None),
        ("for k in d:\n    v = d.pop(k)\n    use(v)\n    return v\n", None),
    ],
)
def test_a_dictionary_must_not_lose_entries_while_it_is_walked_through(text: str, line: int | None) -> None:
    rule = "logic/changed-while-iterating"
    hits = [f.line for f in inspect("x.py", text, (), has_ruff=True).findings if f.rule == rule]
    assert hits == ([] if line is None else [line])


SOURCES = {
    "ws.py": "import os\nasync def f(ws):\n    name = await ws.receive_text()\n    os.system(name)\n",
    "argv.py": "import os, sys\ndef f():\n    name = sys.argv[1]\n    other = 1\n    os.system(name)\n",
    "page.js": "function f() {\n  const text = document.URL;\n  const other = 1;\n  eval(text);\n}\n",
    "at_once.js": "function f(req) {\n  eval(req.body.code);\n}\n",
}


@every("name", sorted(SOURCES))
def test_what_a_stranger_says_is_followed_from_the_statement_that_brings_it(name: str) -> None:
    assert found(name, SOURCES[name]) & {"flow/command-injection", "flow/code-injection"}


# A text, and the only rule that it breaks; none for a text that is left alone.
FLOWS = {
    "a branch that may not be taken leaves a name as it was": (
        "x.go",
        'func f(w http.ResponseWriter, r *http.Request) {\n\tname := r.FormValue("n")\n\tif name == "" {\n'
        '\t\tname = "guest"\n\t}\n\tfmt.Fprintf(w, "<p>%s", name)\n}\n',
        "flow/xss",
    ),
    "an assignment on the same way makes it anew": (
        "x.go",
        'func f(w http.ResponseWriter, r *http.Request) {\n\tname := r.FormValue("n")\n\tname = "guest"\n'
        '\tfmt.Fprintf(w, "<p>%s", name)\n}\n',
        None,
    ),
    "what failed a check is bad within the branch": (
        "x.js",
        "function f(req, res) {\n  const name = req.query.name;\n  if (!isValid(name)) {\n"
        "    res.send('<p>' + name);\n  }\n}\n",
        "flow/xss",
    ),
    "what passed a check is good after the branch": (
        "x.js",
        "function f(req, res) {\n  const name = req.query.name;\n  if (!isValid(name)) {\n    return;\n  }\n"
        "  res.send('<p>' + name);\n}\n",
        None,
    ),
    "one of few values is good": (
        "x.py",
        "def f():\n    target = request.args['t']\n    if target == HOME_PAGE:\n"
        "        return redirect(target)\n",
        None,
    ),
    "a sum has what was added": (
        "x.js",
        "function f(req, res) {\n  let page = '<ul>';\n  page += req.query.name;\n"
        "  res.send('<p>' + page);\n}\n",
        "flow/xss",
    ),
    "a text of several lines belongs to its statement": (
        "x.js",
        "function f(req) {\n  const page = `\n  <p>\n  ` + req.query.name\n  pug.compile(page);\n}\n",
        "flow/template-injection",
    ),
    "a program of our own choice takes any argument": (
        "x.py",
        "def f():\n    host = request.args['h']\n    subprocess.run(['ping', host])\n",
        None,
    ),
    "a shell of our own choice does not": (
        "x.py",
        "def f():\n    host = request.args['h']\n    subprocess.run(['sh', '-c', host])\n",
        "flow/command-injection",
    ),
    "whoever runs the program may name any file": (
        "x.py",
        "def f():\n    name = sys.argv[1]\n    with open(name) as file:\n        return file.read()\n",
        None,
    ),
    "the body of a request is a stranger's": (
        "x.py",
        "@app.post('/p')\nasync def f(body: Preview):\n    return await client.get(body.url)\n",
        "flow/ssrf",
    ),
    "an entry of an archive may lead anywhere": (
        "x.py",
        "import tarfile\ndef f(path):\n    with tarfile.open(path) as tar:\n        for entry in tar:\n"
        "            tar.extract(entry, '/srv')\n",
        "flow/path-traversal",
    ),
    "unless somebody asks where": (
        "x.py",
        "import tarfile\ndef f(path):\n    with tarfile.open(path) as tar:\n        for entry in tar:\n"
        "            if '..' in entry.name:\n                raise ValueError\n"
        "            tar.extract(entry, '/srv')\n",
        None,
    ),
    "a field that is asked and changed after others ran": (
        "x.py",
        "class A:\n    async def f(self, n):\n        if self.left < n:\n            return\n"
        "        await self.log(n)\n        self.left -= n\n",
        "flow/data-race",
    ),
    "not with a lock": (
        "x.py",
        "class A:\n    async def f(self, n):\n        async with self.lock:\n            if self.left < n:\n"
        "                return\n            await self.log(n)\n            self.left -= n\n",
        None,
    ),
    "a static field that the first caller fills in": (
        "A.java",
        "class A {\n    private static Pool pool;\n    static Pool get() {\n        if (pool == null)\n"
        "            pool = new Pool();\n        return pool;\n    }\n}\n",
        "flow/data-race",
    ),
    "a lock that is set anew": (
        "A.java",
        "class A {\n    private Object lock = new Object();\n    void f() {\n        synchronized (lock) {\n"
        "            lock = new Object();\n        }\n    }\n}\n",
        "flow/data-race",
    ),
    "a header compared with a secret": (
        "x.go",
        'func f(r *http.Request, token string) bool {\n\tgiven := r.Header.Get("Authorization")\n'
        "\treturn given == token\n}\n",
        "flow/timing-attack",
    ),
    "a signature that a method makes": (
        "x.py",
        "class A:\n    def f(self, value, signature):\n        return self.sign(value) == signature\n",
        "flow/timing-attack",
    ),
    "the digest of a file is no secret": (
        "x.py",
        "def f(text, file):\n    return digest(text) != file.digest\n",
        None,
    ),
    "a coroutine compared with nothing": (
        "x.js",
        "async function load() {}\nasync function show() {\n  const data = load();\n"
        "  if (data == null) {\n    return;\n  }\n}\n",
        "flow/missing-await",
    ),
    "the whole environment in a log": ("x.js", "console.log(process.env);\n", "flow/logged-secret"),
    "a sum of rows is there in any case": (
        "x.py",
        "def f(db):\n    row = db.execute('SELECT count(*) FROM t').fetchone()\n    return row[0]\n",
        None,
    ),
    "a descriptor that nobody closes": (
        "x.py",
        "def f():\n    handle, path = tempfile.mkstemp()\n    use(path)\n",
        "flow/resource-leak",
    ),
    "a value of Go that is used before its error is asked for": (
        "x.go",
        "func f(p string) (int64, error) {\n\ti, err := os.Stat(p)\n\tn := i.Size()\n\tif err != nil {\n"
        "\t\treturn 0, err\n\t}\n\treturn n, nil\n}\n",
        "flow/unchecked-absence",
    ),
    "a value and its error that are given back together": (
        "x.go",
        "func f(s string) (int64, error) {\n\tt, err := time.Parse(L, s)\n\treturn t.Unix(), err\n}\n",
        None,
    ),
    "an entry of Go that may be missing": (
        "x.go",
        "func f(us map[string]*User, id string) string {\n\tu := us[id]\n\treturn u.Name\n}\n",
        "flow/unchecked-absence",
    ),
    "an entry of Go that was put there": (
        "x.go",
        "func f(us map[string]*User, id string) string {\n\tus[id] = &User{}\n\tu := us[id]\n"
        "\treturn u.Name\n}\n",
        None,
    ),
    "an optional that nobody asks": (
        "A.java",
        "class A {\n  String f() {\n    Optional<User> u = g();\n    return u.get().name();\n  }\n}\n",
        "flow/unchecked-absence",
    ),
    "an optional that somebody asks": (
        "A.java",
        "class A {\n  String f() {\n    Optional<User> u = g();\n    if (u.isEmpty()) return null;\n"
        "    return u.get().name();\n  }\n}\n",
        None,
    ),
    "a lock of asyncio that nobody waits for": (
        "x.py",
        "class A:\n    def __init__(self):\n        self.slots = asyncio.Semaphore(2)\n\n"
        "    async def f(self):\n        self.slots.acquire()\n"
        "        try:\n            g()\n        finally:\n"
        "            self.slots.release()\n",
        "flow/missing-await",
    ),
    "a client whose answer is used before it came": (
        "x.py",
        "async def f(client: httpx.AsyncClient):\n    r = client.get(U)\n    return r.text\n",
        "flow/missing-await",
    ),
    "a request that waits for others": (
        "x.py",
        "async def f(client: httpx.AsyncClient):\n    r = client.get(U)\n    return await gather(r, g())\n",
        None,
    ),
    "a queue whose entry is used before it came": (
        "x.py",
        "async def f(queue: asyncio.Queue):\n    job = queue.get()\n    job.run()\n",
        "flow/missing-await",
    ),
    "a coroutine that is added up": (
        "x.py",
        "async def f(): ...\nasync def g(all):\n    x = f()\n    all.extend(x)\n",
        "flow/missing-await",
    ),
    "a map of promises that nobody takes": (
        "x.js",
        "async function f(a) {\n  a.map(async (b) => {\n    await g(b);\n  });\n}\n",
        "flow/floating-promise",
    ),
    "a map of promises that an arrow gives back": (
        "x.js",
        "const f = (a) =>\n  a.map(async (b) => {\n    await g(b);\n  });\n",
        None,
    ),
    "a counter that threads of a pool change": (
        "x.kt",
        "fun f(xs: List<Int>): Int {\n    var n = 0\n"
        "    xs.forEach { pool.submit { n += it } }\n    return n\n}\n",
        "flow/data-race",
    ),
    "a field that threads of a pool change": (
        "A.java",
        "class A {\n  private int n;\n  void f() {\n    pool.submit(() -> n++);\n  }\n}\n",
        "flow/data-race",
    ),
    "a list of a thread's own": (
        "A.java",
        "class A {\n  void f() {\n    pool.submit(() -> {\n      List<T> own = new ArrayList<>();\n"
        "      own.add(x);\n    });\n  }\n}\n",
        None,
    ),
    "a page with a value in a text of Kotlin": (
        "x.kt",
        'fun Route.f() = get("/x") {\n'
        '    call.respondText("<p>${call.parameters["n"]}</p>", ContentType.Text.Html)\n}\n',
        "flow/xss",
    ),
    "a program of our own choice with the context of a request": (
        "x.go",
        "func f(r *http.Request) {\n\th := r.FormValue(H)\n"
        '\texec.CommandContext(r.Context(), "ping", h).Run()\n}\n',
        None,
    ),
    "a coroutine that is looked into at once": (
        "x.py",
        "async def f(): ...\nasync def g():\n    return f()['name']\n",
        "flow/missing-await",
    ),
    "a result that is looked into at once": (
        "x.py",
        "async def f(): ...\nasync def g():\n    return (await f())['name']\n",
        None,
    ),
    "a copy that nobody takes": (
        "x.go",
        "func (d Day) next() Day {\n\treturn d + 1\n}\n\nfunc f(d Day) {\n\td.next()\n}\n",
        "flow/unused-result",
    ),
}


@every("name", sorted(FLOWS))
def test_a_value_is_followed_through_what_a_function_does(name: str) -> None:
    path, text, rule = FLOWS[name]
    assert found(path, text) == (set() if rule is None else {rule})
