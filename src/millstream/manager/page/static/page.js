// Keeps a page as it is now: the server sends the part that changed, and charts are drawn from the job's samples.
"use strict";

const live = document.getElementById("live");
const lost = document.getElementById("lost");

function show(html) {
  // Not while somebody reads on in a log, or has marked text.
  if (String(getSelection()).length) return;
  const log = live.querySelector(".log");
  const atEnd = !log || log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  const top = log ? log.scrollTop : 0;
  const focused = live.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  live.innerHTML = html;
  const now = live.querySelector(".log");
  if (now) now.scrollTop = atEnd ? now.scrollHeight : top;
  if (focused) live.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
}

// What can be done changes with the job's state; not while somebody is about to do something.
async function offer() {
  const actions = document.querySelector(".actions[data-offers]");
  const now = live.querySelector("[data-offered]")?.dataset.offered;
  if (!actions || now === undefined || now === actions.dataset.offers || actions.querySelector("details[open]")) return;
  actions.dataset.offers = now;
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const fresh = page.querySelector(".actions[data-offers]");
  if (fresh && !actions.querySelector("details[open]")) actions.replaceWith(fresh);
}

function connection(there) {
  document.body.classList.toggle("lost", !there);
  if (lost.hidden === there) return;
  lost.hidden = there;
  lost.querySelector("time").textContent = new Date().toLocaleTimeString();
}

if (live && live.dataset.live) {
  const source = new EventSource("/live?" + live.dataset.live);
  source.onmessage = (event) => {
    connection(true);
    show(JSON.parse(event.data));
    offer().catch(() => {});
    if (live.querySelector("[data-still]")) source.close(); // nothing more will change
  };
  source.onopen = () => connection(true);
  source.onerror = () => connection(false);
  addEventListener("beforeunload", () => source.close());
}

const short = (value) => value >= 1e6 ? +(value / 1e6).toFixed(1) + " M" : value >= 1e3 ? +(value / 1e3).toFixed(1) + " k" : String(+value.toFixed(1));
const per = (name) => (rows) => rows.map((row, i) => i && row.at > rows[i - 1].at ? Math.max(0, (row[name] - rows[i - 1][name]) * 1000 / (row.at - rows[i - 1].at)) : null);
const plain = (name, scale = 1) => (rows) => rows.map((row) => row[name] === null ? null : row[name] / scale);
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });
const CHARTS = [
  ["behind, s", plain("behind_ms", 1000)],
  ["rows in, per second", per("rows_in")],
  ["lag, rows", plain("lag")],
  ["epoch, ms", plain("epoch_ms")],
  ["state, MB", plain("state_bytes", 1e6)],
];

const place = document.querySelector("[data-samples]");
const drawn = [];

function frame(title) {
  const figure = document.createElement("figure");
  figure.append(document.createElement("figcaption"));
  figure.firstChild.textContent = title;
  return figure;
}

function draw(rows) {
  const css = getComputedStyle(document.documentElement);
  const ink = css.getPropertyValue("--soft"), line = css.getPropertyValue("--line"), link = css.getPropertyValue("--link");
  const times = rows.map((row) => row.at / 1000);
  // All of them first: they share the width.
  if (!place.children.length) place.append(...CHARTS.map(([title]) => frame(title)));
  CHARTS.forEach(([, values], i) => {
    const data = [times, values(rows)];
    if (drawn[i]) { drawn[i].setData(data); return; }
    const figure = place.children[i];
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: "11px system-ui" };
    drawn[i] = new uPlot({
      width: figure.clientWidth - 20, height: 130, legend: { show: false },
      cursor: { sync: { key: "job" } }, series: [{}, { stroke: link, width: 1.6, fill: link + "22", spanGaps: false, points: { show: false } }],
      axes: [{ ...axis, space: 75, values: (_, ticks) => ticks.map(clock) }, { ...axis, size: 46, values: (_, ticks) => ticks.map(short) }], scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    }, data, figure);
  });
}

async function charts() {
  const answer = await fetch(place.dataset.samples, { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const rows = (await answer.json()).reverse();
  if (rows.length > 1) draw(rows);
}

if (place) {
  charts();
  setInterval(() => { if (!document.hidden) charts().catch(() => {}); }, 5000);
  addEventListener("resize", () => drawn.forEach((chart) => chart.setSize({ width: chart.root.parentElement.clientWidth - 20, height: 130 })));
}
