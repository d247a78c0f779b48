"""Promises that nobody waits for, beside those that somebody does."""

from __future__ import annotations

from tests.every import every
from tests.review.twins import Twins

TWINS = {
    "a pipeline of redis": Twins(
        "x.py",
        "flow/missing-await",
        "from redis.asyncio import Redis\n\nasync def f(r):\n    async with r.pipeline() as p:\n"
        "        p.get(1)\n        p.execute()\n",
        "from redis.asyncio import Redis\n\nasync def f(r):\n    async with r.pipeline() as p:\n"
        "        p.get(1)\n        await p.execute()\n",
    ),
    "a method that is awaited elsewhere": Twins(
        "x.py",
        "flow/missing-await",
        "async def f(r):\n    await r.sink.send(1)\n    r.sink.send(2)\n",
        "async def f(r):\n    await r.sink.send(1)\n    r.queue.send(2)\n",
    ),
    "a method that works without an await": Twins(
        "x.py",
        "flow/missing-await",
        "async def f(r):\n    await r.sink.send(1)\n    r.sink.send(2)\n",
        "async def f(r):\n    await r.answer.release()\n    r.answer.release()\n",
    ),
    "a method that a plain function calls": Twins(
        "x.py",
        "flow/missing-await",
        "async def f(r):\n    await r.sink.send(1)\n    r.sink.send(2)\n",
        "async def f(r):\n    await r.sink.send(1)\n\ndef g(r):\n    r.sink.send(2)\n",
    ),
    "a promise that leaves a try": Twins(
        "x.ts",
        "flow/unguarded-promise",
        "async function f(u) {\n  try {\n    return fetch(u);\n  } catch (e) {\n    return null;\n  }\n}\n",
        "async function f(u) {\n  try {\n    await g(u);\n  } catch (e) {\n    return null;\n  }\n"
        "  return fetch(u);\n}\n",
    ),
    "a promise that a function within gives back": Twins(
        "x.ts",
        "flow/unguarded-promise",
        "async function f(a) {\n  try {\n    return a.json();\n  } catch (e) {\n    return null;\n  }\n}\n",
        "async function f(a) {\n  try {\n    await g(() => {\n      return a.json();\n    });\n"
        "  } catch (e) {\n    return null;\n  }\n}\n",
    ),
    "another try of the function itself": Twins(
        "x.ts",
        "flow/unguarded-promise",
        "async function f(a) {\n  try {\n    return fetch(a);\n  } catch (e) {\n    return null;\n  }\n}\n",
        "async function f(n) {\n  try {\n    await g(n);\n    return f(n - 1);\n  } catch (e) {\n"
        "    return null;\n  }\n}\n",
    ),
    "a reply of a server": Twins(
        "x.ts",
        "flow/unguarded-promise",
        "async function f(a) {\n  try {\n    return a.json();\n  } catch (e) {\n    return null;\n  }\n}\n",
        "async function f(q, res) {\n  try {\n    return res.json(await g(q));\n  } catch (e) {\n"
        "    return null;\n  }\n}\n",
    ),
}


@every("name", sorted(TWINS))
def test_a_promise_that_is_lost_is_found_and_one_that_is_kept_is_not(name: str) -> None:
    TWINS[name].check()
