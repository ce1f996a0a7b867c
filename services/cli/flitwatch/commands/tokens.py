"""`flitwatch tokens`: API tokens with scopes and an expiry time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from flitwatch.commands.users import open_accounts
from flitwatch.console import Database, FiniteRange, Group, database_options, json_option, print_result
from flitwatch.rest import ApiOptions, api_options, open_client
from flitwatch_domain.access import SCOPES

if TYPE_CHECKING:
    from flitwatch_client import models


@click.group(cls=Group)
def tokens() -> None:
    """Create, list and revoke API tokens. Requests send them as `Authorization: Bearer fwt_...`."""


@tokens.command()
@click.argument("account")
@click.option("--label", default="command line", help="Purpose of the token.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    default=("read",),
    help="Scope of the token (repeatable).",
)
@click.option(
    "--days",
    type=FiniteRange(0, 366, min_open=True),
    default=90,
    help="Days until the token expires.",
)
@json_option
@api_options
@database_options
def create(
    account: str, label: str, scopes: tuple[str, ...], days: float, as_json: bool, api: ApiOptions, database: Database
) -> None:
    """Create a token for an account. Its secret is shown once and stored as a hash. With --url or a profile, the command uses the API with the
    rights of your token. Otherwise it changes the database.
    """
    if (at_api := api.choose()) is not None:
        with open_client(at_api) as fw:
            asked = {"account": account, "label": label, "scopes": list(scopes), "days": days}
            print_result(fw.api.add_token(cast("models.NewToken", asked)), as_json)
        return
    from flitwatch_db.people import accounts as people
    from flitwatch_db.people import audit

    with open_accounts(database) as conn:
        number, secret, expires = people.add_token(conn, account, label, scopes, days)
        audit.by_command(conn, "tokens create", account, label=label, scopes=list(scopes), days=days)
    print_result({"token_id": number, "secret": secret, "expires": expires.isoformat()}, as_json)


@tokens.command("list")
@click.option("--account", help="List only tokens of this account.")
@json_option
@api_options
@database_options
def list_(account: str | None, as_json: bool, api: ApiOptions, database: Database) -> None:
    """List tokens without their secrets. With --url or a profile, the command asks the API: admins see all tokens, and users see their own.
    Otherwise it reads the database.
    """
    rows: Sequence[Mapping[str, Any]]
    if (at_api := api.choose()) is not None:
        with open_client(at_api) as fw:
            rows = [one for one in fw.api.tokens()["items"] if account in (None, one["account"])]
    else:
        from flitwatch_db.people import accounts as people

        with open_accounts(database) as conn:
            rows = people.list_tokens(conn, account)
    if as_json:
        print_result({"items": rows}, True)
        return
    for row in rows:
        state = "revoked" if row["revoked"] else f"until {str(row['expires'])[:10]}"
        print(f"{row['token_id']:>6} {row['account']:<24} {','.join(row['scopes']):<24} {state:<18} {row['label']}")


@tokens.command()
@click.argument("token_id", type=click.IntRange(0, 2**63 - 1))
@json_option
@api_options
@database_options
def revoke(token_id: int, as_json: bool, api: ApiOptions, database: Database) -> None:
    """Revoke a token. A running API stops accepting it within five seconds. With --url or a profile, the command uses the API. Otherwise it changes
    the database.
    """
    if (at_api := api.choose()) is not None:
        with open_client(at_api) as fw:
            fw.api.revoke_token(token_id)
    else:
        from flitwatch_db.people import accounts as people
        from flitwatch_db.people import audit

        with open_accounts(database) as conn:
            people.revoke_token(conn, token_id)
            audit.by_command(conn, "tokens revoke", str(token_id))
    print_result({"token_id": token_id, "revoked": True}, as_json)
