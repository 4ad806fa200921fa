"""Planted secrets: the scrubber lets none through, and without it the scanner lets none through."""

from __future__ import annotations

import copy

import pytest

from tests.cassettes.secrets.cassettes import written
from tests.cassettes.secrets.plant import Plant
from tests.cassettes.secrets.planted import PLANTS
from toolparity.cassettes.errors import SecretsLeft
from toolparity.cassettes.secrets import Scrubber, refuse, scan

each_plant = pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.id)


def test_there_are_enough_forms_and_no_two_alike() -> None:
    assert len({plant.id for plant in PLANTS}) == len(PLANTS) >= 40


def test_each_plant_is_there_to_be_found() -> None:
    assert [plant.id for plant in PLANTS if plant.secret not in plant.read(plant.cassette)] == []


@pytest.mark.thorough(keep=60)
@each_plant
def test_nothing_of_it_is_written_once_it_was_scrubbed(plant: Plant) -> None:
    scrubber = Scrubber(plant.environ)
    clean = scrubber.cassette(copy.deepcopy(plant.cassette))
    text = written(clean)
    assert plant.secret not in text
    try:
        assert plant.secret not in plant.read(clean)
    except (KeyError, TypeError):  # the place is gone altogether: a header that is dropped
        assert "header" in scrubber.report.counts
    assert scrubber.report.total >= 1
    assert plant.secret not in str(scrubber.report)
    assert scan(clean, plant.environ) == []


@pytest.mark.thorough(keep=15)
@each_plant
def test_the_hooks_take_it_out_as_well(plant: Plant) -> None:
    scrubber = Scrubber(plant.environ)
    given = copy.deepcopy(plant.cassette)
    clean = {
        "requests": [scrubber.before_record_request(request) for request in given["requests"]],
        "responses": [scrubber.before_record_response(response) for response in given["responses"]],
    }
    assert plant.secret not in written(clean)
    assert scan(clean, plant.environ) == []


@pytest.mark.thorough(keep=15)
@each_plant
def test_without_the_scrubber_it_is_refused_and_not_printed(plant: Plant) -> None:
    with pytest.raises(SecretsLeft) as caught:
        refuse(plant.cassette, where="a.yaml", environ=plant.environ)
    assert caught.value.leaks
    assert plant.secret not in str(caught.value)
    assert str(caught.value).startswith("a.yaml: ")


@pytest.mark.thorough(keep=15)
@each_plant
def test_scrubbing_twice_changes_nothing_more(plant: Plant) -> None:
    once = Scrubber(plant.environ).cassette(copy.deepcopy(plant.cassette))
    again = Scrubber(plant.environ)
    assert written(again.cassette(copy.deepcopy(once))) == written(once)
    assert again.report.total == 0
