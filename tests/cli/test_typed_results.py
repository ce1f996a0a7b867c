"""Functions return models, dataclasses or typed dictionaries, so that a reader and mypy know the fields of every result."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNTYPED = ("dict[str, Any]", "dict[str, object]")
#: By package, the functions whose result has fields that others decide, each with the reason.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "db/flitwatch_db": {
        "archive/parts.py:rows": "the columns of whichever table is read",
        "estimates/store.py:data_and_result_of": "documents whose fields the kind of estimate decides",
        "tasks/sweeps.py:collect": "results of a study's parts, with fields of the study's own",
        "tasks/sweeps.py:take": "arguments of a study's part, with fields of the study's own",
    },
    "ingest/flitwatch_ingest": {
        "collectors/checkpoint.py:_load": "the fields of whichever collector keeps it",
        "exporters/table.py:record": "labels and counters as an exporter names them, a record at a time",
        "sources/sacct_text.py:_checked": "the columns that sacct prints",
        "sources/sacct_text.py:_values": "the columns that sacct prints",
        "sources/sacct_text.py:values": "the columns that sacct prints",
    },
    "ml/flitwatch_ml": {},
    "services/alerting/flitwatch_alerting": {},
    "services/domain/flitwatch_domain": {"task_models/base.py:given": "the fields are those of the task's own model"},
    "services/ops/flitwatch_ops": {},
    "services/routing/flitwatch_routing": {},
    "services/simulation/flitwatch_simulation": {},
    "services/slurm_agent/flitwatch_slurm": {},
    "services/twin/flitwatch_twin": {
        "accounting.py:slurm_json": "a document of Slurm's, with the keys of `sacct --json`"
    },
}


def untyped(path: Path) -> set[str]:
    """Functions of a file whose result is, or holds, a dictionary of anything."""
    functions = (
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None
    )
    return {
        function.name
        for function in functions
        if function.returns is not None and any(form in ast.unparse(function.returns) for form in UNTYPED)
    }


@pytest.mark.parametrize("package", EXCEPTIONS)
def test_results_have_named_fields(package: str) -> None:
    room = ROOT / package
    found = {
        f"{path.relative_to(room)}:{function}" for path in sorted(room.rglob("*.py")) for function in untyped(path)
    }
    assert found == EXCEPTIONS[package].keys()


def test_a_dictionary_of_anything_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "def a() -> list[dict[str, Any]]: ...\nasync def b() -> dict[str, object] | None: ...\ndef c() -> dict[str, int]: ...\ndef d(): ..."
    )
    assert untyped(tmp_path / "a.py") == {"a", "b"}
