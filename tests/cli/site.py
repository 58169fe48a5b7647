"""A configuration to be checked, with its policy and secrets, in a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from handrail.check import check
from handrail.check.lines import Line

POLICY: dict[str, Any] = {
    "version": 1,
    "rules": [{"namespaces": ["shop"], "steps": {"rollout_undo": "ask", "scale_workload": "observe"}}],
    "approvers": {"groups": ["sre"]},
}
NOWHERE = {"mode": "kubeconfig", "kubeconfig": "/nowhere/kubeconfig"}


class Site:
    """A folder with configuration and policy, both to be changed before they are checked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.policy: dict[str, Any] = yaml.safe_load(yaml.safe_dump(POLICY))
        self.config: dict[str, Any] = {
            "cluster": {"name": "test"},
            "kafka": {"bootstrap": ["127.0.0.1:9"], "topics": [{"name": "alerts"}]},
            "kubernetes": dict(NOWHERE),
            "store": {"url": f"sqlite:///{folder}/handrail.db"},
            "policy": str(folder / "policy.yaml"),
        }

    def secret(self, name: str, text: str) -> dict[str, str]:
        (self.folder / name).write_text(text)
        return {"file": str(self.folder / name)}

    @property
    def path(self) -> Path:
        (self.folder / "policy.yaml").write_text(yaml.safe_dump(self.policy))
        path = self.folder / "handrail.yaml"
        path.write_text(yaml.safe_dump(self.config))
        return path

    async def check(self) -> dict[str, list[Line]]:
        lines: dict[str, list[Line]] = {}
        for line in await check(self.path, lambda text: None):
            assert "\n" not in str(line)
            lines.setdefault(line.subject, []).append(line)
        return lines


def only(lines: dict[str, list[Line]], subject: str) -> Line:
    (line,) = lines[subject]
    return line
