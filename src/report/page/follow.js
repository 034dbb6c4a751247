// @ts-check
// follow.js - one instruction through the stages of a compile, and back to the line of Python that
// it is from. Passes rename instructions: where the name is gone, the instruction with the same
// origin (framework's name and stack frame) is taken for it.

/**
 * Where an instruction stands in a stage.
 * @typedef {{line: number, name: string, inside: string}} Seat
 */

/**
 * The rows of the tables in a module's header, by table and number.
 * @param {string[]} lines @returns {Object<string, Map<string, string>>}
 */
function sourceTables(lines) {
  const tables = /** @type {Object<string, Map<string, string>>} */ ({ FileNames: new Map(), FunctionNames: new Map(), FileLocations: new Map(), StackFrames: new Map() });
  let now = /** @type {Map<string, string>|null} */ (null);
  for (const line of lines) {
    const text = line.trim(), row = /^(\d+) (.*)$/.exec(text);
    if (Object.hasOwn(tables, text)) now = tables[text];
    else if (now && row) now.set(row[1], row[2]);
    else if (text.endsWith("{")) break;   // the first computation
  }
  return tables;
}

/**
 * What the metadata of an instruction says: the framework's name, and "file:line (function)".
 * @param {string} line @param {Object<string, Map<string, string>>} tables
 */
function originOf(line, tables) {
  const field = (/** @type {string} */ text, /** @type {string} */ name) => (new RegExp(`\\b${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\d+))`).exec(text) || []).slice(1).find((v) => v !== undefined) || "";
  const metadata = (/metadata=\{(.*)\}/.exec(line) || ["", ""])[1], frame = field(metadata, "stack_frame_id");
  let file = field(metadata, "source_file"), at = field(metadata, "source_line"), by = "";
  const location = tables.FileLocations.get(field(tables.StackFrames.get(frame) || "", "file_location_id"));
  if (!file && location) {
    file = (tables.FileNames.get(field(location, "file_name_id")) || "").replace(/^"|"$/g, "");
    by = (tables.FunctionNames.get(field(location, "function_name_id")) || "").replace(/^"|"$/g, "");
    at = field(location, "line");
  }
  return { name: field(metadata, "op_name"), key: field(metadata, "op_name") + "|" + frame + "|" + at, place: file && file + (at ? ":" + at : "") + (by ? ` (${by})` : "") };
}

/**
 * The seats of all instructions of a stage, by name and by origin (the first of several).
 * @param {string[]} lines @param {Object<string, Map<string, string>>} tables
 */
function seatsOf(lines, tables) {
  const byName = /** @type {Map<string, Seat>} */ (new Map()), byOrigin = /** @type {Map<string, Seat>} */ (new Map());
  let inside = "";
  lines.forEach((text, line) => {
    const name = instructionName(text);
    if (!name) { if (text.trimEnd().endsWith("{")) inside = (/^\s*(?:ENTRY )?%?([\w.-]+)/.exec(text) || ["", ""])[1]; return; }
    const seat = { line, name, inside }, origin = originOf(text, tables);
    byName.set(name, seat);
    if (origin.name && !byOrigin.has(origin.key)) byOrigin.set(origin.key, seat);
  });
  return { byName, byOrigin };
}

/**
 * Where the instruction `name` of stage `at` is in every stage; null where it is not.
 * @param {string[][]} stages @param {number} at @param {string} name @returns {{seats: (Seat|null)[], origin: {name: string, place: string}}}
 */
function follow(stages, at, name) {
  const tables = sourceTables(stages[0]), seats = /** @type {(Seat|null)[]} */ (new Array(stages.length).fill(null));
  const known = stages.map((lines, i) => (i && lines === stages[i - 1] ? null : seatsOf(lines, tables)));
  known.forEach((k, i) => { if (!k) known[i] = known[i - 1]; });
  const start = known[at] && /** @type {any} */ (known[at]).byName.get(name);
  let origin = start ? originOf(stages[at][start.line], tables) : { name: "", key: "", place: "" };
  if (start) seats[at] = start;
  for (const step of [-1, 1]) {
    let now = start, key = origin.name ? origin.key : "";
    for (let i = at + step; now && i >= 0 && i < stages.length; i += step) {
      const k = /** @type {any} */ (known[i]), next = k.byName.get(now.name) || (key ? k.byOrigin.get(key) : null);
      if (!next) break;
      seats[i] = now = next;
      const found = originOf(stages[i][next.line], tables);
      if (found.name) key = found.key;
      if (!origin.place && found.place) origin = found;
    }
  }
  return { seats, origin };
}

/**
 * The trail in words: its source, and a button for each stage where its line became another.
 * @param {any[]} stages @param {string[][]} texts @param {{seats: (Seat|null)[], origin: {name: string, place: string}}} trail @param {(i: number) => void} show
 */
function trailOf(stages, texts, trail, show) {
  const first = trail.seats.findIndex((s) => s), buttons = [];
  let before = "", gone = first < 0;
  for (let i = Math.max(first, 0); i < stages.length && !gone; i++) {
    const seat = trail.seats[i], text = seat ? texts[i][seat.line].trim().replace(/, metadata=\{.*\}/, "") : "";
    gone = !seat;
    if (text === before) continue;
    before = text;
    const what = seat ? `${seat.name}${seat.inside && !/^main/.test(seat.inside) ? " in " + seat.inside : ""}` : "gone";
    buttons.push(h("button", { onclick: () => show(i), title: text }, `${stages[i].pass || "input"}: ${what}`));
  }
  return [h("p", {}, h("b", {}, trail.origin.place || "no line of source is known"), trail.origin.name ? `  ${trail.origin.name}` : ""), h("div", { class: "tools" }, ...buttons)];
}
