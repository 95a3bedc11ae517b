"""The settings of a training run: what may stand in a config file, and how one is read.

A file holds only what differs from the defaults here. Every value is checked before anything
starts. Needs the extra `train`.
"""

import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

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


class GameSection(Section):
    """What is played."""

    ruleset: str | dict[str, Any] = Field("basic", description="a preset, or fields of a Ruleset")
    players: int | None = Field(None, ge=2, le=6, description="for a preset; 2 if left out")

    @model_validator(mode="after")
    def _check(self) -> "GameSection":
        self.made()
        return self

    def made(self) -> Ruleset:
        """The ruleset."""
        return Ruleset.of(self.ruleset, self.players)

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.ruleset if isinstance(self.ruleset, str) else "custom"


class RewardSection(Section):
    """What the learner is rewarded for."""

    terminal: Annotated[str, _one_of(list(REWARDS), "reward")] = Field(
        "win", description=f"one of {', '.join(REWARDS)}"
    )
    shaping: float = Field(0.0, ge=0, description="scale per point of potential-based shaping")


class SnapshotSection(Section):
    """Frozen copies of the learner among its opponents."""

    every: int = Field(500_000, ge=1, description="steps between two copies")
    keep: int = Field(8, ge=1, description="copies kept, the latest ones")


class NetworkSection(Section):
    """What learns."""

    kind: Literal["mlp"] = Field("mlp", description="two towers of fully connected layers")
    hidden: list[Annotated[int, Field(ge=1, le=4096)]] = Field(
        [256, 256], min_length=1, max_length=8, description="width of each hidden layer"
    )
    activation: Literal["relu", "tanh"] = Field("relu", description="between the layers")


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


class Config(Section):
    """One training run."""

    algorithm: Literal["ppo"] = Field("ppo", description="MaskablePPO")
    seed: int = Field(0, ge=0, lt=2**32, description="of everything random in the run")
    threads: int = Field(1, ge=1, le=256, description="of torch")
    total_steps: int = Field(
        4_000_000, ge=1, le=10**12, description="decisions of the learner in all"
    )
    game: GameSection = GameSection()
    reward: RewardSection = RewardSection()
    opponents: dict[str, Annotated[float, Field(ge=0, le=10**6)]] = Field(
        {SELF: 1.0},
        description=f"weights of agent specs, `{SELF}` (the learner as it is) and `{SNAPSHOTS}`",
    )
    snapshots: SnapshotSection = SnapshotSection()
    network: NetworkSection = NetworkSection()
    ppo: PpoSection = PpoSection()
    evaluation: EvaluationSection = EvaluationSection()
    checkpoint_every: int = Field(500_000, ge=1, description="steps between two checkpoints")

    @model_validator(mode="after")
    def _check(self) -> "Config":
        if not any(self.opponents.values()):
            raise ValueError("opponents: at least one weight must be above 0")
        for spec in self.opponents:
            if spec not in (SELF, SNAPSHOTS):
                _check_spec(spec, "opponents")
        if self.ppo.batch_size > self.ppo.n_envs * self.ppo.n_steps:
            raise ValueError(
                "ppo.batch_size: must be at most n_envs x n_steps = "
                f"{self.ppo.n_envs * self.ppo.n_steps}, not {self.ppo.batch_size}"
            )
        if self.ppo.n_envs * self.ppo.n_steps % self.ppo.batch_size == 1:
            raise ValueError(
                "ppo.batch_size: n_envs x n_steps must not leave a batch of one decision, whose "
                f"advantage cannot be normalised; not {self.ppo.batch_size}"
            )
        return self


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
    try:
        return Config.model_validate(content)
    except ValidationError as errors:
        raise UsageError(f"{path}: {_explain(errors, text, changed)}") from None


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


def _explain(errors: ValidationError, text: str, changed: dict[tuple[str, ...], str]) -> str:
    """The first error: line or change, key, what is wrong, what is allowed."""
    error = errors.errors()[0]
    place = ".".join(str(part) for part in error["loc"])
    reason = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        section: Any = Config
        for part in error["loc"][:-1]:
            section = section.model_fields[part].annotation
        reason = f"unknown key; there are: {', '.join(section.model_fields)}"
    elif error["type"] != "value_error":
        reason = f"{reason}, not {short(error['input'])}"
    line = _line_of(error["loc"], text)
    where = f"line {line}: " if line else ""
    for change_place, change in changed.items():
        if error["loc"][: len(change_place)] == change_place:
            where = f"--set {change}: "
    return f"{where}{place}: {reason}" if place else f"{where}{reason}"


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


def to_yaml(config: Config) -> str:
    """The config with every key, as `load_config` reads it back."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False)


def config_table() -> str:
    """Every key as a Markdown table, for the docs."""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for name, field in Config.model_fields.items():
        if isinstance(field.default, Section):
            for key, inner in type(field.default).model_fields.items():
                lines.append(f"| `{name}.{key}` | `{inner.default}` | {inner.description} |")
        else:
            lines.append(f"| `{name}` | `{field.default}` | {field.description} |")
    return "\n".join(lines)
