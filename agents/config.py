"""The settings of a training run: what may stand in a config file, and how one is read.

A file holds only what differs from the defaults here. Every value is checked before anything
starts. Needs the extra `train`.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

import agents
from agents.base import AgentError
from agents.cli import UsageError
from thatslife_env import Ruleset
from thatslife_env.position import short
from thatslife_env.rewards import REWARDS

SELF, SNAPSHOTS = "self", "snapshots"  # opponents that are no agent specs


def _one_of(names: Sequence[str], what: str) -> AfterValidator:
    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"unknown {what} {name!r}; there are: {', '.join(names)}")
        return name

    return AfterValidator(check)


def _check_spec(spec: str, key: str) -> None:
    try:
        agents.make(spec)
    except AgentError as error:
        raise ValueError(f"{key}: {error}") from None
    if spec.strip() == "human":
        raise ValueError(f"{key}: a person, 'human', cannot be asked thousands of times")


class Section(BaseModel):
    """A part of a config: unknown keys and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Setting:
    """One ruleset of those that a run plays.

    Attributes:
        name: how tables call the ruleset.
        ruleset: with its number of players.
        share: of the games; the shares of all add up to 1.
    """

    name: str
    ruleset: Ruleset
    share: float


class MixEntry(Section):
    """A part of a mix: a ruleset, with one or several numbers of players."""

    ruleset: str | dict[str, Any] = Field("basic", description="as `game.ruleset`")
    players: int | list[int] | None = Field(
        None, description="as `game.players`, or a list of which each is as likely"
    )
    weight: float = Field(1.0, ge=0, le=10**6, description="share of the games, among the others")

    @model_validator(mode="after")
    def _check(self) -> "MixEntry":
        if isinstance(self.players, list) and not self.players:
            raise ValueError("players: the list is empty")
        self.rulesets()
        return self

    def rulesets(self) -> list[Ruleset]:
        """One for each number of players."""
        counts = self.players if isinstance(self.players, list) else [self.players]
        return [Ruleset.of(self.ruleset, count) for count in counts]

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.ruleset if isinstance(self.ruleset, str) else "custom"


class GameSection(Section):
    """What is played."""

    ruleset: str | dict[str, Any] = Field("basic", description="a preset, or fields of a Ruleset")
    players: int | None = Field(None, ge=2, le=6, description="for a preset; 2 if left out")
    mix: list[MixEntry] | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="instead: a list of `{ruleset: , players: , weight: }`, from which each game "
        "draws; `players` may be a list",
    )

    @model_validator(mode="after")
    def _check(self) -> "GameSection":
        if self.mix is None:
            Ruleset.of(self.ruleset, self.players)
        elif self.ruleset != "basic" or self.players is not None:
            raise ValueError("give either ruleset and players, or mix")
        elif not any(entry.weight for entry in self.mix):
            raise ValueError("mix: at least one weight must be above 0")
        return self

    def settings(self) -> list[Setting]:
        """All rulesets that are played."""
        if self.mix is None:
            entry = MixEntry(ruleset=self.ruleset, players=self.players)
            return [Setting(entry.name, entry.rulesets()[0], 1.0)]
        total = sum(entry.weight for entry in self.mix)
        return [
            Setting(entry.name, ruleset, entry.weight / total / len(entry.rulesets()))
            for entry in self.mix
            for ruleset in entry.rulesets()
            if entry.weight
        ]

    def weighted(self) -> list[tuple[Ruleset, float]]:
        """The rulesets and their shares, as `thatslife_env.games.ruleset_mix` takes them."""
        return [(setting.ruleset, setting.share) for setting in self.settings()]

    def about(self) -> dict[str, Any]:
        """What was played, for the description of what was learned."""
        if self.mix is None:
            return {"ruleset": self.settings()[0].ruleset.to_dict()}
        return {"mix": [entry.model_dump() for entry in self.mix]}


class RewardSection(Section):
    """What the learner is rewarded for."""

    terminal: Annotated[str, _one_of(list(REWARDS), "reward")] = Field(
        "win", description=f"one of {', '.join(REWARDS)}"
    )
    shaping: float = Field(0.0, ge=0, description="scale per point of potential-based shaping")


class SnapshotSection(Section):
    """Frozen copies of the learner among its opponents."""

    every: int = Field(500_000, ge=1, description="steps between two copies")
    keep: int = Field(8, ge=1, description="copies that are drawn, the latest ones")
    focus: float = Field(
        1.0,
        ge=0,
        le=100,
        description="how much more the harder ones are drawn: by (1 - score) to this power",
    )


HIDDEN: dict[str, list[int]] = {
    "mlp": [256, 256],
    "blind": [256, 256],
    "action": [48, 128, 96, 48],
}
"""Widths of the hidden layers of each kind of network, if none are given."""


class NetworkSection(Section):
    """What learns."""

    kind: Literal["mlp", "blind", "action"] = Field(
        "action",
        description="`action` scores each action from what it does; `mlp` is two towers of fully "
        "connected layers; `blind`, for comparisons, is `mlp` without the rows of what actions do",
    )
    hidden: list[Annotated[int, Field(ge=1, le=4096)]] = Field(
        HIDDEN["action"],
        min_length=1,
        max_length=8,
        description="widths of the hidden layers: of `action` four, those of seats and pawns, of "
        f"the table, of actions, before the outputs; of `mlp` any, if left out {HIDDEN['mlp']}",
    )
    activation: Literal["relu", "tanh"] = Field("relu", description="between the layers")

    @model_validator(mode="before")
    @classmethod
    def _widths_of_the_kind(cls, content: Any) -> Any:
        if isinstance(content, dict) and "hidden" not in content:
            kind = content.get("kind", "action")
            if isinstance(kind, str) and kind in HIDDEN:
                return content | {"hidden": HIDDEN[kind]}
        return content

    @model_validator(mode="after")
    def _check(self) -> "NetworkSection":
        if self.kind == "action" and len(self.hidden) != len(HIDDEN["action"]):
            raise ValueError(
                f"hidden: the kind `action` has {len(HIDDEN['action'])} widths, not {self.hidden}"
            )
        return self


class PpoSection(Section):
    """How it learns: MaskablePPO (Schulman et al. 2017; Huang and Ontanon 2020)."""

    n_envs: int = Field(256, ge=1, le=2**16, description="games side by side")
    n_steps: int = Field(
        64, ge=2, le=2**16, description="decisions of each game between two updates"
    )
    batch_size: int = Field(2048, ge=2, description="decisions in one gradient step")
    n_epochs: int = Field(4, ge=1, description="passes over the decisions of an update")
    learning_rate: float = Field(1e-3, gt=0, description="of Adam at the start")
    final_learning_rate: float = Field(1e-5, ge=0, description="at the end, linearly")
    gamma: float = Field(1.0, gt=0, le=1, description="discount between own decisions")
    gae_lambda: float = Field(0.9, ge=0, le=1, description="of the advantage estimate")
    clip_range: float = Field(0.2, gt=0, description="of the probability ratio")
    ent_coef: float = Field(0.01, ge=0, description="weight of the entropy bonus")
    vf_coef: float = Field(0.5, ge=0, description="weight of the value loss")
    max_grad_norm: float = Field(0.5, gt=0, description="gradients are clipped to this norm")

    def check_batches(self) -> None:
        """Refuse batches that do not fit.

        Raises:
            ValueError: the message names what does not.
        """
        if self.batch_size > self.n_envs * self.n_steps:
            raise ValueError(
                "ppo.batch_size: must be at most n_envs x n_steps = "
                f"{self.n_envs * self.n_steps}, not {self.batch_size}"
            )
        if self.n_envs * self.n_steps % self.batch_size == 1:
            raise ValueError(
                "ppo.batch_size: n_envs x n_steps must not leave a batch of one decision, whose "
                f"advantage cannot be normalised; not {self.batch_size}"
            )


class ValueNetworkSection(Section):
    """What learns the values of afterstates: fully connected layers with relu between."""

    hidden: list[Annotated[int, Field(ge=1, le=4096)]] = Field(
        [128, 32], min_length=1, max_length=8, description="width of each hidden layer"
    )


class TdSection(Section):
    """How they are learned: TD(lambda) by self-play (Sutton 1988; Tesauro 1995)."""

    n_games: int = Field(256, ge=1, le=2**16, description="games side by side")
    n_turns: int = Field(64, ge=1, le=2**16, description="turns of each between two updates")
    batch_size: int = Field(1024, ge=1, description="positions in one gradient step")
    n_epochs: int = Field(2, ge=1, description="passes over the positions of an update")
    learning_rate: float = Field(3e-3, gt=0, description="of Adam at the start")
    final_learning_rate: float = Field(1e-5, ge=0, description="at the end, linearly")
    trace: float = Field(0.8, ge=0, le=1, description="lambda: how far targets look ahead")
    temperature: float = Field(
        0.05,
        gt=0,
        description="of the choice among the moves' win shares at the start, with two players; "
        "with n it is 2 / n of that",
    )
    final_temperature: float = Field(0.01, gt=0, description="at the end, geometrically")


class EvaluationSection(Section):
    """How good it is so far, on deals it never trains on."""

    every: int = Field(500_000, ge=1, description="steps between two evaluations")
    deals: int = Field(200, ge=1, le=10**6, description="each played from every seat")
    final_games: int = Field(
        2000, ge=1, le=10**7, description="of each pair, for results.json at the end"
    )
    opponents: list[str] = Field(["random", "greedy"], min_length=1, description="agent specs")
    seed: int = Field(2**63, ge=0, lt=2**64, description="of the deals")

    @model_validator(mode="after")
    def _check(self) -> "EvaluationSection":
        for spec in self.opponents:
            _check_spec(spec, "opponents")
        return self


def starting_network(config: "PpoConfig | TdConfig") -> Any:
    """The network whose weights a run begins with; None if it begins with its own.

    Raises:
        UsageError: there is none, or it is of another kind or size.
    """
    if config.start_from is None:
        return None
    if isinstance(config, TdConfig):
        spec = f"td:{config.start_from}"
        players = max(setting.ruleset.players for setting in config.game.settings())
        wanted: dict[str, Any] = {"players": players, "hidden": config.network.hidden}
    else:
        spec, wanted = f"policy:{config.start_from}", config.network.model_dump()
    try:
        agent: Any = agents.make(spec)
    except AgentError as error:
        raise UsageError(f"start_from: {error}") from None
    if (found := agent.description["network"]) != wanted:
        raise UsageError(f"start_from: the network of {spec} is {found}, not {wanted}")
    return agent.network


StartFrom = Annotated[
    str | None,
    Field(
        description="begin with the weights of something learned before, by a network like this "
        "one (for td, with the same largest number of players): a run, its folder `policy` or "
        "`value`, or `builtin/NAME`"
    ),
]


class CommonConfig(Section):
    """What the runs of all algorithms have."""

    steps_meaning: ClassVar[str]

    seed: int = Field(0, ge=0, lt=2**32, description="of everything random in the run")
    threads: int = Field(1, ge=1, le=256, description="of torch, and of the games of td")
    total_steps: int = Field(
        4_000_000,
        ge=1,
        le=10**12,
        description="decisions of the learner (ppo) or of all seats (rllib), turns of all "
        "seats (td)",
    )
    game: GameSection = GameSection()
    evaluation: EvaluationSection = EvaluationSection()
    checkpoint_every: int = Field(500_000, ge=1, description="steps between two checkpoints")


class PpoConfig(CommonConfig):
    """A run of masked PPO."""

    steps_meaning: ClassVar[str] = "decisions of the learner"

    algorithm: Literal["ppo"] = Field("ppo", description="MaskablePPO")
    start_from: StartFrom = None
    reward: RewardSection = RewardSection()
    opponents: dict[str, Annotated[float, Field(ge=0, le=10**6)]] = Field(
        {SELF: 1.0},
        description=f"weights of agent specs, `{SELF}` (the learner as it is) and `{SNAPSHOTS}`",
    )
    snapshots: SnapshotSection = SnapshotSection()
    network: NetworkSection = NetworkSection()
    ppo: PpoSection = PpoSection()

    @model_validator(mode="after")
    def _check(self) -> "PpoConfig":
        if not any(self.opponents.values()):
            raise ValueError("opponents: at least one weight must be above 0")
        for spec in self.opponents:
            if spec not in (SELF, SNAPSHOTS):
                _check_spec(spec, "opponents")
        self.ppo.check_batches()
        return self


class RaySection(Section):
    """How the games are spread over a Ray cluster."""

    workers: int = Field(2, ge=1, le=10_000, description="processes that play, each on a CPU")


class RllibConfig(CommonConfig):
    """A run of RLlib's PPO on a Ray cluster."""

    steps_meaning: ClassVar[str] = "decisions of all seats"

    algorithm: Literal["rllib"] = Field("rllib", description="RLlib's PPO by self-play, masked")
    reward: RewardSection = RewardSection()
    network: NetworkSection = NetworkSection()
    ppo: PpoSection = PpoSection()
    ray: RaySection = RaySection()

    @model_validator(mode="after")
    def _check(self) -> "RllibConfig":
        self.ppo.check_batches()
        if self.ppo.n_envs % self.ray.workers:
            raise ValueError(
                f"ppo.n_envs: must be a multiple of ray.workers = {self.ray.workers}, "
                f"not {self.ppo.n_envs}"
            )
        if self.reward.shaping and self.ppo.gamma != 1:
            raise ValueError(
                "reward.shaping: is that of the AEC environment, which is undiscounted: "
                f"ppo.gamma must be 1, not {self.ppo.gamma}"
            )
        return self


class TdConfig(CommonConfig):
    """A run of TD(lambda) on the values of afterstates."""

    steps_meaning: ClassVar[str] = "turns of all seats"

    algorithm: Literal["td"] = Field("td", description="TD(lambda) on the values of afterstates")
    start_from: StartFrom = None
    network: ValueNetworkSection = ValueNetworkSection()
    td: TdSection = TdSection()

    @model_validator(mode="after")
    def _check(self) -> "TdConfig":
        if self.td.batch_size > self.td.n_games * self.td.n_turns:
            raise ValueError(
                "td.batch_size: must be at most n_games x n_turns = "
                f"{self.td.n_games * self.td.n_turns}, not {self.td.batch_size}"
            )
        return self


class _AnyConfig(BaseModel):
    """A config of which only the algorithm counts."""

    algorithm: Literal["ppo", "td", "rllib"]


Config = PpoConfig | TdConfig | RllibConfig
ALGORITHMS: dict[str, type[PpoConfig] | type[TdConfig] | type[RllibConfig]] = {
    "ppo": PpoConfig,
    "td": TdConfig,
    "rllib": RllibConfig,
}


class _Loader(yaml.SafeLoader):
    """Safe YAML, without its surprises.

    Numbers are decimal (010 is no octal 8, 1:30 no 90, and 3e-4 is a number), true and false are
    the only booleans, there are no dates, and a key stands once.
    """

    yaml_implicit_resolvers = {}  # noqa: RUF012  # as PyYAML has it

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        if isinstance(node, yaml.MappingNode):
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            for number, key in enumerate(keys):
                if key in keys[:number]:
                    line = node.value[number][0].start_mark.line + 1
                    raise UsageError(f"line {line}: the key {key!r} stands twice")
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", ["n", "~", ""]),
    ("int", r"[-+]?(0|[1-9][0-9_]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?(\d[\d_]*\.[\d_]*([eE][-+]?\d+)?|\d[\d_]*[eE][-+]?\d+|\.\d+)|[-+]?\.inf|\.nan",
        "-+.0123456789",
    ),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"({_pattern})$"), list(_first)
    )


def load_config(path: Path, changes: Sequence[str] = ()) -> Config:
    """Read a config file.

    Args:
        path: a YAML file.
        changes: `section.key=value`, which go over what the file says.

    Raises:
        UsageError: it cannot be read, or a key or value is not allowed; the message names file,
            line where known, key,
            and what is allowed.
    """
    return read_config(path, _kind_of, changes)


def _kind_of(content: dict[str, Any]) -> type[BaseModel]:
    algorithm = content.get("algorithm", "ppo")
    known = isinstance(algorithm, str) and algorithm in ALGORITHMS
    return ALGORITHMS[algorithm] if known else _AnyConfig


def read_config(
    path: Path, kind_of: Callable[[dict[str, Any]], type[BaseModel]], changes: Sequence[str] = ()
) -> Any:
    """Read a YAML file as one of several kinds of config.

    Args:
        path: the file.
        kind_of: tells from the content of which kind it is.
        changes: as those of `load_config`.

    Raises:
        UsageError: see `load_config`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{path}: {reason}") from None
    content = _parse(text, str(path))
    if content is None:
        raise UsageError(f"{path}: the file is empty")
    if not isinstance(content, dict):
        raise UsageError(f"{path}: must be a mapping of keys, not {content!r}")
    changed = {_apply(content, change): change for change in changes}
    kind = kind_of(content)
    try:
        return kind.model_validate(content)
    except ValidationError as errors:
        raise UsageError(f"{path}: {_explain(kind, errors, text, changed)}") from None


def _parse(text: str, source: str) -> Any:
    try:
        return yaml.load(text, _Loader)  # a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f" line {mark.line + 1}:"
        raise UsageError(f"{source}:{line} not YAML: {getattr(error, 'problem', error)}") from None
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # of a value with a tag, or of thousands of brackets
        raise UsageError(f"{source}: not YAML: {error}") from None


def _apply(content: dict[str, Any], change: str) -> tuple[str, ...]:
    """Carry out one `section.key=value`; returns the place."""
    place, equals, text = change.partition("=")
    if not equals or not place:
        raise UsageError(f"--set {change}: must be section.key=value")
    *sections, key = place.split(".")
    target = content
    for section in sections:
        target = target.setdefault(section, {})
        if not isinstance(target, dict):
            raise UsageError(f"--set {change}: {section!r} is not a section")
    target[key] = _parse(text, f"--set {change}")
    return (*sections, key)


def _explain(
    kind: type[BaseModel],
    errors: ValidationError,
    text: str,
    changed: dict[tuple[str, ...], str],
) -> str:
    """The first error: line or change, key, what is wrong, what is allowed."""
    error = errors.errors()[0]
    place = ".".join(str(part) for part in error["loc"])
    reason = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        section = kind
        for part in error["loc"][:-1]:
            if isinstance(part, str):  # a number is a place in a list
                section = _section_in(section.model_fields[part].annotation)
        reason = f"unknown key; there are: {', '.join(section.model_fields)}"
    elif error["type"] != "value_error":
        reason = f"{reason}, not {short(error['input'])}"
    line = _line_of(error["loc"], text)
    where = f"line {line}: " if line else ""
    for change_place, change in changed.items():
        if error["loc"][: len(change_place)] == change_place:
            where = f"--set {change}: "
    return f"{where}{place}: {reason}" if place else f"{where}{reason}"


def _section_in(annotation: Any) -> Any:
    """The section in the type of a field: itself, or what is listed."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_section_in, get_args(annotation))), None)


def _line_of(place: tuple[int | str, ...], text: str) -> int | None:
    """The line, from 1, where a key stands; None if it came from elsewhere."""
    node = yaml.compose(text, _Loader)
    line = None
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == part]
            if not found:
                return line
            line, node = found[0][0].start_mark.line + 1, found[0][1]
        elif (
            isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value)
        ):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            return line
    return line


def to_yaml(config: CommonConfig) -> str:
    """The config with every key, as `load_config` reads it back."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False)


def config_table() -> str:
    """Every key as Markdown tables, for the docs."""
    common = set(CommonConfig.model_fields)
    lines = ["Every algorithm:", "", *_rows(CommonConfig, common)]
    for name, kind in ALGORITHMS.items():
        lines += ["", f"`algorithm: {name}`:", ""]
        lines += _rows(kind, set(kind.model_fields) - common - {"algorithm"})
    return "\n".join(lines)


def _rows(kind: type[CommonConfig], names: set[str]) -> list[str]:
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for name, field in kind.model_fields.items():
        if name not in names:
            continue
        if isinstance(field.default, Section):
            for key, inner in type(field.default).model_fields.items():
                lines.append(f"| `{name}.{key}` | `{inner.default}` | {inner.description} |")
        else:
            lines.append(f"| `{name}` | `{field.default}` | {field.description} |")
    return lines
