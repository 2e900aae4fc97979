"""Specs dispatch on their kind, and report every fault at once."""

from __future__ import annotations

import pkgutil
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from weft.config.training import Training
from weft.errors import ConfigError
from weft.sampling import Sampler
from weft.spec import Spec, parse


class Shape(Spec, root=True):
    """A root of kinds for these tests."""


class Circle(Shape):
    kind: Literal["circle"] = "circle"
    radius: float = 1.0


class Square(Shape):
    kind: Literal["square"] = "square"
    side: int = 2


class Drawing(Spec):
    shapes: dict[str, Shape]
    title: str = "untitled"


def test_a_kind_is_chosen_by_name_alone_or_with_options() -> None:
    drawing = parse(Drawing, {"shapes": {"a": "circle", "b": {"kind": "square", "side": 3}}})
    assert drawing.shapes == {"a": Circle(), "b": Square(side=3)}


def test_a_spec_survives_the_way_to_plain_data_and_back() -> None:
    drawing = Drawing(shapes={"a": Circle(radius=3.0), "b": Square()})
    assert parse(Drawing, drawing.to_dict()) == drawing


def test_all_faults_come_at_once_with_paths_and_nearest_names() -> None:
    data = {"shapes": {"a": "cirle", "b": {"kind": "square", "sid": 1, "side": "x"}}, "titel": "t"}
    with pytest.raises(ConfigError) as caught:
        parse(Drawing, data)
    faults = sorted(caught.value.faults)
    assert faults == [
        "shapes.a: kind 'cirle' is not one of: circle, square; did you mean 'circle'?",
        "shapes.b.sid: unknown key; did you mean 'side'?",
        "shapes.b.side: should be a whole number; received 'x'",
        "titel: unknown key; did you mean 'title'?",
    ]


class Typed(Spec):
    table: dict[Annotated[str, Field(pattern="^[a-z]+$")], int] = Field(default_factory=dict)
    listed: list[int] = Field(default_factory=list)
    share: float = 0.5
    sure: bool = True


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"table": 5}, "table: should be a table; received 5"),
        ({"listed": 5}, "listed: should be a list; received 5"),
        ({"listed": [1.5]}, "listed.0: should be a whole number; received 1.5"),
        ({"share": "much"}, "share: should be a number; received 'much'"),
        ({"sure": "perhaps"}, "sure: should be true or false; received 'perhaps'"),
    ],
)
def test_a_value_of_another_type_is_told_in_words_of_a_config(data: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(Typed, data)
    assert caught.value.faults == (fault,)


def test_a_key_at_fault_is_named_once() -> None:
    with pytest.raises(ConfigError, match=r"^table\.A: string should match"):
        parse(Typed, {"table": {"A": 1}})


def test_a_missing_key_is_named() -> None:
    with pytest.raises(ConfigError, match="shapes: is required"):
        parse(Drawing, {})


def test_a_spec_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Circle().radius = 2.0  # type: ignore[misc]


def test_a_second_class_of_a_kind_is_refused_with_both_named_and_the_first_stays() -> None:
    with pytest.raises(ConfigError) as caught:

        class Ring(Shape):
            kind: Literal["circle"] = "circle"

    assert str(caught.value) == (
        "Shape has two classes of the kind 'circle': test_spec.Circle and test_spec."
        "test_a_second_class_of_a_kind_is_refused_with_both_named_and_the_first_stays.<locals>.Ring; give one of them "
        "another kind"
    )
    assert Shape.kinds()["circle"] is Circle


def test_a_subclass_that_says_no_kind_of_its_own_does_not_take_the_place_of_the_first() -> None:
    with pytest.raises(ConfigError, match="two classes of the kind 'square'"):

        class Tile(Square):
            side: int = 5


def test_the_folder_of_a_root_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = Sampler.kinds()
    monkeypatch.setattr(pkgutil, "iter_modules", lambda _: pytest.fail("walked again"))
    assert Sampler.kinds() == kinds
    assert "round_robin" in kinds


def test_a_kind_that_is_no_text_is_a_fault_like_any_other() -> None:
    with pytest.raises(ConfigError, match=r"shapes.a: kind a list of 1 is not one of: circle, square"):
        parse(Drawing, {"shapes": {"a": {"kind": ["circle"]}}})


def test_a_kind_that_is_not_given_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"shapes.a: kind is missing; allowed: circle, square"):
        parse(Drawing, {"shapes": {"a": {}}})


def test_options_are_explained_by_the_texts_below_them_also_where_they_are_inherited() -> None:
    found = Training.explained()
    assert found["max_grad_norm"] == "Longest gradient of a step; 0 for no limit."
    assert found["batch_tokens"].startswith("The most tokens a batch may hold")  # of `Batching`, which it derives from


def test_an_option_without_a_text_below_it_is_not_explained() -> None:
    assert "radius" not in Circle.explained()
