"""The report: a trace (FUSEWIRE_TRACE) as one page of HTML. Loaded only when a report is asked for.

read.py        lines of trace files, whatever their state, as events of processes
collect.py     events, gathered by function
model.py       what the page is told: functions, source lines, timeline
advice.py      things to do, by what they cost; examples.py has a change for each
render.py      the page: Jinja2, Pygments, and the scripts in page/
compare.py     two reports, for people and for CI
bundle.py      a zip for a bug report
perfetto.py    the timeline for Perfetto and Chrome
"""
