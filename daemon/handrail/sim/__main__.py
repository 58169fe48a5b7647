"""`python -m handrail.sim`: the simulated cluster by itself, until it is interrupted.

It prints where the cluster is and writes a kubeconfig for it; it decides nothing else.
"""

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from .simulator import Simulator


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m handrail.sim", description="A small simulated Kubernetes cluster.")
    parser.add_argument("--port", type=int, default=0, help="port on the loopback interface (default: a free one)")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes (default: 3)")
    parser.add_argument("--kubeconfig", type=Path, help="write a kubeconfig to this file")
    parser.add_argument("--json", action="store_true", help="print url, token and kubeconfig as one line of JSON")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    simulator = Simulator(nodes=arguments.nodes)
    await simulator.start(arguments.port)
    try:
        _announce(simulator, arguments)
        await stop.wait()
    finally:
        await simulator.stop()


def _announce(simulator: Simulator, arguments: argparse.Namespace) -> None:
    written = simulator.kubeconfig(arguments.kubeconfig) if arguments.kubeconfig else None
    if arguments.json:
        found = {"url": simulator.url, "token": simulator.token, "kubeconfig": str(written) if written else None}
        print(json.dumps(found), flush=True)
        return
    print(f"simulated cluster at {simulator.url}", flush=True)
    if written:
        print(f"kubectl --kubeconfig {written} get pods -A", flush=True)
    else:
        print(f"token {simulator.token}", flush=True)


if __name__ == "__main__":
    try:
        asyncio.run(_run(_arguments()))
    except KeyboardInterrupt:
        sys.exit(130)
