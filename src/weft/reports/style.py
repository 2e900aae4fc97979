"""The look of a report page: light, dark and print; colours that colour-blind readers can tell apart."""

from __future__ import annotations

LIGHT = (
    "--ink:#1c2126;--muted:#5d6670;--line:#e1e5e9;--paper:#ffffff;--panel:#f5f7f9;--heat:#004c7a;--on-heat:#ffffff;"
    "--good:#00664a;--bad:#a83f00;--c0:#0072B2;--c1:#D55E00;--c2:#009E73;--c3:#E69F00;--c4:#CC79A7;--c5:#56B4E9;--c6:#000000"
)
DARK = (
    "--ink:#e7eaed;--muted:#9aa5b0;--line:#2e353d;--paper:#14181c;--panel:#1c2228;--heat:#56B4E9;--on-heat:#0b0e11;"
    "--good:#4cc9a4;--bad:#f39255;--c0:#56B4E9;--c1:#E69F00;--c2:#22b48c;--c3:#F0E442;--c4:#CC79A7;--c5:#e0702a;--c6:#ffffff"
)
STYLE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
* {{ box-sizing: border-box }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system,
  "Segoe UI", Roboto, "Noto Sans", sans-serif; -webkit-text-size-adjust: 100%; -webkit-print-color-adjust: exact;
  print-color-adjust: exact }}
main {{ max-width: 1100px; margin: 0 auto; padding: 40px 24px 64px }}
header {{ padding-bottom: 26px; border-bottom: 2px solid var(--ink) }}
.eyebrow {{ margin: 0; color: var(--muted); font-size: 13px; letter-spacing: .06em; text-transform: uppercase }}
h1 {{ margin: 4px 0 14px; font-size: 34px; line-height: 1.2; letter-spacing: -.015em; font-weight: 700;
  overflow-wrap: anywhere }}
h2 {{ margin: 52px 0 4px; font-size: 23px; line-height: 1.3; letter-spacing: -.01em; overflow-wrap: anywhere }}
h3, figcaption {{ margin: 0 0 10px; font-size: 15px; font-weight: 600; overflow-wrap: anywhere }}
p {{ margin: 0 0 14px }}
.lead {{ max-width: 46em; margin: 0; font-size: 20px; line-height: 1.45; overflow-wrap: anywhere }}
.cautions {{ max-width: 60em; margin: 14px 0 0; padding-left: 18px; color: var(--muted); overflow-wrap: anywhere }}
.note {{ max-width: 66em; color: var(--muted); font-size: 14px }}
.under {{ margin-top: 12px }}
a {{ color: inherit; text-decoration-color: var(--muted); text-underline-offset: 3px }}
code, pre {{ font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }}
.columns {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); gap: 34px 44px;
  margin-top: 24px; align-items: start }}
.columns > * {{ min-width: 0 }}
.columns > figure {{ max-width: 560px }}
.fit {{ display: flex; flex-wrap: wrap; gap: 34px 44px; margin-top: 24px; align-items: flex-start }}
.fit > * {{ min-width: 0; max-width: 100% }}
.fit > .grow {{ flex: 1 1 400px }}
.fit > .grow:only-child {{ max-width: 640px }}
figure {{ margin: 0; break-inside: avoid }}
figure .note {{ margin: 8px 0 0 }}
figure svg {{ display: block; height: auto }}
.dial {{ width: 310px }}
.any {{ max-width: 640px }}
.any .note {{ max-width: 44em; margin: 8px 0 0 }}
.across {{ overflow-x: auto }}
.any td {{ overflow-wrap: break-word }}
.any.whole {{ max-width: none }}
table {{ width: 100%; border-collapse: collapse; font-size: 15px; font-variant-numeric: tabular-nums }}
th {{ color: var(--muted); font-size: 13px; font-weight: 500; text-align: left; vertical-align: bottom }}
th, td {{ padding: 7px 0 7px 18px; border-bottom: 1px solid var(--line) }}
th:first-child, td:first-child {{ padding-left: 0 }}
td {{ overflow-wrap: anywhere }}
td code {{ overflow-wrap: normal }}
td small {{ color: var(--muted); font-size: 13px }}
.number {{ text-align: right; white-space: nowrap; overflow-wrap: normal }}
td.strong {{ font-weight: 600 }}
.quiet {{ color: var(--muted); font-weight: 400 }}
.better {{ color: var(--good) }}
.worse {{ color: var(--bad) }}
.bar {{ background: linear-gradient(to right, var(--c0) calc(var(--share) * 100%), var(--line) 0) no-repeat right
  bottom 3px / 64px 3px }}
dl {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); gap: 20px 24px; margin: 0;
  padding: 22px 24px; background: var(--panel); border-radius: 10px; break-inside: avoid }}
dt {{ color: var(--muted); font-size: 13px }}
dd {{ margin: 0; font-size: 18px; line-height: 1.3; font-weight: 600; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere }}
dd small {{ display: block; color: var(--muted); font-size: 13px; font-weight: 400 }}
details {{ margin-top: 18px }}
summary {{ cursor: pointer; font-weight: 600; font-size: 15px }}
pre {{ margin: 12px 0 0; padding: 16px 18px; background: var(--panel); border-radius: 10px; overflow-x: auto }}
@media (min-width: 861px) {{ .stack code {{ white-space: nowrap }} }}
@media (max-width: 860px) {{
  .stack thead {{ position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }}
  .stack, .stack tbody {{ display: block }}
  .stack tr {{ display: block; padding: 10px 0; border-bottom: 1px solid var(--line) }}
  .stack td {{ display: flex; justify-content: space-between; gap: 16px; padding: 2px 0; border: 0 }}
  .stack td::before {{ content: attr(data-name); color: var(--muted); font-weight: 400 }}
  .stack td:first-child {{ font-size: 17px }}
  .stack td:first-child::before {{ content: none }}
}}
@media (max-width: 640px) {{
  main {{ padding: 26px 18px 48px }}
  h1 {{ font-size: 27px }}
  .lead {{ font-size: 18px }}
  .narrow th, .narrow td, .narrow code {{ font-size: 13px }}
  .narrow code {{ letter-spacing: -.03em }}
  .narrow * + th, .narrow * + td {{ padding-left: 8px }}
}}
@media print {{
  main {{ max-width: none; padding: 0 }}
  body {{ font-size: 11pt }}
  h2, h3, figcaption {{ break-after: avoid }}
  .columns {{ display: block }}
  .columns > * {{ margin-bottom: 22px }}
  .columns svg {{ max-width: 470px }}
  tr {{ break-inside: avoid }}
  pre {{ white-space: pre-wrap }}
  details::details-content {{ content-visibility: visible; block-size: auto }}
}}
"""
