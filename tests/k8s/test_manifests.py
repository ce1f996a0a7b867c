"""The manifests of k8s/: built with kustomize, valid against Kubernetes' schemas, and as strict as documented in the README."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from flitwatch.command_line import cli
from flitwatch.commands.db import logins
from flitwatch_alerting.config import read_config
from flitwatch_db import connect
from flitwatch_db.core.logins import LOGINS, SERVICES, grant_logins, url_of
from flitwatch_db.people import accounts as people
from flitwatch_domain.logins import read_passwords
from flitwatch_ops.first_admin import ensure_admin

ROOT = Path(__file__).parents[2]
SCHEMAS = "1.32"
#: API groups whose schemas are not Kubernetes' own (test_components.py).
FOREIGN = {"kustomize.config.k8s.io", "kafka.strimzi.io", "postgresql.cnpg.io", "keda.sh", "monitoring.coreos.com"}
OURS = {"api", "writer", "worker", "alerting", "twin"}
DATABASE_ENV = "password=x\nowner-url=postgresql://flitwatch:x@database/flitwatch\n"

#: The production overlay of a centre with both of its own logins.
LOGIN = "resources: [../production]\ncomponents: [../../components/oidc, ../../components/ldap]\n"


@pytest.fixture(scope="module", params=["production", "demo", "login"])
def manifests(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What an overlay builds to."""
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl (with kustomize)")
    place = tmp_path_factory.mktemp("k8s") / "k8s"
    shutil.copytree(ROOT / "k8s", place)
    (place / "overlays" / "demo" / "database.env").write_text(DATABASE_ENV)
    drawn = CliRunner().invoke(cli, ["db", "logins", "--draw", "--folder", str(place / "overlays" / "demo" / "logins")])
    assert drawn.exit_code == 0, drawn.output
    login = place / "overlays" / "login"
    login.mkdir()
    (login / "kustomization.yaml").write_text(LOGIN)
    folder = place / "overlays" / request.param
    done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


@pytest.mark.parametrize("file", sorted((ROOT / "k8s").rglob("*.yaml")), ids=lambda f: str(f.relative_to(ROOT / "k8s")))
def test_files_follow_the_schemas(file: Path) -> None:
    for manifest in yaml.safe_load_all(file.read_text()):
        if manifest["apiVersion"].partition("/")[0] not in FOREIGN:
            kubernetes_validate.validate(manifest, SCHEMAS, strict=True)


def pods(manifests: list[dict]) -> dict[str, dict]:
    """Pod template by name."""
    return {
        m["metadata"]["name"]: m["spec"]["template"] for m in manifests if m["kind"] in ("Deployment", "StatefulSet")
    }


def test_builds_follow_the_schemas(manifests: list[dict]) -> None:
    for manifest in manifests:
        kubernetes_validate.validate(manifest, SCHEMAS, strict=True)


def test_our_pods_are_confined(manifests: list[dict]) -> None:
    found = pods(manifests)
    assert {"api", "writer", "worker", "alerting"} <= set(found)
    for name, template in found.items():
        pod = template["spec"]
        assert pod["automountServiceAccountToken"] is False and pod["securityContext"]["runAsNonRoot"] is True
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            confined = container["securityContext"]
            assert confined["allowPrivilegeEscalation"] is False and confined["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]
            assert name not in OURS or confined["readOnlyRootFilesystem"] is True
            assert not any(
                "value" in one and "@" in one["value"] and ":" in one["value"].split("@")[0].split("//")[-1]
                for one in container.get("env", [])
            ), "a password stands in the manifest"


def test_the_owner_of_the_tables_is_seen_by_migrations_only(manifests: list[dict]) -> None:
    for name in OURS & set(pods(manifests)):
        pod = pods(manifests)[name]["spec"]
        # The directory has a reader of its own, whose password is not the database's.
        secrets = {volume["name"]: volume["secret"] for volume in pod["volumes"] if "secret" in volume}
        held = {name: secret for name, secret in secrets.items() if secret["secretName"] != "flitwatch-ldap"}
        (migrate,), (service,) = pod["initContainers"], pod["containers"]
        assert migrate["env"][0]["valueFrom"]["secretKeyRef"]["key"] == "owner-url"
        assert {mount["name"] for mount in migrate["volumeMounts"]} & set(held) == {"all-logins"}
        assert {mount["name"] for mount in service["volumeMounts"]} & set(held) == {"logins"}
        # Of the passwords a service sees its own, and nothing else of the secrets.
        assert held["logins"]["items"] == [{"key": name, "path": "pgpass"}] and held["logins"]["defaultMode"] == 0o440
        assert "database" not in str([one for one in service["env"] if "valueFrom" in one])
        (url,) = (one["value"] for one in service["env"] if one["name"] == "FLITWATCH_DB")
        settings = next(
            m["data"] for m in manifests if m["kind"] == "ConfigMap" and m["metadata"]["name"] == "flitwatch"
        )
        given = conninfo_to_dict(url.replace("$(FLITWATCH_DB_PLACE)", settings["FLITWATCH_DB_PLACE"]))
        assert given["user"] == f"flitwatch_{SERVICES[name][0]}" and given["passfile"] == "/logins/pgpass"
        assert "password" not in given and given["dbname"] == "flitwatch"


def test_the_migration_sets_the_passwords_that_the_pods_are_given(embedded_db: str, tmp_path: Path) -> None:
    """The init container's command, in a folder that it cannot write: a secret's."""
    runner, drawn = CliRunner(), tmp_path / "logins"
    assert runner.invoke(cli, ["db", "logins", "--draw", "--folder", str(drawn)], catch_exceptions=False).exit_code == 0
    before = {path: (path.read_text(), path.stat().st_mtime_ns) for path in drawn.rglob("pgpass")}
    owner = conninfo_to_dict(embedded_db)
    held = read_passwords(Path(owner["passfile"]), owner)
    url = make_conninfo(embedded_db, passfile=None, password=held["flitwatch"])
    try:
        said = runner.invoke(cli, ["db", "logins", "--folder", str(drawn), "--db", url], catch_exceptions=False)
        assert said.exit_code == 0, said.output
        for path in drawn.rglob("pgpass"):
            path.chmod(0o440)
        assert before == {path: (path.read_text(), path.stat().st_mtime_ns) for path in drawn.rglob("pgpass")}
        for service, roles in SERVICES.items():
            with connect(url_of(url, drawn, service), role=roles[0]) as conn:
                assert conn.execute("SELECT session_user").fetchone() == (f"flitwatch_{roles[0]}",)
    finally:
        with connect(url, autocommit=True) as conn:
            grant_logins(conn, {login: held[login] for login in LOGINS})


def test_policies_budgets_and_services_find_their_pods(manifests: list[dict]) -> None:
    labels = [template["metadata"]["labels"] for template in pods(manifests).values()]
    for manifest in manifests:
        selector = manifest.get("spec", {}).get("podSelector") or manifest.get("spec", {}).get("selector")
        if manifest["kind"] not in ("NetworkPolicy", "PodDisruptionBudget", "Service"):
            continue
        if manifest["kind"] == "Service":
            selector = {"matchLabels": selector}
        assert any(_selects(selector, one) for one in labels), f"{manifest['kind']} {manifest['metadata']['name']}"


def _selects(selector: dict, labels: dict[str, str]) -> bool:
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return equal and all(labels.get(e["key"]) in e["values"] for e in selector.get("matchExpressions", []))


def composed() -> dict[str, dict]:
    """The services of docker-compose.yml by name."""
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def test_images_are_those_of_the_compose_file(manifests: list[dict]) -> None:
    known = {service["image"].replace("${FLITWATCH_VERSION:-0.1.0}", "0.1.0") for service in composed().values()}
    for name, template in pods(manifests).items():
        for container in [*template["spec"]["containers"], *template["spec"].get("initContainers", [])]:
            image = container["image"].removeprefix("images.example.org/")
            assert image in known
            assert name not in OURS or image == f"flitwatch-{name}:0.1.0"


def test_every_service_that_stays_up_is_watched_and_confined() -> None:
    for name, service in composed().items():
        assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"], name
        assert "cap_add" not in service or name == "db"
        if service["restart"] != "no":
            assert service["healthcheck"]["test"][0].startswith("CMD"), name
    for name in ("writer", "worker", "alerting", "twin"):
        service = composed()[name]
        port = service["command"][service["command"].index("--metrics-port") + 1]
        assert f":{port}/livez" in service["healthcheck"]["test"][-1]
        command = cli
        for word in service["command"]:
            if not isinstance(command, click.Group):
                break
            found = command.get_command(click.Context(command), word)
            assert found is not None
            command = found
        assert "--metrics-port" in {option for one in command.params for option in one.opts}


def test_each_service_has_an_image_of_its_own_that_the_dockerfile_makes() -> None:
    stages = re.findall(r"^FROM \S+ AS (\S+)$", (ROOT / "services" / "Dockerfile").read_text(), re.MULTILINE)
    built = {name: service for name, service in composed().items() if "build" in service}
    assert set(built) == {*OURS, "agent", "migrate"}
    for name, service in built.items():
        target = service["build"]["target"]
        assert target in stages and target == ("api" if name == "migrate" else name)
        assert service["image"] == f"flitwatch-{target}:${{FLITWATCH_VERSION:-0.1.0}}"


def test_what_has_no_service_is_watched_all_the_same(manifests: list[dict]) -> None:
    budgets = [m["spec"]["selector"] for m in manifests if m["kind"] == "PodDisruptionBudget"]
    scraped = next(m for m in manifests if m["metadata"]["name"] == "metrics-from-monitoring")["spec"]
    for name in ("api", "writer", "worker", "alerting"):
        template = pods(manifests)[name]
        labels, (container,) = template["metadata"]["labels"], template["spec"]["containers"]
        (port,) = (one["containerPort"] for one in container["ports"] if one["name"] == "metrics")
        for probe, path in (("startupProbe", "/metrics"), ("livenessProbe", "/livez")) if name != "api" else ():
            assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
        said = dict(zip(container["args"], container["args"][1:], strict=False))
        assert (said["--metrics-host"], said["--metrics-port"]) == ("0.0.0.0", str(port))
        assert any(_selects(budget, labels) for budget in budgets), name
        assert _selects(scraped["podSelector"], labels) and scraped["ingress"][0]["ports"] == [
            {"protocol": "TCP", "port": port}
        ]


def test_the_commands_of_the_pods_take_their_arguments(manifests: list[dict]) -> None:
    for name in ("api", "writer", "worker", "alerting"):
        (container,) = pods(manifests)[name]["spec"]["containers"]
        command, *arguments = container["args"]
        found = cli.get_command(click.Context(cli), command)
        assert found is not None
        known = {option for one in found.params for option in one.opts}
        assert {one for one in arguments if one.startswith("--")} <= known


def test_init_containers_wait_where_this_version_may_not_run(manifests: list[dict]) -> None:
    """What ends is started again: a pod of an older version, which a newer schema does not let run, would go round for ever."""
    known = {option for one in logins.params for option in one.opts}
    for name in OURS & set(pods(manifests)):
        (migrate,) = pods(manifests)[name]["spec"]["initContainers"]
        assert migrate["args"][:2] == ["db", "logins"] and "--wait" in migrate["args"]
        assert {one for one in migrate["args"] if one.startswith("--")} <= known


def test_alerting_reads_the_rules_of_its_config_map(manifests: list[dict], tmp_path: Path) -> None:
    pod = pods(manifests)["alerting"]["spec"]
    (container,) = pod["containers"]
    (volume,) = (one["configMap"]["name"] for one in pod["volumes"] if "configMap" in one)
    (mount,) = (one["mountPath"] for one in container["volumeMounts"] if one["name"] == "rules")
    held = next(m["data"] for m in manifests if m["kind"] == "ConfigMap" and m["metadata"]["name"] == volume)
    file = Path(container["args"][container["args"].index("--config") + 1])
    assert str(file.parent) == mount
    (tmp_path / file.name).write_text(held[file.name])
    chosen = read_config(tmp_path / file.name)
    assert chosen == read_config(None), "rules.yml is not the rules that a site begins with"


def test_the_readmes_line_gives_the_first_admin_a_password(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    line = next(
        line
        for line in (ROOT / "k8s" / "README.md").read_text().splitlines()
        if line.startswith("kubectl -n flitwatch exec")
    )
    program, *argv = shlex.split(line.partition(" -- ")[2])
    assert program == "flitwatch" and " deploy/api " in line
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path))
    monkeypatch.setenv("FLITWATCH_DB", embedded_db)
    ensure_admin(embedded_db)
    said = CliRunner().invoke(cli, argv, input="correct horse battery\n", catch_exceptions=False)
    assert said.exit_code == 0, said.output
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.log_in(conn, "admin", "correct horse battery")
