"""A real Slurm places, delays and releases jobs according to rows in a real database, through the real API, agent and job_submit plugin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from api.conftest import serving
from integration.congested_site import BUSY, CALM, agent, congest, seed, working
from support.databases import Server
from support.slurm import PROGRAMS, SlurmSite
from support.waiting import eventually

import flitwatch_slurm
from flitwatch_api.settings import Settings
from flitwatch_slurm import cluster, pending_jobs
from flitwatch_slurm.advice_file import ANYBODY, Case, format_content, write_file
from flitwatch_slurm.questions import PlacedAdvice, Places
from flitwatch_slurm.trial import read_record

FOLDER = Path(flitwatch_slurm.__file__).parent
PLUGIN = Path("/usr/lib/x86_64-linux-gnu/slurm-wlm/job_submit_lua.so")
pytestmark = [pytest.mark.integration, pytest.mark.system("schedulers")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmSite]:
    """Slurm with the plugin; the nodes of each group of the fabric have a feature: fg0, fg1."""
    if not PLUGIN.exists() or any(shutil.which(name) is None for name in PROGRAMS):
        pytest.skip("needs Slurm with job_submit/lua (apt-get install slurm-wlm slurmdbd mariadb-server munge)")
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else tmp_path_factory.mktemp("slurm")
    folder = base / f"flitwatch-slurm-advice-{os.getpid()}"
    folder.mkdir(mode=0o755)
    one = SlurmSite(folder, extra="JobSubmitPlugins=lua")
    (folder / "agent").mkdir(mode=0o755)
    shutil.copy(FOLDER / "flitwatch.lua", folder)
    script = (FOLDER / "job_submit.lua").read_text().replace("/etc/slurm/", f"{folder}/")
    script = script.replace(
        "\nfunction slurm_job_submit",
        f'\nif flitwatch then flitwatch.path = "{folder}/agent/advice" end\nfunction slurm_job_submit',
    )
    # What another plugin of the site might write before ours.
    head = "function slurm_job_submit(job_desc, part_list, submit_uid)\n"
    other = '  if job_desc.comment then job_desc.admin_comment = job_desc.comment:match("^theirs=(.*)") end\n'
    (folder / "job_submit.lua").write_text(script.replace(head, head + other))
    try:
        one.start()
        for group, nodes in enumerate(("nid0000[1-2]", "nid0000[3-4]")):
            one.run(
                "scontrol", "update", f"NodeName={nodes}", f"AvailableFeatures=fg{group}", f"ActiveFeatures=fg{group}"
            )
        yield one
    finally:
        one.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def machine(_embedded_template: Server) -> Iterator[tuple[str, int]]:
    url = _embedded_template.create()
    fabric_id = seed(url)
    with working(url):
        yield url, fabric_id
    _embedded_template.drop(url)


@pytest.fixture(autouse=True)
def quiet_site(site: SlurmSite) -> Iterator[None]:
    (site.folder / "agent" / "advice").unlink(missing_ok=True)
    yield
    site.run("scancel", "--user=root", check=False)
    site.wait_idle()


def round_(site: SlurmSite, machine: tuple[str, int], ratios: tuple[float, float], *options: str) -> dict[str, int]:
    """Counters of now, the API over them, and one round of the agent."""
    congest(*machine, ratios)
    with serving(Settings(db=machine[0], web=None, api_anonymous="operator")) as api:
        # The process that reads the state starts with the first question, behind whatever else this host does.
        httpx.get(f"{api.url}/api/v1/advice/state", timeout=120).raise_for_status()
        done = agent(
            {"SLURM_CONF": site.environment["SLURM_CONF"]}, api.url, site.folder / "agent" / "advice", *options
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def job(site: SlurmSite, job_id: str) -> dict[str, str]:
    text = site.run("scontrol", "-o", "show", "job", job_id)
    return dict(part.split("=", 1) for part in text.split(" ") if "=" in part) | {"text": text}


def until(site: SlurmSite, job_id: str, state: str, limit_s: float = 60) -> dict[str, str]:
    """The job, once it is in that state."""

    def in_state() -> dict[str, str] | None:
        found = job(site, job_id)
        return found if found["JobState"] == state else None

    return eventually(
        in_state, limit_s, 0.2, what=f"job {job_id} to be {state}", detail=lambda: job(site, job_id)["text"]
    )


def submit(site: SlurmSite, *options: str) -> str:
    return site.submit("true", "-N1", "-J", "milc", *options)


def test_a_job_runs_in_the_calm_group_because_of_advice(site: SlurmSite, machine: tuple[str, int]) -> None:
    assert until(site, submit(site), "COMPLETED")["NodeList"] == "nid00001"  # where Slurm puts it by itself
    assert round_(site, machine, (BUSY, CALM))["actions"] >= 1
    placed = until(site, submit(site), "COMPLETED")
    assert placed["NodeList"] in ("nid00003", "nid00004")
    assert "prefers fg1" in placed["text"]
    assert "AdminComment=[flitwatch prefer since=" in placed["text"] and "1.00 stall cycles per flit" in placed["text"]
    round_(site, machine, (CALM, BUSY))
    assert until(site, submit(site), "COMPLETED")["NodeList"] in ("nid00001", "nid00002")
    assert (
        until(site, submit(site, "-w", "nid00004"), "COMPLETED")["NodeList"] == "nid00004"
    )  # what the user asks for wins
    site.run("scontrol", "create", "PartitionName=late", "Nodes=nid0000[3-4]")
    for own in (("-p", "late"), ("-C", "fg1"), ("-x", "nid0000[1-2]"), ("-N3",)):
        until(site, submit(site, *own), "COMPLETED")  # Slurm itself would refuse such a job with that preference
    other = until(site, site.submit("true", "-N1", "-J", "hpl"), "COMPLETED")
    assert "flitwatch" not in other["text"].replace("ClusterName", "").split("AdminComment=")[-1]


def test_a_job_waits_while_all_is_congested_and_goes_when_it_is_calm(site: SlurmSite, machine: tuple[str, int]) -> None:
    round_(site, machine, (BUSY, BUSY))
    waiting = submit(site)
    held = until(site, waiting, "PENDING")
    time.sleep(3)
    held = job(site, waiting)
    assert (held["JobState"], held["Reason"]) == (
        "PENDING",
        "BeginTime",
    ) and "AdminComment=[flitwatch delay since=" in held["text"]
    assert round_(site, machine, (BUSY, BUSY), "--act")["delayed"] == 1
    assert job(site, waiting)["JobState"] == "PENDING"
    assert round_(site, machine, (CALM, CALM), "--act")["released"] == 1
    done = until(site, waiting, "COMPLETED")
    assert "AdminComment=[flitwatch released since=" in done["text"] and "advice changed" in done["text"]


def test_a_pending_job_is_held_and_released_where_the_site_wants_holds(
    site: SlurmSite, machine: tuple[str, int]
) -> None:
    blocker = site.submit("sleep 300", "-N4", "--exclusive", "-J", "other")
    until(site, blocker, "RUNNING")
    waiting, users = submit(site, "--exclusive"), submit(site, "--exclusive", "-H")
    assert round_(site, machine, (BUSY, BUSY), "--act", "--hold")["delayed"] == 1
    held = job(site, waiting)
    assert held["Reason"] == "JobHeldAdmin" and held["Priority"] == "0" and "5.00 stall cycles per flit" in held["text"]
    site.run("scancel", blocker)
    found = round_(site, machine, (BUSY, CALM), "--act", "--hold")
    assert (found["released"], found["preferred"], found["delayed"]) == (1, 1, 0)
    assert until(site, waiting, "COMPLETED")["NodeList"] in ("nid00003", "nid00004")
    assert (
        job(site, users)["Reason"] == "JobHeldUser"
        and "flitwatch" not in job(site, users)["text"].split("AdminComment")[-1]
    )


def test_a_held_job_goes_although_another_tool_wrote_over_its_mark(site: SlurmSite, machine: tuple[str, int]) -> None:
    blocker = site.submit("sleep 300", "-N4", "--exclusive", "-J", "other")
    until(site, blocker, "RUNNING")
    waiting, later = submit(site, "--exclusive"), submit(site, "--exclusive", "-H")
    site.run("scontrol", "update", f"JobId={later}", "StartTime=now+2hours")
    site.run("scontrol", "release", later)
    users_own = job(site, later)["StartTime"]
    assert round_(site, machine, (BUSY, BUSY), "--act", "--hold")["delayed"] == 1
    site.run("scontrol", "update", f"JobId={waiting}", "AdminComment=jobperf: 98 %")
    assert round_(site, machine, (BUSY, BUSY), "--act", "--hold")["delayed"] == 1
    assert noted(site, waiting).startswith(b"jobperf: 98 % [flitwatch delay since=")
    site.run("scontrol", "update", f"JobId={waiting}", "AdminComment=jobperf: 99 %")
    site.run("scancel", blocker)
    assert round_(site, machine, (CALM, CALM), "--act", "--hold")["released"] == 1
    until(site, waiting, "COMPLETED")
    assert noted(site, waiting).startswith(b"jobperf: 99 % [flitwatch released since=")
    assert job(site, later)["StartTime"] == users_own and noted(site, later) == b""


def test_no_job_waits_longer_than_the_site_allows_nor_when_the_api_is_away(
    site: SlurmSite, machine: tuple[str, int]
) -> None:
    round_(site, machine, (BUSY, BUSY))
    waiting = submit(site)
    time.sleep(2.1)
    assert round_(site, machine, (BUSY, BUSY), "--act", "--most-delay", "2")["released"] == 1
    until(site, waiting, "COMPLETED")
    again = submit(site)
    away = agent(
        {"SLURM_CONF": site.environment["SLURM_CONF"]}, "http://127.0.0.1:9", site.folder / "agent" / "advice", "--act"
    )
    assert away.returncode == 1 and "the API does not answer" in away.stderr
    released = agent(
        {"SLURM_CONF": site.environment["SLURM_CONF"]},
        "http://127.0.0.1:9",
        site.folder / "agent" / "advice",
        "--release",
    )
    assert json.loads(released.stdout) == {"released": 1}
    until(site, again, "COMPLETED")


@pytest.mark.parametrize("what", ["absent", "pipe", "stale", "broken", "no plugin"])
def test_the_real_slurm_lets_jobs_through_whatever_stands_there(
    site: SlurmSite, machine: tuple[str, int], what: str
) -> None:
    path, plugin = site.folder / "agent" / "advice", site.folder / "flitwatch.lua"
    round_(site, machine, (BUSY, BUSY))
    whole = path.read_bytes()
    path.unlink()
    try:
        if what == "pipe":
            os.mkfifo(path)
        elif what == "stale":
            head = whole.split(b" ")
            path.write_bytes(b" ".join([*head[:2], b"1", *head[3:]]))
        elif what == "broken":
            path.write_bytes(whole[:-4] + b"\0\0\0")
        elif what == "no plugin":
            path.write_bytes(whole)
            plugin.write_text("this is no Lua")
            (site.folder / "job_submit.lua").touch()
        done = until(site, submit(site), "COMPLETED", 30)
        assert "[flitwatch " not in done["text"]
    finally:
        shutil.copy(FOLDER / "flitwatch.lua", plugin)
        os.utime(site.folder / "job_submit.lua", (time.time() + 2, time.time() + 2))


def test_in_a_trial_only_the_drawn_half_waits_and_nobody_is_advised_at_submission(
    site: SlurmSite, machine: tuple[str, int]
) -> None:
    record = site.folder / "agent" / "trial.jsonl"
    options = ("--hold", "--trial", "0.5", "--trial-file", str(record))
    round_(site, machine, (BUSY, BUSY))
    assert round_(site, machine, (BUSY, BUSY), *options)["cases"] == 0
    blocker = site.submit("sleep 300", "-N4", "--exclusive", "-J", "other")
    until(site, blocker, "RUNNING")
    waiting = [submit(site, "--exclusive") for _ in range(16)]
    array = submit(site, "--exclusive", "--array=1-2")
    found = round_(site, machine, (BUSY, BUSY), *options)
    _, participants, _ = read_record(record)
    drawn = {one.job_id: one.advised for one in participants}
    assert set(drawn) == set(waiting) and found["in_trial"] == 16
    assert found["delayed"] == found["advised"] == sum(drawn.values()) and 0 < found["advised"] < 16
    for number, advised in drawn.items():
        held = job(site, number)
        assert (held["Reason"] == "JobHeldAdmin") is advised, held["text"]
        assert ("flitwatch delay" in held["text"]) is advised
    assert noted(site, array) == b""
    # The next round changes neither half, and at the end everybody runs.
    again = round_(site, machine, (BUSY, BUSY), *options)
    assert again["in_trial"] == 16 and again["delayed"] == found["advised"] and read_record(record)[1] == participants
    site.run("scancel", blocker)
    assert round_(site, machine, (CALM, CALM), *options)["released"] == found["advised"]
    for number in waiting:
        until(site, number, "COMPLETED")


@pytest.mark.parametrize(
    "theirs",
    [b'{"jobperf": "98 %", \'a\': [1]}', b"caf\xe9 \xff\xfe\ttab", b"x" * 980, b"y" * 3000],
    ids=["quotes", "no UTF-8", "long", "too long"],
)
def test_another_tools_admin_comment_is_intact_after_advice(
    site: SlurmSite, monkeypatch: pytest.MonkeyPatch, theirs: bytes
) -> None:
    """Written before the agent's round, whole afterwards, through delay and release; too long for a mark, the job is left alone."""
    monkeypatch.setenv("SLURM_CONF", site.environment["SLURM_CONF"])
    blocker = site.submit("sleep 300", "-N4", "--exclusive", "-J", "other")
    until(site, blocker, "RUNNING")
    waiting = submit(site, "--exclusive")
    change = [b"scontrol", b"update", b"JobId=" + waiting.encode(), b"AdminComment=" + theirs]
    subprocess.run(change, env=site.environment, check=True, timeout=60)
    assert noted(site, waiting) == theirs
    fits = len(theirs) < 1000
    assert advised(waiting, "delay")["delayed"] == fits
    assert noted(site, waiting).startswith(theirs) and (b"[flitwatch delay since=" in noted(site, waiting)) == fits
    assert advised(waiting, "start")["released"] == fits
    assert noted(site, waiting).startswith(theirs) and (b"[flitwatch released since=" in noted(site, waiting)) == fits
    site.run("scancel", blocker)
    until(site, waiting, "COMPLETED")


def test_who_declines_advice_while_a_job_is_held_has_it_released(
    site: SlurmSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", site.environment["SLURM_CONF"])
    blocker = site.submit("sleep 300", "-N4", "--exclusive", "-J", "other")
    until(site, blocker, "RUNNING")
    waiting = submit(site, "--exclusive")
    assert advised(waiting, "delay", hold=True)["delayed"] == 1
    assert job(site, waiting)["Reason"] == "JobHeldAdmin"
    site.run("scontrol", "update", f"JobId={waiting}", "Comment=flitwatch=off")
    assert advised(waiting, "delay", hold=True) == {"delayed": 0, "preferred": 0, "released": 1}
    assert advised(waiting, "delay", hold=True)["delayed"] == 0
    site.run("scancel", blocker)
    until(site, waiting, "COMPLETED")


def test_the_plugin_leaves_what_another_one_wrote_before_it(site: SlurmSite) -> None:
    case = Case("milc", ANYBODY, 1, "delay", 60, 10, 1.5, "", "", {}, "5.00 stall cycles per flit")
    write_file(site.folder / "agent" / "advice", format_content([case], time.time(), 120))
    short, full = (submit(site, f"--comment=theirs={theirs}") for theirs in ("98 %", "z" * 1010))
    assert noted(site, short).startswith(b"98 % [flitwatch delay since=")
    assert noted(site, full) == b"z" * 1010
    until(site, full, "COMPLETED")


def advised(job_id: str, action: str, hold: bool = False) -> dict[str, int]:
    """One round of what the agent does to this job, with advice that an API might have given."""
    jobs = [one for one in cluster.list_pending() if one.job_id == job_id]
    advice = PlacedAdvice(action, 60.0, 10.0, 1.5, "5.00 stall cycles per flit", False)
    return pending_jobs.apply_advice(jobs, [advice] * len(jobs), Places([], [], {}), pending_jobs.Limits(hold), {})


def noted(site: SlurmSite, job_id: str) -> bytes:
    """A job's admin comment as bytes."""
    output = subprocess.run(
        ["squeue", "--json"], env=site.environment, capture_output=True, check=True, timeout=60
    ).stdout.decode(errors="surrogateescape")
    held = next(one for one in json.loads(output, strict=False)["jobs"] if str(one["job_id"]) == job_id)
    return held["admin_comment"].encode(errors="surrogateescape")
