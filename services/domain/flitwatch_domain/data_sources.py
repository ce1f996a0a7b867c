"""Sources of data: the commands and permissions of each, and the records that it sent. docs/sources.md describes how each was tested.

Commands contain `{site}` (the page's address), `{host}` (its host's name) and `{fabric}` (the machine's name), which the page fills in.
"""

from __future__ import annotations

from dataclasses import dataclass

from flitwatch_domain.access import Scope

#: Published to the log directly by a producer, or with an unknown source name.
DIRECT = ""
#: Records of the cluster twin.
TWIN = "twin"
#: Runs reported to the API by programs: the source and the topic under which they are counted.
REPORTED = ("api", "runs")
_LDMS = "ldms."
_SLINGSHOT = ("ldms.slingshot", "ldms.cxi")


@dataclass(frozen=True)
class DataSource:
    """One source of data.

    Attributes
    ----------
    commands : tuple of str     to copy, one per line
    needs : tuple of str        required permissions and programs
    scope : str or None         scope that a sender's token needs at the API; None: it sends nothing to the API
    sources : tuple of str      source names in its records, up to the first colon
    topics : tuple of str       prefixes of topics whose records have no source name
    """

    key: str
    title: str
    about: str
    commands: tuple[str, ...]
    needs: tuple[str, ...]
    scope: Scope | None = None
    sources: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


_LOG = "FLITWATCH_LOG or --log: address of the platform's log"
_DATABASE = "FLITWATCH_DB or --db: the platform's database, with the writer's login"
_FABRIC = "the machine's topology, imported first: see Files"

DATA_SOURCES = (
    DataSource(
        "ldms",
        "LDMS over Kafka",
        "Counters of routers, switches and network cards, once a second. ldmsd publishes to Kafka, or a collector follows its CSV files.",
        (
            "flitwatch up --stack full --twin none",
            "ldmsd -x sock:411 -c aggregator.conf -m 8G -v ERROR -l /var/log/ldmsd-aggregator.log",
            "flitwatch collect ldms-csv store_csv/aries_rtr_mmr --log kafka://{host}:9092",
        ),
        (
            "ldmsd with store_avro_kafka and topic=ldms.%S: ingest/examples/ldmsd has both configurations",
            "write access to the topics ldms.* in Kafka",
            _FABRIC,
        ),
        topics=(_LDMS,),
    ),
    DataSource(
        "ncl",
        "AriesNCL",
        "Counters of each rank of a run on Cray XC, from the files of AriesNCL.",
        ("flitwatch import ncl run/", "flitwatch collect ncl runs/"),
        ("read access to the output of the runs", _DATABASE),
        sources=("ncl",),
    ),
    DataSource(
        "infiniband",
        "InfiniBand, from one host",
        "Topology and port counters of a whole subnet, read from one of its hosts. Nothing runs on the other hosts.",
        ("flitwatch collect infiniband --fabric {fabric}",),
        ("infiniband-diags, which includes libibumad", "permission to open /dev/infiniband/umad*", _DATABASE),
        sources=("infiniband",),
    ),
    DataSource(
        "ufm",
        "UFM",
        "Topology and port counters of a subnet, from the REST interface and telemetry of its UFM. Nothing runs on the subnet.",
        (
            "flitwatch collect ufm --url https://UFM --credentials-file /etc/flitwatch/ufm.credentials --fabric {fabric}",
            "flitwatch collect ufm --telemetry http://UFM:9001/csv/xcset/ib_basic_debug",
        ),
        ("a UFM user or access token with read access, in a file readable only by its owner", _DATABASE),
        sources=("ufm",),
    ),
    DataSource(
        "sonic",
        "SONiC",
        "Topology (LLDP), ports, queues and PFC pauses of Ethernet switches that run SONiC, from their Redis or from dumps.",
        (
            "flitwatch collect sonic rediss://LEAF1:6379 rediss://SPINE1:6379 --password-file redis.password --fabric {fabric}",
            "flitwatch collect sonic dumps/leaf1 dumps/spine1 --fabric {fabric}",
        ),
        ("a switch's Redis that this host can reach, or the output of sonic-db-dump", _DATABASE),
        sources=("sonic",),
    ),
    DataSource(
        "gnmi",
        "gNMI",
        "Topology (LLDP), ports and queues of Ethernet switches, from OpenConfig's trees, or from SONiC's databases, which have PFC pauses.",
        (
            "flitwatch collect gnmi LEAF1:6030 SPINE1:6030 --user NAME --password-file gnmi.password --fabric {fabric}",
            "flitwatch collect gnmi LEAF1:50051 SPINE1:50051 --trees sonic --stream --user NAME --password-file gnmi.password --fabric {fabric}",
        ),
        ("gNMI on the switches, and a user with read access", _DATABASE),
        sources=("gnmi",),
    ),
    DataSource(
        "slingshot",
        "Slingshot",
        "Ports of Rosetta switches from the fabric manager's telemetry, and Cassini network cards from the LDMS samplers "
        "slingshot_metrics and cxi_sampler.",
        (
            "flitwatch import fabric fabric_template.json --name {fabric}",
            "flitwatch collect slingshot --kafka kafka://KAFKA:9092",
            "flitwatch collect ldms-csv store_csv/slingshot_metrics --log kafka://{host}:9092",
        ),
        (
            "read access to the topics cray-fabric-* in the fabric manager's Kafka, or HPCM's slingshot_CrayFabric*; the RFC "
            "3635 counters, which a site must enable in the fabric manager",
            "ldmsd with slingshot_metrics or cxi_sampler on the compute nodes",
            _LOG,
            _FABRIC,
        ),
        sources=("slingshot",),
        topics=_SLINGSHOT,
    ),
    DataSource(
        "prometheus",
        "Prometheus remote write",
        "A copy of the counters that Prometheus already has. Without Prometheus, the collector reads exporters directly.",
        (
            "flitwatch collect prometheus --listen 0.0.0.0:9095 --token-file /etc/flitwatch/collect.token",
            "curl -H 'Authorization: Bearer TOKEN' http://{host}:9095/",
            "flitwatch collect prometheus --scrape http://NODE:9100/metrics",
        ),
        (
            "in Prometheus: remote_write to http://{host}:9095/api/v1/write with the same token",
            "a token of your choice, in a file that only the collector can read",
            _LOG,
            _FABRIC,
        ),
        sources=("remote_write", "scrape", "prometheus"),
    ),
    DataSource(
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
    DataSource(
        "slurm",
        "Slurm accounting",
        "Jobs with their users, nodes and times. Without jobs, Flitwatch cannot explain slow runs.",
        ("flitwatch collect sacct --interval 60", "flitwatch import sacct jobs.txt"),
        ("a host on which sacct works", "a Slurm user who can read the jobs of all users", _LOG),
        sources=("sacct",),
    ),
    DataSource(
        "pbs",
        "PBS and Torque",
        "Jobs from the accounting logs.",
        ("flitwatch import pbs /var/spool/pbs/server_priv/accounting/20261124",),
        ("read access to the accounting logs on the PBS server", _DATABASE),
        sources=("pbs",),
    ),
    DataSource(
        "flux",
        "Flux",
        "Jobs from the output of flux jobs.",
        ("flux jobs -A -a --json > jobs.json", "flitwatch import flux jobs.json --cluster {fabric}"),
        ("the owner of the Flux instance, who can see the jobs of all users", _DATABASE),
        sources=("flux",),
    ),
    DataSource(
        "files",
        "Files",
        "Topologies and stored records: forwarding tables, LDMS CSV files, public data sets, and other accounting formats.",
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
    DataSource(
        "runs",
        "Runs that programs report",
        "Any program can report the times of its steps, with a pattern for its output, a C header, or a Python module.",
        (
            "export FLITWATCH_URL={site} FLITWATCH_TOKEN_FILE=~/.config/flitwatch/token",
            "flitwatch run --step-pattern 'step (?P<step>[0-9]+)' -- ./app",
        ),
        ("a token with the scope runs, from {site}/admin",),
        scope="runs",
        sources=(REPORTED[0],),
    ),
)

_KEYS = {name: source.key for source in DATA_SOURCES for name in source.sources}


def kind_of(source: str) -> str:
    """Return the kind under which a record's source is counted: the name of a known source, or `DIRECT`.

    A record's producer chooses the source name, so only known names are counted separately.
    """
    kind = source.partition("#")[0].partition(":")[0]
    return kind if kind in _KEYS else DIRECT


def data_source_of(kind: str, topic: str) -> str | None:
    """Return the key of the source of records with this source name and topic; None if unknown, as for the twin's records."""
    if kind in _KEYS:
        return _KEYS[kind]
    if kind != DIRECT:
        return None
    fitting = [
        (len(prefix), source.key) for source in DATA_SOURCES for prefix in source.topics if topic.startswith(prefix)
    ]
    return max(fitting)[1] if fitting else None
