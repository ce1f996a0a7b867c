"""Slurm tools: the Lua plugin, marks in admin comments, and `squeue --json`."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import lupa.lua51
import lupa.lua54
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.errors import Forbidden, Unavailable
from flitwatch_slurm import advice_file
from flitwatch_slurm.advice_file import ANYBODY, Case
from flitwatch_slurm.cluster import MOST_BYTES, merge_mark, read_mark, read_pending

PLUGIN = Path(advice_file.__file__).with_name("flitwatch.lua")

SLURM = """
slurm = {NO_VAL = 4294967294, SUCCESS = 0, said = {}}
function slurm.log_info(...) table.insert(slurm.said, string.format(...)) end
slurm.log_user = slurm.log_info
"""


class Plugin:
    """flitwatch.lua with the names that job_submit/lua gives it."""

    def __init__(self, lua: Any, path: Path) -> None:
        self.lua = lua.LuaRuntime(encoding="latin-1")
        self.lua.execute(SLURM)
        self.module = self.lua.execute(f'return dofile("{PLUGIN}")')
        self.module.path = str(path)

    def submit(self, user: str = "ann", **job: Any) -> dict[str, Any]:
        described = self.lua.table(**{"user_name": user, "min_nodes": 8, "name": "milc", **job})
        self.module.submit(described, None, 1000)
        return dict(described)

    def said(self) -> str:
        return " ".join(self.lua.eval("slurm.said").values())


@pytest.fixture(params=[lupa.lua51, lupa.lua54], ids=["5.1", "5.4"])
def plugin(request: pytest.FixtureRequest, tmp_path: Path) -> Plugin:
    return Plugin(request.param, tmp_path / "advice")


def case(**other: Any) -> Case:
    base: dict[str, Any] = {
        "application": "milc",
        "user": ANYBODY,
        "nodes": 8,
        "action": "delay",
        "retry_s": 600,
        "usual_s": 100,
        "slowdown": 1.4,
        "features": "",
        "avoid": "",
        "free_nodes": {"*": 8, "big": 8, "sm,all=": 4},
        "reason": "5.00 stall cycles per flit",
    }
    return Case(**{**base, **other})


def put(plugin: Plugin, *cases: Case, now_s: float | None = None, limit_s: float = 120) -> Path:
    path = Path(plugin.module.path)
    advice_file.write_file(path, advice_file.format_content(cases, time.time() if now_s is None else now_s, limit_s))
    return path


def untouched(job: dict[str, Any]) -> bool:
    return not job.keys() & {"begin_time", "prefer", "exc_nodes", "admin_comment"}


def test_a_delay_moves_the_start_and_says_why(plugin: Plugin) -> None:
    put(plugin, case())
    job = plugin.submit()
    assert 595 <= job["begin_time"] - time.time() <= 601
    assert job["admin_comment"].startswith("[flitwatch delay since=") and "stall cycles" in job["admin_comment"]
    assert "stall cycles" in plugin.said()


HOSTILE = [
    "milc\nerror: slurmctld: forged",
    "%s%d%n%%",
    "milc\0x",
    "(" * 5000,
    "[" * 5000,
    "%f[%w]" * 500,
    "a" * 2_000_000,
    "$(reboot)`reboot`",
    "\x1b[2J",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
def test_hostile_names_and_comments_are_texts_and_nothing_more(plugin: Plugin, text: str) -> None:
    put(plugin, case(), *([case(application=text)] if len(text) < 1000 else []))
    for job in (
        {"name": text},
        {"comment": f"flitwatch_app={text}"},
        {"comment": text},
        {"user": text},
        {"partition": text},
    ):
        described = plugin.submit(**job)
        assert all(described[key] == value for key, value in job.items() if key != "user")
        assert described.get("admin_comment", "[flitwatch ").startswith("[flitwatch ")
    lines = plugin.said()
    assert "no advice" not in lines, "an error of its own"
    assert not any(ord(letter) < 32 or letter == "\x7f" for letter in lines) and len(lines) < 10_000


def test_deadlines_later_starts_and_the_users_no_are_kept(plugin: Plugin) -> None:
    put(plugin, case())
    now = time.time()
    assert untouched(plugin.submit(deadline=now + 650))
    assert "begin_time" in plugin.submit(deadline=now + 750)
    assert plugin.submit(begin_time=now + 5000)["begin_time"] == now + 5000
    assert untouched(plugin.submit(comment="acct=3 flitwatch=off"))


def test_the_case_of_the_user_and_size_is_chosen(plugin: Plugin) -> None:
    put(
        plugin,
        case(retry_s=100),
        case(user="bob", retry_s=200),
        case(nodes=64, retry_s=300),
        case(application="a b%\t\n", retry_s=400),
    )
    wait = {
        name: round(plugin.submit(**job).get("begin_time", 0) - time.time(), -2)
        for name, job in {
            "ann": {},
            "bob": {"user": "bob"},
            "wide": {"min_nodes": 100},
            "odd": {"name": "a b%\t\n"},
            "comment": {"name": "x", "comment": "flitwatch_app=milc"},
        }.items()
    }
    assert wait == {"ann": 100, "bob": 200, "wide": 300, "odd": 400, "comment": 100}
    assert (
        untouched(plugin.submit(name="hpl"))
        and untouched(plugin.submit(min_nodes=2))
        and untouched(plugin.submit(min_nodes=4294967294))
    )


def test_preferred_nodes_come_as_features_else_by_exclusion_where_the_site_wants_it(plugin: Plugin) -> None:
    put(plugin, case(action="prefer", features="fg0|fg1", avoid="nid[00003-00004]"))
    assert plugin.submit()["prefer"] == plugin.submit(partition="big")["prefer"] == "fg0|fg1"
    assert plugin.submit(prefer="gpu")["prefer"] == "gpu"
    # Slurm 22.05 refuses a job whose preferred nodes cannot serve it.
    for own in (
        {"features": "big"},
        {"req_nodes": "nid00003"},
        {"pn_min_memory": 4000},
        {"partition": "sm,all="},
        {"partition": "a,b"},
        {"min_nodes": 9},
    ):
        assert untouched(plugin.submit(**own))
    assert "prefer" in plugin.submit(pn_min_memory=18446744073709551614.0, partition="big")
    put(plugin, case(action="prefer", avoid="nid[00003-00004]"))
    assert untouched(plugin.submit())
    plugin.module.exclude = True
    assert plugin.submit()["exc_nodes"] == "nid[00003-00004]" and untouched(plugin.submit(req_nodes="nid00003"))


@pytest.mark.parametrize(
    "what",
    [
        "absent",
        "empty",
        "old",
        "future",
        "long",
        "folder",
        "pipe",
        "device",
        "torn",
        "flipped",
        "code",
        "link to device",
    ],
)
def test_whatever_stands_there_the_job_is_let_through_unchanged(plugin: Plugin, what: str) -> None:
    # Lua's clock advances with the kernel's tick: 121 s can still be 120 there.
    path = put(plugin, case(), now_s=time.time() + {"old": -122, "future": 3600}.get(what, 0))
    whole = path.read_bytes()
    if what not in ("old", "future"):
        path.unlink()
    made = {
        "empty": lambda: path.touch(),
        "long": lambda: path.write_bytes(whole + b"\n" * (1 << 20)),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "torn": lambda: path.write_bytes(whole[:-9]),
        "link to device": lambda: path.symlink_to("/dev/tty"),
        "flipped": lambda: path.write_bytes(whole.replace(b"\t600\t", b"\t900\t")),
        "code": lambda: path.write_text("os.execute('touch /tmp/x') error('x')"),
    }.get(what)
    if made:
        made()
    assert untouched(plugin.submit())
    assert "no advice" in plugin.said()


def test_an_error_inside_lets_the_job_through(plugin: Plugin) -> None:
    put(plugin, case())
    plugin.lua.execute("os.time = function() error('clock') end")
    assert untouched(plugin.submit()) and "clock" in plugin.said()


TEXT = st.text(max_size=40)


@settings(max_examples=60, deadline=None)
@given(TEXT.filter(bool), TEXT, TEXT, TEXT, TEXT, st.sampled_from(["start", "delay", "prefer"]))
def test_no_text_of_a_case_breaks_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    application: str,
    user: str,
    features: str,
    avoid: str,
    reason: str,
    action: str,
) -> None:
    plugin = Plugin(lupa.lua51, tmp_path_factory.mktemp("x") / "advice")
    put(
        plugin,
        case(
            application=application, user=user or ANYBODY, features=features, avoid=avoid, reason=reason, action=action
        ),
        case(application="last"),
    )
    assert "begin_time" in plugin.submit(name="last")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_bytes_make_it_fail_or_run_anything(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    plugin = Plugin(lupa.lua51, tmp_path_factory.mktemp("x") / "advice")
    whole = put(plugin, case(), case(action="prefer", features="a")).read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(at, len(whole)))
    broken = whole[:at] + data.draw(st.binary(max_size=60)) + whole[stop:]
    Path(plugin.module.path).write_bytes(broken)
    job = plugin.submit()
    assert untouched(job) or job["begin_time"] <= time.time() + 3600


def test_the_folder_must_be_the_agents_own(tmp_path: Path) -> None:
    advice_file.check_folder(tmp_path / "new")
    tmp_path.chmod(0o777)
    with pytest.raises(Forbidden):
        advice_file.check_folder(tmp_path)


def test_a_file_never_grows_past_what_is_read(plugin: Plugin) -> None:
    path = put(plugin, *(case(application=f"app{n}", reason="x" * 300) for n in range(5000)))
    assert path.stat().st_size <= 1 << 20
    assert "begin_time" in plugin.submit(name="app0")


def test_another_plugins_admin_comment_stays_and_a_full_one_means_no_advice(plugin: Plugin) -> None:
    """Slurm refuses a job whose admin comment has more than 1,024 bytes."""
    put(plugin, case())
    theirs = '{"xdmod": 1} \xff\xfe [x]'
    made = plugin.submit(admin_comment=theirs)["admin_comment"]
    assert made.startswith(theirs + " [flitwatch delay since=") and made.endswith("5.00 stall cycles per flit]")
    short = plugin.submit(admin_comment="x" * 980)["admin_comment"]
    assert short.startswith("x" * 980 + " [flitwatch delay since=") and len(short) <= 1024
    full = plugin.submit(admin_comment="x" * 1000)
    assert full["admin_comment"] == "x" * 1000 and not full.keys() & {"begin_time", "prefer", "exc_nodes"}
    assert "leaves no place" in plugin.said()


# Our mark alongside other tools' text in an admin comment: nothing of theirs is lost, whatever it holds.


JOB = {
    "job_id": 7, "job_state": ["PENDING"], "user_name": "u", "node_count": {"set": True, "number": 4}, "state_reason": "Resources",
    "deadline": 0, "name": "n", "partition": "batch", "comment": "", "excluded_nodes": "", "prefer": "",
}  # fmt: skip


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200), st.text(max_size=400))
def test_what_others_wrote_stays_through_every_change(theirs: str, why: str) -> None:
    first = merge_mark(theirs, "delay", 1_700_000_000, why)
    assert first is not None and first.startswith(theirs) and read_mark(first) == ("delay", 1_700_000_000)
    appended = first + "jobperf: cpu=98%"
    second = merge_mark(appended, "released", 1_700_000_100, why)
    assert second is not None and read_mark(second) == ("released", 1_700_000_100)
    assert second.startswith(theirs) and second.endswith("jobperf: cpu=98%")
    assert second.count("[flitwatch ") == theirs.count("[flitwatch ") + 1
    assert merge_mark(second, "released", 1_700_000_100, why) == second


def test_a_long_comment_loses_the_reason_first_and_then_the_advice() -> None:
    assert (
        merge_mark("x" * 980, "delay", 1_700_000_000, "why " * 50) == "x" * 980 + " [flitwatch delay since=1700000000]"
    )
    assert merge_mark("x" * MOST_BYTES, "delay", 1_700_000_000, "why") is None
    assert merge_mark("a\0b", "delay", 1, "why") is None


def test_an_older_versions_mark_is_read_and_stays() -> None:
    old = "flitwatch delay since=1700000000 5.00 stall cycles per flit"
    assert read_mark(old) == ("delay", 1_700_000_000)
    new = merge_mark(old, "released", 1_700_000_100, "advice changed")
    assert new == f"{old} [flitwatch released since=1700000100 advice changed]"
    assert read_mark(new) == ("released", 1_700_000_100)


@pytest.mark.parametrize("theirs", [b'{"xdmod":1}', b"caf\xe9 \xff\xfe", "µ≥".encode()])
def test_bytes_come_back_as_they_were(theirs: bytes) -> None:
    """Slurm 22.05 writes what is no UTF-8 as it is; `scontrol` gets the same bytes again."""
    output = json.dumps({"jobs": [{**JOB, "admin_comment": "HERE"}]}).encode()
    (job,) = read_pending(output.replace(b"HERE", theirs.replace(b'"', b'\\"')))
    made = merge_mark(job.admin_comment, "delay", 1_700_000_000, "why")
    assert (
        made is not None
        and made.encode(errors="surrogateescape") == theirs + b" [flitwatch delay since=1700000000 why]"
    )


# Pending jobs as `squeue --json` of several versions of Slurm tells them.


OLD: dict[str, Any] = {
    "job_id": 7,
    "job_state": "PENDING",
    "user_name": "u",
    "node_count": 4,
    "state_reason": "Resources",
    "deadline": 0,
    "name": "n",
    "partition": "batch",
    "admin_comment": "flitwatch delay since=1700000000",
    "comment": "x flitwatch_app=milc,flitwatch=off",
    "excluded_nodes": "",
    "prefer": "",
}

NEW = OLD | {
    "job_state": ["PENDING", "REQUEUED"],
    "node_count": {"set": True, "infinite": False, "number": 4},
    "comment": {"job": "flitwatch_app=amg"},
    "deadline": {"set": False, "infinite": False, "number": 0},
    "admin_comment": "",
}


def test_old_and_new_forms_tell_the_same_things() -> None:
    ended = OLD | {"job_id": 8, "job_state": "COMPLETED"}
    old, new = read_pending(json.dumps({"jobs": [OLD, ended, NEW]}))
    assert (old.job_id, old.nodes, old.deadline_s, old.mark, old.since_s) == ("7", 4, None, "delay", 1_700_000_000)
    assert (old.application, old.off, new.application, new.off, new.mark) == ("milc", True, "amg", False, None)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "error: none",
        "[]",
        "{}",
        '{"jobs": 3}',
        '{"jobs": [3]}',
        json.dumps({"jobs": [{"job_state": "PENDING"}]}),
        json.dumps({"jobs": [OLD | {"node_count": "many"}]}),
    ],
)
def test_what_is_no_list_of_jobs_says_what_it_needs(output: str) -> None:
    with pytest.raises(Unavailable, match=r"Slurm 21\.08"):
        read_pending(output)


def test_arrays_and_begin_times_are_read_in_both_forms() -> None:
    old = OLD | {"array_job_id": 50, "eligible_time": 1_700_000_000}
    unset = {"set": False, "infinite": False, "number": 0}
    new = NEW | {
        "array_job_id": unset | {"set": True},
        "het_job_id": unset,
        "eligible_time": {"set": True, "number": 5},
    }
    part = OLD | {"het_job_id": 12}
    found = read_pending(json.dumps({"jobs": [old, new, part]}))
    assert [(job.of_several, job.eligible_s) for job in found] == [(True, 1_700_000_000), (False, 5), (True, 0)]


def test_a_mark_that_is_no_time_is_none() -> None:
    (job,) = read_pending(json.dumps({"jobs": [OLD | {"admin_comment": f"flitwatch delay since={'1' * 5000}"}]}))
    assert job.mark is None and job.since_s == 0
