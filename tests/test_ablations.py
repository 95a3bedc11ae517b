"""The variants that are compared are configs, each different, and of the same game and length."""

import ablations
import pytest

from agents.config import load_config


def config_of(name: str):
    return load_config(ablations.CONFIG, ablations.VARIANTS[name])


def test_variants_differ():
    configs = [config_of(name) for name in ablations.VARIANTS]
    assert all(a != b for i, a in enumerate(configs) for b in configs[:i])
    assert len({config.game.model_dump_json() for config in configs}) == 1
    assert len({config.total_steps for config in configs}) == 1


@pytest.mark.parametrize("name", ablations.VARIANTS)
def test_only_leagues_have_snapshots(name):
    assert ("snapshots" in config_of(name).opponents) == name.startswith("a league")
