"""The demo: triage of invented patient messages. Not for medical use."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
CONFIG = FOLDER / "triage.toml"
