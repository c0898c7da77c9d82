// Begins when the data are unpacked.

const KEYS = [["1 … 7", "views"], ["/", "search"], ["j, k", "next and previous: thing to do, or line that ran"], ["Enter", "open what has the focus"], ["+ − ← → 0", "zoom and move the timeline"], ["t", "light or dark"], ["?", "this list"]];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("fusewire-theme", theme); } catch { /* a page from disk may keep nothing */ }
}

function startTheme() {
  let kept = null;
  try { kept = localStorage.getItem("fusewire-theme"); } catch { /* as above */ }
  const system = matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = kept === "dark" || kept === "light" ? kept : system.matches ? "dark" : "light";
  const other = () => { setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); if (address().name === "timeline") draw(); };
  document.getElementById("theme").addEventListener("click", other);
  return other;
}

function step(by) {
  if (address().name === "source") return views.source.step && views.source.step(by);
  const cards = [...document.querySelectorAll("[data-step]")], at = cards.indexOf(document.activeElement);
  const next = cards[Math.min(Math.max(at + by, 0), cards.length - 1)];
  if (next) { next.focus(); next.scrollIntoView({block: "nearest"}); }
}

function startKeys(otherTheme) {
  const help = document.getElementById("help");
  append(help, [el("h2", {}, "Keys"), el("dl", {}, KEYS.map(([key, what]) => [el("dt", {}, key), el("dd", {}, what)])), el("form", {method: "dialog"}, el("button", {}, "Close"))]);
  const open = () => { if (!help.open) help.showModal(); };
  help.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); help.close(); });
  document.getElementById("keys").addEventListener("click", open);
  const tabs = Object.keys(views).filter((name) => name !== "compare" || model.comparison);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, dialog")) return;
    const actions = {"/": () => document.getElementById("search").focus(), "?": open, t: otherTheme, j: () => step(1), k: () => step(-1)};
    tabs.forEach((name, i) => { actions[i + 1] = () => go(`#/${name}`); });
    if (event.key === "Enter" && document.activeElement.matches(".card")) {
      const link = document.activeElement.querySelector("a");
      if (link) go(link.getAttribute("href"));
    } else if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  });
}

async function main() {
  const otherTheme = startTheme();
  try {
    [model, texts] = await Promise.all([unpack("model"), unpack("texts")]);
  } catch (error) {
    show(document.getElementById("main"), el("p.loading", {}, `This browser cannot read the report: ${error.message}. It needs DecompressionStream (Chrome 80, Firefox 113, Safari 16.4).`));
    return;
  }
  const tabs = document.getElementById("tabs");
  for (const [name, view] of Object.entries(views))
    if (name !== "compare" || model.comparison) tabs.append(el("a", {href: `#/${name}`, "data-view": name}, view.title));
  startKeys(otherTheme);
  startSearch();
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  if (model.comparison && !location.hash) remember("#/compare");
  draw();
  document.documentElement.dataset.ready = "yes";
}

main();
