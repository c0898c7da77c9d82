// One field for everything that has a name: functions, files, lines, reasons.

function searchAll(text) {
  const wanted = text.trim().toLowerCase(), found = [];
  if (!wanted) return found;
  const has = (value) => value && value.toLowerCase().includes(wanted);
  for (const f of model.functions) if (has(f.name)) found.push(["function", f.name, `#/function/${f.id}`]);
  for (const item of model.todo) if (has(item.title) || has(item.why)) found.push(["to do", item.title.replace(/`/g, ""), item.file >= 0 ? `#/source/${item.file}/${item.line}` : `#/function/${item.function}`]);
  for (const f of model.functions) for (const b of f.breaks) if (has(b.detail) || has(b.reason)) found.push(["break", `${f.name}: ${b.message} ${b.detail}`, b.line > 0 && b.file_id >= 0 ? `#/source/${b.file_id}/${b.line}` : `#/function/${f.id}`]);
  model.files.forEach((file, id) => {
    if (has(file.name)) found.push(["file", file.short, `#/source/${id}`]);
    for (let n = 0; n < file.lines.length && found.length < 200; ++n) {
      let line = "";
      for (let i = 1; i < file.lines[n].length; i += 2) line += file.lines[n][i];
      if (has(line)) found.push([`${file.short}:${n + 1}`, line.trim(), `#/source/${id}/${n + 1}`]);
    }
  });
  return found.slice(0, 40);
}

function startSearch() {
  const field = document.getElementById("search"), results = document.getElementById("results");
  let at = 0;
  const close = () => { results.hidden = true; };
  const mark = () => [...results.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
  field.addEventListener("input", () => {
    const found = searchAll(field.value);
    at = 0;
    show(results, found.map(([kind, text, hash]) => el("a", {href: hash, role: "option", onclick: close}, el("small", {}, kind), el("span", {}, text.slice(0, 120)))),
      field.value.trim() && !found.length ? el("p.quiet", {}, "nothing found") : null);
    results.hidden = !field.value.trim();
    mark();
  });
  field.addEventListener("keydown", (event) => {
    const rows = results.querySelectorAll("a");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { at = Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), rows.length - 1); mark(); event.preventDefault(); }
    else if (event.key === "Enter" && rows[at]) { go(rows[at].getAttribute("href")); close(); field.blur(); }
    else if (event.key === "Escape") { close(); field.blur(); }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) close(); });
}
