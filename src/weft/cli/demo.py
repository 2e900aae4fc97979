"""`weft demo`: the whole of weft on invented patient messages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_EXAMPLE = "Thank you for the new inhaler. Since this morning I can hardly breathe and my lips look blue."


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
    answer = load(output).predict([_EXAMPLE])[0]
    screen.print(f'\n"{_EXAMPLE}"')
    for task, prediction in answer.items():
        screen.print(f"  {task}: [bold]{prediction['label']}[/] ({prediction['score']:.0%})")
    console.print(f'\nNext: weft predict {output} --text "your own message"', markup=False, soft_wrap=True)
