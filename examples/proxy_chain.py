"""A chain of programs, served to the client as one agent: two proxies, and the echo agent behind them.

The rules proxy here is the same program that also works alone: a conductor greets it as a link of a chain.
"""

import sys

from dragoman import Conductor, Proxy, serve
from dragoman.schema.v1 import PromptRequest

count = Proxy(name="count")
asked = 0


@count.on("session/prompt")
def number(request: PromptRequest) -> PromptRequest:
    global asked
    asked += 1
    print(f"prompt {asked}")  # standard output belongs to the protocol: this is shown on standard error
    return request


chain = Conductor(
    [count, [sys.executable, "examples/rules_proxy.py"], [sys.executable, "examples/echo_agent.py"]]
)

if __name__ == "__main__":
    serve(chain)
