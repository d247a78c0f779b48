"""Input of strangers that does harm, beside input that cannot."""

from __future__ import annotations

from tests.every import every
from tests.review.twins import Twins

TWINS = {
    "a question for the scheme alone": Twins(
        "x.py",
        "flow/ssrf",
        'def f():\n    u = request.args["u"]\n    if not u.startswith(("http://", "https://")):\n'
        "        abort(400)\n    return requests.get(u)\n",
        'def f():\n    u = request.args["u"]\n'
        '    if not u.startswith("https://api.example.com/"):\n        abort(400)\n'
        "    return requests.get(u)\n",
    ),
    "a scheme before a command": Twins(
        "x.py",
        "flow/command-injection",
        'def f():\n    u = request.args["u"]\n    subprocess.run(["git", "clone", u])\n',
        'def f():\n    u = request.args["u"]\n    if not u.startswith("https://"):\n'
        '        abort(400)\n    subprocess.run(["git", "clone", u])\n',
    ),
    "a lookup of what was made a text": Twins(
        "x.js",
        "flow/open-redirect",
        "function f(req, res) {\n  const b = req.query.b;\n  res.redirect(String(b));\n}\n",
        'function f(req, res) {\n  const b = req.query.b;\n  res.redirect(PAGES.get(String(b)) ?? "/");\n}\n',
    ),
    "the length of what came": Twins(
        "x.js",
        "flow/xss",
        "function f(req, res) {\n  const b = req.query.b;\n  res.send(`<b>${b}</b>`);\n}\n",
        "function f(req, res) {\n  const b = req.query.b;\n  res.send(`<b>${b.length}</b>`);\n}\n",
    ),
    "a file that is looked at before it is read": Twins(
        "x.kt",
        "flow/path-traversal",
        'fun Route.f() {\n    get("/x") {\n        val n = call.parameters["n"]\n'
        "        val file = File(root, n)\n        call.respondFile(file)\n    }\n}\n",
        'fun Route.f() {\n    get("/x") {\n        val n = call.parameters["n"]\n'
        "        val file = File(root, n).canonicalFile\n"
        "        if (!file.startsWith(root)) return@get\n        call.respondFile(file)\n    }\n}\n",
    ),
    "values apart from the clause of Django": Twins(
        "x.py",
        "flow/sql-injection",
        'def f(request):\n    t = request.GET["t"]\n'
        '    return M.objects.extra(where=["a = \'" + t + "\'"])\n',
        'def f(request):\n    t = request.GET["t"]\n'
        '    return M.objects.extra(where=["a = %s"], params=[f"%{t}%"])\n',
    ),
}


@every("name", sorted(TWINS))
def test_harm_is_found_and_what_was_checked_is_left_alone(name: str) -> None:
    TWINS[name].check()
