// @ts-check
// compare.js - series of samples: how they are spread, how they behave, what can be said of them beside each other (what hloscope stats computed).

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function statsPart(json, part, main) {
  const top = section(part.label || "Comparison", 2), series = json.series || [], comparisons = json.comparisons || [];
  const unit = series.length && series.every((/** @type {any} */ s) => s.unit === series[0].unit) ? series[0].unit : "";
  const files = new Set(series.map((/** @type {any} */ s) => s.source)).size > 1;
  const label = (/** @type {any} */ s) => (files ? `${s.source.split("/").pop()}: ${s.name || s.series}` : s.name || s.series);
  const against = (/** @type {any} */ c) => (files ? `${c.against_source.split("/").pop()}: ${c.against}` : c.against);
  leads(top, part, { environment: json.machine });
  main.append(top);
  if (comparisons.length) {
    const box = section("Ratios with intervals", 3), m = (json.machine || {}).margin || 0.01;
    box.append(chart({
      title: "Ratios", height: 90 + 26 * comparisons.length, describe: "ratio of medians with its interval; grey: too small to be claimed", csv: () => [["series", "against", "ratio", "low", "high", "verdict"], ...comparisons.map((/** @type {any} */ c) => [label(c), against(c), c.ratio, c.low, c.high, c.verdict])],
      option: () => ({ grid: { left: labelRoom(comparisons.map(label)), right: 40, top: 20, bottom: 30 }, yAxis: { type: "category", inverse: true, data: comparisons.map(label),
        axisLabel: { width: labelRoom(comparisons.map(label)) - 15, overflow: "truncate" } }, xAxis: { type: "value", scale: true,
        axisLabel: { formatter: (/** @type {number} */ v) => three(v) + "×" } },
        tooltip: tip("item", (p) => { const c = comparisons[p.dataIndex]; return `${label(c)} against ${against(c)}\n${three(c.ratio)}× (${three(c.low)} to ${three(c.high)})\n${c.verdict}, effect ${c.effect}`; }),
        series: intervalSeries(comparisons.map((/** @type {any} */ c) => ({ value: c.ratio, low: c.low, high: c.high, colour: c.verdict === "slower" ? "--bad" : c.verdict === "faster" ? "--good" : "--dim" })), 1, [1 / (1 + m), 1 + m]) }),
    }));
    box.append(tableOf("comparisons", comparisons.map((/** @type {any} */ c) => ({ ...c, series: label(c), against: against(c) })), { series: "", against: "", ratio: "ratio", low: "ratio", high: "ratio", verdict: "", effect: "", q_value: "", more_runs: "count" }));
    main.append(box);
  }
  const box = section("Each series", 3);
  box.append(chart({
    title: "Medians and quartiles", height: 90 + 26 * series.length, describe: "box: quartiles; line: 5 to 95 %; dots: modes, when there are several", csv: () => [["series", "median", "low", "high", "min", "max"], ...series.map((/** @type {any} */ s) => [label(s), s.median, s.low, s.high, s.min, s.max])],
    option: () => { const q = (/** @type {any} */ s, /** @type {number} */ at) => { const row = s.quantiles.find((/** @type {any} */ r) => r.quantile === at); return row && row.value != null ? row.value : null; };
      return { grid: { left: labelRoom(series.map(label)), right: 40, top: 20, bottom: 30 }, yAxis: { type: "category", inverse: true, data: series.map(label),
        axisLabel: { width: labelRoom(series.map(label)) - 15, overflow: "truncate" } }, xAxis: { type: "value", scale: true,
        axisLabel: { formatter: (/** @type {number} */ v) => shown(v, unit) } },
        tooltip: tip("item", (p) => { const s = series[p.seriesType === "boxplot" ? p.dataIndex : p.data[1]]; return `${label(s)}\nmedian ${shown(s.median, unit)} (${shown(s.low, unit)} to ${shown(s.high, unit)})\n${s.class}, ${s.outlier_count} outliers`; }),
        series: [{ type: "boxplot", itemStyle: { color: "transparent" }, data: series.map((/** @type {any} */ s) => [q(s, 0.05) ?? s.min, q(s, 0.25) ?? s.low, s.median, q(s, 0.75) ?? s.high, q(s, 0.95) ?? s.max]) },
          { type: "scatter", symbolSize: 8, data: series.flatMap((/** @type {any} */ s, /** @type {number} */ i) => (s.modes.length > 1 ? s.modes.map((/** @type {any} */ m) => [m.median, i]) : [])) }] }; },
  }));
  box.append(tableOf("series", series.map((/** @type {any} */ s) => ({ ...s, series: label(s), modes: s.modes.length })), { series: "", count: "count", median: unit, low: unit, high: unit, min: unit, max: unit, mad: unit, class: "", steady_from: "", modes: "count", outlier_count: "count" }));
  for (const note of json.notes || []) box.append(h("p", { class: "dim" }, note));
  main.append(box);
}

/**
 * Dots with intervals on a category axis, a line at `one`, a grey band.
 * @param {{value: number, low: number, high: number, colour: string}[]} list @param {number} one @param {number[]|null} band
 */
function intervalSeries(list, one, band) {
  const colour = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [
    { type: "scatter", symbolSize: 9, z: 3, data: list.map((p, i) => ({ value: [p.value, i], itemStyle: { color: colour(p.colour) } })), markLine: { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: colour("--dim") }, data: [{ xAxis: one }] },
      markArea: band ? { silent: true, itemStyle: { color: "rgba(128,128,128,.2)" }, data: [[{ xAxis: band[0] }, { xAxis: band[1] }]] } : undefined },
    { type: "custom", silent: true, data: list.map((p, i) => [p.low, p.high, i]), encode: { x: [0, 1], y: 2 },
      renderItem: (/** @type {any} */ params, /** @type {any} */ api) => { const a = api.coord([api.value(0), api.value(2)]), b = api.coord([api.value(1), api.value(2)]); return { type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style: { stroke: colour(list[params.dataIndex].colour), lineWidth: 2 } }; } },
  ];
}
