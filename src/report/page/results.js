// @ts-check
// results.js - runs on devices, captures and profiles, the doctor, explained logs, and anything that is a table.

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function runPart(json, part, main) {
  const top = section(part.label || "Run", 2), devices = json.devices || [], ok = devices.filter((/** @type {any} */ d) => d.status === "ok" && d.run);
  leads(top, part, json);
  top.append(tableOf("devices", devices.map((/** @type {any} */ d) => ({ device: d.device, status: d.status, compile: d.phases && (d.phases.compile ?? d.phases.executable_load), run: d.run && d.run.median, low: d.run && d.run.low, high: d.run && d.run.high, instructions: d.instructions, fusions: d.fusions, flops: d.flops, bytes: d.bytes, temp_bytes: d.temp_bytes, code_bytes: d.code_bytes, message: d.message })),
    { device: "", status: "", compile: "s", run: "s", low: "s", high: "s", instructions: "", fusions: "", flops: "flops", bytes: "bytes", temp_bytes: "bytes", code_bytes: "bytes", message: "" }));
  for (const d of ok) if (d.run.sampling) top.append(h("p", { class: "dim" }, `${d.device}: ${d.run.sampling.text}`));
  for (const d of ok) if (d.run.statistics && d.run.statistics.modes.length > 1) top.append(h("p", { class: "warn" },
    `${d.device} has ${d.run.statistics.modes.length} modes, so no single number tells it: ` +
      `${d.run.statistics.modes.map((/** @type {any} */ m) => `${seconds(m.median)} (${three(100 * m.share)} %)`).join(", ")}`));
  main.append(top);
  if ((json.speed || []).length) {
    const box = section("Who is faster?", 3);
    box.append(tableOf("speed", json.speed, { device: "", against: "", ratio: "ratio", low: "ratio", high: "ratio", verdict: "", p_value: "p", q_value: "p",
      more_processes: "count" }), h("p", { class: "dim" }, `Processes of both ran in turn; nothing finer than ${three(100 * json.speed[0].margin)} % is claimed on this machine.`));
    main.append(box);
  }
  if (ok.length) {
    const box = section("Samples", 3);
    box.append(chart({ title: "Samples of each device", describe: "every timed run, in order", csv: () => [["device", "sample", "seconds"], ...ok.flatMap((/** @type {any} */ d) => d.run.samples.map((/** @type {number} */ s, /** @type {number} */ i) => [d.device, i + 1, s]))],
      option: () => ({ legend: { top: 0, type: "scroll" }, grid: { left: 70, right: 20, top: 30, bottom: 30 }, xAxis: { type: "value" }, yAxis: { type: "log",
        axisLabel: { formatter: seconds } }, tooltip: tip("item", (p) => `${p.seriesName} ${p.data[0]}: ${seconds(p.data[1])}`),
        series: ok.map((/** @type {any} */ d) => ({ name: d.device, type: "scatter", symbolSize: 4, data: d.run.samples.map((/** @type {number} */ s, /** @type {number} */ i) => [i + 1, s]) })) }) }));
    main.append(box);
  }
  if ((json.compare || []).length) {
    const box = section("Do the numbers agree?", 3);
    box.append(tableView({ view: "compare", notes: [], rows: json.compare, columns: Object.keys(json.compare[0]).map((name) => ({ name, unit: "" })) }));
    main.append(box);
  }
}

// Tables that answer; the others are rows of single events with their ids, and are closed.
const OPEN_VIEWS = /^(time|summary|recompiles|executables|operators|hlo-operators|framework-operators|steps)$/;

/**
 * What a capture or profile says.
 * @param {any} json @param {Part} part @param {HTMLElement} main
 */
function capturePart(json, part, main) {
  const top = section(part.label || "Capture", 2), tables = /** @type {TableData[]} */ (json.tables || []);
  const byView = new Map(tables.map((t) => [t.view, t]));
  // Members of fusions are estimates of shares of their fusion: they are not counted again.
  const full = byView.get("hlo-operators"), hlo = full && { ...full, rows: full.rows.filter((r) => !r.fusion), columns: full.columns.filter((c) => c.name !== "fusion") };
  leads(top, part, json);
  if (!tables.length && !(json.timeline && json.timeline.lanes.length)) top.append(h("p", { class: "empty" }, "Nothing was recorded: there is no event in it."));
  main.append(top);
  if (json.timeline && json.timeline.lanes.length) {
    const box = section("Timeline", 3);
    box.append(timelineView(json.timeline, part.label, (name) => openByName(full, name)));
    if (json.timeline.note) box.append(h("p", { class: "dim" }, json.timeline.note));
    main.append(box);
  }
  const roof = full && rooflineChart(full, part);
  if (roof) {
    const box = section("Roofline", 3);
    box.append(roof);
    main.append(box);
  }
  for (const one of tables) {
    const t = one === full && hlo ? hlo : one;
    const box = section(t.view.replace(/-/g, " "), 3), numbers = t.columns.filter((c) => c.unit === "ns" || c.unit === "s").map((c) => c.name);
    const value = numbers.find((n) => /self/.test(n)) || numbers.find((n) => /total/.test(n)) || (t.view === "time" ? "time" : undefined), label = (t.columns.find((c) => /^(name|operator|executable|framework operator|part)$/.test(c.name)) || t.columns[0] || { name: "" }).name;
    if (value && /operators|executables|^time$/.test(t.view) && t.rows.length > 1) box.append(shares(t.view, t, label, value));
    if (t.view === "steps" && t.rows.length) box.append(stepChart(t));
    if (t.view === "memory-timeline" && t.rows.length) box.append(memoryChart(t));
    if (full && t === hlo) {
      box.append(h("p", { class: "dim" }, "A click on a row, or Enter, opens its members and source line."), tableView(t, { bar: value, onrow: (row) => openOperator(row, full) }));
    } else if (OPEN_VIEWS.test(t.view)) box.append(tableView(t, { bar: value }));
    else box.append(folded("Rows", `${t.rows.length}`, tableView(t, { bar: value })));
    main.append(box);
  }
}

/**
 * What a served directory holds.
 * @param {any} json @param {Part} part @param {HTMLElement} main
 */
function listingPart(json, part, main) {
  const top = section(part.label || "Results", 2), entries = json.entries || [], kinds = [...new Set(entries.map((/** @type {any} */ e) => e.kind))];
  const words = /** @type {Object<string, string>} */ ({ json: "results", capture: "captures", profile: "profiles", dumps: "dumps of compiles" });
  const ago = (/** @type {number} */ s) => (s < 90 ? "now" : s < 5400 ? `${Math.round(s / 60)} min ago` : s < 172800 ? `${Math.round(s / 3600)} h ago` : `${Math.round(s / 86400)} days ago`);
  const href = (/** @type {string} */ verb, /** @type {string} */ name) => verb + "/" + name.split("/").map(encodeURIComponent).join("/");
  top.append(h("p", { class: "answer" }, entries.length ? `${json.directory} holds ${kinds.map((k) => `${entries.filter((/** @type {any} */ e) => e.kind === k).length} ${words[k] || k}`).join(", ")}.` : `${json.directory} holds nothing that can be shown.`));
  if (!entries.length) top.append(h("p", { class: "empty" }, "Results are JSON files, captures *.hsc, profiles *.xplane.pb, dumps directories of after_PASS files. ", h("code", {}, "hloscope patterns --output results.json"), " makes a first one."));
  else top.append(h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "name"), h("th", { scope: "col" }, "kind"), h("th", { class: "n", scope: "col" }, "size"), h("th", { class: "n", scope: "col" }, "written"), h("th", { scope: "col" }, ""))),
    h("tbody", {}, ...entries.map((/** @type {any} */ e) => h("tr", {}, h("td", {}, h("a", { href: href("view", e.name) }, e.name)), h("td", {}, e.kind), h("td", { class: "n" }, shown(e.bytes, "bytes")), h("td", { class: "n" }, ago(e.age)), h("td", {}, /json|profile/.test(e.kind) && h("a", { href: href("file", e.name), download: true }, "download"))))))));
  if (json.cut) top.append(h("p", { class: "dim" }, "There is more than is listed; serve a smaller directory."));
  main.append(top);
}

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function doctorPart(json, part, main) {
  const top = section(part.label || "Doctor", 2), checks = json.checks || [];
  leads(top, part, json);
  top.append(tableOf("checks", checks, { id: "", verdict: "", evidence: "", fix: "" }));
  main.append(top);
}

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function explainPart(json, part, main) {
  const top = section(part.label || "Explained log", 2);
  leads(top, part, json);
  for (const f of json.findings || [])
    top.append(h("details", {}, h("summary", {}, h("span", { class: "chip " + (f.severity === "error" ? "bad" : f.severity === "warning" ? "warn" : "dim") }, f.severity), h("b", {}, f.entry), ` ${f.count}×, line ${f.first_line}`),
      h("p", {}, f.meaning), f.does_it_matter && h("p", {}, f.does_it_matter), f.text && h("pre", {}, f.text), f.workaround && h("p", {}, h("b", {}, "What to do: "), f.workaround),
      ...(f.references || []).map((/** @type {string} */ r) => h("p", { class: "dim" }, r))));
  main.append(top);
}

/**
 * Anything else: its tables as tables, its values as text.
 * @param {any} json @param {Part} part @param {HTMLElement} main
 */
function genericPart(json, part, main) {
  const top = section(part.label || "Result", 2);
  main.append(top);
  if (json && json.view && Array.isArray(json.rows)) top.append(tableView(json));
  else top.append(h("pre", {}, JSON.stringify(json, null, 2).slice(0, 200000)));
}
