"""Starts a manager: its parts, its page, its port."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import uvicorn

from millstream.errors import MillstreamError
from millstream.manager.actions import Actions
from millstream.manager.app import served
from millstream.manager.audit import Audit
from millstream.manager.changes import Changes
from millstream.manager.documents import Documents
from millstream.manager.home import Home, private
from millstream.manager.leadership import Alone, Leadership
from millstream.manager.readers import Readers
from millstream.manager.registry import Registry
from millstream.manager.service import Options, Service
from millstream.manager.sqlite_documents import SqliteDocuments
from millstream.manager.supervisor import Supervisor
from millstream.manager.tokens import Tokens
from millstream.manager.watch import Watch

BACKLOG = 128


@contextmanager
def opened(options: Options) -> Iterator[Service]:
    """The parts of a manager, which looks after its jobs until the end of the block; the jobs go on."""
    home = Home(options.home)
    home.make()
    with ExitStack() as parts:
        service = assembled(options, home, parts)
        if options.traces is not None:
            from millstream.manager.traces import Traces

            traces = Traces(service.registry, home, options.traces, lambda: service.leader_url() == options.url)
            traces.start()
            parts.callback(traces.close)
        service.supervisor.start()
        parts.callback(service.supervisor.close)
        yield service


def assembled(options: Options, home: Home, parts: ExitStack) -> Service:
    documents: Documents
    leadership: Leadership
    if options.coordination is None:
        documents, leadership = SqliteDocuments(home.records), Alone(options.url)
    else:
        from millstream.manager.zookeeper import Election, ZooKeeper, ZooKeeperDocuments

        zookeeper = ZooKeeper(options.coordination)
        leadership = election = Election(zookeeper, options.url)
        documents = ZooKeeperDocuments(zookeeper, election)
    registry, readers = Registry(documents), Readers(home)
    parts.callback(registry.close)
    parts.callback(readers.close)
    return Service(
        options=options,
        home=home,
        registry=registry,
        tokens=Tokens(home),
        audit=Audit(home),
        actions=Actions(registry, home),
        changes=Changes(registry, home),
        readers=readers,
        supervisor=Supervisor(registry, Watch(home, options.driver, options.beat_within, options.rows), leadership),
        members=leadership.members,
        leader_url=leadership.leader_url,
    )


def serve(options: Options, say: Callable[[str], None]) -> None:
    """Until it is told to end."""
    refuse_unsafe(options)
    listening = bound(options)
    with listening, opened(options) as service:
        token = service.tokens.first()
        private(service.home.address, options.url)
        say(f"manager at {options.url}")
        if token is not None:
            say(f"token  {token}")
            say(f"       made now, for you alone; {service.home.token} has it, too")
        config = uvicorn.Config(
            served(service),
            log_level="warning",
            log_config=None,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
            timeout_graceful_shutdown=2,
            server_header=False,
        )
        logging.getLogger("uvicorn.error").addFilter(not_cancelled)
        uvicorn.Server(config).run(sockets=[listening])


def not_cancelled(record: logging.LogRecord) -> bool:
    """Clients that follow a page or a log when the manager ends are cut off: that is no error."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def bound(options: Options) -> socket.socket:
    """The port, held before anything else is opened: two managers of one home would be one too many."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise MillstreamError(
            "MS-MANAGER-021",
            f"the manager cannot listen at {options.host}:{options.port}.",
            found=str(error),
            hint="is another one running there? choose another port: --port",
        ) from error
    return listening


def refuse_unsafe(options: Options) -> None:
    if (options.certificate is None) != (options.key is None):
        raise MillstreamError("MS-MANAGER-022", "TLS needs a certificate and its key.", hint="--tls-cert and --tls-key")
    if options.loopback or options.insecure:
        return
    if options.certificate is None or not options.token:
        missing = "TLS" if options.certificate is None else "a token"
        raise MillstreamError(
            "MS-MANAGER-022",
            f"the manager is not served to other machines without {missing}.",
            found=f"--host {options.host}",
            hint="--tls-cert and --tls-key; or --insecure, if nobody else can reach this address",
        )
