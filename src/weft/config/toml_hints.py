"""What is wrong with a file that is no TOML, in words for those who do not know its rules."""

from __future__ import annotations

import re
import tomllib

_WHERE = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)$")
_BACKSLASH = re.compile(r'"[^"\\]*\\')
_UNQUOTED = re.compile(r"\s*([\w.\"-]+)\s*=\s*([^\W\d]\w*|[./~]|[“”„‘’])")
_TWICE = re.compile(r"Cannot (?:declare|overwrite)|twice")
_BLANK = re.compile(r"Expected (?:'=' after a key|'\]' at the end of a table)")
_WORDS = re.compile(r"\w +\w")
_SWITCH = ("true", "false")


def explain_toml(error: tomllib.TOMLDecodeError, text: str) -> str:
    """The parser's words, and what to write instead where the line shows what was meant."""
    found = _WHERE.search(str(error))
    number = int(found[1]) if found and found[1] else 0
    lines = text.splitlines()
    hint = _hint(str(error), lines[number - 1]) if 0 < number <= len(lines) else ""
    return f"{error}{hint}"


def explain_bytes(error: UnicodeDecodeError) -> str:
    """Where a file stops being UTF-8, and what to do about it."""
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"line {line} is not UTF-8; save the file as UTF-8, which editors offer as an encoding"


def _hint(message: str, line: str) -> str:
    if _TWICE.search(message):
        return "; it is there twice: join the two, or give one another name"
    if _BACKSLASH.search(line):
        return r"; in double quotes \ begins a special character: write paths with /, or in single quotes"
    if _BLANK.match(message) and _WORDS.search(line):
        return '; a name with other signs than letters, digits, _ and - needs quotes: "two words"'
    if not (unquoted := _UNQUOTED.match(line)):
        return ""
    key, value = unquoted.groups()
    if value.casefold() in _SWITCH:
        return f"; write {key} = {value.casefold()}, in small letters"
    return f'; a text needs plain quotes: {key} = "…"'
