"""A real LDAP server: Debian's slapd with TLS, a password policy and the users of a small centre."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import ldap3
import pytest
from support.waiting import eventually, free_port

BASE = "dc=centre,dc=example"
ADMIN, ADMIN_PASSWORD = f"cn=admin,{BASE}", "of the administrator"
READER, READER_PASSWORD = f"cn=flitwatch,{BASE}", "of the reader"
SLAPD = shutil.which("slapd") or "/usr/sbin/slapd"


def ssha(password: str) -> str:
    """A password as slapd keeps it."""
    salt = os.urandom(8)
    return "{SSHA}" + b64encode(hashlib.sha1(password.encode() + salt).digest() + salt).decode()


class LdapServer:
    """A slapd that can be stopped and started again; `ca` is the file of its certificate's authority."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.tls_port = folder, free_port(), free_port()
        self.ca = folder / "ca.pem"
        self._process: subprocess.Popen[bytes] | None = None
        self._certificates()
        (folder / "data").mkdir()
        (folder / "slapd.conf").write_text(
            "\n".join(
                [
                    *(f"include /etc/ldap/schema/{name}.schema" for name in ("core", "cosine", "nis", "inetorgperson")),
                    "modulepath /usr/lib/ldap",
                    "moduleload back_mdb",
                    "moduleload ppolicy",
                    # As lax servers do: a name with an empty password is let in as nobody (RFC 4513, 5.1.2).
                    "allow bind_anon_cred bind_anon_dn",
                    f"TLSCACertificateFile {self.ca}",
                    f"TLSCertificateFile {folder / 'server.pem'}",
                    f"TLSCertificateKeyFile {folder / 'server.key'}",
                    "database mdb",
                    f"suffix {BASE}",
                    f"rootdn {ADMIN}",
                    f"rootpw {ssha(ADMIN_PASSWORD)}",
                    f"directory {folder / 'data'}",
                    f'access to attrs=userPassword by anonymous auth by self write by dn.exact="{ADMIN}" write by * none',
                    f'access to * by dn.exact="{READER}" read by self read by * none',
                    "overlay ppolicy",
                    f"ppolicy_default cn=policy,{BASE}",
                    "",
                ]
            )
        )
        subprocess.run(
            ["slapadd", "-f", folder / "slapd.conf"], input=_CENTRE.encode(), check=True, capture_output=True
        )

    @property
    def ldaps(self) -> str:
        """Its address with TLS from the start, by a name that is in its certificate."""
        return f"ldaps://localhost:{self.tls_port}"

    @property
    def ldap(self) -> str:
        """Its address without, where STARTTLS begins it."""
        return f"ldap://localhost:{self.port}"

    def start(self) -> None:
        """Run it, and wait until it answers."""
        urls = f"ldap://127.0.0.1:{self.port}/ ldaps://127.0.0.1:{self.tls_port}/"
        self._process = subprocess.Popen(
            [SLAPD, "-f", self.folder / "slapd.conf", "-h", urls, "-d", "0"], stderr=subprocess.DEVNULL
        )
        eventually(self._answers, what="slapd to answer", process=self._process)

    def _answers(self) -> bool:
        try:
            self.admin().unbind()
        except ldap3.core.exceptions.LDAPExceptionError:
            return False
        return True

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def admin(self) -> ldap3.Connection:
        """A connection that may change everything."""
        server = ldap3.Server("127.0.0.1", self.port, get_info=ldap3.NONE, connect_timeout=5)
        return ldap3.Connection(server, ADMIN, ADMIN_PASSWORD, auto_bind=True, raise_exceptions=True, check_names=False)

    def add_person(self, uid: str, password: str, **more: object) -> None:
        """A person with that name on the machine, in place of one of that name."""
        given = {"cn": uid, "sn": uid, "uid": uid, "uidNumber": 1000, "gidNumber": 1000, "homeDirectory": "/home"}
        entry = {**given, "userPassword": ssha(password), **more}
        dn = f"cn={ldap3.utils.dn.escape_rdn(uid)},ou=people,{BASE}"
        with self.admin() as conn:
            with suppress(ldap3.core.exceptions.LDAPNoSuchObjectResult):
                conn.delete(dn)
            conn.add(dn, ["inetOrgPerson", "posixAccount"], entry)

    def change(self, dn: str, attribute: str, *values: object) -> None:
        """Give an entry's attribute these values; none: take it away."""
        with self.admin() as conn:
            conn.modify(f"{dn},{BASE}", {attribute: [(ldap3.MODIFY_REPLACE, list(values))]})

    def remove(self, dn: str) -> None:
        """Take an entry away."""
        with self.admin() as conn:
            conn.delete(f"{dn},{BASE}")

    def _certificates(self) -> None:
        def openssl(*words: str) -> None:
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

        (self.folder / "names").write_text("subjectAltName=DNS:localhost\n")
        new = ("-newkey", "rsa:2048", "-nodes")
        openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Centre", "-days", "2")
        openssl("req", *new, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=ldap")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        openssl("x509", "-req", "-in", "server.csr", "-out", "server.pem", *signed)
        openssl("req", "-x509", *new, "-keyout", "o.key", "-out", "other-ca.pem", "-subj", "/CN=Other", "-days", "2")


@contextmanager
def ldap_server(folder: Path) -> Iterator[LdapServer]:
    """One that runs."""
    if not Path(SLAPD).exists() or shutil.which("openssl") is None:
        pytest.skip("needs OpenLDAP's server: services/cli/setup.sh directory")
    server = LdapServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


_CENTRE = f"""dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Centre
dc: centre

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{BASE}
objectClass: organizationalUnit
ou: groups

dn: cn=policy,{BASE}
objectClass: device
objectClass: pwdPolicy
cn: policy
pwdAttribute: userPassword
pwdLockout: TRUE
pwdMaxFailure: 50
pwdMustChange: TRUE

dn: {READER}
objectClass: person
cn: flitwatch
sn: flitwatch
userPassword: {ssha(READER_PASSWORD)}

dn: cn=staff,ou=groups,{BASE}
objectClass: groupOfNames
cn: staff
member: cn=nobody,{BASE}

dn: cn=flit-admins,ou=groups,{BASE}
objectClass: posixGroup
cn: flit-admins
gidNumber: 2000
"""
