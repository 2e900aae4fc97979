"""What is written in a config, or with --set, arrives where it is used."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

from weft.conditioning import Conditioning, task_key
from weft.conditioning.combined import Combined
from weft.conditioning.lora import Lora
from weft.conditioning.task_input import TaskInput
from weft.config.document import data_folder, parse_experiment, read_document
from weft.config.override import apply_override
from weft.data.records import Input
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import ConfigError
from weft.heads.mlp import Mlp
from weft.losses.focal import Focal
from weft.model.network import Network, network_shape
from weft.pooling.cls import Cls
from weft.pooling.mean import Mean
from weft.spec import parse
from weft.targets.labels import LabelsTarget
from weft.targets.score import ScoreTarget
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer

PLAIN: dict[str, Any] = {"tasks": {"x": {"kind": "classification", "train": "x.csv"}}}


def plain(**task: Any) -> dict[str, Any]:
    """A config with one task `x`."""
    return {"tasks": {"x": {**PLAIN["tasks"]["x"], **task}}}


# --set


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-1", -1),
        ("0.25", 0.25),
        ("1e-4", 1e-4),
        ("true", True),
        ("false", False),
        ('["a", "b"]', ["a", "b"]),
        ("[1, 2.5]", [1, 2.5]),
        ('{ kind = "mlp", sizes = [8] }', {"kind": "mlp", "sizes": [8]}),
        ('"quoted"', "quoted"),
        ("'5'", "5"),
        ("plain", "plain"),
        ("two words", "two words"),
        ("data/new=old.csv", "data/new=old.csv"),
        ("C:\\data", "C:\\data"),
        (" 7 ", 7),
        ("", ""),
    ],
)
def test_a_value_is_read_as_toml_and_else_taken_as_text(text: str, value: object) -> None:
    found = apply_override({}, f"a.b={text}")
    assert found == {"a": {"b": value}}
    assert type(found["a"]["b"]) is type(value)


def test_an_override_changes_one_key_and_not_the_document_it_was_given() -> None:
    document = {"a": {"b": 1, "c": 2}, "d": 3}
    assert apply_override(document, " a.b = 5") == {"a": {"b": 5, "c": 2}, "d": 3}
    assert document == {"a": {"b": 1, "c": 2}, "d": 3}


def test_overrides_apply_in_order_and_make_tables_that_are_not_there() -> None:
    changes = ["training.epochs=5", "training.epochs=7", "training.learning_rate=1e-3", "encoder.train_layers=0"]
    experiment = parse_experiment(PLAIN, [*changes, "tasks.x.labels=['a','b']", "tasks.x.text=message", "seed=99"])
    assert (experiment.training.epochs, experiment.training.learning_rate) == (7, 1e-3)
    assert (experiment.encoder.train_layers, experiment.seed) == (0, 99)
    task = experiment.tasks["x"].to_dict()
    assert (task["labels"], task["text"]) == (["a", "b"], "message")


def test_an_override_of_a_task_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"^--set tasks.y: there is no such task, but: x$"):
        parse_experiment(PLAIN, ["tasks.y.label=answer"])
    with pytest.raises(ConfigError, match=r"--set tasks.topc: .*did you mean 'topic'\?"):
        parse_experiment({"tasks": {"topic": PLAIN["tasks"]["x"]}}, ["tasks.topc.label=answer"])
    added = parse_experiment(PLAIN, ["tasks.y.label=answer", "tasks.y.kind=classification"])
    assert list(added.tasks) == ["x", "y"]


@pytest.mark.parametrize("content", [b"text,label\nsecret,a\n", b"\xff\xfe\x00", b"a = 1\n\xe4"])
def test_a_file_of_rows_or_bytes_is_no_config(tmp_path: Path, content: bytes) -> None:
    for name, said in (("rows.csv", "holds rows and is no config; draft one from it with: weft init"), ("x.toml", "")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            read_document(tmp_path / name)
        assert said in str(caught.value)
        assert "codec" not in str(caught.value)


def test_a_kind_that_is_given_by_name_takes_options() -> None:
    experiment = parse_experiment(plain(loss="focal", head="mlp"), ["tasks.x.loss.gamma=1", "tasks.x.head.sizes=[8]"])
    assert experiment.tasks["x"].loss == Focal(gamma=1.0)
    assert experiment.tasks["x"].head == Mlp(sizes=(8,))
    by_name = parse_experiment({**PLAIN, "sampling": "temperature"}, ["sampling.temperature=3"])
    assert by_name.sampling.to_dict() == {"kind": "temperature", "temperature": 3.0}


def test_a_kind_itself_may_be_set_by_name_or_with_its_options() -> None:
    by_name = parse_experiment(PLAIN, ["tasks.x.loss=focal", "tasks.x.loss.gamma=4"])
    by_kind = parse_experiment(PLAIN, ["tasks.x.loss.kind=focal", "tasks.x.loss.gamma=4"])
    assert by_name.tasks["x"].loss == by_kind.tasks["x"].loss == Focal(gamma=4.0)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("training.epochs", "has no value; write it as key=value"),
        ("=5", "has an empty key; write it as key=value"),
        ("tasks..kind=spans", "has an empty key; write it as key=value"),
        ("seed.x=5", "'x' is inside something that is not a table"),
        ("phases.0.epochs.2=5", "'2' is inside something that is not a table"),
    ],
)
def test_an_override_that_cannot_be_is_named(override: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        apply_override({"seed": 1, "phases": [{"epochs": 2}]}, override)
    path = override.partition("=")[0]
    assert str(caught.value) == (
        f"--set {override!r} {said}, for example training.epochs=5" if said[0] == "h" else f"--set {path}: {said}"
    )


def test_a_list_of_methods_is_all_of_them_in_order() -> None:
    several = parse_experiment({**PLAIN, "conditioning": ["task_input", {"kind": "lora", "rank": 2}]}).conditioning
    assert isinstance(several, Combined)
    assert several.methods == (TaskInput(), Lora(rank=2))


def test_a_config_survives_the_way_through_the_file_that_a_run_keeps() -> None:
    phases = [{"tasks": ["x"], "sampling": "proportional"}, {"epochs": 2}]
    document = {**plain(loss="focal", pooling="cls"), "conditioning": ["task_input", "pal"], "phases": phases}
    experiment = parse_experiment(document)
    assert parse_experiment(tomllib.loads(tomli_w.dumps(experiment.to_dict()))) == experiment
    assert "max_length" not in experiment.to_dict()["tasks"]["x"]  # TOML has no word for what is not set


# faults


@pytest.mark.parametrize(("length", "shown"), [(58, True), (59, False), (500, False)])
def test_a_long_value_is_only_measured_in_a_fault(length: int, shown: bool) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_experiment({**PLAIN, "training": {"epochs": "x" * length}})
    received = f"'{'x' * length}'" if shown else f"a text of {length + 2} characters"
    assert str(caught.value).endswith(f"should be a whole number; received {received}")


def test_a_key_that_is_near_none_is_told_all_that_are_allowed() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_experiment({**PLAIN, "encoder": {"qqqq": 1}})
    allowed = "from, scratch, revision, train_layers, gradient_checkpointing"
    assert caught.value.faults == (f"encoder.qqqq: unknown key; allowed: {allowed}",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"phases": [{"tasks": ["x", "y"]}]}, "there is no task 'y'; the tasks are: x"),
        ({"training": {"choose_by": "urgncy"}}, "there is no task 'urgncy'; the tasks are: x"),
        ({"encoder": {"from": "there", "scratch": {"tokenizer": "t"}}}, "begins from 'there' or from scratch"),
        ({"encoder": {"revision": "main", "scratch": {"tokenizer": "t"}}}, "not from both"),
        (
            {"encoder": {"scratch": {"tokenizer": "t", "hidden_size": 10, "num_attention_heads": 4}}},
            "hidden_size 10 must be a multiple of num_att",
        ),
        ({"training": {"warmup_ratio": 1.5}}, "training.warmup_ratio: input should be less than or equal to 1"),
        ({"tasks": {}}, "tasks: dictionary should have at least 1 item"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_experiment({**PLAIN, **change})
    assert said in str(caught.value)


def test_a_phase_and_choose_by_may_name_any_task_and_overall() -> None:
    for name in ("x", "overall"):
        assert parse_experiment({**PLAIN, "training": {"choose_by": name}}).training.choose_by == name
    assert parse_experiment({**PLAIN, "phases": [{"tasks": ["x"]}]}).phases[0].tasks == ("x",)


# folders and shapes


def test_the_data_are_in_the_folder_given_else_the_configs_else_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    home, beside, named = Path("conf"), parse_experiment(PLAIN), parse_experiment({**PLAIN, "data": "rows"})
    assert data_folder(home, beside, None) == Path("conf")
    assert data_folder(home, named, None) == Path("conf/rows")
    assert data_folder(home, named, "given") == Path("given")
    assert data_folder(home, parse_experiment({**PLAIN, "data": "~/rows"}), None) == Path("/somewhere/rows")


def test_an_encoder_from_scratch_has_the_shape_asked_for() -> None:
    shape = {
        "tokenizer": "t",
        "num_hidden_layers": 3,
        "hidden_size": 24,
        "num_attention_heads": 6,
        "intermediate_size": 40,
        "max_position_embeddings": 50,
        "hidden_dropout_prob": 0.25,
    }
    scratch = parse_experiment({**PLAIN, "encoder": {"scratch": shape}}).encoder.scratch
    assert scratch is not None
    assert scratch.config(77) == EncoderConfig(
        family="bert",
        vocab_size=77,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=6,
        intermediate_size=40,
        max_position_embeddings=50,
        hidden_dropout_prob=0.25,
        attention_probs_dropout_prob=0.25,
    )
    narrow = {"tokenizer": "t", "hidden_size": 24, "num_attention_heads": 2}
    wider = parse_experiment({**PLAIN, "encoder": {"scratch": narrow}})
    assert wider.encoder.scratch is not None
    assert wider.encoder.scratch.config(77).intermediate_size == 96


# networks


@pytest.fixture
def build(tiny_tokenizers: dict[str, Tokenizer]) -> Any:
    """Builds an untrained network of tasks given as tables; the labels of all are a and b."""
    tokenizer = tiny_tokenizers["wordpiece"]
    shape: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24}
    config = EncoderConfig(vocab_size=tokenizer.size, num_hidden_layers=3, max_position_embeddings=24, **shape)

    def network(tasks: dict[str, dict[str, Any]], conditioning: Any = "none") -> Network:
        torch.manual_seed(0)
        parsed = {name: parse(Task, {"kind": "classification", **task}) for name, task in tasks.items()}
        targets = {name: task.target().fit(["a", "b"]) for name, task in parsed.items()}
        return Network(Encoder(config), tokenizer, parsed, targets, parse(Conditioning, conditioning)).eval()

    return network


def test_a_task_reads_as_many_tokens_as_it_says_and_the_encoder_takes(build: Any) -> None:
    network = build({"short": {"max_length": 7}, "open": {}, "long": {"max_length": 900}})
    assert [network.max_length(name) for name in ("short", "open", "long")] == [7, 24, 24]
    long = Input(("fox " * 50,))
    assert [len(network.encode(name, [long])[0].rows[0].ids) for name in ("short", "open", "long")] == [7, 24, 24]


@pytest.mark.parametrize(("kept", "part"), [("head", "the the the"), ("tail", "dog dog dog"), ("head_tail", "both")])
def test_the_part_of_a_text_that_stays_is_the_part_asked_for(build: Any, kept: str, part: str) -> None:
    network = build({"t": {"truncation": kept, "max_length": 8}})
    whole = [network.tokenizer.encode([word], max_length=9)[0].ids[1:-1].tolist() for word in ("the", "dog")]
    text = " ".join(["the"] * 20 + ["dog"] * 20)
    inner = network.encode("t", [Input((text,))])[0].rows[0].ids[1:-1].tolist()
    held = {"the the the": whole[0], "dog dog dog": whole[1], "both": whole[0] + whole[1]}[part]
    assert set(inner) == set(held)


def test_the_first_token_is_read_where_labels_feed_it_unless_the_task_says_otherwise(build: Any) -> None:
    tasks = {"t": {}, "own": {"pooling": "mean"}, "last": {"pooling": {"kind": "last_layers", "count": 2}}}
    fed, bare = build(tasks, "label_attention").tasks, build(tasks).tasks
    assert (fed["t"].pooling, bare["t"].pooling) == (Cls(), Mean())
    assert fed["own"].pooling == bare["own"].pooling == Mean()
    assert fed["last"].layers(3) == (2, 3)
    several = build(tasks, {"kind": "combined", "methods": ["task_input", "label_attention"]}).tasks
    assert several["t"].pooling == Cls()


def test_tasks_that_share_a_head_have_one_and_others_their_own(build: Any) -> None:
    network = build(
        {"a": {"head": {"kind": "linear", "share": "h"}}, "b": {"head": {"share": "h", "kind": "linear"}}, "c": {}}
    )
    assert network.head_of("a") == network.head_of("b") != network.head_of("c")
    assert len(network.heads) == 2


def test_a_task_is_chosen_by_its_own_metric_or_its_kinds(build: Any) -> None:
    network = build({"own": {"metric": "accuracy"}, "usual": {}})
    assert (network.metric("own"), network.metric("usual")) == ("accuracy", "f1_macro")


def test_several_tasks_of_one_pass_each_get_the_layers_they_need(build: Any) -> None:
    deep, two = ({"pooling": {"kind": "last_layers", "of": "cls", "count": count}} for count in (3, 2))
    network = build({"plain": {}, "two": two, "deep": deep})
    tokenized = network.encode("plain", [Input(("the quick fox",)), Input(("dog",))])
    batches = {name: network.collate(name, tokenized) for name in network.tasks}
    with torch.inference_mode():
        together = network.scores(batches)
        for name, batch in batches.items():
            torch.testing.assert_close(together[name].values, network(batch).values, rtol=1e-5, atol=1e-6)
        states = network.encoder(batches["plain"], layers=(1, 2, 3))
        firsts = torch.stack([states.layers[layer][states.batch.row_offsets] for layer in (2, 3)]).mean(0)
        torch.testing.assert_close(together["two"].values, network.heads[network.head_of("two")](firsts))


def test_tasks_of_one_pass_each_read_their_own_words_and_spans(tiny_tokenizers: dict[str, Tokenizer]) -> None:
    torch.manual_seed(0)
    tokenizer = tiny_tokenizers["wordpiece"]
    shape: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24}
    config = EncoderConfig(vocab_size=tokenizer.size, num_hidden_layers=1, max_position_embeddings=24, **shape)
    kinds = {"label": "classification", "tags": "tagging", "spans": "spans", "wide": "spans"}
    tasks = {name: parse(Task, {"kind": kind}) for name, kind in kinds.items()}
    tasks["spans"] = parse(Task, {"kind": "spans", "max_width": 2})
    marks = [((0, 1, "x"),), ((0, 1, "y"),)]
    targets = {name: task.target().fit(["a", "b"] if name == "label" else marks) for name, task in tasks.items()}
    network = Network(Encoder(config), tokenizer, tasks, targets).eval()
    texts = [Input(("the quick fox jumps",)), Input(("dog",)), Input(("lazy dog",))]
    batches = {name: network.collate(name, network.encode(name, texts)) for name in tasks}
    with torch.inference_mode():
        together = network.scores(batches)
        for name, batch in batches.items():
            alone = network(batch)
            torch.testing.assert_close(together[name].values, alone.values, rtol=1e-5, atol=1e-6)
            assert together[name].sizes == alone.sizes
    assert together["spans"].sizes == (4 + 3, 1, 2 + 1)
    assert together["wide"].sizes == (4 + 3 + 2 + 1, 1, 2 + 1)
    assert together["label"].sizes == (1, 1, 1)


def test_a_method_knows_which_tasks_have_labels_several_labels_or_two_rows(build: Any) -> None:
    tasks = {
        "text": {},
        "cross": {"kind": "pair_classification", "encode": "cross"},
        "siamese": {"kind": "pair_classification", "encode": "siamese"},
    }
    network = build(tasks, "label_attention")
    conditioner = network.conditioner
    assert {task: len(conditioner.labels[task_key(task)]) for task in tasks} == dict.fromkeys(tasks, 2)
    losses = {name: network.extra_loss(name) for name in tasks}
    assert [losses[name] is None for name in tasks] == [False, False, True]
    several = network_shape(
        network.encoder.config,
        {"many": parse(Task, {"kind": "classification", "multilabel": True}), "how": parse(Task, "similarity")},
        {"many": LabelsTarget().fit([("a",), ("b",)]), "how": ScoreTarget(activation="linear").fit([0.0, 1.0])},
    )
    assert (set(several.label_losses), several.labels) == ({"many"}, {"many": ("a", "b")})
    assert (several.tasks, several.siamese) == (("many", "how"), {"how"})


def test_a_batch_of_pairs_keeps_its_segments_its_task_and_the_number_of_its_answers(build: Any) -> None:
    network = build({"p": {"kind": "pair_classification"}})
    tokenized = network.encode("p", [Input(("the quick fox", "dog")), Input(("lazy", "the dog"))])
    batch = network.collate("p", tokenized)
    for number, tokenized_example in enumerate(tokenized):
        row = tokenized_example.rows[0]
        places = slice(int(batch.row_offsets[number]), int(batch.row_offsets[number]) + len(row.ids))
        assert (batch.ids[places].tolist(), batch.segments[places].tolist()) == (
            row.ids.tolist(),
            row.segments.tolist(),
        )
        assert set(row.segments.tolist()) == {0, 1}
    assert (batch.task, batch.outputs_per_example) == ("p", (1, 1))


@pytest.mark.parametrize(
    "features", [["u"], ["v", "u"], ["product", "difference"], ["u", "v", "difference", "product"]]
)
def test_a_siamese_head_reads_the_features_named_in_their_order(build: Any, features: list[str]) -> None:
    network = build({"p": {"kind": "pair_classification", "encode": "siamese", "features": features}})
    pairs = [("the quick fox", "dog"), ("lazy", "the lazy dog jumps"), ("fox", "fox")]
    tokenized = network.encode("p", [Input(pair) for pair in pairs])
    with torch.inference_mode():
        states = network.encoder(network.collate("p", tokenized))
        means = states.mean()
        vectors = means / means.square().mean(1, keepdim=True).sqrt()
        u, v = vectors[0::2], vectors[1::2]
        known = {"u": u, "v": v, "difference": (u - v).abs(), "product": u * v}
        alone = [network.encoder(network.collate("p", network.encode("p", [Input(pair)]))).mean() for pair in pairs]
        torch.testing.assert_close(torch.stack(alone).flatten(0, 1), states.mean(), rtol=1e-5, atol=1e-6)
        expected = torch.cat([known[name] for name in features], 1)
        torch.testing.assert_close(network.features["<p>"](states), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("task", "option"),
    [
        ({"kind": "tagging", "pooling": "cls"}, "pooling"),
        ({"kind": "spans", "truncation": "tail"}, "truncation"),
        ({"kind": "relations", "repair": True}, "repair"),
        ({"kind": "tagging", "scheme": "plain", "repair": True}, "repair"),
        ({"kind": "masked_words", "head": "mlp"}, "head"),
        ({"kind": "span_boundary", "pooling": "cls"}, "pooling"),
        ({"kind": "similarity", "output": "cosine", "head": "mlp"}, "head"),
        ({"kind": "similarity", "output": "cosine", "features": ["u"]}, "features"),
        ({"kind": "pair_classification", "encode": "cross", "features": ["u", "v"]}, "features"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["kind"],
)
def test_an_option_that_would_do_nothing_is_refused_by_name_with_what_to_do(task: dict[str, Any], option: str) -> None:
    with pytest.raises(ConfigError, match=rf"^config: {option} does nothing here: .*leave it out"):
        parse(Task, task)


def test_an_option_that_does_something_elsewhere_is_accepted_there() -> None:
    parse(Task, {"kind": "pair_classification", "encode": "siamese", "features": ["u", "v"]})
    parse(Task, {"kind": "masked_words", "head": {"kind": "linear", "share": "words"}})
    parse(Task, {"kind": "tagging", "repair": True})
    parse(Task, {"kind": "similarity", "output": "linear", "head": "mlp"})
    parse(Task, {"kind": "classification", "pooling": "cls", "truncation": "tail"})
