"""The package of docs/plugins.md, installed for real, works in every command; broken ones are refused by name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import weft

PAGE = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+\n# ([\w.]+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
COMMANDS = """
import shlex, sys
from weft.cli.main import main
for line in sys.argv[1:]:
    sys.argv = shlex.split(line)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""
KINDS = "from weft import Loss; print(*Loss.kinds())"


def install(site: Path, name: str, module: str, source: str) -> None:
    """What installing a wheel leaves behind: the module, and the metadata that names its entry point."""
    site.mkdir(exist_ok=True)
    (site / f"{module}.py").write_text(source, encoding="utf-8")
    metadata = site / f"{module}-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(f"[weft.kinds]\nstars = {module}\n")


def python(*arguments: object, site: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with a folder of installed packages."""
    path = os.pathsep.join([str(site), str(Path(weft.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "500"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)


def test_the_package_of_the_page_works_in_check_train_and_predict(tmp_path: Path, small_encoder: str) -> None:
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    ((group, entries),) = project["entry-points"].items()
    assert (group, entries) == ("weft.kinds", {"stars": "weft_stars"})
    install(tmp_path / "site", project["name"], entries["stars"], FILES["weft_stars.py"])
    work = tmp_path / "work"
    work.mkdir()
    (work / "reviews.toml").write_text(f'encoder.from = "{small_encoder}"\n{FILES["reviews.toml"]}')
    rows = [f"{word * (row + 1)},{'*' * (row % 5 + 1)}" for row in range(10) for word in ("fox ", "dog ")]
    (work / "reviews.csv").write_text("\n".join(["review,rating", *rows]), encoding="utf-8")
    (commands,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    done = python("-c", COMMANDS, *commands.splitlines(), site=tmp_path / "site", folder=work)
    assert done.returncode == 0, done.stderr
    assert json.loads((work / "reviews" / "weft.json").read_text())["tasks"]["rating"]["loss"]["margin"] == 0.5
    assert re.search(r"\b[1-5]\b", done.stdout.splitlines()[-1])
    (work / "reviews.csv").write_text("review,rating\nfox,**\ndog,two\n", encoding="utf-8")
    wrong = python("-m", "weft", "check", "reviews.toml", site=tmp_path / "site", folder=work)
    assert wrong.returncode == 1
    assert "a rating is one to five stars, as in ***" in wrong.stdout + wrong.stderr
    missing = python("-m", "weft", "predict", "reviews", "--text", "fox", site=tmp_path / "none", folder=work)
    assert missing.returncode == 1
    assert "kind 'stars' is not one of" in missing.stderr
    assert "install the plugin" in missing.stderr
    assert "Traceback" not in missing.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nothing_like_this", "ModuleNotFoundError: No module named 'nothing_like_this'"),
        (
            'from weft import Loss\nclass Mine(Loss):\n    kind: str = "focal"\n',
            "Loss has two classes of the kind 'focal': weft_broken.Mine and weft.losses.focal.Focal",
        ),
    ],
    ids=["import", "collision"],
)
def test_a_plugin_that_cannot_be_loaded_is_named_with_its_package(tmp_path: Path, source: str, message: str) -> None:
    install(tmp_path / "site", "weft-broken", "weft_broken", source)
    (tmp_path / "run.toml").write_text('[tasks.t]\nkind = "classification"\ntrain = "t.csv"\n')
    done = python("-m", "weft", "check", "run.toml", site=tmp_path / "site", folder=tmp_path)
    assert done.returncode == 1
    assert "the plugin 'stars' (weft_broken) of the package weft-broken cannot be loaded" in done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_is_imported_from_the_working_folder(tmp_path: Path) -> None:
    install(tmp_path, "weft-lurking", "weft_lurking", FILES["weft_stars.py"])
    here = python("-c", KINDS, site=tmp_path / "none", folder=tmp_path)  # where the folder is on the path as ""
    assert (here.returncode, "hinge" in here.stdout) == (0, False), here.stderr
    (tmp_path / "elsewhere").mkdir()
    installed = python("-c", KINDS, site=tmp_path, folder=tmp_path / "elsewhere")
    assert "hinge" in installed.stdout.split()
