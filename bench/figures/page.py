"""What tools/figures measured as Markdown, for bench/RESULTS.md, and as one HTML page with plots that needs nothing else.

SPDX-License-Identifier: Apache-2.0
"""

import html
import os
import platform
import re
import subprocess
import time

import measuring

RESULTS = os.path.join(measuring.ROOT, "bench", "RESULTS.md")
HEADING = "## tools/figures"
COLORS = ("#3b6fb6", "#d9822b", "#3d9a50", "#9a4fb0")
WIDTH, LABEL, BAR = 900, 140, 14  # pixels
STYLE = """body{font:14px/1.5 system-ui,sans-serif;margin:2em auto;max-width:1200px;padding:0 1em}table{border-collapse:collapse;
margin:1em 0;display:block;overflow-x:auto}td,th{border:1px solid #8884;padding:2px 8px;text-align:right;white-space:nowrap}
td:first-child,th:first-child{text-align:left}svg{max-width:100%}svg text{fill:currentColor;font-size:12px}
@media(prefers-color-scheme:dark){body{background:#15181c;color:#dde}}"""


def facts(quick):
    """Of this run and this machine, a sentence each; what the machine can't show among them."""
    commit = subprocess.run(["git", "-C", measuring.ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    told = [f"{time.strftime('%Y-%m-%d')}, commit {commit.stdout.strip() or 'unknown'}, {os.cpu_count()} x "
            f"{model.group(1) if model else platform.machine()}, {memory:.0f} GiB, Linux {platform.release()}, load at the start "
            f"{os.getloadavg()[0]:.1f}."]
    if os.cpu_count() < 8:
        told.append(f"{os.cpu_count()} CPUs for three servers and the clients: a ceiling is the machine's, and a latency has the waiting "
                    "for a CPU in it.")
    told.append("All directories lie on one disk; where several are spoken of, they are emulated.")
    if quick:
        told.append("Quick: small volumes, one round. It shows that everything runs, not what it costs.")
    return told


def as_markdown(told, run):
    lines = [f"### {run.section}", "", *told, ""]
    for what, title, content in run.shown:
        if what != "table":
            continue
        header, *rows = content
        lines += [f"#### {title}", "", "| " + " | ".join(header) + " |",
                  "|" + "|".join("--:" if i else "---" for i in range(len(header))) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
    return "\n".join(lines)


def write_results(told, run):
    """In place of what an earlier run wrote of this section, else last in the part that is tools/figures'; all else stays."""
    with open(RESULTS, encoding="utf-8") as file:
        old = file.read()
    begin, end = (f"<!-- tools/figures: {run.section} {which} -->" for which in ("begins", "ends"))
    block = f"{begin}\n{as_markdown(told, run)}\n{end}"
    if begin in old:
        new = old[:old.index(begin)] + block + old[old.index(end) + len(end):]
    else:
        if not re.search(f"^{HEADING}$", old, re.MULTILINE):
            old = f"{old.rstrip()}\n\n{HEADING}\n"
        part = re.search(f"^{HEADING}$", old, re.MULTILINE).end()
        following = re.compile("^## ", re.MULTILINE).search(old, part)
        at = following.start() if following else len(old)
        new = f"{old[:at].rstrip()}\n\n{block}\n" + (f"\n{old[at:]}" if following else "")
    with open(RESULTS, "w", encoding="utf-8") as file:
        file.write(new)


def bars_of(title, categories, bars):
    top = max((value for values in bars.values() for value in values), default=0) or 1
    group = (len(bars) * BAR) + 12
    height = 24 + group * len(categories)
    out = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(title)}">']
    for i, (name, color) in enumerate(zip(bars, COLORS)):
        out.append(f'<rect x="{LABEL + i * 160}" y="2" width="10" height="10" fill="{color}"/>'
                   f'<text x="{LABEL + i * 160 + 16}" y="12">{html.escape(name)}</text>')
    for row, category in enumerate(categories):
        y = 24 + row * group
        out.append(f'<text x="0" y="{y + group / 2}">{html.escape(category)}</text>')
        for i, (values, color) in enumerate(zip(bars.values(), COLORS)):
            width = values[row] / top * (WIDTH - LABEL - 90)
            out.append(f'<rect x="{LABEL}" y="{y + i * BAR}" width="{width:.1f}" height="{BAR - 2}" fill="{color}"/>'
                       f'<text x="{LABEL + width + 6:.1f}" y="{y + i * BAR + 11}">{values[row]:,.0f}</text>')
    return "".join(out) + "</svg>"


def as_html(told, runs):
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
             f"<title>Arion: figures</title><style>{STYLE}</style><h1>Arion: figures</h1>",
             *(f"<p>{html.escape(fact)}</p>" for fact in told)]
    for run in runs:
        parts.append(f"<h2>{html.escape(run.section)}</h2>")
        for what, title, content in run.shown:
            parts.append(f"<h3>{html.escape(title)}</h3>")
            if what == "plot":
                parts.append(bars_of(title, *content))
                continue
            header, *rows = ("".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
                             for tag, row in [("th", content[0]), *(("td", row) for row in content[1:])])
            parts.append(f"<table><tr>{header}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")
    return "\n".join(parts)
