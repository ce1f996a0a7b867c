"""Links from a job to its page in a site's other monitors, from templates in the settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter
from urllib.parse import quote, urlsplit

#: Fields of a template, and the cluster that stands for all clusters.
FIELDS, EACH = frozenset({"job_id", "cluster"}), "*"
MOST, LONGEST_NAME = 20, 40
_URL = re.compile(r"[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7e]+")


@dataclass(frozen=True)
class JobLink:
    """Template of a link, shown as `name` on the jobs of `cluster`, or of all clusters for EACH."""

    cluster: str
    name: str
    template: str

    @classmethod
    def read(cls, text: str) -> JobLink:
        """Parse one `CLUSTER|NAME|URL`. Raise ValueError if the text is invalid; the message explains why."""
        parts = [part.strip() for part in text.split("|")]
        shown = repr(text[:120])
        if len(parts) != 3 or not all(parts):
            raise ValueError(f"{shown} is not CLUSTER|NAME|URL")
        cluster, name, template = parts
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise ValueError(f"the name in {shown} has more than {LONGEST_NAME} letters, or some that cannot be shown")
        try:
            fields = list(Formatter().parse(template))
            empty = template.format(job_id="", cluster="")
            where = urlsplit(template)
            _ = where.port
        except (ValueError, LookupError, AttributeError):
            raise ValueError(f"{shown} has braces other than {{job_id}} and {{cluster}}") from None
        named = {name for _, name, spec, how in fields if name is not None}
        plain = not any(spec or how for _, _, spec, how in fields)
        if not plain or not named <= FIELDS or "job_id" not in named:
            raise ValueError(f"{shown} must contain {{job_id}}, and can contain {{cluster}}, but no other braces")
        if where.scheme not in ("https", "http") or not where.hostname or where.username or "{" in where.netloc:
            raise ValueError(f"{shown} does not begin with https:// or http:// and a host")
        if not _URL.fullmatch(empty):
            raise ValueError(f"{shown} contains characters that must be written as %20 and similar codes")
        return cls(cluster, name, template)

    def of(self, job_id: str, cluster: str) -> str | None:
        """Return the address for a job, or None if the link is for another cluster. Every id stays a single path component."""
        if self.cluster not in (EACH, cluster):
            return None
        return self.template.format(job_id=_quote_part(job_id), cluster=_quote_part(cluster))


def _quote_part(text: str) -> str:
    # A component of only dots would refer to the parent folder.
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")
