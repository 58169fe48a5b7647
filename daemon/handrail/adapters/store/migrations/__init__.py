"""The schema's history. A migration that was released is never edited; the next one goes on from it."""
