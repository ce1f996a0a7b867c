"""Records of very many days at once: a long history that is read in one go, or a clock that jumps."""

from __future__ import annotations

import json

import pytest
from ingest.writing import append

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain_log
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.integration, pytest.mark.system("numeric")]

DAYS = 1_300


def test_one_transaction_may_hold_more_days_than_a_server_has_locks_by_default(embedded_db: str, topic: str) -> None:
    name = f"ldms.aries_{topic}"
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, build_dragonfly(1, 2, 4, name="long"))
    row = {"component_id": 0, "aries_rtr_id": "c0-0c0s0a0"}
    counter = "AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC0"
    records = [
        json.dumps({"timestamp": 8 * 86_400 * day + second} | row | {counter: 100 * day + second}).encode()
        for day in range(1, DAYS + 1)
        for second in (0, 1)
    ]
    with open_log(embedded_db) as log:
        log.create_topic(name, 1)
        append(log, name, records)
    drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=f"^ldms\\..*{topic}$"), limit_s=300)
    with connect(embedded_db, autocommit=True) as conn:
        assert conn.execute("SELECT count(*), sum(rt_flits) FROM router_1s").fetchone() == (DAYS, DAYS)
