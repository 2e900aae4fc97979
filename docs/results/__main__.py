"""Every page of this folder, made anew from its CSV and the head of its recipe.

    python -m docs.results

`weft compare` writes the CSV (`compare.csv`); nothing on a page is written by hand.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from weft.reports.comparison_csv import read_csv
from weft.reports.comparison_markdown import render_markdown

FOLDER = Path(__file__).parent
RECIPES = FOLDER.parent.parent / "recipes" / "compare"


def page(name: str) -> str:
    """The text of a page: what its recipe asks, its command, and what its CSV says."""
    recipe = RECIPES / f"{name}.toml"
    head, command = question(recipe)
    file = FOLDER / f"{name}.csv"
    body = render_markdown(read_csv(file.read_text(encoding="utf-8"), file), title(recipe))
    heading, rest = body.split("\n", 1)
    link = f"[recipes/compare/{name}.toml](../../recipes/compare/{name}.toml)"
    return f"{heading}\n\n{head}\n\n`{command}` ({link})\n{rest}"


def title(recipe: Path) -> str:
    return recipe.stem.replace("_", " ").capitalize()


def question(recipe: Path) -> tuple[str, str]:
    """The sentences at the head of a recipe, and the command among them."""
    text = recipe.read_text(encoding="utf-8")
    tomllib.loads(text)
    head = text.split("\n\n", 1)[0].splitlines()
    lines = [line.removeprefix("#") for line in head]
    command = next(line.strip() for line in lines if line.startswith("   "))
    said = " ".join(line.strip() for line in lines if not line.startswith("   "))
    return said.split(" Result: ")[0], command


def main() -> None:
    for file in sorted(FOLDER.glob("*.csv")):
        file.with_suffix(".md").write_text(page(file.stem), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
