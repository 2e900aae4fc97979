"""The pages of `recipes/tables`, and the page that shows all of them with their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from docs.results.pictures import differences
from docs.results.recipe import Recipe, head
from weft.reports.comparison_csv import read_csv
from weft.reports.comparison_markdown import render_markdown
from weft.reports.comparison_record import VERDICTS, ComparisonRecord
from weft.reports.comparison_sentences import cautions

GROUPS = {
    "wang": "Label attention: Wang et al., *Integrating Task Specific Information into Pretrained Language Models*",
    "ogada": "Three tasks on one encoder: Ogada, *Fine-tuning minBERT For Multi-task Classification*",
    "tea": "Telling an encoder its task: Mou, Xu and Yao, *Multitask BERT with Task Embedded Attentions*",
    "slp": "Transfer learning: a lecture after Jurafsky and Martin, *Speech and Language Processing*",
    "jia": "Attention layers of a task's own: Jia, *Task-specific attention*",
    "beyond": "Beyond the sources",
}
HEAD = """\
# Tables

Every table of the five documents that weft grew from, as a recipe that one command runs again, with the verdicts of
`weft compare`: `better`, `worse`, `equivalent` or `cannot tell` of a variant against the first one of its table,
over seeds and rows at once, corrected for all comparisons of the table ([how](../statistics.md)). A word that does
not stand there was not shown. [Which method when](../methods.md) says what follows. `python -m docs.results` makes
all of these pages from the CSV files beside them.

Of {all} tables {done} have been run; times are those of a full form on two quiet cores. `--quick` shows any of them
run in minutes, `--set base.encoder.from=FOLDER` runs it on another encoder."""
LEFT_OUT = """\
## Left out, and why

- **WNLI, RTE, IMDB, SST-2, MNLI, QQP** of Wang et al.: not to be had here, or too large; other small sets stand for
  them.
- **BioBERT** of Wang et al., table 2: not to be had here. Their macro precision and recall come from the same runs
  with another `metric`.
- **Nine of the eighteen rows** of TEA-BERT's table, which differ in weight decay alone: one method's three stand for
  all; with all, Holm over 54 comparisons would need twelve seeds of each.
- **Tags on nested entities**: a grid measures each variant by its own task, and the gold of tags loses what
  overlaps, so tags would be held against easier answers; the same goes for flat spans. `benchmarks/nested.py` holds
  both against all entities, for one seed ([figures](../results.md#named-entities)).
- **The mean of the last four layers for words**: tagging and spans read the last layer; only what reads a whole
  text can choose.
- **Masked words of different vocabularies** side by side: other pieces are other questions, so vocabularies are
  compared by a task learned afterwards.
- **All rows**, where a table says how many: hours."""


def table_files(recipe: Recipe, folder: Path) -> dict[str, str]:
    """The page of a recipe whose CSV is there, and its picture, by file name."""
    record = read_record(folder / f"{recipe.name}.csv")
    picture = differences(record)
    body = render_markdown(record, recipe.title)
    _, rest = body.split("\n", 1)
    drawn = (
        f"\n![differences to the first variant of each task, with intervals]({recipe.name}.svg)\n" if picture else ""
    )
    page = "\n\n".join(head(recipe, f"{recipe.runs} runs")) + "\n" + drawn + rest
    return {f"{recipe.name}.md": page} | ({f"{recipe.name}.svg": picture} if picture else {})


def read_record(file: Path) -> ComparisonRecord:
    return read_csv(file.read_text(encoding="utf-8"), file)


def overview(tables: Sequence[Recipe], folder: Path, others: Sequence[Recipe], figures: Sequence[Recipe]) -> str:
    """All tables by source, those that were not run with their size; then the figures and the other comparisons."""
    run = {file.stem for file in (folder / "tables").glob("*.csv")}
    parts = [HEAD.format(all=len(tables), done=sum(recipe.name in run for recipe in tables))]
    for prefix, title in GROUPS.items():
        ours = [recipe for recipe in tables if recipe.name.split("_")[0] == prefix]
        parts += [f"## {title}", _lines(_line(recipe, folder / "tables", "tables/") for recipe in ours)]
    parts += ["## Figures", "\n".join(_figures(figures))]
    earlier = (
        "Made before heads were fitted first and questions about the same texts shared a pass; not run again since."
    )
    parts += ["## Earlier comparisons", earlier, _lines(_line(recipe, folder, "") for recipe in others), LEFT_OUT]
    return "\n\n".join(parts) + "\n"


def _figures(recipes: Sequence[Recipe]) -> Iterator[str]:
    yield "| figure | question | what it says |"
    yield "|---|---|---|"
    for recipe in recipes:
        yield f"| [{recipe.name}](figures/{recipe.name}.md) | {recipe.title} | {_first_sentence(recipe.found)} |"


def _lines(rows: Iterable[Sequence[str]]) -> str:
    """A table with a line for each recipe; its last column only where something is said in it."""
    shown = list(rows)
    heads = ("table", "question", "verdicts", "what it says")[: 4 if any(row[-1] for row in shown) else 3]
    lines = [f"| {' | '.join(row[: len(heads)])} |" for row in (heads, *shown)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def _line(recipe: Recipe, folder: Path, prefix: str) -> tuple[str, str, str, str]:
    file = folder / f"{recipe.name}.csv"
    if not file.exists():
        link = f"[{recipe.name}](../../{recipe.place})"
        return link, recipe.title, "not run yet", f"{recipe.runs} runs, {recipe.takes}"
    record = read_record(file)
    warned = "".join(f"**{caution}** " for caution in cautions(record))
    link = f"[{recipe.name}]({prefix}{recipe.name}.md)"
    return link, recipe.title, f"{warned}{verdicts(record)}", _first_sentence(recipe.found)


def _first_sentence(said: str) -> str:
    return said.split(". ")[0].rstrip(".") + "." if said else ""


def verdicts(record: ComparisonRecord) -> str:
    """For each variant that is held against another, how often it got which verdict."""
    held = [cell for cell in record.cells if not cell.is_base]
    told = {
        variant: Counter(cell.verdict or "diverged" * bool(cell.diverged) for cell in held if cell.variant == variant)
        for variant in _variants(record)
    }
    return "; ".join(
        f"{variant}: " + ", ".join(f"{counts[word]} {word}" for word in (*VERDICTS, "diverged") if counts[word])
        for variant, counts in told.items()
    )


def _variants(record: ComparisonRecord) -> list[str]:
    return list(dict.fromkeys(cell.variant for cell in record.cells if not cell.is_base))
