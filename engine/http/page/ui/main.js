// Shows the page that the address names, and fetches it again when the cluster has changed. Header: search, speed, theme, keys.
import { get, put } from "./api.js";
import { advance, setSpeed } from "./changes.js";
import { address, byId, make, short } from "./dom.js";
import { kLists, listView } from "./lists.js";
import { connect, listen, live } from "./live.js";
import { allocationView, deploymentView, evaluationView, jobView, nodeView } from "./objects.js";
import { overview } from "./overview.js";

// ---------------------------------------------------------------- from an address to a page

/// Decodes a part of an address; a stray % stays.
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/// `ID@NAMESPACE`, as `nomad job run` prints it; an ID may contain slashes and @.
function jobOf(rest, parameters) {
  const found = /^(.*)@([^@/]*)(?:\/.*)?$/.exec(rest);
  return found ? jobView(decode(found[1]), decode(found[2]) || "default")
    : jobView(decode(rest), parameters.get("namespace") || "default");
}

function viewOf(path, parameters) {
  const [, kind, rest] = /^\/ui\/?([^/]*)\/?(.*)$/.exec(path) || ["", "", ""];
  const id = decode(rest.split("/")[0]);
  if (kind === "jobs" && rest) return jobOf(rest, parameters);
  if ((kind === "clients" || kind === "nodes") && id) return nodeView(id);
  if (kind === "allocations" && id) return allocationView(id);
  if (kind === "evaluations" && (id || parameters.get("currentEval"))) return evaluationView(id || parameters.get("currentEval"));
  if (kind === "deployments" && id) return deploymentView(id);
  if (kind === "settings") return tokenView();
  if (kind === "nodes") return listView("clients", parameters);
  return Object.hasOwn(kLists, kind) ? listView(kind, parameters) : overview(go);
}

let view = null, shownIndex = -1, isBusy = false, notBefore = 0;

function fail(error) {
  byId("problem").hidden = !error;
  byId("problem").textContent = !error ? "" : error.status === 403 ? `${error.message}: this needs another token` : error.message;
}

/// Fetches the page again. The next refresh starts at least 2 s later, and so late that at most a fifth of the time goes
/// into refreshes.
async function refresh() {
  if (isBusy) return;
  isBusy = true;
  const began = performance.now(), shown = view;
  shownIndex = live.index;
  try {
    await shown.refresh?.();
    if (shown === view) fail(null), showTitle();
  } catch (error) {
    if (shown === view) fail(error);
  }
  if (shown !== view) return;  // show() started a refresh of the new page
  isBusy = false;
  notBefore = performance.now() + Math.max(2000, 4 * (performance.now() - began));
}

function showTitle() {
  if (byId("title").textContent !== view.title) byId("title").textContent = view.title;
  document.title = `${view.title} · berth`;
}

function show() {
  view = viewOf(location.pathname, new URLSearchParams(location.search));
  showTitle();
  byId("view").replaceChildren(view.root);
  fail(null);
  for (const one of byId("nav").children) {
    const path = new URL(one.href).pathname;
    const current = path === "/ui/" ? view.title === "Overview" : location.pathname.startsWith(path);
    if (current) one.setAttribute("aria-current", "page"); else one.removeAttribute("aria-current");
  }
  view.onShow?.();
  notBefore = 0, isBusy = false;
  refresh();
}

export function go(to) {
  history.pushState(null, "", to);
  show();
  byId("title").focus({ preventScroll: true }), scrollTo(0, 0);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/ui/']");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault(), go(link.getAttribute("href"));
});
addEventListener("popstate", show);
setInterval(() => {
  const changed = live.connection === "live" ? live.index !== shownIndex : performance.now() >= notBefore + 3000;
  if (changed && !document.hidden && performance.now() >= notBefore) refresh();
}, 500);

// ---------------------------------------------------------------- the token of access control

function tokenView() {
  const input = make("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-label": "token", size: "40" });
  const said = make("output", { class: "said", "aria-live": "polite" }), present = make("p", {}, "…");
  async function refresh() {
    try {
      const self = await get("/v1/acl/token/self");
      present.textContent = self.AccessorID === "anonymous" ? "Requests of this page have no token: they may do what the anonymous token may."
        : `The token in use: ${self.Name || short(self.AccessorID)}, ${self.Type || "no type"}.`;
    } catch (error) {
      present.textContent = error.message;
    }
  }
  // The server puts the token into a cookie that no script can read; an empty one deletes it.
  async function use(token, text) {
    try {
      await fetch(`/ui/?token=${encodeURIComponent(token)}`);
    } catch (error) {
      said.textContent = error.message;
      return;
    }
    input.value = "", said.textContent = text;
    refresh(), connect();
  }
  const form = make("form", { class: "change", onsubmit: (event) => {
    event.preventDefault();
    use(input.value.trim(), "The token is used from now on, if the server knows it.");
  } }, make("label", {}, "secret ID ", input), make("button", { type: "submit" }, "Use this token"),
  make("button", { type: "button", onclick: () => use("", "The token is forgotten.") }, "Forget the token"), said);
  return { title: "Token", root: make("div", {}, present, form,
    make("p", { class: "soft" }, "With access control, a page shows what the token may read. Live numbers, speed, faults and explanations need a management token.")), refresh };
}

// ---------------------------------------------------------------- time

const kSpeeds = [["step", "pause"], ["1", "1×"], ["10", "10×"], ["100", "100×"], ["1000", "1000×"], ["max", "max"]];
let speedBefore = "1";
async function tryTime(change) {
  try {
    await change();
    byId("clock-said").textContent = "";
  } catch (error) {
    byId("clock-said").textContent = error.message;
  }
}
for (const [value, text] of kSpeeds)
  byId("speeds").append(make("button", { value, "aria-pressed": "false", onclick: () => tryTime(() => setSpeed(value)) }, text));
for (const [seconds, text] of [[10, "+10 s"], [60, "+1 min"], [3600, "+1 h"]])
  byId("steps").append(make("button", { onclick: () => tryTime(() => advance(seconds)) }, text));

function showTime() {
  byId("now").textContent = live.now ? new Date(live.now).toISOString().slice(0, 19).replace("T", " ") : "–";
  for (const button of byId("speeds").children) button.setAttribute("aria-pressed", String(button.value === live.speed));
  byId("steps").hidden = live.speed !== "step";
  if (live.speed !== "step") speedBefore = live.speed || "1";
}

// ---------------------------------------------------------------- theme

function useTheme(name) {
  if (name) document.documentElement.dataset.theme = name; else delete document.documentElement.dataset.theme;
  byId("theme").value = name;
  view?.redraw?.();
}
useTheme(localStorage.getItem("berth-theme") || "");
byId("theme").addEventListener("change", (event) => { localStorage.setItem("berth-theme", event.target.value), useTheme(event.target.value); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view?.redraw?.());
let resized = 0;
addEventListener("resize", () => { clearTimeout(resized), resized = setTimeout(() => view?.redraw?.(), 100); });

// ---------------------------------------------------------------- search

const kContexts = { jobs: ["job", (one) => address.job(one.Scope[1], one.Scope[0])], nodes: ["node", (one) => address.node(one.Scope[0])],
  allocs: ["allocation", (one) => address.allocation(one.Scope[1])] };
const kPrefixes = { allocs: "allocation", nodes: "node", evals: "evaluation", deployment: "deployment" };
const kFound = 12;
let searchSerial = 0, searchWait = 0, chosen = -1;

/// Objects whose name contains the text, and those whose ID begins with it.
async function find(text) {
  const isId = /^[0-9a-f][0-9a-f-]*$/.test(text);
  const [fuzzy, prefix] = await Promise.all([put("/v1/search/fuzzy", { Text: text, Context: "all" }, { namespace: "*" }).catch(() => ({})),
    isId ? put("/v1/search", { Prefix: text, Context: "all" }, { namespace: "*" }).catch(() => ({})) : {}]);
  const out = [];
  for (const [context, kind] of Object.entries(kPrefixes))
    for (const id of (prefix.Matches || {})[context] || []) out.push([kind, short(id), address[kind](id)]);
  for (const [context, [kind, to]] of Object.entries(kContexts))
    for (const one of ((fuzzy.Matches || {})[context] || []).slice(0, 6)) out.push([kind, one.ID, to(one)]);
  return out.slice(0, kFound);
}

function showFound(found) {
  const list = byId("search-found");
  chosen = -1;
  list.replaceChildren(...found.map(([kind, text, href]) => make("li", { role: "option", "aria-selected": "false" }, make("a", { href, tabindex: "-1" }, make("span", { class: "soft" }, kind), " ", text))));
  if (!found.length && byId("search-text").value) list.append(make("li", { class: "soft" }, "nothing found"));
  list.hidden = !byId("search-text").value;
  byId("search-text").setAttribute("aria-expanded", String(!list.hidden));
}

function closeSearch() {
  byId("search-text").value = "", ++searchSerial;
  showFound([]);
}

byId("search-text").addEventListener("input", (event) => {
  clearTimeout(searchWait);
  const serial = ++searchSerial, text = event.target.value.trim();
  if (!text) return showFound([]);
  searchWait = setTimeout(async () => {
    const found = await find(text);
    if (serial === searchSerial) showFound(found);
  }, 150);
  return undefined;
});
byId("search-text").addEventListener("keydown", (event) => {
  const links = [...byId("search-found").querySelectorAll("a")];
  if (event.key === "Escape") closeSearch(), event.target.blur();
  if (event.key === "Enter" && links.length) event.preventDefault(), links[Math.max(chosen, 0)].click();
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  chosen = Math.max(0, Math.min(links.length - 1, chosen + (event.key === "ArrowDown" ? 1 : -1)));
  links.forEach((link, at) => link.parentElement.setAttribute("aria-selected", String(at === chosen)));
});
byId("search-found").addEventListener("click", () => setTimeout(closeSearch, 0));
document.addEventListener("click", (event) => { if (!byId("search").contains(event.target)) byId("search-found").hidden = true; });

// ---------------------------------------------------------------- keys

const kGo = { o: "/ui/", j: "/ui/jobs", n: "/ui/clients", a: "/ui/allocations", e: "/ui/evaluations", d: "/ui/deployments" };
let isGoing = false;
const openHelp = () => byId("help").showModal();
byId("keys").addEventListener("click", openHelp);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, dialog")) return;
  const wasGoing = isGoing;
  isGoing = event.key === "g" && !wasGoing;
  if (wasGoing && kGo[event.key]) return go(kGo[event.key]);
  if (event.key === "/") event.preventDefault(), byId("search-text").focus();
  if (event.key === "[") view.turn?.(-1);
  if (event.key === "]") view.turn?.(1);
  if (event.key === "?") openHelp();
  if (event.key === "p") tryTime(() => setSpeed(live.speed === "step" ? speedBefore : "step"));
  return undefined;
});

// ---------------------------------------------------------------- start

const kConnections = { live: ["good", "live"], connecting: ["wait", "connecting"], "no connection": ["bad", "no connection"],
  refused: ["bad", "no live numbers"] };
listen((kind, message) => {
  if (kind === "connection") {
    const [className, text] = kConnections[live.connection];
    byId("connection").className = `pill ${className}`, byId("connection").textContent = text;
    return;
  }
  showTime();
  if (kind === "nodes" && message.complete) notBefore = 0, shownIndex = -1;  // pages show names and use of nodes
  view.onMessage?.(kind, message);
  if (kind === "tick") view.onTick?.(message);
});
connect();
show();
