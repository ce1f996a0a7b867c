"""A broker with TLS and SCRAM: clients with both are served, errors for other clients say what to correct, and no password is printed."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from support.databases import PLACE

from flitwatch.main import main
from flitwatch_domain.errors import BadInput, FlitwatchError, Unavailable
from flitwatch_ops.stack.daemon import free_port
from flitwatch_ops.stack.kafka import Kafka
from flitwatch_stream.backends import open_log
from flitwatch_stream.kafka_site import VARIABLE

pytestmark = [pytest.mark.integration, pytest.mark.system("stores")]
USER, PASSWORD, ADMIN_TIMEOUT_S = "flitwatch", "Sesame-open-7391", 60


def authority(name: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """A CA of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key, _certificate(name, key.public_key(), name, key, ca=True)


def _certificate(name: str, public, issuer: str, key, ca: bool = False) -> x509.Certificate:  # type: ignore[no-untyped-def]
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca, None), critical=True)
    )
    if not ca:
        here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        made = made.add_extension(x509.SubjectAlternativeName(here), critical=False)
    return made.sign(key, hashes.SHA256())


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


class SecuredKafka(Kafka):
    """The broker with one more listener, for clients of the site: TLS with SCRAM."""

    def __init__(self, folder: Path, keystore: Path) -> None:
        super().__init__(folder, quick=True)
        self.keystore, self.site_port = keystore, free_port()

    @property
    def site_url(self) -> str:
        return f"kafka://127.0.0.1:{self.site_port}"

    def _configure(self) -> None:
        super()._configure()
        port, controller = self._ports()
        site = "listener.name.site"
        with self.properties.open("a") as file:
            file.write(f"""
listeners=PLAINTEXT://127.0.0.1:{port},SITE://127.0.0.1:{self.site_port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SITE://127.0.0.1:{self.site_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SITE:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
{site}.sasl.enabled.mechanisms=SCRAM-SHA-512
{site}.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
{site}.ssl.keystore.type=PEM
{site}.ssl.keystore.location={self.keystore}
""")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="flitwatch-test-", dir=PLACE) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def broker(folder: Path) -> Iterator[SecuredKafka]:
    ca_key, ca = authority("site CA")
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    (folder / "broker.pem").write_text(private + pem(_certificate("localhost", key.public_key(), "site CA", ca_key)))
    (folder / "ca.pem").write_text(pem(ca))
    (folder / "other-ca.pem").write_text(pem(authority("another CA")[1]))
    with SecuredKafka(folder / "kafka", folder / "broker.pem") as started:
        admin = AdminClient({"bootstrap.servers": started.url.removeprefix("kafka://")})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        wanted = [UserScramCredentialUpsertion(USER, info, PASSWORD.encode())]
        for answer in admin.alter_user_scram_credentials(wanted).values():
            answer.result(ADMIN_TIMEOUT_S)
        yield started


@pytest.fixture
def site(folder: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Writes the site's file of properties, right but for what is given."""

    def write(**other: str | None) -> Path:
        lines = {
            "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": USER,
            "sasl.password": PASSWORD, "ssl.ca.location": str(folder / "ca.pem"),
        } | {name.replace("_", "."): value for name, value in other.items()}  # fmt: skip
        file = folder / "site.properties"
        file.write_text("# of the site\n\n" + "".join(f"{k}={v}\n" for k, v in lines.items() if v is not None))
        file.chmod(0o600)
        monkeypatch.setenv(VARIABLE, str(file))
        return file

    return write


def test_who_has_the_certificate_and_the_login_reads_what_they_wrote(broker: SecuredKafka, site) -> None:  # type: ignore[no-untyped-def]
    site()
    log = open_log(broker.site_url)
    with log.producer() as producer:
        for number in range(500):
            producer.append("secured", str(number).encode(), key=str(number % 7).encode())
        producer.flush()
    assert sum(log.end_offsets("secured")) == 500
    read = []
    with log.consumer("readers", ["secured"]) as consumer:
        while len(read) < 500:
            read += [int(record.value) for record in consumer.poll()]
    assert sorted(read) == list(range(500))


@pytest.mark.parametrize(
    ("wrong", "said", "advice"),
    [
        ({"sasl_password": "Sesame-shut-1111"}, "Authentication failed", "Check the user and the password"),
        ({"sasl_username": "nobody"}, "Authentication failed", "Check the user and the password"),
        ({"ssl_ca_location": "other-ca.pem"}, "certificate", "Check ssl.ca.location"),
        ({"sasl_mechanism": "PLAIN"}, "PLAIN", "Check"),
        ({"security_protocol": "PLAINTEXT"}, "does not answer", "that its listener uses the security.protocol"),
    ],
)
def test_who_is_refused_gets_the_reason_and_what_to_correct(
    broker: SecuredKafka,
    folder: Path,
    site,  # type: ignore[no-untyped-def]
    wrong: dict[str, str],
    said: str,
    advice: str,
) -> None:
    if "ssl_ca_location" in wrong:
        wrong = {"ssl_ca_location": str(folder / wrong["ssl_ca_location"])}
    site(**wrong)
    log = open_log(broker.site_url)
    with pytest.raises(Unavailable) as refused:
        log.topics()
    assert said in str(refused.value) and advice in str(refused.value.advice)
    assert VARIABLE in str(refused.value.advice) and "Sesame" not in f"{refused.value} {refused.value.advice}"


def test_a_reader_and_the_doctor_are_informed_too_and_no_password_is_printed(
    broker: SecuredKafka,
    site,
    capfd: pytest.CaptureFixture[str],  # type: ignore[no-untyped-def]
) -> None:
    site(sasl_password="Sesame-shut-1111")
    log = open_log(broker.site_url)
    with pytest.raises(Unavailable, match="refuses this client"), log.consumer("refused", ["secured"]) as consumer:
        for _ in range(60):
            consumer.poll()
    with pytest.raises(SystemExit):
        main(["doctor", "--log", broker.site_url])
    printed = "".join(capfd.readouterr())
    assert "Sesame" not in printed and "Check the user and the password" in printed


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("enable.auto.commit=true", "line 7: enable.auto.commit cannot be set"),
        ("group.id=mine", "line 7: group.id cannot be set"),
        ("sasl.username=other", "line 7: sasl.username is set twice"),
        ("what is this", "line 7 is not a property"),
        ("ssl.no.such.thing=1", "No such configuration property"),
    ],
)
def test_what_a_site_may_not_set_is_refused_by_its_line(site, line: str, said: str) -> None:  # type: ignore[no-untyped-def]
    file = site()
    text = file.read_text().replace("\n\n", "\n", 1)
    file.write_text(text + line + "\n")
    with pytest.raises(BadInput, match=said) as refused:
        open_log("kafka://127.0.0.1:9").topics()
    assert "Sesame" not in str(refused.value)


def test_no_value_is_shown_where_a_password_stands_on_the_wrong_line(site) -> None:  # type: ignore[no-untyped-def]
    site(security_protocol="Sesame-misplaced")
    with pytest.raises(BadInput, match=r"security\.protocol") as refused:
        open_log("kafka://127.0.0.1:9").topics()
    assert "Sesame" not in f"{refused.value} {refused.value.advice}"


def test_a_file_with_a_password_that_others_may_read_is_refused(site) -> None:  # type: ignore[no-untyped-def]
    file = site()
    file.chmod(0o644)
    with pytest.raises(BadInput, match=r"holds sasl.password, and others may read") as refused:
        open_log("kafka://127.0.0.1:9").topics()
    assert f"chmod 640 {file}" in str(refused.value.advice)
    file.chmod(0o640)
    os.environ[VARIABLE] = str(file) + ".gone"
    with pytest.raises(FlitwatchError, match="cannot be read"):
        open_log("kafka://127.0.0.1:9").topics()
