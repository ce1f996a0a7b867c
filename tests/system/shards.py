"""The shards of the system suite, and their tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shard:
    """One part of the system suite.

    Attributes
    ----------
    letter : as in `make test-system SHARD=a`
    name : the argument of `@pytest.mark.system(name)`
    title : what the shard tests
    setup : parts of services/cli/setup.sh that its tests need
    targets : make targets, with their variables, that run after its tests
    options : further options of pytest
    """

    letter: str
    name: str
    title: str
    setup: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


#: Property tests of all suites, which draw new examples each time; their mark is set by Hypothesis.
PROPERTIES = "properties"
SHARDS = (
    Shard("a", "stores", "Kafka and TimescaleDB", ("java", "timescale")),
    Shard("b", "schedulers", "Slurm and OpenSM", ("slurm", "mpi", "opensm")),
    # Its scripts wait for pages more than they compute.
    Shard("c", "browser", "Chromium", ("browser",), (), ("-n", "2", "--dist", "worksteal")),
    Shard("d", "packages", "packages and images", ("packages", "compose"), ("test-compose",)),
    Shard("e", "faults", "kills, chaos, recovery", ("java", "timescale", "standby", "namespaces")),
    Shard(
        "f",
        PROPERTIES,
        "sanitizers, fuzzing, random properties",
        ("fuzz",),
        ("test-sanitize", "fuzz-importers FUZZ_SECONDS=20 FUZZ_AT_A_TIME=2"),
        ("--hypothesis-profile=system",),
    ),
    Shard("g", "processes", "tests that start processes", ("prometheus", "directory", "redis", "namespaces")),
    Shard("h", "numeric", "long computations and research", (), (), ("-n", "2", "--dist", "loadfile")),
)
NAMES = tuple(shard.name for shard in SHARDS)
