"""Network noise for the API: measured with the MPI microbenchmark, and simulated by tasks."""

from __future__ import annotations

from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection
from flitwatch_db.runs.noise_bench import SLOWDOWNS, SPLITS_OVER_RATIOS
from flitwatch_db.tasks.reads import OPEN_TO
from flitwatch_domain.access import VISITOR

Row = dict[str, Any]


async def list_measured(
    conn: Connection, limit: int, network: str | None = None, collective: str | None = None
) -> list[Row]:
    """Return slowdowns by ratio, with the columns of `flitwatch_db.runs.noise_bench.SLOWDOWNS`."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(SLOWDOWNS, {"network": network, "collective": collective, "limit": limit})
        return await cursor.fetchall()


async def over_ratios(
    conn: Connection, limit: int, network: str | None = None, collective: str | None = None
) -> list[Row]:
    """Return ratios and slowdowns of all splits of each series, with the columns of `flitwatch_db.runs.noise_bench.SPLITS_OVER_RATIOS`."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(SPLITS_OVER_RATIOS, {"network": network, "collective": collective, "limit": limit})
        return await cursor.fetchall()


async def list_simulated(conn: Connection, tasks: int, asker: str | None) -> list[Row]:
    """Return results of the newest `tasks` successful studies and collectives: {task_id, name, finished_at, result}.

    `asker` is as in `flitwatch_db.tasks.reads.list_tasks`.
    """
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            SQL(
                "SELECT task_id, name, finished_at, result FROM task WHERE state = 'succeeded' AND (name = 'sim.collective'"
                " OR (name = 'sim.study' AND result ->> 'study' LIKE 'hoefler-fig%%')) AND"
            )
            + OPEN_TO
            + SQL(" ORDER BY task_id DESC LIMIT %(tasks)s"),
            {"tasks": tasks, "asker": asker, "visitor": VISITOR},
        )
        return await cursor.fetchall()
