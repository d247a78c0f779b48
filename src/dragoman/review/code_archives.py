"""Archives whose entries are written where their names say: the names may lead out of the folder. Pure.

An entry's name is as much a stranger's word as a parameter of a request, but it comes from a loop over the
archive. A function that asks anything of the path, in any way, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.review.code_patterns import family, lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement

# A text that has none of these reads no archive.
_LIBRARIES: dict[str, tuple[str, ...]] = {
    "python": ("zipfile", "tarfile", "rarfile", "py7zr"),
    "javascript": ("zip", "yauzl", "tar-", '"tar"', "'tar'", "decompress", "archiver"),
    "go": ("archive/",),
    "java": ("ZipEntry", "ZipInput", "ZipFile", "TarArchive", "JarEntry", "JarFile", "ArchiveEntry"),
    "kotlin": ("ZipEntry", "ZipInput", "ZipFile", "TarArchive", "JarEntry", "JarFile", "ArchiveEntry"),
    "rust": ("zip::", "ZipArchive", "tar::"),
}
_NAMES = {
    "python": r"\b\w+\.(?:filename|name)\b(?!\)\.(?:name|stem)\b)|\bnamelist\(\)|\bgetnames\(\)",
    "javascript": r"\b\w*(?:[eE]ntry|[hH]eader|[fF]ile)\.(?:path|fileName|entryName|name|filename)\b",
    "go": r"\b\w+\.Name\b(?!\()",
    "java": r"\b\w*(?:[eE]ntry|ze|e)\.getName\(\)",
    "kotlin": r"\b\w*(?:[eE]ntry|it)\.name\b",
    "rust": r"\b\w+\.name\(\)|\bpath\(\)",
}
_JOINS = {
    "python": r"(?<![\w.])open\(|os\.path\.join\(|\bPath\(|\w+\s*/\s*(?=\w)|makedirs\(",
    "javascript": (
        r"\b(?:path\.)?(?:join|resolve)\(|\b(?:createWriteStream|writeFile|writeFileSync|outputFile|mkdirSync)\("
    ),
    "go": (
        r"\b(?:file)?path\.Join\(|\bfilepath\.Abs\(|\bos\.(?:Create|OpenFile|MkdirAll|WriteFile)\("
        r"|\bioutil\.WriteFile\("
    ),
    "java": r"\bnew\s+(?:File|FileOutputStream)\(|\.resolve\(|\bPaths\.get\(|\bPath\.of\(",
    "kotlin": r"(?<![\w.])(?:File|FileOutputStream|Path)\(|\.resolve\(|\bPaths\.get\(|\bPath\.of\(",
    "rust": r"\.join\(|\bFile::create\(",
}
# Whoever opens only what is written must have asked; readers of archives write nothing.
_WRITES = {
    "python": r"copyfileobj|\.write\(|write_bytes|[\"']\s*wb?\s*[\"']|open\([^()]*,",
    "javascript": r"createWriteStream|writeFile|outputFile|\.pipe\(",
    "go": r"os\.(?:Create|OpenFile|MkdirAll)|[wW]rite\w*\(|[eE]xtract\w*\(",
    "java": r"OutputStream|Files\.(?:copy|write|newOutputStream)|\.transferTo\(",
    "kotlin": r"utputStream|Files\.(?:copy|write)|\.copyTo\(|writeBytes",
    "rust": r"File::create|fs::write|io::copy",
}
_ASKS = lazy_pattern(
    r"startswith|starts_with|HasPrefix|is_relative_to|relative_to|commonpath|commonprefix|IsLocal|filepath\.Rel|"
    r"path\.relative|relativize|strip_prefix|enclosed_name|mangled_name|sanitize|basename|Base\(|getFileName|file_name|"
    r"isabs|isAbsolute|IsAbs|Contains\(|contains\(|includes\(|indexOf\(|Component::|filter\s*=|secure_filename|safe|"
    r"valid|allowed|\.\.",
    re.IGNORECASE,
)


def slipped_entries(code: CodeText) -> Iterator[CodeHit]:
    """Paths made of the names of entries, in a function that never asks where they lead."""
    language = family(code.language)
    if not code.text_has_any(_LIBRARIES.get(language, ())) or not _READS.search(code.code):
        return
    name, join = re.compile(_NAMES[language]), re.compile(_JOINS[language])
    writes = re.compile(_WRITES[language])
    reported: set[int] = set()
    for function in code.functions:
        hit = _slip_in(code, function, name, join, writes)
        if hit is not None and hit.start not in reported:
            reported.add(hit.start)
            yield CodeHit("flow/path-traversal", hit.start, hit.start + len(hit.line.text))


def _slip_in(
    code: CodeText, function: Function, name: re.Pattern[str], join: re.Pattern[str], writes: re.Pattern[str]
) -> Statement | None:
    last = function.body[-1]
    source = code.text[function.head.start : last.start + len(last.text)]
    masked = code.code[function.head.start : last.start + len(last.text)]
    if (
        not _READS.search(masked)
        or _ASKS.search(source)
        or not (writes.search(masked) or _EXTRACTS.search(masked))
    ):
        return None
    names: set[str] = set()
    for statement in function.statements:
        text = statement.text
        # Of the two of Python, only the one for zip files looks at the names itself.
        if code.language == "python" and "tarfile" in code.code and _EXTRACTS.search(text):
            return statement
        uses = [match.start() for match in name.finditer(text)]
        uses += [match.start() for kept in names for match in re.finditer(rf"(?<![\w.]){kept}\b", text)]
        if not uses:
            continue
        if any(match.start() < max(uses) for match in join.finditer(text)):
            return statement
        kept_name = re.match(
            r"(?:(?:const|let|var|val|final|String|mut)\s+)*(\w+)(?:\s*,\s*\w+)?\s*:?=(?!=)", text
        )
        if kept_name is not None:
            names.add(kept_name[1])
    return None


_EXTRACTS = lazy_pattern(r"\b\w+\.extract\(\s*\w+\s*,")
# How the entries of an archive are walked through.
_READS = lazy_pattern(
    r"infolist\(|namelist\(|getmembers\(|getnames\(|\bin\s+\w*(?:tar|zip|archive|bundle)\w*\s*:|\bNewReader\(|OpenReader\("
    r"|\.Next\(\)|range\s+\w+\.File\b|getNextEntry|getNextTarEntry|nextEntry|\.entries\(|\.entries\b|getEntries\("
    r"|\bon\(\s*[\"']\s+[\"']\s*,|by_index\(|ZipEntry|TarArchiveEntry"
)
