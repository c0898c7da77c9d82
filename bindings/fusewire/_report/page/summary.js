// The first view: the verdict, where the time went, what to do about it.

views.summary = {title: "Summary", draw(parts, query, main) {
  const s = model.summary;
  append(main, [
    el("div.verdict", {},
      el("h1", {}, s.verdict),
      el("p.lead", {}, s.detail)),
    model.warnings.length ? el("details.warnings", {open: model.warnings.length < 4}, el("summary", {}, counted(model.warnings.length, "remark"), " on reading the trace"),
      el("ul", {}, model.warnings.map((text) => el("li", {}, text)))) : null,
    whereTimeGoes(s),
    thingsToDo(query),
    functionTable(),
    origin(),
  ]);
}};

function whereTimeGoes(s) {
  const numpy = sumLines((line) => line.state === "numpy"), python = Math.max(s.python_ns - numpy, 0);
  const parts = [
    {state: "compiled", name: "native code", value: s.native_ns, text: timeText(s.native_ns)},
    {state: "numpy", name: "NumPy's own functions", value: numpy, text: timeText(numpy)},
    {state: "python", name: "Python", value: python, text: timeText(python)},
    {state: "compiling", name: "compiling", value: s.compile_ms * 1e6, text: timeText(s.compile_ms * 1e6)},
  ];
  const measured = s.native_ns + s.python_ns > 0;
  const tile = (value, label, more, title) => el("div.tile", {title}, el("b", {}, value), el("span", {}, label), el("small", {}, more || "\u00a0"));
  return el("section.tiles-section", {},
    el("div.tiles", {},
      tile(s.saved_ns === null ? "–" : timeText(Math.max(s.saved_ns, 0)), "saved", s.saved_ns === null ? "no trial has ended yet" : "against plain Python, in trials"),
      tile(timeText(s.compile_ms * 1e6), "compiling", counted(s.variants, "variant")),
      tile(countText(s.calls), s.calls === 1 ? "call" : "calls", `${countText(s.native)} native, ${countText(s.partly)} partly`),
      tile(countText(s.recompiles), s.recompiles === 1 ? "recompile" : "recompiles", counted(s.breaks, "distinct break"))),
    measured ? bar(parts, "where the time of calls went") : null,
    measured ? el("p.legend", {}, parts.filter((p) => p.value > 0).map((p) => el("span", {}, el(`i.swatch.is-${p.state}`, {}), `${p.name} ${p.text}`))) : null);
}

function sumLines(wanted) {
  let sum = 0;
  for (const f of model.functions) for (const line of Object.values(f.lines)) if (wanted(line)) sum += line.python_ns;
  return sum;
}

function thingsToDo(query) {
  const worth = model.todo.filter((item) => !item.ignore), rest = model.todo.filter((item) => item.ignore);
  const all = query.has("all"), shown = all ? worth : worth.slice(0, 10);
  const most = Math.max(...worth.map((item) => item.cost_ns || 0), 1);
  return section("Things to do",
    worth.length ? null : el("p.quiet", {}, "Nothing that is worth a change was found."),
    el("ol.todo", {}, shown.map((item, i) => todoCard(item, i, most))),
    shown.length < worth.length ? el("p", {}, el("a", {href: "#/summary?all=1"}, `all ${worth.length}`)) : null,
    rest.length ? el("details.rest", {}, el("summary", {}, `${counted(rest.length, "thing")} to leave as they are`),
      el("ul", {}, rest.slice(0, 200).map((item) => el("li", {}, lineLink(item.file, item.line), " ", item.title, " ",
        el("span.quiet", {}, item.cost_ns === null ? "" : timeText(item.cost_ns)))))) : null);
}

function todoCard(item, i, most) {
  const f = model.functions[item.function];
  return el("li.card", {id: `todo-${item.id}`, tabindex: "0", "data-step": true},
    el("div.rank", {"aria-hidden": "true"}, i + 1),
    el("div.body", {},
      el("h3", {}, rich(item.title)),
      item.source ? el("a.snippet", {href: item.file >= 0 ? `#/source/${item.file}/${item.line}` : `#/function/${f.id}`},
        el("span.place", {}, item.file >= 0 ? `${model.files[item.file].short}:${item.line}` : f.name), el("code", {}, item.source)) :
        el("p.place", {}, "in ", functionLink(f.id)),
      el("p", {}, el("b", {}, "Why "), item.why, "."),
      item.hint ? el("p", {}, el("b", {}, "Do "), item.hint, ".") : null,
      item.example ? el("details.example", {open: i === 0}, el("summary", {}, "An example"),
        el("div.pair", {}, el("figure", {}, el("figcaption", {}, "before"), el("pre", {}, item.example.before)),
          el("figure", {}, el("figcaption", {}, "after"), el("pre", {}, item.example.after)))) : null),
    el("div.cost", {},
      el("b", {}, timeText(item.cost_ns)),
      el("span", {}, item.basis),
      item.per_call_ns !== null && f.calls > 1 ? el("span", {}, `${timeText(item.per_call_ns)} per call`) : null,
      item.count > 1 ? el("span", {}, `${countText(item.count)} times`) : null,
      el("div.meter", {"aria-hidden": "true"}, el("i", {style: {width: `${100 * (item.cost_ns || 0) / most}%`}})),
      el("small", {}, item.note)));
}

// `code` in a text
const rich = (text) => text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));

function functionTable() {
  const rows = [...model.functions].sort((a, b) => b.ns - a.ns || b.calls - a.calls);
  if (!rows.length) return null;
  return section("Functions", table(["function", "is", ">calls", ">time", "of which", ">saved", ">compiling", ">recompiles"], rows.slice(0, 200).map((f) => [
    functionLink(f.id), badge(f.state), countText(f.calls), f.ns ? timeText(f.ns) : "–",
    f.native_ns + f.python_ns ? bar([{state: "compiled", name: "native", value: f.native_ns, text: timeText(f.native_ns)},
      {state: "python", name: "Python and NumPy", value: f.python_ns, text: timeText(f.python_ns)}], `${timeText(f.native_ns)} native, ${timeText(f.python_ns)} not`) : "",
    f.saved_ns === null ? "–" : timeText(f.saved_ns), timeText(Math.max(f.overhead.ms, f.compile_ms) * 1e6), countText(f.recompile_count)])),
    el("p.quiet", {}, "Times are those of all calls, with what the function calls in turn; compiling is told apart. ",
      model.functions.length > 200 ? `The ${model.functions.length - 200} others are found by the search.` : ""));
}

function origin() {
  const p = model.processes;
  if (!p.length) return null;
  const versions = Object.entries(p[0].versions).map(([name, version]) => `${name} ${version}`).join(", ");
  return el("footer", {}, el("p", {}, `${counted(model.events, "event")} of ${counted(p.length, "process").replace("processs", "processes")}: `,
    p.slice(0, 8).map((one) => `${one.pid}${one.arguments.length ? ` (${one.arguments.join(" ").slice(0, 80)})` : ""}${one.ended ? "" : ", which has not come to its end"}`).join("; "),
    p.length > 8 ? "; …" : ""), el("p", {}, versions, p[0].machine ? `; ${p[0].machine}` : "", `; page made ${model.made}`));
}
