"""What a window may cost is counted in bytes: a minute of the largest machines is answered."""

from __future__ import annotations

import numpy as np

from api.conftest import serving
from api.streams import START, count, tell, wait_until_listening
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_torus

ROUTERS = 34 * 40 * 24


def test_a_minute_of_32640_routers_is_answered(embedded_db: str) -> None:
    """It begins within a minute, so that all of it is read by the second."""
    made = build_torus((34, 40, 24))
    assert len(made.routers) == ROUTERS
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, made)
        for second in (15, 75):
            count(conn, fabric_id, second, 10)
        tell(conn, fabric_id)
    with serving(Settings(db=embedded_db, web=None)) as api:
        wait_until_listening(api)
        for path in ("stalls", "congestion"):
            got = api.get(f"/fabrics/{fabric_id}/{path}", at=START + 80, window="60s")
            assert got["window_s"] == 60 and got["routers"]["router"] == [1]
            assert np.sum(got["routers"]["flits"]) == 10
