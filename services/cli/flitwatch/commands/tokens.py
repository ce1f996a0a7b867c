"""`flitwatch tokens`: expiring, scoped API tokens."""

from __future__ import annotations

import click

from flitwatch.commands.users import open_accounts
from flitwatch.console import FiniteRange, Group, database_options, json_option, print_result
from flitwatch_domain.access import SCOPES


@click.group(cls=Group)
def tokens() -> None:
    """Make, list and revoke API tokens; requests carry them as `Authorization: Bearer fwt_...`."""


@tokens.command()
@click.argument("account")
@click.option("--label", default="command line", show_default=True, help="What it is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    default=("read",),
    show_default=True,
    help="What it may do (repeat it).",
)
@click.option(
    "--days", type=FiniteRange(0, 366, min_open=True), default=90, show_default=True, help="Days until it expires."
)
@json_option
@database_options
def create(
    account: str, label: str, scopes: tuple[str, ...], days: float, as_json: bool, db_url: str | None, ephemeral: bool
) -> None:
    """Make a token of an account; its secret is shown this once and stored hashed."""
    from flitwatch_db.people import accounts as people
    from flitwatch_db.people import audit

    with open_accounts(db_url, ephemeral) as conn:
        number, secret, expires = people.add_token(conn, account, label, scopes, days)
        audit.by_command(conn, "tokens create", account, label=label, scopes=list(scopes), days=days)
    print_result({"token_id": number, "secret": secret, "expires": expires.isoformat()}, as_json)


@tokens.command("list")
@click.option("--account", help="Of this account only.")
@json_option
@database_options
def list_(account: str | None, as_json: bool, db_url: str | None, ephemeral: bool) -> None:
    """List tokens, without their secrets."""
    from flitwatch_db.people import accounts as people

    with open_accounts(db_url, ephemeral) as conn:
        rows = people.list_tokens(conn, account)
    if as_json:
        print_result({"items": rows}, True)
        return
    for row in rows:
        state = "revoked" if row["revoked"] else f"until {row['expires']:%Y-%m-%d}"
        print(f"{row['token_id']:>6} {row['account']:<24} {','.join(row['scopes']):<24} {state:<18} {row['label']}")


@tokens.command()
@click.argument("token_id", type=click.IntRange(0, 2**63 - 1))
@json_option
@database_options
def revoke(token_id: int, as_json: bool, db_url: str | None, ephemeral: bool) -> None:
    """End a token; a running API believes it for five seconds more at most."""
    from flitwatch_db.people import accounts as people
    from flitwatch_db.people import audit

    with open_accounts(db_url, ephemeral) as conn:
        people.revoke_token(conn, token_id)
        audit.by_command(conn, "tokens revoke", str(token_id))
    print_result({"token_id": token_id, "revoked": True}, as_json)
