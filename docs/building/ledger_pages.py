"""The ledger's pages, written from `docs/ledger.json`: one table of all statements, and a page for each of them."""

import json
from pathlib import Path
from typing import Any

from markdown_text import cell, escaped

from analysis.claims import claims
from analysis.findings_file import claim_digest, read_findings
from analysis.findings_history import FindingsHistory
from analysis.ledger.findings import Finding
from analysis.verifiers.pages import page, verifiers

FILE = "ledger.json"
WORDS = {
    "EXACT": "exact on {applied} instances",
    "SUPPORTED": "supported on {applied} instances",
    "REFUTED": "refuted",
    "INCONCLUSIVE": "undecided",
    "VACUOUS": "no instance met the hypotheses",
    "ILL_POSED": "ill-posed",
    "OUT_OF_SCOPE": "not examined",
}
WORDED = {
    "holds": "hold as printed",
    "holds, corrected": "hold in a corrected form",
    "fails": "fail",
    "ill-posed": "are ill-posed",
    "open": "are open",
    "out of scope": "were not examined",
}
ORDER = tuple(finding.value for finding in Finding)


def pages(root: Path) -> dict[str, str | bytes]:
    """Return the files of the ledger by their names on the site."""
    found = read_findings(root / "docs" / FILE)
    digests = {claim.id: claim_digest(claim) for claim in claims()}
    scripts = {script_name(claim): page(path).encode() for claim, path in verifiers().items()}
    files: dict[str, str | bytes] = {"ledger/ledger.json": (root / "docs" / FILE).read_bytes()}
    files |= {f"ledger/verifiers/{name}": text for name, text in scripts.items()}
    history = FindingsHistory.of(found)
    for one in found["statements"]:
        files[f"ledger/{one['id']}.md"] = statement_page(one, found, digests, scripts, history)
    files["ledger/statements.md"] = _table(found, digests)
    return files


def findings_on(key: str, root: Path) -> str:
    """Return the numbers of findings on a paper, and a table of the statements that do not hold as printed."""
    own = [one for one in read_findings(root / "docs" / FILE)["statements"] if one["id"].startswith(f"{key}/")]
    counts = [(kind, sum(one["finding"] == kind for one in own)) for kind in ORDER]
    numbers = ", ".join(f"{count} {WORDED[kind]}" for kind, count in counts if count)
    rows = [
        f"Of {len(own)} statements {numbers}. Those that do not hold as printed:\n",
        "| statement | | finding |",
        "|---|---|---|",
    ]
    for one in own:
        if one["finding"] != "holds":
            name = one["id"].split("/")[1]
            rows.append(f"| [{name}](../ledger/{one['id']}.md) | {cell(one['text'])} | {one['finding']} |")
    return "\n".join(rows)


def script_name(claim: str) -> str:
    """Return the name of the file that verifies a refutation on its own."""
    return f"{claim.replace('/', '.')}.py"


def kind_of_evidence(statement: dict[str, Any]) -> str:
    """Return how a finding was reached: certified, in closed form, sampled, or by a ruling."""
    kinds = {
        claim["evidence"] for claim in statement["claims"] if claim["verdict"] in ("EXACT", "SUPPORTED", "REFUTED")
    }
    if not kinds:
        return "ruling"
    return "certified" if kinds == {"certified"} else "certified in part" if "certified" in kinds else "sampled"


def _table(found: dict[str, Any], digests: dict[str, str]) -> str:
    rows = []
    for one in found["statements"]:
        key, name = one["id"].split("/")
        changed = "yes" if _changed(one, digests) else ""
        evidence, finding = kind_of_evidence(one), one["finding"]
        rows.append(
            f'<tr data-paper="{key}" data-finding="{finding}" data-evidence="{evidence}">'
            f'<td>{key}</td><td><a href="{key}/{name}.html">{name}</a></td><td>{escaped(one["where"])}</td>'
            f"<td>{escaped(one['text'])}</td><td>{finding}</td><td>{evidence}</td><td>{changed}</td></tr>"
        )
    choices = {
        "paper": [*found["papers"]],
        "finding": [kind for kind in ORDER if any(one["finding"] == kind for one in found["statements"])],
        "evidence": sorted({kind_of_evidence(one) for one in found["statements"]}),
    }
    selects = "".join(
        f'<label>{name} <select name="{name}"><option value="">all</option>'
        + "".join(f"<option>{value}</option>" for value in values)
        + "</select></label>"
        for name, values in choices.items()
    )
    head = "".join(
        f"<th>{name}</th>" for name in ("paper", "statement", "where", "text", "finding", "evidence", "changed")
    )
    numbers = f"{len(found['statements'])} statements, {found['claims']} claims with {found['trials']} trials"
    return f"""---
title: All statements
hide: [toc]
---

# All statements

{numbers}, computed on {found["date"]} with dynsim {found["dynsim"]}, seed {found["seed"]}.
A statement is marked as changed if the text or the code of one of its claims is no longer the one that was
computed. [What a verdict means](index.md). The same as data: [ledger.json](ledger.json).

<form class="ledger-filters" onsubmit="return false">
<label>search <input name="words" type="search" placeholder="theorem-4.1, Lyapunov, ..."></label>{selects}
<output></output>
</form>

<div class="ledger-table"><table><thead><tr>{head}</tr></thead><tbody>
{chr(10).join(rows)}
</tbody></table></div>

<script src="../assets/ledger.js"></script>
"""


def statement_page(
    one: dict[str, Any],
    found: dict[str, Any],
    digests: dict[str, str],
    scripts: dict[str, bytes],
    history: FindingsHistory,
) -> str:
    """Return the page of a statement: what is printed, finding and reasons, witness, how to repeat it, and history."""
    key, name = one["id"].split("/")
    paper = found["papers"][key]
    lines = [f"---\ntitle: {key} {name}\n---\n", f"# {key}: {name}\n"]
    lines.append(f"{escaped(paper['title'])}, {escaped(one['where'])}.\n")
    lines.append(f"**Printed, in our words:** {escaped(one['text'])}.\n")
    lines.append(f"**Finding: {one['finding']}** ({kind_of_evidence(one)}).\n")
    if not one["claims"]:
        lines.append("No claim has been written for this statement yet.\n")
    for claim in one["claims"]:
        lines += _claim(claim)
    lines.append(f"\nRepeat it:\n\n```\ndynsim check {one['id']}\n```\n")
    names = [script_name(claim["id"]) for claim in one["claims"]]
    own = [script for script in dict.fromkeys([script_name(one["id"]), *names]) if script in scripts]
    for script in own:
        link = f"[{script}](../verifiers/{script})"
        lines.append(f"Verify the refutation without dynsim: {link} needs Python's standard library only.\n")
    if _changed(one, digests):
        lines.append(f'!!! note "Changed"\n    A claim has changed since it was computed on {found["date"]}.\n')
    lines += _history(history.rows(one["id"]))
    lines.append("[All statements](../statements.md) · [FindingsHistory of the ledger](../../papers/history.md)\n")
    return "\n".join(lines)


def _history(found: list[tuple[str, str, str, str]]) -> list[str]:
    """Return a table of what each report found on a statement, the last report first."""
    rows = [
        f"| {date} | {version} | {finding} | {f'`{digest}`' if digest else ''} |"
        for date, version, finding, digest in reversed(found)
    ]
    head = ["## FindingsHistory of the finding\n", "| report | dynsim | finding | digest |", "|---|---|---|---|"]
    return [*head, *rows, "\nThe digest changes with the text or the code of the claims on the statement.\n"]


def _claim(claim: dict[str, Any]) -> list[str]:
    """Return the lines about one claim of a statement."""
    verdict = WORDS[claim["verdict"]].format(applied=claim.get("applied", 0))
    by = ""
    if claim["verdict"] == "REFUTED":
        numerical = "by both integrators" if claim.get("integrated") else "in floating-point arithmetic"
        by = ", certified" if claim["evidence"] == "certified" else f", {numerical}"
    lines = [f"## {claim['variant']}: {verdict}{by}\n", f"{escaped(claim['says'])}\n"]
    if claim.get("note"):
        lines.append(f"{escaped(claim['note'])[:1].upper()}{escaped(claim['note'])[1:]}.\n")
    if ranges := claim.get("ranges"):
        lines.append("Instances: " + ", ".join(f"{escaped(k)} {escaped(str(v))}" for k, v in ranges.items()) + ".\n")
    if claim.get("control"):
        lines.append(f"Control, a variant of the claim that is false: {claim['control'].lower()}.\n")
    if claim.get("worst"):
        lines.append(f"Closest to failing: {escaped(claim['worst']['what'])}, with slack {claim['worst']['slack']}.\n")
    command = f"dynsim check {claim['id']} --witness witness.json"
    if claim.get("witness") == "long":
        lines.append(f"Witness: `{command}` writes it, every number as a fraction.\n")
    elif claim.get("witness"):
        text = json.dumps(claim["witness"], ensure_ascii=False)
        lines.append(f"Witness (exact: `{command}`):\n\n```json\n{_broken(text)}\n```\n")
    if claim.get("decided by"):
        lines.append(f"Decided by `{claim['decided by']}`.\n")
    return lines


def _broken(text: str, width: int = 100) -> str:
    """Break a long line of JSON after commas."""
    lines, line = [], ""
    for part in text.split(", "):
        if line and len(line) + len(part) > width:
            lines.append(line + ",")
            line = part
        else:
            line = f"{line}, {part}" if line else part
    return "\n".join([*lines, line])


def _changed(one: dict[str, Any], digests: dict[str, str]) -> bool:
    return any(digests.get(claim["id"]) != claim["digest"] for claim in one["claims"])
