"""`millstream token`: who may use a manager. Works in the manager's folder, on its own machine."""

from __future__ import annotations

from pathlib import Path

import click

from millstream.cli.manager import HOME_HELP
from millstream.manager.client import default_home
from millstream.manager.home import Home
from millstream.manager.tokens import Role, Tokens

ROLES = click.Choice([role.name.lower() for role in Role])
HOME = click.option("--home", type=click.Path(path_type=Path), help=HOME_HELP)


def tokens(home: Path | None) -> Tokens:
    found = Home(home or default_home())
    found.make()
    return Tokens(found)


@click.group()
def token() -> None:
    """Manage the tokens of a manager: who may read, operate, administer."""


@token.command()
@click.argument("name")
@click.option("--role", type=ROLES, default="read", show_default=True)
@HOME
def add(name: str, role: str, home: Path | None) -> None:
    """Create a token and print it, this one time."""
    found = tokens(home)
    found.first()
    click.echo(found.add(name, Role[role.upper()]))


@token.command("list")
@HOME
def list_(home: Path | None) -> None:
    """List names and roles."""
    for each in tokens(home).all():
        click.echo(f"{each.name}  {each.role}")


@token.command()
@click.argument("name")
@HOME
def remove(name: str, home: Path | None) -> None:
    """Remove a token: it stops working at once."""
    tokens(home).remove(name)
