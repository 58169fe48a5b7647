"""`python -m tests.replay.accept`: what today's code makes of the kept journals is what it shall make of them."""

from __future__ import annotations

import json

from tests.replay.kept import sorted_sets, stories, told

if __name__ == "__main__":
    for story in stories():
        text = json.dumps(sorted_sets(told(story)), indent=1, sort_keys=True, ensure_ascii=False)
        story.with_suffix(".told.json").write_text(text + "\n")
        print(story.parent.name, story.stem)
