"""Planted secrets: the scrubber lets none through, and without it the scanner lets none through."""

from __future__ import annotations

import copy

import pytest

from tests.cassettes.secrets import plants_packed, plants_plain
from tests.cassettes.secrets.cassettes import written
from tests.cassettes.secrets.plant import Plant
from toolparity.cassettes.errors import SecretsLeft
from toolparity.cassettes.secrets import Scrubber, refuse, scan

PLANTS = [
    *plants_plain.forms(),
    *plants_plain.in_sentences(),
    *plants_plain.headers(),
    *plants_plain.addresses(),
    *plants_plain.bodies(),
    *plants_packed.packed(),
    *plants_packed.split(),
    *plants_packed.environment(),
    *plants_packed.grpc_calls(),
]
each_plant = pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.id)


def test_each_plant_is_there_to_be_found() -> None:
    assert len({plant.id for plant in PLANTS}) == len(PLANTS)
    assert [plant.id for plant in PLANTS if plant.secret not in plant.read(plant.cassette)] == []


@each_plant
def test_a_planted_secret_is_scrubbed_once_and_written_nowhere(plant: Plant) -> None:
    scrubber = Scrubber(plant.environ)
    clean = scrubber.cassette(copy.deepcopy(plant.cassette))
    assert plant.secret not in written(clean)
    try:
        assert plant.secret not in plant.read(clean)
    except (KeyError, TypeError):  # the place is gone altogether: a header that is dropped
        assert "header" in scrubber.report.counts
    assert scrubber.report.total >= 1
    assert plant.secret not in str(scrubber.report)
    assert scan(clean, plant.environ) == []
    again = Scrubber(plant.environ)
    assert written(again.cassette(copy.deepcopy(clean))) == written(clean)
    assert again.report.total == 0


@each_plant
def test_the_hooks_remove_a_planted_secret_and_without_them_it_is_refused(plant: Plant) -> None:
    scrubber = Scrubber(plant.environ)
    given = copy.deepcopy(plant.cassette)
    clean = {
        "requests": [scrubber.before_record_request(request) for request in given["requests"]],
        "responses": [scrubber.before_record_response(response) for response in given["responses"]],
    }
    assert plant.secret not in written(clean)
    assert scan(clean, plant.environ) == []
    with pytest.raises(SecretsLeft) as caught:
        refuse(plant.cassette, where="a.yaml", environ=plant.environ)
    assert caught.value.leaks
    assert plant.secret not in str(caught.value)
    assert str(caught.value).startswith("a.yaml: ")
