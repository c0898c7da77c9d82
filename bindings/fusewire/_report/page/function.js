// One function: why it is not faster, its variants as a tree of guards, recompiles, regions, sizes, side effects.

views.function = {title: "Functions", draw(parts, query, main) {
  const f = model.functions[parts[0] === undefined || parts[0] === "" ? -1 : +parts[0]];
  if (!f) {
    append(main, [el("h1", {}, "Functions"), functionTable() || el("p.quiet", {}, "The trace tells of no function.")]);
    return;
  }
  const items = model.todo.filter((item) => item.function === f.id && !item.ignore);
  append(main, [
    el("div.head", {}, el("h1", {}, el("code", {}, f.name)), badge(f.state), f.file >= 0 ? lineLink(f.file, f.line) : null,
      f.variants.length ? el("a.button", {href: `#/graph/${f.id}/0`}, "graph and kernels") : null),
    f.calls ? el("p.lead", {}, callsText(f)) : el("p.lead", {}, "Compiled for functions that call it; it was not called by itself."),
    f.failures.length ? section("Failures", f.failures.map((one) => el("pre.scroll", {}, one.text))) : null,
    section("Why is it not faster?", items.length ? el("ol.todo", {}, items.slice(0, 5).map((item, i) => todoCard(item, i, Math.max(items[0].cost_ns || 0, 1)))) :
      el("p.quiet", {}, f.breaks.length ? "What is left to Python or NumPy takes too little time to be worth a change." : "Nothing was found that holds it up.")),
    regionMap(f), guardTree(f), recompiles(f), breaksOf(f), sizes(f), effects(f)]);
}};

function callsText(f) {
  const kinds = [[f.native, "native as a whole"], [f.partly, "with compiled parts"], [f.python, "as Python"]].filter(([n]) => n).map(([n, what]) => `${countText(n)} ${what}`);
  const speed = f.ratio ? `, ${f.ratio < 1.05 ? "about as fast as" : `${f.ratio.toFixed(f.ratio < 20 ? 1 : 0)} times as fast as`} plain Python` : "";
  return `${counted(f.calls, "call")}: ${kinds.join(", ") || "as told by the trace"}. ${f.ns ? timeText(f.ns) + " altogether" : ""}${speed}. ` +
    `${timeText(Math.max(f.overhead.ms, f.compile_ms) * 1e6)} for compiling ${counted(f.variant_count, "variant")}.`;
}

// The source of the function with its regions beside it.
function regionMap(f) {
  const file = model.files[f.file];
  const numbers = Object.keys(f.lines).map(Number).sort((a, b) => a - b);
  if (!file || !file.lines.length || !numbers.length) return null;
  const from = Math.max(Math.min(f.line || numbers[0], numbers[0]), 1), to = Math.min(numbers[numbers.length - 1], from + 200, file.lines.length);
  const lines = linesOfFile(f.file);
  const most = Math.max(...numbers.map((n) => f.lines[n].native_ns + f.lines[n].python_ns), 1);
  const rows = el("div.code.small", {});
  for (let n = from; n <= to; ++n) {
    const row = sourceRow(file.lines[n - 1], n, f.lines[n] && {...lines.get(n), ...f.lines[n]}, most, f.file, false);
    row.addEventListener("click", () => go(`#/source/${f.file}/${n}`));
    const begins = f.regions.filter((r) => r.line === n && r.hits);
    if (begins.length) row.append(el("span.region", {}, begins.map((r) => `region from here to ${r.ends.map((e) => (e === "return" ? "the end" : `line ${e}`)).join(" or ")}: ${counted(r.hits, "run")}${r.misses ? `, ${countText(r.misses)} left to Python` : ""}`).join("; ")));
    rows.append(row);
  }
  return section("Where it runs", rows);
}

// Variants of one place, by the guards that tell them apart: those that all share first, then a branch for each difference.
function guardTree(f) {
  if (!f.variants.length) return null;
  const places = new Map();
  f.variants.forEach((variant, number) => {
    if (!places.has(variant.region)) places.set(variant.region, []);
    places.get(variant.region).push({variant, number});
  });
  return section("Variants, as calls choose among them", [...places].map(([region, list]) => el("div.tree", {},
    el("h3", {}, region ? `Region from line ${region}` : "Whole function"),
    branch(f, list, new Set()))),
    f.variant_count > f.variants.length ? el("p.quiet", {}, `${f.variant_count - f.variants.length} more variants are not shown.`) : null);
}

function branch(f, list, passed) {
  const texts = (one) => one.variant.guards.map((guard) => guard.text).filter((text) => !passed.has(text));
  const shared = texts(list[0]).filter((text) => list.every((one) => one.variant.guards.some((guard) => guard.text === text)));
  const now = new Set([...passed, ...shared]);
  const checks = shared.length ? el("details.checks", {open: shared.length <= 6}, el("summary", {}, list.length > 1 ? `all of them check ${counted(shared.length, "guard")}` : counted(shared.length, "guard")),
    guardRows(list[0].variant.guards.filter((guard) => shared.includes(guard.text)), f, list[0].variant)) : null;
  if (list.length === 1) return el("div.leaf", {}, checks, leaf(f, list[0]));
  // Asked next is what all of them ask, with the fewest answers; else the first guard of each that others do not have.
  const subject = (text) => text.split(/[:=<>]/)[0].trim();
  const left = list.map((one) => texts(one).filter((text) => !now.has(text)));
  const asked = [...new Set(left[0].map(subject))].map((name) => ({name, answers: left.map((own) => own.find((text) => subject(text) === name))}))
    .filter(({answers}) => answers.every(Boolean) && new Set(answers).size > 1).sort((a, b) => new Set(a.answers).size - new Set(b.answers).size);
  const groups = new Map();
  const first = asked.length ? asked[0].answers : left.map((own) => own[0] || "");
  list.forEach((one, i) => {
    const key = first[i];
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  });
  if (groups.size === 1) return el("div.leaf", {}, checks, list.map((one) => leaf(f, one)));
  return el("div.fork", {}, checks, el("ul", {}, [...groups].slice(0, 40).map(([key, part]) =>
    el("li", {}, key ? el("code.test", {title: subject(key)}, key) : el("span.test", {}, "otherwise"), branch(f, part, new Set([...now, key]))))));
}

// All checks of a variant are timed as one; each has its share by what it weighs.
function guardRows(guards, f, variant) {
  const whole = variant.guards.reduce((sum, guard) => sum + guard.cost, 0);
  const cost = (guard) => (variant.guard_ns > 0 && whole ? ` about ${three(variant.guard_ns * guard.cost / whole)}\u202fns` : ` weight ${guard.cost}`);
  return el("ul.guards", {}, guards.map((guard) => el("li", {}, el("code", {}, guard.text), guard.line > 0 ? [" asked for by ", lineLink(f.file, guard.line, `line ${guard.line}`)] : null,
    el("small", {}, cost(guard)))));
}

// What kernels and library calls take together; null where some run more often than others.
function straightNs(variant) {
  if (!variant.parts.length || /^\s*(loop|cond|bind) /m.test(textOf(variant.plan))) return null;
  return variant.parts.reduce((sum, part) => sum + part.ns, 0);
}

function leaf(f, {variant, number}) {
  const trial = variant.trials[0];
  return el("div.variant", {},
    el("a", {href: `#/graph/${f.id}/${number}`}, variantName(f, number)),
    el("span", {}, counted(variant.hits, "hit")),
    variant.declines ? el("span", {}, `${countText(variant.declines)} left to Python: it warns or raises there, or they need what compiled code has no room for`) : null,
    variant.guard_ns >= 0 ? el("span", {}, `guards ${variant.guard_ns.toFixed(0)}\u202fns`) : null,
    straightNs(variant) ? el("a", {href: "#/kernels"}, `kernels and library calls take ${timeText(straightNs(variant))} of a run`) : null,
    el("span", {}, `compiled in ${timeText((variant.ms.total || 0) * 1e6)}`),
    trial ? el("span", {}, trial.kept ? `${timeText(trial.compiled_ns)} against ${timeText(trial.python_ns)} in Python` : `left to Python, which is faster: ${timeText(trial.python_ns)} against ${timeText(trial.compiled_ns)}`) : null);
}

function recompiles(f) {
  if (!f.recompile_count) return null;
  return section("Recompiles", el("p.quiet", {}, `${counted(f.recompile_count, "time")} a call fitted no variant, and one more was compiled. The guard that failed tells what was and what came.`),
    table(["", "guard", "of", "what changed", "asked for by", ">took", ">at"], f.recompiles.slice(0, 100).map((one, i) => [
      String(i + 1), one.guard || "–", one.source ? el("code", {}, one.source) : "–", one.reason, one.line > 0 ? lineLink(f.file, one.line, `line ${one.line}`) : "–",
      one.ms === null ? "–" : timeText(one.ms * 1e6), timeText(one.at)])),
    f.recompile_count > 100 ? el("p.quiet", {}, `and ${f.recompile_count - 100} more`) : null,
    histories(f),
    [...new Set(f.recompiles.map((one) => one.advice).filter(Boolean))].slice(0, 4).map((text) => el("p", {}, el("b", {}, "Do "), text, ".")));
}

// What each value that led to recompiles has been, in order: "3 → 4 → 5".
function histories(f) {
  const known = new Map();
  for (const one of f.recompiles) {
    const found = /^(.*?) is (.+), compiled for (.+)$/.exec(one.reason);
    if (!found) continue;
    const key = one.source || found[1];
    if (!known.has(key)) known.set(key, [{value: found[3].replace(/^.* == /, ""), at: null}]);
    known.get(key).push({value: found[2], at: one.at, ms: one.ms});
  }
  if (!known.size) return null;
  return [el("h3", {}, "What changed, call by call"), [...known].slice(0, 20).map(([name, values]) => el("p.history", {}, el("code", {}, name), " ",
    values.slice(0, 24).map(({value, at, ms}, i) => [i ? " → " : "", el("span.chip", {title: at === null ? "compiled for this first" : `after ${timeText(at)}${ms ? `, compiled in ${timeText(ms * 1e6)}` : ""}`}, value)]),
    values.length > 24 ? ` … ${values.length - 24} more` : ""))];
}

function breaksOf(f) {
  if (!f.breaks.length) return null;
  return section("Breaks", table(["line", "reason", "detail", "runs in", "what to do"], f.breaks.map((b) => [
    b.line > 0 ? lineLink(b.file_id, b.line) : "–", b.message, el("code", {}, b.detail), b.runs_in === "numpy" ? "NumPy" : "Python", `${b.advice}: ${b.hint}`])));
}

function sizes(f) {
  const known = new Map();
  for (const variant of f.variants)
    for (const size of variant.sizes) {
      const key = `${size.argument}.shape[${size.axis}]`;
      if (!known.has(key)) known.set(key, new Set());
      known.get(key).add(size.policy === "static" ? `constant ${size.value}` : "any size");
    }
  if (!known.size) return null;
  return section("Sizes", table(["size", "compiled for"], [...known].map(([key, values]) => [el("code", {}, key), [...values].slice(0, 30).join(", ")])));
}

function effects(f) {
  const known = [...new Set(f.variants.map((variant) => textOf(variant.effects)).filter(Boolean))];
  return known.length ? section("Side effects that compiled code replays", known.slice(0, 10).map((text) => el("pre.scroll", {}, text))) : null;
}
