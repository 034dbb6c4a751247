// @ts-check
// patterns.js - the pattern analysis: where the time goes, the series of trials, the model and the break-even point.

const PHASES = /** @type {[string, string][]} */ ([["client_create", "client"], ["compile_miss", "compile"], ["transfer_in", "to device"], ["first_execution", "first run"], ["sync", "waiting"], ["transfer_out", "back"], ["execute", "run"]]);

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function patternsPart(json, part, main) {
  const top = section(part.label || "Patterns", 2);
  main.append(top);
  const names = Object.keys(json.patterns || {}), done = names.filter((n) => json.patterns[n].status === "ok");
  leads(top, part, json);
  const sums = part.sums || { shares: {}, sampling: null };
  if (sums.sampling) top.append(h("p", { class: "dim" }, sums.sampling));
  const phases = section("Where the time goes", 3);
  main.append(phases);
  const present = PHASES.filter(([key]) => done.some((n) => (json.patterns[n].phases || {})[key]));
  const value = (/** @type {string} */ n, /** @type {string} */ key) => { const p = (json.patterns[n].phases || {})[key]; return p ? p.median : null; };
  let share = true;
  const holder = h("div");
  const draw = () => holder.replaceChildren(chart({
    title: "Phases of each configuration", describe: share ? "share of one run from nothing, by phase" : "median time of each phase; logarithmic", height: 60 + 26 * done.length,
    csv: () => [["configuration", ...present.map(([k]) => k)], ...done.map((n) => [n, ...present.map(([k]) => value(n, k))])],
    option: () => {
      return {
        legend: { top: 0, type: "scroll" }, grid: { left: labelRoom(done), right: 20, top: 34, bottom: 30 },
        tooltip: tip("axis", (list) => `${list[0].name}\n` + list.map((/** @type {any} */ p) => `${p.seriesName}: ${seconds(value(p.name, present[p.seriesIndex][0]))}`).join("\n")),
        yAxis: { type: "category", data: done, inverse: true, axisLabel: { fontSize: 11 } },
        xAxis: share ? { type: "value", max: 1, axisLabel: { formatter: (/** @type {number} */ v) => 100 * v + " %" } } : { type: "log", axisLabel: { formatter: (/** @type {number} */ v) => seconds(v) } },
        series: present.map(([k, label]) => ({ name: label, type: "bar", stack: share ? "all" : undefined, data: done.map((n) => (share ? ((sums.shares[n] || {})[k] ?? null) : value(n, k))) })),
      };
    },
  }));
  draw();
  phases.append(h("div", { class: "tools" }, h("button", { onclick: () => ((share = !share), draw()) }, "shares / times")), holder);

  seriesSection(json, done, main);
  modelSection(json, done, main);
  if ((json.questions || []).length) {
    const box = section("Questions and answers", 3);
    for (const q of json.questions) box.append(h("details", { open: true }, h("summary", {}, h("b", {}, q.question)), ...String(q.answer).split("\n\n").map((t) => h("p", {}, t))));
    main.append(box);
  }
  const slow = done.flatMap((n) => (json.patterns[n].slow_runs || []).map((/** @type {any} */ s) => ({ configuration: n, ...s })));
  if (slow.length) {
    const box = section("Slow runs and their causes", 3);
    box.append(tableOf("slow_runs", slow, { configuration: "", run: "", trial: "", seconds: "s", excess: "s", cause: "" }));
    main.append(box);
  }
  if ((json.comparisons || []).length) {
    const box = section("The patterns against the natural loop", 3);
    box.append(tableOf("comparisons", json.comparisons.map((/** @type {any} */ c) => ({ ...c, ratio: c.ratio && c.ratio.estimate, low: c.ratio && c.ratio.low, high: c.ratio && c.ratio.high })),
      { graph: "", pattern: "", against: "", ratio: "ratio", low: "ratio", high: "ratio", verdict: "", p_value: "p", more_processes: "count" }));
    main.append(box);
  }
}

/**
 * The trials of one configuration, with the change point of the warm-up and outliers named.
 * @param {any} json @param {string[]} names @param {HTMLElement} main
 */
function seriesSection(json, names, main) {
  const box = section("Trial by trial", 3), holder = h("div");
  const choice = h("select", { "aria-label": "Configuration", onchange: () => draw() }, ...names.map((n) => h("option", { value: n }, n)));
  const draw = () => {
    const name = /** @type {HTMLSelectElement} */ (choice).value, p = json.patterns[name], warm = (json.warmup_data || {})[name] || {};
    const runs = [...(warm.warmup_times || []).map((/** @type {number} */ t, /** @type {number} */ i) => ({ run: "warmup", trial: i + 1, t })),
                  ...(p.first_run_times || []).flatMap((/** @type {number} */ t, /** @type {number} */ i) => [{ run: "first_run", trial: i + 1, t }, { run: "cached_run", trial: i + 1, t: (p.cached_run_times || [])[i] }])];
    const cause = new Map((p.slow_runs || []).map((/** @type {any} */ s) => [s.run + s.trial, s.cause]));
    const warmups = (warm.warmup_times || []).length, places = [...(warm.warmup_times || []).map((/** @type {any} */ _, /** @type {number} */ i) => "w" + (i + 1)),
      ...(p.first_run_times || []).map((/** @type {any} */ _, /** @type {number} */ i) => String(i + 1))];
    const kinds = [["warmup", "warm-up"], ["first_run", "first run of a trial"], ["cached_run", "cached run"]].filter(([k]) => runs.some((r) => r.run === k));
    const place = (/** @type {any} */ r) => (r.run === "warmup" ? r.trial - 1 : warmups + r.trial - 1);
    holder.replaceChildren(chart({
      title: "Trials of " + name,
        describe: `warm-up is ${warm.class || "not classified"}${warm.steady_from ? `, steady from run ${warm.steady_from}` : ""}; red points have a recorded cause`, height: 300,
      csv: () => [["run", "trial", "seconds", "cause"], ...runs.map((r) => [r.run, r.trial, r.t, cause.get(r.run + r.trial) || ""])],
      option: () => ({
        legend: { top: 0, type: "scroll" }, grid: { left: 70, right: 20, top: 34, bottom: 40 }, xAxis: { type: "category", data: places, name: "warm-up runs (w), then trials",
          nameLocation: "middle", nameGap: 24 },
        yAxis: { type: "log", axisLabel: { formatter: (/** @type {number} */ v) => seconds(v) } },
        tooltip: tip("item", (q) => { const r = q.data && q.data.run; return r ? `${q.seriesName} ${r.trial}: ${seconds(r.t)}\n${(cause.get(r.run + r.trial) || "").replace(/; /g, "\n")}` : ""; }),
        series: kinds.map(([kind, label], k) => ({
          name: label, type: "line", connectNulls: false,
          data: runs.filter((r) => r.run === kind && r.t > 0).map((r) => ({ value: [place(r), r.t], run: r, symbolSize: cause.has(r.run + r.trial) ? 10 : 5,
            itemStyle: cause.has(r.run + r.trial) ? { color: "#d1242f" } : undefined })),
          markLine: k ? undefined : { symbol: "none", silent: true, data: [...(warm.steady_from > 1 ? [{ xAxis: warm.steady_from - 1, label: { formatter: "steady" } }] : []),
            ...(p.run ? [{ yAxis: p.run.median, label: { formatter: "median run", position: "insideEndTop" } }] : [])] },
        })),
      }),
    }));
  };
  if (!names.length) return;
  draw();
  box.append(choice, holder);
  main.append(box);
}

/**
 * Measured against predicted, and how the share of the compile falls.
 * @param {any} json @param {string[]} names @param {HTMLElement} main
 */
function modelSection(json, names, main) {
  const models = names.map((n) => ({ name: n, model: (json.theoretical_analysis[n] || {}).model })).filter((x) => x.model && x.model.initialisation && x.model.a_sync);
  if (!models.length) return;
  const box = section("Model and break-even", 3);
  box.append(h("p", { class: "dim" }, models[0].model.formula));
  const points = models.flatMap((x) => [...(x.model.fitted || []).map((/** @type {any} */ p) => ({ ...p, name: x.name, held: false })), ...(x.model.held_out || []).map((/** @type {any} */ p) => ({ ...p, name: x.name, held: true }))]);
  box.append(chart({
    title: "Model against measurement", describe: "predicted against measured time; on the line the model is exact; held-out points were not used to fit", height: 360,
    csv: () => [["configuration", "held_out", "executions", "syncs", "measured", "predicted", "low", "high"], ...points.map((p) => [p.name, String(p.held), p.executions, p.syncs, p.measured, p.predicted.estimate, p.predicted.low, p.predicted.high])],
    option: () => ({
      legend: { top: 0, type: "scroll" }, grid: { left: 70, right: 20, top: 34, bottom: 40 }, xAxis: { type: "log", name: "measured", nameLocation: "middle", nameGap: 24,
        axisLabel: { formatter: seconds } }, yAxis: { type: "log", name: "predicted", axisLabel: { formatter: seconds } },
      tooltip: tip("item", (q) => { const p = q.data[2]; return p ? `${p.name}\n${p.executions} executions, ${p.syncs} syncs\nmeasured ${seconds(p.measured)}, predicted ${seconds(p.predicted.estimate)} (${seconds(p.predicted.low)} to ${seconds(p.predicted.high)})` : ""; }),
      series: [false, true].map((held) => ({ name: held ? "held out" : "fitted", type: "scatter", symbolSize: 7, data: points.filter((p) => p.held === held && p.predicted.estimate > 0).map((p) => [p.measured, p.predicted.estimate, p]),
        markLine: held ? undefined : { silent: true, symbol: "none", lineStyle: { type: "solid" }, data: [[{ coord: [Math.min(...points.map((p) => p.measured)), Math.min(...points.map((p) => p.measured))] }, { coord: [Math.max(...points.map((p) => p.measured)), Math.max(...points.map((p) => p.measured))] }]] } })),
    }),
  }));
  box.append(chart({
    title: "Share of the compile over runs", describe: "the compile's share of compiling and running, after so many runs", height: 300,
    csv: () => [["configuration", "runs", "compile_share"], ...models.flatMap((x) => (x.model.compile_share || []).map((/** @type {any} */ s) => [x.name, s.runs, s.compile_share]))],
    option: () => ({
      grid: { left: 60, right: 50, top: 34, bottom: 44 }, legend: { top: 0, type: "scroll" }, xAxis: { type: "log", name: "runs", nameLocation: "middle", nameGap: 24 },
        yAxis: { type: "value", max: 1, axisLabel: { formatter: (/** @type {number} */ v) => 100 * v + " %" } },
      tooltip: tip("item", (q) => `${q.seriesName}\n${counted(q.data[0], "run")}: ${three(100 * q.data[1])} %`),
      series: models.map((x) => ({ name: x.name, type: "line", data: (x.model.compile_share || []).map((/** @type {any} */ s) => [s.runs, s.compile_share]), markLine: x === models[0] ? { silent: true, symbol: "none", data: [{ yAxis: 0.5 }, { yAxis: 0.1 }], label: { formatter: (/** @type {any} */ q) => 100 * q.value + " %" } } : undefined })),
    }),
  }));
  const crossings = ((json.compilation_dominance || {}).crossings || json.crossings || []).filter((/** @type {any} */ c) => c.after_runs != null);
  if (crossings.length) box.append(h("p", {}, "Where one pattern overtakes another, compile and runs together:"), tableOf("crossings", crossings, { graph: "", ahead_at_first: "", ahead_later: "", after_runs: "count", low: "count", high: "count" }));
  box.append(tableOf("model", models.map((x) => ({ configuration: x.name, initialisation: x.model.initialisation.estimate, compile: x.model.compile.estimate, first_use: x.model.first_use.estimate, a_sync: x.model.a_sync.estimate, b_execution: x.model.b_execution.estimate, held_out_worst: x.model.held_out_worst_relative_error, half: x.model.runs_until_compile_under_half && x.model.runs_until_compile_under_half.estimate })),
    { configuration: "", initialisation: "s", compile: "s", first_use: "s", a_sync: "s", b_execution: "s", held_out_worst: "fraction", half: "count" }));
  main.append(box);
}
