// Views and their addresses: #/name/part/part?key=value. The address holds the whole view, so that a link brings it back.

const views = {};  // name: {title, key, draw(parts, query, main)}
let cleanUp = null;

function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  return {name: views[parts[0]] ? parts[0] : "summary", parts: parts.slice(1), query: new URLSearchParams(query || "")};
}

function go(hash) { location.hash = hash; }

let drawn = "";  // the address of what is on the screen

// Changes the address without drawing anew.
function remember(hash, asStep = false) {
  if (asStep) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
  drawn = location.href;
}

function draw() {
  drawn = location.href;
  const {name, parts, query} = address();
  const main = document.getElementById("main");
  if (cleanUp) cleanUp();
  main.className = `view-${name}`;
  main.replaceChildren();
  cleanUp = views[name].draw(parts, query, main) || null;
  for (const tab of document.querySelectorAll("#tabs a")) {
    if (tab.dataset.view === (views[name].under || name)) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  const target = main.querySelector("[data-target]");
  if (target) target.scrollIntoView({block: "center"});
  else window.scrollTo(0, 0);
}

// Both events tell of a new address, depending on how it came.
function follow() {
  if (location.href !== drawn && location.hash !== "#main") draw();
}
