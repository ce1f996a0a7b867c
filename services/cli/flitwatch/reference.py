"""References generated from the program: docs/commands.md, docs/settings.md, docs/metrics.md, docs/client.md, the configuration file and the outline
of the commands (`make reference`)."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import orjson
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import Metric

import flitwatch_client
from flitwatch import outline
from flitwatch.catalogue import list_installed_commands, load_extensions
from flitwatch.command_line import cli
from flitwatch.examples import EXAMPLES
from flitwatch.metrics import process_info

HEAD = """# Commands

Generated with `make reference`. With `--json`, a command prints one JSON object on standard output. Text for people is printed on
standard error. Only `flitwatch run -- COMMAND` prints it as the last line of standard error, because standard output belongs to COMMAND.

## Exit statuses

| status | meaning |
|---|---|
"""
#: Exit statuses of commands; they use no others.
STATUSES = {
    0: "done",
    1: "failed; one line on standard error gives the reason and what to do",
    2: "usage error: an unknown command or option, or an invalid value",
    3: "imported, but some records were refused (the Health page lists them)",
    4: "counters were read, but none belongs to an imported fabric",
    126: "`flitwatch run`: the program cannot be executed. Otherwise, `flitwatch run` returns the program's status",
    127: "`flitwatch run`: the program was not found",
    130: "stopped by Ctrl-C",
    141: "the reader of standard output closed the pipe",
    143: "stopped by SIGTERM",
}


def walk_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is not a group, with its words."""
    return ((words, command) for words, command in walk_tree("", cli) if not isinstance(command, click.Group))


def walk_tree(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all commands below it, with their words."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            if subcommand is not None:
                yield from walk_tree(f"{words} {name}".strip(), subcommand)


def render_outline() -> str:
    """Return the text of outline.json: one line per command."""
    lines = []
    for words, command in walk_tree("", cli):
        context = click.Context(command, **{**cli.context_settings, **command.context_settings})
        entry = outline.Entry(
            help=command.get_short_help_str() if words else command.help or "",
            options=[
                ([*option.opts, *option.secondary_opts], option.help or "", option.multiple)
                for option in command.params
                if isinstance(option, click.Option) and not option.hidden
            ]
            # Click keeps a command's help option as its first context made it, which can be one without the root's settings.
            + [(list(context.help_option_names), "Show this message and exit.", False)],
            is_extension=words in load_extensions(),
            runs_program=not (context.allow_interspersed_args or isinstance(command, click.Group)),
        )
        if not command.hidden:
            lines.append(f"{orjson.dumps(words).decode()}: {orjson.dumps(entry).decode()}")
    return "{" + ",\n".join(lines) + "}\n"


def render_reference() -> str:
    """Return the text of docs/commands.md."""
    parts = [HEAD + "".join(f"| {status} | {meaning} |\n" for status, meaning in STATUSES.items())]
    group, commands = "", list_installed_commands()
    for words, command in walk_commands():
        first = words.partition(" ")[0]
        if first != group:
            group = first
            parts.append(f"\n## flitwatch {group}\n\n{commands[group][2]}\n")
        parts.append(_format_section(words, command))
    return "".join(parts)


SETTINGS_HEAD = """# Settings

Generated with `make reference`.

Every setting is an environment variable. An option of a command overrides it.

The file /etc/flitwatch/flitwatch.toml (or the one that FLITWATCH_CONFIG names) has the same settings in lower case without the prefix: `api_rate_per_s = 100`. The environment overrides
the file.

## Everywhere

| variable | read by | meaning |
|---|---|---|
"""
#: Variables that are neither options nor settings of a model.
OTHERS = {
    "FLITWATCH_HOME": (
        "`flitwatch up` and its processes",
        "Folder of the database, logs and state. [default: .flitwatch of the checkout; installed, flitwatch below XDG_STATE_HOME]",
    ),
    "FLITWATCH_DISK_LEAST_FREE_MIB": (
        "all processes that write to a database or log on this machine",
        "Space in MiB to keep free on the database's disk. Below it, nothing new is stored. Below half of it, the embedded log "
        "accepts no records. 0: no limit."
        " [default: 1024, or 5 % of the disk if that is less]",
    ),
    "FLITWATCH_CACHE": (
        "`scorecard`, `twin campaign`, set-up",
        "Folder for data that can be created again. [default: .cache of the checkout; installed, flitwatch below XDG_CACHE_HOME]",
    ),
    "FLITWATCH_KAFKA_PROPERTIES": (
        "all processes that read or write a log in Kafka",
        "File with librdkafka properties for TLS, SASL and the network, one property=value per line. If it contains a password, "
        "only its owner and group may read it.",
    ),
    "FLITWATCH_VIEWER_PASSWORD": (
        "`db viewer`",
        "Password of the database login for Grafana. By default, you are asked for it.",
    ),
    "FLITWATCH_ROUTING_LOG": ("the uGNI library", "File for the routing library's choices."),
    "FLITWATCH_NIC_COUNTERS": ("the uGNI library", "File with the NIC's counters for the routing library."),
    "FLITWATCH_CONFIG": (
        "every command",
        "Configuration file. [default: /etc/flitwatch/flitwatch.toml, if it is readable]",
    ),
    "FLITWATCH_STEPS": (
        "programs under `flitwatch run`",
        "File to which a program appends a line STEP SECONDS per step. `flitwatch run` sets it.",
    ),
    "FLITWATCH_COMMIT": (
        "`make dist`, the image's build",
        "Commit in the name of a wheel, if there is no Git. [default: Git's]",
    ),
    "FLITWATCH_NO_APT": ("set-up", "Any value: set-up installs no system packages."),
}


#: Variables of set-up and build, and prompted passwords: not in the configuration file.
NOT_IN_FILE = {"FLITWATCH_CONFIG", "FLITWATCH_COMMIT", "FLITWATCH_NO_APT", "FLITWATCH_VIEWER_PASSWORD"}
FILE_HEAD = """# Settings of Flitwatch's services on this machine. An environment variable overrides a line here,
# and an option of a command overrides both.
# The file holds addresses, not passwords: name files that hold those (passfile=... in a database's URL, oidc_client_secret_file).
# Every line below is commented out. It shows the default, or nothing if there is none.
"""


def render_configuration() -> str:
    """Return the text of the installed configuration file: every setting, commented out."""
    from flitwatch_api.settings import Settings

    usual = {
        option.envvar: option.default
        for _, command in walk_commands()
        for option in command.params
        if isinstance(option.envvar, str) and isinstance(option.default, (bool, int, float, str))
    }
    rows = {name: (meaning, _format_toml(usual.get(name, ""))) for name, (_, meaning) in _collect_variables().items()}
    for name, field in Settings.model_fields.items():
        default = _show_default(field.get_default(call_default_factory=True))
        rows[f"FLITWATCH_{name.upper()}"] = (field.description or "", _format_toml(default))
    lines = [
        f"\n# {meaning}\n# {name.removeprefix('FLITWATCH_').lower()} = {value}\n"
        for name, (meaning, value) in sorted(rows.items())
        if name not in NOT_IN_FILE
    ]
    return FILE_HEAD + "".join(lines)


def _format_toml(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return str(default) if isinstance(default, (int, float)) else f'"{default}"'


def _show_default(default: object) -> object:
    """Return a default worth showing: paths of this machine and secrets are left out."""
    nothing = default in (None, "", ()) or isinstance(default, Path) or hasattr(default, "get_secret_value")
    return "" if nothing else default


def _collect_variables() -> dict[str, tuple[list[str], str]]:
    """Return each variable with its readers and meaning, without the variables that only the API reads."""
    read: dict[str, tuple[list[str], str]] = {name: ([where], meaning) for name, (where, meaning) in OTHERS.items()}
    for words, command in walk_commands():
        for option in command.params:
            for name in [option.envvar] if isinstance(option.envvar, str) else option.envvar or []:
                where, _ = read.setdefault(name, ([], getattr(option, "help", "") or ""))
                where.append(f"`{words} {option.opts[0]}`")
    return read


def render_settings() -> str:
    """Return the text of docs/settings.md."""
    from flitwatch_api.settings import Settings

    rows = [
        f"| `{name}` | {_join_places(where)} | {meaning} |\n"
        for name, (where, meaning) in sorted(_collect_variables().items())
    ]
    api = ["\n## The API\n\n| variable | default | meaning |\n|---|---|---|\n"]
    for name, field in Settings.model_fields.items():
        default = _show_default(field.get_default(call_default_factory=True))
        shown = f"`{default}`" if default != "" else ""
        api.append(f"| `FLITWATCH_{name.upper()}` | {shown} | {field.description or ''} |\n")
    return SETTINGS_HEAD + "".join(rows) + "".join(api)


def _join_places(where: list[str]) -> str:
    return ", ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")


def _format_section(words: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"flitwatch {words}", show_default=True)
    usage = " ".join(command.collect_usage_pieces(context))
    help_text = " ".join((command.help or "").split("\f")[0].split()).replace("\b ", "")
    rows = [
        _format_row(option, context)
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    return (
        f"\n### flitwatch {words}\n\n```\nflitwatch {words} {usage}\n```\n\n{help_text}\n\nFor "
        f"example:\n\n```\n{EXAMPLES[words]}\n```\n\n| option | |\n|---|---|\n" + "".join(rows)
    )


def _format_row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    flags, description = (" ".join(part.split()).replace("|", "\\|") for part in record)
    return f"| `{flags}` | {description.replace('<', '&lt;')} |\n"


CLIENT_HEAD = """# The Python client

Generated with `make reference` from the client itself. `pip install flitwatch-client` installs it; [its guide](../services/client/README.md) has examples. Methods of `Client.api` are the operations of
[the API](contracts/api.md), by their names, with typed requests and answers.
"""


def render_client() -> str:
    """Return the text of docs/client.md."""
    parts = [CLIENT_HEAD, _format_callable("connect", flitwatch_client.connect, 2)]
    for kind in (flitwatch_client.Client, flitwatch_client.Table):
        parts.append(f"\n## {kind.__name__}\n\n{_format_text(kind)}")
        parts += [_format_callable(f"{kind.__name__}.{name}", member, 3) for name, member in _list_members(kind)]
    errors = (flitwatch_client.Refused, flitwatch_client.Unavailable, flitwatch_client.TaskFailed)
    parts.append(
        "\n## Errors\n\n"
        + "".join(f"- `{error.__name__}`: {_format_text(error).splitlines()[0]}\n" for error in errors)
    )
    return "".join(parts)


def _list_members(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(kind).items():
        if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
            yield name, member.__func__ if isinstance(member, classmethod) else member


def _format_callable(name: str, member: Any, level: int) -> str:
    if isinstance(member, property):
        return f"\n{'#' * level} `{name}`\n\n{_format_text(member)}"
    shown = (
        str(inspect.signature(member))
        .replace("'", "")
        .replace("(self, ", "(")
        .replace("(self)", "()")
        .replace("(cls, ", "(")
    )
    return f"\n{'#' * level} `{name.rpartition('.')[2]}`\n\n```python\n{name}{shown}\n```\n\n{_format_text(member)}"


def _format_text(documented: Any) -> str:
    """Convert a docstring in NumPy's format to Markdown, with its sections as lists."""
    lines, listed = [], False
    text = (inspect.getdoc(documented) or "").splitlines()
    for number, line in enumerate(text):
        if set(line) == {"-"}:
            continue
        if number + 1 < len(text) and text[number + 1] and set(text[number + 1]) == {"-"}:
            lines += [f"**{line}**", ""]
            listed = True
        elif listed and line and not line.startswith(" "):
            lines.append(f"- `{line}`")
        elif listed and line:
            lines[-1] += f": {line.strip()}" if lines[-1].endswith("`") else f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines).strip() + "\n"


METRICS_HEAD = """# Metrics

Generated with `make reference`.

Names and types follow Prometheus conventions: counters only grow and end in `_total`, units are base units, and
shares are ratios.

Metrics without a value are absent, because unknown is not 0. A test runs `promtool check metrics` on each service.

The API serves metrics at `/metrics` and on `--metrics-port`, and each other service on its `--metrics-port`.

Metrics about the machine
(`flitwatch_fabric_*`, `flitwatch_group_*`, `flitwatch_link_class_*`, `flitwatch_recent_gaps`, `flitwatch_alerts_firing`, `flitwatch_job_*`) need the
right to view. If callers without a login may not view, give Prometheus a token with scope `read`
(`authorization: {credentials_file: ...}`).

The API reads them from the database at most every 15 s.
"""


def collect_families() -> dict[str, list[Metric]]:
    """Return every metric family by service."""
    from flitwatch.own_figures import delivery_families, place_families, queue_families
    from flitwatch_api.health.metrics import Metrics
    from flitwatch_db.alerts.store import ReceiverFigures
    from flitwatch_db.tasks.table import QueueFigures
    from flitwatch_ingest.collectors.metrics import PublisherCollector
    from flitwatch_ingest.collectors.publisher import Publisher
    from flitwatch_ingest.exporters import Intake, MetricTable
    from flitwatch_ingest.exporters.metrics import EndpointCollector
    from flitwatch_ingest.writer.measures import Measures
    from flitwatch_ingest.writer.metrics import WriterCollector

    publisher = Publisher(cast(Any, None))
    writer = cast(Any, SimpleNamespace(measures=Measures(), assigned=SimpleNamespace(mine=())))
    api = Metrics()
    # A family of the client library shows its labels only with its first value.
    api.requests.labels("GET", "/", "200")
    api.seconds.labels("GET", "/")
    own = CollectorRegistry()
    process_info("flitwatch", own)
    return {
        "API": api.everything(),
        "Writer": list(WriterCollector(writer).collect()),
        "Worker": [*queue_families([QueueFigures("ml", 0, 0, 0, 0, 0)]), *place_families(None)],
        "Alerting": delivery_families([ReceiverFigures("chat", 0, 0, 0)]),
        "Collectors": list(PublisherCollector(publisher).collect()),
        "`collect prometheus`": list(EndpointCollector(Intake(MetricTable(), publisher), None, None).collect()),
        "Every service but the API": [
            *own.collect(),
            *(family for family in REGISTRY.collect() if family.name.startswith(("process_", "python_"))),
        ],
    }


def render_metrics() -> str:
    """Return the text of docs/metrics.md."""
    parts = [METRICS_HEAD]
    for service, service_families in collect_families().items():
        parts.append(f"\n## {service}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
        parts += sorted(_format_line(family) for family in service_families)
    return "".join(parts)


def _format_line(family: Metric) -> str:
    name = family.name + {"counter": "_total", "info": "_info"}.get(family.type, "")
    labels = ", ".join(f"`{label}`" for label in _list_labels(family))
    return f"| `{name}` | {family.type} | {labels} | {family.documentation} |\n"


def _list_labels(family: Metric) -> Iterable[str]:
    declared = getattr(family, "_labelnames", None)
    if declared:
        return tuple(declared)
    return dict.fromkeys(label for sample in family.samples for label in sample.labels if label != "le")


if __name__ == "__main__":
    docs = Path(__file__).resolve().parents[3] / "docs"
    (docs / "commands.md").write_text(render_reference())
    (docs / "settings.md").write_text(render_settings())
    (docs / "metrics.md").write_text(render_metrics())
    (docs / "client.md").write_text(render_client())
    Path(__file__).with_name("flitwatch.toml").write_text(render_configuration())
    Path(outline.FILE).write_text(render_outline())
