"""Python reviewed by ruff."""

import pytest

from dragoman_review import Finding, ReviewSource, Severity, apply_fixes
from dragoman_review.places import find_ruff
from dragoman_review.ruff import config, ruff_findings_of_many


async def found(text: str, path: str = "x.py") -> list[Finding]:
    program = find_ruff()
    assert program is not None
    (findings,) = await ruff_findings_of_many(program, [ReviewSource(path, text)], deadline=20)
    return findings


async def test_a_finding_has_our_words_and_ruffs_code() -> None:
    (unused,) = await found("import os\n")
    assert (unused.rule, unused.severity, unused.tool) == ("python/unused-import", Severity.INFO, "ruff")
    assert "F401" in unused.title
    assert unused.why.startswith("An unused name")


async def test_a_fix_is_exactly_what_ruff_would_do() -> None:
    text = "import os\nimport sys\n\nprint(sys.argv, 'é' is 'ü')\n"
    assert apply_fixes(text, await found(text)).text == "import sys\n\nprint(sys.argv, 'é' == 'ü')\n"


async def test_fixes_are_not_found_again() -> None:
    text = "import os, sys\nif x is 'a' or x is not 1:\n    raise NotImplemented\n"
    once = apply_fixes(text, await found(text)).text
    assert apply_fixes(once, await found(once)).text == once


async def test_windows_line_ends_stay() -> None:
    text = "import os\r\nx = 1\r\n"
    assert apply_fixes(text, await found(text)).text == "x = 1\r\n"


async def test_places_are_right_behind_characters_beyond_the_first_plane() -> None:
    (literal,) = await found("s = '😀'; t = s is 'a'\n")
    assert (literal.place.column, literal.place.end_column) == (14, 22)


async def test_what_is_no_python_has_our_name() -> None:
    assert {finding.rule for finding in await found("def f(:\n")} == {"python/invalid-syntax"}


async def test_a_folder_that_ruff_would_skip_is_reviewed() -> None:
    assert await found("import os\n", "lib/site-packages/x.py") != []


async def test_a_script_without_suffix_and_a_stub_are_python_too() -> None:
    assert await found("import os\nx = 1 is 1\n", "bin/run") != []
    assert await found("import os\n", "x.pyi") != []


async def test_a_package_may_import_names_for_others() -> None:
    assert await found("from a import b\nfrom c import *\n", "x/__init__.py") == []


async def test_noqa_is_obeyed() -> None:
    assert await found("import os  # noqa: F401\n") == []


async def test_the_projects_own_configuration_is_not_asked(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("project")
    (folder / "ruff.toml").write_text("lint.select = []\n")
    monkeypatch.chdir(folder)
    assert await found("import os\n") != []


async def test_every_code_that_is_asked_for_is_one_that_ruff_knows() -> None:
    # An unknown code would make ruff refuse the whole command, and with it every review.
    assert config().select
    assert await found("x = 1\n") == []


def test_every_family_that_is_asked_for_has_its_reason() -> None:
    known = [about.code for about in config().about]
    assert [code for code in config().select if not any(map(code.startswith, known))] == []


async def test_a_default_that_is_another_each_time_is_found_and_others_are_not() -> None:
    assert {
        finding.rule for finding in await found("import time\n\ndef f(at=time.time()):\n    return at\n")
    } == {"python/function-call-in-default-argument"}
    assert await found("from x import Depends, g\n\ndef f(db=Depends(g)):\n    return db\n") == []
