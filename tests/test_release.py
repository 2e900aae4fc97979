"""What is handed on: a wheel and a source archive that are complete, install from nothing, and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest
import yaml
from trove_classifiers import classifiers

TOP = Path(__file__).parent.parent
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STEM = f"weft-{PROJECT['version']}"
ARCHIVED = (".ci", "benchmarks", "docs", "notebooks", "recipes", "src", "tests")
BESIDE = ("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md")
SETTINGS = (".gitignore", "constraints.txt", "mkdocs.yml", "pyproject.toml")
WHERE = "import weft, importlib.metadata as m; print(weft.__file__, m.version('weft'), sep='\\n')"


def files_below(folder: Path, start: Path) -> Iterator[str]:
    """The files of a folder, as paths from `start`, but for what Python leaves behind."""
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(start).as_posix()


def run(*command: object, folder: Path) -> str:
    """What a command says, in a folder, with nothing of this checkout on Python's path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"HF_HUB_OFFLINE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_COLOR": "1"}
    words = [*map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, TOP, folder=folder)
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """The programs of an environment that has nothing of its own, not even pip.

    It finds the packages installed here, as torch is not to be copied; weft among them it does not find, as that is no
    package there but a pointer to this checkout, and pointers of pointers are not followed.
    """
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", folder=tmp_path)
    programs = tmp_path / "venv" / "bin"
    site = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=tmp_path)
    installed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    Path(site.strip(), "installed.pth").write_text("\n".join(installed) + "\n", encoding="utf-8")
    return programs


@pytest.mark.slow
def test_the_wheel_is_the_source_file_by_file_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(built / f"{STEM}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        metadata = message_from_bytes(wheel.read(f"{STEM}.dist-info/METADATA"))
    about = {name for name in names if name.startswith(f"{STEM}.dist-info/")}
    assert names - about == set(files_below(TOP / "src" / "weft", TOP / "src"))
    assert {"weft/py.typed", "weft/demo/train.jsonl", "weft/examples/support/desk.toml"} <= names
    assert f"{STEM}.dist-info/licenses/LICENSE" in about
    assert (metadata["Name"], metadata["Version"]) == ("weft", PROJECT["version"])
    assert metadata["License-Expression"] == "Apache-2.0"


@pytest.mark.slow
def test_the_source_archive_has_what_is_needed_to_build_and_to_test(built: Path) -> None:
    with tarfile.open(built / f"{STEM}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {name for folder in ARCHIVED for name in files_below(TOP / folder, TOP)}
    assert {*needed, *BESIDE, *SETTINGS} - names == set()


@pytest.mark.slow
def test_what_an_index_would_show_is_sound(built: Path) -> None:
    said = run(sys.executable, "-m", "twine", "check", "--strict", *sorted(built.iterdir()), folder=built)
    assert said.count("PASSED") == 2


@pytest.mark.slow
def test_the_wheel_installs_into_an_empty_environment_and_the_demo_runs_there(
    built: Path, empty: Path, tmp_path: Path
) -> None:
    wheel = built / f"{STEM}-py3-none-any.whl"
    pip = (sys.executable, "-m", "pip", "--python", empty / "python")
    run(*pip, "install", "--no-index", wheel, folder=tmp_path)  # all that it requires is found, or pip would refuse
    place, version = run(empty / "python", "-c", WHERE, folder=tmp_path).splitlines()
    assert Path(place).is_relative_to(empty.parent)  # the wheel's, and not this checkout's
    assert version == PROJECT["version"]
    run(empty / "weft", "example", "relations", "--output", "relations", folder=tmp_path)
    run(empty / "weft", "check", "relations/relations.toml", folder=tmp_path)
    said = run(empty / "weft", "demo", "--quick", "--output", "demo", folder=tmp_path)
    assert re.search(r"^findings +f1 ", said, re.MULTILINE)
    assert (tmp_path / "demo" / "report.html").is_file()


# what is said of it


def test_classifiers_are_known_ones_and_name_every_python_that_is_supported() -> None:
    named = PROJECT["classifiers"]
    assert named == sorted(set(named))
    assert set(named) <= set(classifiers)
    assert "Operating System :: OS Independent" in named
    pythons = {name.rpartition(" ")[2] for name in named if name.startswith("Programming Language :: Python :: 3.")}
    assert pythons == {"3.11", "3.12", "3.13"}
    assert PROJECT["requires-python"] == ">=3.11"
    assert not any(name.startswith("License ::") for name in named)  # `license` says it


def test_the_citation_is_in_step_with_the_package() -> None:
    citation = yaml.safe_load((TOP / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()  # what the format asks for
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    (first, *_) = re.findall(r"^## (\S+)", (TOP / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert first == PROJECT["version"]


def test_everything_that_is_pinned_is_in_order_and_once() -> None:
    lines = (TOP / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert lines == sorted(lines, key=str.lower)
    assert len({line.partition("==")[0] for line in lines}) == len(lines)
