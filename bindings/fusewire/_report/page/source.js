// The user's files. A line opens what has become of it: why, nodes, kernel.

views.source = {title: "Source", draw(parts, query, main) {
  if (!model.files.length) return void append(main, [el("h1", {}, "Source"), el("p.quiet", {}, "The trace names no source file.")]);
  const cost = (id) => model.functions.filter((f) => f.file === id).reduce((sum, f) => sum + f.native_ns + f.python_ns, 0);
  const order = model.files.map((_, id) => id).sort((a, b) => cost(b) - cost(a));
  const file = model.files[+parts[0]] && parts[0] !== "" ? +parts[0] : order[0];
  const chosen = +parts[1] || 0;
  const lines = linesOfFile(file);
  const panel = el("aside.panel", {"aria-label": "the line", "aria-live": "polite"});
  const rows = el("div.code", {role: "list"});
  const most = Math.max(...[...lines.values()].map((line) => line.native_ns + line.python_ns), 1);
  const tokens = model.files[file].lines;
  tokens.forEach((parts, i) => rows.append(sourceRow(parts, i + 1, lines.get(i + 1), most, file, i + 1 === chosen)));
  append(main, [
    el("div.head", {}, el("h1", {}, model.files[file].short),
      model.files.length > 1 ? el("select", {"aria-label": "file", onchange: (event) => go(`#/source/${event.target.value}`)},
        order.map((id) => el("option", {value: id, selected: id === file}, model.files[id].short))) : null,
      el("p.legend", {}, ["compiled", "mixed", "numpy", "python"].map((state) => badge(state)), el("span", {}, "bars: time in all calls"))),
    tokens.length ? el("div.split", {}, rows, panel) : el("p.quiet", {}, "The text of this file is neither in the trace nor on this machine."),
  ]);
  let at = rows.querySelector(".chosen");
  const choose = (number, push) => {
    if (at) { at.classList.remove("chosen"); at.removeAttribute("aria-current"); }
    at = rows.children[number - 1];
    if (!at) return;
    at.classList.add("chosen");
    at.setAttribute("aria-current", "true");
    if (push) remember(`#/source/${file}/${number}`, true);
    show(panel, linePanel(file, number, lines.get(number)));
    panel.scrollTop = 0;
  };
  rows.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row && !String(getSelection())) choose(+row.dataset.line, true);
  });
  views.source.step = (by) => {
    const known = [...lines.keys()].sort((a, b) => a - b);
    const from = at ? +at.dataset.line : 0;
    const next = by > 0 ? known.find((n) => n > from) : known.reverse().find((n) => n < from);
    if (next) { choose(next, true); at.scrollIntoView({block: "nearest"}); }
  };
  if (chosen) choose(chosen, false);
  else show(panel, fileHint(file, lines));
}};

function linesOfFile(file) {
  const all = new Map();
  for (const f of model.functions) {
    if (f.file !== file) continue;
    for (const [number, line] of Object.entries(f.lines)) {
      const known = all.get(+number);
      if (!known) all.set(+number, {...line, functions: [f.id]});
      else {
        known.native_ns += line.native_ns;
        known.python_ns += line.python_ns;
        if (known.state !== line.state) known.state = "mixed";
        if (!known.functions.includes(f.id)) known.functions.push(f.id);
      }
    }
  }
  for (const f of model.functions)
    for (const stop of f.breaks)
      if (stop.file_id === file && stop.line > 0 && !all.has(stop.line))
        all.set(stop.line, {state: stop.runs_in === "numpy" ? "numpy" : "python", native_ns: 0, python_ns: 0, runs: 0, because: stop.message, how: stop.hint, functions: [f.id]});
  return all;
}

function sourceRow(tokens, number, line, most, file, chosen) {
  const [sign, word] = line ? STATES[line.state] : [" ", ""];
  const time = line ? line.native_ns + line.python_ns : 0;
  return el("div.row" + (line ? `.is-${line.state}` : "") + (chosen ? ".chosen" : ""), {role: "listitem", "data-line": number, "data-target": chosen},
    el("span.number", {}, number),
    el("span.sign", {title: word, "aria-label": word}, sign),
    el("span.heat", {"aria-hidden": "true"}, time ? el("i", {style: {width: `${Math.max(100 * time / most, 2)}%`}}) : null),
    el("span.took", {}, time >= 1000 ? timeText(time) : ""),
    el("span.text", {}, tokens.length ? code(tokens) : " "));
}

function fileHint(file, lines) {
  const worst = [...lines.entries()].filter(([, line]) => line.state !== "compiled").sort((a, b) => b[1].python_ns - a[1].python_ns).slice(0, 5);
  return [el("h2", {}, "Choose a line"), el("p.quiet", {}, "It opens what has become of it: where it runs and why, the nodes of the graph, and the kernel."),
    worst.length ? [el("h3", {}, "Most time outside of native code"), el("ul.plain", {}, worst.map(([n, line]) =>
      el("li", {}, el("a", {href: `#/source/${file}/${n}`}, `line ${n}`), " ", badge(line.state), " ", timeText(line.python_ns))))] : null];
}

function linePanel(file, number, line) {
  const result = [el("h2", {}, `Line ${number}`)];
  const items = model.todo.filter((item) => item.file === file && (item.line === number || item.own_line === number) && !item.ignore);
  const notes = items.map((item) => el("div.note", {}, el("a", {href: "#/summary", onclick: () => later(`todo-${item.id}`)}, rich(item.title)), ` – ${timeText(item.cost_ns)} ${item.basis}`,
    line && line.because && item.kind === "break" ? null : [el("p", {}, el("b", {}, "Why "), item.why, "."), item.hint ? el("p", {}, el("b", {}, "Do "), item.hint, ".") : null]));
  if (!line)
    return [...result, notes.length ? notes : el("p.quiet", {}, "No decorated function has come by this line while the trace was written."),
      notes.length ? el("p", {}, "in ", [...new Set(items.map((item) => item.function))].map((id, i) => [i ? ", " : "", functionLink(id)])) : null];
  result.push(el("p", {}, badge(line.state), line.runs ? ` ran about ${countText(line.runs)} times` : ""));
  if (line.native_ns || line.python_ns)
    result.push(el("dl", {}, line.native_ns ? [el("dt", {}, "native"), el("dd", {}, timeText(line.native_ns), line.shared ? el("small", {}, " its share of the region, by operations") : "")] : null,
      line.python_ns ? [el("dt", {}, "Python"), el("dd", {}, timeText(line.python_ns))] : null));
  if (line.because) result.push(el("h3", {}, "Why"), el("p", {}, line.because), line.how && line.advice !== "ignore" ? el("p", {}, el("b", {}, "Do "), line.how) : null);
  result.push(notes);
  result.push(el("p", {}, "in ", line.functions.map((id, i) => [i ? ", " : "", functionLink(id)])));
  for (const origin of originsOf(file, number).slice(0, 12)) {
    const path = `#/graph/${origin.function.id}/${origin.number}`;
    result.push(el("h3", {}, el("a", {href: path}, `${variantName(origin.function, origin.number)}`)),
      el("p.quiet", {}, counted(origin.nodes.length, "node"), " of its graph"),
      el("ul.nodes", {}, origin.nodes.slice(0, 40).map((node) => el("li", {}, el("a", {href: `${path}?node=${node.id}`}, node.text.replace(/ line=\d+$/, ""))))),
      origin.groups.map(({group, kernel}) => el("details.kernel", {open: true}, el("summary", {}, kernel ? "kernel " : "group ", el("code", {}, kernel ? /^kernel (\S+)/.exec(kernel)[1] : group.head)),
        kernel ? el("pre.scroll", {}, kernel) : null)));
  }
  return result;
}

// Scrolls to an element of the view that is drawn next.
function later(id) {
  setTimeout(() => { const node = document.getElementById(id); if (node) { node.scrollIntoView({block: "center"}); node.focus(); } }, 50);
}
