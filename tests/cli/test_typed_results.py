"""Functions return models, dataclasses or typed dictionaries, so that readers and mypy know the fields of every result."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNTYPED = ("dict[str, Any]", "dict[str, object]")
#: Functions whose result has fields that others decide, each with the reason.
EXCEPTIONS = {
    "db/flitwatch_db/archive/parts.py:rows": "the columns of whichever table is read",
    "db/flitwatch_db/core/columns.py:query_rows": "the columns of whichever query is given",
    "db/flitwatch_db/core/connection.py:fetch_rows": "the columns of whichever query is given",
    "db/flitwatch_db/jobs/network_noise.py:_list_members": "rows of runs with their cards' counters, which `read` makes types of",
    "db/flitwatch_db/estimates/store.py:data_and_result_of": "documents whose fields the kind of estimate decides",
    "ingest/flitwatch_ingest/collectors/checkpoint.py:_load_value": "the fields of whichever collector keeps it",
    "ingest/flitwatch_ingest/exporters/otlp.py:_build_object": "an object of a JSON body, on its way into the protocol's own types",
    "ingest/flitwatch_ingest/exporters/table.py:record": "labels and counters as an exporter names them, a record at a time",
    "ingest/flitwatch_ingest/exporters/table.py:record_as_it_came": "the same, with a value that is no count",
    "ingest/flitwatch_ingest/sources/sacct_text.py:_check_cells": "the columns that sacct prints",
    "ingest/flitwatch_ingest/sources/sacct_text.py:_parse_cells": "the columns that sacct prints",
    "ingest/flitwatch_ingest/sources/sacct_text.py:values": "the columns that sacct prints",
    "services/cli/flitwatch/commands/noise.py:convert": "a set of runs, which the API's own model reads",
    "services/research/flitwatch_research/commands/scorecard.py:_load_earlier_report": "the document of a scorecard, kept as JSON",
    "services/research/flitwatch_research/commands/study.py:_parse_settings": "parameters, which the study's own model reads",
    "services/client/flitwatch_client/table.py:to_pylist": "the columns of whichever table was asked for",
    "services/domain/flitwatch_domain/task_models/base.py:given": "arguments, with fields of the task's own",
    "services/research/flitwatch_research/advice_value/job_log.py:load_theta_figures": "the document of published quantiles",
    "services/research/flitwatch_research/papers/measured.py:run_wang_study": "the answer of whichever study is named",
    "services/research/flitwatch_research/studies/taffet_sampling.py:estimates": "what the core's own experiment returns",
    "services/research/flitwatch_research/studies/wang_distributions.py:by_case": "the points of whichever study is given",
    "services/research/flitwatch_research/studies/wang_figures.py:_make_box": "arguments of matplotlib's bxp",
    "services/research/flitwatch_research/papers/measured.py:_run_study": "the points of whichever study is named",
    "services/research/flitwatch_research/papers_routes/convergence.py:measure_error_curve": "a cell of the page's document, kept as JSON",
    "services/research/flitwatch_research/papers_routes/report.py:_by_key": "a cell of the page's document, kept as JSON",
    "services/research/flitwatch_research/papers_routes/report.py:_run_tasks": "cells of the page's document, kept as JSON",
    "services/research/flitwatch_research/papers_routes/report.py:_measure_row": "a cell of the page's document, kept as JSON",
    "services/research/flitwatch_research/papers_routes/report.py:_list_sizes": "sizes alongside a cell, kept as JSON",
    "services/research/flitwatch_research/papers_routes/report.py:_with_cell": "a row of the page's document, kept as JSON",
    "services/research/flitwatch_research/studies/shared.py:run_study_task": "the answer of whichever study is named",
    "ingest/flitwatch_ingest/collectors/link_failures.py:build_record": "a record of the log",
    "services/twin/flitwatch_twin/accounting.py:slurm_json": "a document of Slurm's, with the keys of `sacct --json`",
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


def test_results_have_named_fields() -> None:
    packages = [path.parent for path in ROOT.glob("*/flitwatch_*/__init__.py")]
    packages += [path.parent for path in ROOT.glob("services/*/flitwatch*/__init__.py")]
    assert len(packages) > 14
    found = {
        f"{path.relative_to(ROOT)}:{function}"
        for package in packages
        for path in package.rglob("*.py")
        for function in untyped(path)
    }
    assert found == EXCEPTIONS.keys()
    # No function of the API is an exception.
    assert not any(name.startswith("services/api/") for name in found)


#: Functions of the API that hand a row on, by an alias of the dictionary; each makes no answer of its own.
ROWS = {
    **dict.fromkeys(
        ("mask_alert", "mask_contact", "dry_run", "mask_notices", "mask_rule", "mask_silence", "_mask_dry_alert"),
        "a row of an alert with its names hidden, on its way into the answer's model",
    ),
    "_list_contacts": "rows of contact points, which the routes make models of",
    "_find_task": "the row of a task, which the routes make a model of",
    "_find_estimate": "an estimate's row with its document, which the routes make models of",
    **dict.fromkeys(
        ("_load_present_jobs", "_estimate_shares"),
        "rows of jobs with their traffic alongside arrays; the link's answer is made of both",
    ),
    **dict.fromkeys(("_mask_row", "_mask_task"), "a row with its names hidden, on its way into the answer's model"),
    "_without_folders": "a row with its names hidden, on its way into the answer's model",
    "mask_reasons": "rows of refused records with their reasons hidden, on their way into the answer's model",
}
_ROW = re.compile(r"(^|[\[ ,.])(reads\.|shown\.)?Row\b")


def test_answers_of_the_api_are_models() -> None:
    """`Row` is an alias of `dict[str, Any]`: where it is returned is written down, with the reason."""
    found = {
        function.name
        for path in (ROOT / "services" / "api" / "flitwatch_api").rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and function.returns is not None
        and _ROW.search(ast.unparse(function.returns))
    }
    assert found == ROWS.keys()


def test_a_dictionary_of_anything_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "def a() -> list[dict[str, Any]]: ...\nasync def b() -> dict[str, object] | None: ...\ndef c() -> dict[str, int]: ...\ndef d(): ..."
    )
    assert untyped(tmp_path / "a.py") == {"a", "b"}
