"""`weft completion`: what a shell needs to complete weft's commands."""

from __future__ import annotations

from typing import Annotated, Literal

import typer


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell to write it for.")],
) -> None:
    """Print what a shell needs to complete commands and options.

    Example: [cyan]echo 'source <(weft completion bash)' >> ~/.bashrc[/]

    For zsh, put the same line with zsh into ~/.zshrc, after compinit. For
    fish: [cyan]weft completion fish > ~/.config/fish/completions/weft.fish[/]
    """
    from weft.cli.completion_scripts import SCRIPTS, read_program
    from weft.cli.main import app

    typer.echo(SCRIPTS[shell](read_program(app)), nl=False)
