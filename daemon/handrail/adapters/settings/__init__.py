"""Files that the operator writes: configuration, policy and secrets. Validated whole; nothing is guessed."""

from handrail.adapters.settings.load import load_config, load_policy
from handrail.adapters.settings.policy_file import PolicyFile
from handrail.adapters.settings.secrets import Secret
from handrail.adapters.settings.starter import STARTER

__all__ = ["STARTER", "PolicyFile", "Secret", "load_config", "load_policy"]
