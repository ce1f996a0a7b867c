"""docs/sizing.md, made from the arithmetic: `python -m flitwatch_ops.sizing_page`."""

from __future__ import annotations

from collections.abc import Iterator

from flitwatch_ops import sizing

SITES = {
    "Cori-like": "routers=3264,ports=156672,nics=13056,hz=1",
    "Frontier-like": "routers=2500,ports=160000,nics=44000,hz=1,port_counters=20,nic_counters=22",
    "AI cluster": "routers=7800,ports=499200,nics=100000,hz=0.1,port_counters=40,nic_counters=30",
}
_HEAD = f"""# Sizing

`flitwatch doctor --size routers=…,ports=…,nics=…,hz=…` says what a site takes before it begins; `make reference` makes this page with the same arithmetic
(`flitwatch_ops.sizing`). Add `port_counters=` and `nic_counters=` for what the samplers read of a port and of an endpoint.

**Bytes.** A row's columns, its header and pointer, in whole rows a page of 8 KiB, and {sizing.KEY_BYTES} bytes of its key. A test writes the tables and compares
(within 15 %; rows of more than 80 ports a router are compressed, and take less than is said).
Minutes and hours leave half of each page free for updates. The full edition of TimescaleDB compresses a row to {sizing.COMPRESSED:.0%} (measured of `router_1s` alone,
and assumed of the other tables). What has no limit is counted for one year. Jobs, runs, observations and packet samples are not in these figures.

**Cores.** {sizing.WRITER_US_A_RECORD:g} µs a record and {sizing.WRITER_US_A_VALUE:g} µs a value in the writer, {sizing.DATABASE_US_A_ROW:g} µs a row in the database, {sizing.LOG_US_A_VALUE:g} µs a value in Kafka, of Avro on a core of 2.5 GHz
([ingest](benchmarks/ingest.md), 300 s of 3,264 routers; its hours were not measured). **Memory.** {sizing.WRITER_BYTES_A_COUNTER} bytes a counter in the writer; database and Kafka as in those runs.

A topic has one writer, and one connection carried at most about {sizing.ONE_WRITER_ROWS_S:,} rows/s of devices: a site beyond that has to send its devices in several topics. Figures for
larger sites are computed, not measured.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_summary(), *(line for name in SITES for line in _tables(name))]) + "\n"


def _summary() -> Iterator[str]:
    yield "| site | `--size` | values/s | rows/s | TB kept, plain | TB kept, compressed | log TB a day, Avro | cores | memory GB | one writer |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name, text in SITES.items():
        found = sizing.size(sizing.site_of(text))
        disk = found["disk_tb"]
        yield (
            f"| {name} | `{text}` | {found['values_per_s']:,} | {found['rows_per_s']:,.0f} | {disk['plain']:.1f} | {disk['compressed']:.1f}"
            f" | {disk['log_a_day_avro']:.2f} | {found['cores']['sum']:.1f} | {found['memory_gb']['sum']:.1f} | {'yes' if found['one_writer']['fits'] else 'no'} |"
        )


def _tables(name: str) -> Iterator[str]:
    yield f"\n## {name}\n"
    yield "| table | bytes a row | rows a day | days kept | TB | TB compressed |"
    yield "|---|---|---|---|---|---|"
    for table, found in sizing.tables(sizing.site_of(SITES[name])).items():
        days = "no limit" if found.days is None else f"{found.days:g}"
        yield (
            f"| `{table}` | {found.bytes_a_row:.0f} | {found.rows_a_day:,.0f} | {days} | {found.kept_bytes / 1e12:.2f}"
            f" | {found.kept_bytes_compressed / 1e12:.2f} |"
        )


if __name__ == "__main__":
    print(page(), end="")
