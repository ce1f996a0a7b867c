"""Data that enter by a remote write and by an import."""

from __future__ import annotations

from pathlib import Path

import pytest
from ingest.exporting import Collector, Written
from ingest.writing import START_S

from flitwatch.main import main
from flitwatch_ingest.writer.drain import drain_log


def bring_in(url: str, tmp_path: Path) -> None:
    """Two counts and an unknown metric by a real remote write, and a line of accounting that is refused."""
    collector = Collector(url, tmp_path).start()
    try:
        port = {"guid": "0xa1", "port": "4"}
        known: Written = (
            {"__name__": "infiniband_switch_port_transmit_data_bytes_total", **port},
            [(8.0, START_S * 1000), (16.0, START_S * 1000 + 1000)],
        )
        unknown: Written = ({"__name__": "infiniband_made_up_total", **port}, [(1.0, START_S * 1000)])
        collector.write([known, unknown])
    finally:
        collector.kill()
    accounting = tmp_path / "jobs.txt"
    accounting.write_text(
        "JobIDRaw|JobID|User|Submit|Start|End|State\n1|1|alice|nonsense|nonsense|nonsense|COMPLETED\n"
    )
    with pytest.raises(SystemExit):
        main(["import", "sacct", str(accounting), "--db", url])
    drain_log(url, url)
