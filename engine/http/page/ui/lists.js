// Pages with one list each: jobs, nodes, allocations, evaluations, deployments. Text and filters are in the address, so
// that a filtered list can be bookmarked and sent.
import { all, contains, equals, get } from "./api.js";
import { duration, idLink, integer, jobLink, make, nodeLink, pill, time } from "./dom.js";
import { live } from "./live.js";
import { PagedList } from "./paged_list.js";

const evaluationStatuses = ["blocked", "pending", "complete", "failed", "canceled"];
const age = (ns) => (ns && live.now ? `${duration((live.now - ns / 1e6) / 1000)} ago` : "");

function counts(job) {
  const sum = {};
  for (const group of Object.values(job.JobSummary?.Summary || {}))
    for (const [name, value] of Object.entries(group)) sum[name] = (sum[name] || 0) + value;
  const parts = ["Running", "Starting", "Queued", "Failed", "Lost", "Unknown", "Complete"].filter((name) => sum[name]);
  return parts.map((name) => make("span", { class: ["Queued", "Failed", "Lost"].includes(name) ? "count bad" : "count" },
    `${integer(sum[name])} ${name === "Queued" ? "not placed" : name.toLowerCase()}`));
}

/// The share of a resource in use on a node, from the stream.
const inUse = (id, at) => {
  const node = live.byId.get(id);
  return node ? `${node[at] / 10} %` : "";
};

/// Why an evaluation placed less than it should, from its own counts.
export function whyNotPlaced(metric) {
  const parts = [];
  for (const [name, nodes] of Object.entries(metric.DimensionExhausted || {})) parts.push([`${name}: ${integer(nodes)} nodes without room`, nodes]);
  for (const [name, nodes] of Object.entries(metric.ConstraintFiltered || {})) parts.push([`${name}: not on ${integer(nodes)} nodes`, nodes]);
  for (const name of metric.QuotaExhausted || []) parts.push([`quota ${name}`, 0]);
  if (!parts.length && !metric.NodesEvaluated) parts.push(["no node in its datacenters and pool", 0]);
  return parts.sort((a, b) => b[1] - a[1]).map(([text]) => text).join("; ") || "no node fits";
}

export const whyBlocked = (evaluation) =>
  Object.entries(evaluation.FailedTGAllocs || {}).map(([group, metric]) =>
    `${1 + (metric.CoalescedFailures || 0)} of ${group}: ${whyNotPlaced(metric)}`).join(" · ") || evaluation.StatusDescription;

/// What each list is: address, filters, columns.
export const kLists = {
  jobs: {
    title: "Jobs", path: "/v1/jobs", fields: ["ID", "Name"], hint: "ID or name",
    selects: { Type: ["service", "batch", "system", "sysbatch"], Status: ["running", "pending", "dead"] },
    heads: ["job", "type", "priority", "status", "allocations", "submitted"],
    row: (job) => [jobLink(job.ID, job.Namespace), job.Type, job.Priority, pill(job.Status), counts(job), time(job.SubmitTime)],
  },
  clients: {
    title: "Nodes", path: "/v1/nodes", fields: ["Name", "ID", "Datacenter", "NodeClass", "NodePool"], hint: "name, ID, datacenter, class or pool", isGlobal: true,
    selects: { Status: ["ready", "down", "disconnected", "initializing"], SchedulingEligibility: ["eligible", "ineligible"] },
    heads: ["node", "ID", "status", "eligibility", "datacenter", "class", "pool", "cpu", "memory", "disk", "allocations"],
    row: (node) => [nodeLink(node.ID, node.Name), idLink("node", node.ID), pill(node.Status),
      pill(node.Drain ? "draining" : node.SchedulingEligibility), node.Datacenter, node.NodeClass, node.NodePool, inUse(node.ID, 2),
      inUse(node.ID, 3), inUse(node.ID, 4), live.byId.get(node.ID)?.[5] ?? ""],
  },
  allocations: {
    title: "Allocations", path: "/v1/allocations", fields: ["Name", "ID", "JobID", "NodeName"], hint: "name, ID, job or node", reverse: true,
    selects: { ClientStatus: ["running", "pending", "complete", "failed", "lost", "unknown"], DesiredStatus: ["run", "stop", "evict"] },
    heads: ["allocation", "name", "job", "node", "wanted", "status", "created"],
    row: (alloc) => [idLink("allocation", alloc.ID), alloc.Name, jobLink(alloc.JobID, alloc.Namespace), nodeLink(alloc.NodeID, alloc.NodeName),
      alloc.DesiredStatus, pill(alloc.ClientStatus), age(alloc.CreateTime)],
  },
  evaluations: {
    title: "Evaluations", path: "/v1/evaluations", fields: ["ID", "JobID"], hint: "ID or job", reverse: true,
    selects: { Status: evaluationStatuses, Type: ["service", "batch", "system", "sysbatch", "_core"] },
    heads: ["evaluation", "job", "trigger", "priority", "status", "not placed", "created"],
    row: (evaluation) => [idLink("evaluation", evaluation.ID), evaluation.JobID ? jobLink(evaluation.JobID, evaluation.Namespace) : "",
      evaluation.TriggeredBy, evaluation.Priority, pill(evaluation.Status), evaluation.FailedTGAllocs ? whyBlocked(evaluation) : "",
      age(evaluation.CreateTime)],
  },
  deployments: {
    title: "Deployments", path: "/v1/deployments", fields: ["ID", "JobID"], hint: "ID or job", reverse: true,
    selects: { Status: ["running", "paused", "successful", "failed", "cancelled", "blocked", "pending"] },
    heads: ["deployment", "job", "version", "status", "healthy of wanted", "what", "began"],
    row: (deployment) => {
      const groups = Object.values(deployment.TaskGroups || {}), sum = (name) => groups.reduce((total, group) => total + group[name], 0);
      return [idLink("deployment", deployment.ID), jobLink(deployment.JobID, deployment.Namespace), deployment.JobVersion,
        pill(deployment.Status), `${integer(sum("HealthyAllocs"))} of ${integer(sum("DesiredTotal"))}`, deployment.StatusDescription,
        age(deployment.CreateTime)];
    },
  },
};

/// A list for the page of another object, restricted to what belongs to it. `filter()` returns an expression.
export function partOf(kind, namespace, filter, extra = {}) {
  const { path, heads, row, reverse, title } = kLists[kind];
  return new PagedList({ label: title, path, heads, row, perPage: 20, ...extra,
    query: () => ({ namespace, filter: filter(), reverse: reverse ? "true" : "" }) });
}

export function listView(kind, parameters) {
  const { title, path, fields, hint, selects, heads, row, reverse, isGlobal } = kLists[kind];
  const form = make("form", { class: "filters", role: "search", "aria-label": `Filter ${title.toLowerCase()}`, onsubmit: (event) => event.preventDefault() });
  const text = make("input", { type: "search", name: "text", placeholder: hint, "aria-label": "text", value: parameters.get("text") || "", maxlength: "200" });
  form.append(text);
  for (const [name, values] of Object.entries(selects)) {
    const select = make("select", { name }, make("option", { value: "" }, "all"), values.map((value) => make("option", { value }, value)));
    select.value = parameters.get(name) || "";
    form.append(make("label", {}, name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase(), " ", select));
  }
  const namespace = make("select", { name: "namespace" }, make("option", { value: "*" }, "all"));
  if (!isGlobal) {
    form.append(make("label", {}, "namespace ", namespace));
    get("/v1/namespaces").then((found) => {
      namespace.append(...found.map((one) => make("option", { value: one.Name }, one.Name)));
      namespace.value = parameters.get("namespace") || "*";
      if (namespace.value !== "*") list.restart();
    }, () => {});
  }
  const list = new PagedList({ label: title, path, heads, row, query: () => ({
    filter: all(contains(fields, text.value.trim()), ...Object.keys(selects).map((name) => equals(name, form.elements[name].value))),
    namespace: isGlobal ? "" : namespace.value || "*", reverse: reverse ? "true" : "" }) });
  let wait = 0;
  form.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => {
      const kept = [...new FormData(form)].filter(([name, value]) => value && !(name === "namespace" && value === "*"));
      history.replaceState(null, "", location.pathname + (kept.length ? "?" + new URLSearchParams(kept) : ""));
      list.restart();
    }, 200);
  });
  return { title, root: make("div", { class: "whole" }, form, list.element), refresh: () => list.refresh(), turn: (step) => list.turn(step) };
}
