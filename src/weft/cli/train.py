"""`weft train`: from a config to a model folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DataFolder, DeviceChoice, Overrides


def train(
    config: Annotated[Path, typer.Argument(help="The experiment, as a TOML file.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder to make; runs/NAME if unset.")] = None,
    overrides: Overrides = None,
    data: DataFolder = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the config's seed.")] = None,
    device: DeviceChoice = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run of the same output.")] = False,
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print all settings, those of the preset with reasons; train nothing.")
    ] = False,
) -> None:
    """Train all tasks of a config on one encoder.

    Example: [cyan]weft train triage.toml --output triage --set training.epochs=5[/]

    Writes a folder with the model, report.html, metrics.json (scores) and
    results.json (with intervals, baselines and each label). Ctrl-C stops safely;
    --resume goes on as if nothing had happened.
    """
    if show_config:
        _show_config(config, overrides or (), data, seed)
        return
    from weft.cli.screen import console, show_run
    from weft.training.folder import RunFolder, resume_command
    from weft.training.progress import ProgressCallback
    from weft.training.run import default_output
    from weft.training.run import train as run

    target = output or default_output(config)
    bar = ProgressCallback(console)
    with RunFolder(target).interruptible(resume_command(config, target, device)):
        run(config, target, callback=bar, overrides=overrides or (), data=data, seed=seed, device=device, resume=resume)
    show_run(target)


def _show_config(config: Path, overrides: Sequence[str], data: Path | None, seed: int | None) -> None:
    """Print the whole config as it would be run."""
    import tomli_w

    from weft.config.document import data_folder, read_experiment
    from weft.training.prepare import prepare

    experiment = read_experiment(config, (*overrides, *([f"seed={seed}"] if seed is not None else [])))
    prepared = prepare(experiment, data_folder(config.parent, experiment, data))
    prepared.complete()
    for reason in prepared.reasons:
        typer.echo(f"# {reason}")
    typer.echo(tomli_w.dumps(prepared.experiment.to_dict()))
