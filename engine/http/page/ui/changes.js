// Buttons that change the cluster: drain, eligibility, faults, scale, stop, speed. The result is shown next to the button.
import { put } from "./api.js";
import { make } from "./dom.js";

/// A form of one line. `act(values)` sends the request and returns what to say afterwards.
function form(label, fields, button, act) {
  const said = make("output", { class: "said", "aria-live": "polite" });
  const out = make("form", { class: "change", "aria-label": label, onsubmit: async (event) => {
    event.preventDefault();
    said.className = "said", said.textContent = "…";
    try {
      said.textContent = await act(Object.fromEntries(new FormData(out)));
    } catch (error) {
      said.className = "said bad", said.textContent = error.message;
    }
  } }, fields, make("button", { type: "submit" }, button), said);
  return out;
}

const field = (label, input) => make("label", {}, label, " ", input);
const seconds = (name, value) => make("input", { name, type: "number", min: "0", max: "31622400", step: "any", value, required: true });

export function drainForm(id) {
  return form("Drain", [field("deadline, s", seconds("deadline", "3600"))], "Drain", async ({ deadline }) => {
    // A deadline of 0 ns would mean none; the least is a nanosecond.
    const spec = { Deadline: Math.max(1, Math.round(Number(deadline) * 1e9)), IgnoreSystemJobs: false };
    await put(`/v1/node/${encodeURIComponent(id)}/drain`, { DrainSpec: spec });
    return "drains";
  });
}

export function stopDrainForm(id) {
  return form("End the drain", [], "End drain", async () => {
    await put(`/v1/node/${encodeURIComponent(id)}/drain`, { DrainSpec: null, MarkEligible: true });
    return "ended; the node is eligible";
  });
}

export function eligibilityForm(id, eligible) {
  return form("Eligibility", [], eligible ? "Mark ineligible" : "Mark eligible", async () => {
    await put(`/v1/node/${encodeURIComponent(id)}/eligibility`, { Eligibility: eligible ? "ineligible" : "eligible" });
    return "done";
  });
}

const kFaults = {
  partition: "cut off from the server", heal: "connect again", kill: "stop the client", start: "start the client",
  restart: "restart the client", slow: "delay its reports", lose: "remove the machine",
};

export function faultForm(id) {
  const kind = make("select", { name: "kind" }, Object.entries(kFaults).map(([value, text]) => make("option", { value }, `${value}: ${text}`)));
  const down = field("down, s", seconds("down", "30")), lag = field("delay, s", seconds("lag", "5"));
  const show = () => { down.hidden = kind.value !== "restart", lag.hidden = kind.value !== "slow"; };
  kind.addEventListener("change", show), show();
  return form("Fault", [field("fault", kind), down, lag], "Inject", async (values) => {
    if (values.kind === "lose" && !confirm("Remove this machine and all that runs there?")) return "not removed";
    const body = { Kind: values.kind, NodeID: id };
    if (values.kind === "restart") body.DownSeconds = Number(values.down);
    if (values.kind === "slow") body.LagSeconds = Number(values.lag);
    await put("/v1/berth/fault", body);
    return `${values.kind}: done`;
  });
}

export function scaleForm(job, group, count) {
  const input = make("input", { name: "count", type: "number", min: "0", max: "10000000", value: count, required: true, "aria-label": `count of group ${group}` });
  return form(`Scale group ${group}`, [input], "Scale", async (values) => {
    await put(`/v1/job/${encodeURIComponent(job.ID)}/scale`,
      { Count: Number(values.count), Target: { Job: job.ID, Namespace: job.Namespace, Group: group }, Message: "scaled from the status page" },
      { namespace: job.Namespace });
    return `count is ${values.count}`;
  });
}

export function stopAllocationForm(id, namespace) {
  return form("Stop", [], "Stop and replace", async () => {
    await put(`/v1/allocation/${encodeURIComponent(id)}/stop`, {}, { namespace });
    return "stopped";
  });
}

export const setSpeed = (speed) => put("/v1/berth/speed", { Speed: speed });
export const advance = (value) => put("/v1/berth/advance", { Seconds: value });
