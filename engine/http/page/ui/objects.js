// Pages of one object: job, node, allocation, evaluation, deployment. Each returns a view: { title, root, refresh }.
// refresh() fetches the object again and may change the title. It does not replace forms, which may be half filled in.
import { all, equals, get, put } from "./api.js";
import { drainForm, eligibilityForm, faultForm, scaleForm, stopAllocationForm, stopDrainForm } from "./changes.js";
import { duration, facts, idLink, integer, jobLink, make, mebibytes, megahertz, meter, nodeLink, percent, pill, replace, section, short, table, time } from "./dom.js";
import { partOf, whyBlocked, whyNotPlaced } from "./lists.js";
import { live } from "./live.js";

const at = encodeURIComponent;

/// JSON that is shown when it is opened.
function source(title, fetchValue) {
  const text = make("pre", { tabindex: "0" }, "…");
  return make("details", { ontoggle: async (event) => {
    if (!event.target.open) return;
    try {
      text.textContent = JSON.stringify(await fetchValue(), null, 2);
    } catch (error) {
      text.textContent = error.message;
    }
  } }, make("summary", {}, title), text);
}

/// A part of a page. It is rebuilt only when `key` changes.
class Part {
  constructor() { this.element = make("div", { class: "part" }); }
  show(key, makeChildren) {
    if (this.key === key) return;
    this.key = key;
    replace(this.element, makeChildren());
  }
}

// ---------------------------------------------------------------- job

function reasons(advice) {
  const rows = (advice.nearest || []).map((node) => {
    const missing = [[megahertz, "cpu_missing_mhz", "cpu"], [mebibytes, "memory_missing_mb", "memory"], [mebibytes, "disk_missing_mb", "disk"]]
      .filter(([, key]) => node[key] > 0).map(([text, key, name]) => `${name}: ${text(node[key])} missing`);
    if (node.cores_missing > 0) missing.push(`cores: ${node.cores_missing} missing`);
    const other = (node.reasons || []).filter((one) => !missing.some((text) => text.startsWith(one.reason + ":")))
      .map((one) => (one.detail ? `${one.reason}: ${one.detail}` : one.reason));
    return [node.node, [...missing, ...other].join("; ")];
  });
  const changes = (advice.changes || []).map((change) => make("li", {}, change.text));
  return [make("h3", {}, `Group ${advice.group}: ${integer(advice.failed + advice.refused)} not placed`),
    advice.filtered_nodes > 0 && make("p", {}, `${advice.filtered_most}: excludes ${integer(advice.filtered_nodes)} nodes`),
    rows.length > 0 && table(`Nearest nodes of group ${advice.group}`, ["nearest nodes", "what they lack"], rows),
    (advice.needs || []).length > 0 && make("ul", {}, advice.needs.map((need) => make("li", {}, typeof need === "string" ? need : need.text || JSON.stringify(need)))),
    changes.length > 0 && make("div", {}, make("p", {}, "Each of these changes of the job file was tested, and makes it fit:"), make("ul", { class: "changes" }, changes)),
    advice.note && make("p", { class: "soft" }, advice.note)];
}

/// What /v1/berth/explain says of the job, asked once, and again with the button.
export function explanation(id, namespace) {
  const out = make("div", { class: "explain" });
  const ask = async () => {
    out.replaceChildren(make("p", { class: "soft" }, "examining the nodes …"));
    try {
      const answer = await put("/v1/berth/explain", { JobID: id, Namespace: namespace });
      const again = make("button", { name: "explain", onclick: ask }, "Examine again");
      if (answer.Error) return out.replaceChildren(make("p", { class: "bad" }, answer.Error), again);
      const refused = (answer.Applier?.Nodes || []).map((node) => [nodeLink(node.NodeID, node.NodeName), node.Reason]);
      const parts = (answer.Advice || []).map(reasons).flat().filter(Boolean);
      if (!parts.length) parts.push(make("p", {}, answer.Fits ? "Registered now, all of it would fit." : "No reason was found."));
      out.replaceChildren(...parts, ...(refused.length ? [table("Refused by the plan applier", ["node", "the plan applier refuses"], refused)] : []), again);
    } catch (error) {
      out.replaceChildren(make("p", { class: "bad" }, error.status === 403 ? "Explanations need a management token." : error.message));
    }
    return undefined;
  };
  ask();
  return out;
}

function groupCells(job, summary, forms) {
  return (job.TaskGroups || []).map((group) => {
    const has = summary[group.Name] || {}, sum = (field) => (group.Tasks || []).reduce((total, task) => total + (task.Resources?.[field] || 0), 0);
    if (!forms.has(group.Name)) forms.set(group.Name, scaleForm(job, group.Name, group.Count));
    return [group.Name, job.Stop ? "stopped" : integer(group.Count), integer(has.Running), integer(has.Starting),
      make("span", { class: has.Queued ? "bad" : "" }, integer(has.Queued)), integer(has.Failed), integer(has.Lost), integer(has.Unknown), integer(has.Complete),
      megahertz(sum("CPU")), mebibytes(sum("MemoryMB")), ["service", "batch"].includes(job.Type) && !job.Stop ? forms.get(group.Name) : ""];
  });
}

export function jobView(id, namespace) {
  const path = `/v1/job/${at(id)}`, query = { namespace };
  const head = new Part(), groups = new Part(), blocked = new Part(), forms = new Map();
  const ofJob = () => equals("JobID", id);
  const allocations = partOf("allocations", namespace, ofJob), evaluations = partOf("evaluations", namespace, ofJob),
    deployments = partOf("deployments", namespace, ofJob, { perPage: 5 });
  const root = make("div", {}, head.element, groups.element, blocked.element, section("Deployments", deployments.element),
    section("Allocations", allocations.element), section("Evaluations", evaluations.element),
    section("Definition", source("as it is stored", () => get(path, query)), source("versions", () => get(`${path}/versions`, query)),
      source("as it was submitted", async () => get(`${path}/submission`, { ...query, version: (await get(path, query)).Version }))));
  async function refresh() {
    const lists = Promise.all([allocations.refresh(), evaluations.refresh(), deployments.refresh()]);
    const [job, found] = await Promise.all([get(path, query), get(`${path}/summary`, query)]);
    const summary = found.Summary || {}, queued = Object.values(summary).some((group) => group.Queued > 0);
    head.show(`${job.ModifyIndex}/${job.Status}`, () => [facts([["status", pill(job.Status)], ["type", job.Type], ["priority", job.Priority],
      ["namespace", job.Namespace], ["node pool", job.NodePool], ["datacenters", (job.Datacenters || []).join(", ")], ["version", job.Version],
      ["submitted", time(job.SubmitTime)], job.ParentID && ["parent", jobLink(job.ParentID, job.Namespace)],
      job.StatusDescription && ["note", job.StatusDescription]].filter(Boolean))]);
    groups.show(JSON.stringify([job.ModifyIndex, summary]), () => [section("Groups", table("Groups",
      ["group", "count", "running", "starting", "not placed", "failed", "lost", "unknown", "complete", "cpu each", "memory each", "scale"],
      groupCells(job, summary, forms)))]);
    blocked.show(queued, () => (queued ? [section("Why is it blocked?", explanation(id, namespace))] : []));
    await lists;
  }
  return { title: `Job ${id}`, root, refresh };
}

// ---------------------------------------------------------------- node

function nodeMeters(node) {
  const has = node.NodeResources || {}, kept = node.ReservedResources || {}, inUse = live.byId.get(node.ID);
  const totals = [["cpu", (has.Cpu?.CpuShares || 0) - (kept.Cpu?.CpuShares || 0), megahertz, 2],
    ["memory", (has.Memory?.MemoryMB || 0) - (kept.Memory?.MemoryMB || 0), mebibytes, 3], ["disk", (has.Disk?.DiskMB || 0) - (kept.Disk?.DiskMB || 0), mebibytes, 4]];
  return totals.map(([name, total, text, field]) => {
    if (!inUse) return facts([[name, text(total)]]);
    const used = Math.round((inUse[field] * total) / 1000);
    return meter(name, used, total, `${text(used)} of ${text(total)}`);
  });
}

export function nodeView(id) {
  const path = `/v1/node/${at(id)}`;
  const head = new Part(), use = make("div", { class: "meters" }), drain = new Part(), events = new Part(), attributes = new Part();
  const allocations = partOf("allocations", "*", () => equals("NodeID", id));
  let node = null;
  const root = make("div", {}, head.element, use,
    section("Changes", make("div", { class: "row" }, drain.element, faultForm(id))), section("Allocations", allocations.element), events.element, attributes.element);
  async function refresh() {
    const list = allocations.refresh();
    node = await get(path);
    view.title = `Node ${node.Name}`;
    const strategy = node.DrainStrategy;
    head.show(JSON.stringify([node.ModifyIndex, node.Status]), () => [facts([["name", node.Name], ["ID", node.ID], ["status", pill(node.Status)],
      ["eligibility", pill(strategy ? "draining" : node.SchedulingEligibility)],
      strategy && ["drain until", strategy.Deadline > 0 ? time(strategy.ForceDeadline) : strategy.Deadline < 0 ? "now: it is forced" : "all are gone"],
      ["datacenter", node.Datacenter], ["class", node.NodeClass || "none"], ["pool", node.NodePool],
      ["drivers", Object.entries(node.Drivers || {}).filter(([, driver]) => driver.Healthy).map(([name]) => name).join(", ") || "none"],
      node.LastDrain && ["last drain", `${node.LastDrain.Status}, ${time(node.LastDrain.UpdatedAt)}`]].filter(Boolean))]);
    replace(use, nodeMeters(node));
    drain.show(`${Boolean(strategy)} ${node.SchedulingEligibility}`, () =>
      [strategy ? stopDrainForm(id) : drainForm(id), strategy ? "" : eligibilityForm(id, node.SchedulingEligibility === "eligible")]);
    events.show(node.ModifyIndex, () => [section("Events", table("Events of the node", ["time", "from", "what"],
      (node.Events || []).slice().reverse().map((event) => [time(event.Timestamp), event.Subsystem, event.Message])))]);
    attributes.show(node.CreateIndex, () => [section("Attributes", ...[["attributes", node.Attributes], ["metadata", node.Meta]].map(([name, values]) =>
      make("details", {}, make("summary", {}, `${Object.keys(values || {}).length} ${name}`),
        table(name, ["name", "value"], Object.entries(values || {}).sort(([a], [b]) => (a < b ? -1 : 1))))), source("as it is stored", () => get(path)))]);
    await list;
  }
  const onTick = (message) => {
    if (node && message.changed.some((changed) => changed[6] === id)) replace(use, nodeMeters(node));
  };
  const view = { title: `Node ${short(id)}`, root, refresh, onTick };
  return view;
}

// ---------------------------------------------------------------- allocation

function placement(metric) {
  if (!metric) return [];
  const scores = metric.ScoreMetaData || [], names = [...new Set(scores.flatMap((one) => Object.keys(one.Scores || {})))].sort();
  const number = (value) => (value === undefined ? "" : value.toFixed(3));
  return [facts([["nodes visited", integer(metric.NodesEvaluated)], ["filtered", integer(metric.NodesFiltered)], ["without room", integer(metric.NodesExhausted)],
    ["nodes in the pool", integer(metric.NodesInPool)]]),
  table("Scores", ["node", "score", ...names], scores.map((one) => [nodeLink(one.NodeID, live.byId.get(one.NodeID)?.[7]), number(one.NormScore),
    ...names.map((name) => number((one.Scores || {})[name]))]), "no scores are stored")];
}

function taskRows(states) {
  return Object.entries(states || {}).map(([name, task]) => [name, pill(task.Failed ? "failed" : task.State === "dead" ? "complete" : task.State), integer(task.Restarts),
    time(task.StartedAt), time(task.FinishedAt)]);
}

export function allocationView(id) {
  const path = `/v1/allocation/${at(id)}`;
  const head = new Part(), tasks = new Part(), where = new Part(), stop = new Part();
  const root = make("div", {}, head.element, stop.element, tasks.element, where.element, section("Definition", source("as it is stored", () => get(path))));
  async function refresh() {
    const alloc = await get(path), resources = alloc.AllocatedResources || {};
    view.title = `Allocation ${alloc.Name}`;
    const perTask = Object.values(resources.Tasks || {}), sum = (value) => perTask.reduce((total, task) => total + (value(task) || 0), 0);
    const ports = (resources.Shared?.Ports || []).map((port) => `${port.Label} ${port.Value}`).join(", ");
    head.show(alloc.ModifyIndex, () => [facts([["name", alloc.Name], ["ID", alloc.ID], ["job", jobLink(alloc.JobID, alloc.Namespace)], ["version", alloc.Job?.Version],
      ["group", alloc.TaskGroup], ["node", nodeLink(alloc.NodeID, alloc.NodeName)], ["status", pill(alloc.ClientStatus)],
      ["wanted", alloc.DesiredStatus + (alloc.DesiredDescription ? `: ${alloc.DesiredDescription}` : "")], ["evaluation", idLink("evaluation", alloc.EvalID)],
      alloc.DeploymentID && ["deployment", idLink("deployment", alloc.DeploymentID)],
      alloc.DeploymentStatus && ["health", alloc.DeploymentStatus.Healthy === null ? "not known yet" : pill(alloc.DeploymentStatus.Healthy ? "healthy" : "unhealthy")],
      ["cpu", megahertz(sum((task) => task.Cpu?.CpuShares))], ["memory", mebibytes(sum((task) => task.Memory?.MemoryMB))], ["disk", mebibytes(resources.Shared?.DiskMB || 0)],
      ports && ["ports", ports], alloc.PreviousAllocation && ["replaces", idLink("allocation", alloc.PreviousAllocation)],
      alloc.NextAllocation && ["replaced by", idLink("allocation", alloc.NextAllocation)],
      alloc.PreemptedByAllocation && ["evicted for", idLink("allocation", alloc.PreemptedByAllocation)],
      ["created", time(alloc.CreateTime)], ["changed", time(alloc.ModifyTime)]].filter(Boolean))]);
    stop.show(alloc.DesiredStatus, () => (alloc.DesiredStatus === "run" ? [stopAllocationForm(alloc.ID, alloc.Namespace)] : []));
    tasks.show(alloc.AllocModifyIndex + "/" + alloc.ModifyIndex, () => {
      const events = Object.entries(alloc.TaskStates || {}).flatMap(([name, task]) => (task.Events || []).map((event) => [event.Time, name, event.Type, event.DisplayMessage])).reverse();
      events.sort((a, b) => b[0] - a[0]);
      return [section("Tasks", table("Tasks", ["task", "state", "restarts", "began", "ended"], taskRows(alloc.TaskStates), "no task began")),
        section("Events", table("Events of tasks", ["time", "task", "event", "what"], events.map(([when, ...rest]) => [time(when), ...rest])))];
    });
    where.show(`${alloc.CreateIndex} ${live.nodes.size > 0}`, () => [section("Why this node?", ...placement(alloc.Metrics))]);
  }
  const view = { title: `Allocation ${short(id)}`, root, refresh };
  return view;
}

// ---------------------------------------------------------------- evaluation and deployment

export function evaluationView(id) {
  const path = `/v1/evaluation/${at(id)}`;
  const head = new Part(), failed = new Part();
  let evaluation = null;  // its job comes first in the filter, which makes the list fast
  const placed = partOf("allocations", "*", () => all(equals("JobID", evaluation.JobID), equals("EvalID", id)));
  const root = make("div", {}, head.element, failed.element, section("Allocations that it placed", placed.element), section("Definition", source("as it is stored", () => get(path))));
  async function refresh() {
    evaluation = await get(path);
    const list = placed.refresh(), lacks = Object.entries(evaluation.FailedTGAllocs || {});
    head.show(evaluation.ModifyIndex, () => [facts([["ID", evaluation.ID], ["status", pill(evaluation.Status)], evaluation.StatusDescription && ["note", evaluation.StatusDescription],
      ["job", evaluation.JobID ? jobLink(evaluation.JobID, evaluation.Namespace) : "–"], ["type", evaluation.Type], ["trigger", evaluation.TriggeredBy],
      ["priority", evaluation.Priority], evaluation.NodeID && ["node", nodeLink(evaluation.NodeID)],
      evaluation.DeploymentID && ["deployment", idLink("deployment", evaluation.DeploymentID)],
      evaluation.PreviousEval && ["previous", idLink("evaluation", evaluation.PreviousEval)], evaluation.NextEval && ["next", idLink("evaluation", evaluation.NextEval)],
      evaluation.BlockedEval && ["blocked follow-up", idLink("evaluation", evaluation.BlockedEval)],
      evaluation.WaitUntil && !evaluation.WaitUntil.startsWith("0001") && ["waits until", time(evaluation.WaitUntil)],
      ["created", time(evaluation.CreateTime)], ["changed", time(evaluation.ModifyTime)]].filter(Boolean))]);
    failed.show(evaluation.ModifyIndex, () => (lacks.length ? [section("Not placed", table("Groups that were not placed",
      ["group", "not placed", "nodes visited", "filtered", "without room", "why"], lacks.map(([group, metric]) => [group, integer(1 + metric.CoalescedFailures),
        integer(metric.NodesEvaluated), integer(metric.NodesFiltered), integer(metric.NodesExhausted), whyNotPlaced(metric)]))),
    ...(evaluation.Status === "blocked" ? [section("Why is it blocked?", explanation(evaluation.JobID, evaluation.Namespace))] : [])] : []));
    await list;
  }
  return { title: `Evaluation ${short(id)}`, root, refresh };
}

export function deploymentView(id) {
  const path = `/v1/deployment/${at(id)}`;
  const head = new Part(), groups = new Part();
  let deployment = null;  // its job comes first in the filter, which makes the list fast
  const allocations = partOf("allocations", "*", () => all(equals("JobID", deployment.JobID), equals("DeploymentID", id)));
  const root = make("div", {}, head.element, groups.element, section("Allocations", allocations.element), section("Definition", source("as it is stored", () => get(path))));
  async function refresh() {
    deployment = await get(path);
    const list = allocations.refresh();
    const over = ["successful", "failed", "cancelled"].includes(deployment.Status);
    head.show(deployment.ModifyIndex, () => [facts([["ID", deployment.ID], ["status", pill(deployment.Status)], ["note", deployment.StatusDescription],
      ["job", jobLink(deployment.JobID, deployment.Namespace)], ["version", deployment.JobVersion], ["began", time(deployment.CreateTime)],
      [over ? "took" : "last change", over ? duration((deployment.ModifyTime - deployment.CreateTime) / 1e9) : time(deployment.ModifyTime)]])]);
    groups.show(deployment.ModifyIndex, () => [section("Groups", table("Groups of the deployment",
      ["group", "wanted", "placed", "healthy", "unhealthy", "canaries", "promoted", "share healthy"], Object.entries(deployment.TaskGroups || {}).map(([name, group]) =>
        [name, integer(group.DesiredTotal), integer(group.PlacedAllocs), integer(group.HealthyAllocs), integer(group.UnhealthyAllocs), integer(group.DesiredCanaries),
          group.DesiredCanaries ? String(group.Promoted) : "", percent(group.HealthyAllocs, group.DesiredTotal)])))]);
    await list;
  }
  return { title: `Deployment ${short(id)}`, root, refresh };
}
