// Elements, links, numbers and times. All text becomes text nodes: no name of a job or node is ever read as HTML.

/// make("a", { href: "/ui/" }, "home"): an element. An attribute "onclick" is a function that listens to "click".
export function make(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") out.addEventListener(name.slice(2), value);
    else out.setAttribute(name, value === true ? "" : value);
  }
  out.append(...children.flat(2).filter((child) => child !== undefined && child !== null && child !== false));
  return out;
}

export const byId = (id) => document.getElementById(id);

// ---------------------------------------------------------------- addresses, as `nomad` prints them

export const address = {
  job: (id, namespace) => `/ui/jobs/${encodeURIComponent(id)}@${encodeURIComponent(namespace || "default")}`,
  node: (id) => `/ui/clients/${encodeURIComponent(id)}`,
  allocation: (id) => `/ui/allocations/${encodeURIComponent(id)}`,
  evaluation: (id) => `/ui/evaluations/${encodeURIComponent(id)}`,
  deployment: (id) => `/ui/deployments/${encodeURIComponent(id)}`,
};

export const short = (id) => (id || "").slice(0, 8);
export const link = (href, text, attributes = {}) => make("a", { href, ...attributes }, text);
export const jobLink = (id, namespace) =>
  link(address.job(id, namespace), namespace && namespace !== "default" ? `${id} (${namespace})` : id);
export const nodeLink = (id, name) => (id ? link(address.node(id), name || short(id)) : "");
export const idLink = (kind, id) => (id ? link(address[kind](id), short(id), { title: id, class: "id" }) : "");

// ---------------------------------------------------------------- numbers and times

export const integer = (value) => Number(value || 0).toLocaleString("en");
export const rounded = (value) => (Math.abs(value) >= 100 ? integer(Math.round(value)) : String(Math.round(value * 10) / 10));
export const percent = (used, total) => (total > 0 ? `${rounded((100 * used) / total)} %` : "–");
export const megahertz = (value) => (value >= 10_000 ? `${rounded(value / 1000)} GHz` : `${integer(value)} MHz`);
export function mebibytes(value) {
  if (value >= 10 * 1024 * 1024) return `${rounded(value / 1024 / 1024)} TiB`;
  return value >= 10 * 1024 ? `${rounded(value / 1024)} GiB` : `${integer(value)} MiB`;
}

/// Unix nanoseconds, or a text of RFC 3339, as UTC; "–" if there is none.
export function time(value) {
  const at = typeof value === "number" ? value / 1e6 : Date.parse(value);
  return !value || Number.isNaN(at) || at <= 0 ? "–" : new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

/// 93 s: "1m 33s".
export function duration(seconds) {
  const parts = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  let rest = Math.max(0, Math.round(seconds));
  const out = [];
  for (const [unit, size] of parts) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count && out.length < 2) out.push(count + unit);
  }
  return out.join(" ") || "0s";
}

// ---------------------------------------------------------------- parts of pages

const kGood = new Set(["running", "ready", "successful", "complete", "eligible", "healthy"]);
const kBad = new Set(["failed", "lost", "down", "cancelled", "unhealthy", "gone"]);
const kWait = new Set(["pending", "blocked", "draining", "initializing", "disconnected", "ineligible", "paused", "unknown"]);

/// A status: a word with a colour and a sign of its own, so that the colour is not needed.
export function pill(status) {
  const kind = kGood.has(status) ? "good" : kBad.has(status) ? "bad" : kWait.has(status) ? "wait" : "plain";
  return make("span", { class: `pill ${kind}` }, status || "–");
}

/// A bar of used and total with the numbers next to it.
export function meter(name, used, total, text) {
  const share = total > 0 ? Math.min(1, used / total) : 0;
  const fill = make("span", { class: "fill" });
  fill.style.width = `${100 * share}%`;
  return make("div", { class: "meter", role: "img", "aria-label": `${name}: ${text}, ${percent(used, total)}` },
    make("span", { class: "name" }, name), make("span", { class: "bar" }, fill),
    make("span", { class: "value" }, make("b", {}, percent(used, total)), ` ${text}`));
}

export const section = (title, ...children) => make("section", {}, make("h2", {}, title), ...children);

/// Rows of [name, value]; a value may be an element.
export const facts = (rows) =>
  make("dl", { class: "facts" }, rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value ?? "–"))));

/// A table; `rows` are arrays of cells, each a text or an element.
export function table(label, heads, rows, empty = "none") {
  const body = rows.map((cells) => make("tr", {}, cells.map((cell) => make("td", {}, cell ?? ""))));
  if (!body.length) body.push(make("tr", {}, make("td", { colspan: heads.length, class: "soft" }, empty)));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    make("table", {}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, body)));
}

/// Replaces children, and keeps the focus on the link or button with the same address or name.
export function replace(parent, ...children) {
  const had = parent.contains(document.activeElement) ? document.activeElement : null;
  const key = had && (had.getAttribute("href") || had.getAttribute("name"));
  parent.replaceChildren(...children.flat());
  if (had && had.isConnected) return had.focus();
  if (!key) return undefined;
  for (const one of parent.querySelectorAll("a, button, input, select"))
    if ((one.getAttribute("href") || one.getAttribute("name")) === key) return one.focus();
  return undefined;
}
