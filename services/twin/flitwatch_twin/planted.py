"""Planted interference of a second-by-second scenario: users added to the ordinary ones, and their timetable."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from flitwatch_twin.spec import InterferenceSpec, TwinSpec
from flitwatch_twin.users import Exchange, Role, Schedule, Users


def plant_users(
    users: Users, roles: tuple[Role, ...], spec: TwinSpec, rng: np.random.Generator
) -> tuple[Users, tuple[Role, ...], dict[int, InterferenceSpec]]:
    """Add one user for each planted interference. Return users, roles, and the timetable by user index.

    Names continue the ordinary ones in shuffled order, so a name reveals nothing.
    """
    extra = spec.interference
    if not extra:
        return users, roles, {}
    columns = {field.name: getattr(users, field.name) for field in fields(users) if field.name != "names"}
    added = {name: np.concatenate([values, np.repeat(values[:1], len(extra))]) for name, values in columns.items()}
    order = rng.permutation(len(users) + len(extra))
    names = tuple(f"u{number + 1:04d}" for number in order)
    grown = Users(names=names, **added)
    timetable = {}
    for place, entry in enumerate(extra, start=len(users)):
        _set_habits(grown, place, entry)
        timetable[place] = entry
    return grown, (*roles, *(Role(entry.mechanism) for entry in extra)), timetable


def _set_habits(users: Users, user: int, entry: InterferenceSpec) -> None:
    users.schedule[user] = Schedule.ANY
    users.nodes[user] = entry.nodes
    users.duration_s[user] = entry.lasts_s
    users.activity[user] = 0.0
    users.duty[user], users.burst_s[user] = entry.duty, entry.burst_s
    users.rate[user], users.io_rate[user], users.incast_rate[user] = 0.15, 0.02, 0.0
    users.exchange[user] = Exchange.ALL_TO_ALL
    users.checkpoint_every_s[user], users.checkpoint_s[user] = 600.0, 30.0
    if entry.mechanism == Role.BANDWIDTH:
        users.rate[user] = entry.rate
    elif entry.mechanism == Role.IO:
        users.io_rate[user] = entry.rate
        users.checkpoint_every_s[user], users.checkpoint_s[user] = 120.0, 70.0
    else:
        users.incast_rate[user] = entry.rate
