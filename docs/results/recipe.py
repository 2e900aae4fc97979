"""The head of a recipe: what it asks, by which commands, what its source says, what differs here, what was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from weft.comparison.arms import make_arms
from weft.comparison.grid import read_grid

_PARTS = (
    "Source",
    "Here",
    "Takes",
    "Found",
    "Result",
    "Where its data comes from",
)  # each begins a line: `# Source: …`
_TOP = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Recipe:
    """A grid among the recipes, and the sentences of its head."""

    path: Path
    question: str
    commands: tuple[str, ...]
    source: str = ""  # what it claims
    here: str = ""  # what differs
    takes: str = ""  # how long
    found: str = ""  # the reading of its figures, once there are any

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def title(self) -> str:
        """What it asks, which names a page better than a file does."""
        return self.question.split("? ")[0].rstrip("?") + "?"

    @property
    def about(self) -> str:
        """What is said behind the question."""
        return self.question.removeprefix(self.title).strip()

    @property
    def place(self) -> str:
        """Where it is, from the top of the project."""
        return self.path.relative_to(_TOP).as_posix()

    @cached_property
    def runs(self) -> int:
        """How many runs its full form has."""
        grid = read_grid(self.path)
        return len(make_arms(grid)) * len(grid.seeds) * max(len(grid.sizes), 1) * (grid.folds or 1)


def read_recipe(path: Path) -> Recipe:
    """The recipe in a file, whose head ends with the first empty line."""
    head = path.read_text(encoding="utf-8").split("\n\n", 1)[0].splitlines()
    said: dict[str, list[str]] = {"": []}
    commands, part = [], ""
    for line in (line.removeprefix("#") for line in head):
        if line.startswith("   "):
            commands.append(line.strip())
            continue
        begun = next((name for name in _PARTS if line.startswith(f" {name}:")), None)
        part = part if begun is None else begun
        said.setdefault(part, []).append(line.strip() if begun is None else line.strip().removeprefix(f"{begun}:"))
    words = {name: " ".join(" ".join(lines).split()) for name, lines in said.items()}
    parts = {name.lower(): words.get(name, "") for name in ("Source", "Here", "Takes", "Found")}
    return Recipe(path, words[""], tuple(commands), **parts)


def head(recipe: Recipe, runs: str) -> Iterator[str]:
    """What stands above the figures of a page two folders below the top of the documents."""
    yield f"# {recipe.title}"
    yield f"{recipe.about} {runs}{', ' + recipe.takes.rstrip('.') if recipe.takes else ''}.".strip()
    commands = "\n".join(recipe.commands)
    yield f"```sh\n{commands}\n```\n\n([{recipe.place}](../../../{recipe.place}); [all tables](../README.md))"
    for heading, said in (("The source", recipe.source), ("Here", recipe.here), ("Found", recipe.found)):
        if said:
            yield f"**{heading}.** {said[0].upper()}{said[1:]}"
