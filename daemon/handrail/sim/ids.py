"""Names and UIDs that nobody chose. With a seed they are the same in every run."""

import random
import uuid

# No vowels and no look-alikes, as Kubernetes does it, so that no suffix spells a word.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class Ids:
    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        return "".join(self._random.choices(ALPHABET, k=length))
