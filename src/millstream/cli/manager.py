"""`millstream manager`: runs jobs for a team, and shows their state."""

from __future__ import annotations

from pathlib import Path

import click

from millstream.cli import verbose
from millstream.errors import MillstreamError

HOME_HELP = "The manager's folder: records, job files, reports. By default MILLSTREAM_HOME, or ~/.millstream/manager."


@click.command()
@click.option("--home", type=click.Path(path_type=Path), help=HOME_HELP)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8484, show_default=True)
@click.option("--tls-cert", type=click.Path(path_type=Path, exists=True), help="Use TLS, with this certificate.")
@click.option("--tls-key", type=click.Path(path_type=Path, exists=True), help="The certificate's key.")
@click.option("--no-token", is_flag=True, help="Let in anyone who can reach the address.")
@click.option("--insecure", is_flag=True, help="Listen to other machines even without TLS or tokens.")
@click.option("--coordination", metavar="URL", help="Several managers: zk://host:2181,host:2181,host:2181/millstream.")
@click.option("--flink-rest", is_flag=True, help="Also answer Flink's tools: flink list, stop, savepoint, cancel.")
@click.option("--show-rows", is_flag=True, help="Let users who may operate jobs see rows as they pass.")
@click.option("--traces", metavar="URL", help="Send spans of epochs and operations to this URL, as OTLP over HTTP.")
@click.option("--advertise", metavar="URL", help="Where other managers reach this one.")
@click.option(
    "--log", type=click.Choice(("text", "json")), default="text", show_default=True, help="The format of its log."
)
@verbose.option
def manager(
    home: Path | None,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    no_token: bool,
    insecure: bool,
    coordination: str | None,
    flink_rest: bool,
    show_rows: bool,
    traces: str | None,
    advertise: str | None,
    log: str,
) -> None:
    """Start a manager, with a REST interface and a web page. It keeps its own registry and needs no server.

    Its jobs keep running when it ends, and it finds them again when it is back.
    """
    try:
        from millstream.manager import logs
        from millstream.manager.server import serve
        from millstream.manager.service import Options
    except ImportError as error:
        raise MillstreamError(
            "MS-MANAGER-023",
            "the manager's packages are not installed.",
            found=str(error),
            hint="pip install 'millstream[manager]'",
        ) from error
    from millstream.manager.client import default_home

    options = Options(
        home or default_home(),
        host,
        port,
        tls_cert,
        tls_key,
        not no_token,
        insecure,
        coordination=coordination,
        flink=flink_rest,
        traces=traces,
        rows=show_rows,
        advertise=advertise,
    )
    logs.write(log)
    serve(options, click.echo)
