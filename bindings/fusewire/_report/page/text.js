// The texts of the compiler, read again: graphs, plans and kernels.

const NODE = /^\s*((?:%\d+(?:, )?)+) = (\w+)\((.*?)\)\s*(\{.*?\})? ?(?:: (.*?))?(?: layout=\S+)?(?: line=(\d+))?$/;

// {nodes: [{id, ids, op, inputs, attrs, type, line, text}], returns: [ids]}
function parseGraph(text) {
  const nodes = [], returns = [];
  for (const row of text.split("\n")) {
    const found = NODE.exec(row);
    if (found) {
      const ids = found[1].match(/\d+/g).map(Number);
      nodes.push({id: ids[0], ids, op: found[2], args: found[3], inputs: (found[3].match(/%\d+/g) || []).map((i) => +i.slice(1)),
                  attrs: found[4] || "", type: (found[5] || "").trim(), line: +(found[6] || 0), text: row.trim()});
    } else if (/^\s*return /.test(row)) {
      returns.push(...(row.match(/%\d+/g) || []).map((i) => +i.slice(1)));
    }
  }
  return {nodes, returns};
}

// {groups: [{head, ids}], buffers: [text]}
function parsePlan(text) {
  const groups = [], buffers = [];
  let last = null;
  for (const row of text.split("\n")) {
    if (/^group \d+/.test(row)) groups.push(last = {head: row, ids: []});
    else if (last && /^\s+%\d+/.test(row)) last.ids.push(+/%(\d+)/.exec(row)[1]);
    else {
      last = null;
      if (/^buffer /.test(row)) buffers.push(row);
    }
  }
  return {groups, buffers};
}

// The texts of the kernels, by the numbers of their groups, with which their names begin.
function kernelTexts(text) {
  const kernels = [];
  for (const part of text.split(/^(?=kernel )/m)) {
    const found = /^kernel k(\d+)_/.exec(part);
    if (found) kernels[+found[1]] = (kernels[+found[1]] || "") + part;
  }
  return kernels;
}

// Rows of two texts: [["same"|"less"|"more", row]], by their longest common subsequence.
function difference(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  if (a.length * b.length > 4e6) return [...a.map((row) => ["less", row]), ...b.map((row) => ["more", row])];
  const width = b.length + 1, best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; --i)
    for (let j = b.length - 1; j >= 0; --j)
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
  const rows = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { rows.push(["same", a[i++]]); ++j; }
    else if (j < b.length && (i >= a.length || best[i * width + j + 1] > best[(i + 1) * width + j])) rows.push(["more", b[j++]]);
    else rows.push(["less", a[i++]]);
  }
  return rows;
}

// The graph that the plan is about, whose numbers are those of the kernels: the last one before planning.
const plannedGraph = (variant) => textOf(variant.planned) || textOf(variant.graph);
const planOf = (variant) => parsePlan(textOf(variant.planned) ? textOf(variant.plan) : "");

// Everything that a source line has become: [{function, variant, nodes, kernels}]
function originsOf(file, line) {
  const found = [];
  for (const f of model.functions) {
    if (f.file !== file) continue;
    f.variants.forEach((variant, number) => {
      if (variant.graph < 0) return;
      const nodes = parseGraph(plannedGraph(variant)).nodes.filter((node) => node.line === line);
      if (!nodes.length) return;
      const ids = new Set(nodes.map((node) => node.id));
      const kernels = kernelTexts(textOf(variant.kernel));
      const groups = planOf(variant).groups
        .map((group, i) => ({group, kernel: kernels[i]})).filter(({group}) => group.ids.some((id) => ids.has(id)));
      found.push({function: f, variant, number, nodes, groups});
    });
  }
  return found;
}

const variantName = (f, number) => {
  const variant = f.variants[number];
  const same = f.variants.filter((other) => other.region === variant.region);
  const which = same.length > 1 ? `, variant ${same.indexOf(variant) + 1} of ${same.length}` : "";
  return (variant.region ? `region from line ${variant.region}` : "whole function") + which;
};
