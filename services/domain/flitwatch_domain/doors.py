"""Sources: the ways data come in, what each needs, and which records came through it. docs/sources.md says how each was tried.

Commands hold `{site}` (the page's address), `{host}` (its host's name) and `{fabric}` (the machine's name), which the reader's page fills in.
"""

from __future__ import annotations

from dataclasses import dataclass

from flitwatch_domain.access import Scope

#: Published to the log by a producer itself, or under a name that no door has.
DIRECT = ""
#: Records of the cluster twin.
TWIN = "twin"
#: Runs that programs report at the API: the source and the topic under which they are counted.
REPORTED = ("api", "runs")
_LDMS = "ldms."
_SLINGSHOT = ("ldms.slingshot", "ldms.cxi")


@dataclass(frozen=True)
class Door:
    """One way in.

    Attributes
    ----------
    key, title, about : str
    commands : tuple of str     to copy, one a line
    needs : tuple of str        permissions and programs
    scope : str or None         what the token of a sender must be allowed at the API; None: it sends nothing to the API
    sources : tuple of str      what records of this source say that they come from, before the first colon
    topics : tuple of str       prefixes of topics whose records name no source
    """

    key: str
    title: str
    about: str
    commands: tuple[str, ...]
    needs: tuple[str, ...]
    scope: Scope | None = None
    sources: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


_LOG = "FLITWATCH_LOG or --log: the address of the log that the platform reads"
_DATABASE = "FLITWATCH_DB or --db: the database of the platform, as the login of the writer"
_FABRIC = "the machine's topology, imported before: see Files"

DOORS = (
    Door(
        "ldms",
        "LDMS over Kafka",
        "Counters of routers, switches and network cards, once a second. ldmsd publishes to Kafka, or its CSV files are followed.",
        (
            "flitwatch up --stack full --twin none",
            "ldmsd -x sock:411 -c aggregator.conf -m 8G -v ERROR -l /var/log/ldmsd-aggregator.log",
            "flitwatch collect ldms-csv store_csv/aries_rtr_mmr --log kafka://{host}:9092",
        ),
        (
            "ldmsd with store_avro_kafka and topic=ldms.%S: ingest/examples/ldmsd has both configurations",
            "permission to write to the topics ldms.* of Kafka",
            _FABRIC,
        ),
        topics=(_LDMS,),
    ),
    Door(
        "ncl",
        "AriesNCL",
        "Counters of a run on Cray XC, by rank, from the files that AriesNCL writes alongside it.",
        ("flitwatch import ncl run/", "flitwatch collect ncl runs/"),
        ("permission to read the output of the runs", _DATABASE),
        sources=("ncl",),
    ),
    Door(
        "infiniband",
        "InfiniBand, from one host",
        "Topology and port counters of a whole subnet, asked from one of its hosts. Nothing runs on the others.",
        ("flitwatch collect infiniband --fabric {fabric}",),
        ("infiniband-diags, with the libibumad that it brings", "permission to open /dev/infiniband/umad*", _DATABASE),
        sources=("infiniband",),
    ),
    Door(
        "ufm",
        "UFM",
        "Topology and port counters of a subnet from the UFM that manages it: its REST interface and its telemetry. Nothing runs on the subnet.",
        (
            "flitwatch collect ufm --url https://UFM --credentials-file /etc/flitwatch/ufm.credentials --fabric {fabric}",
            "flitwatch collect ufm --telemetry http://UFM:9001/csv/xcset/ib_basic_debug",
        ),
        ("a user or an access token of UFM that may read, in a file that its owner alone may read", _DATABASE),
        sources=("ufm",),
    ),
    Door(
        "sonic",
        "SONiC",
        "Topology by LLDP, ports, queues and PFC's pauses of Ethernet switches that run SONiC, from their Redis or from dumps.",
        (
            "flitwatch collect sonic rediss://LEAF1:6379 rediss://SPINE1:6379 --password-file redis.password --fabric {fabric}",
            "flitwatch collect sonic dumps/leaf1 dumps/spine1 --fabric {fabric}",
        ),
        ("a switch's Redis that this host reaches, or what sonic-db-dump printed", _DATABASE),
        sources=("sonic",),
    ),
    Door(
        "gnmi",
        "gNMI",
        "Topology by LLDP, ports and queues of Ethernet switches from OpenConfig's trees, or from SONiC's databases with PFC's pauses.",
        (
            "flitwatch collect gnmi LEAF1:6030 SPINE1:6030 --user NAME --password-file gnmi.password --fabric {fabric}",
            "flitwatch collect gnmi LEAF1:50051 SPINE1:50051 --trees sonic --stream --user NAME --password-file gnmi.password --fabric {fabric}",
        ),
        ("gNMI on the switches, and a user who may read", _DATABASE),
        sources=("gnmi",),
    ),
    Door(
        "slingshot",
        "Slingshot",
        "Ports of Rosetta switches from the fabric manager's telemetry, and Cassini network cards from LDMS's samplers "
        "slingshot_metrics and cxi_sampler.",
        (
            "flitwatch import fabric fabric_template.json --name {fabric}",
            "flitwatch collect slingshot --kafka kafka://KAFKA:9092",
            "flitwatch collect ldms-csv store_csv/slingshot_metrics --log kafka://{host}:9092",
        ),
        (
            "permission to read the topics cray-fabric-* of the fabric manager's Kafka, or HPCM's slingshot_CrayFabric*; RFC "
            "3635's counters, which the fabric manager posts where a site switches them on",
            "ldmsd with slingshot_metrics or cxi_sampler on the compute nodes",
            _LOG,
            _FABRIC,
        ),
        sources=("slingshot",),
        topics=_SLINGSHOT,
    ),
    Door(
        "prometheus",
        "Prometheus remote write",
        "Counters that Prometheus has already: it sends a copy. Where no Prometheus runs, exporters are asked directly.",
        (
            "flitwatch collect prometheus --listen 0.0.0.0:9095 --token-file /etc/flitwatch/collect.token",
            "curl -H 'Authorization: Bearer TOKEN' http://{host}:9095/",
            "flitwatch collect prometheus --scrape http://NODE:9100/metrics",
        ),
        (
            "in Prometheus: remote_write to http://{host}:9095/api/v1/write with the same token",
            "a token of your choice in a file that only the collector reads",
            _LOG,
            _FABRIC,
        ),
        sources=("remote_write", "scrape", "prometheus"),
    ),
    Door(
        "otlp",
        "OpenTelemetry (OTLP)",
        "The same counters from an OpenTelemetry exporter or collector, over HTTP.",
        (
            "flitwatch collect prometheus --listen 0.0.0.0:9095 --token-file /etc/flitwatch/collect.token",
            "export OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://{host}:9095/v1/metrics",
            "export OTEL_EXPORTER_OTLP_METRICS_HEADERS='Authorization=Bearer TOKEN'",
        ),
        ("the collector's token, as for Prometheus", _LOG, _FABRIC),
        sources=("otlp",),
    ),
    Door(
        "slurm",
        "Slurm accounting",
        "Jobs with their users, nodes and times. Without jobs no slow run can be explained.",
        ("flitwatch collect sacct --interval 60", "flitwatch import sacct jobs.txt"),
        ("a host where sacct works", "a login of Slurm that may read the jobs of all users", _LOG),
        sources=("sacct",),
    ),
    Door(
        "pbs",
        "PBS and Torque",
        "Jobs from the accounting logs.",
        ("flitwatch import pbs /var/spool/pbs/server_priv/accounting/20261124",),
        ("permission to read the accounting logs on the PBS server", _DATABASE),
        sources=("pbs",),
    ),
    Door(
        "flux",
        "Flux",
        "Jobs as flux jobs prints them.",
        ("flux jobs -A -a --json > jobs.json", "flitwatch import flux jobs.json --cluster {fabric}"),
        ("a Flux instance owner, who sees the jobs of all users", _DATABASE),
        sources=("flux",),
    ),
    Door(
        "files",
        "Files",
        "Topologies, and records that were kept: forwarding tables, LDMS's CSV, public data sets, other accounting formats.",
        (
            "flitwatch import fabric theta.interconnect --name {fabric}",
            "flitwatch import routes opensm-lfts.dump --fabric {fabric}",
            "flitwatch import ldms-csv store_csv/aries_rtr_mmr",
            "flitwatch import clustercockpit job-archive/",
            "flitwatch import swf log.swf",
        ),
        (_DATABASE,),
        sources=("swf", "clustercockpit"),
    ),
    Door(
        "runs",
        "Runs that programs report",
        "Any program says how long its steps take. A pattern in its output, a C header or a Python module does it.",
        (
            "export FLITWATCH_URL={site} FLITWATCH_TOKEN_FILE=~/.config/flitwatch/token",
            "flitwatch run --step-pattern 'step (?P<step>[0-9]+)' -- ./app",
        ),
        ("a token with the scope runs: make it at {site}/admin",),
        scope="runs",
        sources=(REPORTED[0],),
    ),
)

SOURCES = {source: door.key for door in DOORS for source in door.sources}


def kind_of(source: str) -> str:
    """Return the kind under which a record's source is counted: the name of a known source, or `DIRECT`.

    A record's producer chooses that text, so only known names count apart.
    """
    kind = source.partition("#")[0].partition(":")[0]
    return kind if kind in SOURCES else DIRECT


def door_of(kind: str, topic: str) -> str | None:
    """The key of the source that records of this source and topic came through; None where no source is known, as for the twin's."""
    if kind in SOURCES:
        return SOURCES[kind]
    if kind != DIRECT:
        return None
    fitting = [(len(prefix), door.key) for door in DOORS for prefix in door.topics if topic.startswith(prefix)]
    return max(fitting)[1] if fitting else None
