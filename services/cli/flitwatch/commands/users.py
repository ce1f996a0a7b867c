"""`flitwatch users`: local accounts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import click

from flitwatch.console import Database, Group, database_options, json_option, print_result
from flitwatch.rest import ApiOptions, api_options, open_client
from flitwatch_domain.access import ROLES, Role


def open_accounts(database: Database) -> AbstractContextManager[Any]:
    """Yield a connection with access to accounts, and commit at the end."""
    return database.connect(role="gate", application="flitwatch accounts")


def read_password(name: str) -> str:
    """Read a password: twice at a terminal, else from the first line of standard input. It is never an argument, which other users could see."""
    if sys.stdin.isatty():
        return str(click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\n")


@click.group(cls=Group)
def users() -> None:
    """Create, list and change accounts. Passwords are prompted for, or read from standard input."""


@users.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="user", help="Role of the account.")
@json_option
@api_options
@database_options
def add(name: str, role: str, as_json: bool, api: ApiOptions, database: Database) -> None:
    """Create an account. A service account gets no password, only tokens.

    With --url or a profile, the command uses the API with the rights of your token. Otherwise it changes the database.
    """
    if (at_api := api.choose()) is not None:
        # A missing token is reported before the password is asked for.
        with open_client(at_api) as fw:
            password = None if role == "service" else read_password(name)
            fw.api.add_user({"name": name, "role": cast(Role, role), "password": password})
    else:
        from flitwatch_db.people import accounts as people
        from flitwatch_db.people import audit

        password = None if role == "service" else read_password(name)
        with open_accounts(database) as conn:
            people.add_account(conn, name, role, password)
            audit.by_command(conn, "users add", name, role=role)
    print_result({"name": name, "role": role}, as_json)


@users.command("list")
@json_option
@api_options
@database_options
def list_(as_json: bool, api: ApiOptions, database: Database) -> None:
    """List accounts.

    With --url or a profile, the command uses the API with the rights of your token. Otherwise it reads the database.
    """
    rows: Sequence[Mapping[str, Any]]
    if (at_api := api.choose()) is not None:
        with open_client(at_api) as fw:
            rows = fw.api.users()["items"]
    else:
        from flitwatch_db.people import accounts as people

        with open_accounts(database) as conn:
            rows = people.list_accounts(conn)
    if as_json:
        print_result({"items": rows}, True)
        return
    for row in rows:
        last_login = "never logged in" if row["seen"] is None else f"seen {str(row['seen'])[:16].replace('T', ' ')}"
        print(
            f"{row['name']:<24} {row['role']:<9} {'disabled' if row['disabled'] else last_login}, {row['tokens']} tokens"
        )


@users.command()
@click.argument("name")
@click.option("--enable", is_flag=True, help="Enable the account again.")
@json_option
@api_options
@database_options
def disable(name: str, enable: bool, as_json: bool, api: ApiOptions, database: Database) -> None:
    """Disable an account. Its sessions end, and its tokens are refused.

    With --url or a profile, the command uses the API with the rights of your token. Otherwise it changes the database.
    """
    if (at_api := api.choose()) is not None:
        with open_client(at_api) as fw:
            fw.api.change_user(name, {"disabled": not enable})
    else:
        from flitwatch_db.people import accounts as people
        from flitwatch_db.people import audit

        with open_accounts(database) as conn:
            people.change_account(conn, name, disabled=not enable)
            audit.by_command(conn, "users enable" if enable else "users disable", name)
    print_result({"name": name, "disabled": not enable}, as_json)


@users.command()
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
@json_option
@api_options
@database_options
def role(name: str, role: str, as_json: bool, api: ApiOptions, database: Database) -> None:
    """Change an account's role. Its sessions end.

    With --url or a profile, the command uses the API with the rights of your token. Otherwise it changes the database.
    """
    if (at_api := api.choose()) is not None:
        with open_client(at_api) as fw:
            fw.api.change_user(name, {"role": cast(Role, role)})
    else:
        from flitwatch_db.people import accounts as people
        from flitwatch_db.people import audit

        with open_accounts(database) as conn:
            people.change_account(conn, name, role=role)
            audit.by_command(conn, "users role", name, role=role)
    print_result({"name": name, "role": role}, as_json)


@users.command()
@click.argument("name")
@json_option
@api_options
@database_options
def passwd(name: str, as_json: bool, api: ApiOptions, database: Database) -> None:
    """Change an account's password. Its sessions end.

    With --url or a profile, the command uses the API with the rights of your token. Otherwise it changes the database.
    """
    if (at_api := api.choose()) is not None:
        with open_client(at_api) as fw:
            fw.api.change_user(name, {"password": read_password(name)})
    else:
        from flitwatch_db.people import accounts as people
        from flitwatch_db.people import audit

        password = read_password(name)
        with open_accounts(database) as conn:
            people.set_password(conn, name, password)
            audit.by_command(conn, "users passwd", name)
    print_result({"name": name}, as_json)


@users.command()
@click.argument("name")
@click.argument("new")
@json_option
@database_options
def rename(name: str, new: str, as_json: bool, database: Database) -> None:
    """Rename an account, for example to free the name for a person who uses the central login."""
    from flitwatch_db.people import accounts as people
    from flitwatch_db.people import audit

    with open_accounts(database) as conn:
        people.rename_account(conn, name, new)
        audit.by_command(conn, "users rename", name, new=new)
    print_result({"name": new}, as_json)
