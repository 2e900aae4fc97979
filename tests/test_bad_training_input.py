"""Configs and data that cannot be trained on: one message that says where and what, and nothing left behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.cli import main as cli

Run = Callable[..., tuple[int, str]]
SECRET = "quick lazy patient words that nobody may see in a message"
GOOD = "text,label\n" + "".join(f"the {word} fox number {i},{'ab'[i % 2]}\n" for i, word in enumerate(["quick"] * 12))
SCORES = "sentence1,sentence2,score\n" + "".join(f"fox {i},dog {i},{i % 5}\n" for i in range(12))


@pytest.fixture
def run(tmp_path: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `weft train` on files and a config with one task `t` of train.csv and dev.csv: exit code and message.

    Whatever happens, there may be no traceback, none of the users' texts, and no new file.
    """

    def call(
        task: str = 'kind = "classification"',
        top: str = "",
        more: str = "",
        files: dict[str, str | bytes] | None = None,
        arguments: tuple[str, ...] = (),
    ) -> tuple[int, str]:
        for name, content in {"train.csv": GOOD, "dev.csv": GOOD, **(files or {})}.items():
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).write_bytes(data)
        document = f'{top}\n[encoder]\nfrom = "{small_encoder}"\n[tasks.t]\ntrain = "train.csv"\n'
        document += ("" if "dev =" in task else 'dev = "dev.csv"\n') + f"{task}\n{more}\n"
        (tmp_path / "run.toml").write_text(document, encoding="utf-8")
        before = sorted(tmp_path.rglob("*"))
        command = ["weft", "train", str(tmp_path / "run.toml"), "--output", str(tmp_path / "model"), *arguments]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert out == ""
        assert "Traceback" not in err
        assert SECRET not in err
        assert sorted(tmp_path.rglob("*")) == before
        return int(caught.value.code or 0), err

    return call


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (f'text,label\n"{SECRET},a\nb,b\n', "train.csv, line 2: the row that begins here has a quote"),
        (f"text,label\n{SECRET}\0,a\n", "train.csv, line 2: holds a NUL byte"),
        ("text,label\ncafé,a\n".encode("latin-1"), "train.csv, line 2: is not UTF-8 (byte 0xe9 at position 4)"),
        (f"text,label\n{SECRET},a,b\n", "line 2: has 3 fields, but the header has 2"),
        (f"text,label\n{SECRET},a\n  ,b\n", "line 3, column 'text': the text is empty"),
        ("text,label\n", "train.csv: holds no rows"),
        (f"text,label\n{SECRET},\n", "train.csv: holds no row with an answer in the column 'label'"),
        ("", "train.csv: holds no rows"),
        (f"text,label\n{SECRET},a\n{SECRET}!,a\n", "all 2 rows have the same answer"),
        (f"text,lable\n{SECRET},a\n", "has no column 'label'; its columns are: text, lable; did you mean 'lable'?"),
        (f"text,text\n{SECRET},a\n", "the header gives columns 1 and 2 one name"),
    ],
)
def test_a_file_that_cannot_be_learned_from_is_one_message(run: Run, train: str | bytes, message: str) -> None:
    code, err = run(files={"train.csv": train})
    assert code == 1
    assert message in err


def test_a_label_only_in_dev_is_named_with_the_nearest_unless_it_may_be_a_text(run: Run) -> None:
    train = GOOD.replace(",a\n", ",urgent\n")
    code, err = run(files={"train.csv": train, "dev.csv": f"text,label\nfox,urgnet\ndog,{SECRET}\n"})
    assert code == 1
    assert "tasks.t.dev: dev.csv, line 3: label " in err
    assert "'urgnet' never occurs in training; did you mean 'urgent'?" in err
    assert f"(of {len(SECRET)} characters) never occurs in training" in err


def test_labels_that_repeat_are_named_where_the_config_lists_others(run: Run) -> None:
    rows = "".join(f"the fox {n},{('urgent', 'normal', 'normal')[n % 3]}\n" for n in range(30))
    code, err = run('kind = "classification"\nlabels = ["urgent"]', files={"train.csv": f"text,label\n{rows}"})
    assert code == 1
    assert "label 'normal' is not one of: urgent (20 rows)" in err
    rows += f"a fox,{SECRET}\n"
    code, err = run('kind = "classification"\nlabels = ["urgent"]', files={"train.csv": f"text,label\n{rows}"})
    assert f"label (of {len(SECRET)} characters) is not one of: urgent" in err


def test_a_label_of_many_dev_rows_that_never_occurs_in_training_is_named(run: Run) -> None:
    code, err = run(files={"dev.csv": GOOD + "".join(f"a fox {n},spare\n" for n in range(3))})
    assert code == 1
    assert "label 'spare' never occurs in training (3 rows)" in err
    code, err = run(files={"dev.csv": GOOD + "a fox,spare\n"})
    assert "label (of 5 characters) never occurs in training" in err


def test_a_task_with_an_odd_name_is_shown_as_the_config_writes_it(run: Run) -> None:
    code, err = run(more='[tasks."a/b"]\nkind = "classification"\ntrain = "train.csv"')
    assert code == 1
    assert 'tasks."a/b": a task\'s name has letters, digits, - and _ only' in err
    code, err = run(more=f'[tasks."{SECRET}"]\nkind = "classification"')
    assert f"tasks.(a key of {len(SECRET)} characters)" in err


def test_labels_that_the_config_does_not_list_are_all_named_by_line(run: Run) -> None:
    bad = GOOD + f"one more,c\nand one,{SECRET}\n"
    code, err = run('kind = "classification"\nlabels = ["a", "b"]', files={"train.csv": bad})
    assert code == 1
    assert "line 14, column 'label': label (of 1 character) is not one of: a, b" in err
    assert "line 15, column 'label'" in err


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("nan", "must be a finite number"),
        ("inf", "finite"),
        ("five", "must be a number, but this is a text without a digit"),
        (
            '"1,500"',
            "must be a number; with three digits behind it a comma may be decimal or part thousands",
        ),
    ],
)
def test_scores_that_are_no_numbers_are_named_by_line(run: Run, score: str, message: str) -> None:
    files = {"train.csv": SCORES + f"a,b,{score}\n", "dev.csv": SCORES}
    code, err = run('kind = "similarity"', files=files)
    assert code == 1
    assert "train.csv, line 14, column 'score'" in err
    assert message in err


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("5 kg", "; this is one with more behind it, such as a unit or a sign: write the number alone"),
        ("80%", "; this is one with more behind it"),
        (SECRET, ", but this is a text without a digit; is this the right column?"),
        ("secret 5", ", but this is a text"),
    ],
)
def test_what_stands_in_place_of_a_score_is_described_and_not_shown(run: Run, score: str, message: str) -> None:
    code, err = run('kind = "similarity"', files={"train.csv": SCORES + f"a,b,{score}\n", "dev.csv": SCORES})
    assert code == 1
    assert f"a score must be a number{message}" in err
    assert score not in err


def test_many_scores_whose_comma_says_two_things_are_told_of_the_comma_whatever_their_number(run: Run) -> None:
    scores = "".join(f'a {i},b {i},"{i + 1},{500 + i}"\n' for i in range(40))
    code, err = run('kind = "similarity"', files={"train.csv": f"sentence1,sentence2,score\n{scores}"})
    assert code == 1
    assert "a score must be a number; with three digits behind it a comma may be decimal" in err
    assert "(21 rows or more)" in err
    assert "right column?" not in err
    assert "500" not in err.replace("1,5000", "")


def test_a_column_without_any_answer_is_told_what_to_do(run: Run) -> None:
    code, err = run('kind = "classification"', files={"train.csv": "text,label\nfox,\ndog,\n"})
    assert code == 1
    assert "in the column 'label'; fill it in, or name the column that has the answers" in err


def test_scores_outside_the_scale_are_named(run: Run) -> None:
    code, err = run('kind = "similarity"\nscale = [0, 3]', files={"train.csv": SCORES, "dev.csv": SCORES})
    assert code == 1
    assert "score 4 is outside the scale 0 … 3" in err


def test_labels_that_are_not_a_number_are_refused(run: Run) -> None:
    rows = "".join(f'{{"text": "fox {i}", "label": {i % 2}}}\n' for i in range(9)) + '{"text": "dog", "label": NaN}\n'
    code, err = run('kind = "classification"\ndev = 0.4', files={"train.csv": GOOD, "t.jsonl": rows}, arguments=(
        "--set", "tasks.t.train=t.jsonl"))  # fmt: skip
    assert code == 1
    assert "t.jsonl, line 10, column 'label': a label must be a word or a number, but this is nan" in err


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ('kind = "classification"\nlerning = 1', "tasks.t.lerning: unknown key"),
        ('kind = "classification"\nmetrik = "f1"', "tasks.t.metrik: unknown key; did you mean 'metric'?"),
        ('kind = "classificatoin"', "kind 'classificatoin' is not one of: "),
        ('kind = "classificatoin"', "did you mean 'classification'?"),
        ('kind = "classification"\nloss = "focall"', "did you mean 'focal'?"),
        ('kind = "classification"\nloss = "mse"', "tasks.t.loss: 'mse' does not suit this task; allowed: "),
        ('kind = "classification"\nmetric = "pearson"', "tasks.t.metric: 'pearson' is not one of: accuracy"),
        ('kind = "classification"\nloss = {kind = "cross_entropy", class_weights = [1.0]}', "tasks.t.loss: class_weig"),
        ('kind = "classification"\nmax_length = 2', "tasks.t.max_length: "),
        ('kind = "similarity"\noutput = "cosine"\nencode = "cross"', 'needs encode = "siamese"'),
        ('kind = "classification"\ndev = 1.5', "tasks.t.dev"),
    ],
)
def test_a_task_that_is_not_possible_is_named_by_its_path(run: Run, task: str, message: str) -> None:
    code, err = run(task)
    assert code == 1
    assert message in err


def test_a_binary_loss_for_three_labels_names_the_task(run: Run) -> None:
    code, err = run('kind = "classification"\nloss = "binary"', files={"train.csv": GOOD + "a third,c\n"})
    assert code == 1
    assert "tasks.t.loss: loss 'binary' tells two labels apart" in err


def test_wrong_toml_says_where(run: Run) -> None:
    code, err = run(more="[training\nepochs = 1")
    assert code == 1
    assert "run.toml is not valid TOML" in err
    assert "line" in err


def test_every_fault_of_a_config_is_told_at_once(run: Run) -> None:
    more = '[training]\nepocs = 1\nlearning_rate = -1\nchoose_by = "t"\n[[phases]]\ntasks = []\n'
    code, err = run('kind = "classification"\nmetrik = "f1"', top="sed = 1", more=more)
    assert code == 1
    for fault in ("sed: ", "training.epocs", "training.learning_rate", "tasks.t.metrik", "phases.0.tasks"):
        assert fault in err
    code, err = run(more='[training]\nchoose_by = "u"\n[[phases]]\ntasks = ["t", "tt"]\n')
    assert code == 1
    assert "'tt'; did you mean 't'?" in err or "'tt'" in err
    assert "'u'" in err


@pytest.mark.parametrize("name", ["overall", "truncated", "empty", '"a b"', '"a/b"'])
def test_names_that_would_collide_or_leave_the_folder_are_refused(run: Run, name: str) -> None:
    told = "letters, digits, - and _ only" if '"' in name else name
    code, err = run(more=f'[tasks.{name}]\nkind = "classification"\ntrain = "train.csv"')
    assert code == 1
    assert told in err


def test_every_fault_of_every_file_is_told_at_once(run: Run) -> None:
    files: dict[str, str | bytes] = {
        "train.csv": "text,label\n ,a\nfox,b\n,a\n" + f'"{SECRET}\n',
        "dev.csv": "words,label\nfox,a\n",
        "scores.csv": SCORES + "a,b,x\n",
    }
    more = '[tasks.u]\nkind = "similarity"\ntrain = "scores.csv"\n[tasks.v]\nkind = "classification"\ntrain = "no.csv"'
    code, err = run('kind = "classification"\ntest = "test.csv"', files=files, more=more)
    assert code == 1
    for fault in (
        "train.csv, lines 2, 4, column 'text': the text is empty",
        "train.csv, line 5: the row that begins here has a quote",
        "dev.csv: has no column 'text'",
        "test.csv: there is no such file",
        "scores.csv, line 14, column 'score': a score must be a number",
        "no.csv: there is no such file",
    ):
        assert fault in err, fault
    assert err.count("weft: ") == 1


def test_more_faults_than_anyone_reads_are_counted(run: Run) -> None:
    code, err = run(files={"train.csv": "text,label\n" + ",a\n" * 300})
    assert code == 1
    assert "lines 2, 3, 4, 5, 6 … and 295 more, column 'text': the text is empty" in err
    assert "(300 rows)" in err
    assert len(err.splitlines()) < 30


def test_an_output_that_exists_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    code, err = run()
    assert code == 1
    assert "exists already" in err


@pytest.mark.parametrize("arguments", [("--sed", "1"), ("--seed", "many"), ("--device", "abacus")])
def test_wrong_usage_is_exit_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(arguments=arguments)[0] == 2


@pytest.mark.parametrize("override", ["training.epochs", "training.epochs=many", "tasks.t.train.x=1", "=3"])
def test_an_override_that_cannot_be_is_one_message(run: Run, override: str) -> None:
    code, err = run(arguments=("--set", override))
    assert code == 1
    assert err.startswith("weft: ")


def test_a_config_that_is_not_there_or_no_file_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for path, message in ((tmp_path / "no.toml", "there is no config file"), (tmp_path, "is a folder")):
        monkeypatch.setattr(sys, "argv", ["weft", "train", str(path)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 1
        assert message in capfd.readouterr().err
