"""What a model looked at: the numbers, the page and the command."""

from __future__ import annotations

import inspect as introspection
import json
import re
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.conditioning import Conditioning
from weft.data.predictions import LabelPrediction, LabelsPrediction, PredictedSpan
from weft.data.records import Input
from weft.encoder.conditioner import Conditioner
from weft.errors import ConfigError, DataError
from weft.model.embed import load_encoder
from weft.model.folder import save_network
from weft.model.inspect import LeafConditioner, inspect, label_shares, unread_stretches
from weft.model.inspection import Inspection
from weft.model.network import Network
from weft.model.predict import predict
from weft.reports.inspect_page import render_attention
from weft.reports.inspect_panels import painted_spans
from weft.reports.spans import LOOKS, PaintedPiece, PaintedSpan, legend, looks_of, paint, stack
from weft.spec import parse
from weft.targets.label import FittedLabel, LabelTarget
from weft.targets.labels import FittedLabels, LabelsTarget
from weft.tasks import Task
from weft.tensors import States
from weft.tokenization.tokenizer import Tokenizer
from weft.tokenization.words import TextWord, whole_words

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
    "both": ({"kind": "pair_classification", "encode": "both"}, ["no", "yes"]),
    "alike": ({"kind": "similarity"}, [0.0, 5.0]),
}
SPANS = [((0, 1, "PER"), (0, 1, "LOC"))]
WORD_TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "crf": ({"kind": "tagging"}, SPANS),
    "greedy": ({"kind": "tagging", "decoder": "greedy", "stride": 8}, SPANS),
    "combined": ({"kind": "tagging", "decoder": "constrained", "subword_pooling": "combined", "stride": 3}, SPANS),
    "parts": ({"kind": "tagging", "scheme": "plain"}, SPANS),
    "nested": ({"kind": "spans", "max_width": 3, "stride": 8}, SPANS),
    "flat": ({"kind": "spans", "max_width": 3, "flat": True, "content": "attention"}, SPANS),
}


def build(encoder: str, conditioning: str = "none", kinds: dict[str, Any] | None = None, **options: Any) -> Network:
    source = load_encoder(encoder)
    source.encoder.pooler = None
    tasks = {name: parse(Task, given) for name, (given, _) in (kinds or TASKS).items()}
    targets = {name: tasks[name].target().fit(golds) for name, (_, golds) in (kinds or TASKS).items()}
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
def marking(small_encoder: str) -> Network:
    """Tasks that mark words, some but not all of them: null scores are moved by what a random model needs for that."""
    network = build(small_encoder, kinds=WORD_TASKS)
    moved = {"crf": -3.0, "greedy": -3.0, "combined": -2.0, "nested": 3.0, "flat": -3.0}
    with torch.no_grad():
        for name, by in moved.items():
            network.heads[f"<{name}>"].get_parameter("1.bias")[0] += by
    return network


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
    batch = network.collate(task, network.encode(task, [Input(texts)]))
    leaf = network.encoder.embeddings(batch).detach().requires_grad_()
    handle = network.encoder.embeddings.register_forward_hook(lambda *_: leaf)
    last = network.encoder.config.num_hidden_layers - 1
    states = network.encoder(batch, network.conditioner, attention=[last])
    handle.remove()
    scores = network.heads[f"<{task}>"](network.features[f"<{task}>"](states))
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
    given = found.prediction.given()
    score = scores[0, model.targets[task].labels.index(given[0][0])] if given else scores[0, 0]
    (gradient,) = torch.autograd.grad(score, leaf)
    tokens = (gradient * leaf).sum(1).detach()
    rows = model.encode(task, [Input(texts)])[0].rows
    sums, special = [], 0.0
    inputs: list[Any] = [texts if len(texts) == 2 else texts[0]] if len(rows) == 1 else list(texts)
    for start, row in zip(states.batch.row_offsets.tolist(), inputs, strict=True):
        (encoded,) = model.tokenizer.encode([row], max_length=32, offsets=True)
        groups = [places for *_, places in encoded.word_groups()]
        sums += [float(tokens[[start + place for place in places]].sum()) for places in groups]
        inside = {place for places in groups for place in places}
        special += sum(abs(float(tokens[start + i])) for i in range(len(encoded.ids)) if i not in inside)
    total = sum(map(abs, sums)) + special
    assert [word.attribution for word in words_of(found)] == pytest.approx([one / total for one in sums], abs=1e-5)
    assert any(word.attribution < 0 for word in words_of(found))


def test_the_score_explained_is_the_given_labels(labelled: Network) -> None:
    pair = FittedLabel(LabelTarget(), ("no", "yes"), (1, 1))
    one = torch.tensor([0.7])
    assert pair.explain_row(one, LabelPrediction("yes")) == (("yes",), one[0])
    names, score = pair.explain_row(one, LabelPrediction("no"))
    assert names == ("no",)
    assert float(score) == pytest.approx(-0.7)
    several = FittedLabels(LabelsTarget(), ("a", "b", "c"), (1, 1, 1), 3)
    scores = torch.tensor([1.0, -2.0, 4.0])
    assert float(several.explain_row(scores, LabelsPrediction(("a", "c")))[1]) == 5
    assert several.explain_row(scores, LabelsPrediction(()))[0] == ("c",)
    assert inspect(labelled, "alike", PAIR).explained == ()
    assert inspect(labelled, "topics", (TEXT,)).explained


def test_pulls_are_the_share_of_a_words_heads_and_tokens_that_each_label_won(labelled: Network) -> None:
    found = inspect(labelled, "size", (TEXT,))
    states, _, _ = tensors_by_hand(labelled, "size", (TEXT,))
    pulled = states.attention[1].winning_label
    assert pulled is not None
    (row,) = labelled.tokenizer.encode([TEXT], max_length=32, offsets=True)
    assert found.labels == ("big", "middle", "small")
    for word, (_, _, tokens) in zip(words_of(found), row.word_groups(), strict=True):
        for place, label in enumerate(found.labels):
            share = float((pulled[tokens] == place).float().mean())
            assert word.label_shares.get(label, 0.0) == pytest.approx(share)
    assert any(word.winning_label for word in words_of(found))
    assert label_shares(np.array([[1, 1], [0, -1]]), ("x", "y")) == {"y": 0.5, "x": 0.25}


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
        (answer,) = predict(network, [{task: Input(texts)}])
        found = inspect(network, task, texts).prediction.to_dict(scores=True)
        given = answer.predictions[task].to_dict(scores=True)
        assert found.keys() == given.keys()
        for key, value in given.items():
            assert found[key] == (pytest.approx(value, abs=1e-5) if key != "label" and key != "labels" else value)


def test_every_seam_the_encoder_calls_is_handed_on() -> None:
    conditioner = {name for name, member in vars(Conditioner).items() if introspection.isfunction(member)}
    assert conditioner - {"encoder_key", "extra_loss", "start"} <= vars(LeafConditioner).keys()


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


def test_a_pair_that_is_read_both_ways_has_a_row_of_both_texts_and_one_of_each(plain: Network) -> None:
    found = inspect(plain, "both", PAIR)
    assert [[text.text for text in row.texts] for row in found.rows] == [list(PAIR), [PAIR[0]], [PAIR[1]]]
    assert written(found) == " ".join(PAIR * 2).split()
    drops = [word.left_out for word in found.words]
    half = len(drops) // 2
    assert drops[:half] == drops[half:]  # the same words, left out of the same text
    assert len(set(drops[:half])) == half
    page = render_attention([[found]], ["m"])
    assert "Both texts: " in page
    assert page.count("Second text by itself") > 1


def test_heads_are_joined_in_no_way_that_nobody_knows(plain: Network) -> None:
    with pytest.raises(ConfigError, match="heads 'sum' is not one of: mean, max"):
        inspect(plain, next(iter(plain.tasks)), ("fox",), heads="sum")  # type: ignore[arg-type]


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
    assert unread_stretches([TextWord(0, 2, 4, [1])], [TextWord(0, 0, 4, [1]), TextWord(0, 5, 6, [2])]) == (
        ((5, 6),),
        1,
    )


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram"])
def test_marks_stay_with_their_letters(kind: str, tiny_tokenizers: dict[str, Tokenizer]) -> None:
    text = "cafe\u0301 over ❤️ 1\ufe0f\u20e3 👍🏽 👩\u200d👧, été\u0301"
    (row,) = tiny_tokenizers[kind].encode([text], max_length=99, offsets=True)
    found = whole_words(row, (text,))
    ends = [(text[:place.start], text[place.start : place.end], text[place.end :]) for place in found]  # fmt: skip
    for before, word, after in ends:
        assert not word.startswith(("\u0301", "\ufe0f", "\u20e3", "🏽", "\u200d")), (before, word)
        assert not after.startswith(("\u0301", "\ufe0f", "\u20e3", "🏽", "\u200d")), (word, after)
        assert not word.endswith("\u200d")
    tokens = [token for place in found for token in place.tokens]
    assert tokens == [token for *_, places in row.word_groups() for token in places]
    assert all(one.end <= two.start for one, two in pairwise(found))


class Features(HTMLParser):
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
        if (dict(attrs).get("class") or "").split()[:1] == ["text"]:
            self.painting = True
            assert ("dir", "auto") in attrs
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.painting = self.painting and tag != "p"

    def handle_data(self, data: str) -> None:
        if self.painting:
            self.texts[-1] += data


def read_page(page: str) -> Features:
    reader = Features()
    reader.feed(page)
    assert not reader.open
    return reader


@pytest.mark.parametrize("text", ["<script>alert(\"x\")</script> & <b title='y'>", "שלום עולם 👩‍👧 cafe\u0301 ❤️", LONG])
def test_a_page_holds_every_text_as_it_was_written_and_runs_nothing(labelled: Network, text: str) -> None:
    page = render_attention([[inspect(labelled, "size", (text,))]], ["m"])
    reader = read_page(page)
    assert reader.texts == [text] * 3  # attention, gradient × input, words left out
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
    assert read_page(page).texts == [TEXT] * 12
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
    seen = [word for word in words_of(found) if word.label_shares and word.attention >= 0.15 * strongest]
    clear = {word.winning_label for word in seen if word.label_shares[word.winning_label] >= 0.15}
    assert clear
    for place, label in enumerate(found.labels or ()):
        assert (f'<span class="m l{place}">{label}</span>' in page) == (label in clear)
        assert (f".l{place}::after" in page) == (label in clear)


@pytest.mark.parametrize(("task", "texts"), [("topics", (TEXT,)), ("same", PAIR), ("apart", PAIR), ("alike", PAIR)])
def test_every_kind_of_answer_has_its_page(labelled: Network, task: str, texts: tuple[str, ...]) -> None:
    found = inspect(labelled, task, texts)
    page = render_attention([[found]], ["m"])
    assert read_page(page).texts == [*texts, *texts, *texts]
    assert ("Second text" in page) == (len(texts) == 2)
    if task == "alike":
        assert f"<b>{found.prediction.gold:.2f}</b>" in page


def test_a_score_has_a_higher_and_a_lower_side_instead_of_an_answer(labelled: Network) -> None:
    number, label = (
        render_attention([[inspect(labelled, task, texts)]], ["m"])
        for task, texts in (("alike", PAIR), ("size", (TEXT,)))
    )
    assert "speaks for the answer" in label
    assert "speaks for the answer" not in number
    assert "against it" not in number
    assert number.count("for a lower score") == 3  # legend, heading, sums
    assert "lower score" not in label


def test_hostile_words_that_were_not_read_stay_text(plain: Network) -> None:
    hostile = LONG + "<script>alert('x')</script><img src=x onerror=alert(1)>"
    found = inspect(plain, "size", (hostile,))
    ((start, end),) = found.rows[0].texts[0].unread
    assert "<script>" in hostile[start:end]
    page = render_attention([[found]], ["m"])
    reader = read_page(page)
    assert reader.texts == [hostile] * 3
    assert not {"script", "img"} & set(reader.tags)


def values_by_hand(network: Network, task: str, text: str) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor]:
    """TokenizedExample, scores, embedded tokens as a leaf, and the attention of the last layer's first tokens."""
    tokenizer, limit = network.tokenizer.with_offsets(), network.max_length(task)
    (tokenized_example,) = network.tasks[task].encode([Input((text,))], tokenizer, limit)
    states, values, leaf = tensors_by_hand(network, task, (text,))
    return tokenized_example, values, leaf, states.attention[1].weights.detach().mean(1)


@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "windows"])
@pytest.mark.parametrize("task", sorted(WORD_TASKS))
def test_marks_are_those_of_predict_and_their_scores_are_explained(marking: Network, task: str, text: str) -> None:
    found = inspect(marking, task, (text,))
    (answer,) = predict(marking, [{task: Input((text,))}])
    given = answer.predictions[task].to_dict()
    assert found.prediction.gold == answer.predictions[task].gold
    scores = [one["score"] for one in found.prediction.to_dict()]
    assert scores == pytest.approx([one["score"] for one in given], abs=1e-5)
    assert given
    assert found.explained == tuple(dict.fromkeys(one["label"] for one in given))
    assert found.pooling == "words"

    tokenized_example, values, leaf, weights = values_by_hand(marking, task, text)
    score = sum(score_by_hand(marking, task, tokenized_example, values, one) for one in given)
    (gradient,) = torch.autograd.grad(score, leaf)
    tokens = (gradient * leaf).sum(1).detach()
    attribution = dict.fromkeys(
        zip(tokenized_example.words.char_starts, tokenized_example.words.char_ends, strict=True), 0.0
    )
    special = torch.zeros(99)
    starts = marking.collate(task, [tokenized_example]).row_offsets.tolist()
    for start, row in zip(
        starts, tokenized_example.rows, strict=True
    ):  # every copy of a token counts, also in a second window
        for place, (own, (begin, end)) in enumerate(zip(row.texts, row.offsets, strict=True)):
            if own < 0:
                special[row.ids[place]] += tokens[start + place]
            else:
                (word,) = [one for one in attribution if one[0] <= begin and end <= one[1]]
                attribution[word] += float(tokens[start + place])
    total = sum(map(abs, attribution.values())) + float(special.abs().sum())
    assert [(word.start, word.end) for word in words_of(found)] == list(attribution)
    assert [word.attribution for word in words_of(found)] == pytest.approx(
        [one / total for one in attribution.values()], abs=1e-4
    )
    places = [
        (int(word), starts[row] + place)
        for word, row, place in zip(
            tokenized_example.by_word.word,
            tokenized_example.by_word.row.tolist(),
            tokenized_example.by_word.position.tolist(),
            strict=True,
        )
    ]
    for number, word in enumerate(words_of(found)):
        own_tokens = [place for at, place in places if at == number]
        assert word.attention == pytest.approx(float(weights[own_tokens].sum()), abs=1e-6)
    outside = [
        float(weights[start + place])
        for start, row in zip(starts, tokenized_example.rows, strict=True)
        for place, own in enumerate(row.texts)
        if own < 0
    ]
    assert found.rows[0].special_attention == pytest.approx(sum(outside) / len(tokenized_example.rows), abs=1e-6)
    assert found.rows[0].windows == len(tokenized_example.rows)
    assert (len(tokenized_example.rows) > 1) == (text == LONG)


def score_by_hand(
    network: Network, task: str, tokenized_example: Any, values: torch.Tensor, one: dict[str, Any]
) -> Any:
    """The score of one mark, found by looking for its words one after the other."""
    target: Any = network.targets[task]
    bounds = list(zip(tokenized_example.words.char_starts, tokenized_example.words.char_ends, strict=True))
    inside = [number for number, (start, end) in enumerate(bounds) if one["start"] <= start and end <= one["end"]]
    if task in ("nested", "flat"):
        spans = [
            (first, last) for first in range(len(bounds)) for last in range(first, min(first + 3, len(bounds)))
        ]  # fmt: skip
        return values[spans.index((inside[0], inside[-1])), 1 + target.labels.index(one["label"])]
    going_on = [f"I-{one['label']}"] * (len(inside) - 1)
    tags = [one["label"]] if task == "parts" else [f"B-{one['label']}", *going_on]
    total: Any = 0
    for number, tag in zip(inside, tags, strict=True):
        own = [place for place, word in enumerate(tokenized_example.by_word.word.tolist()) if word == number]
        own = own if task == "combined" else own[:1]
        column = target.tags.index(tag)
        if task == "greedy" and float(values[own[0]].argmax()) != column:  # a span that begins with I-
            column = target.tags.index(f"I-{one['label']}")
        total = total + values[own, column].mean()
    return total


@pytest.mark.parametrize("task", ["crf", "combined", "nested"])
def test_where_nothing_is_marked_the_likeliest_mark_is_explained(small_encoder: str, task: str) -> None:
    network = build(small_encoder, kinds={task: WORD_TASKS[task]})
    bias = [weights for weights in network.heads.parameters() if weights.ndim == 1][-1]
    with torch.no_grad():
        bias[0] += 99
    found = inspect(network, task, (TEXT,))
    assert found.prediction.spans == ()
    _, values, leaf, _ = values_by_hand(network, task, TEXT)
    if task == "combined":
        (tokenized_example,) = network.encode(task, [Input((TEXT,))])
        of = torch.from_numpy(tokenized_example.by_word.word)
        values = torch.stack([values[of == number].mean(0) for number in range(len(tokenized_example.by_word))])
    best = int(values[:, 1:].amax(0).argmax())
    labels: Any = network.targets[task].labels  # type: ignore[attr-defined]
    assert found.explained == (labels[best if task == "nested" else best // 2],)
    (gradient,) = torch.autograd.grad(values[:, 1:].max(), leaf)
    first = float((gradient * leaf).sum(1)[1].detach())
    word = words_of(found)[0]
    assert (word.attribution > 0) == (first > 0)
    page = render_attention([[found]], ["m"])
    assert "<b>no spans</b>" in page
    assert "the likeliest span, which was not predicted" in page
    assert read_page(page).texts == [TEXT, TEXT]


@pytest.mark.parametrize("task", sorted(WORD_TASKS))
def test_a_text_without_words_has_no_marks(marking: Network, task: str) -> None:
    for text in ("", " \n"):
        found = inspect(marking, task, (text,))
        assert found.prediction.spans == ()
        assert found.explained == ()
        assert words_of(found) == []
        assert "(no words)" in render_attention([[found]], ["m"])


@pytest.mark.parametrize("kind", ["masked_words", "relations"])
def test_answers_that_nobody_can_explain_are_refused(small_encoder: str, kind: str) -> None:
    network = build(small_encoder, kinds={"odd": ({"kind": kind}, [()])})
    with pytest.raises(ConfigError, match="cannot be inspected"):
        inspect(network, "odd", ("the quick [MASK]",))


@pytest.mark.parametrize("text", [TEXT + " <script>x</script>", LONG, "שלום עולם 👩‍👧 cafe\u0301 ❤️"])
@pytest.mark.parametrize("task", ["crf", "nested"])
def test_the_page_shows_the_marks_first_and_keeps_the_text(marking: Network, task: str, text: str) -> None:
    found = inspect(marking, task, (text,))
    page = render_attention([[found], [found]], ["m"])
    reader = read_page(page)
    assert reader.texts == [text] * (8 if found.prediction.spans else 4)
    assert "script" not in reader.tags
    assert not re.search(r"https?:|url\(|@import", page)
    assert page.count('<td class="number">') == 2 * 3 * len(found.prediction.spans or ())
    assert ("overlapping windows" in page) == (text == LONG)
    assert "reads its answers from the words themselves" in page
    if found.prediction.spans:
        assert page.index('class="text marked"') < page.index("Attention of the first token")


def test_an_accent_and_a_skin_tone_are_painted_with_what_they_belong_to() -> None:
    text = "cafe\u0301 👍🏽 x"
    given = [PredictedSpan(0, 4, "a", score=0.5), PredictedSpan(6, 7, "b", score=0.5)]
    assert [(mark.start, mark.end) for mark in painted_spans(given, text)] == [(0, 5), (6, 8)]


SOME = st.lists(
    st.tuples(st.integers(0, 24), st.integers(1, 12), st.sampled_from(["a", "b", "a long name of a label"]))
)


@given(text=st.text(max_size=30), spans=SOME)
def test_painted_text_is_the_text_and_no_character_loses_a_mark(text: str, spans: list[tuple[int, int, str]]) -> None:
    marks = [PaintedSpan(start, start + width, label) for start, width, label in spans]
    reader = Painted(paint(text, marks, looks_of(label for *_, label in spans)))
    if not text.strip() and not any(mark.start < len(text) for mark in marks):
        assert reader.text == "(no words)"
        return
    whole = text.replace("\r\n", " \n").replace("\r", "\n")
    assert len(reader.text) == len(text)
    assert all(one == two or two == "�" for one, two in zip(whole, reader.text, strict=True))
    assert all(one == two for one, two in zip(whole, reader.text, strict=True) if one.isprintable() or one in "\n\t")
    for place, labels in enumerate(reader.labels):
        assert sorted(labels) == sorted(mark.label for mark in marks if mark.start <= place < mark.end)


class Painted(HTMLParser):
    """The characters of a painted paragraph, and the labels of the marks around each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.labels, self.open = "", [], []  # type: str, list[list[str]], list[str]
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(dict(attrs).get("title") or "")

    def handle_endtag(self, tag: str) -> None:
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data
        self.labels += [[title for title in self.open if title]] * len(data)


def test_marks_are_stacked_and_only_those_that_cross_are_parted() -> None:
    def shape(pieces: list[PaintedPiece]) -> list[Any]:
        return [(piece.span.label, piece.start, piece.end, shape(piece.inner)) for piece in pieces]

    marks = [
        PaintedSpan(0, 9, "out"),
        PaintedSpan(6, 12, "cross"),
        PaintedSpan(1, 4, "in"),
        PaintedSpan(2, 3, "deep"),
        PaintedSpan(1, 4, "same"),
    ]
    assert shape(stack(marks, 20)) == [
        ("out", 0, 9, [("in", 1, 4, [("same", 1, 4, [("deep", 2, 3, [])])]), ("cross", 6, 9, [])]),
        ("cross", 9, 12, []),
    ]
    page = paint("x" * 20, marks, looks_of(mark.label for mark in marks))
    assert '<p class="text marked" dir="auto" style="--deep:4">' in page
    assert 'data-label="cross…"' in page
    assert 'data-label="…cross"' in page
    assert page.count("--in:3") == page.count("--in:2") == page.count("--in:1") == 1
    later = [PaintedSpan(0, 9, "out"), PaintedSpan(1, 2, "flat"), PaintedSpan(3, 7, "in"), PaintedSpan(4, 5, "deep")]
    assert [piece.height() for piece in stack(later, 9)] == [2]  # also where the deepest is not the first


def test_every_label_has_a_name_of_its_own_and_the_first_28_a_look_of_their_own() -> None:
    labels = [f"a_label_with_a_long_name_{place // 100}" for place in range(300)] + [f"<{n}>" for n in range(40)]
    looks = looks_of(labels)
    names = [look.name for look in looks.values()]
    assert len(looks) == 43
    assert len(set(names)) == len(names)
    assert all(len(name) <= 16 for name in names)
    assert len({look.kind for look in list(looks.values())[:LOOKS]}) == LOOKS == 28
    from weft.reports.spans import STYLE

    assert len(set(re.findall(r"--k: .*", STYLE))) == 28
    assert "&lt;1&gt;" in legend(looks)
    assert "<1>" not in legend(looks)


@pytest.fixture(scope="module")
def folders(plain: Network, labelled: Network, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    top = tmp_path_factory.mktemp("models")
    save_network(plain, top / "plain")
    save_network(labelled, top / "labelled")
    return top / "plain", top / "labelled"


@pytest.fixture
def run(run_weft: Run) -> Run:
    """Run `weft inspect`: exit code, standard output, standard error."""
    return partial(run_weft, "inspect")


def test_the_model_inspects_texts_and_pairs(folders: tuple[Path, Path], labelled: Network) -> None:
    model = weft.load(folders[1])
    assert model.inspect(TEXT, task="size") == inspect(labelled, "size", (TEXT,))
    assert model.inspect(PAIR, task="same", layer=0) == inspect(labelled, "same", PAIR, 0)
    with pytest.raises(DataError, match="not a text"):
        model.inspect(3, task="size")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean 'size'"):
        model.inspect(TEXT, task="sise")


def test_the_only_task_need_not_be_named_and_of_several_all_are(
    folders: tuple[Path, Path], run: Run, plain: Network, tmp_path: Path
) -> None:
    alone = Network(plain.encoder, plain.tokenizer, {"size": plain.tasks["size"]}, {"size": plain.targets["size"]})
    save_network(alone, tmp_path / "alone")
    code, out, err = run(tmp_path / "alone", "--text", TEXT)
    assert code == 0, err
    assert out.startswith("size ")
    code, _, err = run(folders[0], "--text", TEXT)
    assert code == 2
    assert f"has several tasks; name one with --task: {', '.join(plain.tasks)}" in " ".join(
        err.replace("│", " ").split()
    )


def test_the_command_shows_a_text_and_writes_a_page(folders: tuple[Path, Path], run: Run, tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    code, out, err = run(
        folders[1], "--task", "size", "--text", f"{TEXT} [b]x[/] :fox:", "--output", page, "--beside", folders[0],
        "--layer", 0, "--heads", "max",
    )  # fmt: skip
    assert code == 0, err
    assert f"{TEXT} [b]x[/] :fox:" in out
    assert "looked at:" in out
    assert re.search(r"change of the probability when left out: \S+ [−+]\d+(\.\d)?%", out)
    assert "Gradient × input " in out
    assert "labelled: size" in out
    assert "plain: size" in out
    assert read_page(page.read_text("utf-8")).texts == [f"{TEXT} [b]x[/] :fox:"] * 6
    assert "layer 0 of 0 … 1 · strongest head" in page.read_text("utf-8")


def test_the_command_leaves_no_word_out_where_that_is_not_wanted(
    folders: tuple[Path, Path], run: Run, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    code, out, _ = run(folders[0], "--task", "size", "--text", TEXT, "--no-leave-out", "--output", page)
    assert code == 0
    assert "left out" not in out + page.read_text("utf-8")


def test_the_command_shows_marks_of_texts_and_of_words(marking: Network, run: Run, tmp_path: Path) -> None:
    save_network(marking, tmp_path / "marking")
    hostile = "the quick fox [b]x[/] \x1b[2J <script>"
    given = inspect(marking, "crf", (hostile,)).prediction.to_dict()
    assert given
    code, out, err = run(tmp_path / "marking", "-t", "crf", "--text", hostile, "-o", tmp_path / "page.html")
    assert code == 0, err
    assert f"{len(given)} span" in out
    assert "for its spans: " in out
    assert re.search(r"start +end +text +label +score", out)
    for one in given:
        words = re.escape(one["text"].replace("\x1b", "�"))
        assert re.search(rf" *{one['start']} +{one['end']} +{words} +{one['label']} +{one['score']:.3f}", out)
    assert out.count("[b]x[/]") >= 2  # the marked text, and where it looked
    assert "\x1b" not in out
    assert "<script>" not in (tmp_path / "page.html").read_text("utf-8")
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"tokens": ["the", "quick-fox", "."]}) + "\n", encoding="utf-8")
    code, out, err = run(tmp_path / "marking", "-t", "parts", "--input", rows)
    assert code == 0, err
    assert re.search(r"4 +13 +quick-fox", out)  # one word, as it was given
    code, out, _ = run(tmp_path / "marking", "-t", "parts", "--text", LONG)
    assert "… and 32 more spans" in out
    assert "Read in" in out


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
