"""Last words and what they mean."""

from dragoman_local.known.hints import explain
from tests.every import every


@every(
    ("words", "meaning"),
    [
        ("error: unknown option '--acp'", "it does not know a word of its command"),
        ("Error: Cannot find module '/x/dist/index.js'", "a part of the program is missing"),
        ("ModuleNotFoundError: No module named 'acp'", "a part of the program is missing"),
        ("python3: can't open file 'x.py': [Errno 2]", "it did not find a file"),
        ("sh: 1: node: not found", "a program that it starts is not on PATH"),
        ("npm error getaddrinfo EAI_AGAIN example", "it could not reach the network"),
        ("Raw mode is not supported on the current process.stdin", "it wants a terminal"),
        ("Missing Content-Length header", "it puts a Content-Length header before each message"),
        ("old-cli is no longer maintained. Install new-cli.", "its makers have given it up"),
        ("Please set an API key", "it wants a login or a key"),
    ],
)
def test_a_known_failure_is_explained(words: str, meaning: str) -> None:
    found, advice = explain(words)
    assert found.startswith(meaning)
    assert advice


def test_without_words_the_signal_or_the_status_speaks() -> None:
    assert "memory" in explain("", returncode=-9, signal="SIGKILL")[0]
    assert "not found" in explain("", returncode=127)[0]
    assert "without sending one message" in explain("", returncode=0)[0]


def test_nothing_is_guessed_about_the_unknown() -> None:
    assert explain("flux capacitor is empty", returncode=3) == ("", "")
    assert explain("", returncode=-35, signal="35") == ("", "")
