"""Roles from a provider's claims and a directory's groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flitwatch_api.people.access import RANK
from flitwatch_domain.errors import Forbidden, Unavailable

#: Role of a person whom the provider authenticates and whose claims give no higher role.
DEFAULT = "user"
GIVEN = ("viewer", "user", "operator", "admin")


def find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by name, or a nested one along the dots in the name (`realm_access.roles`); None if it is missing."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


class RoleMap:
    """Mapping from values to roles; the values are a claim's, or names of groups.

    Parameters
    ----------
    mapping : str    VALUE=ROLE,...; the value extends to the last `=`

    Raises
    ------
    ValueError
        An item is not a pair, or its role cannot be assigned.
    """

    def __init__(self, mapping: str) -> None:
        pairs = [part.strip().rpartition("=") for part in mapping.split(",") if part.strip()]
        self._by_value = {value.strip(): role.strip() for value, _, role in pairs}
        if "" in self._by_value or any(role not in GIVEN for role in self._by_value.values()):
            raise ValueError(mapping)

    def __bool__(self) -> bool:
        return bool(self._by_value)

    def of(self, values: Iterable[object]) -> str:
        """Return the highest role that the values give, else `user`."""
        roles = [self._by_value[value] for value in values if isinstance(value, str) and value in self._by_value]
        return max(roles, key=RANK.__getitem__, default=DEFAULT)


class Roles:
    """Mapping from a claim's values to roles.

    Parameters
    ----------
    claim : str      name of the claim; empty if the provider gives no roles
    mapping : str    see `RoleMap`

    Raises
    ------
    Unavailable
        There is a mapping without a claim, or to an invalid role.
    """

    def __init__(self, claim: str, mapping: str) -> None:
        self.claim = claim
        try:
            self._map = RoleMap(mapping)
            fits = bool(claim) == bool(self._map)
        except ValueError:
            fits = False
        if not fits:
            raise Unavailable(
                "logins by OpenID Connect cannot work: FLITWATCH_OIDC_ROLE_CLAIM and FLITWATCH_OIDC_ROLES do not match",
                advice=f"Set both or neither, the second like flitwatch-admins=admin,staff=operator; roles: {', '.join(GIVEN)}.",
            )

    def of(self, claims: Mapping[str, Any]) -> str | None:
        """Return the highest role that a user's claims give, else `user`; None if the provider gives no roles. Raise Forbidden if the claim is
        missing: a user without groups must be distinguished from one whose groups are not reported."""
        if not self.claim:
            return None
        claim_value = find_claim(claims, self.claim)
        if claim_value is None:
            raise Forbidden(
                f"your login has no role (claim {self.claim})",
                advice="An admin of this site can have the provider send it, or set FLITWATCH_OIDC_ROLE_CLAIM and FLITWATCH_OIDC_SCOPES.",
            )
        return self._map.of(claim_value if isinstance(claim_value, list) else [claim_value])
