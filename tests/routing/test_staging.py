"""Several LIDs per endpoint: the gain of the second one, routes of all of them, and dumps that contain all of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from noise_core import flow_ibsim
from routing import opensm
from routing.exact_bounds import TREES, demands, exact
from routing.lft_dumps import dumped, numbered, without

from flitwatch.main import main
from flitwatch_domain.errors import BadInput, BadRequest, Conflict, Forbidden, TooCostly
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_routing import lft, tree
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import compute_bounds
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.service_levels import format_policy, levels_of
from flitwatch_routing.staging import Change, OpensmFolder
from flitwatch_routing.switch_lids import find_unreached
from flitwatch_routing.tree import as_tree

TREE = "xgft:2;4,4;1,4"


@pytest.mark.parametrize(("lmc", "z"), [(0, 8), (1, 4), (2, 2), (3, 2)])
@pytest.mark.parametrize("levels", [(2, [4, 4], [1, 4]), (3, [3, 4, 2], [1, 4, 4])])
def test_one_big_flow_is_halved_by_every_bit_until_all_ways_are_in_use(levels: tuple, lmc: int, z: float) -> None:
    fabric = build_xgft(*levels)
    last = len(fabric.endpoints) - 1
    found = optimise_routes(fabric, (np.array([0]), np.array([last]), np.array([8.0])), time_limit_s=0.5, lmc=lmc)
    assert found.ports.shape == (len(fabric.routers), len(fabric.endpoints) * 2**lmc)
    assert (found.z, found.fixed_bound, found.proven) == (pytest.approx(z), pytest.approx(z), True)
    assert found.z_ar == pytest.approx(2)


@pytest.mark.parametrize("levels", TREES)
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_with_two_lids_holds_and_the_optimum_is_never_worse(levels: tuple, seed: int) -> None:
    """The oracle sees a tree with twice the endpoints, each the half of one of ours."""
    rng = np.random.default_rng(seed)
    fabric = build_xgft(*levels)
    heights, arity, parents = levels
    doubled = build_xgft(heights, [2 * arity[0], *arity[1:]], parents)
    n = len(fabric.endpoints)
    src, dst, size = rng.integers(0, n, 6), rng.integers(0, n, 6), rng.choice([1.0, 2.0, 3.5], 6)
    halves = np.repeat(2 * src, 2), (2 * dst[:, None] + [0, 1]).reshape(-1), np.repeat(size / 2, 2)
    assert (doubled.endpoints.router[halves[1]] == np.repeat(fabric.endpoints.router[dst], 2)).all()
    items = demands(fabric, src, dst, size)
    if not items:
        return
    one, two = (
        exact(fabric, items, one_port=True),
        exact(doubled, demands(doubled, *halves), one_port=True),
    )
    assert one is not None and two is not None and two <= one * (1 + 1e-6)
    found = optimise_routes(fabric, (src, dst, size), time_limit_s=0.3, seed=seed, lmc=1)
    assert found.fixed_bound <= two * (1 + 1e-6) and found.z >= two * (1 - 1e-6)
    assert found.z <= one * (1 + 1e-6)
    assert found.z_ar == pytest.approx(compute_bounds(fabric, (src, dst, size)).z_ar, rel=1e-6)


@pytest.mark.parametrize("cables", [0, 3])
def test_loads_are_those_of_the_tables_and_bytes_arrive(cables: int) -> None:
    fabric = without(build_xgft(3, [4, 3, 3], [1, 3, 2]), cables, seed=2)
    src, dst, size = load_traffic("noisy-shuffle", len(fabric.endpoints), seed=2)
    found = optimise_routes(fabric, (src, dst, size), time_limit_s=0.5, lmc=2)
    checked = check_routes(fabric, found.ports, (src, dst, size), lmc=found.lmc)
    assert checked.valid and found.z == checked.load[fabric.router_links()].max()
    assert found.z_ar * (1 - 1e-6) <= found.fixed_bound <= found.z
    into = np.bincount(fabric.links.dst, checked.load)[len(fabric.routers) :]
    assert np.allclose(into, np.bincount(dst, size, minlength=len(into)))


def test_holes_and_loops_at_the_second_lid_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric, file = build_xgft(2, [4, 4], [1, 4]), tmp_path / "r.lfts"
    ports = optimise_routes(fabric, load_traffic("bisection", 16, 1), time_limit_s=0.2, lmc=1).ports
    holed, looped = ports.copy(), ports.copy()
    holed[0, 2 * 15 + 1] = -1
    looped[4:, 2 * 15 + 1] = looped[4:, 0]  # every spine sends them to the first leaf
    for tables, kind, words in (
        (holed, "holes", "leaf0 has no entry for endpoint 15 (n15) at its LID + 1"),
        (looped, "loops", "on the path to endpoint 15 (n15) at its LID + 1"),
    ):
        lft.write_dump(file, fabric, tables, lmc=1)
        with pytest.raises(SystemExit) as left:
            main(["routes", "check", str(file), "--topology", TREE, "--lmc", "1", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert left.value.code == 1 and found["valid"] is False and found[kind] > 0
        assert words in found["where"][0]
        assert check_routes(fabric, lft.read_ports(file, fabric)).valid  # the lowest LIDs alone


def test_a_dump_keeps_every_lid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, fabric = tmp_path / "r.lfts", build_xgft(2, [4, 4], [1, 4])
    flow = tmp_path / "t.csv"
    flow.write_text("src,dst,bytes\n0,15,8\n")
    common = ["--topology", TREE, "--traffic", str(flow), "--lmc", "2", "--json"]
    main(["routes", "optimise", *common, "--time-limit", "1", "--out", str(file)])
    assert json.loads(capsys.readouterr().out)["z"] == 2
    main(["routes", "check", str(file), *common])
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] and found["max_load"] == 2 and found["ar_gap"] == pytest.approx(0)
    ports = lft.read_ports(file, fabric, lmc=2)
    assert len(set(ports[0, 60:])) == 4  # a way each
    lids = [int(line[:6], 16) for line in file.read_text().splitlines() if "Channel Adapter" in line]
    assert min(lids) == 12 and len(set(lids)) == 64  # 8 switches; the next multiple of 4
    bare = tmp_path / "bare.lfts"
    bare.write_text(
        "\n".join(
            line.split("#")[0].rstrip() if line.startswith("0x") else line for line in lft.format_dump(fabric, ports, 2)
        )
    )
    assert (lft.read_ports(bare, numbered(fabric, 12, lmc=2), lmc=2) == ports).all()


@pytest.mark.parametrize(("made", "asked"), [(0, 1), (2, 1), (1, 2)])
def test_a_dump_of_another_lmc_is_refused(tmp_path: Path, made: int, asked: int) -> None:
    fabric, file = build_xgft(2, [4, 4], [1, 4]), tmp_path / "r.lfts"
    dumped(file, fabric, ftree_tables(fabric))
    if made:
        lft.write_dump(file, fabric, np.repeat(ftree_tables(fabric), 2**made, axis=1), made)
    with pytest.raises(BadInput, match=rf"r\.lfts: with LMC {asked}, an endpoint has {2**asked} LIDs"):
        lft.read_ports(file, fabric, asked)


def test_more_lids_or_entries_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fabric, flow = build_xgft(2, [4, 4], [1, 4]), load_traffic("bisection", 16, 1)
    for lmc in (-1, 8):
        with pytest.raises(BadRequest, match="InfiniBand has 0 to 7"):
            optimise_routes(fabric, flow, time_limit_s=0.1, lmc=lmc)
    with pytest.raises(BadInput, match=r"208 switches and 3,072 endpoints of 16 LIDs need more than the 49,151 LIDs"):
        as_tree(build_quartz1(), lmc=4)
    with pytest.raises(BadInput, match="tables for 8 switches and 16 LIDs; the fabric has 8 and 16 of 2 LIDs"):
        check_routes(fabric, ftree_tables(fabric), lmc=1)
    monkeypatch.setattr(tree, "MOST_ENTRIES", 200)
    as_tree(fabric)
    with pytest.raises(TooCostly, match="for 16 endpoints of 2 LIDs have more than 200 entries"):
        optimise_routes(fabric, flow, time_limit_s=0.1, lmc=1)


# A real OpenSM under ibsim loads our tables and dumps them back, entry by entry; also where its own ftree refuses.


@pytest.mark.system("schedulers")
@pytest.mark.integration
def test_a_small_tree_with_a_failed_cable(tmp_path: Path) -> None:
    flow_ibsim.require()
    fabric = without(build_xgft(2, [12, 12], [1, 6]), 2, seed=1)
    ports = optimise_routes(fabric, load_traffic("bisection-shuffle", 144, 1), time_limit_s=0.3).ports
    assert (opensm.loaded(fabric, ports, tmp_path) == ports).all()


@pytest.mark.system("schedulers")
@pytest.mark.integration
@pytest.mark.parametrize("tree", [(2, [4, 4], [1, 4]), (3, [4, 3, 2], [1, 3, 2])])
def test_every_lid_of_an_endpoint_has_its_own_way(tmp_path: Path, tree: tuple) -> None:
    """OpenSM gives LIDs of its own; an entry keeps its place among those of its endpoint."""
    flow_ibsim.require()
    fabric = build_xgft(*tree)
    found = optimise_routes(
        fabric, load_traffic("bisection-shuffle", len(fabric.endpoints), 2), time_limit_s=0.3, lmc=1
    )
    assert (found.ports[:, 0::2] != found.ports[:, 1::2]).any()
    assert (opensm.loaded(fabric, found.ports, tmp_path, lmc=1) == found.ports).all()
    lowest = lft.read_ports(tmp_path / "opensm-lfts.dump", fabric)
    assert (lowest == found.ports[:, 0::2]).all()


@pytest.mark.system("schedulers")
@pytest.mark.integration
@pytest.mark.parametrize(("tree", "failed"), [((2, [4, 4], [1, 2], [1, 2]), 0), ((3, [3, 3, 2], [1, 3, 2]), 1)])
def test_every_switch_answers_at_its_lid(tmp_path: Path, tree: tuple, failed: int) -> None:
    """Queries by LID travel by the tables that we wrote; OpenSM gives what a file leaves out no path."""
    flow_ibsim.require()
    fabric = without(build_xgft(*tree), failed, seed=2)
    ports = optimise_routes(fabric, load_traffic("bisection-shuffle", len(fabric.endpoints), 1), time_limit_s=0.3).ports
    guids = lft.list_guids(fabric)[0]
    answers: dict[int, str] = {}

    def ask(run: Callable[..., str]) -> None:
        dump = (tmp_path / "opensm-lfts.dump").read_text()
        lids = {
            int(guid, 16): lid
            for lid, guid in re.findall(r"^(0x\w+) \d+ .*Switch portguid (0x\w+)", dump, re.MULTILINE)
        }
        for guid in guids:
            answers[guid] = run("smpquery", "nodeinfo", str(int(lids[guid], 16)))

    theirs = opensm.loaded(fabric, ports, tmp_path, then=ask)
    assert (theirs == ports).all()
    for guid in guids:
        assert f"0x{guid:016x}" in answers[guid]
    dumped = lft.read_dump(tmp_path / "opensm-lfts.dump", fabric)
    assert dumped.switch_ports is not None and len(find_unreached(fabric, dumped.switch_ports)) == 0


@pytest.mark.system("schedulers")
@pytest.mark.integration
def test_quartz1(tmp_path: Path) -> None:
    flow_ibsim.require()
    fabric = build_quartz1()
    found = optimise_routes(fabric, load_traffic("bisection-shuffle", 3072, 5), time_limit_s=2)
    assert check_routes(fabric, found.ports).valid
    theirs = opensm.loaded(fabric, found.ports, tmp_path)
    differing = int((theirs != found.ports).sum())
    assert differing == 0, f"{differing} of {found.ports.size} entries differ"


# Staging for OpenSM: byte for byte back, and after a crash at any step the old configuration or the new one, never half of a change.


OLD = b"# the site's own\r\nrouting_engine minhop\n\nlfts_file (null)\nlmc 0\nlog_flags 0x43".replace(b"\r", b"")

TABLES = b"Unicast lids [0-9] of switch Lid 1 guid 0x1 ('s'):\n"

CHANGE = Change(TABLES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "opensm"
    found.mkdir()
    (found / "opensm.conf").write_bytes(OLD)
    (found / "opensm.conf").chmod(0o640)
    (found / "opensm-lfts.dump").write_text("")
    return found


def conf(folder: Path) -> bytes | None:
    at = folder / "opensm.conf"
    return at.read_bytes() if at.exists() else None


def test_there_and_back(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    plan = opensm.plan(7, CHANGE)
    assert plan.removed == ("routing_engine minhop", "lfts_file (null)")
    assert conf(folder) == OLD and not plan.tables.exists()
    opensm.apply(7, CHANGE)
    lines = (folder / "opensm.conf").read_text().splitlines()
    assert [line for line in lines if not line.startswith(("routing_engine", "lfts_file"))] == ["# the site's own", "", "lmc 0", "log_flags 0x43"]  # fmt: skip
    assert "routing_engine file,no_fallback" in lines and f"lfts_file {folder}/flitwatch-7.lfts" in lines
    assert plan.tables.read_bytes() == TABLES and opensm.staged(7)
    assert (folder / "opensm.conf").stat().st_mode & 0o777 == 0o640
    with pytest.raises(Conflict, match="already"):
        opensm.apply(7, CHANGE)
    assert opensm.rollback(7) and conf(folder) == OLD and not plan.tables.exists()
    assert (folder / "opensm.conf").stat().st_mode & 0o777 == 0o640
    assert not opensm.rollback(7) and not opensm.staged(7)
    opensm.apply(7, CHANGE)
    assert opensm.staged(7)


def test_of_a_setting_that_stands_twice_none_wins_over_ours(folder: Path) -> None:
    (folder / "opensm.conf").write_text("routing_engine file,no_fallback\nlmc 0\nrouting_engine updn\nlmc 2\n")
    opensm = OpensmFolder(folder)
    opensm.apply(1, CHANGE)
    assert [line for line in (folder / "opensm.conf").read_text().splitlines() if not line.startswith("lfts_file")] == [
        "routing_engine file,no_fallback",
        "lmc 0",
    ]


def test_where_no_configuration_was_none_is_left(folder: Path) -> None:
    (folder / "opensm.conf").unlink()
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    assert conf(folder)
    opensm.rollback(7)
    assert conf(folder) is None


def test_one_upon_the_other_goes_back_in_order(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(1, CHANGE)
    first = conf(folder)
    opensm.apply(2, CHANGE)
    with pytest.raises(Conflict, match="changed since"):
        opensm.rollback(1)
    opensm.rollback(2)
    assert conf(folder) == first
    opensm.rollback(1)
    assert conf(folder) == OLD


def died(work: Callable[[], object], step: int) -> bool:
    """Whether a process that ends without a word at its step-th sync or rename got there."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left, sync, rename = step, os.fsync, Path.replace

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)
            return real(*arguments)

        return call

    os.fsync, Path.replace = counted(sync), counted(rename)  # type: ignore[assignment,method-assign]
    work()
    os._exit(0)


@pytest.mark.system("numeric")
def test_a_crash_at_any_step_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    step, crashed = 0, {"apply": 0, "rollback": 0}
    for what in ("apply", "rollback"):
        for step in range(40):
            folder = tmp_path / f"{what}-{step}"
            folder.mkdir()
            (folder / "opensm.conf").write_bytes(OLD)
            opensm = OpensmFolder(folder)
            new = opensm.plan(7, CHANGE).text.encode()
            if what == "rollback":
                opensm.apply(7, CHANGE)
            if not died(lambda: opensm.apply(7, CHANGE) if what == "apply" else opensm.rollback(7), step):  # noqa: B023
                break
            crashed[what] += 1
            assert conf(folder) in (OLD, new), (what, step)
            if conf(folder) == new and what == "apply":
                assert (folder / "flitwatch-7.lfts").read_bytes() == TABLES, "named by the configuration, so whole"
            if what == "apply":
                with suppress(Conflict):  # died behind its last step
                    opensm.apply(7, CHANGE)
                assert conf(folder) == new and opensm.staged(7)
            opensm.rollback(7)
            assert conf(folder) == OLD, (what, step)
    assert crashed["apply"] >= 8 and crashed["rollback"] >= 3


def test_folders_that_are_none(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(BadInput, match="is a link"):
        OpensmFolder(link)
    with pytest.raises(BadInput, match="No such file"):
        OpensmFolder(tmp_path / "none")
    with pytest.raises(BadInput, match="is not a folder"):
        OpensmFolder(folder / "opensm.conf")
    blank = tmp_path / "with blank"
    blank.mkdir()
    with pytest.raises(BadInput, match="blanks"):
        OpensmFolder(blank).plan(1, CHANGE)
    (folder / "opensm-lfts.dump").unlink()
    with pytest.raises(BadInput, match="the loaded tables are unknown"):
        OpensmFolder(folder).loaded  # noqa: B018
    elsewhere = tmp_path / "elsewhere.conf"
    elsewhere.write_bytes(OLD)
    (folder / "opensm.conf").unlink()
    (folder / "opensm.conf").symlink_to(elsewhere)
    with pytest.raises(BadInput, match="is a link"):
        OpensmFolder(folder)
    assert elsewhere.read_bytes() == OLD


def test_links_that_were_laid_for_us_lead_nowhere(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("flitwatch-7.lfts", ".flitwatch-7.lfts.part", ".opensm.conf.part"):
        (folder / name).symlink_to(victim)
    OpensmFolder(folder).apply(7, CHANGE)
    assert victim.read_text() == "precious" and not (folder / "flitwatch-7.lfts").is_symlink()
    (folder / "flitwatch-8").symlink_to(tmp_path)
    with pytest.raises(BadInput, match="is a link"):
        OpensmFolder(folder).apply(8, CHANGE)


def test_a_folder_that_cannot_be_written() -> None:
    """Of the kernel's own folders nobody can, not even root."""
    with pytest.raises(Forbidden, match="cannot be written"):
        OpensmFolder(Path("/sys/kernel")).apply(7, CHANGE)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"recommendation": 7}'])
def test_a_damaged_journal_is_said_and_nothing_is_touched(folder: Path, damage: bytes) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    new = conf(folder)
    (folder / "flitwatch-7" / "journal.json").write_bytes(damage)
    for work in (lambda: opensm.rollback(7), lambda: opensm.apply(7, CHANGE)):
        with pytest.raises(BadInput, match="is damaged"):
            work()
    assert conf(folder) == new


def test_what_was_kept_is_held_against_its_digest(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    new = conf(folder)
    (folder / "flitwatch-7" / "opensm.conf.before").write_bytes(b"something else")
    with pytest.raises(BadInput, match="differs from the stored one"):
        opensm.rollback(7)
    assert conf(folder) == new
    assert json.loads((folder / "flitwatch-7" / "journal.json").read_bytes())["state"] == "staged"


def test_a_configuration_that_somebody_changed_since_stays(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    (folder / "opensm.conf").write_bytes(b"mine\n")
    with pytest.raises(Conflict, match="changed since"):
        opensm.rollback(7)
    assert conf(folder) == b"mine\n"


@pytest.mark.parametrize("text", [b"\xff\xfe", b"a\x00b", b"x" * (1 << 20) + b"y"])
def test_what_is_no_configuration_is_left_alone(folder: Path, text: bytes) -> None:
    (folder / "opensm.conf").write_bytes(text)
    with pytest.raises(BadInput, match=r"opensm\.conf"):
        OpensmFolder(folder).apply(7, CHANGE)
    assert conf(folder) == text


TREE_STAGING = build_xgft(2, [4, 4], [1, 2])

LEVELS = levels_of(TREE_STAGING, 4, 2, seed=1)

POLICY = "".join(line + "\n" for line in format_policy(TREE_STAGING, LEVELS)).encode()

WITH_LEVELS = Change(TABLES, 1, LEVELS, POLICY)


def test_service_levels_and_lids_come_and_go_with_the_tables(folder: Path) -> None:
    (folder / "opensm.conf").write_bytes(OLD + b"\nqos FALSE\nqos_ca_sl2vl 0,0,0\n")
    before = conf(folder)
    opensm = OpensmFolder(folder)
    opensm.apply(7, WITH_LEVELS)
    lines = (folder / "opensm.conf").read_text().splitlines()
    lanes = ",".join("01" * 8)
    assert "lmc 1" in lines and "qos TRUE" in lines and "qos FALSE" not in lines
    assert [line for line in lines if "sl2vl" in line] == [f"{kind}_sl2vl {lanes}" for kind in ("qos", "qos_ca", "qos_sw0", "qos_swe", "qos_rtr")]  # fmt: skip
    assert f"qos_policy_file {folder}/flitwatch-7.qos-policy" in lines
    assert (folder / "flitwatch-7.qos-policy").read_bytes() == POLICY and opensm.staged(7)
    (folder / "flitwatch-7.qos-policy").write_bytes(b"")
    assert not opensm.staged(7), "an emptied policy is not what was staged"
    assert opensm.rollback(7) and conf(folder) == before
    assert not (folder / "flitwatch-7.qos-policy").exists() and not (folder / "flitwatch-7.lfts").exists()


def test_service_levels_of_the_site_are_not_replaced(folder: Path) -> None:
    (folder / "opensm.conf").write_bytes(b"qos FALSE\nqos TRUE\nqos_policy_file /etc/opensm/qos-policy.conf\n")
    opensm = OpensmFolder(folder)
    with pytest.raises(BadInput, match="the site's own service levels"):
        opensm.plan(7, WITH_LEVELS)
    opensm.apply(7, CHANGE)
    assert "qos_policy_file /etc/opensm/qos-policy.conf" in (folder / "opensm.conf").read_text(), "tables alone leave them"  # fmt: skip


def test_service_levels_of_an_earlier_recommendation_are_replaced(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(1, WITH_LEVELS)
    first = conf(folder)
    opensm.apply(2, WITH_LEVELS)
    assert opensm.rollback(2) and conf(folder) == first and opensm.staged(1)


def test_a_journal_from_before_service_levels_is_read(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    assert "policy" not in json.loads((folder / "flitwatch-7" / "journal.json").read_bytes())
    assert opensm.staged(7) and opensm.rollback(7)
