"""A draft as TOML: what the config says, and beside it why."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from weft.data.opening import UTF8
from weft.drafting.draft import Draft, TaskDraft

SCHEMA = "weft.schema.json"  # beside a config, it lets editors complete it; `weft schema` writes it
_WIDTH = 100  # characters of a line


def document_of(draft: Draft, home: Path) -> dict[str, Any]:
    """The config as plain data; files are named as seen from `home`, the folder it will be in."""
    tasks = {task.name: _options(task, home, draft.encoding) for task in draft.tasks}
    return {**({"encoder": {"from": draft.encoder}} if draft.encoder else {}), "tasks": tasks}


def write_document(
    draft: Draft, document: Mapping[str, Any], config: str, findings: Mapping[str, Sequence[str]] | None = None
) -> str:
    """The config with its comments; `findings` of the check by task, those of no task under an empty name."""
    found = findings or {}
    lines = [
        *([f"#:schema ./{SCHEMA}", ""] if (Path(config).parent / SCHEMA).is_file() else []),
        *_comment(f"Drafted by weft init, which looked at {', '.join(draft.looked_at)}."),
        *_comment(
            "Remarks say why; change what is wrong. How to learn is not said, so it goes by the rows there are: "
            f"weft train {shlex.quote(config)} --show-config prints it."
        ),
    ]
    for title, remarks in (
        ("Unsure, please look", draft.unsure),
        ("Worth knowing", [*draft.remarks, *found.get("", ())]),
    ):
        lines += ["#", f"# {title}:", *_bullets(remarks)] if remarks else []
    if "encoder" in document:
        lines += ["", "[encoder]", *_line("from", document["encoder"]["from"], "as --encoder says")]
    else:
        lines += [
            "",
            "# [encoder]",
            '# from = "minilm"  # what holds if nothing is said: small, English; or a folder, or a Hub id',
        ]
    for task in draft.tasks:
        lines += ["", *_table(task, document["tasks"][task.name], found.get(task.name, ()))]
    return "\n".join(lines) + "\n"


def _options(task: TaskDraft, home: Path, encoding: str) -> dict[str, Any]:
    question = task.question
    files = {split: _as_seen_from(home, path) for split, path in task.files.items()}
    said = {"encoding": encoding} if encoding != UTF8 else {}
    return {"kind": question.kind, **files, **said, **question.options}


def _as_seen_from(home: Path, path: Path) -> str:
    """The file's name as the config will say it: absolute where the user was, otherwise from the config's folder."""
    return str(path) if path.is_absolute() else Path(os.path.relpath(path, home)).as_posix()


def _table(task: TaskDraft, options: Mapping[str, Any], findings: Iterable[str]) -> Iterator[str]:
    yield tomli_w.dumps({"tasks": {task.name: {}}}).strip()
    reasons = {"kind": task.question.reason, **task.question.reasons}
    for key, value in options.items():
        yield from _line(key, value, reasons.get(key, ""))
    yield from _bullets([*task.remarks, *findings])


def _line(key: str, value: Any, reason: str) -> Iterator[str]:
    """`key = value  # reason`, the reason above where there is no room for it."""
    written = tomli_w.dumps({key: value}, multiline_strings=False).strip()
    line = f"{key} = {_inline(value)}" if isinstance(value, list) else written
    reason = _plain(reason)
    if reason and len(line) + len(reason) + 4 <= _WIDTH:
        yield f"{line}  # {reason}"
        return
    yield from _comment(reason) if reason else ()
    yield line


def _inline(values: Sequence[str]) -> str:
    """A list on one line."""
    return f"[{', '.join(tomli_w.dumps({'x': value}).strip().removeprefix('x = ') for value in values)}]"


def _bullets(remarks: Iterable[str]) -> Iterator[str]:
    for remark in remarks:
        yield from textwrap.wrap(
            _plain(remark), _WIDTH, initial_indent="# - ", subsequent_indent="#   ", break_on_hyphens=False
        )


def _comment(text: str) -> Iterator[str]:
    return iter(
        textwrap.wrap(_plain(text), _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    )


def _plain(text: str) -> str:
    """The text on one line, without the control characters that a comment may not hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
