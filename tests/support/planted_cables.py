"""Two fabrics: on one a cable runs at one lane and the link of another flaps, as node_exporter reports it; on the other nothing is wrong."""

from __future__ import annotations

import time

from ingest.writing import drain_log

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.importers import ibnetdiscover
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable
from flitwatch_stream.backends import open_log

#: By fabric: the condition of each cable, as every place reports it.
CONDITIONS = {
    "worn": {
        "w04 - worn-leaf": "4x slower than most cables of its kind",
        "w02 - worn-leaf": "link down 0 times, recovered 0 times, changed speed 5 times in 24 h",
    },
    "sound": {},
}


def plant(url: str) -> None:
    """Store both fabrics, and what their hosts reported in the last hours."""
    for fabric in CONDITIONS:
        section = f'switchguid=0x{fabric.encode().hex()}\nSwitch\t40 "S-{fabric.encode().hex():0>16}"\t\t# "{fabric}-leaf" enhanced port 0 lid 2 lmc 0\n'
        for host in range(1, 31):
            width = 1 if (fabric, host) == ("worn", 4) else 4
            guid = f"{ord(fabric[0])}{host:04d}"
            section += f'[{host}]\t"H-{guid:0>16}"[1]({guid}) \t\t# "{fabric[0]}{host:02d} mlx5_0" lid {10 + host} {width}xHDR\n'
        with connect(url, role="writer") as conn:
            fabrics.save_fabric(conn, ibnetdiscover.parse_fabric(section, fabric, fabric))
    now_ms = int(1000 * time.time())
    with open_log(url) as log, log.producer() as producer:
        intake = Intake(MetricTable(), Publisher(producer))
        for number in range(6):
            samples = []
            for host in ("w01", "W02.hpc.example", "s02"):
                lost = host.startswith("W") and number % 2
                labels = (("device", "mlx5_0"), ("instance", f"{host}:9100"), ("port", "1"))
                values = {"rate_bytes_per_second": 6.25e9 if lost else 25e9, "link_downed_total": 7.0}
                samples += [
                    Sample(f"node_infiniband_{name}", labels, value, now_ms - 3_600_000 * (7 - number))
                    for name, value in values.items()
                ]
            intake.take("scrape", samples)
    drain_log(url, url)
