"""Every page of this folder, made anew from committed figures; no figure in a table or picture is written by hand.

    python -m docs.results

A page is that of a comparison (the CSV that `weft compare` wrote, and the head of its recipe: `NAME.csv` for
recipes/compare, `tables/NAME.csv` for recipes/tables), that of a figure (`figures/NAME.csv` for recipes/figures), or
that of a benchmark (the CSV files in the folder of its name). README.md shows all tables, also those that were not run.
"""

from __future__ import annotations

from pathlib import Path

from docs.results.attention import attention_files
from docs.results.curves import curves_files
from docs.results.few_labels import few_labels_page
from docs.results.recipe import Recipe, read_recipe
from docs.results.tables import overview, read_record, table_files
from weft.reports.comparison_markdown import render_markdown

FOLDER = Path(__file__).parent
RECIPES = FOLDER.parent.parent / "recipes"
FIGURES = {"ogada_curves": curves_files, "wang_figure2": attention_files}  # by the name of the recipe
_PARTS = ("compare", "tables", "figures")  # folders of recipes


def pages() -> dict[str, str]:
    """The text of every file that is made, by its name in this folder."""
    compared, tables, figures = (
        [read_recipe(path) for path in sorted((RECIPES / part).glob("*.toml"))] for part in _PARTS
    )
    files = {f"{recipe.name}.md": compared_page(recipe) for recipe in compared}
    for recipe in tables:
        if (FOLDER / "tables" / f"{recipe.name}.csv").exists():
            made = table_files(recipe, FOLDER / "tables")
            files |= {f"tables/{name}": text for name, text in made.items()}
    for recipe in figures:
        made = FIGURES[recipe.name](recipe, FOLDER / "figures")
        files |= {f"figures/{name}": text for name, text in made.items()}
    files["few_labels.md"] = few_labels_page(FOLDER / "few_labels")
    files["README.md"] = overview(tables, FOLDER, compared, figures)
    return files


def compared_page(recipe: Recipe) -> str:
    """What a recipe asks, its command, and what its CSV says."""
    body = render_markdown(read_record(FOLDER / f"{recipe.name}.csv"), recipe.title)
    heading, rest = body.split("\n", 1)
    return f"{heading}\n\n{recipe.about}\n\n`{recipe.commands[0]}` ([{recipe.place}](../../{recipe.place}))\n{rest}"


def main() -> None:
    for name, text in pages().items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
