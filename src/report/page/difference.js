// @ts-check
// difference.js - two programs beside each other, aligned by instruction (hloscope passes diff): what was kept is closed, j and k go from one difference to the next.

/** How many rows are drawn at once. */
const DIFFERENCE_ROWS = 2000;

/** @param {any} json @param {Part} part @param {HTMLElement} main */
function diffPart(json, part, main) {
  const top = section(part.label || "Difference", 2), rows = /** @type {any[]} */ (json.instructions || []);
  const body = h("tbody"), count = h("span", { "aria-live": "polite" });
  let kept = false, wanted = "", at = -1;
  leads(top, part, json);

  /**
   * The side of a row; a fused instruction says where it went.
   * @param {any} row @param {string} side
   */
  const cell = (row, side) => h("td", {}, row[side] || "", side === "right" && row.into ? h("span", { class: "dim" }, ` into ${row.into}`) : null);
  function fill() {
    const shownRows = rows.filter((r) => (kept || r.state !== "kept") && (!wanted || `${r.left} ${r.right}`.toLowerCase().includes(wanted)));
    let place = "";
    body.replaceChildren(...shownRows.slice(0, DIFFERENCE_ROWS).flatMap((r) => {
      const heading = r.computation !== place ? [h("tr", { class: "place" }, h("th", { colspan: "3", scope: "rowgroup" }, (place = r.computation)))] : [];
      return [...heading, h("tr", { class: "difference " + r.state }, h("td", { class: "short" }, r.state, r.what ? h("span", { class: "dim" }, " " + r.what) : null), cell(r, "left"), cell(r, "right"))];
    }));
    count.textContent = shownRows.length > DIFFERENCE_ROWS ? `the first ${DIFFERENCE_ROWS} of ${counted(shownRows.length, "row")}` : `${shownRows.length} of ${counted(rows.length, "row")}`;
    at = -1;
  }
  /**
   * To the next (1) or previous (-1) row that is not kept.
   * @param {number} by
   */
  function step(by) {
    const list = /** @type {HTMLElement[]} */ ([...body.querySelectorAll("tr.difference:not(.kept)")]);
    if (!list.length) return;
    if (at >= 0 && list[at]) list[at].classList.remove("now");
    at = Math.min(list.length - 1, Math.max(0, at + by));
    list[at].classList.add("now");
    list[at].scrollIntoView({ block: "nearest" });
  }
  const search = h("input", { type: "search", placeholder: "find in both programs", "aria-label": "Find in both programs", oninput: () => ((wanted = /** @type {HTMLInputElement} */ (search).value.toLowerCase()), fill()) });
  const check = h("input", { type: "checkbox", onchange: () => ((kept = /** @type {HTMLInputElement} */ (check).checked), fill()) });
  const csv = () => saveCsv("difference", [["state", "what", "computation", "before", "after", "into"], ...rows.map((r) => [r.state, r.what, r.computation, r.left, r.right, r.into])]);
  const box = h("div", { class: "scroll two", tabindex: "0", "aria-label": "Both programs; j and k go from difference to difference", onkeydown: (/** @type {KeyboardEvent} */ e) => {
    if (e.key === "j") step(1);
    else if (e.key === "k") step(-1);
    else if (e.key === "/") search.focus();
    else return;
    e.preventDefault();
  } }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "state"), h("th", { scope: "col" }, json.from || "before"), h("th", { scope: "col" }, json.to || "after"))), body));
  fill();
  top.append(h("div", { class: "tools" }, search, rows.some((r) => r.state === "kept") && h("label", {}, check, " what stayed too"), h("button", { onclick: () => step(-1) }, "previous"), h("button", { onclick: () => step(1) }, "next"),
    h("button", { onclick: csv, "aria-label": "Rows of difference as CSV" }, "CSV"), count), box);
  main.append(top);
}
