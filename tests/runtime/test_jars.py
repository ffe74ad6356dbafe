"""The jars that connectors need: pinned, cached, and what a user sees if they are not available."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.errors import MillstreamError
from millstream.kafka import JARS
from millstream.plan.connectors import Jars
from millstream.spark import fetch, packages

PINS = packages.pins(JARS)
NOWHERE = """<ivysettings><settings defaultResolver="none"/><resolvers>
<ibiblio name="none" m2compatible="true" root="http://127.0.0.1:9/"/></resolvers></ivysettings>"""


def refused(jars: Jars) -> MillstreamError:
    with pytest.raises(MillstreamError) as caught:
        packages.files(jars)
    return caught.value


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the cache, and no reachable repository."""
    (tmp_path / "ivy.xml").write_text(NOWHERE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("MILLSTREAM_IVY_SETTINGS", str(tmp_path / "ivy.xml"))
    monkeypatch.delenv("MILLSTREAM_JARS", raising=False)
    monkeypatch.setattr(fetch, "TRIES", 1)


@pytest.mark.usefixtures("nowhere")
def test_what_is_installed_among_sparks_own_jars_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "spark" / "jars"
    folder.mkdir(parents=True)
    for name in (*(f"{pin.name}-9.9.jar" for pin in PINS), "millstream-kernels.jar"):
        (folder / name).touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    with pytest.raises(MillstreamError, match="MS-SETUP-005"):  # not all of it
        packages.class_path((Jars(JARS),))
    (folder / "millstream-kafka.jar").touch()
    assert packages.class_path((Jars(JARS),)) == str(packages.JAR)


@pytest.mark.usefixtures("nowhere")
def test_jars_that_cannot_be_fetched() -> None:
    error = refused(Jars(JARS))
    assert error.code == "MS-SETUP-005"
    assert "spark-sql-kafka" in str(error.found)
    assert 'jars="FOLDER"' in str(error.hint)


def test_a_folder_without_them(tmp_path: Path) -> None:
    (tmp_path / "kafka-clients-9.9.9.jar").touch()
    error = refused(Jars(JARS, str(tmp_path)))
    assert error.code == "MS-SETUP-004"
    assert error.found == ("missing: spark-sql-kafka-0-10_2.13, spark-token-provider-kafka-0-10_2.13, commons-pool2")


def test_a_jar_that_is_not_the_pinned_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "other.jar").write_bytes(b"something else")
    with pytest.raises(fetch.FetchFailed, match="has the checksum"):
        fetch.keep(PINS[2], tmp_path / "other.jar")
    assert not fetch.cache().exists()


@pytest.mark.server
def test_a_folder_made_for_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = CliRunner().invoke(main, ["jars", "kafka", "--to", str(tmp_path / "jars")])
    assert done.exit_code == 0, done.output
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("MILLSTREAM_JARS", str(tmp_path / "jars"))
    names = {path.name for path in packages.files(Jars(JARS))}
    assert names == {*(pin.file for pin in PINS), "millstream-kafka.jar"}


@pytest.mark.parametrize(("name", "code"), [("kafak", "MS-SETUP-007"), ("files", "MS-SETUP-009")])
def test_jars_of_what_has_none(name: str, code: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["jars", name, "--to", str(tmp_path / "jars")])
    assert done.exit_code == 1
    assert code in done.output
    assert not (tmp_path / "jars").exists()
