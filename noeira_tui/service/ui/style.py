"""The one style sheet of the pages; states are told by word and symbol too, never by colour alone."""

CSS = """\
:root { color-scheme: light dark; --line: #8884; --quiet: #8889; --good: #1a7f37; --attention: #9a6700;
  --accent: #0969da; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --attention: #d29922; --accent: #58a6ff; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
header { display: flex; gap: 1rem; align-items: baseline; border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
header a { font-weight: 600; text-decoration: none; }
header form { margin-left: auto; }
a { color: var(--accent); }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
.wide { overflow-x: auto; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; }
th { font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.state { white-space: nowrap; }
.ready { color: var(--good); }
.pending { color: var(--attention); }
.quiet { color: var(--quiet); }
pre { border: 1px solid var(--line); border-radius: .4rem; padding: .8rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
label { display: block; font-weight: 600; margin-bottom: .3rem; }
input[type=password] { font: inherit; padding: .4rem; width: min(40rem, 100%); }
button { font: inherit; padding: .3rem .9rem; cursor: pointer; }
.problem { border-left: .3rem solid var(--attention); padding-left: .8rem; }
"""
