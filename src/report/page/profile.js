// @ts-check
// profile.js - charts of a profile: roofline, steps, memory; and what a fusion is made of.

/**
 * Operators by arithmetic intensity, under the roof that the table's own shares of it imply.
 * @param {TableData} table @param {Part} part @returns {HTMLElement|null}
 */
function rooflineChart(table, part) {
  const points = table.rows.filter((r) => !r.fusion && r.flops > 0 && r.bytes > 0 && r.flop_rate > 0).map((r) => /** @type {Object<string, any>} */ ({ ...r, intensity: r.flops / r.bytes }));
  if (points.length < 2) return null;
  const peak = (/** @type {string} */ bound, /** @type {string} */ rate) => { const list = points.filter((p) => p.bound === bound && p.of_roofline > 0).map((p) => p[rate] / p.of_roofline).sort((a, b) => a - b); return list.length ? list[list.length >> 1] : NaN; };
  const flops = peak("compute", "flop_rate"), bytes = peak("memory", "byte_rate"), most = Math.max(...points.map((p) => p.self_time || p.time || 1));
  const low = Math.min(...points.map((p) => p.intensity)) / 2, high = Math.max(...points.map((p) => p.intensity), isFinite(flops / bytes) ? flops / bytes : 0) * 4;
  const roof = /** @type {number[][]} */ ([]);
  if (isFinite(bytes)) roof.push([low, low * bytes]);
  if (isFinite(bytes) && isFinite(flops)) roof.push([flops / bytes, flops]);
  if (isFinite(flops)) roof.push(...(isFinite(bytes) ? [] : [[low, flops]]), [high, flops]);
  const rate = (/** @type {number} */ v) => shown(v, "flop/s");
  // a library's call without a count has a time and no place under the roof
  const left = (part.sums && part.sums.uncounted) || { operators: 0, share: 0 };
  return chart({
    title: "Roofline", height: 380, csv: () => [["name", "flops_per_byte", "flop_rate", "bound", "of_roofline", "self_time"], ...points.map((p) => [p.name, p.intensity, p.flop_rate, p.bound, p.of_roofline, p.self_time])],
    describe: `${counted(points.length, "operator")}; the larger, the more time` + (roof.length ? `; the line is what the machine could do at most (${[isFinite(flops) ? rate(flops) : "", isFinite(bytes) ? shown(bytes, "bytes/s") : ""].filter(Boolean).join(", ")})` : "; the machine's peaks are not known, `hloscope devices --calibrate` measures them") + (left.operators ? `; ${left.operators} more, ${shown(left.share, "fraction")} of the time, ${left.operators === 1 ? "has" : "have"} no count of flops and ${left.operators === 1 ? "is" : "are"} not on it` : ""),
    option: () => ({
      grid: { left: 90, right: 30, top: 30, bottom: 45 }, xAxis: { type: "log", name: "flop a byte", nameLocation: "middle", nameGap: 28, min: low, max: high, axisLabel: { formatter: three } }, yAxis: { type: "log", axisLabel: { formatter: rate } },
      tooltip: tip("item", (q) => { const p = points[q.dataIndex]; return q.seriesType === "scatter" ? `${p.name}\n${rate(p.flop_rate)}, ${three(p.intensity)} flop a byte\n${p.bound ? `bound by ${p.bound}, ${shown(p.of_roofline, "fraction")} of the roof\n` : ""}${shown(p.self_time, "ns")}` : ""; }),
      series: [...(roof.length ? [{ type: "line", data: roof, symbol: "none", silent: true, lineStyle: { width: 2, color: isDark() ? "#93a1b5" : "#5d6b7e" } }] : []),
        { type: "scatter", data: points.map((p) => [p.intensity, p.flop_rate]), symbolSize: (/** @type {any} */ _, /** @type {any} */ q) => 6 + 26 * Math.sqrt((points[q.dataIndex].self_time || 0) / most), itemStyle: { opacity: 0.7 } }],
    }),
    onclick: (q) => { if (q.seriesType === "scatter") openOperator(points[q.dataIndex], table); },
  });
}

const STEP_PARTS = ["compute", "collective", "transfer", "compile", "host", "idle"];

/** @param {TableData} table */
function stepChart(table) {
  const parts = STEP_PARTS.filter((p) => table.rows.some((r) => r[p] > 0)), devices = new Set(table.rows.map((r) => r.device)).size;
  return chart({
    title: "Steps", height: 280, describe: `${table.rows.length} steps, what each one's time went to`, csv: () => [["step", "device", ...STEP_PARTS], ...table.rows.map((r) => [r.step, r.device, ...STEP_PARTS.map((p) => r[p])])],
    option: () => ({
      legend: { top: 0 }, grid: { left: 80, right: 20, top: 34, bottom: 44 }, xAxis: { type: "category", name: "step", nameLocation: "middle", nameGap: 26, data: table.rows.map((r) => (devices > 1 ? `${r.step} ${r.device}` : String(r.step))) }, yAxis: { type: "value", axisLabel: { formatter: (/** @type {number} */ v) => shown(v, "ns") } },
      dataZoom: table.rows.length > 60 ? [{ type: "inside" }, { type: "slider", height: 18, bottom: 4 }] : undefined,
      tooltip: tip("axis", (list) => `step ${list[0].name}\n` + list.map((/** @type {any} */ p) => `${p.seriesName}: ${shown(p.value, "ns")}`).join("\n")),
      series: parts.map((p) => ({ name: p, type: "bar", stack: "step", barMaxWidth: 60, data: table.rows.map((r) => r[p]) })),
    }),
  });
}

/**
 * Temporary memory in use over the instructions of each program.
 * @param {TableData} table
 */
function memoryChart(table) {
  const programs = [...new Set(table.rows.map((r) => r.program))], of = (/** @type {string} */ p) => table.rows.filter((r) => r.program === p);
  const top = table.rows.reduce((a, b) => (b.in_use > a.in_use ? b : a), table.rows[0]);
  return chart({
    title: "Temporary memory", height: 280, describe: `at most ${shown(top.in_use, "bytes")}, at ${top.at_instruction} of ${top.program}`, csv: () => [["program", "event", "at_instruction", "does", "buffer_of", "change", "in_use"], ...table.rows.map((r) => [r.program, r.event, r.at_instruction, r.does, r.buffer_of, r.change, r.in_use])],
    option: () => ({
      legend: programs.length > 1 ? { top: 0, type: "scroll" } : undefined, grid: { left: 80, right: 20, top: 34, bottom: 40 }, xAxis: { type: "value", name: "event", nameLocation: "middle", nameGap: 24, minInterval: 1 }, yAxis: { type: "value", axisLabel: { formatter: (/** @type {number} */ v) => shown(v, "bytes") } },
      tooltip: tip("item", (q) => { const r = of(programs[q.seriesIndex])[q.dataIndex]; return `${r.at_instruction} ${r.does} ${shown(Math.abs(r.change), "bytes")}\nbuffer of ${r.buffer_of}\n${shown(r.in_use, "bytes")} in use`; }),
      series: programs.map((p) => ({ name: p, type: "line", step: "end", symbolSize: 4, areaStyle: { opacity: 0.25 }, data: of(p).map((r) => [r.event, r.in_use]) })),
    }),
  });
}

/**
 * What an operator is, and of a fusion its members with their estimated shares.
 * @param {Object<string, any>} row @param {TableData} table
 */
function openOperator(row, table) {
  const members = table.rows.filter((r) => r.fusion === row.name && r.program === row.program), close = () => dialog.close();
  const facts = table.columns.filter((c) => row[c.name] != null && c.name !== "fusion" && c.name !== "name").map((c) => [h("dt", {}, c.name.replace(/_/g, " ")), h("dd", {}, shown(row[c.name], c.unit))]).flat();
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-label": "Operator " + row.name, onclose: () => dialog.remove() }, h("div", { class: "tools" }, h("h3", {}, row.name), h("span", { class: "grow" }), h("button", { onclick: close, autofocus: true }, "close")),
    h("dl", {}, ...facts),
    members.length ? h("div", {}, h("h4", {}, `${members.length} members`), tableOf("members of " + row.name, members, { name: "", category: "", self_time: "ns", share: "fraction", op_name: "", source: "" }), h("p", { class: "dim" }, "The fusion's time shared out by the cost model; members are not timed one by one.")) : null));
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * Opens the operator of this name, when the tables know one: for clicks in the timeline.
 * @param {TableData|undefined} table @param {string} name
 */
function openByName(table, name) {
  const row = table && table.rows.find((r) => !r.fusion && r.name === name);
  if (row && table) openOperator(row, table);
  return !!row;
}
