// @ts-check
// core.js - what every part of the page uses: elements made from text alone (nothing in the data is ever taken as markup), numbers with units,
// sections with links, charts with their data as CSV.

/** @typedef {{name: string, unit: string}} Column */
/** @typedef {{view: string, columns: Column[], rows: Object<string, any>[], notes: string[]}} TableData */
/** @typedef {{title: string, parts: {name: string, text: string, share: number}[]}} Bar */
/**
 * What is seen first of a part; computed by the program, printed here.
 * @typedef {{sentence: string|null, bar: Bar|null, numbers: {value: string, label: string, tone: string}[], next: string|null}} Lead
 */
/**
 * `sums` is what tables and charts of a kind add up (report_sums.h): computed by the program too.
 * @typedef {{kind: string, label: string, command: string, lead?: Lead, sums?: any, json: any}} Part
 */

/** Makes an element. Attributes that begin with "on" are listeners; children are elements or texts.
 * @param {string} tag @param {Object<string, any>} [attributes] @param {...(Node|string|number|null|undefined|false)} children @returns {HTMLElement} */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  for (const child of children)
    if (child != null && child !== false) element.append(child instanceof Node ? child : String(child));
  return element;
}

/** @param {number} value @param {[number, string][]} scales */
function scaled(value, scales) {
  const size = Math.abs(value);
  for (const [scale, name] of scales) if (size >= scale) return three(value / scale) + " " + name;
  const last = scales[scales.length - 1];
  return three(value / last[0]) + " " + last[1];
}

/**
 * Three digits, no exponent; what is no number is a dash.
 * @param {number|null|undefined} value
 */
function three(value) {
  if (value == null || !isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 0.01 ? value.toFixed(2) : value.toPrecision(2);
}

/** @param {number|null|undefined} s */
function seconds(s) {
  return s == null || !isFinite(s) ? "–" : scaled(s, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
}

const SI = /** @type {[number, string][]} */ ([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]);
const BINARY = /** @type {[number, string][]} */ ([[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]);

/**
 * A value of a column as people read it.
 * @param {any} value @param {string} unit @returns {string}
 */
function shown(value, unit) {
  if (value == null) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return typeof value === "object" ? JSON.stringify(value) : String(value);
  if (!isFinite(value)) return String(value);
  switch (unit) {
    case "s": return seconds(value);
    case "ns": return seconds(value * 1e-9);
    case "us": return seconds(value * 1e-6);
    case "bytes": return scaled(value, BINARY);
    case "bytes/s": return scaled(value, BINARY) + "/s";
    case "flops": return scaled(value, SI).trim();
    case "flop/s": return scaled(value, SI) + "flop/s";
    case "ratio": return three(value) + "×";
    case "fraction": return three(100 * value) + " %";
    case "percent": return three(value) + " %";
    case "p": return value >= 0.01 ? three(value) : value === 0 ? "0" : value.toExponential(1);
    default: return Number.isInteger(value) ? String(value) : three(value);
  }
}

/**
 * The unit that a key's name says, where no column does.
 * @param {string} key
 */
function unitOfKey(key) {
  if (/_ns$/.test(key)) return "ns";
  if (/bytes$/.test(key)) return "bytes";
  if (/flops$/.test(key)) return "flops";
  if (/(seconds|_time|^median$|^low$|^high$|^mean$|^min$|^max$)$/.test(key)) return "s";
  if (/(ratio|fraction|share)$/.test(key)) return "fraction";
  return "";
}

/**
 * The last part of a path, for sentences.
 * @param {any} path
 */
function short(path) {
  return String(path || "the program").split("/").pop() || String(path);
}

/**
 * "1 row", "2 rows".
 * @param {number} count @param {string} noun @returns {string}
 */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
/** @param {string} name @param {(string|number|null)[][]} rows */
function saveCsv(name, rows) {
  const field = (/** @type {any} */ v) => (v == null ? "" : /[",\r\n]/.test(String(v)) ? '"' + String(v).replace(/"/g, '""') + '"' : String(v));
  const text = rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name + ".csv" });
  document.body.append(link);
  link.click();
  link.remove();
}

let sectionNumber = 0;
/** The command that repeats the part that is being drawn. */
let currentCommand = "";

/**
 * What the address says of a section: "#s3&stage=5".
 * @param {string} id @param {string} key @returns {string|null}
 */
function linked(id, key) {
  const [target, ...rest] = decodeURIComponent(location.hash.slice(1)).split("&");
  const found = target === id && rest.map((r) => r.split("=")).find(([k]) => k === key);
  return found ? found.slice(1).join("=") : null;
}

/**
 * Puts a state into the address, so that it can be sent.
 * @param {string} id @param {string} key @param {string} value
 */
function setLinked(id, key, value) {
  try { history.replaceState(null, "", "#" + encodeURIComponent(id) + "&" + key + "=" + encodeURIComponent(value)); } catch { /* some viewers forbid it */ }
}

/**
 * A section with a heading that can be linked to, listed in the contents.
 * @param {string} title @param {number} level @param {string} [id]
 */
function section(title, level, id) {
  const name = id || "s" + ++sectionNumber;
  const heading = h("h" + level, { id: name }, title, " ", h("a", { href: "#" + name, class: "dim", "aria-label": "Link to " + title }, "#"));
  const box = h("section", { "aria-labelledby": name }, heading);
  const contents = document.getElementById("contents");
  if (contents) contents.append(h("a", { href: "#" + name, class: level > 2 ? "sub" : "" }, title));
  return box;
}

/** The first view of a part: sentence, one bar, three numbers, what to do. All of it is text and shares that the program wrote.
 * @param {Part} part @returns {HTMLElement|null} */
function leadView(part) {
  const lead = part.lead;
  if (!lead) return null;
  const box = h("div", { class: "lead" });
  if (lead.sentence) box.append(h("p", { class: "answer" }, lead.sentence));
  if (lead.bar) box.append(barView(lead.bar));
  if (lead.numbers.length) box.append(h("div", { class: "cards" }, ...lead.numbers.map((n) => h("div", { class: "card" }, h("b", { class: n.tone }, n.value), h("span", {}, n.label)))));
  if (lead.next) box.append(h("p", { class: "next" }, h("b", {}, "Next "), lead.next));
  return box;
}

/**
 * Parts that do not overlap, side by side over the whole width; under it what they are.
 * @param {Bar} bar
 */
function barView(bar) {
  const percent = (/** @type {number} */ share) => (share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`);
  const said = bar.parts.map((p) => `${p.name} ${p.text} (${percent(p.share)})`).join(", ");
  return h("div", { class: "whole" }, h("div", { class: "dim" }, bar.title),
    h("div", { class: "bar", role: "img", "aria-label": `${bar.title}: ${said}` }, ...bar.parts.map((p, i) => h("div", { style: `flex-grow:${p.share};background:var(--part${i})`, title: `${p.name}: ${p.text}, ${percent(p.share)}` }))),
    h("div", { class: "keys" }, ...bar.parts.map((p, i) => h("span", {}, h("i", { style: `background:var(--part${i})` }), p.name, " ", h("b", {}, percent(p.share)), h("span", { class: "dim" }, " " + p.text)))));
}

/**
 * The first view of a part, and how far its numbers can be trusted.
 * @param {HTMLElement} top @param {Part} part @param {any} json
 */
function leads(top, part, json) {
  const lead = leadView(part), note = machineNote(json.environment);
  if (lead) top.append(lead);
  if (note) top.append(note);
}

/**
 * What most readers do not need is closed; a link to something in it opens it.
 * @param {string} title @param {string} more @param {...Node} children
 */
function folded(title, more, ...children) {
  return h("details", { class: "folded" }, h("summary", {}, title, h("span", { class: "dim" }, " " + more)), ...children);
}

// Eight colours that keep apart in both schemes and for the commonest colour blindness (after Okabe & Ito).
const PALETTE = ["#2f6fb5", "#e08a1e", "#3a9467", "#c0504d", "#7e63b8", "#35a3b8", "#b0702f", "#7d8793"], PALETTE_DARK = ["#6aa9ec", "#f0ab4d", "#61c595", "#ef8682", "#ab93e6", "#62cadd", "#d59d62", "#a4aeba"];
/** @type {{chart: any, option: () => any}[]} */
const charts = [];
/**
 * Charts that were not seen yet.
 * @type {Set<() => void>}
 */
const waiting = new Set();

/** For paper, which has no scrolling. */
function drawAll() {
  for (const draw of [...waiting]) draw();
}

function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

/** A chart with its data. `option` is called again when the theme changes.
 * @param {{title: string, height?: number, option: () => any, csv: () => (string|number|null)[][], describe: string, onclick?: (p: any) => void}} spec */
function chart(spec) {
  const command = currentCommand, how = h("code", { class: "how", hidden: true }, command);
  const box = h("div", { class: "chart", role: "img", "aria-label": spec.title + ". " + spec.describe, tabindex: "0", style: spec.height ? `height:${spec.height}px` : "" });
  const block = h("figure", { style: "margin:0" }, box,
    h("figcaption", { class: "tools" }, h("span", {}, spec.describe), h("button", { onclick: () => saveCsv(spec.title.replace(/\W+/g, "-"), spec.csv()), "aria-label": "Data of " + spec.title + " as CSV" }, "CSV"),
      command && h("button", { "aria-expanded": "false", onclick: (/** @type {Event} */ e) => { how.hidden = !how.hidden; /** @type {HTMLElement} */ (e.currentTarget).setAttribute("aria-expanded", String(!how.hidden)); } }, "command"), how));
  // Drawn when it comes into view: a report of many charts opens at once.
  const draw = () => {
    const instance = /** @type {any} */ (globalThis).echarts.init(box, isDark() ? "dark" : null, { renderer: "canvas" });
    const base = { backgroundColor: "transparent", animation: false, aria: { enabled: true }, color: isDark() ? PALETTE_DARK : PALETTE, textStyle: { fontFamily: "system-ui, sans-serif" } };
    const set = () => instance.setOption({ ...base, ...spec.option() }, true);
    set();
    if (spec.onclick) instance.on("click", spec.onclick);
    charts.push({ chart: instance, option: set });
    new ResizeObserver(() => instance.resize()).observe(box);
  };
  const watcher = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && once(), { rootMargin: "300px" });
  const once = () => {
    watcher.disconnect();
    if (waiting.delete(once)) draw();
  };
  waiting.add(once);
  watcher.observe(box);
  return block;
}

/**
 * Room for the labels of categories, less on narrow pages.
 * @param {string[]} names
 */
function labelRoom(names) {
  return Math.min(20 + 6.2 * Math.max(4, ...names.map((n) => n.length)), Math.max(90, 0.4 * Math.min(innerWidth, 560)));
}

/**
 * How many repetitions, who chose them and what ended it.
 * @param {any} sampling
 */
function samplingNote(sampling) {
  return sampling && sampling.text ? h("p", { class: "dim" }, sampling.text) : null;
}

/**
 * A tooltip that is drawn as text on the canvas, never as markup.
 * @param {string} trigger @param {(p: any) => string} formatter
 */
function tip(trigger, formatter) {
  return { trigger, renderMode: "richText", confine: true, axisPointer: { type: trigger === "axis" ? "shadow" : "none" }, formatter };
}

/**
 * How quiet the machine was, from A (nothing disturbs) to D, and why.
 * @param {any} environment
 */
function machineNote(environment) {
  if (!environment || !environment.grade) return null;
  const reasons = (environment.grade_reasons || []).join("; ");
  return h("p", { class: "dim" }, "How quiet the machine was, from A (best) to D: ", h("b", { class: /[AB]/.test(environment.grade) ? "good" : "warn" }, environment.grade), reasons ? ": " + reasons : "");
}
