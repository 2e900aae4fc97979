"""`weft demo`: the whole of weft on invented patient messages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_EXAMPLES = (
    "My chest feels tight since this morning and I can hardly catch my breath.",
    "Could you send me the results of last week's blood test?",
    "Thank you so much, see you on Tuesday!",
)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to make.")] = Path("weft-demo"),
    seed: Annotated[int | None, typer.Option(help="Another seed than the demo's own.")] = None,
) -> None:
    """Train a triage model on invented patient messages, here and now, without internet.

    Two questions on one encoder: how urgent is a message, and is it a mere thank-you? Takes two to three minutes on two
    cores. The messages are invented and the model is [bold]not for medical use[/].
    """
    from weft.cli.progress import console
    from weft.cli.progress import output as screen
    from weft.cli.results import show_run
    from weft.demo import CONFIG
    from weft.model import load
    from weft.training.run import train

    console.print("Patient-message triage on [bold]invented[/] messages. An example, [bold]not for medical use[/].\n")
    train(CONFIG, output, seed=seed)
    show_run(output)
    for text, answer in zip(_EXAMPLES, load(output).predict(_EXAMPLES), strict=True):
        said = ", ".join(f"{task} [bold]{one['label']}[/] ({one['score']:.0%})" for task, one in answer.items())
        screen.print(f"\n{text}\n  → {said}", soft_wrap=True)
    console.print(f'\nNext: weft predict {output} --text "your own message"', markup=False, soft_wrap=True)
