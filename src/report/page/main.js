// @ts-check
// main.js - builds the page from the data element: a part for each file that was given.

/** @type {Object<string, (json: any, part: Part, main: HTMLElement) => void>} */
const RENDERERS = { patterns: patternsPart, passes_list: passListPart, passes_time: passTimePart, passes_validate: validatePart, passes_diff: diffPart, hlo_stages: hloPart, passes_ablate: ablatePart, stats: statsPart, listing: listingPart, run: runPart, capture: capturePart, profile: capturePart, doctor: doctorPart, explain: explainPart, table: genericPart, other: genericPart };

function build() {
  const element = document.getElementById("data"), data = JSON.parse((element && element.textContent) || "{}"), main = /** @type {HTMLElement} */ (document.getElementById("content"));
  document.title = data.title || "hloscope report";
  const prefersDark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = prefersDark ? "dark" : "light";
  const header = /** @type {HTMLElement} */ (document.getElementById("top"));
  header.append(h("h1", {}, data.title || "hloscope report"), h("span", { class: "dim grow made" }, data.made || ""), h("button",
    { onclick: () => rebuild(isDark() ? "light" : "dark") }, "light / dark"), h("button", { onclick: () => (drawAll(), print()) }, "print"));
  addEventListener("beforeprint", drawAll);
  render(data, main);
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)).split("&")[0]);
  if (target) target.scrollIntoView();
  const foot = /** @type {HTMLElement} */ (document.getElementById("foot"));
  foot.append(`hloscope ${data.version || ""}. This page holds its data and asks nothing of any server.`);
}

/** @param {any} data @param {HTMLElement} main */
function render(data, main) {
  main.replaceChildren();
  /** @type {HTMLElement} */ (document.getElementById("contents")).replaceChildren();
  sectionNumber = 0;
  charts.length = stageShowers.length = 0;
  waiting.clear();
  gatherStates(data.parts || []);
  for (const part of data.parts || []) {
    const place = h("div");
    main.append(place);
    currentCommand = part.command || "";
    try {
      (RENDERERS[part.kind] || genericPart)(part.json, part, place);
    } catch (error) {   // one part that is not as expected must not take the others with it
      console.error(error);
      place.append(h("p", { class: "bad" }, `${part.label} could not be drawn: ${error}`));
      genericPart(part.json, part, place);
    }
    if (part.command) place.append(h("p", { class: "dim repeat" }, "To repeat it: ", h("code", {}, part.command), " ", h("button", { onclick: () => navigator.clipboard && navigator.clipboard.writeText(part.command) }, "copy")));
  }
  if (!(data.parts || []).length) main.append(h("p", { class: "empty" }, "There is nothing in this report."));
}

/**
 * Charts take their colours when they are made, so a change of theme draws the page again.
 * @param {string} theme
 */
function rebuild(theme) {
  document.documentElement.dataset.theme = theme;
  const element = document.getElementById("data"), at = scrollY;
  render(JSON.parse((element && element.textContent) || "{}"), /** @type {HTMLElement} */ (document.getElementById("content")));
  scrollTo(0, at);
}

build();
