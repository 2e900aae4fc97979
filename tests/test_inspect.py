"""What a model looked at: the numbers, the page and the command."""

from __future__ import annotations

import inspect as introspection
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import weft
from weft.cli import main as cli
from weft.conditioning import Conditioning
from weft.embed import load_encoder
from weft.encoder.seams import Seams
from weft.errors import ConfigError, DataError
from weft.inspect import Inspection, LeafSeams, Place, count_pulls, explained_score, find_words, inspect, unread_spans
from weft.network import Network
from weft.predict import predict
from weft.records import Content
from weft.reports.attention import render_attention
from weft.spec import parse
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.tasks import Task
from weft.tensors import States
from weft.text.tokenizer import Tokenizer

Run = Callable[..., tuple[int, str, str]]
TEXT = "the quick brownfox jumps, don't!"
PAIR = ("the quick fox", "a lazy brown dog jumps over")
LONG = "the quick brown fox jumps over the lazy dog " * 8
TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "size": ({"kind": "classification"}, ["big", "middle", "small"]),
    "fox": ({"kind": "classification", "loss": {"kind": "focal"}}, ["no", "yes"]),
    "topics": ({"kind": "classification", "multilabel": True}, [("a",), ("a", "b")]),
    "tail": ({"kind": "classification", "truncation": "head_tail", "max_length": 9}, ["no", "yes"]),
    "same": ({"kind": "pair_classification"}, ["no", "yes"]),
    "apart": ({"kind": "pair_classification", "encode": "siamese"}, ["no", "yes"]),
    "alike": ({"kind": "similarity"}, [0.0, 5.0]),
}


def build(encoder: str, conditioning: str = "none", **options: Any) -> Network:
    source = load_encoder(encoder)
    source.encoder.pooler = None
    tasks = {name: parse(Task, given) for name, (given, _) in TASKS.items()}
    targets = {name: tasks[name].learn(golds) for name, (_, golds) in TASKS.items()}
    torch.manual_seed(1)
    method = parse(Conditioning, {"kind": conditioning, **options})
    network = Network(source.encoder, source.tokenizer, tasks, targets, method).eval()
    for head in network.heads.parameters():
        torch.nn.init.normal_(head, std=0.5)
    return network


@pytest.fixture(scope="module")
def plain(small_encoder: str) -> Network:
    return build(small_encoder)


@pytest.fixture(scope="module")
def labelled(small_encoder: str) -> Network:
    network = build(small_encoder, "label_attention")
    for labels in network.conditioner.parameters():
        torch.nn.init.normal_(labels, std=0.7)
    return network


def words_of(found: Inspection) -> list[Any]:
    return [word for row in found.rows for text in row.texts for word in text.words]


def written(found: Inspection) -> list[str]:
    return [text.text[word.start : word.end] for row in found.rows for text in row.texts for word in text.words]


def tensors_by_hand(network: Network, task: str, texts: tuple[str, ...]) -> tuple[States, torch.Tensor, torch.Tensor]:
    """States with attention, the scores, and the embedded tokens as a leaf, without any of `inspect`'s own parts."""
    batch = network.collate(task, network.encode(task, [Content(texts)]))
    leaf = network.encoder.embeddings(batch).detach().requires_grad_()
    handle = network.encoder.embeddings.register_forward_hook(lambda *_: leaf)
    last = network.encoder.config.num_hidden_layers - 1
    states = network.encoder(batch, network.conditioner, attention=[last])
    handle.remove()
    scores = network.heads[f"<{task}>"](network.readers[f"<{task}>"](states))
    return states, scores, leaf


@pytest.mark.parametrize("heads", ["mean", "max"])
@pytest.mark.parametrize(("task", "texts"), [("size", (TEXT,)), ("same", PAIR), ("apart", PAIR), ("alike", PAIR)])
def test_words_and_special_tokens_share_all_attention_of_a_row(
    labelled: Network, task: str, texts: tuple[str, ...], heads: Any
) -> None:
    found = inspect(labelled, task, texts, heads=heads)
    for row in found.rows:
        words = [word.attention for text in row.texts for word in text.words]
        assert sum(words) + row.special_attention == pytest.approx(1, abs=1e-5)
        assert min([*words, row.special_attention]) > 0
    shares = [abs(word.attribution) for word in words_of(found)] + [row.special_attribution for row in found.rows]
    assert sum(shares) == pytest.approx(1, abs=1e-5)


def test_a_word_is_the_sum_of_its_sub_words_and_lies_where_it_was_written(labelled: Network) -> None:
    found = inspect(labelled, "size", (TEXT,))
    assert written(found) == ["the", "quick", "brownfox", "jumps", ",", "don", "'", "t", "!"]
    states, _, _ = tensors_by_hand(labelled, "size", (TEXT,))
    weights = states.attention[1].weights.detach().mean(1)
    (row,) = labelled.tokenizer.encode([TEXT], max_length=32, offsets=True)
    assert any(len(tokens) > 1 for *_, tokens in row.word_groups())  # else the test shows nothing
    for word, (start, end, tokens) in zip(words_of(found), row.word_groups(), strict=True):
        assert (word.start, word.end) == (start, end)
        assert word.attention == pytest.approx(float(weights[tokens].sum()), abs=1e-6)


def test_attention_is_that_of_the_chosen_layer_and_the_last_by_default(plain: Network) -> None:
    lowest, last, default = (inspect(plain, "size", (TEXT,), layer=layer) for layer in (0, 1, None))
    assert default == last
    assert [word.attention for word in words_of(lowest)] != [word.attention for word in words_of(last)]
    assert (last.layer, last.depth) == (1, 2)
    for layer in (2, -1):
        with pytest.raises(ConfigError, match=r"from 0 \(lowest\) to 1"):
            inspect(plain, "size", (TEXT,), layer=layer)


@pytest.mark.parametrize("network", ["plain", "labelled"])
@pytest.mark.parametrize(("task", "texts"), [("size", (TEXT,)), ("same", PAIR), ("apart", PAIR), ("alike", PAIR)])
def test_attribution_is_the_gradient_of_the_answers_score_times_the_embedded_tokens(
    network: str, task: str, texts: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    model: Network = request.getfixturevalue(network)
    found = inspect(model, task, texts)
    states, scores, leaf = tensors_by_hand(model, task, texts)
    label = found.prediction.get("label")
    score = scores[0, 0] if label is None else scores[0, model.targets[task].labels.index(label)]  # type: ignore[attr-defined]
    (gradient,) = torch.autograd.grad(score, leaf)
    tokens = (gradient * leaf).sum(1).detach()
    rows = model.encode(task, [Content(texts)])[0].rows
    sums, special = [], 0.0
    inputs: list[Any] = [texts if len(texts) == 2 else texts[0]] if len(rows) == 1 else list(texts)
    for start, row in zip(states.batch.starts.tolist(), inputs, strict=True):
        (encoded,) = model.tokenizer.encode([row], max_length=32, offsets=True)
        groups = [places for *_, places in encoded.word_groups()]
        sums += [float(tokens[[start + place for place in places]].sum()) for places in groups]
        inside = {place for places in groups for place in places}
        special += sum(abs(float(tokens[start + i])) for i in range(len(encoded.ids)) if i not in inside)
    total = sum(map(abs, sums)) + special
    assert [word.attribution for word in words_of(found)] == pytest.approx([one / total for one in sums], abs=1e-5)
    assert any(word.attribution < 0 for word in words_of(found))


def test_the_score_explained_is_the_given_labels(labelled: Network) -> None:
    pair = LabelTarget(("no", "yes"), (1, 1))
    one = torch.tensor([[0.7]])
    assert explained_score(pair, one, {"label": "yes"}) == (("yes",), one[0, 0])
    names, score = explained_score(pair, one, {"label": "no"})
    assert names == ("no",)
    assert float(score) == pytest.approx(-0.7)
    several = LabelsTarget(("a", "b", "c"), (1, 1, 1), 3)
    scores = torch.tensor([[1.0, -2.0, 4.0]])
    assert float(explained_score(several, scores, {"labels": ["a", "c"]})[1]) == 5
    assert explained_score(several, scores, {"labels": []})[0] == ("c",)
    assert inspect(labelled, "alike", PAIR).explained == ()
    assert inspect(labelled, "topics", (TEXT,)).explained


def test_pulls_are_the_share_of_a_words_heads_and_tokens_that_each_label_won(labelled: Network) -> None:
    found = inspect(labelled, "size", (TEXT,))
    states, _, _ = tensors_by_hand(labelled, "size", (TEXT,))
    pulled = states.attention[1].pulled_by
    assert pulled is not None
    (row,) = labelled.tokenizer.encode([TEXT], max_length=32, offsets=True)
    assert found.labels == ("big", "middle", "small")
    for word, (_, _, tokens) in zip(words_of(found), row.word_groups(), strict=True):
        for place, label in enumerate(found.labels):
            share = float((pulled[tokens] == place).float().mean())
            assert word.pulls.get(label, 0.0) == pytest.approx(share)
    assert any(word.pulled_by for word in words_of(found))
    assert count_pulls(torch.tensor([[1, 1], [0, -1]]), ("x", "y")) == {"y": 0.5, "x": 0.25}


def test_labels_pull_only_where_the_method_and_the_task_have_them(
    plain: Network, labelled: Network, small_encoder: str
) -> None:
    assert inspect(plain, "size", (TEXT,)).labels is None
    assert inspect(labelled, "alike", PAIR).labels is None
    low = build(small_encoder, "label_attention", layers=[0])
    assert inspect(low, "size", (TEXT,), layer=0).labels
    assert inspect(low, "size", (TEXT,), layer=1).labels is None


@pytest.mark.parametrize("kind", sorted(Conditioning.kinds()))
def test_the_answer_is_that_of_predict_under_every_conditioning(small_encoder: str, kind: str) -> None:
    options = {"methods": [{"kind": "task_input"}, {"kind": "label_attention"}]} if kind == "combined" else {}
    network = build(small_encoder, kind, **options)
    for weights in network.conditioner.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    for task, texts in (("size", (TEXT,)), ("topics", (LONG,)), ("same", PAIR), ("apart", PAIR), ("alike", PAIR)):
        (answer,) = predict(network, [{task: Content(texts)}])
        found = inspect(network, task, texts).prediction
        assert found.keys() == answer.predictions[task].keys()
        for key, value in answer.predictions[task].items():
            assert found[key] == (pytest.approx(value, abs=1e-5) if key != "label" and key != "labels" else value)


def test_every_seam_the_encoder_calls_is_handed_on() -> None:
    seams = {name for name, member in vars(Seams).items() if introspection.isfunction(member)}
    assert seams - {"pass_key", "extra_loss", "start", "parameters_of"} <= vars(LeafSeams).keys()


def test_the_network_stays_as_it_was(small_encoder: str) -> None:
    network = build(small_encoder, "label_attention").train()
    network.encoder.embeddings.eval()
    next(network.encoder.parameters()).requires_grad_(False)
    head = network.heads["<size>"][1].weight
    head.grad = torch.ones_like(head)
    modes = [module.training for module in network.modules()]
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with torch.inference_mode():
        first = inspect(network, "size", (TEXT,))
    assert first == inspect(network, "size", (TEXT,))  # no dropout, although in training mode
    assert [module.training for module in network.modules()] == modes
    assert torch.equal(head.grad, torch.ones_like(head))
    assert all(p.grad is None for p in network.parameters() if p is not head)
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())
    with pytest.raises(DataError):
        inspect(network, "same", (TEXT,))
    assert [module.training for module in network.modules()] == modes


def test_a_cross_pair_is_one_row_and_a_siamese_pair_two(plain: Network) -> None:
    cross, siamese = inspect(plain, "same", PAIR), inspect(plain, "apart", PAIR)
    assert [len(row.texts) for row in cross.rows] == [2]
    assert [len(row.texts) for row in siamese.rows] == [1, 1]
    assert written(cross) == written(siamese) == " ".join(PAIR).split()
    assert [row.texts[0].text for row in siamese.rows] == list(PAIR)  # although packed by length


def test_one_token_and_no_token(plain: Network) -> None:
    assert written(inspect(plain, "size", ("fox",))) == ["fox"]
    for text in ("", " \n\t"):
        found = inspect(plain, "size", (text,))
        assert words_of(found) == []
        assert found.rows[0].special_attention == pytest.approx(1)
        assert found.rows[0].special_attribution == pytest.approx(1)
        assert "(no words)" in render_attention([[found]], ["m"])


def test_what_did_not_fit_is_counted_and_named_by_place(plain: Network) -> None:
    (row,) = inspect(plain, "size", (LONG,)).rows
    (text,) = row.texts
    assert row.tokens == 32
    assert row.dropped > 0
    assert len(text.words) + text.unread_words == len(LONG.split())
    ((start, end),) = text.unread
    assert text.words[-1].end < start
    assert end == len(LONG.rstrip())
    assert "".join(piece.text for piece in text.pieces()) == LONG
    (row,) = inspect(plain, "tail", (LONG,)).rows  # head and tail stay, the middle goes
    ((start, end),) = row.texts[0].unread
    assert row.texts[0].words[0].start == 0 < start < end < row.texts[0].words[-1].start
    assert unread_spans([Place(0, 2, 4, [1])], [Place(0, 0, 4, [1]), Place(0, 5, 6, [2])]) == (((5, 6),), 1)


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram"])
def test_marks_stay_with_their_letters(kind: str, tiny_tokenizers: dict[str, Tokenizer]) -> None:
    text = "cafe\u0301 over ❤️ 1\ufe0f\u20e3 👍🏽 👩\u200d👧, été\u0301"
    (row,) = tiny_tokenizers[kind].encode([text], max_length=99, offsets=True)
    found = find_words(row, (text,))
    ends = [(text[:place.start], text[place.start : place.end], text[place.end :]) for place in found]  # fmt: skip
    for before, word, after in ends:
        assert not word.startswith(("\u0301", "\ufe0f", "\u20e3", "🏽", "\u200d")), (before, word)
        assert not after.startswith(("\u0301", "\ufe0f", "\u20e3", "🏽", "\u200d")), (word, after)
        assert not word.endswith("\u200d")
    tokens = [token for place in found for token in place.tokens]
    assert tokens == [token for *_, places in row.word_groups() for token in places]
    assert all(one.end <= two.start for one, two in pairwise(found))


class Reader(HTMLParser):
    """The tags of a page, and the text of every painted paragraph."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.painting = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)
        if ("class", "text") in attrs:
            self.painting = True
            assert ("dir", "auto") in attrs
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.painting = self.painting and tag != "p"

    def handle_data(self, data: str) -> None:
        if self.painting:
            self.texts[-1] += data


def read_page(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


@pytest.mark.parametrize("text", ["<script>alert(\"x\")</script> & <b title='y'>", "שלום עולם 👩‍👧 cafe\u0301 ❤️", LONG])
def test_a_page_holds_every_text_as_it_was_written_and_runs_nothing(labelled: Network, text: str) -> None:
    page = render_attention([[inspect(labelled, "size", (text,))]], ["m"])
    reader = read_page(page)
    assert reader.texts == [text, text]  # attention, and the second opinion
    assert not {"script", "link", "img", "iframe", "b title"} & set(reader.tags)
    assert not re.search(r"https?:|url\(|@import|\son\w+=", page.replace(text, ""))
    assert "Attention is not an explanation" in page
    assert "contains the inspected texts" in page
    assert page.isprintable() or "\x1b" not in page


def test_control_characters_do_not_reach_the_page(plain: Network) -> None:
    page = render_attention([[inspect(plain, "size", ("fox\x1b[31m \x07dog\r\nlazy",))]], ["m"])
    assert not re.search("[\x00-\x08\x0b-\x1f]", page)


def test_two_models_stand_beside_each_other_on_one_scale(plain: Network, labelled: Network) -> None:
    found = [inspect(network, "size", (TEXT,)) for network in (plain, labelled)]
    page = render_attention([found, found], ["plain <i>", "labels"])
    assert read_page(page).texts == [TEXT] * 8
    assert page.count('<p class="model">plain &lt;i&gt;</p>') == page.count('<p class="model">labels</p>') == 2
    assert page.count("--s:1.00") >= 2  # the strongest word of both, once per text
    assert "Text 2" in page
    assert "reads its answer from all tokens (mean)" in page
    assert "In plain &lt;i&gt;, this task" in page


def test_labels_are_marked_only_where_they_pull(plain: Network, labelled: Network) -> None:
    assert "Pulled by the label" not in render_attention([[inspect(plain, "size", (TEXT,))]], ["m"])
    found = inspect(labelled, "size", (TEXT,))
    page = render_attention([[found]], ["m"])
    strongest = max(word.attention for word in words_of(found))
    seen = [word for word in words_of(found) if word.pulls and word.attention >= 0.15 * strongest]
    clear = {word.pulled_by for word in seen if word.pulls[word.pulled_by] >= 0.15}
    assert clear
    for place, label in enumerate(found.labels or ()):
        assert (f'<span class="m l{place}">{label}</span>' in page) == (label in clear)
        assert (f".l{place}::after" in page) == (label in clear)


@pytest.mark.parametrize(("task", "texts"), [("topics", (TEXT,)), ("same", PAIR), ("apart", PAIR), ("alike", PAIR)])
def test_every_kind_of_answer_has_its_page(labelled: Network, task: str, texts: tuple[str, ...]) -> None:
    found = inspect(labelled, task, texts)
    page = render_attention([[found]], ["m"])
    assert read_page(page).texts == [*texts, *texts]
    assert ("Second text" in page) == (len(texts) == 2)
    if task == "alike":
        assert f"<b>{found.prediction['score']:.2f}</b>" in page


@pytest.fixture(scope="module")
def folders(plain: Network, labelled: Network, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    top = tmp_path_factory.mktemp("models")
    plain.save(top / "plain")
    labelled.save(top / "labelled")
    return top / "plain", top / "labelled"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `weft inspect`: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["weft", "inspect", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return int(caught.value.code or 0), out, err

    return call


def test_the_model_inspects_texts_and_pairs(folders: tuple[Path, Path], labelled: Network) -> None:
    model = weft.load(folders[1])
    assert model.inspect(TEXT, task="size") == inspect(labelled, "size", (TEXT,))
    assert model.inspect(PAIR, task="same", layer=0) == inspect(labelled, "same", PAIR, 0)
    with pytest.raises(DataError, match="not a text"):
        model.inspect(3, task="size")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean 'size'"):
        model.inspect(TEXT, task="sise")


def test_the_command_shows_a_text_and_writes_a_page(folders: tuple[Path, Path], run: Run, tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    code, out, err = run(
        folders[1], "--task", "size", "--text", f"{TEXT} [b]x[/] :fox:", "--output", page, "--beside", folders[0],
        "--layer", 0, "--heads", "max",
    )  # fmt: skip
    assert code == 0, err
    assert f"{TEXT} [b]x[/] :fox:" in out
    assert "looked at:" in out
    assert "labelled: size" in out
    assert "plain: size" in out
    assert read_page(page.read_text("utf-8")).texts == [f"{TEXT} [b]x[/] :fox:"] * 4
    assert "layer 0 of 0 … 1 · strongest head" in page.read_text("utf-8")


def test_the_command_reads_pairs_and_files_up_to_a_limit(folders: tuple[Path, Path], run: Run, tmp_path: Path) -> None:
    code, out, _ = run(folders[0], "-t", "same", "--text", PAIR[0], "--text-pair", PAIR[1])
    assert code == 0
    assert PAIR[1] in out
    rows = tmp_path / "rows.csv"
    rows.write_text("text,other\n" + "".join(f"fox {i},x\n" for i in range(5)), encoding="utf-8")
    page = tmp_path / "page.html"
    code, out, err = run(folders[0], "-t", "size", "--input", rows, "--limit", 3, "-o", page)
    assert code == 0
    assert "row 3" in out
    assert "row 4" not in out
    assert "2 more rows" in err
    assert page.read_text("utf-8").count("<h2>") == 3
    lines = tmp_path / "lines.txt"
    lines.write_text("fox\n\ndog\n", encoding="utf-8")
    code, out, _ = run(folders[1], "-t", "size", "--input", lines)
    assert code == 0
    assert "(no words)" in out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("-t", "sise", "--text", "x"), "did you mean 'size'?"),
        (("-t", "size", "--text", "x", "--layer", "2"), "layers run from 0 (lowest) to 1"),
        (("-t", "same", "--text", "x"), "reads two texts (a pair), but received one"),
        (("-t", "size", "--text", "x", "--text-pair", "y"), "reads one text, but received two"),
        (("-t", "size", "--text", "x", "-o", "page.pdf"), "the page is .html"),
        (("-t", "size", "--text", "x", "--beside", "nowhere"), "nowhere does not exist"),
    ],
)
def test_wrong_requests_end_in_one_message(
    folders: tuple[Path, Path], run: Run, arguments: tuple[str, ...], problem: str
) -> None:
    code, out, err = run(folders[0], *arguments)
    assert (code, out) == (1, "")
    assert problem in err


@pytest.mark.parametrize("sources", [(), ("--text", "x", "--input", "y.txt"), ("--text-pair", "x", "--input", "y.txt")])
def test_texts_come_from_one_source(folders: tuple[Path, Path], run: Run, sources: tuple[str, ...]) -> None:
    code, out, err = run(folders[0], "-t", "size", *sources)
    assert (code, out) == (2, "")
    assert "give either --text" in err


def test_the_screen_is_not_steered_by_a_text(folders: tuple[Path, Path], run: Run) -> None:
    _, out, _ = run(folders[0], "-t", "size", "--text", "fox \x1b[2J\x07 dog")
    assert "\x1b" not in out
