"""A job's network noise from its network cards' counters in the database: computed once by the worker, served with units and reasons, deleted with its user."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psycopg
import pytest
from click.testing import CliRunner
from support.databases import Server, add_real_job

from api.conftest import Served, serving
from flitwatch.commands.noise import noise
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people.erasure import erase_user
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ENDPOINT_COLUMNS
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.fabric import Technology
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_domain.network_noise.observations import message_time_s
from flitwatch_domain.runs import Run, RunStep
from flitwatch_ml.work.network_noise import save_network_noise
from flitwatch_simulation.tasks import HANDLERS as SIMULATION

pytestmark = pytest.mark.integration

SECONDS, FLITS, PACKETS = 300, 3_000_000.0, 1_000_000.0
#: A whole number of windows.
T0 = int(time.time()) // 3600 * 3600 - 7200
CARDS = np.arange(4)
#: Job, machine, and what is planted: stalls per flit and us a request beyond 0.5 and 2 in 8 of 20 windows.
PLANTED = {"1": ("aries", 3.0, 4.0), "2": ("aries", 0.0, 0.0), "3": ("tree", 0.0, 0.0), "4": ("aries", 0.0, 0.0)}


def counted(fabric_id: int, at: int, columns: dict[str, np.ndarray]) -> counters.Batch:
    """Rows by the second of the four cards; columns are (seconds, cards)."""
    second, card = (axis.ravel() for axis in np.indices((SECONDS, len(CARDS))))
    values = np.full((len(second), len(ENDPOINT_COLUMNS)), np.nan)
    for name, held in columns.items():
        values[:, ENDPOINT_COLUMNS.index(name)] = held[second, card]
    ones = np.ones(len(second))
    where = np.full(len(second), fabric_id, np.int32)
    return counters.Batch(
        endpoints=counters.Rows(where, card.astype(np.int32), at + second, ones.astype(np.int32), ones, values)
    )


@pytest.fixture(scope="module")
def site(_embedded_template: Server) -> Iterator[tuple[Served, str]]:
    url = _embedded_template.create()
    with connect(url, role="writer") as conn:
        machine = build_dragonfly(2, 4, 4, endpoints_per_router=4)
        place = {
            name: fabrics.save_fabric(conn, replace(machine, name=name, technology=technology))
            for name, technology in (("aries", Technology.CRAY_XC), ("tree", Technology.INFINIBAND))
        }
        nodes = ",".join(machine.endpoints.node[:4])
        for at, (number, (name, stalls, latency)) in enumerate(PLANTED.items()):
            begin = T0 + 600 * at
            jobs.upsert_jobs(
                conn,
                [Job("c", number, "COMPLETED", user="ann", name="milc", start_s=begin, end_s=begin + SECONDS, nodes=4, node_list=nodes, simulated=True)],
                place[name],
            )  # fmt: skip
            noisy = (np.arange(SECONDS) < 0.4 * SECONDS)[:, None]
            whole = np.ones((SECONDS, 4))
            if name == "tree":
                columns = {"tx_packets": whole * 1000, "tx_wait_cycles": 1000 + 2000 * noisy * whole}
            else:
                columns = {
                    "rq_flits": whole * FLITS,
                    "rq_packets": whole * PACKETS,
                    "rq_stall_cycles": (0.5 + stalls * noisy) * whole * FLITS,
                    "latency_us_sum": (2.0 + latency * noisy) * whole * PACKETS,
                }
            if number != "4":
                counters.write_batch(conn, counted(place[name], begin, columns))
    with connect(url) as conn:
        before = conn.execute("SELECT count(*) FROM job_network_noise").fetchone()
    assert before == (0,)
    add_real_job(url)
    with serving(Settings(db=url)) as served:
        yield served, url
    _embedded_template.drop(url)


def test_the_planted_noise_is_stored_once_and_served(site: tuple[Served, str]) -> None:
    served, url = site
    early = served.get("/jobs/1/network-noise")
    assert early["verdict"] == "not computed" and early["of_runtime"]["cannot_tell"] and early["figures"] == []
    assert save_network_noise(url) == len(PLANTED) and save_network_noise(url) == 0
    made = served.get("/jobs/1/network-noise")
    truth = 0.4 * SECONDS * (FLITS * 3 / 800e6 + PACKETS / 1024 * 4e-6)
    assert made["verdict"] == "estimated", made
    assert made["noise_s"] == pytest.approx(truth, rel=1e-3)
    assert made["of_runtime"]["share"] == pytest.approx(truth / SECONDS, rel=1e-3)
    assert (made["cards"], made["cards_counted"], made["window_s"]) == (4, 4, 10) and made["unknown"] == {}
    held = {one["key"]: one for one in made["figures"]}
    assert (held["latency_us"]["unit"], held["waits"]["unit"]) == ("µs / request", "cycles / flit")
    assert held["latency_us"]["quiet"] == pytest.approx(2.0) and held["waits"]["mean"] == pytest.approx(1.7)
    assert set(made["counters"]) == {"rq_flits", "rq_stall_cycles", "rq_packets", "latency_us_sum"}
    assert made["of_slowdown"]["share"] is None and "no longer than usual" in made["of_slowdown"]["cannot_tell"]


def test_quiet_cards_have_none_and_what_was_not_counted_says_why(site: tuple[Served, str]) -> None:
    served, url = site
    save_network_noise(url)
    assert served.get("/jobs/2/network-noise")["noise_s"] == 0.0
    tree = served.get("/jobs/3/network-noise")
    assert tree["verdict"] == "cannot tell" and tree["noise_s"] is None
    assert "tick of port_xmit_wait" in tree["of_runtime"]["cannot_tell"]
    assert [(one["unit"], one["quiet"]) for one in tree["figures"]] == [("word times / packet", 1.0)]
    missing = served.get("/jobs/4/network-noise")
    assert missing["verdict"] == "cannot tell" and "counted traffic" in missing["unknown"]["noise_s"]
    assert "there is no job" in served.refused("/jobs/99/network-noise", 404)["detail"]


def test_the_share_of_the_slowdown_is_of_the_seconds_beyond_usual(site: tuple[Served, str]) -> None:
    served, url = site
    with connect(url, role="writer") as conn:
        start = datetime.fromtimestamp(T0, UTC)
        for number in range(5):
            conn.execute(
                "INSERT INTO job (cluster, job_id, user_name, name, state, start_ts, end_ts, nodes, simulated) SELECT 'c', %s, 'ann', 'milc', 'COMPLETED',"
                " %s - interval '500 days', %s - interval '500 days' + interval '250 s', 4, true",
                [f"9{number}", start, start],
            )
    save_network_noise(url)
    made = served.get("/jobs/1/network-noise")["of_slowdown"]
    # 300 s where 250 s are usual: the median of these jobs and of the three of 300 s alongside it.
    assert made["of_s"] == pytest.approx(50.0) and 0 < made["share"] < 1


def test_routing_advice_takes_its_observations_from_the_database(site: tuple[Served, str]) -> None:
    """Job 1 had 3 stalls a flit and 4 us a request more in its first 120 s: as another mode, those are its slow ones.

    It sent as much a second then, so that it got on no faster later; and it stood in one group.
    """
    _, url = site

    class Context:
        dsn, task_id = url, 77

        def report(self, *_: object) -> None:
            pass

    def quarters(begin: int) -> list[dict[str, float]]:
        return [{"from_s": T0 + begin + 25 * at, "to_s": T0 + begin + 25 * at + 25} for at in range(4)]

    asked = {"application": "milc", "job": "1", "intervals": {"ADAPTIVE_0": quarters(0), "ADAPTIVE_3": quarters(150)}}
    made = SIMULATION["routing.advice"](asked, Context())  # type: ignore[arg-type]
    truth = message_time_s(65_536, 6 * 800, 3.5) / message_time_s(65_536, 2 * 800, 0.5)
    assert made["mode"] is None and made["groups"] == 1 and made["factor"] == pytest.approx(truth, rel=1e-6)
    with connect(url, role="reader") as conn:
        rows = conn.execute(
            "SELECT figures, reason FROM recommendation WHERE task_id = 77 AND kind = 'routing_mode'"
        ).fetchall()
    assert rows[0][0] == "counted" and "1.00 to 1.00 times as many flits per second" in rows[0][1]
    for wrong, words in (
        ({"job": "3"}, "counts no latency"),
        ({"intervals": {**asked["intervals"], "ADAPTIVE_3": quarters(900)}}, "is not within the job"),
        (
            {"job": "4", "intervals": {k: [{"from_s": T0 + 1810, "to_s": T0 + 1850}] for k in asked["intervals"]}},
            "were counted",
        ),
        ({"observations": {}}, "either observations or intervals"),
        ({"job": None}, "intervals need the job"),
    ):
        with pytest.raises(FlitwatchError, match=words):
            SIMULATION["routing.advice"]({**asked, **wrong}, Context())  # type: ignore[arg-type]


def reported(url: str, job: str, begins: list[int], simulated: bool = True) -> list[int]:
    """Runs of 20 s within a job, from these seconds of it on; their numbers."""
    found = []
    with connect(url, role="writer") as conn:
        for begin in begins:
            at = T0 + 600 * (int(job) - 1) + begin
            run = Run(
                run_key=f"{job}-{begin}", exe="/home/ann/milc", job_id=job, start_s=at, ranks=(0,), nodes=("n",), simulated=simulated
            )  # fmt: skip
            found.append(runs.upsert_run(conn, run))
            runs.upsert_steps(conn, found[-1], [RunStep(0, np.array([20 * 10**9]))])
    return found


def compared(served: Served, **asked: object) -> dict:
    got = served.http.post("/api/v1/network-noise/compare", json=asked)
    assert got.status_code == 200, got.text
    return got.json()


def test_two_sets_of_runs_are_compared_within_their_allocation(site: tuple[Served, str], tmp_path: Path) -> None:
    """Job 1 was noisy in its first 120 s and quiet from then on; job 3's cards count no latency, job 4's nothing."""
    served, url = site
    noisy, quiet = reported(url, "1", [0, 25, 50, 75]), reported(url, "1", [150, 175, 200, 225])
    made = compared(served, first={"runs": quiet}, second={"runs": noisy})
    truth = message_time_s(65_536, 6 * 800, 3.5) / message_time_s(65_536, 2 * 800, 0.5)
    assert made["verdict"] == "higher" and made["simulated"] is True
    held = {one["key"]: one for one in made["figures"]}
    assert held["message_s"]["ratio"] == pytest.approx(truth, rel=1e-3)
    assert held["latency_cycles"]["ratio"] == pytest.approx(3.0) and held["stalls_per_flit"]["ratio"] == pytest.approx(
        7.0
    )
    assert held["flits_per_s"]["verdict"] == "cannot tell" and held["flits_per_s"]["ratio"] == pytest.approx(1.0)
    assert [one["holds"] for one in made["guidelines"]] == [True, True, True]
    assert made["first"]["dispersion"] == {"measured": 0.0, "network": 0.0, "latency": pytest.approx(0.0)}
    assert compared(served, first={"runs": noisy}, second={"runs": quiet})["verdict"] == "lower"
    alike = compared(served, first={"runs": quiet}, second={"runs": quiet})
    assert alike["verdict"] == "cannot tell" and "no difference beyond chance" in alike["why"]
    # An application's runs in a span, named as the caller sees it.
    span = {"application": "milc", "since": str(T0 + 140), "until": str(T0 + 240)}
    assert compared(served, first=span, second={"runs": noisy})["figures"] == made["figures"]
    shown = CliRunner().invoke(
        noise,
        [
            "--url",
            served.url,
            "--first",
            f"runs={','.join(map(str, quiet))}",
            "--second",
            f"runs={','.join(map(str, noisy))}",
        ],
    )
    assert shown.exit_code == 0 and shown.output.startswith("higher (simulated): a message of the second set takes"), (
        shown.output
    )


def test_what_may_not_be_compared_is_not(site: tuple[Served, str]) -> None:
    served, url = site
    noisy, few = reported(url, "1", [0, 25, 50, 75]), reported(url, "1", [150])
    made = compared(served, first={"runs": few}, second={"runs": noisy})
    assert made["verdict"] == "cannot tell" and "needs 4 observations" in made["why"]
    assert made["guidelines"][0]["holds"] is False and all(one["ratio"] is None for one in made["figures"])
    lost = compared(served, first={"jobs": ["3", "4", "77"]}, second={"runs": noisy})
    why = {one["number"]: one["why"] for one in lost["first"]["left_out"]}
    assert "counts no latency" in why["3"] and "were counted" in why["4"] and "none of this number" in why["77"]
    assert lost["verdict"] == "cannot tell" and lost["first"]["observations"] == 0
    for wrong in (
        {"first": {}, "second": {"runs": noisy}},
        {"first": {"runs": noisy, "application": "milc"}, "second": {"runs": noisy}},
        {"first": {"runs": noisy, "since": "1"}, "second": {"runs": noisy}},
        {"first": {"runs": [0]}, "second": {"runs": noisy}},
        {"first": {"jobs": ["1"] * 101}, "second": {"runs": noisy}},
        {"first": {"runs": noisy}, "second": {"runs": noisy}, "message_bytes": 0},
    ):
        assert served.http.post("/api/v1/network-noise/compare", json=wrong).status_code == 422
    for wrong in ("runs=a", "runs=", "milc", "application=milc,when=now"):
        got = CliRunner().invoke(noise, ["--url", served.url, "--first", wrong, "--second", "runs=1"])
        assert got.exit_code == 2, got.output


def test_a_new_end_is_computed_anew_and_only_writers_write(site: tuple[Served, str]) -> None:
    served, url = site
    with connect(url, role="writer") as conn:
        conn.execute("UPDATE job SET end_ts = end_ts - interval '60 s' WHERE job_id = '2'")
    assert served.get("/jobs/2/network-noise")["verdict"] == "not computed"
    assert save_network_noise(url) == 1 and served.get("/jobs/2/network-noise")["verdict"] == "estimated"
    for role, statement in (
        ("reader", "UPDATE job_network_noise SET noise_s = 0"),
        ("writer", "DELETE FROM job_network_noise"),
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connect(url, role=role) as conn:
            conn.execute(statement)


def test_it_goes_with_its_user(site: tuple[Served, str]) -> None:
    _, url = site
    save_network_noise(url)
    with connect(url, role="owner") as conn:
        erase_user(conn, "ann")
        assert conn.execute("SELECT count(*) FROM job_network_noise").fetchone() == (0,)
