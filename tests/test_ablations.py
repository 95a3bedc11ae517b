"""The variants that are compared are configs, each different, and of the same game and length."""

import ablations
import pytest

from agents.cli import UsageError
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


def test_runs_of_another_length_are_refused(tmp_path):
    folder = tmp_path / "lambda-1-seed-0"
    folder.mkdir()
    (folder / "config.yaml").write_text("total_steps: 5000\n", encoding="utf-8")
    ablations.check_lengths(tmp_path, 5000)
    with pytest.raises(UsageError, match="lambda-1-seed-0: a run of 5,000 steps"):
        ablations.check_lengths(tmp_path, 6000)
