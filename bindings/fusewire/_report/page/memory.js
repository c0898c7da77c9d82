// Buffers over the steps of a plan: when memory is in use, and how much.

const ITEM_BYTES = {bool: 1, i8: 1, u8: 1, i16: 2, u16: 2, f16: 2, i32: 4, u32: 4, f32: 4, i64: 8, u64: 8, f64: 8, c64: 8, c128: 16};

// Value of a size like "(s0 + -2)//2*s1" under the symbols of a run; null if one is unknown.
function sizeValue(text, symbols) {
  const tokens = text.match(/\d+|[A-Za-z_]\w*|\/\/|[-+*%(),]/g) || [];
  let at = 0;
  const take = (token) => (tokens[at] === token ? (++at, true) : false);
  function atom() {
    const token = tokens[at++];
    if (token === "-") return -atom();
    if (token === "(") { const value = sum(); take(")"); return value; }
    if (/^\d/.test(token)) return +token;
    if (take("(")) {
      const values = [sum()];
      while (take(",")) values.push(sum());
      take(")");
      return token === "min" ? Math.min(...values) : token === "max" ? Math.max(...values) : NaN;
    }
    return Object.hasOwn(symbols, token) ? symbols[token] : NaN;
  }
  function product() {
    let value = atom();
    for (;;) {
      if (take("*")) value *= atom();
      else if (take("//")) value = Math.floor(value / atom());
      else if (take("%")) { const by = atom(); value = ((value % by) + by) % by; }
      else return value;
    }
  }
  function sum() {
    let value = product();
    for (;;) {
      if (take("+")) value += product();
      else if (take("-")) value -= product();
      else return value;
    }
  }
  const value = tokens.length ? sum() : NaN;
  return Number.isFinite(value) && at >= tokens.length ? value : null;
}

// {steps: [title], buffers: [{number, kind, type, bytes, from, to, holds}]}; bytes: null where a size is unknown
function memoryOf(planText, graph, symbols) {
  const steps = [], touched = new Map(), inputsOf = new Map();
  for (const node of graph.nodes) for (const id of node.ids) inputsOf.set(id, node.inputs);
  const rows = planText.split("\n"), firstBuffer = rows.findIndex((row) => /^buffer \d+: /.test(row));
  const holders = new Map(), buffers = [];
  for (const row of rows.slice(firstBuffer < 0 ? rows.length : firstBuffer)) {
    const found = /^buffer (\d+): (\w+)(?: (\d+))? (\w+)\[(.*?)\].*? holds \[(.*)\]/.exec(row);
    if (!found || found[2] === "handle") continue;
    const sizes = found[5] ? found[5].split(", ").map((size) => sizeValue(size, symbols)) : [];
    const bytes = sizes.includes(null) || !ITEM_BYTES[found[4]] ? null : sizes.reduce((a, b) => a * b, ITEM_BYTES[found[4]]);
    buffers.push({number: +found[1], kind: found[2], type: `${found[4]}[${found[5]}]`, bytes, holds: found[6]});
    for (const id of found[6].match(/^%\d+|(?<=[ ,])%\d+/g) || []) holders.set(+id.slice(1), +found[1]);
  }
  const touch = (buffer) => {
    if (!touched.has(buffer)) touched.set(buffer, [steps.length - 1, steps.length - 1]);
    touched.get(buffer)[1] = steps.length - 1;
  };
  for (const row of rows.slice(0, firstBuffer < 0 ? rows.length : firstBuffer)) {
    const group = /^\s*(group|then) (\d+): (\w+)/.exec(row), other = /^\s*(call|copy|loop|cond|bind|alloc|free|define)\b(?: \S*%\d+)?(?: "([^"]*)")?/.exec(row), member = /^\s+%(\d+) = /.exec(row);
    if (group) steps.push(group[1] === "then" ? `store ${group[2]}` : `${group[3]} ${group[2]}`);
    else if (other && !["alloc", "free", "define"].includes(other[1])) steps.push(other[2] || other[1]);
    if (!steps.length) continue;
    if (member) for (const id of [+member[1], ...(inputsOf.get(+member[1]) || [])]) if (holders.has(id)) touch(holders.get(id));
    if (other) {
      for (const [, number] of row.matchAll(/buffer (\d+)/g)) touch(+number);
      for (const [, number] of row.matchAll(/%\d+ in (\d+)/g)) touch(+number);
    }
  }
  const last = Math.max(steps.length - 1, 0);
  for (const buffer of buffers) {
    const [from, to] = touched.get(buffer.number) || [0, last];
    buffer.from = buffer.kind === "input" ? 0 : from;
    buffer.to = buffer.kind === "input" || buffer.kind === "output" || buffer.kind === "given" ? last : to;
  }
  return {steps, buffers};
}

function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  for (const [limit, unit, scale] of [[1e3, "B", 1], [1e6, "kB", 1e3], [1e9, "MB", 1e6], [1e12, "GB", 1e9]])
    if (bytes < limit * 0.9995) return three(bytes / scale) + "\u202f" + unit;
  return three(bytes / 1e12) + "\u202fTB";
}

function memoryTimeline(variant) {
  const text = textOf(variant.plan);
  if (!text) return null;
  const {steps, buffers} = memoryOf(text, parseGraph(plannedGraph(variant)), variant.symbols);
  if (!steps.length || !buffers.length || steps.length > 400) return null;
  const shown = buffers.slice(0, 80), left = 270, rowHeight = 20, chart = 70, width = Math.max(left + 16 + steps.length * Math.min(Math.max(900 / steps.length, 12), 130), 640);
  const cell = (width - left - 16) / steps.length, x = (step) => left + step * cell;
  const inUse = steps.map((_, step) => shown.reduce((sum, b) => sum + (b.from <= step && step <= b.to ? b.bytes || 0 : 0), 0));
  const most = Math.max(...inUse, 1), top = chart + 34, height = top + shown.length * rowHeight + 8;
  const drawing = svg("svg.memory", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `memory of ${counted(shown.length, "buffer")} over ${counted(steps.length, "step")}`});
  const known = shown.some((b) => b.bytes);
  if (known) {
    drawing.append(svg("text.label", {x: 4, y: 14}, "in use"), svg("text.type", {x: left - 8, y: 14, "text-anchor": "end"}, bytesText(most)));
    inUse.forEach((bytes, step) => drawing.append(svg("rect.use", {x: x(step), y: 4 + chart * (1 - bytes / most), width: Math.max(cell - 1, 1), height: chart * bytes / most}, svg("title", {}, `${steps[step]}: ${bytesText(bytes)}`))));
  }
  steps.forEach((title, step) => { if (cell >= 44) drawing.append(svg("text.type", {x: x(step) + 2, y: chart + 22}, shortened(title, cell - 4))); });
  shown.forEach((buffer, i) => {
    const y = top + i * rowHeight;
    drawing.append(svg("text.label", {x: 4, y: y + 14}, shortened(`${buffer.number} ${buffer.kind} ${buffer.type}`, left - 90)), svg("text.type", {x: left - 8, y: y + 14, "text-anchor": "end"}, bytesText(buffer.bytes)),
      svg(`rect.life.is-${buffer.kind}`, {x: x(buffer.from), y: y + 3, width: Math.max((buffer.to - buffer.from + 1) * cell - 1, 2), height: rowHeight - 6, rx: 3}, svg("title", {}, `buffer ${buffer.number}, ${buffer.kind}: from ${steps[buffer.from]} to ${steps[buffer.to]}, holds ${buffer.holds}`)));
  });
  return section("Memory over the steps", el("p.quiet", {}, known ? `Sizes are those of the last call that was watched; at most ${bytesText(most)} at once. A loop's steps stand here once.` : "Sizes are unknown: no call was watched."),
    el("div.canvas", {tabindex: 0, "aria-label": "memory over the steps"}, drawing));
}
