// Two traces side by side: what is slower, what breaks now, what is compiled again and again.

views.compare = {title: "Compare", draw(parts, query, main) {
  const c = model.comparison;
  if (!c) return void append(main, [el("h1", {}, "Compare"), el("p.quiet", {}, "python -m fusewire report --baseline OLD NEW makes a page that compares two traces.")]);
  const worse = c.changes.filter((change) => change.worse), better = c.changes.filter((change) => !change.worse);
  const list = (changes) => el("ul.changes", {}, changes.map((change) => el(`li.${change.worse ? "worse" : "better"}`, {},
    el("i", {"aria-hidden": "true"}, change.worse ? "▲" : /gone|new function|fusion/.test(change.kind) && change.kind !== "break gone" ? "•" : "▼"), el("b", {}, change.kind), " ", change.function ? el("code", {}, change.function) : null, " ", change.text)));
  append(main, [
    el("div.verdict", {}, el("h1", {}, c.verdict), el("p.lead", {}, `Before: ${c.old}. Now: ${c.new}.`)),
    worse.length ? section("Worse", list(worse)) : null,
    better.length ? section("Better, or other", list(better)) : null,
    !c.functions.length ? el("p.quiet", {}, "No function is in both traces.") : section("Functions", table(["function", ">per call before", ">now", ">ratio", ">recompiles", ">breaks", ">kernels"], c.functions.map((row) => {
      const now = model.functions.findIndex((f) => f.key === row.key);
      return [now >= 0 ? functionLink(now) : el("code", {}, row.key), timeText(row.old_ns), timeText(row.new_ns),
        row.ratio === null ? "–" : el(row.ratio > 1.1 ? "b.worse" : row.ratio < 0.9 ? "b.better" : "span", {}, `${row.ratio > 1.1 ? "▲ " : row.ratio < 0.9 ? "▼ " : ""}${row.ratio.toFixed(2)}`),
        `${row.old_recompiles} → ${row.new_recompiles}`, `${row.old_breaks} → ${row.new_breaks}`, `${row.old_kernels} → ${row.new_kernels}`];
    })))]);
}};
