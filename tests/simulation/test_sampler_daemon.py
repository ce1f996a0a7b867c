"""flitwatch-sampler on a receiving host: real packets, a real database, contexts from a prolog."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ingest.writing import drain_log
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.sampling import Reach
from flitwatch_ingest.sampler import make_plan
from flitwatch_ingest.writer import WriterSettings
from flitwatch_research.namespaces import Lab, figure_214, why_not

pytestmark = [
    pytest.mark.system("processes"),
    pytest.mark.integration,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
]

COMMAND = [sys.executable, "-m", "flitwatch.main", "sampler"]
PACKETS = 400


class Daemon:
    """The process on h2."""

    def __init__(self, lab: Lab, folder: Path, url: str) -> None:
        self.control = folder / "sampler.sock"
        argv = [
            *COMMAND,
            "run",
            str(folder / "plan.json"),
            "--interface",
            "app0",
            "--namespace",
            lab.namespace("h2"),
            "--slice",
            "1",
        ]
        argv += ["--control", str(self.control), "--db", url, "--state", str(folder / "state.json"), "--json"]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        eventually(self.control.exists, 600, what="the sampler to start", process=self.process)

    def context(self, *argv: str) -> None:
        subprocess.run([*COMMAND, "context", *argv, "--control", str(self.control)], check=True, timeout=60)
        time.sleep(0.3)  # until it is heard

    def stop(self) -> dict:
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return json.loads(out)


def send(lab: Lab, host: str, port: int, packets: int) -> None:
    """Send, at most ten at a time under way: on a busy machine no queue between the hosts overflows, so that each packet arrives."""
    with lab.udp("h2", port) as receiver, lab.udp(host) as sender:
        receiver.settimeout(20)
        for number in range(packets):
            sender.sendto(bytes(200), (lab.address("h2"), port))
            if number >= 10:
                receiver.recv(200)
        for _ in range(min(packets, 10)):
            receiver.recv(200)


def test_links_are_recovered_in_the_job_s_context(embedded_db, tmp_path):
    fabric = figure_214(100)
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    with Lab(fabric, queue_bytes=1 << 20) as lab:
        addresses = {host: lab.address(host) for host in lab.hosts}
        (tmp_path / "plan.json").write_text(make_plan(fabric, "h2", addresses).model_dump_json())
        daemon = Daemon(lab, tmp_path, embedded_db)
        daemon.context("42", "--phase", "exchange", "--ports", "7000-7001=2", "--ports", "7005=6")
        send(lab, "h1", 7000, PACKETS)
        send(lab, "h3", 7005, PACKETS)
        first = daemon.stop()
        again = Daemon(lab, tmp_path, embedded_db)  # the sequence goes on: nothing is taken for a repeat
        again.context("42", "--phase", "exchange", "--ports", "7000=2")
        send(lab, "h1", 7000, PACKETS)
        second = again.stop()
    assert first["packets"]["decoded"] == 2 * PACKETS and second["packets"]["decoded"] == PACKETS
    drain_log(embedded_db, embedded_db, settings=WriterSettings(), limit_s=60)
    reach = Reach(fabric)
    with connect(embedded_db) as conn:
        for tag, sender, packets in (("2", 0, 2 * PACKETS), ("6", 4, PACKETS)):
            rows = conn.execute(
                "SELECT link, sum(tested), sum(traffic), sum(traffic_variance) FROM sample_1h JOIN sample_context USING (context_id)"
                " WHERE job_id = '42' AND phase = 'exchange' AND tag = %s GROUP BY link",
                [tag],
            ).fetchall()
            assert {row[0] for row in rows} == set(reach.candidates(sender, 2).tolist()) | (
                {10} if tag == "2" else set()
            )
            way = reach.path(sender, 2)
            for link, tested, traffic, variance in rows:
                assert tested == packets
                assert abs(traffic - (packets if link in way else 0)) < 5 * variance**0.5, (tag, link)
        (decoded,) = conn.execute("SELECT sum(packets) FROM sample_host_1m WHERE outcome = 'decoded'").fetchone()
        assert decoded == 3 * PACKETS
        assert conn.execute("SELECT count(*) FROM dead_letter").fetchone() == (0,)


def test_without_its_interface_it_says_what_to_do(tmp_path):
    fabric = figure_214()
    plan = make_plan(fabric, "h2", {"h1": "10.0.0.1", "h2": "10.0.0.2"})
    (tmp_path / "plan.json").write_text(plan.model_dump_json())
    argv = [
        *COMMAND,
        "run",
        str(tmp_path / "plan.json"),
        "--interface",
        "no-such",
        "--log",
        "postgresql://nobody@127.0.0.1:1/none",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "no-such" in done.stderr or "log" in done.stderr
