"""How the same card looks to a person without Slack."""
