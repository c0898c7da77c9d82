// Kernels and library calls as they were timed, and how near they come to what the machine can do.

// [{f, number, variant, part, lines, share}], most time first
function allParts() {
  const found = [];
  for (const f of model.functions)
    f.variants.forEach((variant, number) => {
      for (const part of variant.parts) found.push({f, number, variant, part, total: part.ns * Math.max(variant.hits, part.runs)});
    });
  return found.sort((a, b) => b.total - a.total);
}

const rate = (value, unit) => (value === null || value === undefined ? "–" : `${three(value)}\u202f${unit}`);
const perSecond = ({best}, key) => (best && best[key] ? best[key] / best.ns : null);  // a thing per ns is 1e9 of it per second

// Of what limits it: the share of the machine's ceiling at its own ratio of operations and bytes.
function ceilingShare(part) {
  const most = model.ceiling, best = part.best;
  if (!most || !best || !best.bytes) return null;
  const roof = Math.min(most.operations, (best.operations / best.bytes) * bandwidthOf(best));
  return best.operations ? best.operations / best.ns * 1e9 / roof : best.bytes / best.ns * 1e9 / bandwidthOf(best);
}

// What fits into the cache comes from there, and what is faster than memory could be.
const isCached = (best) => best.bytes < 1 << 20 || best.bytes / best.ns * 1e9 > model.ceiling.memory;
const bandwidthOf = (best) => (isCached(best) ? model.ceiling.cache : model.ceiling.memory);

function partName({f, number, part}) {
  if (part.group < 0) return part.name;
  return el("a", {href: `#/graph/${f.id}/${number}?show=kernel`}, part.name);
}

const partLines = ({f, part}) => Object.keys(part.lines).slice(0, 6).map((line, i) => [i ? ", " : "", lineLink(f.file, +line, line)]);

views.kernels = {title: "Kernels", draw(parts, query, main) {
  const all = allParts();
  append(main, [el("h1", {}, "Kernels")]);
  if (!all.length) return void append(main, [el("p.quiet", {}, "No kernel was timed: that needs a trace (FUSEWIRE_TRACE), in which a call was watched, and native code of this processor.")]);
  const most = model.ceiling;
  append(main, [
    el("p.lead", {}, most ? `This processor (${most.processor}) does ${three(most.operations / 1e9)} Gflop/s in one thread and moves ${three(most.memory / 1e9)} GB/s from memory, ${three(most.cache / 1e9)} GB/s within its cache, as measured.` :
      "The trace does not tell what this machine can do at most."),
    most ? roofline(all) : null,
    section("By time", table(["kernel or call", "function", "lines", ">runs timed", ">per run", ">fastest", ">bytes", ">GB/s", ">operations", ">Gflop/s", ">of the ceiling"], all.slice(0, 300).map((one) => {
      const share = ceilingShare(one.part);
      return [partName(one), functionLink(one.f.id), partLines(one), countText(one.part.runs), timeText(one.part.ns), one.part.best ? timeText(one.part.best.ns) : "–", bytesText(one.part.bytes), rate(perSecond(one.part, "bytes"), ""),
        one.part.operations === null ? "–" : countText(Math.round(one.part.operations)), rate(perSecond(one.part, "operations"), ""), share === null ? "–" : percent(share)];
    })),
    el("p.quiet", {}, "Times are of the calls that were watched; rates are those of the fastest run, which nothing else disturbed. Bytes: each array counted once where it is read and once where it is written. Operations: arithmetic on floats as the kernel has it, with what mathematical functions are made of; a fused multiply-add is two. ",
      "The ceiling of a kernel is that of memory or cache, or that of arithmetic, whichever it meets first.",
      all.length > 300 ? ` The first 300 of ${all.length}.` : ""))]);
}};

// Operations per second over operations per byte, both by powers of ten.
function roofline(all) {
  const most = model.ceiling, dots = all.filter(({part}) => part.best && part.best.bytes > 0 && part.best.operations > 0);
  if (!dots.length) return el("p.quiet", {}, "No kernel here does arithmetic on floats, so there is nothing to plot.");
  const width = 860, height = 380, left = 64, bottom = 44, top = 14, right = 20;
  const xs = dots.map(({part}) => part.best.operations / part.best.bytes), ys = dots.map(({part}) => part.best.operations / part.best.ns * 1e9);
  const x0 = Math.floor(Math.log10(Math.min(0.05, ...xs))), x1 = Math.ceil(Math.log10(Math.max(20, ...xs, most.operations / most.memory)));
  const y0 = Math.floor(Math.log10(Math.min(most.operations / 1000, ...ys))), y1 = Math.ceil(Math.log10(Math.max(most.operations * 1.3, ...ys)));
  const x = (value) => left + (Math.log10(value) - x0) / (x1 - x0) * (width - left - right), y = (value) => height - bottom - (Math.log10(value) - y0) / (y1 - y0) * (height - bottom - top);
  const drawing = svg("svg.roofline", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `roofline of ${counted(dots.length, "kernel")}`});
  for (let k = x0; k <= x1; ++k) drawing.append(svg("line.grid", {x1: x(10 ** k), x2: x(10 ** k), y1: top, y2: height - bottom}), svg("text.type", {x: x(10 ** k), y: height - bottom + 18, "text-anchor": "middle"}, String(+(10 ** k).toPrecision(1))));
  for (let k = y0; k <= y1; ++k) drawing.append(svg("line.grid", {x1: left, x2: width - right, y1: y(10 ** k), y2: y(10 ** k)}), svg("text.type", {x: left - 8, y: y(10 ** k) + 4, "text-anchor": "end"}, String(+(10 ** (k - 9)).toPrecision(1))));
  drawing.append(svg("text.label", {x: (left + width) / 2, y: height - 8, "text-anchor": "middle"}, "operations per byte"), svg("text.label", {x: 14, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${height / 2})`}, "Gflop/s"));
  for (const [name, bandwidth] of [["memory", most.memory], ["cache", most.cache]]) {
    const knee = most.operations / bandwidth, from = Math.max(10 ** x0, 10 ** y0 / bandwidth);
    drawing.append(svg(`polyline.roof.is-${name}`, {points: `${x(from)},${y(from * bandwidth)} ${x(knee)},${y(most.operations)} ${x(10 ** x1)},${y(most.operations)}`}),
      svg("text.type", {x: x(from) + 34, y: y(from * bandwidth) + 4}, `${name} ${three(bandwidth / 1e9)} GB/s`));
  }
  drawing.append(svg("text.type", {x: width - right - 4, y: y(most.operations) - 6, "text-anchor": "end"}, `arithmetic ${three(most.operations / 1e9)} Gflop/s`));
  const longest = Math.max(...dots.map(({total}) => total));
  dots.slice(0, 400).forEach((one, i) => drawing.append(svg("a", {href: `#/graph/${one.f.id}/${one.number}?show=kernel`}, svg(`circle.dot.is-${isCached(one.part.best) ? "cache" : "memory"}`, {cx: x(xs[i]), cy: y(ys[i]), r: 4 + 9 * Math.sqrt(one.total / longest)},
    svg("title", {}, `${one.f.name}: ${one.part.name}\n${timeText(one.part.best.ns)} in the fastest run, ${three(ys[i] / 1e9)} Gflop/s, ${three(perSecond(one.part, "bytes"))} GB/s, ${percent(ceilingShare(one.part))} of its ceiling`)))));
  return section("Roofline", el("p.quiet", {}, "A dot is a kernel, its size the time that it takes altogether. The lower roof is that of main memory, the dashed one that of the cache: a ring moves less than 1 MB, or more in a second than memory could, and so meets the second; a filled dot meets the first. Near a roof there is little to gain but by doing less."),
    el("div.canvas", {tabindex: 0, "aria-label": "roofline"}, drawing));
}
