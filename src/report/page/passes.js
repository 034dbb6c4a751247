// @ts-check
// passes.js - the pass laboratory: the tree of pipelines, what each pass is worth, where compile time goes.

/** What other parts of the page know of passes: runs whose numbers differ, passes without which the compile breaks. */
const passStates = { differ: /** @type {Map<string, string>} */ (new Map()), broken: /** @type {Map<string, string>} */ (new Map()) };

/** @param {Part[]} parts */
function gatherStates(parts) {
  passStates.differ.clear();
  passStates.broken.clear();
  for (const part of parts) {
    const json = part.json || {};
    if (part.kind === "passes_validate") for (const s of json.stages || []) if (s.verdict === "different") passStates.differ.set(`${json.program}:${s.run}`, `numbers differ by ${three(s.max_abs)}`);
    if (part.kind === "passes_ablate") for (const v of json.variants || []) if (/error|abort|timeout/.test(v.outcome)) passStates.broken.set(`${json.program}:${v.pass}`, `without it the compile ends with ${v.outcome}`);
  }
}

/**
 * The state of a run of a pass: mark, class and word.
 * @param {any} json @param {any} q @returns {[string, string, string]}
 */
function passState(json, q) {
  const differ = passStates.differ.get(`${json.program}:${q.run}`), broken = passStates.broken.get(`${json.program}:${q.name}`);
  if (q.crashed) return ["✗", "bad", "crashed"];
  if (differ) return ["≠", "warn", differ];
  if (q.changed == null) return ["?", "dim", "the device does not tell"];
  return q.changed ? ["●", "good", "changed" + (broken ? "; " + broken : "")] : ["○", "dim", "no-op" + (broken ? "; " + broken : "")];
}

/** Nested time: pipelines and their passes in call order, as rows of boxes; a click or Enter takes a box for the whole width.
 * @param {string} title @param {{name: string, value: number, children?: any[]}} root @param {(v: number) => string} text */
function flameView(title, root, text) {
  const place = h("div", { class: "flame", role: "group", "aria-label": title }), path = h("div", { class: "tools", "aria-live": "polite" });
  const csv = /** @type {(string|number)[][]} */ ([["path", "value"]]);
  const collect = (/** @type {any} */ n, /** @type {string} */ at) => { csv.push([at + n.name, n.value]); for (const c of n.children || []) collect(c, at + n.name + ";"); };
  collect(root, "");
  const depthOf = (/** @type {any} */ n) => /** @type {number} */ (1 + Math.max(0, ...(n.children || []).map(depthOf)));
  const hash = (/** @type {string} */ s) => { let x = 7; for (let i = 0; i < s.length; i++) x = (x * 31 + s.charCodeAt(i)) >>> 0; return x; };
  /** @param {any[]} trail */
  function draw(trail) {
    const top = trail[trail.length - 1], boxes = /** @type {HTMLElement[]} */ ([]), colours = isDark() ? PALETTE_DARK : PALETTE;
    const place1 = (/** @type {any} */ n, /** @type {number} */ left, /** @type {number} */ width, /** @type {number} */ row, /** @type {any[]} */ way) => {
      if (width < 0.0008 || boxes.length > 3000) return;
      const share = root.value > 0 ? three((100 * n.value) / root.value) + " %" : "";
      boxes.push(h("button", { class: "frame", style: `left:${100 * left}%;width:calc(${100 * width}% - 1px);top:${row * 22}px;background:${row ? colours[hash(n.name) % 7] : "var(--line)"}`, title: `${n.name}: ${text(n.value)} (${share})`, "aria-label": `${n.name}, ${text(n.value)}, ${share}`, onclick: () => draw([...trail, ...way]) }, width > 0.03 ? `${n.name} ${text(n.value)}` : ""));
      let at = left;
      for (const c of n.children || []) {
        const w = n.value > 0 ? (width * c.value) / n.value : 0;
        place1(c, at, w, row + 1, [...way, c]);
        at += w;
      }
    };
    place1(top, 0, 1, 0, []);
    place.style.height = depthOf(top) * 22 + "px";
    place.replaceChildren(...boxes);
    path.replaceChildren(...trail.map((n, i) => h("button", { onclick: () => draw(trail.slice(0, i + 1)) }, n.name)), h("span", {}, text(top.value)), h("button", { onclick: () => saveCsv(title.replace(/\W+/g, "-"), csv) }, "CSV"));
  }
  draw([root]);
  return h("div", {}, place, path);
}

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function passTimePart(json, part, main) {
  const top = section(part.label || "Compile time", 2);
  leads(top, part, json);
  const how = samplingNote(json.sampling);
  if (how) top.append(how);
  main.append(top);
  if (part.sums) {
    const flame = section("Compile-time flame graph", 3);
    flame.append(flameView("compile time", part.sums.time, seconds));
    main.append(flame);
  }
  for (const [name, rows] of [["phases", json.phases], ["pipelines", json.pipelines], ["passes", json.passes]]) {
    if (!(rows || []).length) continue;
    const box = section("Time of " + name, 3);
    box.append(tableView({ view: name, notes: [], rows, columns: [{ name: "name", unit: "" }, { name: "median", unit: "s" }, { name: "low", unit: "s" }, { name: "high", unit: "s" }, { name: "share", unit: "fraction" }, { name: "runs", unit: "count" }] }, { bar: "median" }));
    main.append(box);
  }
}

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function validatePart(json, part, main) {
  const top = section(part.label || "Numbers of each stage", 2), stages = json.stages || [];
  leads(top, part, json);
  top.append(tableOf("stages", stages, { run: "", pipeline: "", pass: "", verdict: "", max_abs: "", max_ulp: "", skipped: "" }));
  main.append(top);
}

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function passListPart(json, part, main) {
  const top = section(part.label || "Passes", 2);
  leads(top, part, json);
  main.append(top);

  if (part.sums && part.sums.time.value > 0) {
    const flame = section("Compile-time flame graph", 3);
    flame.append(h("p", { class: "dim" }, "Pipelines and their passes in call order; the width is time."), flameView("passes", part.sums.time, seconds));
    main.append(flame);
  }
  const tree = section("Pipelines in order", 3, undefined), list = h("div", { class: "scroll", style: "padding:8px" });
  const hide = h("input", { type: "checkbox", id: "hide" + sectionNumber, onchange: () => list.classList.toggle("hide-noop", /** @type {HTMLInputElement} */ (hide).checked) });
  tree.append(h("div", { class: "tools" }, h("label", {}, hide, " hide passes that changed nothing"),
    h("span", { class: "legend" }, h("span", { class: "good" }, "●"), " changed ", h("span", { class: "dim" }, "○"), " no-op ", h("span", { class: "warn" }, "≠"), " numbers differ ", h("span", { class: "bad" }, "✗"), " crashed")), list);
  for (const p of json.pipelines || []) {
    const changed = p.passes.some((/** @type {any} */ q) => q.changed);
    list.append(h("details", { open: changed, class: changed ? "" : "noop", style: `margin-left:${18 * (p.depth || 0)}px` }, h("summary", {}, h("b", {}, p.name), h("span", { class: "dim" }, " " + counted(p.passes.length, "run"))),
      ...p.passes.map((/** @type {any} */ q) => h("div", { class: "tree" + (q.changed || q.crashed || passState(json, q)[0] === "≠" ? "" : " noop") },
        h("span", { class: passState(json, q)[1], title: passState(json, q)[2], role: "img", "aria-label": passState(json, q)[2] }, passState(json, q)[0]), " ", h("button", { class: "link", onclick: () => stageShowers.some((show) => show(q.run)) }, q.name), " ",
        h("span", { class: "dim" }, q.changed ? `${q.instructions_before ?? "?"} → ${q.instructions_after ?? "?"} instructions, ${q.fusions_before ?? "?"} → ${q.fusions_after ?? "?"} fusions ` : "", q.seconds == null ? "" : seconds(q.seconds))))));
  }
  main.append(tree);

  const table = /** @type {any[]} */ ((part.sums && part.sums.passes) || []), box = section("Each pass", 3);
  box.append(tableView({ view: "passes", notes: [], rows: table, columns: [{ name: "pass", unit: "" }, { name: "runs", unit: "" }, { name: "changed", unit: "" }, { name: "pipelines", unit: "" }, { name: "instructions", unit: "" }, { name: "seconds", unit: "s" }] }, { bar: "seconds" }));
  main.append(box);

  const counts = table.slice().sort((a, b) => b.runs - a.runs).slice(0, 60);
  const calls = section("Call counts", 3);
  calls.append(chart({
    title: "Runs of each pass", describe: "how often each pass ran, and how often it changed something", height: 80 + 16 * counts.length,
    csv: () => [["pass", "runs", "changed"], ...counts.map((r) => [r.pass, r.runs, r.changed])],
    option: () => ({ legend: {}, grid: { left: labelRoom(counts.map((r) => r.pass)), right: 20, top: 30, bottom: 30 }, yAxis: { type: "category", inverse: true,
      data: counts.map((r) => r.pass), axisLabel: { fontSize: 10 } }, xAxis: { type: "value" },
      tooltip: tip("axis", (p) => `${p[0].name}\n` + p.map((/** @type {any} */ q) => `${q.seriesName}: ${q.value}`).join("\n")),
      series: [{ name: "runs", type: "bar", data: counts.map((r) => r.runs) }, { name: "changed", type: "bar", data: counts.map((r) => r.changed), barGap: "-100%" }] }),
  }));
  main.append(calls);
}

const OUTCOME_CLASS = /** @type {Object<string, string>} */ ({ same: "dim", faster: "good", slower: "bad", numbers: "warn", error: "bad", abort: "bad", timeout: "bad" });

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function ablatePart(json, part, main) {
  const top = section(part.label || "What each pass is worth", 2), variants = json.variants || [];
  leads(top, part, json);
  const how = json.timing && samplingNote(json.timing.sampling);
  if (how) top.append(how);
  main.append(top);
  for (const kind of ["total_time", "kernel_time"]) {
    const list = variants.filter((/** @type {any} */ v) => v[kind]).sort((/** @type {any} */ a, /** @type {any} */ b) => b[kind].ratio - a[kind].ratio);
    if (!list.length) continue;
    const placebos = (json.placebos || []).map((/** @type {any} */ p) => p[kind]).filter(Boolean), band = placebos.length ? [Math.min(...placebos.map((/** @type {any} */ p) => p.ratio)), Math.max(...placebos.map((/** @type {any} */ p) => p.ratio))] : null;
    const box = section(kind === "total_time" ? "Total time without each pass" : "Kernel time without each pass", 3);
    box.append(chart({
      title: kind, describe: "ratio to the baseline with 95 % interval" + (band ? `; grey: what the placebos did (${three(band[0])} to ${three(band[1])})` : ""), height: 80 + 20 * list.length,
      csv: () => [["pass", "ratio", "low", "high", "highlight"], ...list.map((/** @type {any} */ v) => [v.pass, v[kind].ratio, v[kind].low, v[kind].high, v.highlight])],
      option: () => ({ grid: { left: labelRoom(list.map((/** @type {any} */ v) => v.pass)), right: 40, top: 20, bottom: 30 }, yAxis: { type: "category", inverse: true,
        data: list.map((/** @type {any} */ v) => v.pass), axisLabel: { fontSize: 11 } }, xAxis: { type: "value", scale: true,
        axisLabel: { formatter: (/** @type {number} */ v) => v + "×" } },
        tooltip: tip("item", (p) => `${list[p.dataIndex].pass}: ${three(list[p.dataIndex][kind].ratio)}× (${three(list[p.dataIndex][kind].low)} to ${three(list[p.dataIndex][kind].high)})`),
        series: [{ type: "scatter", symbolSize: 9, data: list.map((/** @type {any} */ v, /** @type {number} */ i) => ({ value: [v[kind].ratio, i], itemStyle: { color: v.highlight ? (v[kind].ratio > 1 ? "#d1242f" : "#1a7f37") : "#57606a" } })),
          markLine: { silent: true, symbol: "none", data: [{ xAxis: 1 }] }, markArea: band ? { silent: true, itemStyle: { color: "rgba(128,128,128,.25)" }, data: [[{ xAxis: band[0] }, { xAxis: band[1] }]] } : undefined },
          { type: "custom", silent: true, data: list.map((/** @type {any} */ v, /** @type {number} */ i) => [v[kind].low, v[kind].high, i]), encode: { x: [0, 1], y: 2 },
            renderItem: (/** @type {any} */ _, /** @type {any} */ api) => { const a = api.coord([api.value(0), api.value(2)]), b = api.coord([api.value(1), api.value(2)]); return { type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style: { stroke: "#57606a", lineWidth: 2 } }; } }] }),
    }));
    main.append(box);
  }
  const box = section("Every variant", 3);
  const rows = [...variants, ...(json.placebos || []), ...(json.pairs || [])].map((v) => ({ pass: v.pass, outcome: v.outcome, highlight: v.highlight,
    verdict: v.verdict ? v.verdict + (v.total_time && v.total_time.more_runs > 0 ? ` (about ${shown(v.total_time.more_runs, "flops")} more runs)` : "") : null,
    total: v.total_time && v.total_time.ratio, kernel: v.kernel_time && v.kernel_time.ratio, ...(v.delta || {}), message: [v.message, v.where].filter(Boolean).join(" at ") || null }));
  box.append(tableOf("ablation", rows, { pass: "", outcome: "", verdict: "", highlight: "", total: "ratio", kernel: "ratio", instructions: "", fusions: "", kernels: "",
    flops: "flops", bytes: "bytes", temp_bytes: "bytes", peak_bytes: "bytes", code_bytes: "bytes", compile_seconds: "s", message: "" }));
  for (const cell of box.querySelectorAll("td")) if (OUTCOME_CLASS[cell.textContent || ""]) cell.classList.add(OUTCOME_CLASS[cell.textContent || ""]);
  main.append(box);
}
