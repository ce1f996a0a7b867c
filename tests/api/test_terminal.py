"""Commands that query the API: their output equals REST's, refusals contain advice, and a token is sent only to its own platform."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from api.conftest import Served, bearer, serving
from api.database import SampleDatabase
from api.estimates import estimated  # noqa: F401
from flitwatch.main import main
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people


@pytest.fixture(autouse=True)
def no_settings_of_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Profiles are those of the test; nothing runs at home."""
    for name in ("FLITWATCH_URL", "FLITWATCH_TOKEN_FILE", "FLITWATCH_PROFILE", "FLITWATCH_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path / "home"))
    (tmp_path / "flitwatch").mkdir()
    return tmp_path / "flitwatch" / "config.toml"


def printed(capfd, *words: str) -> str:
    main(list(words))
    return capfd.readouterr().out


def answered(capfd, *words: str) -> dict:
    return json.loads(printed(capfd, *words, "--json"))


def failed(capfd, *words: str, code: int = 1) -> str:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    said = capfd.readouterr()
    assert left.value.code == code and said.out == "" and said.err.count("\n") == 1, said
    return said.err


# --- top ---------------------------------------------------------------------------------------------------------------


def test_top_lists_what_rest_says(api: Served, database: SampleDatabase, capfd) -> None:
    found = answered(capfd, "top", "--url", api.url, "--fabric", "small", "--most", "3")
    stalls = api.get("/fabrics/small/stalls")
    assert (found["at"], found["window_s"], found["simulated"]) == (stalls["at"], stalls["window_s"], True)
    # The incident is what home says at the window's end.
    assert found["incident"] == api.get("/incident", fabric="small", at=stalls["at"])["title"]
    links = api.get("/fabrics/small/links/hot", at=stalls["at"], limit=3)
    assert found["links"] == links["items"] and found["links_counted"] == links["links_counted"]
    routers = stalls["routers"]
    by_router = {
        router: (routers["flits"][at], routers["stall_cycles"][at]) for at, router in enumerate(routers["router"])
    }
    group_of = api.get("/fabrics/small/routers")["group"]
    sums = {}
    for group in set(group_of):
        counted = [by_router[r] for r, g in enumerate(group_of) if g == group and None not in by_router.get(r, (None,))]
        sums[group] = (sum(one[1] for one in counted) / sum(one[0] for one in counted), len(counted))
    assert len(found["groups"]) == 3
    assert {one["group"]: (one["ratio"], one["counted"]) for one in found["groups"]} == {
        group: sums[group] for group in sorted(sums, key=lambda group: -sums[group][0])[:3]
    }
    # Routers 30 and 31 were never sampled: known to be missing, not zero.
    whole = answered(capfd, "top", "--url", api.url, "--fabric", "small")
    assert {one["group"]: (one["counted"], one["routers"]) for one in whole["groups"]}[3] == (6, 8)
    (job,) = whole["jobs"]
    (holder,) = api.get("/fabrics/small/occupancy", at=stalls["at"])["jobs"]
    flits, cycles = (sum(by_router[router][part] for router in holder["routers"]) for part in (0, 1))
    assert (job["job_id"], job["user"], job["ratio"]) == ("101", holder["user"], cycles / flits)
    for group in whole["groups"]:
        assert all(value is None or value > 0 for value in group["past_ratio"]) and any(group["past_ratio"])
        # Only some minutes of the quarter of an hour were counted.
        assert None in group["past_ratio"]


def test_top_in_a_pipe_is_plain_and_says_cannot_tell_with_its_reason(api: Served, capfd) -> None:
    text = printed(capfd, "top", "--url", api.url, "--fabric", "small")
    hot = api.get("/fabrics/small/links/hot", limit=1)["items"][0]
    assert text.startswith("small (simulated), 60 s to ") and "\x1b" not in text and "│" not in text
    (line,) = [line for line in text.splitlines() if line.startswith(f"{hot['src_name']} > {hot['dst_name']} ")]
    assert f" {hot['ratio']:.3g} " in line and line.endswith(f"cannot tell: {hot['cannot_tell']}")


def test_top_orders_by_what_is_asked_and_takes_machines_by_name(api: Served, capfd) -> None:
    found = answered(capfd, "top", "--url", api.url, "--fabric", "small", "--sort", "flits")
    flits = [one["flits"] for one in found["groups"]]
    assert flits == sorted(flits, reverse=True)
    assert "It has small, still, tree" in failed(capfd, "top", "--url", api.url, "--fabric", "nowhere")
    still = answered(capfd, "top", "--url", api.url, "--fabric", "still")
    assert still["at"] is None and still["jobs"] == [] and still["links"][0]["cannot_tell"]
    assert "no time: totals of one sample" in printed(capfd, "top", "--url", api.url, "--fabric", "still")
    infiniband = printed(capfd, "top", "--url", api.url, "--fabric", "tree")
    assert "by stalls per word" in infiniband and "word times stalled" in infiniband and "flit" not in infiniband


def screen(master: int, wanted: str, timeout_s: float = 180) -> str:
    """What the terminal showed until it shows `wanted`, a regular expression."""
    seen, end = "", time.monotonic() + timeout_s
    # A read may end within a frame, and within a letter.
    letters = codecs.getincrementaldecoder("utf-8")("replace")
    while not re.search(wanted, seen, re.DOTALL):
        assert time.monotonic() < end, f"{wanted!r} was not shown:\n{seen[-3000:]}"
        if select.select([master], [], [], 0.5)[0]:
            seen += letters.decode(os.read(master, 65536))
    return seen


@pytest.mark.system("processes")
def test_top_on_a_terminal_takes_keys_says_when_it_is_old_and_leaves_the_terminal_as_it_was(
    database: SampleDatabase,
) -> None:
    import termios

    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "150", "LINES": "60"}
    words = ["top", "--fabric", "small", "--every", "1", "--url"]
    with contextlib.ExitStack() as until_now:
        served = until_now.enter_context(serving(Settings(db=database.url, web=None)))
        command = [sys.executable, "-m", "flitwatch.main", *words, served.url]
        with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
            try:
                screen(master, "by stalls per flit.*q quit.*[▁▂▃▄▅▆▇█]")
                os.write(master, b"s")
                screen(master, "by stall cycles")
                os.write(master, b"m")
                screen(master, r"still \(simulated\), no time")
                until_now.close()
                # The last figures stay, and say that they are old.
                screen(master, "NOT CURRENT: .*does not answer.*Groups")
                os.write(master, b"q")
                # The end of the other screen; a terminal that is not read would keep the program waiting.
                screen(master, r"\x1b\[\?1049l")
                assert process.wait(30) == 0
            finally:
                process.kill()
    assert termios.tcgetattr(slave) == before
    os.close(master), os.close(slave)


def test_a_jobs_name_does_not_steer_the_terminal() -> None:
    from flitwatch.tables import build_table, format_plain, text_or_unknown

    hostile = "a\x1b]0;owned\x07\x1b[2J\nb [red]c"
    rows = [[text_or_unknown(hostile)]]
    assert format_plain("t", ["name"], rows, ["name"])[2] == "a�]0;owned��[2J�b [red]c"
    assert "[red]" in str(next(iter(build_table("t", ["name"], rows, ["name"]).columns[0].cells)))


# --- estimates ------------------------------------------------------------------------------------------------------------


@pytest.mark.system("processes")
def test_blame_of_an_application_is_rests(estimated, capfd) -> None:  # noqa: F811
    api, _ = estimated
    words = ("blame", "--application", "amg", "--url", api.url)
    rest = api.get("/estimates/blame", exe="amg", limit=20)
    assert answered(capfd, *words) == rest
    assert answered(capfd, *words, "--by", "application") == api.get(
        "/estimates/blame", exe="amg", by="application", limit=20
    )
    text = printed(capfd, *words)
    assert (
        f"{rest['found']} named, {rest['cannot_tell']} cannot tell, 3 in all" in text
        and "amg on 128 nodes (simulated)" in text
    )
    lines = text.splitlines()
    for one in rest["entries"]:
        (row,) = [line for line in lines if re.match(rf"{one['name']} +{one['verdict']} ", line)]
        assert "+30 s" in row if one["effect_s"] else "–" in row
        (why,) = [line for line in lines if line.startswith(f"{one['name']}, {one['verdict']}: ")]
        assert why.endswith("; ".join(one["reasons"]))
    assert lines[-1] == rest["caveat"]
    assert "extra time of an exposed run (95 %)" in text and "in all exposed runs (95 %)" in text
    assert {one["verdict"] for one in rest["entries"]} == {"named", "cannot tell"}


def test_forecasts_and_drivers_of_an_application_are_rests(estimated, capfd) -> None:  # noqa: F811
    api, _ = estimated
    made = answered(capfd, "forecast", "--application", "amg", "--nodes", "128", "--url", api.url)
    (running,) = api.get("/forecasts")["items"]
    (shown,) = made.pop("running")
    # The one figure that moves between two requests.
    assert shown | {"elapsed_s": None} == running | {"elapsed_s": None}
    assert made == api.get("/estimates/forecast", exe="amg")
    text = printed(capfd, "forecast", "--application", "amg", "--url", api.url)
    assert "job 77, step 3: the next 3 steps take 50 s (90 %: 45 to 56 s), usually 42 s" in text and "ridge" in text
    (row,) = [line for line in text.splitlines() if line.startswith("RT_RB_STL")]
    assert row.split()[-1] == "carries" and "1 to 3" in row
    assert "the oldest step first: 40%, 60%" in text
    carried = answered(capfd, "drivers", "--application", "amg", "--url", api.url, "--inputs", "deltas")
    assert carried == api.get("/estimates/deviation", inputs="deltas")
    shown = printed(capfd, "drivers", "--application", "amg", "--url", api.url)
    first = next(line for line in shown.splitlines() if line.startswith("RT_"))
    assert first.split()[:2] == ["RT_RB_STL", "0.9"]


def test_without_an_estimate_they_cannot_tell_and_an_unknown_application_names_the_known(api: Served, capfd) -> None:
    for command in ("blame", "forecast", "drivers"):
        found = answered(capfd, command, "--application", "amg", "--nodes", "3", "--url", api.url)
        assert found["verdict"] == "cannot tell" and found["reasons"] == [
            "3 nodes, 4 runs: not estimated yet; a worker computes it (flitwatch worker)"
        ]
        text = printed(capfd, command, "--application", "amg", "--nodes", "3", "--url", api.url)
        assert text.startswith("amg: cannot tell\n") and "named" not in text
        assert (
            "It knows" in (said := failed(capfd, command, "--application", "vasp", "--url", api.url))
            and "amg (3 nodes)" in said
        )


@pytest.mark.parametrize(
    "words",
    [
        ("blame", "--application", "a", "--runs", "x.csv"),
        ("forecast", "--application", "a", "--job", "1"),
        ("blame",),
        ("forecast",),
    ],
)
def test_two_ways_of_one_command_are_not_mixed(capfd, words) -> None:
    assert "give one of --application NAME" in failed(capfd, *words, code=2)


def test_a_backtest_says_that_it_needs_both_lengths(capfd) -> None:
    assert "needs --m and --k" in failed(capfd, "backtest", "--steps", "x.csv", "--m", "3", code=2)


# --- open -----------------------------------------------------------------------------------------------------------------


def test_open_prints_the_page_of_a_job_that_is_known(api: Served, capfd, monkeypatch, tmp_path) -> None:
    assert printed(capfd, "open", "105_7", "--url", api.url + "/") == f"{api.url}/jobs/105_7\n"
    assert "999999" in failed(capfd, "open", "999999", "--url", api.url)
    # The platform that runs here writes its address with a slash at the end.
    with monkeypatch.context() as here:
        here.setattr("flitwatch_ops.supervisor.read_running_state", lambda _: {"url": f"{api.url}/"})
        assert printed(capfd, "open", "101") == f"{api.url}/jobs/101\n"
    assert printed(capfd, "open", "100", "--cluster", "c2", "--url", api.url) == f"{api.url}/jobs/100?cluster=c2\n"
    assert "of cluster 'c9'" in failed(capfd, "open", "100", "--cluster", "c9", "--url", api.url)
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    subprocess.run(
        [sys.executable, "-m", "flitwatch.main", "open", "101", "--browser", "--url", api.url],
        check=True,
        capture_output=True,
        env={**os.environ, "BROWSER": str(browser)},
    )
    assert opened.read_text() == f"{api.url}/jobs/101\n"


# --- which platform, with which token -------------------------------------------------------------------------------------


def test_a_profile_has_the_address_and_an_option_and_the_environment_win(
    api: Served, no_settings_of_this_user: Path, monkeypatch, capfd
) -> None:
    no_settings_of_this_user.write_text(
        f'[profile.default]\nurl = "http://127.0.0.1:9"\n[profile.here]\nurl = "{api.url}"\n'
    )
    assert "http://127.0.0.1:9 does not answer" in failed(capfd, "open", "101")
    assert printed(capfd, "open", "101", "--profile", "here") == f"{api.url}/jobs/101\n"
    assert printed(capfd, "open", "101", "--url", api.url) == f"{api.url}/jobs/101\n"
    monkeypatch.setenv("FLITWATCH_URL", api.url)
    assert printed(capfd, "open", "101") == f"{api.url}/jobs/101\n"
    assert "does not answer" in failed(capfd, "open", "101", "--profile", "default")
    assert "not both" in failed(capfd, "open", "101", "--profile", "here", "--url", api.url, code=2)
    monkeypatch.delenv("FLITWATCH_URL")
    monkeypatch.setenv("FLITWATCH_PROFILE", "here")
    assert printed(capfd, "open", "101") == f"{api.url}/jobs/101\n"


def test_commands_that_read_a_database_ask_the_usual_profile_unless_one_is_named(
    api: Served, database: SampleDatabase, no_settings_of_this_user: Path, capfd
) -> None:
    no_settings_of_this_user.write_text('[profile.default]\nurl = "http://127.0.0.1:9"\n')
    assert "does not answer" in failed(capfd, "job", "101")
    assert printed(capfd, "job", "101", "--db", database.url) == printed(capfd, "job", "101", "--url", api.url)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[profile.x]\nurl = 1", "has no url"),
        ('[profile.x]\nurl = "u"\ntoken_fil = "t"', "Is it token_file?"),
        ("profile = ", "config.toml"),
        ('url = "u"', "[profile.NAME]"),
        ('[profile.other]\nurl = "http://u"', "has no profile x. It has other."),
        ('[profile.x]\nurl = "flitwatch.example"', "Write it like https://"),
    ],
)
def test_a_slip_in_the_users_file_is_one_line(no_settings_of_this_user: Path, capfd, text: str, words: str) -> None:
    no_settings_of_this_user.write_text(text)
    assert words in failed(capfd, "open", "101", "--profile", "x")


def test_without_any_platform_the_line_says_how_to_name_one(no_settings_of_this_user: Path, capfd) -> None:
    said = failed(capfd, "top")
    assert (
        "--url" in said and "FLITWATCH_URL" in said and str(no_settings_of_this_user) in said and "flitwatch up" in said
    )


def test_a_profiles_token_goes_to_its_own_address_alone(no_settings_of_this_user: Path, capfd) -> None:
    """Two servers that note what they are sent."""
    heard: dict[int, list[str | None]] = {}

    class Noting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.setdefault(self.server.server_port, []).append(self.headers["Authorization"])  # type: ignore[attr-defined]
            self.send_response(404)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Noting) for _ in range(2)]
    for one in servers:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    own, other = (one.server_port for one in servers)
    (no_settings_of_this_user.parent / "token").write_text("fwt_secret\n")
    (no_settings_of_this_user.parent / "token").chmod(0o600)
    no_settings_of_this_user.write_text(f'[profile.default]\nurl = "http://127.0.0.1:{own}"\ntoken_file = "token"\n')
    failed(capfd, "open", "1")
    failed(capfd, "open", "1", "--url", f"http://127.0.0.1:{other}")
    assert heard == {own: ["Bearer fwt_secret"], other: [None]}
    for one in servers:
        one.shutdown(), one.server_close()


# --- refusals -------------------------------------------------------------------------------------------------------------


def test_a_refusal_says_what_the_user_of_a_terminal_does(database: SampleDatabase, capfd, tmp_path) -> None:
    with connect(database.url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "terry", "user")
        secret = people.add_token(conn, "terry", "terminal", ["read"])[1]
        narrow = people.add_token(conn, "terry", "narrow", ["advice"])[1]
    token, wrong, few, empty = (tmp_path / name for name in ("token", "wrong", "few", "empty"))
    token.write_text(secret + "\n")
    wrong.write_text("fwt_wrong")
    few.write_text(narrow)
    empty.write_text("\n")
    for file in (token, wrong, few, empty):
        file.chmod(0o600)
    with serving(Settings(db=database.url, web=None, api_anonymous="none")) as closed:
        assert closed.http.get("/api/v1/fabrics", headers=bearer(secret)).status_code == 200
        said = failed(capfd, "top", "--url", closed.url)
        assert f"{closed.url} answers 401" in said and "--token-file FILE" in said and "flitwatch tokens create" in said
        assert "answers 401" in failed(capfd, "top", "--url", closed.url, "--token-file", str(wrong))
        assert (
            "answers 403" in (said := failed(capfd, "top", "--url", closed.url, "--token-file", str(few)))
            and "scope" in said
        )
        assert "contains no token" in failed(capfd, "top", "--url", closed.url, "--token-file", str(empty))
        assert printed(capfd, "open", "101", "--url", closed.url, "--token-file", str(token)).endswith("/jobs/101\n")
        assert secret not in failed(capfd, "open", "gone", "--url", closed.url, "--token-file", str(token))
        token.chmod(0o644)
        assert f"chmod 600 {token}" in failed(capfd, "open", "101", "--url", closed.url, "--token-file", str(token))


@pytest.mark.system("processes")
def test_a_user_of_a_login_node_lists_alerts_and_handles_own_tokens(database: SampleDatabase, capfd, tmp_path) -> None:
    with connect(database.url, role="gate") as conn:
        people.add_account(conn, "lin", "user", "a long enough password")
        number, secret, _ = people.add_token(conn, "lin", "laptop", ["read"])
    (tmp_path / "token").write_text(secret)
    (tmp_path / "token").chmod(0o600)
    with serving(Settings(db=database.url, web=None, api_anonymous="none")) as closed:
        there = ("--url", closed.url, "--token-file", str(tmp_path / "token"))
        assert answered(capfd, "alerts", "list", *there) == {"firing": []}
        (own,) = answered(capfd, "tokens", "list", *there)["items"]
        assert (own["token_id"], own["account"], own["scopes"]) == (number, "lin", ["read"])
        assert "laptop" in printed(capfd, "tokens", "list", *there)
        assert "answers 403" in failed(capfd, "tokens", "create", "ada", *there)
        assert answered(capfd, "tokens", "revoke", str(number), *there) == {"token_id": number, "revoked": True}
        assert "answers 401" in failed(capfd, "alerts", "list", *there)


@pytest.mark.system("processes")
def test_an_admin_handles_accounts_from_another_machine(
    database: SampleDatabase, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(database.url, role="gate") as conn:
        for name, role in (("root", "admin"), ("una", "user")):
            people.add_account(conn, name, role, "a long enough password")
            scopes = ["admin", "read"] if role == "admin" else ["read"]
            (tmp_path / name).write_text(people.add_token(conn, name, "elsewhere", scopes)[1])
            (tmp_path / name).chmod(0o600)
    with serving(Settings(db=database.url, web=None, api_anonymous="none")) as closed:
        there = ("--url", closed.url, "--token-file", str(tmp_path / "root"))
        monkeypatch.setattr("sys.stdin", io.StringIO("another long password\nyet another password\n"))
        (empty := tmp_path / "empty").touch(0o600)
        # Without a token it asks for no password: both lines remain.
        without_token = ("una", "--url", closed.url, "--token-file", str(empty))
        for command in ("add", "passwd"):
            assert "contains no token" in failed(capfd, "users", command, *without_token)
        assert answered(capfd, "users", "add", "vic", *there) == {"name": "vic", "role": "user"}
        assert answered(capfd, "users", "passwd", "vic", *there) == {"name": "vic"}
        assert answered(capfd, "users", "role", "vic", "operator", *there)["role"] == "operator"
        assert answered(capfd, "users", "disable", "vic", *there) == {"name": "vic", "disabled": True}
        (vic,) = [row for row in answered(capfd, "users", "list", *there)["items"] if row["name"] == "vic"]
        assert (vic["role"], vic["disabled"]) == ("operator", True)
        assert "disabled" in printed(capfd, "users", "list", *there)
        own = ("--url", closed.url, "--token-file", str(tmp_path / "una"))
        assert "answers 403" in failed(capfd, "users", "role", "una", "admin", *own)


def test_too_many_requests_and_a_server_that_is_down_or_another_one(
    database: SampleDatabase, site: Path, capfd
) -> None:
    with serving(Settings(db=database.url, web=site, api_rate_per_s=0.01, api_rate_burst=1)) as slow:
        for _ in range(3):
            said = failed(capfd, "top", "--url", slow.url)
        assert "answers 429" in said and "Wait and try again" in said
        assert "a web page" in failed(capfd, "top", "--url", slow.url + "/elsewhere")
    said = failed(capfd, "top", "--url", "http://127.0.0.1:9")
    assert "does not answer" in said and "Check that it is running" in said


# --- completion -----------------------------------------------------------------------------------------------------------


def test_bash_completes_commands_options_and_values() -> None:
    script = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout

    def completed(*words: str) -> list[str]:
        ask = f'COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _flitwatch_completion flitwatch; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{ask}"],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
        return done.stdout.split()

    assert completed("flitwatch", "bla") == ["blame", "blamed"]
    assert "--fabric" in completed("flitwatch", "top", "--fab")
    assert completed("flitwatch", "top", "--sort", "f") == ["flits"]
    assert "sacct" in completed("flitwatch", "import", "sa")


@pytest.mark.parametrize(
    ("shell", "words"), [("zsh", "#compdef flitwatch"), ("fish", "complete --no-files --command flitwatch")]
)
def test_the_other_shells_have_their_scripts(shell: str, words: str, capfd) -> None:
    assert words in printed(capfd, "completion", shell)
