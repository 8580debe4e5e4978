"""CheckStep: one of the ten steps by which `flexarm check` leads to an arm that runs, and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH = 4  # of the indentation under a step's title


@dataclass(frozen=True, slots=True)
class Finding:
    """What a step lacks.

    Attributes:
        text: what, and what comes of it; beginning with ``missing:``, ``warning:`` or ``error:``.
        add: lines to add, as they stand in the file they belong to.
        where: what they are added to; empty: they are a file of their own.
    """

    text: str
    add: tuple[str, ...] = ()
    where: str = ""


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One step.

    Attributes:
        title: what it is about.
        lines: what the description holds.
        findings: what it lacks.
        state: ``ok``, ``can be better`` or ``to do``.
    """

    title: str
    lines: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    state: str = ""

    def text(self, number: int) -> list[str]:
        """Lines for people."""
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
