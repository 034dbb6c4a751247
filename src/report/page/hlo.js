// @ts-check
// hlo.js - the program at each stage of a compile, side by side with the stage before: lines are numbers into a table of distinct lines, rows are made
// only where they are seen.

/**
 * Rows of a comparison: [line on the left or -1, line on the right or -1].
 * @typedef {[number, number]} DiffRow
 */

/**
 * Longest common subsequence of short lists.
 * @param {Uint32Array} a @param {Uint32Array} b @param {DiffRow[]} out @param {number} i0 @param {number} j0
 */
function shortDiff(a, b, out, i0, j0) {
  const n = a.length, m = b.length, wide = m + 1, best = new Uint32Array((n + 1) * wide);
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--) best[i * wide + j] = a[i] === b[j] ? best[(i + 1) * wide + j + 1] + 1 : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
  let i = 0, j = 0;
  while (i < n && j < m) {
    if (a[i] === b[j]) out.push([i0 + i++, j0 + j++]);
    else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) out.push([i0 + i++, -1]);
    else out.push([-1, j0 + j++]);
  }
  while (i < n) out.push([i0 + i++, -1]);
  while (j < m) out.push([-1, j0 + j++]);
}

/** Patience: lines that stand once on each side are anchors (their longest rising run), what lies between is compared in the same way.
 * @param {Uint32Array} a @param {Uint32Array} b @param {DiffRow[]} out @param {number} i0 @param {number} j0 @returns {DiffRow[]} */
function diffLines(a, b, out = [], i0 = 0, j0 = 0) {
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) out.push([i0 + head, j0 + head++]);
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const left = a.subarray(head, a.length - tail), right = b.subarray(head, b.length - tail);
  i0 += head;
  j0 += head;
  if (left.length * right.length <= 250000) {
    shortDiff(left, right, out, i0, j0);
  } else {
    /** @type {Map<number, [number, number, number, number]>} */
    const seen = new Map();   // line -> count left, count right, place left, place right
    left.forEach((line, i) => { const s = seen.get(line); if (s) s[0]++; else seen.set(line, [1, 0, i, 0]); });
    right.forEach((line, j) => { const s = seen.get(line); if (s) (s[1]++, (s[3] = j)); });
    const once = [...seen.values()].filter((s) => s[0] === 1 && s[1] === 1);
    // The longest run that rises on the right: piles with back pointers.
    const piles = /** @type {number[]} */ ([]), back = new Int32Array(once.length);
    once.forEach((s, k) => {
      let low = 0, high = piles.length;
      while (low < high) { const mid = (low + high) >> 1; if (once[piles[mid]][3] < s[3]) low = mid + 1; else high = mid; }
      back[k] = low ? piles[low - 1] : -1;
      piles[low] = k;
    });
    const anchors = [];
    for (let k = piles.length ? piles[piles.length - 1] : -1; k >= 0; k = back[k]) anchors.push(once[k]);
    anchors.reverse();
    if (!anchors.length) {
      left.forEach((_, i) => out.push([i0 + i, -1]));
      right.forEach((_, j) => out.push([-1, j0 + j]));
    } else {
      let i = 0, j = 0;
      for (const s of anchors) {
        diffLines(left.subarray(i, s[2]), right.subarray(j, s[3]), out, i0 + i, j0 + j);
        out.push([i0 + s[2], j0 + s[3]]);
        (i = s[2] + 1), (j = s[3] + 1);
      }
      diffLines(left.subarray(i), right.subarray(j), out, i0 + i, j0 + j);
    }
  }
  for (let k = 0; k < tail; k++) out.push([i0 + left.length + k, j0 + right.length + k]);
  return out;
}

/**
 * "dot.3" of "  ROOT dot.3 = f32[2]{0} dot(...)".
 * @param {string} line
 */
const instructionName = (line) => (/^\s*(?:ROOT )?%?([\w.-]+) = /.exec(line) || ["", ""])[1];

/**
 * Removed and added lines of one place stand beside each other when they name the same instruction.
 * @param {DiffRow[]} rows @param {(left: boolean, i: number) => string} text @returns {DiffRow[]}
 */
function pairRows(rows, text) {
  const out = /** @type {DiffRow[]} */ ([]);
  for (let at = 0; at < rows.length;) {
    if (rows[at][0] >= 0 && rows[at][1] >= 0) { out.push(rows[at++]); continue; }
    let end = at;
    while (end < rows.length && (rows[end][0] < 0 || rows[end][1] < 0)) end++;
    const gone = rows.slice(at, end).filter((r) => r[0] >= 0).map((r) => r[0]), come = rows.slice(at, end).filter((r) => r[1] >= 0).map((r) => r[1]);
    const byName = /** @type {Map<string, number>} */ (new Map());
    for (const j of come) { const name = instructionName(text(false, j)); if (name) byName.set(name, j); }
    const partner = new Map();
    let last = -1;
    for (const i of gone) {
      const j = byName.get(instructionName(text(true, i)));
      if (j !== undefined && j > last) partner.set(i, (last = j));
    }
    let next = 0;
    for (const i of gone) {
      const j = partner.get(i);
      if (j === undefined) { out.push([i, -1]); continue; }
      while (next < come.length && come[next] < j) out.push([-1, come[next++]]);
      out.push([i, j]);
      next++;
    }
    while (next < come.length) out.push([-1, come[next++]]);
    at = end;
  }
  return out;
}

/**
 * Shows a stage of the program that a pass belongs to; filled by hloPart.
 * @type {((run: number) => boolean)[]}
 */
const stageShowers = [];

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function hloPart(json, part, main) {
  const ROW = 18, FOLD = 3;
  const stages = json.stages.map((/** @type {any} */ s) => ({ ...s, code: unpack(s.lines, Uint32Array) }));
  stages.forEach((/** @type {any} */ s, /** @type {number} */ i) => (s.same = i > 0 && s.code.length === stages[i - 1].code.length && s.code.every((/** @type {number} */ c, /** @type {number} */ k) => c === stages[i - 1].code[k])));
  const top = section(part.label || json.module, 2), id = /** @type {HTMLElement} */ (top.querySelector("h2")).id;
  leads(top, part, json);
  let at = Math.max(0, stages.findIndex((/** @type {any} */ s, /** @type {number} */ i) => i > 0 && !s.same)), folded = true, hide = false, bare = true, query = "", found = -1;
  /** @type {{rows: (DiffRow|number)[], same: (r: DiffRow) => boolean}} */
  let view = { rows: [], same: () => true };
  const list = h("div", { class: "stages", role: "listbox", tabindex: "0", "aria-label": "Stages; j and k move" }), heads = h("div", { class: "diff-heads" }), space = h("div"), pane = h("div", { class: "diff", tabindex: "0", "aria-label": "Program before and after the stage" }, space);
  const status = h("span", { "aria-live": "polite" });
  // One instruction is followed at a time: its seat in each stage (follow.js).
  const texts = /** @type {string[][]} */ ([]), trail = h("div", { class: "follow" }, h("p", { class: "dim" }, "Click an instruction to follow it through the stages, back to its line of source."));
  stages.forEach((/** @type {any} */ s, /** @type {number} */ i) => texts.push(i && s.same ? texts[i - 1] : Array.from(s.code, (/** @type {number} */ c) => json.lines[c])));
  let followed = /** @type {(Seat|null)[]} */ ([]);
  const slider = /** @type {HTMLInputElement} */ (h("input", { type: "range", min: "0", max: String(stages.length - 1), "aria-label": "Stage", oninput: () => show(Number(slider.value)) })), sliderText = h("output", {});

  const withoutMetadata = (/** @type {string|null} */ line) => (line && bare ? line.replace(/, metadata=\{[^}]*\}/, "") : line);
  const lineText = (/** @type {boolean} */ left, /** @type {number} */ i) => json.lines[left ? stages[at - 1].code[i] : stages[at].code[i]];
  function compare() {
    const before = at ? stages[at - 1].code : new Uint32Array(0), after = stages[at].code;
    const rows = at ? pairRows(diffLines(before, after), lineText) : Array.from(after, (_, j) => /** @type {DiffRow} */ ([-1, j]));
    const same = (/** @type {DiffRow} */ r) => r[0] >= 0 && r[1] >= 0 && before[r[0]] === after[r[1]];
    /** @type {(DiffRow|number)[]} */
    let shownRows = rows;
    if (folded && at) {   // runs of equal lines keep a few at their ends; a number stands for those left out
      const near = new Uint8Array(rows.length);
      rows.forEach((r, i) => { if (!same(r)) near.fill(1, Math.max(0, i - FOLD), i + FOLD + 1); });
      shownRows = [];
      for (let i = 0; i < rows.length;) {
        if (near[i]) { shownRows.push(rows[i++]); continue; }
        let end = i;
        while (end < rows.length && !near[end]) end++;
        if (end - i < 3) shownRows.push(...rows.slice(i, end));
        else shownRows.push(end - i);
        i = end;
      }
    }
    view = { rows: shownRows, same };
    status.textContent = at ? (stages[at].same ? "nothing changed" : `${counted(stages[at].came, "line")} came, ${stages[at].went} went`) : "the program as it came";
    space.style.height = shownRows.length * ROW + "px";
    pane.scrollTop = 0;
    heads.replaceChildren(h("b", {}, at ? "before " + stages[at].pass : ""), h("b", {}, at ? "after " + stages[at].pass : stages[at].pass || "input"));
    found = -1;
    paint();
  }

  /**
   * The part that differs is marked.
   * @param {string} text @param {string|null} other
   */
  function marked(text, other) {
    if (other == null || other === text) return [text];
    let a = 0, b = 0;
    while (a < text.length && a < other.length && text[a] === other[a]) a++;
    while (b < text.length - a && b < other.length - a && text[text.length - 1 - b] === other[other.length - 1 - b]) b++;
    return [text.slice(0, a), h("mark", {}, text.slice(a, text.length - b)), text.slice(text.length - b)];
  }

  function paint() {
    const from = Math.max(0, Math.floor(pane.scrollTop / ROW) - 10), to = Math.min(view.rows.length, from + Math.ceil(pane.clientHeight / ROW) + 20);
    space.replaceChildren(...view.rows.slice(from, to).map((r, k) => {
      const style = `top:${(from + k) * ROW}px`;
      if (typeof r === "number") return h("div", { class: "diff-row fold", style }, `⋯ ${r} equal lines`);
      const left = withoutMetadata(r[0] >= 0 && at ? lineText(true, r[0]) : null), right = withoutMetadata(r[1] >= 0 ? lineText(false, r[1]) : null), equal = !at || view.same(r);
      const hit = query && ((left || "").toLowerCase().includes(query) || (right || "").toLowerCase().includes(query)) ? (from + k === found ? " hit now" : " hit") : "";
      const own = (r[1] >= 0 && followed[at]?.line === r[1]) || (at && r[0] >= 0 && followed[at - 1]?.line === r[0]) ? " followed" : "";
      return h("div", { class: "diff-row" + hit + own, style, onclick: () => pick(r) }, h("code", { title: left && left.length > 50 ? left.trim() : null, class: equal ? "" : left == null ? "none" : "gone" }, ...(left == null ? [""] : marked(left, equal ? null : right))), h("code", { title: right && right.length > 50 ? right.trim() : null, class: equal ? "" : right == null ? "none" : "come" }, ...(right == null ? [""] : marked(right, equal ? null : left))));
    }));
  }

  function fillList() {
    list.replaceChildren(...stages.flatMap((/** @type {any} */ s, /** @type {number} */ i) => (hide && s.same && i !== at ? [] : [h("div", { role: "option", "aria-selected": String(i === at), class: "stage" + (s.same ? " dim" : ""), onclick: () => show(i) },
      h("span", { class: s.same ? "dim" : "good" }, i ? (s.same ? "○ " : "● ") : "▷ "), h("span", {}, s.pass || "input"), h("span", { class: "dim sub" }, s.pipeline))])));
    const chosen = /** @type {HTMLElement|null} */ (list.querySelector('[aria-selected="true"]'));   // scrolls the list, not the page
    if (chosen && (chosen.offsetTop < list.scrollTop || chosen.offsetTop + chosen.offsetHeight > list.scrollTop + list.clientHeight)) list.scrollTop = chosen.offsetTop - list.clientHeight / 2;
  }
  function show(/** @type {number} */ i) {
    at = Math.min(Math.max(i, 0), stages.length - 1);
    setLinked(id, "stage", String(stages[at].run));
    moveSlider();
    fillList();
    compare();
  }
  function moveSlider() {
    slider.value = String(at);
    sliderText.textContent = `stage ${at} of ${stages.length - 1}: ${stages[at].pass || "input"}`;
  }
  /**
   * Follows the instruction of this row.
   * @param {DiffRow} r
   */
  function pick(r) {
    const left = r[1] < 0, stage = left ? at - 1 : at, name = instructionName(lineText(left, left ? r[0] : r[1]));
    if (!name) return;
    const found = follow(texts, stage, name);
    followed = found.seats;
    trail.replaceChildren(...trailOf(stages, texts, found, (i) => (show(i), scrollToFollowed())));
    paint();
  }
  function scrollToFollowed() {
    const seat = followed[at], row = seat ? view.rows.findIndex((r) => typeof r !== "number" && r[1] === seat.line) : -1;
    if (row >= 0) pane.scrollTop = Math.max(0, row * ROW - pane.clientHeight / 3);
  }
  function step(/** @type {number} */ by) {
    let i = at + by;
    while (hide && i > 0 && i < stages.length - 1 && stages[i].same) i += by;
    show(i);
  }
  function find() {
    if (!query) return paint();
    for (let k = 1; k <= view.rows.length; k++) {
      const i = (found + k) % view.rows.length, r = view.rows[i];
      if (typeof r === "number") continue;
      if ([r[0] >= 0 && at ? lineText(true, r[0]) : "", r[1] >= 0 ? lineText(false, r[1]) : ""].some((t) => t.toLowerCase().includes(query))) {
        found = i;
        pane.scrollTop = Math.max(0, i * ROW - pane.clientHeight / 3);
        return paint();
      }
    }
    status.textContent = `"${query}" is not in what is shown`;
  }
  const box = h("div", { onkeydown: (/** @type {KeyboardEvent} */ e) => {
    if (e.target instanceof HTMLInputElement && e.target.type !== "checkbox" && e.target.type !== "range") return;
    if (e.key === "j" || (e.key === "ArrowDown" && e.target === list)) step(1);
    else if (e.key === "k" || (e.key === "ArrowUp" && e.target === list)) step(-1);
    else if (e.key === "n") find();
    else if (e.key === "/") search.focus();
    else return;
    e.preventDefault();
  } });
  const search = h("input", { type: "search", placeholder: "find in the program", "aria-label": "Find in the program; Enter goes on", oninput: () => ((query = /** @type {HTMLInputElement} */ (search).value.toLowerCase()), (found = -1), paint()), onkeydown: (/** @type {KeyboardEvent} */ e) => e.key === "Enter" && find() });
  const check = (/** @type {string} */ text, /** @type {boolean} */ on, /** @type {(on: boolean) => void} */ set) => { const input = h("input", { type: "checkbox", onchange: () => set(/** @type {HTMLInputElement} */ (input).checked) }); if (on) input.setAttribute("checked", ""); return h("label", {}, input, " " + text); };
  const side = h("div", { class: "diff-side" }, heads, pane);
  box.append(h("div", { class: "tools" }, search, check("hide stages that changed nothing", false, (on) => ((hide = on), fillList())), check("only what differs", true, (on) => ((folded = on), compare())), check("metadata", false, (on) => ((bare = !on), paint())), h("span", { class: "dim" }, "j / k: next, previous stage"), status),
    h("div", { class: "tools slide" }, slider, sliderText), h("div", { class: "hlo" }, list, side), trail);
  pane.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
  new ResizeObserver(paint).observe(pane);
  top.append(box);
  main.append(top);
  const wanted = linked(id, "stage"), from = wanted == null ? -1 : stages.findIndex((/** @type {any} */ s) => String(s.run) === wanted);
  if (from >= 0) at = from;
  fillList();
  compare();
  moveSlider();
  stageShowers.push((run) => {
    const i = stages.findIndex((/** @type {any} */ s) => s.run === run);
    if (i < 0) return false;
    show(i);
    top.scrollIntoView();
    list.focus();
    return true;
  });
}

