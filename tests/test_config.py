"""Config files: what may stand in one, and that all else is told with file, line and key."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from agents.cli import UsageError, run
from agents.config import PpoConfig, RllibConfig, TdConfig, load_config, to_yaml
from agents.policy import save_policy
from thatslife_env import Ruleset

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
TOP_KEYS = "seed, threads, total_steps, game, evaluation, checkpoint_every, "
TOP_KEYS += "algorithm, start_from, reward, opponents, snapshots, network, ppo"


def load_script(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def load(tmp_path):
    """Loads a config of this text, in a file called bad.yaml."""

    def call(text: str | bytes, *changes: str) -> PpoConfig:
        path = tmp_path / "bad.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_config(path, changes)

    return call


def message(caught: pytest.ExceptionInfo) -> str:
    return " ".join(str(caught.value).split())  # as it is printed, in one line


# Good configs -----------------------------------------------------------------------------------


def test_there_are_configs():
    assert {path.stem for path in CONFIGS} >= {
        "demo",
        "smoke",
        "ppo_2p",
        "ppo_4p_full",
        "td_2p",
        "td_universal",
    }


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_loads_and_comes_back_the_same(path, tmp_path):
    config = load_config(path)
    copy = tmp_path / "config.yaml"
    copy.write_text(to_yaml(config))
    assert load_config(copy) == config
    assert to_yaml(load_config(copy)) == to_yaml(config)


def test_the_defaults_are_a_config(load):
    config = load("seed: 0")
    assert config == PpoConfig()
    assert config.game.settings()[0].ruleset == Ruleset.preset("basic", players=2)
    assert config.ppo.gamma == 1  # games are short and end by rule
    assert config.reward.shaping == 0
    assert config.threads == 1  # more are slower for such networks


def test_a_file_holds_only_differences(load):
    config = load("ppo: {n_envs: 64}\nnetwork:\n  hidden: [8, 9, 7, 6]\n")
    assert config.ppo.n_envs == 64
    assert config.ppo.n_steps == PpoConfig().ppo.n_steps
    assert config.network.hidden == [8, 9, 7, 6]
    assert config.network.kind == "action"
    assert load("network: {kind: mlp}").network.hidden == [256, 256]
    assert load("network: {kind: action}").network.hidden == [48, 128, 96, 48]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 0.0003),
        ("3E-4", 0.0003),
        ("3.0e-4", 0.0003),
        ("1e0", 1.0),
        ("1e+0", 1.0),
        ("2.5e-1", 0.25),
        ("0.001", 0.001),
        ("1", 1.0),
        (".5", 0.5),
    ],
)
def test_numbers_are_read_as_people_write_them(load, text, value):
    config = load(f"ppo: {{learning_rate: {text}}}")
    assert config.ppo.learning_rate == value
    assert type(config.ppo.learning_rate) is float
    assert load("seed: 1", f"ppo.learning_rate={text}").ppo.learning_rate == value


def test_the_resolved_config_holds_every_key(load):
    resolved = yaml.safe_load(to_yaml(load("seed: 3")))
    assert set(resolved) == set(PpoConfig.model_fields)
    for section in ("game", "reward", "snapshots", "network", "ppo", "evaluation"):
        assert set(resolved[section]) == set(type(getattr(PpoConfig(), section)).model_fields)


@pytest.mark.parametrize(
    "text",
    [
        "game: {ruleset: full, players: 6}",
        "game: {ruleset: {preset: classic, players: 5, pawns: 1}}",
        "game: {ruleset: {layout: [-8, 7, lucky, gift, 1], action_tiles: false}, players: 3}",
        'opponents: {self: 0.5, snapshots: 1, greedy: 2, "mc:rollouts=3": 0}',
        'evaluation: {opponents: [random, "mc:playouts=10"], seed: 18446744073709551615}',
        "ppo: {learning_rate: 1e-7, final_learning_rate: 0, gamma: 0.99, ent_coef: 0}",
        "seed: 4294967295\nthreads: 2\ncheckpoint_every: 1",
        "reward: {terminal: margin, shaping: 0.02}",
        "network: {kind: mlp, hidden: [1], activation: tanh}",
        "game: {mix: [{ruleset: full, players: [2, 6], weight: 2}, {ruleset: {pawns: 1}}]}",
        "algorithm: td\nnetwork: {hidden: [3]}\ntd: {trace: 1, learning_rate: 1}",
        "algorithm: td\ngame: {ruleset: expert, players: 4}",
    ],
)
def test_a_resolved_config_reads_back_equal(load, text):
    config = load(text)
    assert config != PpoConfig()
    assert load(to_yaml(config)) == config


def test_the_algorithm_decides_which_keys_there_are(load):
    config = load("algorithm: td")
    assert config == TdConfig()
    assert config.td.trace == 0.8
    assert set(yaml.safe_load(to_yaml(config))) == set(TdConfig.model_fields)
    assert load("algorithm: ppo") == load("seed: 0") == PpoConfig()
    config = load("algorithm: rllib")
    assert config == RllibConfig()
    assert config.ray.workers == 2
    assert config.ppo == PpoConfig().ppo
    assert set(yaml.safe_load(to_yaml(config))) == set(RllibConfig.model_fields)


def test_a_mix_has_a_share_for_each_ruleset_and_number_of_players(load):
    config = load("game: {mix: [{ruleset: full, players: [2, 5], weight: 3}, {players: 3}]}")
    found = [(s.name, s.ruleset.players, s.share) for s in config.game.settings()]
    assert found == [("full", 2, 0.375), ("full", 5, 0.375), ("basic", 3, 0.25)]
    assert config.game.weighted()[0] == (Ruleset.preset("full", players=2), 0.375)
    one = load("game: {ruleset: classic, players: 5}").game.settings()
    assert [(s.name, s.ruleset, s.share) for s in one] == [
        ("classic", Ruleset.preset("classic", players=5), 1)
    ]
    without = load("game: {mix: [{players: 2}, {players: 3, weight: 0}]}").game.settings()
    assert [s.ruleset.players for s in without] == [2]


def test_a_config_may_name_policies(load, tmp_path):
    from agents.networks import make_network

    network = {"kind": "mlp", "hidden": [4], "activation": "relu"}
    save_policy(tmp_path / "mine", make_network(network), network, {})
    config = load(f'opponents: {{"policy:{tmp_path}/mine": 1}}')
    assert config.opponents == {f"policy:{tmp_path}/mine": 1}
    with pytest.raises(UsageError, match="elsewhere"):
        load(f'opponents: {{"policy:{tmp_path}/elsewhere": 1}}')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("start_from: builtin/nobody", ["start_from", "'nobody'", "2p"]),
        ("start_from: builtin/2p\nnetwork: {kind: mlp}", ["policy:builtin/2p", "'mlp'"]),
        (
            "algorithm: td\nstart_from: builtin/2p\nnetwork: {hidden: [8]}",
            ["td:builtin/2p", "[128, 32]", "[8]"],
        ),
        ("algorithm: td\nstart_from: builtin/2p\ngame: {players: 3}", ["'players': 3"]),
    ],
)
def test_a_start_that_does_not_fit_is_told_before_anything_starts(tmp_path, text, words):
    (tmp_path / "start.yaml").write_text(text)
    command = ["train.py", "--config", tmp_path / "start.yaml", "--run", tmp_path / "run"]
    ended = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert_refused((ended.returncode, ended.stdout, ended.stderr), *words)
    assert not (tmp_path / "run").exists()


def test_a_config_does_not_change():
    config = PpoConfig()
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 3


# Bad configs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        # unknown keys: the key, and those that there are
        ("seed: 1\nsede: 2", 2, ["sede", TOP_KEYS]),
        ("ppo:\n  n_envs: 8\n  lr: 1", 3, ["ppo.lr", "learning_rate", "n_envs"]),
        ("evaluation: {game: 3}", 1, ["evaluation.game", "final_games"]),
        ("game:\n  ruleset: {preset: basic, colour: 1}", None, ["game", "colour", "scoring"]),
        # types
        ("seed: 1\nppo:\n  n_envs: 2.5", 3, ["ppo.n_envs", "2.5", "integer"]),
        ("ppo: {learning_rate: fast}", 1, ["ppo.learning_rate", "'fast'", "number"]),
        ("seed: true", 1, ["seed", "True", "integer"]),
        ("ppo: {gamma: true}", 1, ["ppo.gamma", "True", "number"]),
        ("ppo: {clip_range: yes}", 1, ["ppo.clip_range", "yes"]),
        ('seed: "3"', 1, ["seed", "'3'"]),
        ("network: {hidden: 64}", 1, ["network.hidden", "64", "list"]),
        ("network: {hidden: [64, true]}", 1, ["network.hidden", "True"]),
        ("network: {hidden: [64.0]}", 1, ["network.hidden", "64.0"]),
        ("ppo: 3", 1, ["ppo", "3"]),
        ("seed: 1\nppo:\nreward: {}", 2, ["ppo", "None"]),
        ("opponents: [self]", 1, ["opponents"]),
        ("opponents: greedy", 1, ["opponents", "'greedy'"]),
        ("opponents: {greedy: true}", 1, ["opponents.greedy", "True"]),
        ("game: {ruleset: 5}", 1, ["game.ruleset", "5"]),
        ("game: {players: 2.0}", 1, ["game.players", "2.0"]),
        ("evaluation: {opponents: random}", 1, ["evaluation.opponents", "'random'"]),
        # outside their sets
        ("seed: 1\n\nppo: {gamma: 1.5}", 3, ["ppo.gamma", "1.5", "less than or equal to 1"]),
        ("ppo: {gamma: 0}", 1, ["ppo.gamma", "greater than 0"]),
        ("ppo: {n_envs: 0}", 1, ["ppo.n_envs", "greater than or equal to 1"]),
        ("ppo: {learning_rate: -1e-3}", 1, ["ppo.learning_rate", "greater than 0"]),
        ("ppo: {learning_rate: .inf}", 1, ["ppo.learning_rate", "finite"]),
        ("ppo: {ent_coef: .nan}", 1, ["ppo.ent_coef", "finite"]),
        ("seed: -1", 1, ["seed", "-1"]),
        ("seed: 4294967296", 1, ["seed", "4294967296"]),
        ("threads: 0", 1, ["threads"]),
        ("total_steps: 0", 1, ["total_steps"]),
        ("game: {players: 7}", 1, ["game.players", "7", "6"]),
        ("game: {players: 1}", 1, ["game.players", "1", "2"]),
        ("game: {ruleset: chess}", 1, ["game", "'chess'", "basic, classic, expert, full"]),
        ("game: {ruleset: {players: 3}, players: 2}", 1, ["game", "players=2"]),
        ("game: {ruleset: {layout: [11]}}", 1, ["game", "layout[0]", "-10..-1"]),
        ("game: {ruleset: {preset: [basic]}}", 1, ["game", "basic"]),
        ("reward: {terminal: wim}", 1, ["reward.terminal", "'wim'", "win, margin, rank"]),
        ("reward: {shaping: -1}", 1, ["reward.shaping"]),
        ("network: {hidden: [64, 64]}", 1, ["network", "hidden", "`action`", "4 widths"]),
        ("network: {kind: gru}", 1, ["network.kind", "'mlp'"]),
        ("network: {activation: gelu}", 1, ["network.activation", "'relu'", "'tanh'"]),
        ("network: {hidden: []}", 1, ["network.hidden", "at least 1"]),
        ("network: {hidden: [0]}", 1, ["network.hidden"]),
        ("algorithm: dqn", 1, ["algorithm", "'dqn'", "'ppo', 'td' or 'rllib'"]),
        ("seed: 1\nalgorithm: [td]", 2, ["algorithm", "'ppo', 'td' or 'rllib'"]),
        ("algorithm: null", 1, ["algorithm", "'ppo', 'td' or 'rllib'"]),
        # sections of the other algorithm
        ("algorithm: td\nppo: {n_envs: 3}", 2, ["ppo", "unknown key", "network, td"]),
        ("algorithm: td\nopponents: {self: 1}", 2, ["opponents", "unknown key"]),
        ("algorithm: td\nnetwork: {activation: tanh}", 2, ["network.activation", "hidden"]),
        ("td: {n_games: 3}", 1, ["td", "unknown key", "ppo"]),
        ("algorithm: td\ntd: {trace: 1.5}", 2, ["td.trace", "1.5"]),
        ("algorithm: td\ntd: {temperature: 0}", 2, ["td.temperature", "greater than 0"]),
        ("algorithm: td\ntd: {n_games: 2, n_turns: 3}", None, ["td.batch_size", "6", "1024"]),
        ("algorithm: rllib\nopponents: {self: 1}", 2, ["opponents", "unknown key", "ray"]),
        ("algorithm: rllib\nray: {workers: 0}", 2, ["ray.workers", "0"]),
        ("algorithm: rllib\nray: {workers: 3}", None, ["ppo.n_envs", "3", "256"]),
        ("algorithm: rllib\nppo: {n_envs: 2, n_steps: 3}", None, ["ppo.batch_size", "6", "2048"]),
        (
            "algorithm: rllib\nppo: {gamma: 0.9}\nreward: {shaping: 0.1}",
            None,
            ["reward.shaping", "gamma", "0.9"],
        ),
        # mixes
        ("game: {mix: []}", 1, ["game.mix", "at least 1"]),
        ("game: {mix: basic}", 1, ["game.mix", "list"]),
        ("game: {players: 2, mix: [{players: 3}]}", 1, ["game", "either", "or mix"]),
        ("game: {ruleset: full, mix: [{players: 3}]}", 1, ["game", "either", "or mix"]),
        ("game:\n  mix:\n    - {players: 3}\n    - {colour: 3}", 4, ["mix.1.colour", "weight"]),
        ("game: {mix: [{players: 7}]}", 1, ["game.mix.0", "players", "7"]),
        ("game: {mix: [{players: [2, 1]}]}", 1, ["game.mix.0", "players", "1"]),
        ("game: {mix: [{players: []}]}", 1, ["game.mix.0", "empty"]),
        ("game: {mix: [{players: 2.0}]}", 1, ["game.mix.0.players", "2.0"]),
        ("game: {mix: [{ruleset: chess}]}", 1, ["game.mix.0", "'chess'"]),
        ("game: {mix: [{weight: -1}]}", 1, ["game.mix.0.weight", "-1"]),
        ("game: {mix: [{weight: 0}, {weight: 0}]}", 1, ["game", "above 0"]),
        ("evaluation: {opponents: []}", 1, ["evaluation.opponents"]),
        ("evaluation: {seed: 18446744073709551616}", 1, ["evaluation.seed"]),
        # opponents
        ("opponents: {slef: 1}", None, ["opponents", "'slef'", "greedy", "mc:rollouts=N"]),
        ("opponents: {human: 1}", None, ["opponents", "human"]),
        ("opponents: {self: 0, greedy: 0}", None, ["opponents", "above 0"]),
        ("opponents: {}", None, ["opponents", "above 0"]),
        ("opponents: {greedy: -1}", 1, ["opponents.greedy", "-1"]),
        ("opponents: {self: .nan}", 1, ["opponents.self", "finite"]),
        ('opponents: {"mc:rollouts=x": 1}', None, ["opponents", "mc:rollouts=x"]),
        ("evaluation: {opponents: [human]}", 1, ["evaluation", "human"]),
        ("evaluation: {opponents: [nobody]}", 1, ["evaluation", "'nobody'", "greedy"]),
        # what only fits together
        ("ppo: {n_envs: 2, n_steps: 3, batch_size: 7}", None, ["ppo.batch_size", "6", "7"]),
        # keys
        ("seed: 1\nthreads: 1\nseed: 2", 3, ["'seed'", "twice"]),
        ("ppo:\n  gamma: 1\n  gamma: 1", 3, ["'gamma'", "twice"]),
        ("opponents: {self: 1, self: 2}", 1, ["'self'", "twice"]),
        ("1: 2", None, ["1"]),
        # whole files
        ("", None, ["empty"]),
        ("# nothing but a remark\n", None, ["empty"]),
        ("- seed\n- 1", None, ["mapping"]),
        ("42", None, ["mapping", "42"]),
        ("seed 3", None, ["mapping"]),
        ("seed: 1\nppo: {n_envs: 3", 2, ["YAML"]),
        ("a: b: c", 1, ["YAML"]),
        ("seed: 1\n\tthreads: 2", 2, ["YAML"]),
        ("seed: 1\n---\nseed: 2", None, ["YAML"]),
        ("seed: !!python/object/apply:os.getpid []", 1, ["YAML"]),
        ("seed: \x01", None, ["YAML"]),
        ("? [seed]\n: 3", None, ["YAML"]),
        (b"seed: \xff", None, ["UTF-8"]),
    ],
)
def test_what_is_wrong_is_told(load, text, line, words):
    with pytest.raises(UsageError) as caught:
        load(text)
    told = message(caught)
    assert "bad.yaml" in told
    for word in words:
        assert word in told, told
    if line is not None:
        assert f"line {line}:" in told, told


@pytest.mark.parametrize(
    "text",
    [
        "ppo: {learning_rate: 1e-3x}",  # a slip of the finger
        "game: {ruleset: 2e5b}",
        "seed: 2024-13-45",  # YAML takes it for a date
        "seed: 0x_",
        "seed: !!int abc",
        "!!map seed",
        "seed: " + "[" * 3000,
    ],
)
def test_what_yaml_itself_stumbles_over_is_told_too(load, text):
    with pytest.raises(UsageError, match=r"bad\.yaml"):
        load(text)


@pytest.mark.parametrize("text", ["seed: 010", "total_steps: 1:30"])
def test_a_number_that_means_something_else_is_not_taken(load, text):
    """YAML 1.1 reads 010 as 8 and 1:30 as 90; nobody means that."""
    with pytest.raises(UsageError):
        load(text)


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "missing.yaml", tmp_path, tmp_path / "missing" / "a.yaml"):
        with pytest.raises(UsageError) as caught:
            load_config(path)
        assert str(path) in str(caught.value)


def test_a_message_is_one_line_where_it_is_printed(load):
    with pytest.raises(UsageError) as caught:
        load("ppo: {lr: 1}")
    assert "\n" not in str(caught.value)


def test_loading_runs_nothing(load, tmp_path):
    marker = tmp_path / "marker"
    for tag in ("python/object/apply:os.mkdir", "python/object/new:os.mkdir"):
        with pytest.raises(UsageError):
            load(f"seed: !!{tag} [{marker}]")
        with pytest.raises(UsageError):
            load("seed: 1", f"seed=!!{tag} [{marker}]")
    assert not marker.exists()


# Changes from the command line ------------------------------------------------------------------

BASE = "total_steps: 100\nppo: {n_envs: 64, n_steps: 64}\n"


@pytest.mark.parametrize(
    ("change", "found", "value"),
    [
        ("total_steps=5", lambda c: c.total_steps, 5),
        ("seed= 3", lambda c: c.seed, 3),
        ("ppo.n_envs=128", lambda c: (c.ppo.n_envs, c.ppo.n_steps), (128, 64)),
        ("ppo.learning_rate=3e-4", lambda c: c.ppo.learning_rate, 0.0003),
        ("reward.terminal=rank", lambda c: c.reward.terminal, "rank"),
        ("network.hidden=[3, 4, 5, 6]", lambda c: c.network.hidden, [3, 4, 5, 6]),
        ("network.kind=mlp", lambda c: c.network.hidden, [256, 256]),
        ("game.ruleset=full", lambda c: c.game.settings()[0].ruleset.guards, True),
        ("game.ruleset={layout: [1, 2]}", lambda c: c.game.settings()[0].ruleset.layout, (1, 2)),
        ("game.ruleset.scoring=expert", lambda c: c.game.settings()[0].ruleset.scoring, "expert"),
        ("opponents.greedy=0.5", lambda c: c.opponents, {"greedy": 0.5}),
        ('opponents={self: 1, "mc:rollouts=3": 2}', lambda c: len(c.opponents), 2),
        ("evaluation.opponents=[greedy]", lambda c: c.evaluation.opponents, ["greedy"]),
        ("ppo={n_envs: 32, batch_size: 4}", lambda c: (c.ppo.n_envs, c.ppo.n_steps), (32, 64)),
    ],
)
def test_changes_go_over_the_file(load, change, found, value):
    assert found(load(BASE, change)) == value


def test_later_changes_go_over_earlier_ones(load):
    config = load(BASE, "seed=1", "ppo.n_envs=32", "seed=2")
    assert (config.seed, config.ppo.n_envs) == (2, 32)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("seed", ["--set seed", "section.key=value"]),
        ("=5", ["--set =5", "section.key=value"]),
        ("sede=1", ["sede", "unknown key", TOP_KEYS]),
        ("ppo.lr=1", ["ppo.lr", "unknown key", "learning_rate"]),
        ("foo.bar=1", ["foo", "unknown key", TOP_KEYS]),
        ("a..b=1", ["unknown key"]),
        (".=1", ["unknown key"]),
        ("total_steps.x=1", ["total_steps", "not a section"]),
        ("total_steps=", ["total_steps", "integer"]),
        ("total_steps=many", ["total_steps", "'many'"]),
        ("ppo.n_envs=2.5", ["ppo.n_envs", "2.5"]),
        ("ppo.gamma=1.5", ["ppo.gamma", "1.5"]),
        ("ppo.n_envs=64=3", ["ppo.n_envs", "64=3"]),
        ("ppo.n_envs=[", ["--set ppo.n_envs=[", "YAML"]),
        ("ppo.learning_rate=1e-3x", ["ppo.learning_rate"]),
        ("ppo={gamma: 1, gamma: 1}", ["gamma", "twice"]),
        ("opponents.nobody=1", ["'nobody'", "greedy"]),
        ("opponents={human: 1}", ["human"]),
        ("game.ruleset=chess", ["'chess'", "basic, classic, expert, full"]),
        ("ppo.batch_size=100000", ["ppo.batch_size", "4096", "100000"]),
    ],
)
def test_bad_changes_are_told(load, change, words):
    with pytest.raises(UsageError) as caught:
        load(BASE, change)
    for word in words:
        assert word in message(caught)


def test_a_bad_change_is_not_blamed_on_a_line_of_the_file(load):
    """The file says `total_steps: 100` in line 1, which is right."""
    with pytest.raises(UsageError) as caught:
        load(BASE, "total_steps=many")
    assert "line 1" not in message(caught)


# The whole command ------------------------------------------------------------------------------


def assert_refused(ended: tuple[int, str, str], *words: str) -> None:
    code, out, err = ended
    assert code == 2
    assert err.count("\n") == 1, err
    assert err.startswith("train.py: ")
    assert "Traceback" not in err
    assert out == ""
    for word in words:
        assert word in err, err


def test_a_bad_config_stops_the_whole_command_before_anything_starts(tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("total_steps: 1000\nppo:\n  lr: 3e-4\n")
    ended = subprocess.run(
        [sys.executable, ROOT / "train.py", "--config", bad],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert_refused(
        (ended.returncode, ended.stdout, ended.stderr),
        *(str(bad), "line 3", "ppo.lr", "learning_rate"),
    )
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]  # no run folder


@pytest.fixture
def train(monkeypatch, capsys, tmp_path):
    """Calls train.py in this process, up to the training itself: exit code, stdout, stderr."""
    script = load_script("train")
    monkeypatch.chdir(tmp_path)
    started = []
    monkeypatch.setattr(
        script, "train", lambda folder, resume, *where: started.append((folder, resume))
    )

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["train.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run(script.main, "train.py")
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    call.started = started
    return call


SMOKE = ROOT / "configs" / "smoke.yaml"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--config", "--resume"]),
        (["--config", ROOT / "configs" / "rllib_universal.yaml"], ["rllib", "--engine ray"]),
        (["--config", SMOKE, "--ray-address", "x:1"], ["--ray-address", "--engine ray"]),
        (["--config", SMOKE, "--resume", "runs/x"], ["--config", "--resume"]),
        (["--resume", "runs/x", "--set", "seed=1"], ["--resume", "--set"]),
        (["--resume", "runs/x", "--run", "runs/y"], ["--resume", "--run"]),
        (["--config", "missing.yaml"], ["missing.yaml", "No such file"]),
        (["--config", SMOKE, "--set", "seed"], ["--set", "seed"]),
        (["--config", SMOKE, "--set", "sede=1"], ["sede"]),
        (["--config", SMOKE, "--set", "seed=1", "ppo.gamma=3"], ["ppo.gamma"]),
        (["--config", SMOKE, "--set"], ["--set"]),
        (["--config"], ["--config"]),
        (["--config", SMOKE, "--steps", "3"], ["--steps"]),
        (["--config", SMOKE, "--run"], ["--run"]),
    ],
)
def test_wrong_use_is_told_in_one_line(train, tmp_path, arguments, words):
    assert_refused(train(*arguments), *words)
    assert train.started == []
    assert list(tmp_path.iterdir()) == []


def test_a_run_begins_with_its_config_in_full(train, tmp_path):
    assert train("--config", SMOKE, "--set", "seed=7", "ppo.gamma=0.9")[0] == 0
    folder = Path("runs/smoke")
    assert train.started == [(folder, False)]
    config = load_config(folder / "config.yaml")
    assert config == load_config(SMOKE, ["seed=7", "ppo.gamma=0.9"])
    assert (config.seed, config.ppo.gamma) == (7, 0.9)
    assert set(yaml.safe_load((folder / "config.yaml").read_text())) == set(PpoConfig.model_fields)


def test_every_set_counts(train):
    train("--config", SMOKE, "--set", "seed=7", "--set", "total_steps=2048")
    config = load_config(Path("runs/smoke/config.yaml"))
    assert (config.seed, config.total_steps) == (7, 2048)


def test_runs_without_a_name_get_folders_of_their_own(train):
    for _ in range(3):
        assert train("--config", SMOKE)[0] == 0
    assert [str(folder) for folder, _ in train.started] == [
        "runs/smoke",
        "runs/smoke-2",
        "runs/smoke-3",
    ]


def test_a_folder_that_is_not_empty_is_left_alone(train, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "diary.txt").write_text("dear diary")
    assert_refused(train("--config", SMOKE, "--run", folder), str(folder), "not empty")
    assert [path.name for path in folder.iterdir()] == ["diary.txt"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert train("--config", SMOKE, "--run", empty)[0] == 0
    assert_refused(train("--config", SMOKE, "--run", empty), "--resume")
    assert train.started == [(empty, False)]


def test_a_run_folder_that_cannot_be_made(train, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "below", Path("/proc/run"), Path("/proc/1/run")):
        assert_refused(train("--config", SMOKE, "--run", folder), str(folder))
    assert train.started == []
