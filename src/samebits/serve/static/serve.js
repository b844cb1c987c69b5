// The whole script of the pages: live updates, charts that show their values, and the forms of "Try".
// Texts are only ever set as text; nothing that comes from a run or a model is read as HTML, except charts drawn by the server.
"use strict";

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function say(text) { $("#said").textContent = text; }

// ---- live updates --------------------------------------------------------------------------------------------------

let stream = null;

function listen() {
  const address = document.body.dataset.stream;
  if (!address || stream || document.hidden) return;
  stream = new EventSource(address);
  stream.addEventListener("update", (event) => update(JSON.parse(event.data)));
  stream.addEventListener("list", (event) => updateList(JSON.parse(event.data)));
  stream.addEventListener("full", () => { say("Too many pages are watching; this one does not update."); hush(); });
}

// A page in the background gives its connection back: browsers have only six for one server.
function hush() {
  if (stream) stream.close();
  stream = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));

function update(news) {
  document.body.dataset.stream = document.body.dataset.stream.replace(/since=\d+/, `since=${news.version}`);
  if (news.state !== document.body.dataset.state) {
    document.body.dataset.state = news.state;
    say(`The run is ${news.state}.`);
    swap();
    return;
  }
  setTexts(document, news.text);
  setShares(document, news.share);
  for (const chart of news.charts) updateChart(chart);
  for (const sample of news.samples) addSample(sample);
}

function updateList(news) {
  if (news.moved) { swap(); return; }
  for (const [key, run] of Object.entries(news.runs)) {
    const row = $(`[data-run="${CSS.escape(key)}"]`);
    if (!row) { swap(); return; }
    setTexts(row, { line: run.line });
    setShares(row, { all: run.share });
  }
}

function setTexts(within, texts) {
  for (const [key, text] of Object.entries(texts)) {
    for (const place of $$(`[data-live="${CSS.escape(key)}"]`, within)) {
      if (place.textContent !== text) place.textContent = text;
    }
  }
}

function setShares(within, shares) {
  for (const [key, share] of Object.entries(shares)) {
    for (const bar of $$(`[data-share="${CSS.escape(key)}"]`, within)) bar.value = share;
  }
}

// Something new appeared (a run, its files): take the page again and put its main part in place, without a flash.
async function swap() {
  hush();
  try {
    const chosen = new Set($$("input[name=run]:checked").map((box) => box.value));
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    $("main").replaceChildren(...$("main", fresh).childNodes);
    for (const box of $$("input[name=run]")) box.checked = box.checked || chosen.has(box.value);
    for (const name of ["stream", "state"]) {
      if (name in fresh.body.dataset) document.body.dataset[name] = fresh.body.dataset[name];
    }
    prepare();
  } catch {
    say("The server does not answer.");
  }
  setTimeout(listen, 300);
}

function addSample(sample) {
  const list = $("[data-samples]");
  if (!list || $(`[data-step="${sample.step}"]`, list)) return;
  list.hidden = false;
  const title = make("figcaption", {}, `after ${sample.step.toLocaleString("en")} steps`);
  $("h2", list).after(make("figure", { class: "sample", "data-step": sample.step }, title, make("pre", {}, sample.text)));
  while ($$(".sample", list).length > 4) $$(".sample", list).at(-1).remove();
}

// ---- charts --------------------------------------------------------------------------------------------------------

function updateChart(news) {
  const card = $(`[data-chart="${CSS.escape(news.key)}"]`);
  if (!card) return;
  card.hidden = false;
  const plot = $(".plot", card);
  if (news.svg !== undefined) {
    // drawn by the server from numbers and escaped names, as on every other page of it
    const fresh = new DOMParser().parseFromString(news.svg, "text/html");
    plot.replaceChildren(...fresh.body.childNodes);
    readable(plot);
    return;
  }
  const lines = $$("polyline.line", plot);
  for (const [number, start, points] of news.lines) {
    const line = lines[number];
    if (!line) continue;
    const kept = line.getAttribute("points").split(" ").slice(0, start);
    line.setAttribute("points", [...kept, points].join(" ").trim());
  }
}

// The value under the pointer: a hair line and a sentence below the chart. Values are read from the axis labels' places.
function readable(plot) {
  const svg = $("svg.chart", plot);
  if (!svg || svg.dataset.readable) return;
  svg.dataset.readable = "yes";
  const hair = document.createElementNS("http://www.w3.org/2000/svg", "line");
  hair.setAttribute("class", "hair");
  hair.setAttribute("visibility", "hidden");
  svg.append(hair);
  const axis = { x: scale($$("text", svg).filter((t) => t.getAttribute("text-anchor") === "middle"), "x"),
                 y: scale($$("text", svg).filter((t) => t.getAttribute("text-anchor") === "end" && !t.classList.contains("axis")), "y") };
  if (!axis.x || !axis.y) return;
  const names = $$(".legend li", plot).map((item) => item.textContent);
  const shown = make("p", { class: "soft reading", "aria-hidden": "true" });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const found = $$("polyline.line", svg).filter((line) => line.ownerSVGElement === svg).map((line) => nearest(line, x));
    const first = found.find(Boolean);
    if (!first) return;
    for (const [name, value] of [["x1", first[0]], ["x2", first[0]], ["y1", 10], ["y2", 226]]) hair.setAttribute(name, value);
    hair.setAttribute("visibility", "visible");
    const values = found.map((point, k) => point && `${names[k] ?? ""} ${number(axis.y(point[1]))}`).filter(Boolean);
    svg.setAttribute("data-reading", `${number(axis.x(first[0]))}: ${values.join(", ")}`);
    shown.textContent = svg.dataset.reading;
    if (!shown.isConnected) plot.append(shown);
  });
  svg.addEventListener("pointerleave", () => { hair.setAttribute("visibility", "hidden"); shown.remove(); });
}

function nearest(line, x) {
  let best = null;
  for (const pair of line.getAttribute("points").split(" ")) {
    const [px, py] = pair.split(",").map(Number);
    if (!best || Math.abs(px - x) < Math.abs(best[0] - x)) best = [px, py];
  }
  return best;
}

function scale(labels, along) {
  const known = labels.map((label) => [Number(label.getAttribute(along)) - (along === "y" ? 4 : 0), plain(label.textContent)]);
  const [a, b] = [known[0], known.at(-1)];
  if (!a || a === b || a[0] === b[0]) return null;
  return (place) => a[1] + ((place - a[0]) * (b[1] - a[1])) / (b[0] - a[0]);
}

function plain(text) {
  const factor = text.endsWith("k") ? 1e3 : text.endsWith("M") ? 1e6 : 1;
  return Number.parseFloat(text) * factor;
}

function number(value) {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(4)).toString();
}

// ---- lists, verdicts, drawings -------------------------------------------------------------------------------------

function prepare() {
  for (const form of $$("form[data-compare]")) {
    const button = $("button[type=submit]", form);
    const look = () => { button.disabled = $$("input:checked", form).length < 2; };
    form.addEventListener("change", look);
    look();
  }
  for (const plot of $$(".plot")) readable(plot);
  for (const button of $$("[data-verify]")) button.addEventListener("click", () => verify(button));
  for (const button of $$("[data-draw]")) button.addEventListener("click", () => draw(button));
  const badge = $("[data-verdict].checking");
  if (badge && $("[data-verify]")) verify($("[data-verify]"));
}

async function verify(button) {
  button.disabled = true;
  const names = { checking: "checking", verified: "verified", damaged: "damaged", unknown: "not checked" };
  for (let tries = 0; tries < 600 && button.isConnected; tries += 1) {
    const found = await ask(button.dataset.verify, {});
    const badge = $("[data-verdict]");
    badge.className = `badge ${found.state}`;
    badge.textContent = names[found.state];
    $("[data-verdict-sentence]").textContent = found.sentence;
    if (found.state !== "checking") {
      button.remove();
      say(`The files are ${names[found.state]}.`);
      return;
    }
    await new Promise((resume) => setTimeout(resume, 500));
  }
}

async function draw(button) {
  button.disabled = true;
  try {
    const found = await ask("/api/v1/try/draw", { graph: JSON.parse(button.dataset.draw) });
    button.replaceWith(picture(found.svg, "graph of this row"));
  } catch (error) {
    button.replaceWith(make("span", { class: "wrong" }, error.message));
  }
}

function picture(svg, text) {
  const bytes = new TextEncoder().encode(svg);
  const coded = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return make("img", { class: "drawing", alt: text, src: `data:image/svg+xml;base64,${coded}` });
}

async function ask(address, body, type = "application/json") {
  const content = type === "application/json" ? JSON.stringify(body) : body;
  const answer = await fetch(address, { method: "POST", headers: { "content-type": type }, body: content });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.error?.message ?? `the server answered ${answer.status}`);
  return found;
}

// ---- try -----------------------------------------------------------------------------------------------------------

function prepareTabs() {
  const tabs = $$("[role=tab]");
  const choose = (tab) => {
    for (const other of tabs) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
      $(`#${other.getAttribute("aria-controls")}`).hidden = other !== tab;
    }
    history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`);
  };
  for (const [place, tab] of tabs.entries()) {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : step && (place + step + tabs.length) % tabs.length;
      if (next === undefined) return;
      event.preventDefault();
      choose(tabs[next]);
      tabs[next].focus();
    });
  }
  const wanted = tabs.find((tab) => `#${tab.getAttribute("aria-controls")}` === location.hash);
  if (wanted) choose(wanted);
}

function bars(pairs) {
  const list = make("div", { class: "bars" });
  for (const [name, share] of pairs) {
    list.append(make("span", {}, name), make("progress", { max: 1, value: share, "aria-label": name }), make("span", {}, `${(100 * share).toFixed(1)} %`));
  }
  return list;
}

const percent = (share) => `${(100 * share).toFixed(share > 0.9995 ? 0 : 1)} %`;

// The name of a language in English where the browser knows it, else its code.
function called(code) {
  try { return new Intl.DisplayNames(["en"], { type: "language" }).of(code); } catch { return code; }
}

const answers = {
  language(found) {
    const parts = [make("h2", { title: found.label }, called(found.label)), make("p", { class: "soft" }, `${percent(found.confidence)} sure, among ${found.languages} languages`)];
    parts.push(bars(found.ranking.map(([code, share]) => [called(code), share])));
    if (found.evidence) {
      const text = make("p", { class: "evidence" }, ...found.evidence.map(([piece, level]) => (level ? make("mark", { class: `e${level}` }, piece) : piece)));
      parts.push(make("h3", {}, `What speaks for ${called(found.label)} and against ${called(found.against)}`), text);
    }
    if (found.spans && found.spans.length > 1) {
      const names = [...new Set(found.spans.map((span) => span.label))];
      const text = make("p", { class: "evidence" }, ...found.spans.map((span) => make("span", { class: `t${names.indexOf(span.label) % 6}`, title: called(span.label) }, span.text)));
      const legend = make("p", { class: "row" }, ...names.map((name, k) => make("span", { class: `tag t${k % 6}` }, called(name))));
      parts.push(make("h3", {}, "Languages in it"), text, legend);
    }
    return parts;
  },
  encoding(found) {
    const size = `${found.bytes.toLocaleString("en")} bytes read`;
    if (!found.encoding) return [make("h2", {}, "not text"), make("p", { class: "soft" }, `${size}: these bytes are no text in any encoding known here`)];
    const cards = found.candidates.map((candidate) => {
      const title = make("h3", {}, candidate.encoding, make("span", { class: "soft" }, percent(candidate.confidence)));
      const about = [candidate.language && called(candidate.language), candidate.aliases.length ? `same text as ${candidate.aliases.join(", ")}` : ""].filter(Boolean).join(" · ");
      const card = make("div", { class: "candidate" }, title);
      if (about) card.append(make("p", { class: "soft" }, about));
      card.append(make("pre", {}, candidate.preview ?? "Python cannot show this encoding."));
      return card;
    });
    return [make("h2", {}, found.encoding), make("p", { class: "soft" }, `${percent(found.confidence)} sure, ${size}`), ...cards];
  },
  tokens(found) {
    const row = make("p", { class: "token-row" }, ...found.tokens.map(([text, id], k) => make("span", { class: `t${k % 6}`, title: `token ${id}` }, text)));
    const each = found.count ? (found.bytes / found.count).toFixed(2) : "0";
    return [make("h2", {}, `${found.count.toLocaleString("en")} tokens`), make("p", { class: "soft" }, `${each} bytes each, from a vocabulary of ${found.vocabulary.toLocaleString("en")}`), row];
  },
  graph(found) {
    return [make("p", { class: "soft" }, `${found.graph.nodes.length} nodes; the model gives this graph ${percent(found.probability)}`), picture(found.svg, "graph of the expression")];
  },
  distance(found) {
    const title = found.exact ? `${found.upper} edits` : `between ${found.lower} and ${found.upper} edits`;
    const proof = found.exact ? "proven: no shorter way exists" : "not proven: the search was stopped at its limit";
    return [make("h2", {}, title), make("p", { class: "soft" }, proof), picture(found.svg, "the edits: removed parts dashed, added parts with a plus"), make("ul", {}, ...found.edits.map((edit) => make("li", {}, edit)))];
  },
};

async function tryIt(form, event) {
  event.preventDefault();
  const kind = form.dataset.try;
  const place = $(".answer", form.parentElement);
  const button = $("button[type=submit]", form);
  button.disabled = true;
  try {
    if (kind === "text") { await write(form, place); return; }
    place.replaceChildren(make("p", { class: "soft" }, "…"));
    place.replaceChildren(...answers[kind](await send(kind, form)));
  } catch (error) {
    place.replaceChildren(make("p", { class: "wrong", role: "alert" }, error.message));
  } finally {
    button.disabled = false;
  }
}

function send(kind, form) {
  const given = Object.fromEntries(new FormData(form));
  if (kind === "encoding") {
    const file = form.dropped ?? $("input[type=file]", form).files[0];
    if (!file) throw new Error("Choose a file first.");
    return ask(`/api/v1/try/encoding?model=${encodeURIComponent(given.model ?? "shipped")}`, file.slice(0, 1 << 20), "application/octet-stream");
  }
  if (kind === "distance") return ask("/api/v1/try/distance", { first: parse(given.first, "first"), second: parse(given.second, "second") });
  return ask(`/api/v1/try/${kind}`, given);
}

function parse(text, which) {
  try { return JSON.parse(text); } catch { throw new Error(`The ${which} graph is not JSON.`); }
}

async function write(form, place) {
  const given = Object.fromEntries(new FormData(form));
  for (const name of ["temperature", "seed", "tokens"]) given[name] = Number(given[name]);
  const stop = new AbortController();
  const button = $("[data-stop]", form);
  const rest = make("span");
  place.replaceChildren(make("pre", { class: "written" }, make("span", { class: "given" }, given.prompt), rest));
  button.disabled = false;
  button.onclick = () => stop.abort();
  try {
    const answer = await fetch("/api/v1/try/text", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(given), signal: stop.signal });
    if (!answer.ok) throw new Error((await answer.json()).error.message);
    await lines(answer, (part) => {
      if (part.error) throw new Error(part.error);
      if (part.text) rest.append(part.text);
    });
    say("Done writing.");
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  } finally {
    button.disabled = true;
  }
}

async function lines(answer, take) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const all = (waiting + value).split("\n");
    waiting = all.pop();
    for (const line of all) take(JSON.parse(line));
  }
}

function prepareTry() {
  for (const form of $$("form[data-try]")) form.addEventListener("submit", (event) => tryIt(form, event));
  const drop = $(".drop");
  if (!drop) return;
  const form = drop.closest("form");
  const over = (event, yes) => { event.preventDefault(); drop.classList.toggle("over", yes); };
  drop.addEventListener("dragover", (event) => over(event, true));
  drop.addEventListener("dragleave", (event) => over(event, false));
  drop.addEventListener("drop", (event) => {
    over(event, false);
    form.dropped = event.dataTransfer.files[0];
    form.requestSubmit();
  });
  $("input[type=file]", drop).addEventListener("change", () => { form.dropped = undefined; form.requestSubmit(); });
}

prepare();
prepareTabs();
prepareTry();
listen();
