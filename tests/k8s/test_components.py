"""The components of k8s/, all in one overlay: built, and connected to each other and to the product."""

from __future__ import annotations

import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import kubernetes_validate
import pytest
import yaml

from flitwatch.command_line import cli
from flitwatch_ingest.collectors.slingshot import GROUP
from flitwatch_stream import kafka_site, topics
from flitwatch_stream.log import DEFAULT_PARTITIONS

ROOT = Path(__file__).parents[2]
COMPONENTS = ROOT / "k8s" / "components"
README = (ROOT / "k8s" / "README.md").read_text()
#: Kinds of operators, whose schemas Kubernetes does not have: each was read against its own by hand.
OPERATED = {
    ("kafka.strimzi.io/v1", "Kafka"),
    ("kafka.strimzi.io/v1", "KafkaNodePool"),
    ("kafka.strimzi.io/v1", "KafkaUser"),
    ("postgresql.cnpg.io/v1", "Cluster"),
    ("keda.sh/v1alpha1", "ScaledObject"),
    ("keda.sh/v1alpha1", "TriggerAuthentication"),
    ("monitoring.coreos.com/v1", "PodMonitor"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
}
#: What operators make, by the operator's object that it is named after.
MADE = {"kafka-cluster-ca-cert": ("Kafka", "kafka")}
SITE = {"class": "traefik", "host": "noise.example.edu", "tls-secret": "noise-tls", "controller-namespace": "edge"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What an overlay with every component builds to, at a site with names of its own for the Ingress."""
    place = tmp_path_factory.mktemp("k8s") / "k8s"
    shutil.copytree(ROOT / "k8s", place)
    names = place / "overlays" / "production" / "ingress.yaml"
    held = yaml.safe_load(names.read_text())
    assert held["data"].keys() == SITE.keys()
    names.write_text(yaml.safe_dump(held | {"data": SITE}))
    # The Ingress is in the production overlay already.
    others = sorted(one.name for one in COMPONENTS.iterdir() if one.name != "ingress")
    site = place / "overlays" / "site"
    site.mkdir()
    wanted = {
        "namespace": "flitwatch",
        "resources": ["../production"],
        "components": [f"../../components/{one}" for one in others],
    }
    (site / "kustomization.yaml").write_text(yaml.safe_dump(wanted))
    return build_overlay(site)


def build_overlay(folder: Path) -> list[dict]:
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl (with kustomize)")
    done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def named(built: list[dict], kind: str, name: str) -> dict:
    (found,) = (one for one in built if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


def walk(value: Any) -> Iterator[dict]:
    """Every mapping in a manifest."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else []:
        yield from walk(one)


def container(built: list[dict], kind: str, name: str) -> dict:
    (found,) = named(built, kind, name)["spec"]["template"]["spec"]["containers"]
    return found


def test_all_follow_a_schema_or_are_an_operators(built: list[dict]) -> None:
    kinds = {(one["apiVersion"], one["kind"]) for one in built}
    assert kinds >= OPERATED
    for manifest in built:
        assert manifest["kind"] == "Namespace" or manifest["metadata"]["namespace"] == "flitwatch"
        if (manifest["apiVersion"], manifest["kind"]) not in OPERATED:
            kubernetes_validate.validate(manifest, "1.32", strict=True)


@pytest.mark.parametrize("file", sorted(COMPONENTS.rglob("*.yaml")), ids=lambda f: str(f.relative_to(COMPONENTS)))
def test_a_file_for_an_operator_says_what_it_was_written_for(file: Path) -> None:
    text = file.read_text()
    head = " ".join(line[2:] for line in re.match(r"(?:#.*\n)*", text)[0].splitlines())
    for manifest in yaml.safe_load_all(text):
        if (manifest["apiVersion"], manifest["kind"]) in OPERATED:
            assert f"Written for {manifest['apiVersion']} (" in head and "not run on a cluster" in head


def test_secrets_and_config_maps_are_there_or_the_readme_makes_them(built: list[dict]) -> None:
    maps = {one["metadata"]["name"] for one in built if one["kind"] == "ConfigMap"}
    secrets: set[str] = set()
    for manifest in built:
        for one in walk(manifest):
            secrets |= {one[key]["name"] for key in ("secretKeyRef", "secretRef") if key in one}
            secrets |= {one["secretName"]} if "secretName" in one else set()
            secrets |= {one["secret"]["name"]} if "name" in one.get("secret", {}) else set()
            secrets |= {held["name"] for held in one.get("secretTargetRef", [])}
            used = {one[key]["name"] for key in ("configMapKeyRef", "configMapRef", "configMap") if key in one}
            assert used <= maps
    assert {"flitwatch-kafka", "flitwatch-database", "flitwatch-keda", "kafka-cluster-ca-cert"} <= secrets
    heads = "".join(file.read_text() for file in COMPONENTS.rglob("kustomization.yaml"))
    for secret in secrets - {SITE["tls-secret"]}:
        if secret in MADE:
            assert named(built, *MADE[secret])
        else:
            assert f"secret generic {secret} " in README + heads or f"Secret `{secret}` (" in README, secret


def test_no_config_map_holds_a_credential(built: list[dict]) -> None:
    for manifest in (one for one in built if one["kind"] == "ConfigMap"):
        for key, value in manifest["data"].items():
            lines = [line for line in value.splitlines() if not line.lstrip().startswith("#")]
            assert not re.search(r"(?i)password|secret|token|//[^/\s]*:[^/\s]*@", f"{key} {lines}"), key


def test_what_the_pods_are_given_are_settings(built: list[dict]) -> None:
    known = set(re.findall(r"^\| `(FLITWATCH_\w+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))
    given = {
        one["name"] for manifest in built for one in walk(manifest) if str(one.get("name")).startswith("FLITWATCH_")
    }
    given |= named(built, "ConfigMap", "flitwatch")["data"].keys()
    # Of the place URLs are made, by Kubernetes and not by us.
    assert "FLITWATCH_KAFKA_PROPERTIES" in given and given - {"FLITWATCH_DB_PLACE"} <= known


def test_the_log_is_the_one_that_strimzi_runs(built: list[dict]) -> None:
    kafka = named(built, "Kafka", "kafka")["spec"]["kafka"]
    (listener,) = kafka["listeners"]
    settings = named(built, "ConfigMap", "flitwatch")["data"]
    assert settings["FLITWATCH_LOG"] == f"kafka://kafka-kafka-bootstrap:{listener['port']}"
    (out, _) = named(built, "NetworkPolicy", "to-database-and-log")["spec"]["egress"]
    assert {"protocol": "TCP", "port": listener["port"]} in out["ports"]
    assert listener["tls"] is True and listener["authentication"] == {"type": "scram-sha-512"}
    pool = named(built, "KafkaNodePool", "server")
    assert pool["metadata"]["labels"]["strimzi.io/cluster"] == "kafka"
    assert pool["spec"]["replicas"] == kafka["config"]["default.replication.factor"] == 3
    assert kafka["config"]["min.insync.replicas"] == 2 and kafka["config"]["num.partitions"] == DEFAULT_PARTITIONS
    composed = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["kafka"]["environment"]
    for name in ("log.retention.hours", "log.retention.bytes", "log.segment.bytes", "message.max.bytes"):
        assert kafka["config"][name] == composed["KAFKA_" + name.upper().replace(".", "_")], name


def test_the_login_may_use_our_topics_and_groups(built: list[dict]) -> None:
    def allowed(kind: str, name: str) -> set[str]:
        return {
            operation
            for acl in named(built, "KafkaUser", "flitwatch")["spec"]["authorization"]["acls"]
            if acl["resource"]["type"] == kind
            and (name.startswith if acl["resource"]["patternType"] == "prefix" else name.__eq__)(
                acl["resource"]["name"]
            )
            for operation in acl["operations"]
        }

    for topic in (topics.JOBS, topics.RUNS, topics.REJECTED, topics.SAMPLES, "ldms.node"):
        assert {"Create", "Describe", "Read", "Write"} <= allowed("topic", topic), topic
    group = next(one.default for one in cli.get_command(click.Context(cli), "writer").params if one.name == "group")
    source = "".join(file.read_text() for file in (ROOT / "services" / "stream" / "flitwatch_stream").glob("*.py"))
    readers = set(re.findall(r'"group\.id": "([\w-]+)"', source))
    assert readers == {"flitwatch-offsets"}
    for name in (f"{group}-{uuid.uuid4().hex[:12]}", GROUP, *readers):
        assert {"Describe", "Read"} <= allowed("group", name), name
    assert not allowed("topic", "others") and not allowed("group", "others")


def test_the_pods_properties_of_kafka_are_what_the_product_takes(
    built: list[dict], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (COMPONENTS / "strimzi" / "kafka.properties").read_text()
    assert "password" not in text and "(cat k8s/components/strimzi/kafka.properties; echo sasl.password=" in README
    file = tmp_path / "kafka.properties"
    file.write_text(text + "sasl.password=drawn\n")
    file.chmod(0o440)
    monkeypatch.setenv(kafka_site.VARIABLE, str(file))
    found = kafka_site.load_properties()
    user = named(built, "KafkaUser", "flitwatch")
    assert found["sasl.username"] == user["metadata"]["name"] and found["security.protocol"] == "SASL_SSL"
    for name in ("api", "writer"):
        pod = named(built, "Deployment", name)["spec"]["template"]["spec"]
        (held,) = (one["projected"] for one in pod["volumes"] if one["name"] == "kafka")
        (mount,) = (one["mountPath"] for one in pod["containers"][0]["volumeMounts"] if one["name"] == "kafka")
        paths = {f"{mount}/{item['path']}" for source in held["sources"] for item in source["secret"]["items"]}
        variables = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
        assert paths == {variables[kafka_site.VARIABLE], found["ssl.ca.location"]} and held["defaultMode"] == 0o440
    # Neither speaks to the log.
    for name in ("worker", "alerting"):
        assert "kafka" not in str(named(built, "Deployment", name)["spec"]["template"]["spec"])


def test_the_database_is_the_one_that_cloudnativepg_runs(built: list[dict]) -> None:
    cluster = named(built, "Cluster", "database")["spec"]
    made = cluster["bootstrap"]["initdb"]
    assert (
        named(built, "ConfigMap", "flitwatch")["data"]["FLITWATCH_DB_PLACE"] == f"database-rw:5432/{made['database']}"
    )
    assert made["postInitSQL"] == [f"ALTER ROLE {made['owner']} CREATEROLE"]
    assert f"owner-url=postgresql://{made['owner']}:$password@database-rw/{made['database']}" in README
    assert f"--type=kubernetes.io/basic-auth --from-literal=username={made['owner']}" in README
    assert cluster["instances"] == 3 and cluster["postgresql"]["synchronous"]["number"] == 1
    migrate = named(built, "Deployment", "api")["spec"]["template"]["spec"]["initContainers"][0]
    assert migrate["env"][0]["valueFrom"]["secretKeyRef"]["name"] == made["secret"]["name"]


def test_what_is_scaled_and_by_what(built: list[dict]) -> None:
    for name in ("writer", "worker"):
        scaled = named(built, "ScaledObject", name)["spec"]
        target = named(built, "Deployment", scaled["scaleTargetRef"]["name"])["spec"]
        assert "replicas" not in target, "each apply would undo what KEDA did"
        assert 1 <= scaled["minReplicaCount"] < scaled["maxReplicaCount"]
    writer, worker = (named(built, "ScaledObject", one)["spec"] for one in ("writer", "worker"))
    assert writer["maxReplicaCount"] <= named(built, "Kafka", "kafka")["spec"]["kafka"]["config"]["num.partitions"]
    (lag,), (queue,) = writer["triggers"], worker["triggers"]
    assert lag["type"] == "prometheus" and queue["type"] == "postgresql"
    metrics = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE))
    assert set(re.findall(r"flitwatch_\w+", lag["metadata"]["query"])) <= metrics
    named(built, "TriggerAuthentication", queue["authenticationRef"]["name"])
    query = queue["metadata"]["query"]
    migrations = ROOT / "db" / "flitwatch_db" / "migrations" / "sql"
    (table,) = re.findall(r"FROM flitwatch\.(\w+)", query)
    sql = "".join(file.read_text() for file in sorted(migrations.glob("*.sql")))
    columns = re.search(rf"CREATE TABLE {table} \((.*?)\n\);", sql, re.DOTALL)
    assert columns is not None
    states = set(re.findall(r"'(\w+)'", query))
    (state,) = (line for line in columns[1].splitlines() if line.split()[:1] == ["state"])
    assert states and states <= set(re.findall(r"'(\w+)'", state))


#: Ports to which a component lets a pod out: (pod, port). Every other component adds none.
WAYS_OUT = {
    "schema-registry": {("writer", 8081)},
    "kafka-tls": {("api", 9093), ("writer", 9093), ("twin", 9093)},
    "oidc": {("api", 443)},
    "ldap": {("api", 636), ("api", 389)},
    "archive": {("archive-policy", 5432), ("archive-policy", 53)},
}


def ways(manifests: list[dict], direction: str) -> set[tuple[str, int | str]]:
    """Pods and the ports that NetworkPolicies open in a direction; a rule without ports opens `any`."""
    found: set[tuple[str, int | str]] = set()
    for spec in (one["spec"] for one in manifests if one["kind"] == "NetworkPolicy"):
        selector = spec["podSelector"]
        names = set(selector.get("matchLabels", {}).values()) | {
            value for one in selector.get("matchExpressions", []) for value in one["values"]
        }
        for rule in spec.get(direction, []):
            opened = {port["port"] for port in rule.get("ports", [])} or {"any"}
            found |= {(name, port) for name in names for port in opened}
    return found


@pytest.fixture(scope="module")
def production() -> list[dict]:
    return build_overlay(ROOT / "k8s" / "overlays" / "production")


def test_nothing_comes_in_or_goes_out_but_what_is_listed(production: list[dict]) -> None:
    denied = next(one["spec"] for one in production if one["metadata"]["name"] == "default-deny")
    assert set(denied["policyTypes"]) == {"Ingress", "Egress"} and not denied.keys() & {"ingress", "egress"}
    for one in production:
        if one["kind"] == "Deployment":
            assert denied["podSelector"]["matchLabels"].items() <= one["spec"]["template"]["metadata"]["labels"].items()
    pods = ("api", "writer", "worker", "alerting", "twin")
    always = {(pod, port) for pod in pods for port in (5432, 9092, 53)}
    assert ways(production, "egress") == always | {("alerting", 443), ("alerting", 9093)}
    assert ways(production, "ingress") == {("api", 8765), *((pod, 9464) for pod in pods if pod != "twin")}


@pytest.mark.parametrize("component", sorted(one.name for one in COMPONENTS.iterdir() if one.name != "ingress"))
def test_a_component_lets_out_its_own_pods_only(component: str, production: list[dict], tmp_path: Path) -> None:
    shutil.copytree(ROOT / "k8s", tmp_path / "k8s")
    site = tmp_path / "k8s" / "overlays" / "site"
    site.mkdir()
    wanted = {"resources": ["../production"], "components": [f"../../components/{component}"]}
    (site / "kustomization.yaml").write_text(yaml.safe_dump(wanted))
    manifests = build_overlay(site)
    assert ways(manifests, "egress") - ways(production, "egress") == WAYS_OUT.get(component, set())
    ways_in = {("database", 5432), ("database", 8000)} if component == "cloudnative-pg" else set()
    assert ways(manifests, "ingress") - ways(production, "ingress") == ways_in


def test_the_monitor_finds_every_pod_with_figures(built: list[dict]) -> None:
    monitor = named(built, "PodMonitor", "flitwatch")["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    wanted = monitor["selector"]["matchLabels"].items()
    for name in ("api", "writer", "worker", "alerting"):
        assert wanted <= named(built, "Deployment", name)["spec"]["template"]["metadata"]["labels"].items()
        ports = {one["name"] for one in container(built, "Deployment", name)["ports"]}
        assert endpoint["port"] in ports and endpoint["path"] == "/metrics"


def test_the_alerts_are_about_figures_that_are_shown_and_entries_of_the_runbook(tmp_path: Path) -> None:
    rules = yaml.safe_load((COMPONENTS / "pod-monitor" / "rules.yaml").read_text())["spec"]
    shown = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "metrics.md").read_text(), re.M))
    titles = re.findall(r"^### (.+)$", (ROOT / "docs" / "runbook.md").read_text(), re.M)
    entries = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    (group,) = rules["groups"]
    for rule in group["rules"]:
        assert set(re.findall(r"(?:flitwatch|process)_\w+(?=[{\[ ])", rule["expr"])) <= shown, rule["expr"]
        assert rule["annotations"]["runbook"] in entries, rule["alert"]
    if shutil.which("promtool"):
        (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules))
        done = subprocess.run(["promtool", "check", "rules", tmp_path / "rules.yml"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_ingress_has_the_names_of_the_site(built: list[dict]) -> None:
    ingress = named(built, "Ingress", "flitwatch")["spec"]
    assert ingress["ingressClassName"] == SITE["class"]
    assert ingress["tls"] == [{"hosts": [SITE["host"]], "secretName": SITE["tls-secret"]}]
    assert [rule["host"] for rule in ingress["rules"]] == [SITE["host"]]
    assert named(built, "ConfigMap", "flitwatch")["data"]["FLITWATCH_API_HOSTS"] == f"localhost,{SITE['host']}"
    (rule,) = named(built, "NetworkPolicy", "api-from-ingress")["spec"]["ingress"]
    (peer,) = rule["from"]
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": SITE["controller-namespace"]}
    assert not any(one["metadata"]["name"] == "flitwatch-ingress" for one in built)


def test_workers_see_the_archive_that_the_policy_names(built: list[dict]) -> None:
    policy = container(built, "Job", "archive-policy")
    command = cli.get_command(click.Context(cli), "db").get_command(click.Context(cli), policy["args"][1])
    known = {option for one in command.params for option in one.opts}
    assert {one for one in policy["args"] if one.startswith("--")} <= known
    folder = policy["args"][policy["args"].index("--folder") + 1]
    worker = container(built, "Deployment", "worker")
    assert policy["image"] == worker["image"]
    for held, kind, name in ((policy, "Job", "archive-policy"), (worker, "Deployment", "worker")):
        (mount,) = (one for one in held["volumeMounts"] if one["mountPath"] == folder)
        volumes = named(built, kind, name)["spec"]["template"]["spec"]["volumes"]
        (volume,) = (one for one in volumes if one["name"] == mount["name"])
        named(built, "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
