"""What the agent takes from a real API before it looks at Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest
from api.conftest import serving

from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import Forbidden
from flitwatch_slurm.agent import Agent
from flitwatch_slurm.questions import Api


def test_pseudonyms_are_refused_with_the_scope_that_is_missing(embedded_db: str, tmp_path: Path) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add(conn, "slurm", "service")
        few = people.add_token(conn, "slurm", "agent", ["read", "advice"])[1]
        enough = people.add_token(conn, "slurm", "agent", ["read", "names", "advice"])[1]
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        with pytest.raises(Forbidden, match="scope names"):
            Agent(Api(api.url, few), tmp_path / "advice").cycle()
        assert not (tmp_path / "advice").exists()
        assert Api(api.url, enough).state()["pseudonyms"] is False
