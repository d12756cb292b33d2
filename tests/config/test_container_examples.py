"""The examples of docs/configuration.md, "In a container": parsed, mounted as they say, and checked by that user."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from tests.config.mounts import USER, KubernetesSecret, check_as, needs_mounts, open_folder, read_only, tmpfs
from tests.fakes.connection_files import BOT_TOKEN, VERSION

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("## In a container\n")[2].partition("\n## ")[0]
HEAD = f"""\
schemaVersion = "{VERSION}"

[[connections]]
connectorId = "slack"
connectionName = "support-slack"

[connections.configuration]

[connections.credentials]
"""


@dataclass(frozen=True)
class Example:
    """One way to mount: what describes it, and the line of the connection file that refers to it."""

    description: str
    line: str

    @property
    def file(self) -> PurePosixPath:
        found = re.fullmatch(r'bot_token = \{ file = "([^"]+)" \}\n', self.line)
        assert found, self.line
        return PurePosixPath(found[1])

    def written(self, place: Path, mounted: Path) -> Path:
        """The connection file as an image has it, with the mount elsewhere."""
        path = place / "connections.toml"
        path.write_text(HEAD + self.line.replace(str(self.file.parent), str(mounted)))
        path.chmod(0o644)
        return path


def example(way: str, language: str) -> Example:
    part = SECTION.partition(f"\n{way}: ")[2]
    found = re.search(rf"```{language}\n(.*?)```.*?```toml\n(.*?)```", part, re.DOTALL)
    assert found, way
    return Example(found[1], found[2])


KUBERNETES = example("Kubernetes", "yaml")
DOCKER = example("Docker", "yaml")
SYSTEMD = example("systemd", "ini")


@pytest.fixture
def place() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


def volume_of(pod: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The Secret's volume of a pod's description, and where its container mounts it."""
    (volume,) = pod["spec"]["volumes"]
    (container,) = pod["spec"]["containers"]
    (mount,) = container["volumeMounts"]
    assert mount["name"] == volume["name"]
    return volume["secret"], mount


@needs_mounts
def test_the_pod_reads_its_secret(place: Path) -> None:
    pod = yaml.safe_load(KUBERNETES.description)
    secret, mount = volume_of(pod)
    who = pod["spec"]["securityContext"]
    assert str(KUBERNETES.file.parent) == mount["mountPath"]
    assert mount["readOnly"] is True
    with tmpfs(place / "slack", 0o1777) as folder:
        mounted = KubernetesSecret(folder, secret["defaultMode"], who["fsGroup"])
        mounted.put("2026_12_01", **{KUBERNETES.file.name: BOT_TOKEN + "\n"})
        read_only(folder)
        path = KUBERNETES.written(place, folder)
        assert check_as(path, user=who["runAsUser"], groups=(who["fsGroup"],)) == []


@needs_mounts
def test_the_mode_that_kubernetes_gives_unless_told_is_refused_as_it_is_said(place: Path) -> None:
    (mode,) = re.findall(r"Kubernetes' own default, mode (0\d{3}), is refused", SECTION)
    who = yaml.safe_load(KUBERNETES.description)["spec"]["securityContext"]
    with tmpfs(place / "slack", 0o1777) as folder:
        KubernetesSecret(folder, int(mode, 8), who["fsGroup"]).put("one", **{KUBERNETES.file.name: BOT_TOKEN})
        read_only(folder)
        (fault,) = check_as(KUBERNETES.written(place, folder), user=who["runAsUser"], groups=(who["fsGroup"],))
    assert "others can read it" in fault["message"]


@needs_mounts
def test_the_swarm_service_reads_its_secret(place: Path) -> None:
    service = yaml.safe_load(DOCKER.description)["services"]["agent"]
    (secret,) = service["secrets"]
    assert yaml.safe_load(DOCKER.description)["secrets"] == {secret["source"]: {"external": True}}
    assert str(DOCKER.file) == f"/run/secrets/{secret['source']}"
    with tmpfs(place / "secrets", 0o755) as folder:
        mounted = folder / secret["source"]
        mounted.write_text(BOT_TOKEN)
        os.chown(mounted, int(secret["uid"]), 0)
        mounted.chmod(secret["mode"])
        read_only(folder)
        assert check_as(DOCKER.written(place, folder), user=int(service["user"])) == []


@needs_mounts
def test_the_compose_secret_is_read_once_the_hosts_file_was_given_to_the_user(place: Path) -> None:
    user = int(yaml.safe_load(DOCKER.description)["services"]["agent"]["user"])
    (command,) = re.findall(r"run `(chown [^`]*)`", SECTION.replace("\n", " "))
    with tmpfs(place / "secrets", 0o755) as folder:
        mounted = folder / DOCKER.file.name
        mounted.write_text(BOT_TOKEN)
        subprocess.run(command.replace("FILE", str(mounted)), shell=True, check=True)
        read_only(folder)
        assert check_as(DOCKER.written(place, folder), user=user) == []


@needs_mounts
def test_the_unit_reads_its_credential(place: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, comment_prefixes=("#", ";"))
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capital letters
    unit.read_string(SYSTEMD.description)
    (name,) = re.findall(r"^# /etc/systemd/system/(\S+)$", SYSTEMD.description, re.MULTILINE)
    service = unit["Service"]
    credential, _, source = service["LoadCredential"].partition(":")
    assert source.startswith("/")
    assert service["User"] not in {"", "root"}
    assert service["ExecStartPre"].split()[1:] == ["config", "check"]
    assert str(SYSTEMD.file) == f"/run/credentials/{name}/{credential}"
    with tmpfs(place / "credentials", 0o755) as folder:
        # As systemd makes it: a folder and files of the service's user alone, on a file system of their own.
        mounted = folder / credential
        mounted.write_text(BOT_TOKEN)
        os.chown(mounted, USER, USER)
        mounted.chmod(0o400)
        os.chown(folder, USER, USER)
        folder.chmod(0o500)
        read_only(folder)
        path = SYSTEMD.written(place, folder)
        assert check_as(path) == []
        assert [one["code"] for one in check_as(path, user=USER + 1)] == ["credential-reference"]
