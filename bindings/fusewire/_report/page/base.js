// Elements, numbers as text, and the data of the page. Data become text nodes and attributes, never HTML.

const SVG = "http://www.w3.org/2000/svg";

// el("a.name", {href: "#"}, child, "text", [more])
function el(spec, attributes, ...children) {
  const [tag, ...classes] = spec.split(".");
  return fill(document.createElement(tag), classes, attributes, children);
}

function svg(spec, attributes, ...children) {
  const [tag, ...classes] = spec.split(".");
  return fill(document.createElementNS(SVG, tag), classes, attributes, children);
}

function fill(node, classes, attributes, children) {
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

function show(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

// 1.85 us, 20.7 ms, 3.10 s
function timeText(ns) {
  if (ns === null || ns === undefined) return "–";
  if (ns < 0) return "−" + timeText(-ns);
  for (const [limit, unit, scale] of [[1e3, "ns", 1], [1e6, "µs", 1e3], [1e9, "ms", 1e6], [120e9, "s", 1e9]])
    if (ns < limit * 0.9995) return three(ns / scale) + "\u202f" + unit;
  return three(ns / 60e9) + "\u202fmin";
}

function three(value) {
  if (value >= 100 || value === 0) return value.toFixed(0);
  return value.toPrecision(3).replace(/\.?0+$/, "");
}

const countText = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
const counted = (n, what) => `${countText(n)} ${what}${n === 1 ? "" : "s"}`;
const percent = (part) => (part > 0 && part < 0.01 ? "<1" : Math.round(part * 100)) + "\u202f%";

async function unpack(id) {
  const text = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// What a trace tells; filled before anything is drawn.
let model = null;
let texts = null;
const textOf = (index) => (index >= 0 && texts[index]) || "";

// States of functions and lines: a sign and a word beside the colour.
const STATES = {
  compiled: ["■", "compiled"], mostly: ["■", "mostly compiled"], partly: ["◧", "partly compiled"], mixed: ["◧", "mixed"],
  numpy: ["●", "NumPy"], python: ["▲", "Python"], unknown: ["○", "not measured"], idle: ["○", "not called compiled"],
};

function badge(state) {
  const [sign, word] = STATES[state] || STATES.unknown;
  return el(`span.badge.is-${state}`, {}, el("i", {"aria-hidden": "true"}, sign), " ", word);
}

function bar(parts, label) {
  const total = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  return el("div.bar", {role: "img", "aria-label": label},
    parts.filter((part) => part.value > 0).map((part) =>
      el(`span.is-${part.state}`, {style: {flexGrow: String(part.value / total)}, title: `${part.name}: ${part.text}`})));
}

function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), ...children);
}

function lineLink(file, line, text) {
  if (file < 0 || !model.files[file]) return el("span.place", {}, text || `line ${line}`);
  return el("a.place", {href: `#/source/${file}/${line}`}, text || `${model.files[file].short}:${line}`);
}

const functionLink = (id) => el("a", {href: `#/function/${id}`}, el("code", {}, model.functions[id].name));

// Source text with the colours of Pygments.
function code(tokens) {
  const parts = [];
  for (let i = 0; i < tokens.length; i += 2)
    parts.push(tokens[i] && tokens[i] !== "n" ? el(`span.t-${tokens[i]}`, {}, tokens[i + 1]) : tokens[i + 1]);
  return parts;
}

function table(heads, rows, attributes) {
  return el("div.scroll", {}, el("table", attributes || {},
    el("thead", {}, el("tr", {}, heads.map((head) => el(head.startsWith(">") ? "th.right" : "th", {scope: "col"}, head.replace(">", ""))))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, i) => el((heads[i] || "").startsWith(">") ? "td.right" : "td", {}, cell)))))));
}
