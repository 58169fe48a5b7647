"""The command lines of the control plane's programs, and why each unusual flag is there.

Decides: flags. Never starts anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setup:
    """Where things lie: the work folder, the serving certificate and key, the CA, and the ports by name."""

    work: Path
    certificate: Path
    key: Path
    ca_file: Path
    ports: dict[str, int]

    @property
    def etcd(self) -> str:
        return f"http://127.0.0.1:{self.ports['etcd']}"


def etcd(at: Setup) -> list[str]:
    peer = f"http://127.0.0.1:{at.ports['peer']}"
    return [
        f"--data-dir={at.work / 'etcd'}",
        f"--listen-client-urls={at.etcd}",
        f"--advertise-client-urls={at.etcd}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server(at: Setup) -> list[str]:
    work = at.work
    return [
        f"--etcd-servers={at.etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={at.ports['api']}",
        f"--tls-cert-file={at.certificate}",
        f"--tls-private-key-file={at.key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        # The address is loopback, which an endpoint of the service `kubernetes` may not be.
        "--endpoint-reconciler-type=none",
        f"--token-auth-file={work / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={work / 'accounts.pub'}",
        f"--service-account-signing-key-file={work / 'accounts.key'}",
        f"--audit-policy-file={work / 'audit-policy.yaml'}",
        f"--audit-log-path={work / 'audit' / 'audit.log'}",
        "--audit-log-maxsize=1000",
        "--kubelet-preferred-address-types=InternalIP",
        # Without it a webhook whose Service has no endpoints hangs instead of failing at once.
        "--enable-aggregator-routing=true",
        # Ends open watches after two seconds at a stop; otherwise it waits a minute for them.
        "--shutdown-send-retry-after=true",
        "--profiling=false",
    ]


def controller_manager(at: Setup) -> list[str]:
    return [
        f"--kubeconfig={at.work / 'kube-controller-manager.kubeconfig'}",
        # Its own identity may do next to nothing; each controller has an account that may do its work.
        "--use-service-account-credentials=true",
        # There are no pod networks to give out. All others run: node-lifecycle takes the taint off a new node.
        "--controllers=*,-node-ipam-controller",
        f"--service-account-private-key-file={at.work / 'accounts.key'}",
        f"--root-ca-file={at.ca_file}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=300",
        "--kube-api-burst=600",
    ]


def scheduler(at: Setup) -> list[str]:
    return [f"--kubeconfig={at.work / 'kube-scheduler.kubeconfig'}", "--leader-elect=false", "--secure-port=0"]


def kwok(at: Setup) -> list[str]:
    port = at.ports["kubelet"]
    return [
        f"--kubeconfig={at.work / 'kwok.kubeconfig'}",
        f"--config={at.work / 'stages.yaml'}",
        "--enable-crds=ClusterLogs,Logs",
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--cidr=10.244.0.1/16",
        "--node-ip=127.0.0.1",
        f"--node-port={port}",
        f"--server-address=127.0.0.1:{port}",
        f"--tls-cert-file={at.certificate}",
        f"--tls-private-key-file={at.key}",
    ]
