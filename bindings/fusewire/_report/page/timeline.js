// Calls, compiles, breaks over time: a canvas, because there may be many of them.

views.timeline = {title: "Timeline", draw(parts, query, main) {
  const items = model.timeline.items;
  if (!items.length) return void append(main, [el("h1", {}, "Timeline"), el("p.quiet", {}, "The trace has no events with a time.")]);
  const rows = timelineRows(items);
  const end = Math.max(...rows.map((row) => row.end), 1);
  let from = query.has("from") ? +query.get("from") : 0, to = query.has("to") ? +query.get("to") : end;
  if (!(to > from)) [from, to] = [0, end];
  const canvas = el("canvas.timeline", {tabindex: 0, role: "img", "aria-label": "timeline; the table below tells the same"});
  const tip = el("div.tip", {hidden: true}), detail = el("div.detail", {"aria-live": "polite"});
  append(main, [
    el("div.head", {}, el("h1", {}, "Timeline"), el("p.legend", {}, [["compiled", "native call"], ["partly", "call with compiled parts"], ["python", "call as Python"], ["compiling", "compiling"], ["break", "break"], ["recompile", "recompile"]]
      .map(([state, name]) => el("span", {}, el(`i.swatch.is-${state}`, {}), name)))),
    el("p.quiet", {}, "Wheel or + and − zoom, drag or arrow keys move, 0 shows all; a click tells more. Calls are those that were watched; there are more than these."),
    el("div.stage", {}, canvas, tip), detail]);
  const styles = getComputedStyle(document.documentElement);
  const colour = (name) => styles.getPropertyValue(`--${name}`).trim();
  const colours = {native: colour("compiled"), partly: colour("mixed"), python: colour("python"), compile: colour("compiling"), phase: colour("compiling-soft"), break: colour("break"), recompile: colour("recompile")};
  const left = 150, rowHeight = 20, top = 26;
  let lanes = top;
  for (const row of rows) { row.y = lanes; lanes += row.depth * rowHeight + 12; }
  const height = lanes + 6;
  let pending = 0, hits = [], chosen = null;
  const x = (time) => left + (time - from) / (to - from) * (canvas.clientWidth - left - 10);
  const time = (px) => from + (px - left) / (canvas.clientWidth - left - 10) * (to - from);
  function paint() {
    pending = 0;
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    drawAxis(pen, width);
    hits = [];
    for (const row of rows) {
      pen.fillStyle = colour("quiet");
      pen.fillText(row.name, 8, row.y + rowHeight / 2, left - 16);
      pen.fillStyle = colour("line");
      pen.fillRect(0, row.y + row.depth * rowHeight + 5, width, 1);
    }
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, width - left, height);
    pen.clip();
    for (const row of rows)
      for (const item of row.items) {
        if (item.at + item.ns < from || item.at > to) continue;
        const x1 = x(item.at), instant = item.kind === "break" || item.kind === "recompile";
        const w = instant ? 0 : Math.max(x(item.at + item.ns) - x1, 1.5), y = row.y + item.lane * rowHeight;
        pen.fillStyle = colours[item.kind];
        pen.globalAlpha = item.count > 1 ? 0.6 : 1;
        if (instant) mark(pen, x1, y + rowHeight / 2, item.kind);
        else pen.fillRect(x1, y + 2, w, rowHeight - 5);
        pen.globalAlpha = 1;
        if (w > 46) {
          pen.fillStyle = item.kind === "phase" ? colour("ink") : "#fff";
          pen.save();
          pen.beginPath();
          pen.rect(Math.max(x1, left), y, w - 4, rowHeight);
          pen.clip();
          pen.fillText(nameOf(item), Math.max(x1, left) + 5, y + rowHeight / 2 - 0.5);
          pen.restore();
        }
        if (item === chosen) { pen.strokeStyle = colour("ink"); pen.lineWidth = 1.5; pen.strokeRect(x1 - 1, y + 1, Math.max(w, 4) + 2, rowHeight - 3); }
        hits.push([instant ? x1 - 5 : x1 - 1, instant ? x1 + 5 : x1 + w + 1, y, y + rowHeight, item]);
      }
    pen.restore();
  }
  function drawAxis(pen, width) {
    const rough = (to - from) / Math.max((width - left) / 110, 1), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || rough;
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      pen.fillStyle = colour("line");
      pen.fillRect(x(t), 18, 1, height);
      pen.fillStyle = colour("quiet");
      pen.fillText(t === 0 ? "0" : timeText(t), x(t) + 4, 10);
    }
  }
  const again = () => { pending ||= requestAnimationFrame(paint); };
  const clamp = () => {
    const span = Math.min(Math.max(to - from, 200), end * 1.05);
    from = Math.min(Math.max(from, -0.02 * end), end * 1.03 - span);
    to = from + span;
  };
  let saving = 0;
  const changed = () => {
    clamp();
    again();
    clearTimeout(saving);
    saving = setTimeout(() => remember(`#/timeline?from=${Math.round(from)}&to=${Math.round(to)}`), 200);
  };
  const zoom = (factor, about) => { [from, to] = [about - (about - from) * factor, about + (to - about) * factor]; changed(); };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) { const by = (event.deltaX || event.deltaY) / 800 * (to - from); from += by; to += by; changed(); }
    else zoom(Math.exp(event.deltaY / 400), time(event.offsetX));
  }, {passive: false});
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = {x: event.offsetX, from, to, moved: false}; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const by = (drag.x - event.offsetX) / (canvas.clientWidth - left) * (drag.to - drag.from);
      drag.moved ||= Math.abs(drag.x - event.offsetX) > 3;
      if (drag.moved) { [from, to] = [drag.from + by, drag.to + by]; tip.hidden = true; changed(); }
      return;
    }
    const item = at(event);
    tip.hidden = !item;
    if (!item) return;
    show(tip, el("b", {}, nameOf(item)), el("br", {}), describeItem(item));
    tip.style.left = `${Math.min(event.offsetX + 14, canvas.clientWidth - 300)}px`;
    tip.style.top = `${event.offsetY + 16}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) { chosen = at(event); show(detail, chosen ? itemDetail(chosen) : null); again(); }
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  const at = (event) => { for (let i = hits.length - 1; i >= 0; --i) { const [x1, x2, y1, y2, item] = hits[i]; if (event.offsetX >= x1 && event.offsetX <= x2 && event.offsetY >= y1 && event.offsetY <= y2) return item; } return null; };
  canvas.addEventListener("keydown", (event) => {
    const span = to - from, keys = {"+": () => zoom(0.6, (from + to) / 2), "=": () => zoom(0.6, (from + to) / 2), "-": () => zoom(1.6, (from + to) / 2),
      ArrowLeft: () => { from -= span / 5; to -= span / 5; changed(); }, ArrowRight: () => { from += span / 5; to += span / 5; changed(); }, 0: () => { [from, to] = [0, end]; changed(); }};
    if (keys[event.key]) { event.preventDefault(); event.stopPropagation(); keys[event.key](); }
  });
  append(main, [costliest(items)]);
  const watcher = new ResizeObserver(again);
  watcher.observe(canvas);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  views.timeline.redraw = () => draw();
  return () => { watcher.disconnect(); clearTimeout(saving); cancelAnimationFrame(pending); void dark; };
}};

function mark(pen, x, y, kind) {
  pen.beginPath();
  if (kind === "break") { pen.moveTo(x, y - 6); pen.lineTo(x + 5, y + 4); pen.lineTo(x - 5, y + 4); }
  else { pen.moveTo(x, y - 6); pen.lineTo(x + 5, y); pen.lineTo(x, y + 6); pen.lineTo(x - 5, y); }
  pen.fill();
}

// A row per thread and, for each process, one for compiling and what happens beside; calls inside calls stand below.
function timelineRows(items) {
  const rows = new Map(), threads = new Map();
  for (const [process, thread, at, ns, kind, id, word, count] of items) {
    const key = `${process}/${thread}`;
    if (!rows.has(key)) {
      const pid = model.processes[process] ? model.processes[process].pid : process;
      if (thread >= 0 && !threads.has(key)) threads.set(key, [...threads.keys()].filter((k) => k.startsWith(`${process}/`)).length + 1);
      rows.set(key, {order: process * 1e4 + (thread >= 0 ? threads.get(key) : 9000 - thread), items: [], end: 0, depth: 1,
        name: `${model.processes.length > 1 ? `${pid} ` : ""}${thread >= 0 ? `thread ${threads.get(key)}` : ({"-1": "compiling", "-2": "phases", "-3": "breaks"})[thread]}`});
    }
    const row = rows.get(key);
    row.items.push({at, ns, kind, id, word, count, lane: 0});
    row.end = Math.max(row.end, at + ns);
  }
  const list = [...rows.values()].sort((a, b) => a.order - b.order);
  for (const row of list) {
    row.items.sort((a, b) => a.at - b.at || b.ns - a.ns);
    let open = [];
    for (const item of row.items) {
      if (item.kind === "break" || item.kind === "recompile") continue;
      if (item.count > 1) continue;  // several that stand close, as one
      open = open.filter((end) => end > item.at);
      item.lane = Math.min(open.length, 7);
      open.push(item.at + item.ns);
      row.depth = Math.max(row.depth, item.lane + 1);
    }
  }
  return list.slice(0, 60);
}

const nameOf = (item) => (item.kind === "phase" ? model.timeline.words[item.word].replace("_", " ") : item.id >= 0 ? model.functions[item.id].name : "?");

function describeItem(item) {
  const what = {native: "native call", partly: "call with compiled parts", python: "call that ran as Python", compile: "compiling", phase: "phase of compiling", break: "break", recompile: "recompile"}[item.kind];
  const word = model.timeline.words[item.word];
  return `${what}${item.ns ? `, ${timeText(item.ns)}` : ""}, at ${timeText(item.at)}${item.count > 1 ? `; ${countText(item.count)} of them` : ""}${word && item.kind !== "phase" ? `: ${word}` : ""}`;
}

const itemDetail = (item) => el("p.note", {}, item.id >= 0 ? [functionLink(item.id), ": "] : null, describeItem(item));

function costliest(items) {
  const long = items.filter((item) => item[4] === "compile" && item[7] === 1).sort((a, b) => b[3] - a[3]).slice(0, 12);
  return long.length ? section("Longest compiles", table(["function", "", ">took", ">at"], long.map(([, , at, ns, , id, word]) =>
    [id >= 0 ? functionLink(id) : "?", model.timeline.words[word], timeText(ns), timeText(at)]))) : null;
}
