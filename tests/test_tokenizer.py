"""Tokens know their characters and words, and what does not fit is cut exactly and counted."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.checkpoints.source import find_folder
from weft.errors import CheckpointError, ConfigError, DataError
from weft.model.embed import TextEncoder, load_encoder
from weft.tokenization.tokenizer import Text, TokenizedRow, Tokenizer, Truncation, kept_positions

LONG = 1_000_000
ODD = {
    "empty": "",
    "one character": "x",
    "blanks": " \t\n\u00a0\u3000 ",
    "blanks between and around": "  the \n\n quick\t fox  ",
    "emoji with joiners": "family 👩‍👩‍👧‍👦 and 🏳️‍🌈!",
    "combining marks": "e\u0301te\u0301 a\u0308\u0323 \u0301alone n\u0303",
    "mixed scripts": "Привет мир, 日本語テキスト and ไทย हिन्दी 한국어 ǅ İ ß ﬁ",
    "right to left": "שלום עולם \u202eمرحبا\u202c بالعالم",
    "zero width": "zero\u200bwidth \u200djoin\u200c \ufeffmark",
    "control characters": "a\x00b\x07c \x1f d\ufffd",
    "special tokens in the text": "a [SEP] b[CLS] <s>c</s> <mask> [UNK]",
    "a word without an end": "a" * 300,
    "long": "the quick brown fox été 日本 " * 4000,
}
odd_text = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(list("abc fox,.'  \t\n\u0301\u0308\u200b\u200d👩é日א\u202e한")),
    ),
    max_size=60,
)
quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
KINDS = ("minilm", "wordpiece", "bytes", "unigram")


@pytest.fixture(scope="module")
def kinds(minilm: TextEncoder, tiny_tokenizers: dict[str, Tokenizer]) -> dict[str, Tokenizer]:
    return {"minilm": minilm.tokenizer, **tiny_tokenizers}


def encode_one(
    tokenizer: Tokenizer, text: Text, truncation: Truncation = "head", max_length: int = LONG
) -> TokenizedRow:
    return tokenizer.encode([text], max_length=max_length, truncation=truncation, offsets=True)[0]


def segments_of(row: TokenizedRow) -> list[int]:
    return [0] * len(row) if row.segments is None else row.segments.tolist()


def check_offsets(tokenizer: Tokenizer, text: str) -> None:
    row = encode_one(tokenizer, text)
    spans = row.offsets[row.texts >= 0].tolist()
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


def check_words(tokenizer: Tokenizer, text: str) -> None:
    groups = encode_one(tokenizer, text).word_groups()
    for start, end, places in groups:
        assert places == list(range(places[0], places[0] + len(places)))
        assert start < end
        assert text[start:end] == text[start:end].strip()
    for (_, end, before), (start, _, after) in pairwise(groups):
        assert end <= start
        assert before[-1] < after[0]


def check_pieces(tokenizer: Tokenizer, text: str) -> None:
    """Of WordPiece: the characters of a token are the token, once normalised.

    Where one character makes several tokens (a Hangul syllable, which is taken apart), each is part of it.
    """
    row = encode_one(tokenizer, text)
    normalise = tokenizer.backend.normalizer.normalize_str
    specials = {token.content for token in tokenizer.backend.get_added_tokens_decoder().values()}
    for place, part in enumerate(row.texts):
        piece = tokenizer.backend.id_to_token(row.ids[place])
        if part < 0 or piece in specials:
            continue
        start, end = row.offsets[place]
        neighbours = [row.offsets[other] for other in (place - 1, place + 1) if row.texts[other] >= 0]
        found = normalise(text[start:end]).strip()  # it puts blanks around Chinese characters
        if any(low < end and start < high for low, high in neighbours):
            assert piece.removeprefix("##") in found
        else:
            assert piece.removeprefix("##") == found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ODD)
def test_offsets_and_words_of_odd_texts_lie_within_the_text_and_in_order(
    kinds: dict[str, Tokenizer], kind: str, name: str
) -> None:
    check_offsets(kinds[kind], ODD[name])
    check_words(kinds[kind], ODD[name])
    if kind in ("minilm", "wordpiece"):
        check_pieces(kinds[kind], ODD[name])


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(text=odd_text)
def test_offsets_and_words_of_any_text_lie_within_the_text_and_in_order(
    kinds: dict[str, Tokenizer], kind: str, text: str
) -> None:
    check_offsets(kinds[kind], text)
    check_words(kinds[kind], text)
    if kind in ("minilm", "wordpiece"):
        check_pieces(kinds[kind], text)


def test_an_empty_text_is_its_special_tokens_and_has_no_words(kinds: dict[str, Tokenizer]) -> None:
    for tokenizer in kinds.values():
        row = encode_one(tokenizer, "")
        assert len(row.ids) == 2
        assert row.word_groups() == []
        assert row.texts.tolist() == [-1, -1]


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_the_words_a_reader_sees(kinds: dict[str, Tokenizer], kind: str) -> None:
    text = "the  quick\n fox "
    assert [text[start:end] for start, end, _ in encode_one(kinds[kind], text).word_groups()] == ["the", "quick", "fox"]


def test_the_texts_of_a_pair_have_their_own_words_and_offsets(minilm: TextEncoder) -> None:
    row = encode_one(minilm.tokenizer, ("the fox", "a lazy dog"))
    words = [(row.texts[places[0]], start, end) for start, end, places in row.word_groups()]
    assert words == [(0, 0, 3), (0, 4, 7), (1, 0, 1), (1, 2, 6), (1, 7, 10)]
    assert segments_of(row) == [0] * 4 + [1] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_text_of_a_pair_has_the_offsets_it_has_alone(kinds: dict[str, Tokenizer], kind: str) -> None:
    second = ODD["blanks between and around"]
    pair, alone = encode_one(kinds[kind], ("fox", second)), encode_one(kinds[kind], second)
    assert pair.offsets[pair.texts == 1].tolist() == alone.offsets[alone.texts == 0].tolist()


def cut_by_loop(parts: list[list[int]], room: int, truncation: Truncation) -> list[list[int]]:
    """Take tokens away one by one: from the longer text; of equal ones, from the one that was shorter at first."""
    parts = [list(part) for part in parts]
    order = [0, 1] if len(parts[0]) < len(parts[1]) else [1, 0]
    sizes = [len(part) for part in parts]
    while sum(sizes) > room:
        sizes[max(order, key=lambda which: sizes[which])] -= 1
    for part, size in zip(parts, sizes, strict=True):
        while len(part) > size:
            del part[{"head": -1, "tail": 0, "head_tail": (size + 1) // 2}[truncation]]
    return parts


@quick
@given(
    sizes=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    limit=st.integers(4, 30),
    truncation=st.sampled_from(("head", "tail", "head_tail")),
)
def test_a_cut_row_keeps_its_special_tokens_and_the_part_asked_for(
    sizes: tuple[int, int], limit: int, truncation: Truncation
) -> None:
    texts = np.array([-1, *[0] * sizes[0], -1, *[1] * sizes[1], -1], np.int8)
    if len(texts) <= limit:
        return
    first = list(range(1, 1 + sizes[0]))
    second = list(range(2 + sizes[0], 2 + sum(sizes)))
    a, b = cut_by_loop([first, second], limit - 3, truncation)
    assert kept_positions(texts, limit, truncation).tolist() == [0, *a, 1 + sizes[0], *b, 2 + sum(sizes)]


@pytest.mark.parametrize("truncation", ["head", "tail", "head_tail"])
@pytest.mark.parametrize("kind", KINDS)
@quick
@given(first=odd_text, second=st.none() | odd_text, limit=st.integers(5, 20))
def test_cut_ids_are_the_right_ones_of_the_uncut_and_the_rest_is_counted(
    kinds: dict[str, Tokenizer], kind: str, truncation: Truncation, first: str, second: str | None, limit: int
) -> None:
    text = first if second is None else (first, second)
    whole = encode_one(kinds[kind], text)
    cut = encode_one(kinds[kind], text, truncation, limit)
    kept = np.arange(len(whole)) if len(whole) <= limit else kept_positions(whole.texts, limit, truncation)
    assert len(cut.ids) <= limit
    assert cut.dropped == len(whole.ids) - len(cut.ids)
    for name in ("ids", "offsets", "texts", "words"):
        assert np.array_equal(getattr(cut, name), getattr(whole, name)[kept])
    assert segments_of(cut) == [segments_of(whole)[position] for position in kept]
    assert np.count_nonzero(cut.texts < 0) == np.count_nonzero(whole.texts < 0)
    plainly = kinds[kind].encode([text], max_length=limit, truncation=truncation)[0]
    assert plainly.ids.tolist() == cut.ids.tolist()


def test_a_limit_without_room_for_text_is_refused(minilm: TextEncoder) -> None:
    with pytest.raises(ConfigError, match="max_length 2 leaves no room for text beside 2 special tokens"):
        encode_one(minilm.tokenizer, "the fox", max_length=2)


def test_an_unknown_truncation_is_refused_with_the_known_ones(minilm: TextEncoder) -> None:
    with pytest.raises(ConfigError, match="'middle' is not one of: head, tail, head_tail"):
        encode_one(minilm.tokenizer, "the fox", truncation="middle")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [3, None, b"secret", ("secret",), (), ("a", "b", "secret"), ("secret", 3), ["secret"]]
)
def test_what_is_not_a_text_is_refused_by_row_and_type_and_not_quoted(minilm: TextEncoder, wrong: object) -> None:
    with pytest.raises(DataError, match="row 1 is not a text but") as caught:
        minilm.tokenizer.encode(["fine", wrong], max_length=9)  # type: ignore[list-item]
    assert "secret" not in str(caught.value)


@pytest.fixture(scope="module")
def theirs() -> transformers.PreTrainedTokenizerBase:
    return transformers.AutoTokenizer.from_pretrained(find_folder("minilm"))


def test_ids_and_segments_equal_those_of_transformers(
    minilm: TextEncoder, theirs: transformers.PreTrainedTokenizerBase
) -> None:
    texts = list(ODD.values())
    singles = minilm.tokenizer.encode(texts, max_length=LONG)
    assert [row.ids.tolist() for row in singles] == theirs(texts)["input_ids"]
    pairs = minilm.tokenizer.encode(list(zip(texts, reversed(texts), strict=True)), max_length=LONG)
    expected = theirs(texts, list(reversed(texts)))
    assert [row.ids.tolist() for row in pairs] == expected["input_ids"]
    assert [segments_of(row) for row in pairs] == expected["token_type_ids"]


def test_a_folder_with_vocab_txt_only_gives_the_same_ids(minilm: TextEncoder, tmp_path: Path) -> None:
    shutil.copy(find_folder("minilm") / "vocab.txt", tmp_path)
    texts = list(ODD.values())
    ours = Tokenizer.from_folder(tmp_path).encode(texts, max_length=LONG)
    assert [row.ids.tolist() for row in ours] == [
        row.ids.tolist() for row in minilm.tokenizer.encode(texts, max_length=LONG)
    ]


def test_a_vocabulary_that_keeps_capitals_says_so_in_its_settings(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nFox\nfox\n")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert encode_one(Tokenizer.from_folder(tmp_path), "Fox fox").ids.tolist() == [2, 5, 6, 3]


def test_a_folder_with_vocab_json_and_merges_works_like_a_roberta_tokenizer(
    tiny_tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    tiny_tokenizers["bytes"].backend.model.save(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["merges.txt", "vocab.json"]
    ours = Tokenizer.from_folder(tmp_path)
    theirs = transformers.RobertaTokenizer.from_pretrained(tmp_path)
    # Of blanks before a mask, versions think differently where no settings say how; see below.
    for text in [text for name, text in ODD.items() if name != "long" and "<mask>" not in text]:
        assert encode_one(ours, text).ids.tolist() == theirs(text)["input_ids"]
        assert encode_one(ours, (text, "a fox")).ids.tolist() == theirs(text, "a fox")["input_ids"]


MASK = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}


@pytest.mark.parametrize(
    "written",
    [
        {"mask_token": {"__type": "AddedToken", **MASK}},
        {"mask_token": "<mask>", "added_tokens_decoder": {"4": {**MASK, "special": True}}},
    ],
)
def test_a_mask_takes_in_the_blank_before_it_where_the_settings_of_a_vocab_json_say_so(
    tiny_tokenizers: dict[str, Tokenizer], tmp_path: Path, written: dict[str, object]
) -> None:
    tiny_tokenizers["bytes"].backend.model.save(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(written))
    ours = Tokenizer.from_folder(tmp_path)
    theirs = transformers.RobertaTokenizer.from_pretrained(tmp_path)
    whole, hidden = encode_one(ours, "the fox, a dog"), encode_one(ours, "the <mask>, a dog")
    fox = next(places for start, _, places in whole.word_groups() if start == 4)
    assert hidden.ids.tolist() == [*whole.ids[: fox[0]], 4, *whole.ids[fox[-1] + 1 :]]
    for text in ("the <mask>, a dog", "<mask> fox</s> <mask>", "a<mask>b <s> c"):
        assert encode_one(ours, text).ids.tolist() == theirs(text)["input_ids"]


def test_a_folder_with_sentencepiece_only_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "sentencepiece.bpe.model").write_bytes(b"\x0a\x0e")
    with pytest.raises(CheckpointError, match=r"has no tokenizer\.json .*save_pretrained\(folder\) writes it"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram"])
def test_a_saved_tokenizer_gives_the_same_rows(
    tiny_tokenizers: dict[str, Tokenizer], tmp_path: Path, kind: str
) -> None:
    tiny_tokenizers[kind].save(tmp_path)
    again = Tokenizer.from_folder(tmp_path)
    for name, text in ODD.items():
        if name != "long":
            ours, theirs = encode_one(again, text), encode_one(tiny_tokenizers[kind], text)
            assert all(np.array_equal(getattr(ours, one), getattr(theirs, one)) for one in TokenizedRow.__slots__)


def test_settings_for_truncation_and_padding_in_the_file_do_not_apply(tmp_path: Path) -> None:
    backend = tokenizers.Tokenizer.from_file(str(find_folder("minilm") / "tokenizer.json"))
    backend.enable_truncation(4)
    backend.enable_padding(length=8)
    backend.save(str(tmp_path / "tokenizer.json"))
    assert len(encode_one(Tokenizer.from_folder(tmp_path), "the quick brown fox").ids) == 6


def test_transformers_reads_a_saved_tokenizer_with_its_capitals(tiny_folder: Path, tmp_path: Path) -> None:
    raw = json.loads((tiny_folder / "tokenizer.json").read_text())
    raw["normalizer"]["lowercase"] = False
    (tiny_folder / "tokenizer.json").write_text(json.dumps(raw))
    (tiny_folder / "tokenizer_config.json").write_text('{"do_lower_case": false, "tokenizer_class": "BertTokenizer"}')
    encoder = load_encoder(tiny_folder)
    encoder.save(tmp_path / "again")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "again")
    assert theirs("The Fox fox")["input_ids"] == encode_one(encoder.tokenizer, "The Fox fox").ids.tolist()


def test_a_tokenizer_without_an_unknown_token_is_one_message_without_the_text() -> None:
    bare = Tokenizer(tokenizers.Tokenizer(tokenizers.models.WordLevel({"fox": 0}, unk_token="[UNK]")))
    with pytest.raises(CheckpointError, match=r"has no unknown token.*weft vocab") as caught:
        bare.encode(["patientword"], max_length=8)
    assert "patientword" not in str(caught.value)


def test_a_tokenizer_that_fails_for_another_reason_is_not_said_to_lack_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        """As the library's, whose errors may quote the text: here a word that begins like the name of a token."""

        def to_str(self) -> str:
            return '{"model": {"unk_token": "[UNK]"}}'

        def token_to_id(self, token: str) -> int | None:
            return 0 if token == "[UNK]" else None

        def encode_batch(self, texts: list[str], add_special_tokens: bool) -> None:
            raise Exception("cannot encode 'unkindly'")

    whole = Tokenizer(tokenizers.Tokenizer(tokenizers.models.WordLevel({"fox": 0}, unk_token="[UNK]")))
    monkeypatch.setattr(whole, "backend", Failing())
    with pytest.raises(CheckpointError, match="cannot encode this text; use another tokenizer"):
        whole.encodings(["unkindly"])
