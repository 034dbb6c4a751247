// @ts-check
// timeline.js - a million events on a canvas. Events lie in typed arrays, sorted by lane and start; each frame draws at most one rectangle a pixel and
// row: after a rectangle is drawn, the next one that reaches beyond its last pixel is found by bisection.

/** @param {string} text @param {new (b: ArrayBuffer) => any} Type */
function unpack(text, Type) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Type(bytes.buffer);
}

/** @param {any} data @param {string} title @param {(name: string) => boolean} [open] opens what a name stands for, when it is known */
function timelineView(data, title, open) {
  let start = new Uint32Array(0), duration = start, name = start, depth = new Uint8Array(0);
  const tick = data.tick_ns, ROW = 15, HEAD = 17, AXIS = 22, MAX_DEPTH = 8;
  // Rows: of each lane one for each depth, as lists of event numbers.
  /** @type {{lane: number, label: string, section: string, y: number, list: Uint32Array}[]} */
  let rows = [];
  let y = AXIS, piece = data, hash = /** @type {number[]} */ ([]);
  /** @type {{text: string, y: number}[]} */
  let headings = [];
  const colours = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#ff9da6", "#79706e", "#d67195"];

  /**
   * Takes events for drawing: all of them, or of a served page those of a range.
   * @param {any} next
   */
  function load(next) {
    let sectionName = "";
    piece = next;
    start = unpack(next.start, Uint32Array);
    duration = unpack(next.duration, Uint32Array);
    name = unpack(next.name, Uint32Array);
    depth = unpack(next.depth, Uint8Array);
    hash = next.names.map((/** @type {string} */ n) => { let x = 7; for (let i = 0; i < n.length && i < 40; i++) x = (x * 31 + n.charCodeAt(i)) >>> 0; return x % colours.length; });
    rows = [];
    headings = [];
    y = AXIS;
    next.lanes.forEach((/** @type {any} */ lane, /** @type {number} */ l) => {
      if (lane.section !== sectionName) headings.push({ text: (sectionName = lane.section), y }), (y += HEAD);
      const counts = new Uint32Array(MAX_DEPTH);
      for (let i = lane.first; i < lane.first + lane.count; i++) counts[Math.min(depth[i], MAX_DEPTH - 1)]++;
      const lists = Array.from(counts, (n) => new Uint32Array(n)), at = new Uint32Array(MAX_DEPTH), deep = lane.depths || counts.reduce((m, n, d) => (n ? d + 1 : m), 0);
      for (let i = lane.first; i < lane.first + lane.count; i++) { const d = Math.min(depth[i], MAX_DEPTH - 1); lists[d][at[d]++] = i; }
      lists.slice(0, deep).forEach((list, d) => { rows.push({ lane: l, label: d === 0 ? lane.name : "", section: lane.section, y, list }), (y += ROW); });
      y += 3;
    });
  }
  load(data);
  const LABEL = 190, height = Math.min(y + 8, 620), whole = data.end_ticks || 1;
  let from = 0, to = whole, scroll = 0, selected = -1, drag = /** @type {{x: number, y: number, from: number, to: number, scroll: number, moved: boolean} | null} */ (null), query = "";
  let matches = /** @type {Uint8Array | null} */ (null);
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { tabindex: "0", role: "application", "aria-label": `${title}: timeline of ${counted(data.events ?? start.length, "event")}. Arrow keys move and zoom, Enter reads the event in the middle.`, style: `height:${height}px` }));
  const pick = h("div", { class: "pick", "aria-live": "polite" }, "Wheel or w/s: zoom. Drag or a/d: move. Click: details.");
  /** The first position in `list` whose event ends after tick t. Ends rise within a row, for events of one depth do not overlap. */
  const seek = (/** @type {Uint32Array} */ list, /** @type {number} */ t, /** @type {number} */ low) => {
    let high = list.length;
    while (low < high) { const mid = (low + high) >> 1; if (start[list[mid]] + duration[list[mid]] < t) low = mid + 1; else high = mid; }
    return low;
  };

  let queued = false;
  // A served page has a piece three times as wide as what is seen; nearer to its end, or when it is too coarse, the next one is asked for.
  let asked = 0, waiting = /** @type {any} */ (0);
  function askForMore() {
    if (!data.remote) return;
    const size = to - from, coarse = (piece.to - piece.from) / size > 4.5, out = (from < piece.from && piece.from > 0) || (to > piece.to && piece.to < whole);
    if (!coarse && !out) return;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const number = ++asked, low = Math.max(0, Math.floor(from - size)), high = Math.min(whole, Math.ceil(to + size));
      try {
        const answer = await fetch(`${data.remote}?from=${low}&to=${high}&pixels=${Math.round(((high - low) / size) * (canvas.clientWidth || 800))}`);
        if (!answer.ok) throw new Error((await answer.text()).slice(0, 200));
        const next = await answer.json();
        if (number !== asked) return;
        selected = -1;
        load(next);
        if (query) matches = Uint8Array.from(piece.names, (/** @type {string} */ n) => (n.toLowerCase().includes(query) ? 1 : 0));
        paint();
        /** @type {any} */ (canvas).hscPieces = number;
      } catch (error) {
        pick.textContent = `The server does not answer: ${error}`;
      }
    }, 60);
  }

  function redraw() {
    askForMore();
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => { queued = false; paint(); });
  }

  function paint() {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth || 800;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) (canvas.width = Math.round(width * ratio)), (canvas.height = Math.round(height * ratio));
    const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), style = getComputedStyle(document.documentElement), fg = style.getPropertyValue("--fg"), dim = style.getPropertyValue("--dim"), line = style.getPropertyValue("--line"), bg = style.getPropertyValue("--bg");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    const plot = width - LABEL, scale = plot / (to - from), x = (/** @type {number} */ t) => LABEL + (t - from) * scale;
    for (const row of rows) {
      const top = row.y - scroll;
      if (top < AXIS - ROW || top > height) continue;
      let i = seek(row.list, from, 0), edge = -1;
      while (i < row.list.length) {
        const e = row.list[i], a = start[e];
        if (a > to) break;
        const x1 = Math.max(x(a), LABEL), x2 = Math.max(Math.min(x(a + duration[e]), width), x1 + 1);
        g.globalAlpha = matches && !matches[name[e]] ? 0.15 : 1;
        g.fillStyle = colours[hash[name[e]]];
        g.fillRect(x1, top, x2 - x1, ROW - 2);
        if (e === selected) (g.strokeStyle = fg), (g.lineWidth = 2), g.strokeRect(x1, top, x2 - x1, ROW - 2);
        if (x2 - x1 > 30) {
          g.fillStyle = "#fff";
          const room = Math.floor((x2 - x1 - 4) / 6);
          g.fillText(piece.names[name[e]].slice(0, room), x1 + 3, top + ROW / 2 - 1);
        }
        edge = x2;
        // Everything that ends before the next pixel is behind this rectangle.
        i = seek(row.list, from + (edge - LABEL) / scale, i + 1);
      }
      g.globalAlpha = 1;
    }
    g.fillStyle = bg;
    g.fillRect(0, 0, LABEL - 2, height);
    g.fillRect(0, 0, width, AXIS);
    g.fillStyle = fg;
    for (const row of rows) { const top = row.y - scroll; if (row.label && top >= AXIS - 4 && top < height) g.fillText(row.label.slice(0, 30), 12, top + ROW / 2 - 1); }
    g.font = "bold 11px system-ui, sans-serif";
    for (const item of headings) { const top = item.y - scroll; if (top >= AXIS - 4 && top < height) (g.fillStyle = dim), g.fillText(item.text, 4, top + HEAD / 2); }
    g.font = "11px system-ui, sans-serif";
    const span = (to - from) * tick, step = 10 ** Math.floor(Math.log10(span / 4)), unit = span / step > 20 ? step * 5 : span / step > 8 ? step * 2 : step;
    g.strokeStyle = line;
    g.fillStyle = dim;
    for (let t = Math.ceil((from * tick) / unit) * unit; t <= to * tick; t += unit) { const at = x(t / tick); g.beginPath(), g.moveTo(at, AXIS), g.lineTo(at, height), g.stroke(), g.fillText(shown(t, "ns"), at + 2, AXIS / 2); }
  }

  function at(/** @type {number} */ px, /** @type {number} */ py) {
    const t = from + ((px - LABEL) / (canvas.clientWidth - LABEL)) * (to - from), slack = (2 / (canvas.clientWidth - LABEL)) * (to - from);
    for (const row of rows) {
      if (py < row.y - scroll || py >= row.y - scroll + ROW) continue;
      const e = row.list[seek(row.list, t - slack, 0)];
      return e !== undefined && start[e] <= t + slack ? e : -1;
    }
    return -1;
  }

  function select(/** @type {number} */ e, byClick = false) {
    selected = e;
    if (e < 0) return redraw();
    const lane = piece.lanes.find((/** @type {any} */ l) => e >= l.first && e < l.first + l.count);
    pick.textContent = `${piece.names[name[e]]}\nstart ${shown(start[e] * tick, "ns")}, takes ${shown(duration[e] * tick, "ns")}, on ${lane ? lane.name : "?"}` + (data.details ? "\n" + data.details[e] : "");
    if (open && byClick) open(piece.names[name[e]]);
    redraw();
  }

  function zoom(/** @type {number} */ factor, /** @type {number} */ centre) {
    const size = Math.min(Math.max((to - from) * factor, 10), whole);
    from = Math.min(Math.max(centre - ((centre - from) / (to - from)) * size, 0), whole - size);
    to = from + size;
    redraw();
  }
  function move(/** @type {number} */ part) {
    const step = Math.min(Math.max((to - from) * part, -from), whole - to);
    (from += step), (to += step);
    redraw();
  }

  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    if (e.shiftKey) return (scroll = Math.min(Math.max(scroll + e.deltaY, 0), Math.max(y - height, 0))), redraw();
    zoom(e.deltaY > 0 ? 1.25 : 0.8, from + ((e.offsetX - LABEL) / (canvas.clientWidth - LABEL)) * (to - from));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => { drag = { x: e.offsetX, y: e.offsetY, from, to, scroll, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (!drag) return;
    const dx = e.offsetX - drag.x, dy = e.offsetY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
    const size = drag.to - drag.from, shift = (dx / (canvas.clientWidth - LABEL)) * size;
    from = Math.min(Math.max(drag.from - shift, 0), whole - size);
    to = from + size;
    scroll = Math.min(Math.max(drag.scroll - dy, 0), Math.max(y - height, 0));
    redraw();
  });
  canvas.addEventListener("pointerup", (e) => { if (drag && !drag.moved) select(at(e.offsetX, e.offsetY), true); drag = null; });
  canvas.addEventListener("keydown", (e) => {
    const middle = (from + to) / 2, action = /** @type {Object<string, () => void>} */ ({ w: () => zoom(0.7, middle), s: () => zoom(1.4, middle), a: () => move(-0.2), d: () => move(0.2), ArrowUp: () => zoom(0.7, middle), ArrowDown: () => zoom(1.4, middle), ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "0": () => ((from = 0), (to = whole), redraw()), Enter: () => select(nearest(middle)) })[e.key];
    if (!action) return;
    e.preventDefault();
    action();
  });
  function nearest(/** @type {number} */ t) {
    let best = -1, gap = Infinity;
    for (const row of rows) { const e = row.list[Math.min(seek(row.list, t, 0), row.list.length - 1)]; const d = Math.abs(start[e] - t); if (d < gap) (gap = d), (best = e); }
    return best;
  }

  const search = h("input", { type: "search", placeholder: "find a name", "aria-label": "Highlight events by name", oninput: (/** @type {Event} */ e) => {
    query = /** @type {HTMLInputElement} */ (e.target).value.toLowerCase();
    matches = query ? Uint8Array.from(piece.names, (/** @type {string} */ n) => (n.toLowerCase().includes(query) ? 1 : 0)) : null;
    redraw();
  } });
  const box = h("div", {}, h("div", { class: "tools" }, search, h("button", { onclick: () => ((from = 0), (to = whole), redraw()) }, "whole"), !data.remote && h("button", { onclick: () => openInPerfetto(data, { start, duration, name }, title) }, "open in Perfetto"),
    h("span", {}, counted(data.events ?? start.length, "event"))), h("div", { class: "timeline" }, canvas), pick);
  new ResizeObserver(redraw).observe(canvas);
  charts.push({ chart: null, option: redraw });
  // For the browser test, which measures a frame.
  /** @type {any} */ (canvas).hscPaint = paint;
  redraw();
  return box;
}

/**
 * Hands the events to ui.perfetto.dev by its own protocol, in a window that the reader opens.
 * @param {any} data @param {{start: Uint32Array, duration: Uint32Array, name: Uint32Array}} events @param {string} title
 */
function openInPerfetto(data, events, title) {
  const parts = ['{"traceEvents":['];
  data.lanes.forEach((/** @type {any} */ lane, /** @type {number} */ l) => {
    parts.push(JSON.stringify({ ph: "M", ts: 0, pid: 1, tid: l + 1, name: "thread_name", args: { name: lane.section + ": " + lane.name } }), ",");
    for (let i = lane.first; i < lane.first + lane.count; i++) parts.push(JSON.stringify({ ph: "X", pid: 1, tid: l + 1, ts: (events.start[i] * data.tick_ns) / 1000, dur: (events.duration[i] * data.tick_ns) / 1000, name: data.names[events.name[i]] }), ",");
  });
  parts.push('{"ph":"M","ts":0,"pid":1,"tid":0,"name":"process_name","args":{"name":"hloscope"}}]}');
  const buffer = new TextEncoder().encode(parts.join("")).buffer, target = window.open("https://ui.perfetto.dev");
  if (!target) return;
  const timer = setInterval(() => target.postMessage("PING", "https://ui.perfetto.dev"), 100);
  window.addEventListener("message", (e) => {
    if (e.origin !== "https://ui.perfetto.dev" || e.data !== "PONG") return;
    clearInterval(timer);
    target.postMessage({ perfetto: { buffer, title } }, "https://ui.perfetto.dev");
  });
}
