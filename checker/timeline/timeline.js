// timeline.js: the page's state, and what the reader does with it.

const byId = (id) => document.getElementById(id);
const { picture: data, stories } = JSON.parse(byId("data").textContent, (key, value) => (value === null ? [] : value)); // Go writes an empty list as null
const picture = new Picture(data, stories, byId("picture"));
const sections = [...document.querySelectorAll("[data-story]")];
let current = -1;
let waiting = false;

// focus is what "fit violation" shows: the story of the chosen lock, with room
// for the labels after its last mark.
function focus() {
  const of = picture.story && picture.lock && picture.story.lock === picture.lock.name ? picture.story : data.focus;
  const length = Math.max(of.end - of.begin, 1e6);
  return { begin: of.begin - length * 0.06, end: of.end + length * 0.2 };
}

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    picture.draw();
  });
}

function refill() {
  if (picture.lock) fillTable(picture, focus(), byId("filter").value, byId("only").checked);
}

function fit() {
  const { begin, end } = focus();
  picture.scale.show(begin, end);
  redraw();
}

function whole() {
  picture.scale.show(data.begin, data.end);
  redraw();
}

function notice() {
  const parts = [];
  if (data.ops.length < data.total) parts.push("This page holds " + data.ops.length.toLocaleString("en") + " of " + data.total.toLocaleString("en") + " operations, those around what is told above; where the picture is empty, operations may be missing. All are in history.jsonl.");
  if (picture.hidden > 0) parts.push(picture.hidden + " more workers of this lock are not drawn.");
  if (data.ops.length === 0) parts.push("There is no operation to draw.");
  byId("notice").textContent = parts.join(" ");
  byId("notice").hidden = parts.length === 0;
}

function chooseLock(name) {
  picture.setLock(name);
  if (picture.lock) byId("lock").value = picture.lock.name;
  notice();
  refill();
  redraw();
}

// tell shows one story and brings it into view.
function tell(i) {
  if (sections.length === 0) return;
  current = (i + sections.length) % sections.length;
  sections.forEach((section, n) => {
    section.hidden = n !== current;
  });
  picture.setStory(stories[current]);
  byId("which").textContent = (stories[current].violation ? "violation " : "trial ") + (current + 1) + " of " + sections.length + " told";
  chooseLock(stories[current].lock);
  fit();
}

function describe(title, parts) {
  const b = document.createElement("b");
  b.textContent = title;
  byId("detail").replaceChildren(b, " \u00b7 " + parts.join(" \u00b7 "));
}

function describeOp(n) {
  const op = data.ops.find((o) => o.n === n);
  if (op) describe("op " + n + ": " + who(op) + ", " + op.label, details(op));
  return op;
}

function describeLease(lease) {
  const parts = ["worker " + lease.process, "granted by " + seconds(lease.begin)];
  parts.push("the worker believes in it until " + seconds(lease.believes));
  parts.push(lease.ended ? "it ended by " + seconds(lease.gone) + " (" + lease.ended + ")" : "no end of it was seen");
  if (lease.sure < lease.gone) parts.push("the store's last promise ended at " + seconds(lease.sure));
  describe("lease " + lease.grant + (lease.token ? ", token " + lease.token : ""), parts);
}

// choose marks one operation, tells of it, and brings it into view.
function choose(n, move) {
  const op = describeOp(n);
  if (!op) {
    describe("op " + n, [n < data.total ? "not in this page: see history.jsonl" : "there is no such operation"]);
    return;
  }
  picture.chosen = n;
  if (op.lock && picture.lock && op.lock !== picture.lock.name) chooseLock(op.lock);
  const s = picture.scale;
  if (move && !s.sees(op.at, op.at)) {
    const half = (s.end - s.begin) / 2;
    s.show(op.at - half, op.at + half);
  }
  for (const tr of byId("rows").querySelectorAll(".chosen-row")) tr.classList.remove("chosen-row");
  const tr = byId("rows").querySelector('[data-op="' + n + '"]');
  if (tr) tr.classList.add("chosen-row");
  try {
    history.replaceState(null, "", "#op-" + n);
  } catch {
    // Some viewers give the page no history of its own; the mark is enough.
  }
  redraw();
}

function chooseBeside(step) {
  const ops = picture.ops || [];
  let i = ops.findIndex((op) => op.n === picture.chosen);
  if (i < 0) i = ops.findIndex((op) => picture.told.has(op.n)) - step;
  const next = ops[Math.min(Math.max(i + step, 0), ops.length - 1)];
  if (next) choose(next.n, true);
}

function fromHash() {
  const match = /^#op-(\d{1,9})$/.exec(location.hash);
  if (match) choose(Number(match[1]), true);
}

const keys = {
  n: () => tell(current + 1),
  p: () => tell(current - 1),
  f: fit,
  0: whole,
  "+": () => zoom(0.6),
  "=": () => zoom(0.6),
  "-": () => zoom(1 / 0.6),
  ArrowLeft: () => move(-120),
  ArrowRight: () => move(120),
  ",": () => chooseBeside(-1),
  ".": () => chooseBeside(1),
};

function zoom(factor, x) {
  picture.scale.zoom(factor, x);
  redraw();
}

function move(pixels) {
  picture.scale.move(pixels);
  redraw();
}

function listenKeys() {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

// inPicture turns a place on the screen into one in the picture, which a narrow
// window shows smaller.
function inPicture(clientX) {
  const box = picture.svg.getBoundingClientRect();
  return (clientX - box.left) * ((picture.scale.right + EDGE) / box.width);
}

function listenPicture() {
  const svg = picture.svg;
  let drag = null;
  svg.addEventListener("wheel", (event) => {
    // An untouched picture lets the page scroll.
    if (!event.ctrlKey && !svg.contains(document.activeElement)) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX || event.deltaY);
    else zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 400), inPicture(event.clientX));
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: inPicture(event.clientX), moved: false, target: event.target };
    svg.focus({ preventScroll: true });
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const x = inPicture(event.clientX);
    if (!drag.moved && Math.abs(x - drag.x) < 4) return;
    drag.moved = true;
    svg.classList.add("moving");
    move(drag.x - x);
    drag.x = x;
  });
  window.addEventListener("pointerup", () => {
    const target = drag && !drag.moved && drag.target.closest("[data-op]");
    drag = null;
    svg.classList.remove("moving");
    if (target) choose(Number(target.dataset.op), false);
  });
  for (const kind of ["pointerover", "focusin"]) {
    svg.addEventListener(kind, (event) => {
      const target = event.target.closest("[data-op], [data-lease]");
      if (!target || drag) return;
      if (target.dataset.lease !== undefined) describeLease(picture.leases[Number(target.dataset.lease)]);
      else describeOp(Number(target.dataset.op));
    });
  }
}

function listenControls() {
  const click = (id, act) => byId(id).addEventListener("click", act);
  click("fit", fit);
  click("whole", whole);
  click("in", keys["+"]);
  click("out", keys["-"]);
  click("left", keys.ArrowLeft);
  click("right", keys.ArrowRight);
  click("next", keys.n);
  click("previous", keys.p);
  byId("lock").addEventListener("change", () => {
    chooseLock(byId("lock").value);
    fit();
  });
  byId("filter").addEventListener("input", refill);
  byId("only").addEventListener("change", refill);
  byId("rows").addEventListener("click", (event) => {
    const tr = event.target.closest("[data-op]");
    if (tr) choose(Number(tr.dataset.op), true);
  });
  window.addEventListener("hashchange", fromHash);
  window.addEventListener("resize", redraw);
}

function listenCopy() {
  const button = byId("copy");
  if (!button) return;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(byId("reproduce").textContent);
      button.textContent = "copied";
    } catch {
      // Without permission: select it, so that one key copies it.
      getSelection().selectAllChildren(byId("reproduce"));
      button.textContent = "selected";
    }
  });
}

function fillLocks() {
  for (const lock of data.locks) {
    const option = document.createElement("option");
    option.value = lock.name;
    option.textContent = lock.name || "(no lock)";
    byId("lock").append(option);
  }
  byId("lock").parentElement.hidden = data.locks.length < 2;
  byId("turn").hidden = sections.length < 2;
  byId("fit").textContent = stories.length === 0 ? "first seconds" : stories[0].violation ? "fit violation" : "fit trial";
}

fillLocks();
listenKeys();
listenPicture();
listenControls();
listenCopy();
if (sections.length > 0) tell(0);
else {
  chooseLock(data.focus.lock);
  fit();
}
fromHash();
