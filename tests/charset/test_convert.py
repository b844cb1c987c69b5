"""charset convert: folders keep their tree, one bad file stops no other, in place keeps backups."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import Run

TEXT = "Сегодня мы гуляли в парке, потом пили чай.\r\nGrüße\n"
RUSSIAN = "Сегодня мы гуляли в парке, потом пили чай.\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "old"
    (root / "a").mkdir(parents=True)
    (root / "b").mkdir()
    (root / "a" / "same.txt").write_bytes(RUSSIAN.encode("koi8-r"))
    (root / "b" / "same.txt").write_bytes(RUSSIAN.encode("cp1251"))
    (root / "b" / "utf8.txt").write_bytes(TEXT.encode())
    (root / "b" / "picture.gif").write_bytes(b"GIF89a" + bytes(range(200)))
    (root / "empty.txt").write_bytes(b"")
    return root


def test_a_folder_keeps_its_tree_and_the_summary_adds_up(samebits: Run, folder: Path, tmp_path: Path) -> None:
    ended = samebits("charset", "convert", folder, "-o", tmp_path / "new")
    assert ended.code == 0, ended.err
    new = tmp_path / "new"
    assert (new / "a" / "same.txt").read_bytes() == RUSSIAN.encode()
    assert (new / "b" / "same.txt").read_bytes() == RUSSIAN.encode()
    assert (new / "b" / "utf8.txt").read_bytes() == TEXT.encode()
    assert (new / "empty.txt").read_bytes() == b""
    assert not (new / "b" / "picture.gif").exists()
    assert "picture.gif: binary (image/gif)" in ended.err
    assert "5 files = 2 converted (cp1251 1, koi8-r 1) + 2 in UTF-8 already + 1 binary" in ended.err


def test_a_bad_file_is_listed_and_the_others_are_converted(
    samebits: Run, folder: Path, tmp_path: Path
) -> None:
    (folder / "a" / "unclear.txt").write_bytes(b"\xe6\xf8")
    (folder / "a" / "gone.txt").symlink_to(tmp_path / "nowhere")
    ended = samebits("charset", "convert", folder, "-o", tmp_path / "new", "--min-confidence", "0.9")
    assert ended.code == 1
    assert "unclear.txt: the encoding is unclear" in ended.err
    assert "gone.txt: cannot be read" in ended.err
    assert "2 of 7 files could not be converted" in ended.err
    assert (tmp_path / "new" / "b" / "same.txt").exists()


def test_files_of_one_name_from_two_folders_do_not_meet(samebits: Run, folder: Path, tmp_path: Path) -> None:
    ended = samebits(
        "charset", "convert", folder / "a" / "same.txt", folder / "b" / "same.txt", "-o", tmp_path / "new"
    )
    assert ended.code == 0
    assert sorted(
        path.relative_to(tmp_path / "new").as_posix() for path in (tmp_path / "new").rglob("*.txt")
    ) == [
        "a/same.txt",
        "b/same.txt",
    ]


def test_in_place_keeps_a_backup_and_leaves_utf8_alone(samebits: Run, folder: Path) -> None:
    before = (folder / "b" / "utf8.txt").stat()
    (folder / "a" / "same.txt").chmod(0o640)
    assert samebits("charset", "convert", folder, "--in-place").code == 0
    assert (folder / "a" / "same.txt").read_bytes() == RUSSIAN.encode()
    assert (folder / "a" / "same.txt.bak").read_bytes() == RUSSIAN.encode("koi8-r")
    assert (folder / "a" / "same.txt").stat().st_mode & 0o777 == 0o640
    assert (folder / "b" / "utf8.txt").stat().st_mtime_ns == before.st_mtime_ns
    assert not (folder / "b" / "utf8.txt.bak").exists()
    assert not list(folder.rglob("*.part"))


def test_a_backup_is_never_overwritten_unasked(samebits: Run, folder: Path) -> None:
    path = folder / "a" / "same.txt"
    (folder / "a" / "same.txt.bak").write_bytes(b"precious")
    assert samebits("charset", "convert", path, "--in-place").code == 1
    assert path.read_bytes() == RUSSIAN.encode("koi8-r")
    assert (folder / "a" / "same.txt.bak").read_bytes() == b"precious"
    assert samebits("charset", "convert", path, "--in-place", "--backup", "").code == 0
    assert path.read_bytes() == RUSSIAN.encode()


def test_one_file_goes_to_standard_output(samebits: Run, folder: Path) -> None:
    ended = samebits("charset", "convert", folder / "a" / "same.txt")
    assert ended.out.replace("\r\n", "\n") == RUSSIAN.replace("\r\n", "\n")
    assert "koi8-r" in ended.err
    assert samebits("charset", "convert", folder / "a", folder / "b").code == 2
    assert samebits("charset", "convert", folder, "-o", folder / "x", "--in-place").code == 2


def test_a_byte_order_mark_goes(samebits: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Grüße".encode("utf-16"))
    (tmp_path / "b.txt").write_bytes("Grüße".encode("utf-8-sig"))
    assert samebits("charset", "convert", tmp_path, "--in-place", "--backup", "").code == 0
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes() == "Grüße".encode()
