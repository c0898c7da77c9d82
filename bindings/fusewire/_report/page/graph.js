// A variant's graph: fusion groups as boxes, values as curves between them; the same after each pass, and the code it became.

views.graph = {title: "Graphs", draw(parts, query, main) {
  const some = model.functions.filter((f) => f.variants.some((v) => v.graph >= 0)).sort((a, b) => b.ns - a.ns);
  const f = parts[0] ? model.functions[+parts[0]] : some[0];
  if (!f || !f.variants.length) return void append(main, [el("h1", {}, "Graphs"), el("p.quiet", {}, "The trace has no graph: nothing was compiled.")]);
  const number = f.variants[+parts[1]] ? +parts[1] : 0, variant = f.variants[number];
  const tab = query.get("show") || "picture", node = query.has("node") ? +query.get("node") : -1;
  const path = `#/graph/${f.id}/${number}`;
  const tabs = [["picture", "Picture"], ["passes", `Passes (${variant.passes.length})`], ["plan", "Plan and buffers"], ["kernel", "Kernels"], ["llvm", "LLVM IR"], ["assembly", "Machine code"]];
  append(main, [
    el("div.head", {}, el("h1", {}, el("a", {href: `#/function/${f.id}`}, el("code", {}, f.name))),
      el("select", {"aria-label": "function", onchange: (event) => go(`#/graph/${event.target.value}/0`)}, some.map((one) => el("option", {value: one.id, selected: one === f}, one.name))),
      el("select", {"aria-label": "variant", onchange: (event) => go(`#/graph/${f.id}/${event.target.value}`)},
        f.variants.map((_, i) => el("option", {value: i, selected: i === number}, variantName(f, i))))),
    el("p.quiet", {}, `${counted(variant.hits, "hit")}, ${counted(variant.kernels, "kernel")}, compiled in ${timeText((variant.ms.total || 0) * 1e6)}`,
      Object.entries(variant.ms).filter(([phase, ms]) => phase !== "total" && phase !== "compile" && ms >= 0.05).map(([phase, ms]) => `, ${phase.replace("_", " ")} ${timeText(ms * 1e6)}`)),
    el("div.tabs", {role: "tablist"}, tabs.map(([id, title]) => el("a", {href: `${path}?show=${id}`, role: "tab", "aria-selected": String(id === tab)}, title)))]);
  const missing = () => el("p.quiet", {}, "The trace has no such text, or it was left out to keep the page small.");
  if (tab === "passes") return void append(main, [passes(f, variant, number, query)]);
  if (tab === "plan") return void append(main, [variant.plan >= 0 && textOf(variant.plan) ? planTable(textOf(variant.plan), variant) : missing()]);
  if (tab !== "picture") {
    const text = textOf({kernel: variant.kernel, llvm: variant.llvm, assembly: variant.assembly}[tab]);
    return void append(main, [text ? el("pre.scroll.long", {}, text) : missing()]);
  }
  const graph = parseGraph(plannedGraph(variant));
  if (!graph.nodes.length) return void append(main, [missing()]);
  append(main, [textOf(variant.planned) ? null : el("p.quiet", {}, "The graph as it was captured; the trace does not have the one that was fused."), picture(f, variant, graph, node, path)]);
}};

// Boxes: one per fusion group, one for each other node that is no constant.
function clustersOf(graph, plan) {
  const byId = new Map();
  for (const node of graph.nodes) for (const id of node.ids) byId.set(id, node);
  const home = new Map(), clusters = [];
  plan.groups.forEach((group, i) => {
    const nodes = group.ids.map((id) => byId.get(id)).filter((node) => node && !home.has(node.id));
    if (!nodes.length) return;
    const cluster = {kind: "group", title: group.head.replace(/ -> .*/, ""), nodes, index: i};
    nodes.forEach((node) => home.set(node.id, cluster));
    clusters.push(cluster);
  });
  for (const node of graph.nodes) {
    if (home.has(node.id) || node.op === "constant") continue;
    const cluster = {kind: node.op === "input" ? "input" : "view", title: "", nodes: [node]};
    home.set(node.id, cluster);
    clusters.push(cluster);
  }
  return {clusters, byId, home};
}

function picture(f, variant, graph, chosen, path) {
  const plan = planOf(variant);
  const {clusters, byId, home} = clustersOf(graph, plan);
  const limited = clusters.length > 160 ? clusters.slice(0, 160) : clusters;
  const inside = new Set(limited);
  const edges = [];
  for (const cluster of limited)
    for (const node of cluster.nodes)
      for (const id of new Set(node.inputs)) {
        const from = byId.get(id) && home.get(byId.get(id).id);
        if (from && from !== cluster && inside.has(from)) edges.push({from, to: cluster, value: byId.get(id), user: node});
      }
  layOut(limited, edges);
  const argument = (id) => { const node = byId.get(id); return node && node.op === "constant" ? (/value=([^,}]*)/.exec(node.attrs) || ["", `%${id}`])[1].replace(/^\w+\((.*)\)$/, "$1") : `%${id}`; };
  const width = Math.max(...limited.map((c) => c.x + c.w)) + 20, height = Math.max(...limited.map((c) => c.y + c.h)) + 20;
  const drawing = svg("svg.graph", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `graph of ${f.name}`});
  const curves = edges.map((edge) => {
    const x1 = edge.from.x + edge.from.w / 2, y1 = edge.from.y + edge.from.h, x2 = edge.to.x + edge.to.w / 2, y2 = edge.to.y, middle = (y1 + y2) / 2;
    const curve = svg("path.edge", {d: `M${x1},${y1} C${x1},${middle} ${x2},${middle} ${x2},${y2}`}, svg("title", {}, `%${edge.value.id} : ${edge.value.type}`));
    curve.edge = edge;
    drawing.append(curve);
    return curve;
  });
  const detail = el("aside.panel", {"aria-live": "polite"});
  const boxes = new Map();
  const choose = (node, keep) => {
    for (const row of boxes.values()) row.classList.remove("chosen", "near");
    for (const curve of curves) curve.classList.toggle("near", curve.edge.value === node || curve.edge.user === node);
    if (boxes.has(node.id)) boxes.get(node.id).classList.add("chosen");
    for (const id of node.inputs) if (byId.get(id) && boxes.has(byId.get(id).id)) boxes.get(byId.get(id).id).classList.add("near");
    for (const other of graph.nodes) if (other.inputs.some((id) => node.ids.includes(id)) && boxes.has(other.id)) boxes.get(other.id).classList.add("near");
    show(detail, nodePanel(f, variant, node, home.get(node.id), argument));
    if (keep) remember(`${path}?node=${node.id}`);
  };
  for (const cluster of limited) {
    const box = svg(`g.cluster.is-${cluster.kind}`, {transform: `translate(${cluster.x},${cluster.y})`}, svg("rect", {width: cluster.w, height: cluster.h, rx: 7}));
    let y = 0;
    if (cluster.title) {
      box.append(svg("text.title", {x: 12, y: 18}, shortened(cluster.title, cluster.w - 24)));
      y = 24;
    }
    cluster.shown.forEach((node) => {
      const label = node.op === "input" ? `%${node.id}  input ${(/index=(\d+)/.exec(node.attrs) || ["", ""])[1]}` : `%${node.id} = ${node.op}(${node.inputs.map(argument).join(", ")})`;
      const row = svg("g.node" + (graph.returns.some((id) => node.ids.includes(id)) ? ".result" : ""), {transform: `translate(0,${y})`, tabindex: 0, role: "button", "aria-label": node.text,
        onclick: () => choose(node, true), onkeydown: (event) => { if (event.key === "Enter") choose(node, true); }},
        svg("rect", {x: 4, y: 2, width: cluster.w - 8, height: 20, rx: 4}), svg("text", {x: 12, y: 16}, shortened(label, cluster.w - 130)),
        svg("text.type", {x: cluster.w - 12, y: 16, "text-anchor": "end"}, shortened(node.type, 110)), svg("title", {}, node.text));
      boxes.set(node.id, row);
      box.append(row);
      y += 22;
    });
    if (cluster.shown.length < cluster.nodes.length) box.append(svg("text.type", {x: 12, y: y + 15}, `and ${cluster.nodes.length - cluster.shown.length} more`));
    drawing.append(box);
  }
  show(detail, el("h2", {}, "Choose a node"), el("p.quiet", {}, "A box is a fusion group: its operations run in one pass over memory, as one kernel. Chips above are arguments; what lies between are views, which compute nothing."),
    el("dl", {}, el("dt", {}, "groups"), el("dd", {}, plan.groups.length), el("dt", {}, "nodes"), el("dd", {}, graph.nodes.length), el("dt", {}, "buffers"), el("dd", {}, plan.buffers.length)));
  const wanted = graph.nodes.find((node) => node.ids.includes(chosen));
  if (wanted) choose(wanted, false);
  return [clusters.length > limited.length ? el("p.quiet", {}, `The first ${limited.length} of ${clusters.length} boxes; the passes have all of the text.`) : null,
    el("div.split", {}, el("div.canvas", {tabindex: 0, "aria-label": "graph"}, drawing), detail)];
}

// Monospace at 12 px.
const shortened = (text, width) => (text.length * 7.3 > width ? text.slice(0, Math.max(Math.floor(width / 7.3) - 1, 1)) + "…" : text);

// Rows by longest path; within a row by where their inputs stand.
function layOut(clusters, edges) {
  for (const cluster of clusters) {
    cluster.rank = 0;
    cluster.shown = cluster.nodes.slice(0, 60);
    cluster.w = cluster.kind === "group" ? 400 : cluster.kind === "input" ? 250 : 300;
    cluster.h = (cluster.title ? 24 : 2) + 22 * cluster.shown.length + (cluster.shown.length < cluster.nodes.length ? 22 : 0) + 4;
  }
  for (let turn = 0, moved = true; moved && turn < clusters.length; ++turn) {
    moved = false;
    for (const {from, to} of edges) if (to.rank < from.rank + 1 && from.rank < clusters.length) { to.rank = from.rank + 1; moved = true; }
  }
  for (const cluster of clusters.slice().reverse()) {  // an argument stands just above its first use
    const uses = edges.filter((edge) => edge.from === cluster).map((edge) => edge.to.rank);
    if (cluster.kind !== "group" && uses.length) cluster.rank = Math.max(cluster.rank, Math.min(...uses) - 1);
  }
  const rows = [];
  for (const cluster of clusters) (rows[cluster.rank] ||= []).push(cluster);
  let y = 16;
  const widest = Math.max(innerWidth - 620, 860);
  for (const row of rows) {
    if (!row) continue;
    const centre = (cluster) => {
      const above = edges.filter((edge) => edge.to === cluster && edge.from.x !== undefined).map((edge) => edge.from.x + edge.from.w / 2);
      return above.length ? above.reduce((a, b) => a + b) / above.length : 1e6;
    };
    row.sort((a, b) => centre(a) - centre(b));
    let x = 16, height = 0;
    for (const cluster of row) {
      if (x > 16 && x + cluster.w > widest) { x = 16; y += height + 18; height = 0; }
      cluster.x = x;
      cluster.y = y;
      x += cluster.w + 22;
      height = Math.max(height, cluster.h);
    }
    y += height + 44;
  }
}

function nodePanel(f, variant, node, cluster, argument) {
  const kernel = cluster && cluster.kind === "group" ? kernelTexts(textOf(variant.kernel))[cluster.index] : null;
  return [el("h2", {}, el("code", {}, node.op)), el("pre.scroll", {}, node.text), el("dl", {}, el("dt", {}, "type"), el("dd", {}, node.type || "–"),
    el("dt", {}, "inputs"), el("dd", {}, node.inputs.map(argument).join(", ") || "none")),
    node.line > 0 ? el("p", {}, "from ", lineLink(f.file, node.line)) : null,
    kernel ? el("details.kernel", {open: true}, el("summary", {}, "kernel ", el("code", {}, /^kernel (\S+)/.exec(kernel)[1])), el("pre.scroll", {}, kernel)) : null];
}

function passes(f, variant, number, query) {
  const known = variant.passes.filter(([, index]) => textOf(index));
  if (!known.length) return el("p.quiet", {}, "The trace has no text of passes for this variant, or it was left out to keep the page small.");
  const stages = known.map(([name, index]) => [`after ${name}`, textOf(index)]);
  if (textOf(variant.graph)) stages.unshift(["as captured", textOf(variant.graph)]);
  const at = Math.min(Math.max(+(query.get("pass") || 1), 1), stages.length - 1), changed = (i) => stages[i][1] !== stages[i - 1][1];
  const path = (i) => `#/graph/${f.id}/${number}?show=passes&pass=${i}`;
  const rows = difference(stages[at - 1] ? stages[at - 1][1] : "", stages[at] ? stages[at][1] : "");
  return el("div.split.left", {},
    el("ol.stages", {}, stages.slice(1).map(([name], i) => el("li", {}, el("a", {href: path(i + 1), "aria-current": i + 1 === at ? "true" : null}, name), " ",
      el("small", {}, changed(i + 1) ? "changed" : "no change")))),
    el("div", {}, el("p.quiet", {}, `${stages[at - 1] ? stages[at - 1][0] : ""} → ${stages[at] ? stages[at][0] : ""}`),
      el("pre.scroll.diff", {}, rows.map(([kind, row]) => el(`span.${kind}`, {}, {same: "  ", less: "− ", more: "+ "}[kind] + row + "\n")))));
}

function planTable(text, variant) {
  const plan = parsePlan(text);
  const cell = (row, pattern) => (pattern.exec(row) || ["", ""])[1];
  return [memoryTimeline(variant), el("pre.scroll", {}, text), el("h2", {}, "Buffers"), table(["buffer", "is", "type", "strides", "holds"], plan.buffers.map((row) => [
    cell(row, /^buffer (\d+)/), cell(row, /^buffer \d+: (\w+(?: \d+)?)/), el("code", {}, cell(row, /^buffer \d+: \w+(?: \d+)? (\S+)/)), cell(row, /strides=(\S+)/), cell(row, /holds (.*)/)]))];
}
