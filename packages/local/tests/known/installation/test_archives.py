"""Archives from anywhere: nothing leaves the folder, nothing is trusted before its hash."""

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from dragoman_local.known.installation import archives
from dragoman_local.known.installation.archives import InstallFailed, download, unpack


def tar_of(path: Path, *members: tuple[str, bytes | str]) -> Path:
    """A member with text is a symbolic link to it."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


def zip_of(path: Path, *members: tuple[str, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w") as zipped:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            kind = stat.S_IFLNK if isinstance(content, str) else stat.S_IFREG
            info.external_attr = (kind | 0o755) << 16
            zipped.writestr(info, content)
    return path


MAKERS = {"a.tar.gz": tar_of, "a.zip": zip_of}


@pytest.mark.parametrize("name", MAKERS)
def test_files_are_unpacked_with_their_modes_and_links_become_copies(name: str, tmp_path: Path) -> None:
    archive = MAKERS[name](tmp_path / name, ("bin/run", "../lib/real"), ("lib/real", b"program"))
    (folder := tmp_path / "tree").mkdir()
    unpack(archive, name, folder, program="bin/run")
    assert (folder / "bin" / "run").read_bytes() == b"program"
    assert not (folder / "bin" / "run").is_symlink()
    assert (folder / "bin" / "run").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "member",
    [
        ("../outside", b"x"),
        ("/tmp/outside", b"x"),
        ("a/../../outside", b"x"),
        ("..\\outside", b"x"),
        ("c:/outside", b"x"),
        ("link", "/etc/passwd"),
        ("link", "../../etc/passwd"),
        ("link", "."),
        ("link", "nothing"),
    ],
    ids=lambda member: f"{member[0]}:{member[1]}",
)
def test_nothing_leads_out_of_the_folder(name: str, member: tuple[str, bytes | str], tmp_path: Path) -> None:
    archive = MAKERS[name](tmp_path / name, ("fine", b"x"), member)
    (folder := tmp_path / "tree").mkdir()
    with pytest.raises(InstallFailed, match="the archive has"):
        unpack(archive, name, folder, program="fine")
    assert {path.name for path in tmp_path.iterdir()} == {name, "tree"}
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_a_file_is_not_written_through_a_link_of_the_same_archive(tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "a.tgz", ("door", str(tmp_path)), ("door/outside", b"x"))
    (folder := tmp_path / "tree").mkdir()
    with pytest.raises(InstallFailed):
        unpack(archive, "a.tgz", folder, program="door")
    assert not (tmp_path / "outside").exists()


def test_devices_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        info = tarfile.TarInfo("pipe")
        info.type = tarfile.FIFOTYPE
        tar.addfile(info)
    (folder := tmp_path / "tree").mkdir()
    with pytest.raises(InstallFailed, match="device or a pipe"):
        unpack(tmp_path / "a.tar", "a.tar", folder, program="pipe")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tar.bz2"])
def test_what_is_no_archive_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"<html>not found</html>")
    (folder := tmp_path / "tree").mkdir()
    with pytest.raises(InstallFailed, match="damaged"):
        unpack(tmp_path / name, name, folder, program="x")


def test_what_it_unpacks_to_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = zip_of(tmp_path / "a.zip", ("zeros", b"\0" * 5000))
    (folder := tmp_path / "tree").mkdir()
    monkeypatch.setattr(archives, "MOST_UNPACKED", 4000)
    with pytest.raises(InstallFailed, match="more than 4,000 bytes"):
        unpack(archive, "a.zip", folder, program="zeros")


def test_what_has_no_ending_is_the_program_itself(tmp_path: Path) -> None:
    (tmp_path / "download").write_bytes(b"program")
    (folder := tmp_path / "tree").mkdir()
    unpack(tmp_path / "download", "https://x.example/agent-linux", folder, program="./agent")
    assert (folder / "agent").read_bytes() == b"program"


@pytest.mark.parametrize(
    ("address", "folder", "reason"),
    [
        ("http://x.example/a.zip", None, "not an https address"),
        ("ftp://x.example/a.zip", Path("/"), "not an https address"),
        ("file:///etc/passwd", None, "not an https address"),
        ("a.zip", None, "not an https address"),
    ],
)
def test_only_https_is_fetched_and_files_where_the_list_is_a_file(
    address: str, folder: Path | None, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(InstallFailed, match=reason):
        download(address, tmp_path / "x", folder=folder, seconds=5, progress=print)


def test_a_download_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 100)
    with pytest.raises(InstallFailed, match="more than 99 bytes"):
        download("large", tmp_path / "x", folder=tmp_path, seconds=5, progress=print, most=99)
