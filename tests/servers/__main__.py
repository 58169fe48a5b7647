"""`python -m tests.servers up [NAME ...]`: real servers for a person, until Ctrl-C.

Decides: what to print of each server. Never leaves them running after it ends.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack

from tests.servers.alertmanager import AlertmanagerServer
from tests.servers.collector import OtelCollector
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer
from tests.servers.pins import Missing
from tests.servers.postgres import PostgresServer
from tests.servers.process import StartError
from tests.servers.prometheus import PrometheusServer

Addresses = dict[str, str]


def kafka(stack: ExitStack) -> Addresses:
    server = KafkaServer()
    stack.callback(server.close)
    return {"bootstrap": server.start().bootstrap}


def kafka_secure(stack: ExitStack) -> Addresses:
    server = KafkaServer(secure=True)
    stack.callback(server.close)
    server.start()
    secrets = {"ca": str(server.ca_file), "user": server.user, "password": server.password}
    return {**{name.lower(): at for name, at in server.listeners.items()}, **secrets}


def control_plane(stack: ExitStack) -> Addresses:
    server = ControlPlane()
    stack.callback(server.close)
    server.start()
    return {"url": server.url, "kubeconfig": str(server.kubeconfig), "audit": str(server.audit.folder)}


def postgres(stack: ExitStack) -> Addresses:
    server = PostgresServer()
    stack.callback(server.close)
    return {"superuser": server.start().url, "database": server.create_database()}


def prometheus(stack: ExitStack) -> Addresses:
    server = PrometheusServer()
    stack.callback(server.close)
    return {"url": server.start().url}


def alertmanager(stack: ExitStack) -> Addresses:
    server = AlertmanagerServer()
    stack.callback(server.close)
    return {"url": server.start().url}


def collector(stack: ExitStack) -> Addresses:
    broker = kafka(stack)["bootstrap"]
    server = OtelCollector(broker)
    stack.callback(server.close)
    server.start()
    return {"grpc": server.grpc, "http": server.http, "kafka": broker, **server.topics}


STARTERS: dict[str, Callable[[ExitStack], Addresses]] = {
    "kafka": kafka,
    "kafka-secure": kafka_secure,
    "control-plane": control_plane,
    "postgres": postgres,
    "prometheus": prometheus,
    "alertmanager": alertmanager,
    "collector": collector,
}


def up(names: list[str], as_json: bool) -> None:
    """Start these servers, print where they are, and wait for Ctrl-C."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with ExitStack() as stack:
        found: dict[str, Addresses] = {}
        for name in names:
            print(f"starting {name}", file=sys.stderr, flush=True)
            found[name] = STARTERS[name](stack)
            if not as_json:
                for key, value in found[name].items():
                    print(f"{name:<14} {key:<14} {value}", flush=True)
        if as_json:
            print(json.dumps(found, indent=2), flush=True)
        print("up; Ctrl-C stops them", file=sys.stderr, flush=True)
        try:
            ended.wait()
        except KeyboardInterrupt:
            print("stopping", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description="Real servers on loopback.")
    commands = parser.add_subparsers(dest="command", required=True)
    starting = commands.add_parser("up", help="start servers and keep them until Ctrl-C")
    # No `choices` here: argparse would refuse the empty list.
    starting.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STARTERS))
    starting.add_argument("--json", action="store_true", help="print the addresses as one JSON object")
    chosen = parser.parse_args()
    names = chosen.names or ["kafka", "control-plane"]
    if unknown := [name for name in names if name not in STARTERS]:
        parser.error(f"unknown server {unknown[0]}; known are {', '.join(STARTERS)}")
    try:
        up(names, chosen.json)
    except (Missing, StartError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
