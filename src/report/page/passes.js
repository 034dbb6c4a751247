// @ts-check
// passes.js - the pass laboratory: the tree of pipelines, what each pass is worth, where compile time goes.

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function passListPart(json, part, main) {
  const top = section(part.label || "Passes", 2), totals = json.totals || {};
  const runs = (json.pipelines || []).flatMap((/** @type {any} */ p) => p.passes.map((/** @type {any} */ q) => ({ ...q, inside: p.name })));
  top.append(h("p", { class: "answer" }, `${totals.pipelines ?? (json.pipelines || []).length} pipelines, ${totals.passes ?? "?"} distinct passes, ${totals.runs ?? runs.length} runs, ${totals.changed ?? "?"} changed the program ${json.program || ""} on ${json.device || "?"}.`));
  top.append(cards([{ value: String(totals.runs ?? runs.length), label: "pass runs" }, { value: String(totals.changed ?? "–"), label: "changed something" }, { value: seconds(totals.seconds ?? json.compile_seconds), label: "in passes" }, ...gradeCard(json.environment)]));
  main.append(top);

  const tree = section("Pipelines in order", 3, undefined), list = h("div", { class: "scroll", style: "padding:8px" });
  const hide = h("input", { type: "checkbox", id: "hide" + sectionNumber, onchange: () => list.classList.toggle("hide-noop", /** @type {HTMLInputElement} */ (hide).checked) });
  tree.append(h("div", { class: "tools" }, h("label", {}, hide, " hide passes that changed nothing")), list);
  for (const p of json.pipelines || []) {
    const changed = p.passes.some((/** @type {any} */ q) => q.changed);
    list.append(h("details", { open: changed, class: changed ? "" : "noop", style: `margin-left:${18 * (p.depth || 0)}px` }, h("summary", {}, h("b", {}, p.name), h("span", { class: "dim" }, ` ${p.passes.length} runs`)),
      ...p.passes.map((/** @type {any} */ q) => h("div", { class: "tree" + (q.changed ? "" : " noop") },
        h("span", { class: q.crashed ? "bad" : q.changed ? "good" : "dim" }, q.crashed ? "✗ " : q.changed ? "● " : "○ "), q.name, " ",
        h("span", { class: "dim" }, q.changed ? `${q.instructions_before ?? "?"} → ${q.instructions_after ?? "?"} instructions, ${q.fusions_before ?? "?"} → ${q.fusions_after ?? "?"} fusions ` : "", q.seconds == null ? "" : seconds(q.seconds))))));
  }
  main.append(tree);

  const leaves = runs.filter((/** @type {any} */ q) => !q.pipeline);
  const byName = new Map();
  for (const q of leaves) {
    const row = byName.get(q.name) || { pass: q.name, runs: 0, changed: 0, seconds: 0, instructions: 0, pipelines: new Set() };
    row.runs++, (row.changed += q.changed ? 1 : 0), (row.seconds += q.seconds || 0), (row.instructions += (q.instructions_after || 0) - (q.instructions_before || 0));
    row.pipelines.add(q.inside);
    byName.set(q.name, row);
  }
  const table = [...byName.values()].map((r) => ({ ...r, pipelines: r.pipelines.size }));
  const box = section("Each pass", 3);
  box.append(tableView({ view: "passes", notes: [], rows: table.sort((a, b) => b.seconds - a.seconds), columns: [{ name: "pass", unit: "" }, { name: "runs", unit: "" }, { name: "changed", unit: "" }, { name: "pipelines", unit: "" }, { name: "instructions", unit: "" }, { name: "seconds", unit: "s" }] }, { bar: "seconds" }));
  main.append(box);

  const counts = table.slice().sort((a, b) => b.runs - a.runs).slice(0, 60);
  const calls = section("Call counts", 3);
  calls.append(chart({
    title: "Runs of each pass", describe: "how often each pass ran, and how often it changed something", height: 80 + 16 * counts.length,
    csv: () => [["pass", "runs", "changed"], ...counts.map((r) => [r.pass, r.runs, r.changed])],
    option: () => ({ legend: {}, grid: { left: 260, right: 20, top: 30, bottom: 30 }, yAxis: { type: "category", inverse: true, data: counts.map((r) => r.pass), axisLabel: { fontSize: 10 } }, xAxis: { type: "value" },
      tooltip: tip("axis", (p) => `${p[0].name}\n` + p.map((/** @type {any} */ q) => `${q.seriesName}: ${q.value}`).join("\n")),
      series: [{ name: "runs", type: "bar", data: counts.map((r) => r.runs) }, { name: "changed", type: "bar", data: counts.map((r) => r.changed), barGap: "-100%" }] }),
  }));
  main.append(calls);
}

const OUTCOME_CLASS = /** @type {Object<string, string>} */ ({ same: "dim", faster: "good", slower: "bad", numbers: "warn", error: "bad", abort: "bad", timeout: "bad" });

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function ablatePart(json, part, main) {
  const top = section(part.label || "What each pass is worth", 2), variants = json.variants || [], outcomes = (json.totals && json.totals.outcomes) || {};
  const timed = variants.filter((/** @type {any} */ v) => v.total_time), worst = timed.slice().sort((/** @type {any} */ a, /** @type {any} */ b) => b.total_time.ratio - a.total_time.ratio)[0];
  const broken = variants.filter((/** @type {any} */ v) => /error|abort|timeout/.test(v.outcome));
  top.append(h("p", { class: "answer" }, `${variants.length} passes of ${json.device || "?"} were switched off one by one on ${json.program || "the program"}: ` +
    Object.entries(outcomes).map(([k, n]) => `${n} ${k}`).join(", ") + "." + (worst && worst.total_time.low > 1 ? ` Most is lost without ${worst.pass}: ${three(worst.total_time.ratio)}× the time.` : "")));
  top.append(cards([{ value: String(outcomes.same ?? 0), label: "make no difference to the program" }, { value: String(variants.length - (outcomes.same ?? 0) - broken.length), label: "change it" }, { value: String(broken.length), label: "break the compile", class: broken.length ? "bad" : "" }, ...gradeCard(json.environment)]));
  main.append(top);
  for (const kind of ["total_time", "kernel_time"]) {
    const list = variants.filter((/** @type {any} */ v) => v[kind]).sort((/** @type {any} */ a, /** @type {any} */ b) => b[kind].ratio - a[kind].ratio);
    if (!list.length) continue;
    const placebos = (json.placebos || []).map((/** @type {any} */ p) => p[kind]).filter(Boolean), band = placebos.length ? [Math.min(...placebos.map((/** @type {any} */ p) => p.ratio)), Math.max(...placebos.map((/** @type {any} */ p) => p.ratio))] : null;
    const box = section(kind === "total_time" ? "Total time without each pass" : "Kernel time without each pass", 3);
    box.append(chart({
      title: kind, describe: "ratio to the baseline with 95 % interval" + (band ? `; grey: what the placebos did (${three(band[0])} to ${three(band[1])})` : ""), height: 80 + 20 * list.length,
      csv: () => [["pass", "ratio", "low", "high", "highlight"], ...list.map((/** @type {any} */ v) => [v.pass, v[kind].ratio, v[kind].low, v[kind].high, v.highlight])],
      option: () => ({ grid: { left: 240, right: 40, top: 20, bottom: 30 }, yAxis: { type: "category", inverse: true, data: list.map((/** @type {any} */ v) => v.pass), axisLabel: { fontSize: 11 } }, xAxis: { type: "value", scale: true, axisLabel: { formatter: (/** @type {number} */ v) => v + "×" } },
        tooltip: tip("item", (p) => `${list[p.dataIndex].pass}: ${three(list[p.dataIndex][kind].ratio)}× (${three(list[p.dataIndex][kind].low)} to ${three(list[p.dataIndex][kind].high)})`),
        series: [{ type: "scatter", symbolSize: 9, data: list.map((/** @type {any} */ v, /** @type {number} */ i) => ({ value: [v[kind].ratio, i], itemStyle: { color: v.highlight ? (v[kind].ratio > 1 ? "#d1242f" : "#1a7f37") : "#57606a" } })),
          markLine: { silent: true, symbol: "none", data: [{ xAxis: 1 }] }, markArea: band ? { silent: true, itemStyle: { color: "rgba(128,128,128,.25)" }, data: [[{ xAxis: band[0] }, { xAxis: band[1] }]] } : undefined },
          { type: "custom", silent: true, data: list.map((/** @type {any} */ v, /** @type {number} */ i) => [v[kind].low, v[kind].high, i]), encode: { x: [0, 1], y: 2 },
            renderItem: (/** @type {any} */ _, /** @type {any} */ api) => { const a = api.coord([api.value(0), api.value(2)]), b = api.coord([api.value(1), api.value(2)]); return { type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style: { stroke: "#57606a", lineWidth: 2 } }; } }] }),
    }));
    main.append(box);
  }
  const box = section("Every variant", 3);
  const rows = [...variants, ...(json.placebos || []), ...(json.pairs || [])].map((v) => ({ pass: v.pass, outcome: v.outcome, highlight: v.highlight, total: v.total_time && v.total_time.ratio, kernel: v.kernel_time && v.kernel_time.ratio, ...(v.delta || {}), message: [v.message, v.where].filter(Boolean).join(" at ") || null }));
  box.append(tableOf("ablation", rows, { pass: "", outcome: "", highlight: "", total: "ratio", kernel: "ratio", instructions: "", fusions: "", kernels: "", flops: "flops", bytes: "bytes", temp_bytes: "bytes", peak_bytes: "bytes", code_bytes: "bytes", compile_seconds: "s", message: "" }));
  for (const cell of box.querySelectorAll("td")) if (OUTCOME_CLASS[cell.textContent || ""]) cell.classList.add(OUTCOME_CLASS[cell.textContent || ""]);
  main.append(box);
}
