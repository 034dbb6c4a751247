// @ts-check
// tables.js - one table: sorted by a click or Enter on a heading, filtered by text, shown in pieces so that 100,000 rows open at once.

/** @param {TableData} data @param {{bar?: string, onrow?: (row: Object<string, any>) => void, limit?: number}} [options] */
function tableView(data, options) {
  const PIECE = (options && options.limit) || 200;
  let rows = data.rows.slice(), sorted = "", down = true, visible = PIECE, filter = "";
  const numeric = new Map(data.columns.map((c) => [c.name, data.rows.some((r) => typeof r[c.name] === "number")]));
  // Columns of short words are not broken.
  const brief = new Set(data.columns.filter((c) => data.rows.every((r) => r[c.name] == null || String(r[c.name]).length <= 18)).map((c) => c.name));
  const bar = options && options.bar, most = bar ? Math.max(...data.rows.map((r) => (typeof r[bar] === "number" ? r[bar] : 0)), 0) : 0;
  const body = h("tbody"), more = h("button", { onclick: () => ((visible += 10 * PIECE), fill()) }, "more rows"), count = h("span");
  const heads = data.columns.map((c) =>
    h("th", { class: numeric.get(c.name) ? "n" : "", tabindex: "0", scope: "col", onclick: () => sort(c.name), onkeydown: (/** @type {KeyboardEvent} */ e) => e.key === "Enter" && sort(c.name) },
      c.name.replace(/_/g, " ")));

  function sort(/** @type {string} */ name) {
    down = sorted === name ? !down : numeric.get(name) === true;
    sorted = name;
    const sign = down ? -1 : 1;
    rows.sort((a, b) => {
      const x = a[name], y = b[name];
      if (x == null || y == null) return x == null ? (y == null ? 0 : 1) : -1;
      return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
    });
    heads.forEach((head, i) => head.setAttribute("aria-sort", data.columns[i].name === name ? (down ? "descending" : "ascending") : "none"));
    fill();
  }

  function fill() {
    const wanted = filter ? rows.filter((r) => data.columns.some((c) => r[c.name] != null && String(r[c.name]).toLowerCase().includes(filter))) : rows;
    body.replaceChildren(...wanted.slice(0, visible).map((row) =>
      h("tr", options && options.onrow ? { tabindex: "0", class: "opens", onclick: () => options.onrow && options.onrow(row), onkeydown: (/** @type {KeyboardEvent} */ e) => e.key === "Enter" && options.onrow && options.onrow(row) } : {},
        ...data.columns.map((c) => {
          const cell = h("td", { class: (numeric.get(c.name) ? "n" : brief.has(c.name) ? "short" : "") + (c.name === bar ? " bar" : "") }, shown(row[c.name], c.unit || unitOfKey(c.name)));
          if (data.columns.length > 8 && cell.textContent && cell.textContent.length > 24) cell.title = cell.textContent;
          if (c.name === bar && most > 0) cell.style.setProperty("--w", (100 * (row[c.name] || 0)) / most + "%");
          return cell;
        }))));
    count.textContent = wanted.length === data.rows.length ? counted(wanted.length, "row") : `${wanted.length} of ${counted(data.rows.length, "row")}`;
    more.style.display = wanted.length > visible ? "" : "none";
  }

  fill();
  const search = h("input", { type: "search", placeholder: "filter", "aria-label": "Filter the rows of " + data.view, oninput: (/** @type {Event} */ e) => ((filter = /** @type {HTMLInputElement} */ (e.target).value.toLowerCase()), (visible = PIECE), fill()) });
  const csv = () => saveCsv(data.view, [data.columns.map((c) => c.name), ...data.rows.map((r) => data.columns.map((c) => (typeof r[c.name] === "object" && r[c.name] ? JSON.stringify(r[c.name]) : r[c.name])))]);
  return h("div", {},
    h("div", { class: "tools" }, data.rows.length > 8 && search, count, h("button", { onclick: csv, "aria-label": "Rows of " + data.view + " as CSV" }, "CSV"), more),
    h("div", { class: "scroll" }, h("table", { class: data.columns.length > 8 ? "wide" : "" }, h("thead", {}, h("tr", {}, ...heads)), body)),
    ...(data.notes || []).map((n) => h("p", { class: "dim" }, n)));
}

/**
 * A table from plain objects.
 * @param {string} view @param {Object<string, any>[]} rows @param {Object<string, string>} units column -> unit, in order
 */
function tableOf(view, rows, units) {
  return tableView({ view, rows, columns: Object.entries(units).map(([name, unit]) => ({ name, unit })), notes: [] });
}

/**
 * A pie and a treemap of where the time goes.
 * @param {string} title @param {TableData} data @param {string} name @param {string} value
 */
function shares(title, data, name, value) {
  const unit = (data.columns.find((c) => c.name === value) || { unit: "" }).unit;
  const list = data.rows.filter((r) => r[value] > 0).map((r) => ({ name: String(r[name]), value: r[value] })).sort((a, b) => b.value - a.value);
  const csv = () => [[name, value], ...list.map((x) => [x.name, x.value])];
  let tree = false;
  const holder = h("div");
  const draw = () => holder.replaceChildren(chart({
    title, describe: `${title}: ${list.length} names by ${value}`, csv, height: 300,
    option: () => ({
      tooltip: tip("item", (p) => `${p.name}\n${shown(p.value, unit)}${p.percent != null ? ` (${p.percent} %)` : ""}`),
      series: [tree ? { type: "treemap", data: list.slice(0, 400), roam: false, nodeClick: false, breadcrumb: { show: false }, label: { formatter: (/** @type {any} */ p) => p.name } }
                    : { type: "pie", radius: ["35%", "70%"], data: list, minShowLabelAngle: 8, label: { formatter: (/** @type {any} */ p) => `${p.name.slice(0, 40)} ${p.percent} %` } }],
    }),
  }));
  draw();
  return h("div", {}, h("div", { class: "tools" }, h("button", { onclick: () => ((tree = !tree), draw()) }, "pie / treemap")), holder);
}
