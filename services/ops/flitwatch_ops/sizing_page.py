"""Generate docs/sizing.md from the estimates: `python -m flitwatch_ops.sizing_page`."""

from __future__ import annotations

from collections.abc import Iterator

from flitwatch_ops import sizing

SITES = {
    "Cori-like": "routers=3264,ports=156672,nics=13056,hz=1",
    "Frontier-like": "routers=2500,ports=160000,nics=44000,hz=1,port_counters=20,nic_counters=22",
    "AI cluster": "routers=7800,ports=499200,nics=100000,hz=0.1,port_counters=40,nic_counters=30",
}
_HEAD = f"""# Sizing

The disk, memory and processor time that a site needs. Figures for larger sites are computed, not measured.

## Size your site

`flitwatch doctor --size routers=…,ports=…,nics=…,hz=…` computes the needs of a site before it starts.

Add `port_counters=` and `nic_counters=` for the number of counters that samplers read from a port and an endpoint.

`make reference` generates this page with the same arithmetic (`flitwatch_ops.sizing`).

## Bytes

The size of a row includes its columns, its header and pointer, and {sizing.KEY_BYTES} bytes for its key. Whole rows fill pages of 8 KiB.

A test writes the tables and compares their sizes, within 15 %. Rows with more than 80 ports per router are compressed and need less.

Tables of minutes and hours leave half of each page free for updates. Tables without a limit are counted for one year.

The full edition of TimescaleDB compresses a row to {sizing.COMPRESSED:.0%}. This was measured for `router_1s` and is assumed for the other tables.

Jobs, runs, observations and packet samples are not included.

## Cores and memory

Measured with Avro on a core of 2.5 GHz, 300 s of 3,264 routers ([ingest](benchmarks/ingest.md)). The hourly tables were not measured.

| part | cost |
|---|---|
| writer | {sizing.WRITER_US_A_RECORD:g} µs per record, {sizing.WRITER_US_A_VALUE:g} µs per value, {sizing.WRITER_BYTES_A_COUNTER} bytes of memory per counter |
| database | {sizing.DATABASE_US_A_ROW:g} µs per row |
| Kafka | {sizing.LOG_US_A_VALUE:g} µs per value |

The memory of the database and of Kafka was measured in these runs.

A topic has one writer, and one connection carried at most about {sizing.ONE_WRITER_ROWS_S:,} rows/s of devices. Larger sites must divide their devices among several topics.

## Three sites
"""


def render_page() -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *_format_summary(), *(line for name in SITES for line in _format_tables(name))]) + "\n"


def _format_summary() -> Iterator[str]:
    yield "| site | `--size` | values/s | rows/s | TB kept, plain | TB kept, compressed | log TB a day, Avro | cores | memory GB | one writer |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name, text in SITES.items():
        site_size = sizing.size_site(sizing.site_of(text))
        disk = site_size["disk_tb"]
        yield (
            f"| {name} | `{text}` | {site_size['values_per_s']:,} | {site_size['rows_per_s']:,.0f} | {disk['plain']:.1f} | {disk['compressed']:.1f}"
            f" | {disk['log_a_day_avro']:.2f} | {site_size['cores']['sum']:.1f} | {site_size['memory_gb']['sum']:.1f} | "
            f"{'yes' if site_size['one_writer']['fits'] else 'no'} |"
        )


def _format_tables(name: str) -> Iterator[str]:
    yield f"\n## {name}\n"
    yield "| table | bytes per row | rows a day | days kept | TB | TB compressed |"
    yield "|---|---|---|---|---|---|"
    for table, table_size in sizing.size_tables(sizing.site_of(SITES[name])).items():
        days = "no limit" if table_size.days is None else f"{table_size.days:g}"
        yield (
            f"| `{table}` | {table_size.bytes_a_row:.0f} | {table_size.rows_a_day:,.0f} | {days} | {table_size.kept_bytes / 1e12:.2f}"
            f" | {table_size.kept_bytes_compressed / 1e12:.2f} |"
        )


if __name__ == "__main__":
    print(render_page(), end="")
