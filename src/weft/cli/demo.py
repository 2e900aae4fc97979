"""`weft demo`: the whole of weft on invented patient messages."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

_EXAMPLES = (
    "My chest feels tight since this morning and I can hardly catch my breath.",
    "Could you send me the results of last week's blood test?",
    "Thank you so much, see you on Tuesday!",
)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to make.")] = Path("weft-demo"),
    seed: Annotated[int | None, typer.Option(help="Another seed than the demo's own.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only see it run: one epoch on half of the messages, poor answers.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a demo that was interrupted.")] = False,
) -> None:
    """Train a triage model on invented patient messages, here and now, without internet.

    Example: [cyan]weft demo --quick[/]

    Three questions on one encoder: how urgent is a message, is it a mere
    thank-you, and which symptoms, parts of the body, medications and times does
    it name? Takes two to four minutes on two cores, less than one with --quick.
    The messages are invented and the model is [bold]not for medical use[/].
    """
    from weft.cli.screen import console, show_run
    from weft.cli.screen import output as screen
    from weft.demo import CONFIG, QUICK
    from weft.model.model import load
    from weft.training.folder import RunFolder
    from weft.training.progress import ProgressCallback
    from weft.training.run import train_one_of_many as train

    console.print("Patient-message triage on [bold]invented[/] messages. An example, [bold]not for medical use[/].\n")
    folder, bar = RunFolder(output), ProgressCallback(console)
    quick = quick or (resume and set(QUICK) <= {*folder.started().overrides})
    changes = QUICK if quick else ()
    command = shlex.join(["weft", "demo", "--output", str(output), "--resume"])
    with folder.interruptible(command):
        train(CONFIG, output, seed=seed, overrides=changes, callback=bar, resume=resume, resume_with=command)
    show_run(output)
    model = load(output)
    for text, answer in zip(_EXAMPLES, model.predict(_EXAMPLES), strict=True):
        lines = "\n  → ".join(f"{task} {_in_words(answer[task])}" for task in model.tasks)
        screen.print(f"\n{text}\n  → {lines}", soft_wrap=True)
    if quick:
        console.print("\nThis was a short look: figures and answers are far from what [bold]weft demo[/] reaches.")
    console.print(
        f'\nNext: weft predict {shlex.quote(str(output))} --text "your own message"', markup=False, soft_wrap=True
    )


def _in_words(answer: Any) -> str:
    if isinstance(answer, list):
        return ", ".join(f"{one['text']} [bold]{one['label']}[/]" for one in answer) or "none"
    return f"[bold]{answer['label']}[/] ({answer['score']:.0%})"
