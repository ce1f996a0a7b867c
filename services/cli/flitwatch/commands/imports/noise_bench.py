"""`flitwatch import noise`: results of the MPI microbenchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from flitwatch.console import Database, database_options, json_option, print_result

if TYPE_CHECKING:
    from flitwatch_db.runs.noise_bench import Measurement


@click.command("noise")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--source", help="Where it was measured (default: the name of the file).")
@database_options
@json_option
def noise_bench(file: Path, source: str | None, database: Database, as_json: bool) -> None:
    """Import FILE, the JSON lines of noise_bench. Importing the same file again changes nothing."""
    from flitwatch_db.runs import noise_bench as store

    measurements = read_measurements(file)
    with database.connect(adds=True) as conn:
        new = store.insert_measurements(conn, source or file.name, measurements)
        summary = store.list_slowdowns(conn)
    print_result({"measurements": len(measurements), "new": new, "slowdowns": summary}, as_json)


def read_measurements(path: Path) -> list[Measurement]:
    """Return the measurements, one per line. Raise BadInput with file and line."""
    import orjson

    from flitwatch_domain.errors import BadInput
    from flitwatch_domain.importers.text import read_bytes

    measurements = []
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            measurements.append(check_measurement(orjson.loads(line)))
        except (orjson.JSONDecodeError, ValueError) as bad:
            raise BadInput(str(bad), where=f"{path}:{number}", advice="Give the output of noise_bench.") from bad
    if not measurements:
        raise BadInput("holds no measurement", where=str(path))
    return measurements


def check_measurement(record: Any) -> Measurement:
    """Return the record if it is a measurement of a supported version. Raise ValueError otherwise."""
    if not isinstance(record, dict) or record.get("kind") != "noise-bench" or record.get("version") != 1:
        raise ValueError("is not a noise-bench record of version 1")
    whole = {
        "collective_bytes": 2**62,
        "perturbation_bytes": 2**62,
        "world": 2**31,
        "ranks": 2**31,
        "perturbing": 2**31,
    }
    whole |= {"split": 2**31, "seed": 2**64, "late": 2**31}
    for key, most in whole.items():
        value = record.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < most:
            raise ValueError(f"{key} is not an integer of at least 0")
    for key in ("network", "collective"):
        if not isinstance(record.get(key), str) or "\0" in record[key] or len(record[key]) > 200:
            raise ValueError(f"{key} is not a text of at most 200 characters")
    if not _is_number(record.get("ratio")) or not 0 <= record["ratio"] <= 1:
        raise ValueError("ratio is outside [0, 1]")
    for key in ("perturbed_s", "quiet_s"):
        times = record.get(key)
        if not isinstance(times, list) or not all(_is_number(seconds) and seconds >= 0 for seconds in times):
            raise ValueError(f"{key} is not a list of seconds")
    return cast("Measurement", record)


def _is_number(value: Any) -> bool:
    # In Python, True is an integer.
    return isinstance(value, int | float) and not isinstance(value, bool)
