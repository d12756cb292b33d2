"""The mends of the file itself, done to the letter: its name, kind, size, encoding, and how it is written."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from dexbridge.config import Code, Diagnostic, Sealed, inspect_file
from dexbridge.connectors import installed_connectors
from tests.config.mended import mends
from tests.fakes.connection_files import BOT_TOKEN, VERSION, document, record
from tests.fakes.terminal import typed

TEXT = f"""\
schemaVersion = "{VERSION}"
[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{}}
credentials = {{ bot_token = "{BOT_TOKEN}" }}
"""
BY_FILE = TEXT.replace(f'"{BOT_TOKEN}"', '{ file = "token" }')


def put(path: Path, content: str | bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def faults(path: Path) -> tuple[Diagnostic, ...]:
    return inspect_file(str(path), Sealed({"SLACK_BOT_TOKEN": BOT_TOKEN}), installed_connectors()).diagnostics


def the_fault(path: Path, code: Code) -> Diagnostic:
    (fault,) = faults(path)
    assert fault.code is code
    return fault


def run(mend: str, typed_in: str = "") -> None:
    """Runs the command a mend gives."""
    command = mend.removeprefix("Run: ")
    assert command != mend
    subprocess.run(command, shell=True, check=True, input=typed_in, text=True)


def named_by(mend: str, pattern: str) -> str:
    found = re.fullmatch(pattern, mend)
    assert found, mend
    return found[1]


@mends(Code.FILE_ABSENT, Code.FILE_EMPTY)
@pytest.mark.parametrize(("is_empty", "code"), [(False, Code.FILE_ABSENT), (True, Code.FILE_EMPTY)])
def test_a_file_that_is_absent_or_empty_is_written_by_the_command(
    tmp_path: Path, *, is_empty: bool, code: Code
) -> None:
    path = tmp_path / "connections.toml"
    if is_empty:
        put(path, "")
    mend = the_fault(path, code).mend
    command = shlex.split(named_by(mend, r"(?:Write it with|Run): (.*)"))
    assert command[:3] == ["dexbridge", "config", "init"]
    (named,) = command[3:]
    typed(Path(named), "slack", "support-slack", "postThreadReply", "", "")
    assert faults(path) == ()


@mends(Code.FILE_ABSENT)
def test_a_link_that_leads_nowhere_gets_its_file(tmp_path: Path) -> None:
    link = tmp_path / "connections.toml"
    link.symlink_to(tmp_path / "target.toml")
    fault = the_fault(link, Code.FILE_ABSENT)
    assert fault.mend.startswith("Put the file there")
    put(Path(named_by(fault.message, r".* is a link to (\S+), .*")), TEXT)
    assert faults(link) == ()


@mends(Code.FILE_KIND)
def test_of_a_folder_the_file_in_it_is_named(tmp_path: Path) -> None:
    mend = the_fault(_folder(tmp_path), Code.FILE_KIND).mend
    assert faults(put(Path(named_by(mend, r"Name a file in it, such as (\S+)\.")), TEXT)) == ()


def _folder(place: Path) -> Path:
    folder = place / "slack.toml"
    folder.mkdir()
    return folder


def _pipe(place: Path) -> Path:
    pipe = place / "pipe.toml"
    os.mkfifo(pipe)
    return pipe


@mends(Code.FILE_KIND)
def test_of_a_pipe_and_a_device_a_regular_file_is_named(tmp_path: Path) -> None:
    device = tmp_path / "device.toml"
    device.symlink_to("/dev/null")
    for path in (_pipe(tmp_path), device):
        assert the_fault(path, Code.FILE_KIND).mend == "Name a regular file."
    assert faults(put(tmp_path / "regular.toml", TEXT)) == ()


@mends(Code.CREDENTIAL_REFERENCE)
def test_of_a_credential_in_a_folder_the_file_in_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").mkdir()
    fault = the_fault(put(tmp_path / "c.toml", BY_FILE), Code.CREDENTIAL_REFERENCE)
    example = named_by(fault.mend, r"Name a file in it, such as (\S+)\.")
    assert Path(example).parent == tmp_path / "token"
    put(Path(example), BOT_TOKEN)
    assert faults(put(tmp_path / "c.toml", BY_FILE.replace('"token"', f'"{example}"'))) == ()


@mends(Code.CREDENTIAL_REFERENCE)
def test_a_credentials_file_that_is_absent_is_written_by_the_command(tmp_path: Path) -> None:
    path = put(tmp_path / "c.toml", BY_FILE)
    mend = the_fault(path, Code.CREDENTIAL_REFERENCE).mend
    command = named_by(mend, r"Write the credential into it: (.*), then paste it, press Enter and Ctrl-D\.")
    subprocess.run(command, shell=True, check=True, input=BOT_TOKEN + "\n", text=True)
    assert faults(path) == ()


@mends(Code.CREDENTIAL_REFERENCE)
@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_a_credentials_file_without_one_gets_it_on_one_line(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path / "c.toml", BY_FILE)
    put(tmp_path / "token", content)
    assert the_fault(path, Code.CREDENTIAL_REFERENCE).mend == "Write the credential into it, on one line."
    put(tmp_path / "token", BOT_TOKEN + "\n")
    assert faults(path) == ()


@mends(Code.CREDENTIAL_REFERENCE)
def test_a_variable_that_is_not_set_is_set(tmp_path: Path) -> None:
    text = TEXT.replace(f'"{BOT_TOKEN}"', '{ env = "OTHER_TOKEN" }')
    fault = the_fault(put(tmp_path / "c.toml", text), Code.CREDENTIAL_REFERENCE)
    environment = Sealed[Mapping[str, str]]({named_by(fault.mend, r"Set (\w+) before the start\."): BOT_TOKEN})
    assert inspect_file(str(tmp_path / "c.toml"), environment, installed_connectors()).diagnostics == ()


@mends(Code.FILE_TOO_LARGE)
def test_a_file_that_is_too_large_keeps_its_connections_only(tmp_path: Path) -> None:
    path = put(tmp_path / "c.toml", TEXT + "# an old note\n" * 1_300_000)
    assert the_fault(path, Code.FILE_TOO_LARGE).mend == "Keep only connections and credentials in it."
    kept = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert faults(put(path, "\n".join(kept))) == ()


@mends(Code.CREDENTIAL_REFERENCE)
def test_a_credentials_file_that_is_too_large_keeps_the_credential_only(tmp_path: Path) -> None:
    path = put(tmp_path / "c.toml", BY_FILE)
    put(tmp_path / "token", BOT_TOKEN + "\n" * 70_000)
    assert the_fault(path, Code.CREDENTIAL_REFERENCE).mend == "Keep only connections and credentials in it."
    put(tmp_path / "token", BOT_TOKEN)
    assert faults(path) == ()


IN_PLACE = """
with open(path, "a") as stream:
    while True:
        stream.write(" ")
        stream.flush()
"""
BESIDE = """
import os
text = open(path).read()
while True:
    with open(path + ".new", "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
        stream.write(text)
    os.rename(path + ".new", path)
"""


@contextmanager
def written_by(program: str, path: Path) -> Generator[None]:
    """Another process that writes the file all the time."""
    with subprocess.Popen([sys.executable, "-c", f"path = {str(path)!r}\n{program}"]) as writer:
        try:
            yield
        finally:
            writer.kill()


@mends(Code.FILE_CHANGING)
def test_a_file_that_is_written_in_place_is_written_beside_it_and_renamed(tmp_path: Path) -> None:
    text = json.dumps(document(record()))
    path = put(tmp_path / "c.json", text + " " * 14_000_000)
    with written_by(IN_PLACE, path):
        found = (fault for _ in range(200) for fault in faults(path))
        changing = next(fault for fault in found if fault.code is Code.FILE_CHANGING)
    assert changing.mend.startswith("Write it to a new file and rename that over it")
    put(path, text)
    with written_by(BESIDE, path):
        assert [fault for _ in range(300) for fault in faults(path)] == []


@mends(Code.FILE_NAME)
def test_a_file_whose_name_tells_no_format_is_named_so_that_it_does(tmp_path: Path) -> None:
    path = put(tmp_path / "connections.conf", TEXT)
    ending = named_by(the_fault(path, Code.FILE_NAME).mend, r"Name it with \.json .* or (\.toml) \(written by hand\)\.")
    assert faults(path.rename(path.with_suffix(ending))) == ()


@mends(Code.FILE_ENCODING)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le-mark", "utf-16-be-mark"])
def test_a_byte_order_mark_is_taken_away_by_the_command(tmp_path: Path, encoding: str) -> None:
    content = TEXT.encode(encoding.removesuffix("-mark"))
    if encoding.endswith("-mark"):
        content = "\ufeff".encode(encoding.removesuffix("-mark")) + content
    path = put(tmp_path / "the file.toml", content)
    run(the_fault(path, Code.FILE_ENCODING).mend)
    assert faults(path) == ()
    assert path.read_text() == TEXT


@mends(Code.FILE_ENCODING)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "latin-1"])
def test_another_encoding_is_saved_as_utf_8(tmp_path: Path, encoding: str) -> None:
    text = f"# né\n{TEXT}"
    path = put(tmp_path / "c.toml", text.encode(encoding))
    assert re.search(r"Save it as (plain )?UTF-8", the_fault(path, Code.FILE_ENCODING).mend)
    assert faults(put(path, text)) == ()


@mends(Code.FILE_MODE)
@pytest.mark.parametrize("mode", [0o644, 0o660, 0o666])
def test_a_mode_is_changed_by_the_command(tmp_path: Path, mode: int) -> None:
    path = put(tmp_path / "the file.toml", TEXT, mode)
    run(the_fault(path, Code.FILE_MODE).mend)
    assert faults(path) == ()


@mends(Code.FILE_MODE)
def test_a_file_of_references_that_others_can_write_is_changed_by_the_command(tmp_path: Path) -> None:
    path = put(tmp_path / "c.toml", TEXT.replace(f'"{BOT_TOKEN}"', '{ env = "SLACK_BOT_TOKEN" }'), 0o666)
    run(the_fault(path, Code.FILE_MODE).mend)
    assert faults(path) == ()


@mends(Code.FILE_SYMLINK)
def test_of_a_link_that_others_can_replace_the_file_itself_is_named(tmp_path: Path) -> None:
    target = put(tmp_path / "target.toml", TEXT)
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "c.toml").symlink_to(target)
    assert the_fault(folder / "c.toml", Code.FILE_SYMLINK).mend == "Name the file itself instead of the link."
    assert faults(target) == ()
    circle = tmp_path / "circle.toml"
    circle.symlink_to(circle)
    assert the_fault(circle, Code.FILE_SYMLINK).mend == "Name the file itself instead."
