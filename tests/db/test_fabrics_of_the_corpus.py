"""Whatever an importer makes a fabric of, the database can hold: the fuzz corpus has the oddest."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from fuzz.inputs import read_inputs, unpack_inputs

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.importers import read_fabric

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(("target", "kind"), [("ibnetdiscover", "ibnetdiscover"), ("cray_interconnect", "cray")])
def test_fabrics_of_odd_files_can_be_stored(embedded_db: str, target: str, kind: str, tmp_path: Path) -> None:
    stored, refused = 0, {}
    for file in sorted(unpack_inputs(read_inputs(target), tmp_path).iterdir()):
        try:
            fabric = read_fabric(file, kind)
        except FlitwatchError:
            continue
        try:
            with connect(embedded_db) as conn:
                fabrics.save_fabric(conn, fabric)
                conn.rollback()
            stored += 1
        except FlitwatchError:
            continue
        except psycopg.Error as problem:
            refused[file.name] = str(problem)
    assert refused == {} and stored > 10
