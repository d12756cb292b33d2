"""Which Connectors are installed: built in, and found by entry point in real installed packages."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from dexbridge.connectors import (
    InvalidConnector,
    UnknownConnection,
    connector,
    installed_connectors,
    survey_connectors,
)
from dexbridge.connectors.slack import SLACK

WEATHER = """
from pydantic import BaseModel
from dexbridge.connectors import ConnectorDefinition, LiveCheck

class Configuration(BaseModel):
    pass

async def check(connection):
    return LiveCheck(ok=True)

DEFINITION = ConnectorDefinition({id!r}, "Weather", Configuration, (), (), check)
NOT_ONE = object()
"""


def install(site: Path, module: str, entry_point: str, connector_id: str = "weather") -> None:
    """Lays a package out as an installer does."""
    (site / f"{module}.py").write_text(WEATHER.format(id=connector_id))
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[dexbridge.connectors]\n{entry_point}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    return tmp_path


def test_slack_is_built_in() -> None:
    assert connector("slack") is SLACK
    assert installed_connectors()["slack"] is SLACK


def test_a_package_adds_a_connector_by_entry_point(site: Path) -> None:
    install(site, "weather_one", "weather = weather_one:DEFINITION")
    assert list(installed_connectors()) == ["github", "slack", "weather"]
    assert connector("weather").title == "Weather"
    assert connector("weather") is sys.modules["weather_one"].DEFINITION


def test_an_unknown_connector_is_refused_with_those_there_are(site: Path) -> None:
    install(site, "weather_two", "weather = weather_two:DEFINITION")
    with pytest.raises(UnknownConnection, match=r"'teams'.*github, slack, weather"):
        connector("teams")


@pytest.mark.parametrize(
    ("module", "entry_point", "says"),
    [
        ("weather_a", "weather = weather_a:ABSENT", "cannot be loaded"),
        ("weather_b", "weather = weather_b:NOT_ONE", "not a object"),
        ("weather_c", "rain = weather_c:DEFINITION", "'weather'"),
        ("weather_d", "slack = weather_d:DEFINITION", "built-in"),
    ],
)
def test_a_broken_package_is_named_and_does_not_stop_the_others(
    site: Path, caplog: pytest.LogCaptureFixture, module: str, entry_point: str, says: str
) -> None:
    install(site, module, entry_point)
    install(site, f"{module}_fine", "fine = " + f"{module}_fine:DEFINITION", "fine")
    assert list(installed_connectors()) == ["fine", "github", "slack"]
    (broken,) = [one for one in survey_connectors() if one.definition is None]
    assert (broken.connector_id, broken.package) == (entry_point.split(" ", maxsplit=1)[0], f"{module} 1.0")
    assert says in broken.fault
    assert module in broken.fault
    assert broken.fault in caplog.text
    if broken.connector_id != "slack":
        with pytest.raises(InvalidConnector, match=says):
            connector(broken.connector_id)
    assert connector("slack") is SLACK


def test_two_packages_cannot_claim_one_id(site: Path) -> None:
    install(site, "weather_f", "weather = weather_f:DEFINITION")
    install(site, "weather_g", "weather = weather_g:DEFINITION")
    assert "weather" not in installed_connectors()
    with pytest.raises(InvalidConnector, match=r"weather_[fg].*weather_[fg].*claim the same Connector ID"):
        connector("weather")
