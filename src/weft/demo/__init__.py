"""The demo: triage of invented patient messages. Not for medical use."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
CONFIG = FOLDER / "triage.toml"
QUICK = ("training.epochs=1", *(f"tasks.{task}.limit=208" for task in ("urgency", "acknowledgement", "findings")))
"""What to change in the config to see it run within a minute, at the cost of most of what it should learn."""
