"""CheckStep: one of the ten steps of `flexarm check` towards a running arm, and its output format."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH = 4  # [characters] indentation under the title of a step


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is missing or wrong in a step."""

    text: str  # the finding and its consequence; begins with `missing:`, `warning:` or `error:`
    add: tuple[str, ...] = ()  # lines to add, as written in the file
    where: str = ""  # place to which the lines are added; empty: they form a file of their own


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One step."""

    title: str  # subject
    lines: tuple[str, ...] = ()  # what the description contains
    findings: tuple[Finding, ...] = ()  # what is missing or wrong
    state: str = ""  # state to print; empty: `ok`, `can be better` or `to do`, depending on the findings

    def text(self, number: int) -> list[str]:
        """Format the step as lines of text."""
        indent = WIDTH * " "
        lines = [f"{number:>3}. {self.title}: {self.state or self._judged()}"]
        lines += [f"{indent}  {line}" for line in self.lines]
        for finding in self.findings:
            lines.append(f"{indent}  {finding.text}")
            if finding.add:
                lines += [f"{indent}    add to {finding.where}:"] if finding.where else []
                lines += [f"{indent}      {line}" for line in finding.add]
        return lines

    def _judged(self) -> str:
        if any(finding.text.startswith(("missing", "error")) for finding in self.findings):
            return "to do"
        return "can be better" if any(finding.text.startswith("warning") for finding in self.findings) else "ok"
