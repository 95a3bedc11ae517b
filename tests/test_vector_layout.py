"""Vectors: one layout, and encoders that map the JSON of the rule page to it and back."""

import importlib.util
import json
import random

import numpy as np
import pytest
import reference
from conftest import PHASES, random_position
from test_position import mutate

from agents import vector_layout
from agents.export import encoder
from agents.vector_layout import LAYOUT, SIZE, SLICES, vectors_of
from thatslife_env import Position
from thatslife_env.board import PRESETS, Ruleset


@pytest.fixture(scope="module")
def encode_py(tmp_path_factory):
    """encode.py as it lies in a bundle."""
    file = tmp_path_factory.mktemp("bundle") / "encode.py"
    file.write_text(encoder("encode.py"), encoding="utf-8")
    module_spec = importlib.util.spec_from_file_location("encode_of_a_bundle", file)
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module


def made_up(n: int, seed: int) -> list[dict]:
    rng = random.Random(seed)
    return [random_position(rng, PHASES[i % len(PHASES)]) for i in range(n)]


def test_the_layout_is_stated_once(encode_py):
    stops = [SLICES[row.name].stop for row in LAYOUT]
    starts = [SLICES[row.name].start for row in LAYOUT]
    assert starts == [0, *stops[:-1]]
    assert stops[-1] == SIZE == 263
    description = vector_layout.description()
    assert encode_py.VECTOR == description
    assert [row["start"] for row in description["rows"]] == starts
    assert json.loads(json.dumps(description)) == description
    table = vector_layout.vector_table()
    assert all(f"| `[{SLICES[row.name].start}:" in table for row in LAYOUT)


def test_a_vector_by_hand():
    position = {
        "rules": {"players": 2, "pawns": 2, "guards": True, "scoring": "expert"},
        "track": ["start", -3, "lucky", 5, "gift", "steal", "finish"],
        "pawns": [[0, 6], [1, 4]],
        "guards": [2, 2, 3],
        "towers": [[-4, "lucky"], []],
        "player": 1,
        "phase": "move",
        "die": 4,
    }
    vector = vectors_of(Position.from_json(position).state)[0].tolist()
    track = [13, -3, 0, 5, 11, 12, 14] + [15] * 31
    pawns = [0, 6, -1, 1, 4, -1] + [-1] * 12
    guards = [2, 2, 3] + [-1] * 5
    towers = [-4, 0] + [15] * 190
    assert vector == [2, 2, 1, 1, 1, 1, 4, *track, *pawns, *guards, *towers]


def test_encoders_agree_and_go_back(encode_py):
    positions = made_up(1500, seed=2)
    positions += [Position.deal(Ruleset.preset(name), 3).to_json() for name in PRESETS]
    states = np.concatenate([Position.from_json(position).state for position in positions])
    vectors = vectors_of(states)
    assert vectors.dtype == np.int32
    low = np.concatenate([np.full(np.prod(row.shape), row.low) for row in LAYOUT])
    high = np.concatenate([np.full(np.prod(row.shape), row.high) for row in LAYOUT])
    assert (low <= vectors).all()
    assert (vectors <= high).all()
    for position, vector in zip(positions, vectors, strict=True):
        assert encode_py.encode(position) == vector.tolist()
        assert encode_py.decode(vector) == position
    assert len(np.unique(vectors, axis=0)) == len({json.dumps(p) for p in positions})


def test_what_is_no_position_is_refused_with_the_place(encode_py):
    """Just what the rule page refuses: thousands of broken positions, judged by the reference."""
    rng = random.Random(4)
    accepted = refused = 0
    for position in made_up(1500, seed=5):
        for _ in range(rng.choice([1, 1, 2])):
            mutate(position, rng)
        problems = reference.problems(position)
        if problems:
            with pytest.raises(encode_py.PositionError, match=": "):
                encode_py.encode(position)
            refused += 1
        else:
            assert encode_py.decode(encode_py.encode(position)) == position
            accepted += 1
    assert accepted > 100
    assert refused > 500


@pytest.mark.parametrize("position", [None, 7, "x", [], {}, {"rules": 1}, float("nan")])
def test_nonsense_is_refused(encode_py, position):
    with pytest.raises(encode_py.PositionError):
        encode_py.encode(position)
