from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.policy.decision import Certainty
from dragoman_local.workspace.policy.globs import ANY, ONE, RUN, absolute, is_beneath, permits, restricts
from tests.every import every
from tests.workspace.policy.makers import HOME, ROOT

NAMES = st.sampled_from(["a", "b", "src", ".env", "é", "A", ".."])
PATHS = st.lists(NAMES, min_size=1, max_size=5).map(lambda names: "/" + "/".join(names))


@every(
    ("glob", "path", "expected"),
    [
        ("src/**", f"{ROOT}/src/a/b.py", True),
        ("src/**", f"{ROOT}/src", True),
        ("src/*", f"{ROOT}/src/a/b.py", False),
        ("src/**/*.py", f"{ROOT}/src/b.py", True),
        ("src/**/*.py", f"{ROOT}/src/a/b.txt", False),
        ("**", f"{ROOT}/x", True),
        ("**", "/etc/passwd", False),
        ("**/x", "/etc/x", False),
        ("/etc/*", "/etc/hosts", True),
        ("/etc/*", f"{ROOT}/etc/hosts", False),
        ("~/notes/*", f"{HOME}/notes/x", True),
        ("src/**", f"{ROOT}/src/../../x", False),
        ("**", f"{ROOT}/../x", False),
        ("src/**", f"{ROOT}2/src/x", False),
        ("SRC/**", f"{ROOT}/src/x", False),
        ("caf\u00e9", f"{ROOT}/cafe\u0301", True),
        ("[a-c].py", f"{ROOT}/b.py", True),
        ("a?.py", f"{ROOT}/a/.py", False),
    ],
)
def test_permitting_wants_the_very_path(glob: str, path: str, *, expected: bool) -> None:
    assert permits([glob], path, roots=[ROOT], home=HOME) is expected


@every(
    ("glob", "path", "expected"),
    [
        (".env", f"{ROOT}/.env", True),
        (".env", f"{ROOT}/a/.env", True),
        (".env", "/elsewhere/.env", True),
        (".env", f"{ROOT}/.ENV", True),
        ("**/.env", "/elsewhere/.env", True),
        ("src/secret/**", f"{ROOT}/src/secret/x", True),
        ("src/secret/**", f"{ROOT}/src/a/../secret/x", True),
        ("src/secret/**", "/elsewhere/src/secret/x", False),
        ("~/.ssh/**", f"{HOME}/.ssh/id", True),
        ("~/.ssh/**", f"{HOME}/.ssh", True),
        ("/etc/**", "/etc/x/y", True),
        ("/etc/**", f"{ROOT}/etc/x", False),
    ],
)
def test_restricting_finds_a_path_in_every_disguise(glob: str, path: str, *, expected: bool) -> None:
    found = restricts([glob], [path], roots=[ROOT], home=HOME)
    assert found is (Certainty.YES if expected else Certainty.NO)


@every(
    ("glob", "path", "expected"),
    [
        (".env", f"{ROOT}/.en{ONE}", True),
        (".env", f"{ROOT}/{ONE}env", False),  # the shell's patterns leave out hidden names
        (".env", f"{ROOT}/{RUN}", False),
        (".env", f"{ROOT}/.{RUN}", True),
        (".env", f"{ROOT}/{RUN}.py", False),
        (".env", f"/{ANY}", True),
        (".env", f"{ROOT}/a{ANY}v", True),
        ("~/.ssh/**", f"/{ANY}/.ssh/id", True),
        ("~/.ssh/**", f"{HOME}/.s{RUN}/id", True),
        ("~/.ssh/**", f"{ROOT}/src/{RUN}", False),
        ("src/secret", f"/{ANY}/../secret", True),
        ("src/secret", f"{ROOT}/s{RUN}/secret", True),
        ("src/secret", f"{ROOT}/test/s{RUN}", False),
        ("SRC/Secret", f"{ROOT}/s{RUN}/secret", True),
        (".env", f"{ROOT}/{'a' * 5000}{RUN}.py", True),  # too long to be looked at
        (".env", "/" + "/".join([f"a{ANY}b"] * 16), True),  # too many ways to read it
    ],
)
def test_a_path_that_is_not_wholly_known_might_be_meant(glob: str, path: str, *, expected: bool) -> None:
    found = restricts([glob], [path], roots=[ROOT], home=HOME)
    assert found is (Certainty.PERHAPS if expected else Certainty.NO)


@given(
    PATHS, st.lists(NAMES.filter(lambda n: n != "..") | st.just("**"), min_size=1, max_size=4).map("/".join)
)
def test_what_is_permitted_by_a_glob_is_restricted_by_it_too(path: str, glob: str) -> None:
    if permits([glob], path, roots=["/", "/a"], home=HOME):
        assert restricts([glob], [path], roots=["/", "/a"], home=HOME)


def test_prefix_twins_are_not_beneath() -> None:
    assert is_beneath("/a/b/c", "/a/b")
    assert is_beneath("/a/b", "/a/b/")
    assert not is_beneath("/a/bc", "/a/b")


def test_paths_are_worked_out_as_far_as_text_can_tell() -> None:
    assert absolute("./a//b/../c", "/x") == "/x/a/c"
    assert absolute("../../../y", "/x") == "/y"
    assert absolute("~/a", "/x", home="/h") == "/h/a"
    assert absolute("~/a", "/x") == "/x/~/a"


def test_a_root_is_no_pattern() -> None:
    roots = ["/home/a[b]", "/home/c*"]
    assert restricts(["src/*"], [f"/home/a[b]/src/{RUN}"], roots=roots) is Certainty.PERHAPS
    assert restricts(["src/*"], [f"/home/ab/src/{RUN}"], roots=roots) is Certainty.NO
    assert restricts(["src/*"], [f"/home/cd/src/{RUN}"], roots=roots) is Certainty.NO
