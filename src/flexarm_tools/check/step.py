"""CheckStep: one of the ten steps of `flexarm check` towards a running arm, and its output format."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH = 4  # [characters] indentation under the title of a step


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is missing or wrong in a step.

    Attributes:
        text: the finding and its consequence; begins with ``missing:``, ``warning:`` or ``error:``.
        add: lines to add, as written in the file.
        where: place to which the lines are added; empty: they form a file of their own.
    """

    text: str
    add: tuple[str, ...] = ()
    where: str = ""


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One step.

    Attributes:
        title: subject.
        lines: what the description contains.
        findings: what is missing or wrong.
        state: state to print; empty: ``ok``, ``can be better`` or ``to do``, depending on the findings.
    """

    title: str
    lines: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    state: str = ""

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
