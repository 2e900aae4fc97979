"""Every page of this folder, made anew from committed figures; no figure on a page is written by hand.

    python -m docs.results

A page is that of a comparison (`NAME.csv`, which `weft compare` wrote, and the head of its recipe) or that of a
benchmark (the CSV files in the folder of its name).
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from docs.results.few_labels import few_labels_page
from weft.reports.comparison_csv import read_csv
from weft.reports.comparison_markdown import render_markdown

FOLDER = Path(__file__).parent
RECIPES = FOLDER.parent.parent / "recipes" / "compare"


def pages() -> dict[str, str]:
    """The text of every page, by name."""
    compared = {file.stem: compared_page(file.stem) for file in sorted(FOLDER.glob("*.csv"))}
    return {**compared, "few_labels": few_labels_page(FOLDER / "few_labels")}


def compared_page(name: str) -> str:
    """What a recipe asks, its command, and what its CSV says."""
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
    for name, text in pages().items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
