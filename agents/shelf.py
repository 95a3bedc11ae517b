"""Recorded games at the terminal: printed, or stepped through. Needs the extra `render`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from blessed import Terminal
from rich.text import Text

from agents import terminal
from agents.base import Agent
from agents.cli import progress_bar
from agents.mistakes import MARKS, Judgement, judge_game, summary
from agents.terminal import Lines
from agents.words import Words
from thatslife_env.records import Game


class Shelf:
    """The games of a record file, to be looked at.

    Args:
        games: all of the file.
        words: the language.
        agent: who judges the decisions, if any.
        seed: of that agent.
    """

    def __init__(
        self, games: Sequence[Game], words: Words, agent: Agent | None = None, seed: int = 0
    ) -> None:
        self.console = terminal.console()
        self._games = games
        self._words = words
        self._agent = agent
        self._seed = seed
        self._judged: dict[int, list[Judgement]] = {}

    def judgements(self, number: int) -> list[Judgement]:
        """What the agent holds of the decisions of the `number`-th game, from 1; empty without."""
        if self._agent is None:
            return []
        if number not in self._judged:
            game = self._games[number - 1]
            total = sum(kind == "play" for kind, _ in game.events)
            found = []
            with progress_bar(f"{self._agent.name}", total) as advance:
                for judgement in judge_game(game, self._agent, self._seed):
                    found.append(judgement)
                    advance(1)
            self._judged[number] = found
        return self._judged[number]

    def as_json(self, number: int) -> dict[str, Any]:
        """A game and its judgements as JSON.

        Returns:
            `game`, its number; `names`; `scores` and `winners`, null while unfinished; `steps`, for
            each event `event`, `player`, `text`, and of judged decisions `best`, `best_text`,
            `win_share`, `loss` (null where unknown) and `mark`; `agent` and `summary`, null without
            judge.
        """
        game, names = self._games[number - 1], self._names(number)
        judged = {judgement.event: judgement for judgement in self.judgements(number)}
        steps = []
        for index, (event, position) in enumerate(zip(game.events, game.positions(), strict=False)):
            step: dict[str, Any] = {"event": list(event), "player": position.player}
            step["text"] = self._words.happened(position, event, names)
            if index in judged:
                it = judged[index]
                step["best"] = it.best
                step["best_text"] = self._words.sentence(position, it.best, names)
                step["win_share"] = _number(it.win_share)
                step["loss"] = _number(it.loss)
                step["mark"] = it.mark
            steps.append(step)
        has_judge = self._agent is not None
        return {
            "game": number,
            "names": names,
            "scores": game.scores,
            "winners": game.winners,
            "steps": steps,
            "agent": self._agent.name if self._agent is not None else None,
            "summary": summary(self.judgements(number), len(names)) if has_judge else None,
        }

    def print_all(self, number: int) -> None:
        """Print a whole game: what happened, the last position, the mistakes."""
        words = self._words
        game, names, width = self._games[number - 1], self._names(number), self.console.width
        self._print([(terminal.KEEP, self._title(number))])
        judged = {judgement.event: judgement for judgement in self.judgements(number)}
        for index, (event, position) in enumerate(zip(game.events, game.positions(), strict=False)):
            text = f"{index + 1:4d}  {words.happened(position, event, names)}"
            line = Text(text)
            if index in judged and judged[index].mark:
                line = Text(f"{text} {judged[index].mark} ")
                line.append(self._remark(game, judged[index], names), terminal.DIM)
            self._print(self._kept(line, indent=6))
        lines: Lines = [(terminal.AIR, Text())]
        lines += terminal.drawing(game.position, words, names, width)
        lines += self._kept(self._outcome(number))
        self._print([*lines, *self._summary(number), (terminal.AIR, Text())])

    def browse(self, numbers: range) -> None:
        """Let a person step through the games."""
        keys = Terminal()
        number = self._choose(numbers) if len(numbers) > 1 else numbers[0]
        step = 0
        while True:
            last = len(self._games[number - 1].events)
            with keys.cbreak():
                step, pressed = self._step(keys, number, step, len(numbers) > 1)
            if pressed == "q":
                return
            if pressed == "c":
                number, step = self._choose(numbers, number), 0
            else:
                step = self._asked(self._words("replay.goto", of=last), range(last + 1), step)

    def _step(self, keys: Terminal, number: int, step: int, has_others: bool) -> tuple[int, str]:
        """Step through a game up to a key that leads elsewhere; the step, and that key."""
        last = len(self._games[number - 1].events)
        while True:
            self._show(number, step, has_others)
            pressed = keys.inkey()
            match pressed.name if pressed.is_sequence else str(pressed):
                case "n" | " " | "KEY_ENTER" | "KEY_RIGHT" | "KEY_DOWN":
                    step = min(step + 1, last)
                case "b" | "KEY_BACKSPACE" | "KEY_LEFT" | "KEY_UP":
                    step = max(step - 1, 0)
                case "f" | "KEY_HOME":
                    step = 0
                case "l" | "KEY_END":
                    step = last
                case "g":
                    return step, "g"
                case "c" if has_others:
                    return step, "c"
                case "q" | "\x04" | "":  # the last where the terminal is gone
                    return step, "q"

    def _choose(self, numbers: range, before: int = 1) -> int:
        """Have a person choose a game."""
        lines: Lines = []
        for number in numbers[: max(self.console.height - 2, 1)]:
            names = self._words.listed(self._names(number))
            text = f"{number:3d}  {names} · {self._outcome(number).plain.strip()}"
            lines += self._kept(Text(text))
        self.console.clear()
        self._print(lines)
        question = self._words("replay.choose", of=numbers[-1])
        return self._asked(question, numbers, before)

    def _asked(self, question: str, numbers: range, before: int) -> int:
        """A number that a person enters; as before if it is none of these."""
        try:
            answer = input(f"{question}: ").strip()
        except (EOFError, UnicodeDecodeError):
            return before
        is_number = answer.isdecimal() and len(answer) < 9
        return int(answer) if is_number and int(answer) in numbers else before

    def _show(self, number: int, step: int, has_others: bool) -> None:
        """Show one moment of a game."""
        words = self._words
        game, names, width = self._games[number - 1], self._names(number), self.console.width
        judgements = self.judgements(number)
        moment = Game(game.opening, game.events[:step], game.meta)
        position = moment.position
        lines: Lines = [(terminal.TITLE, self._title(number))]
        lines += terminal.drawing(position, words, names, width)
        count = Text(words("replay.step", n=step, of=len(game.events)), terminal.BOLD)
        lines += self._kept(count)
        if step == 0:
            lines += self._kept(Text(words("replay.begin")))
        else:
            begin = max(i for i in range(step) if i == 0 or game.events[i][0] == "roll")
            past = terminal.turns(game, words, names, begin, width, step)
            lines += [(terminal.KEEP, line) for line in past]
        for judgement in judgements:
            if judgement.event == step - 1 and judgement.loss > 0:
                line = Text().append(f"{judgement.mark} ", terminal.BOLD)
                lines += self._kept(line.append(self._remark(game, judgement, names)))
        if step == len(game.events):
            lines += self._kept(self._outcome(number))
            lines += self._summary(number)
        lines += terminal.keys(words("replay.keys.games" if has_others else "replay.keys"), width)
        self.console.clear()
        self._print(terminal.fitted(lines, self.console.height - 1))

    def _remark(self, game: Game, judgement: Judgement, names: Sequence[str]) -> str:
        """What a decision lost, and what would have been better."""
        position = Game(game.opening, game.events[: judgement.event]).position
        what = self._words.sentence(position, judgement.best, names)
        return self._words("mistakes.better", share=self._share(judgement.loss), what=what)

    def _summary(self, number: int) -> Lines:
        """Each player's mistakes, as a table."""
        if self._agent is None:
            return []
        words, names = self._words, self._names(number)
        rows = [[words(f"mistakes.{key}") for key in ("player", "decisions", "loss")] + [*MARKS]]
        for row in summary(self.judgements(number), len(names)):
            mean = "–" if row["mean_loss"] is None else self._share(row["mean_loss"])
            rows.append([names[row["player"]], str(row["decisions"]), mean])
            rows[-1] += [str(n) for n in row["marks"].values()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        least = {mark: words.percent(loss) for mark, loss in MARKS.items()}
        texts = [words("mistakes.heading", name=self._agent.name)]
        for first, *others in rows:
            cells = [cell.rjust(n) for cell, n in zip(others, widths[1:], strict=True)]
            texts.append("  ".join([first.ljust(widths[0]), *cells]))
        texts.append(words("mistakes.marks", a=least["?!"], b=least["?"], c=least["??"]))
        lines: Lines = [(terminal.AIR, Text())]
        for index, text in enumerate(texts):
            style = terminal.BOLD if index == 0 else terminal.DIM if text == texts[-1] else ""
            lines += self._kept(Text(text, style))
        return lines

    def _outcome(self, number: int) -> Text:
        """Who won the game, or that nobody did."""
        game = self._games[number - 1]
        if game.position.is_over:
            return terminal.status(game.position, self._words, self._names(number))
        return Text(self._words("replay.unfinished"))

    def _share(self, loss: float) -> str:
        """A loss of win share with a decimal, as `4.2%`."""
        return self._words.percent(loss, 1)

    def _title(self, number: int) -> Text:
        which = self._words("replay.which", n=number, of=len(self._games))
        line = terminal.title(self._words, which)
        line.truncate(self.console.width, overflow="ellipsis")
        return line

    def _names(self, number: int) -> list[str]:
        return self._words.names(self._games[number - 1])

    def _kept(self, text: Text, indent: int = 3) -> Lines:
        lines = terminal.wrapped(text, self.console.width, indent)
        return [(terminal.KEEP, line) for line in lines]

    def _print(self, lines: Lines) -> None:
        for _, line in lines:
            self.console.print(line, soft_wrap=True)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
