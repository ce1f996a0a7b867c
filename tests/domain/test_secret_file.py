"""Files with a password or a token."""

from __future__ import annotations

from pathlib import Path

import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_domain.secret_file import secret_of


def kept(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    path = folder / "secret"
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("content", [b"open sesame", b"open sesame\n", b"  open sesame\r\n\n"])
def test_the_line_comes_without_what_editors_add(tmp_path: Path, content: bytes) -> None:
    assert secret_of(kept(tmp_path, content), "password") == "open sesame"


@pytest.mark.parametrize("content", [b"", b" \n", b"one\ntwo\n", b"bell\x07", "a\u2028b".encode(), b"tab\there"])
def test_what_is_not_one_printable_line_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadInput) as refused:
        secret_of(kept(tmp_path, content), "password")
    assert "holds no password: expected one line of printable characters" in str(refused.value)
    assert str(tmp_path / "secret") in str(refused.value)
    assert not content.strip() or content.strip().decode() not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(BadInput, match="users other than its owner can read or write it"):
        secret_of(kept(tmp_path, b"open sesame\n", mode), "password")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "none" if content is None else kept(tmp_path, content)
    with pytest.raises(BadInput, match="cannot be read") as refused:
        secret_of(path, "password")
    assert str(path) in str(refused.value)
