// A table of one page of a list, with buttons for the next and the previous page. However long the list is, one page of
// it is fetched and shown.
import { page } from "./api.js";
import { make, replace } from "./dom.js";

export class PagedList {
  /// `query()` returns the parameters of the list, `row(object)` the cells of a row.
  constructor({ label, path, query, heads, row, empty, perPage = 50 }) {
    Object.assign(this, { label, path, query, row, heads, empty, perPage });
    this.tokens = [""], this.next = "";
    this.body = make("tbody");
    this.note = make("span", { class: "soft" });
    this.before = make("button", { name: "before", onclick: () => this.turn(-1) }, "← previous");
    this.after = make("button", { name: "after", onclick: () => this.turn(1) }, "next →");
    this.pager = make("div", { class: "pager" }, this.before, this.after, this.note);
    this.element = make("div", { class: "list" },
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
        make("table", {}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))), this.body)),
      this.pager);
  }

  /// Shows the first page; called when the parameters changed.
  restart() {
    this.tokens = [""];
    return this.refresh();
  }

  turn(step) {
    if (step > 0 && this.next) this.tokens.push(this.next), this.next = "";  // a second click waits for the answer
    else if (step < 0 && this.tokens.length > 1) this.tokens.pop();
    else return undefined;
    return this.refresh();
  }

  async refresh() {
    const serial = (this.serial = (this.serial || 0) + 1);
    try {
      const query = { ...this.query(), per_page: this.perPage, next_token: this.tokens[this.tokens.length - 1] };
      const { value, next } = await page(this.path, query);
      if (serial !== this.serial) return;  // a newer request is under way
      this.next = next;
      this.show(value || []);
    } catch (error) {
      if (serial === this.serial) this.fail(error);
    }
  }

  show(objects) {
    this.objects = objects;
    const rows = objects.map((object) => make("tr", {}, this.row(object).map((cell) => make("td", {}, cell ?? ""))));
    if (!rows.length) rows.push(make("tr", {}, make("td", { colspan: this.heads.length, class: "soft" }, this.empty || "none")));
    replace(this.body, rows);
    this.before.disabled = this.tokens.length < 2, this.after.disabled = !this.next;
    this.note.textContent = this.tokens.length > 1 || this.next ? `page ${this.tokens.length}` : objects.length ? `${objects.length} in all` : "";
  }

  fail(error) {
    this.before.disabled = this.after.disabled = true;
    this.body.replaceChildren(make("tr", {}, make("td", { colspan: this.heads.length, class: "bad" }, error.message)));
  }
}
