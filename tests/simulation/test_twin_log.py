"""The twin on a real log and database: records arrive, the fabric is registered, a measured one is left alone."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import flitwatch_db
from flitwatch.main import main
from flitwatch_db import migrations
from flitwatch_db.fabrics import store as fabrics
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.backends import open_log
from flitwatch_twin.spec import load_spec

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = Embedded(tmp_path_factory.mktemp("pg"), durable=False)
    started = server.start()
    migrations.migrate_database(started)
    yield started
    server.stop()


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_records_reach_the_log(url: str, encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["twin", "run", "small", "--seconds", "4", "--speed", "0", "--log", url, "--db", url]
    with (
        open_log(url) as log,
        log.consumer(f"test-{encoding}", pattern=r"^ldms\.aries_rtr_.*", start="earliest") as consumer,
    ):
        while consumer.poll(10_000, 0.5):
            pass
        main([*arguments, "--format", encoding, "--out", str(tmp_path), "--json"])
        told = json.loads(capsys.readouterr().out)
        seen: Counter[str] = Counter()
        while sum(seen.values()) < 4 * 4 * 192:
            records = consumer.poll(10_000, 20.0)
            assert records, "the records did not come"
            seen.update(record.topic for record in records)
            assert all(dict(record.headers) == {"simulated": b"1"} and record.key is None for record in records)
            assert all((record.value[0] == 0) == (encoding == "avro") for record in records)
    assert seen == {topic: 4 * 192 for topic in told["topics"] if "rtr" in topic}
    assert (tmp_path / "truth.json").exists() and not (tmp_path / "ldms").exists()
    with flitwatch_db.connect(url) as connection:
        kept = fabrics.load_fabric(connection, "small")
        assert kept.simulated and len(kept.routers) == 192


def test_a_measured_fabric_is_left_alone(url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    measured = dataclasses.replace(load_spec("demo").fabric.build("demo"), simulated=False)
    with flitwatch_db.connect(url) as connection:
        fabrics.save_fabric(connection, measured)
    with pytest.raises(SystemExit):
        main(["twin", "run", "demo", "--seconds", "1", "--speed", "0", "--db", url, "--out", str(tmp_path)])
    assert "a measured fabric is named 'demo'" in caplog.text
