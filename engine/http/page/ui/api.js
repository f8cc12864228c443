// Requests to the server. The token of access control is in a cookie that scripts cannot read (`/ui/?token=`).

export class Refused extends Error {
  constructor(status, text) {
    super(text.trim() || `the server answered ${status}`);
    this.status = status;
  }
}

async function call(method, path, body) {
  const answer = await fetch(path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Refused(answer.status, text);
  return { value: text ? JSON.parse(text) : null, next: answer.headers.get("X-Nomad-NextToken") || "" };
}

function withQuery(path, query) {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== "" && value !== undefined) out.set(name, value);
  return out.size ? `${path}?${out}` : path;
}

export const get = async (path, query = {}) => (await call("GET", withQuery(path, query))).value;
/// One page of a list: { value, next }, `next` is the token of the page that follows.
export const page = (path, query) => call("GET", withQuery(path, query));
export const put = async (path, body, query = {}) => (await call("PUT", withQuery(path, query), body)).value;

/// A filter expression: the text occurs in one of the fields, in upper or lower case. "": no text.
export function contains(fields, text) {
  if (!text) return "";
  const pattern = JSON.stringify("(?i)" + text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return "(" + fields.map((field) => `${field} matches ${pattern}`).join(" or ") + ")";
}

export const equals = (field, value) => (value ? `${field} == ${JSON.stringify(value)}` : "");
export const all = (...filters) => filters.filter(Boolean).join(" and ");
