"""Service levels by pair: spread evenly, none that the policy file does not say, and OpenSM's dump of lanes read back."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.generators import build_xgft
from flitwatch_routing.lft import list_guids
from flitwatch_routing.service_levels import Levels, format_policy, levels_of, loaded_lanes

TREE = build_xgft(2, [4, 4], [1, 2])


def followed(text: list[str]) -> np.ndarray:
    """The level of each pair (source, destination) as OpenSM finds it: the first rule whose groups have both ports."""
    where = {guid: at for at, guid in enumerate(list_guids(TREE)[1])}
    groups: dict[str, set[int]] = {}
    levels: dict[str, int] = {}
    rules: list[list[str]] = []
    name = ""
    for line in text:
        key, _, value = line.strip().partition(": ")
        if key == "name":
            name = value
        elif key == "port-guid":
            groups.setdefault(name, set()).update(where[int(one, 16)] for one in value.split(","))
        elif key == "sl":
            levels[name] = int(value)
        elif key == "source":
            rules.append([value])
        elif key in ("destination", "qos-level-name"):
            rules[-1].append(value)
    found = np.full((len(TREE.endpoints), len(TREE.endpoints)), levels["DEFAULT"])
    for src, dst, level in reversed(rules):
        found[np.ix_(sorted(groups[src]), sorted(groups[dst]))] = levels[level]
    return found


def test_the_policy_gives_each_pair_its_level() -> None:
    levels = levels_of(TREE, 5, 3, seed=2)
    ends = np.arange(len(TREE.endpoints))
    wanted = levels.of(ends[:, None], ends[None, :])
    assert (followed(list(format_policy(TREE, levels))) == wanted).all()
    for pairs in (wanted, wanted.T):
        of_one = [np.bincount(row, minlength=5) for row in pairs]
        assert np.ptp(of_one, axis=1).max() <= 1, "a sender's pairs are spread over all levels, and a receiver's"
    assert levels.lanes() == [0, 1, 2] * 5 + [0]
    assert (levels_of(TREE, 5, 3, seed=2).classes == levels.classes).all()
    assert (levels_of(TREE, 5, 3, seed=3).classes != levels.classes).any()


@pytest.mark.parametrize(("levels", "vls"), [(1, 1), (17, 4), (4, 0), (4, 5), (16, 16)])
def test_levels_that_infiniband_does_not_have(levels: int, vls: int) -> None:
    with pytest.raises(BadRequest, match="service levels"):
        levels_of(TREE, levels, vls, seed=1)


def test_a_dump_of_lanes() -> None:
    row = " ".join("01" * 8)
    head = "#in out : 0  1\n#-----\n"
    text = f'Switch 0x0002c90000100000, base LID 2, "leaf 0"\n{head}1   2   : {row} \n\nChannel Adapter 0x0002c90000200001, base LID 1, "n0"\n{head}0   0   : {row} \n'
    lanes = (0, 1) * 8
    assert loaded_lanes(text, "x") == {(0x2C90000100000, 1, 2): lanes, (0x2C90000200001, 0, 0): lanes}
    with pytest.raises(BadInput, match="x:1"):
        loaded_lanes(f"1   2   : {row}\n", "x")
    with pytest.raises(BadInput, match="x:2"):
        loaded_lanes('Switch 0x0002c90000100000, base LID 2, "l"\nnonsense\n', "x")


def test_levels_are_sums_of_classes() -> None:
    levels = Levels(np.array([0, 1, 2]), 3, 1)
    assert levels.of(np.array([0, 1, 2]), np.array([0, 1, 2])).tolist() == [0, 2, 1]
    assert set(levels.lanes()) == {0}
