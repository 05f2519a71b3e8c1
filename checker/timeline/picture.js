// picture.js: the lanes of one lock, drawn to scale.

const GUTTER = 138;
const EDGE = 16;
const MAX_LANES = 16;

// shapes are the marks, drawn around (0, 0).
const shapes = {
  read: () => [el("circle", { r: 5, class: "m-read" })],
  ok: () => [el("rect", { x: -6, y: -6, width: 12, height: 12, rx: 2, class: "m-ok" })],
  stale: () => [
    el("rect", { x: -8, y: -8, width: 16, height: 16, rx: 2, class: "m-stale" }),
    el("path", { d: "M0 -5.5v6.5m0 2.2v1.8", class: "m-bang" }),
  ],
  refused: () => [el("path", { d: "M-6 -6h12v12h-12zl12 12m0 -12l-12 12", class: "m-refused" })],
  failed: () => [el("rect", { x: -5, y: -5, width: 10, height: 10, rx: 2, class: "m-failed" })],
  unknown: () => [el("rect", { x: -5, y: -5, width: 10, height: 10, rx: 2, class: "m-unknown" })],
  end: () => [el("path", { d: "M0 -7l6 7l-6 7l-6 -7z", class: "m-end" })],
  step: () => [el("path", { d: "M0 -6v12", class: "m-step" })],
  fault: () => [el("path", { d: "M-5 -5l10 10m0 -10l-10 10", class: "m-fault" })],
};

function fitText(text, width, bold, size) {
  if (textWidth(text, bold, size) <= width) return text;
  let kept = text;
  while (kept.length > 1 && textWidth(kept + "\u2026", bold, size) > width) kept = kept.slice(0, -1);
  return kept + "\u2026";
}

class Picture {
  constructor(data, stories, host) {
    this.data = data;
    this.stories = stories;
    this.host = host;
    this.story = null;
    this.told = new Set();
    this.chosen = -1;
    const pointedAt = (property) => new Set(stories.filter((s) => s.property === property).map((s) => s.stale));
    this.lost = pointedAt("lost-update");
    this.late = pointedAt("stale-write");
    this.scale = new Scale(GUTTER, 1180 - EDGE, data.begin, data.end);
    this.svg = el("svg", { tabindex: 0, role: "group", "aria-label": "time line of the operations, leases and pauses of one lock" });
    host.replaceChildren(this.svg);
  }

  setStory(story) {
    this.story = story;
    this.told = new Set(story ? story.ops : []);
    if (story) this.setLock(story.lock);
  }

  // setLock chooses the lanes: the workers of the lock, the story's first, then
  // the busiest.
  setLock(name) {
    const lock = this.data.locks.find((l) => l.name === name) || this.data.locks[0];
    if (!lock) return;
    this.lock = lock;
    const mine = (op) => op.lock === lock.name;
    const busy = new Map();
    for (const op of this.data.ops) {
      if (mine(op)) busy.set(op.process, (busy.get(op.process) || 0) + (this.told.has(op.n) ? 1e6 : 1));
    }
    const most = lock.workers.slice().sort((a, b) => (busy.get(b) || 0) - (busy.get(a) || 0)).slice(0, MAX_LANES);
    this.workers = lock.workers.filter((w) => most.includes(w));
    this.resources = lock.resources.slice(0, 4);
    this.ops = this.data.ops.filter(mine);
    this.leases = this.data.leases.filter((l) => l.lock === lock.name);
    this.pauses = this.data.pauses.filter((p) => this.workers.includes(p.process));
    const fault = (op) => op.process === "nemesis" && op.f !== "pause" && op.f !== "resume";
    this.faults = this.data.ops.filter(fault);
  }

  get hidden() {
    return this.lock ? this.lock.workers.length - this.workers.length : 0;
  }

  draw() {
    if (!this.lock) return;
    const width = Math.max(640, Math.round(this.host.clientWidth || 1180));
    this.scale.right = width - EDGE;
    this.parts = { back: el("g"), bars: el("g"), marks: el("g"), text: el("g"), top: el("g") };
    let y = 30;
    for (const worker of this.workers) y = this.workerLane(worker, y);
    y = this.storeLane(y);
    for (const resource of this.resources) y = this.resourceLane(resource, y);
    const loose = this.faults.filter((op) => !this.workers.includes(op.target));
    if (loose.length > 0) y = this.faultLane(loose, y);
    this.axis(y);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${y + 26}`);
    this.svg.replaceChildren(this.defs(), ...Object.values(this.parts));
  }

  defs() {
    const defs = el("defs");
    const hatch = (id, size, turn) => {
      const p = el("pattern", { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` });
      p.append(el("rect", { width: size, height: size, class: id + "-base" }), el("line", { x1: 0, y1: 0, x2: 0, y2: size, class: id + "-line" }));
      p.firstChild.setAttribute("class", id === "paused" ? "pause-base" : "untrue-base");
      p.lastChild.setAttribute("class", id === "paused" ? "pause-line" : "untrue-line");
      return p;
    };
    defs.append(hatch("paused", 7, 45), hatch("untrue", 6, -45));
    return defs;
  }

  // axis draws the grid behind everything, and where the lease of the late writer
  // ended.
  axis(bottom) {
    for (const tick of this.scale.ticks()) {
      const x = this.scale.x(tick.t);
      if (x < GUTTER - 1 || x > this.scale.right + 1) continue;
      this.parts.back.prepend(el("line", { x1: x, x2: x, y1: 22, y2: bottom, class: "grid" }));
      this.parts.text.append(el("text", { x, y: bottom + 17, class: "axis", "text-anchor": "middle" }, tick.text));
    }
    const lease = this.endedLease();
    if (lease && this.scale.sees(lease.gone, lease.gone)) {
      const x = this.scale.x(lease.gone);
      this.parts.back.append(el("line", { x1: x, x2: x, y1: 22, y2: bottom, class: "endline" }));
      const text = "lease " + (lease.token || lease.grant) + " ends";
      const right = x + 4 + textWidth(text, false, 11) < this.scale.right;
      this.parts.text.append(el("text", { x: right ? x + 4 : x - 4, y: 18, class: "ends halo", "text-anchor": right ? "start" : "end" }, text));
    }
    this.badges(this.numbers("", ""), 12);
  }

  endedLease() {
    const late = this.story && this.data.ops.find((op) => op.n === this.story.stale);
    if (!late) return null;
    const own = this.leases.filter((l) => l.process === late.process && l.begin <= late.end && (!late.grant || l.grant === late.grant));
    const lease = own[own.length - 1];
    return lease && lease.ended && lease.ended !== "released" && lease.gone > lease.begin && lease.gone <= late.at ? lease : null;
  }

  laneName(y, name, subs) {
    this.parts.text.append(el("text", { x: GUTTER - 14, y, class: "lane", "text-anchor": "end" }, fitText(name, GUTTER - 20, true, 13)));
    for (const [dy, text] of subs) {
      this.parts.text.append(el("text", { x: GUTTER - 14, y: y + dy, class: "sub", "text-anchor": "end" }, fitText(text, GUTTER - 20, false, 11)));
    }
  }

  // workerLane: numbers and the pause's length on top, then the operations, then
  // the two bars. Returns the y below it.
  workerLane(worker, y) {
    const top = new Row();
    const numbers = this.badges(this.numbers("worker", worker), y + 10);
    for (const n of numbers) top.take(n.at - 11, n.at + 11);
    const own = this.ops.filter((op) => op.process === worker);
    const waits = own.filter((op) => op.mark === "wait");
    const bars = new Row();
    const narrow = this.waitBars(waits, y + 32, top, y + 14, bars);
    const faults = this.faults.filter((op) => op.target === worker).map((op) => ({ ...op, mark: "fault" }));
    const marks = own.filter((op) => op.mark !== "wait").concat(narrow, faults);
    const rows = this.marks(marks, y + 32, 15, (op) => op.label, 4, bars);
    const bar = y + 46 + (rows - 1) * 15;
    this.pauseBands(worker, y, bar + 36, top);
    this.leaseBars(worker, bar);
    this.laneName(y + 36, "worker " + worker, [[bar + 9 - y - 36, "believes"], [bar + 27 - y - 36, "holds"]]);
    return bar + 52;
  }

  waitBars(waits, y, top, labelY, bars) {
    const narrow = [];
    for (const op of waits) {
      const end = op.end < 0 ? this.data.end : op.end;
      if (!this.scale.sees(op.begin, end)) continue;
      const from = this.scale.clip(op.begin), to = this.scale.clip(end);
      if (to - from < 6) {
        // A quick grant stands on the store's lane already.
        if (op.type !== "ok") narrow.push(op);
        continue;
      }
      bars.take(from, to);
      this.parts.bars.append(el("rect", { x: from, y: y - 4, width: to - from, height: 8, rx: 3, class: "wait", "data-op": op.n }));
      this.parts.top.append(el("rect", { x: from, y: y - 8, width: to - from, height: 16, class: "hit", "data-op": op.n }));
      const text = op.type === "ok" ? "waits in acquire" : op.type === "fail" ? "asks in vain" : "waits, answer unknown";
      const half = textWidth(text, false, 11) / 2 + 4;
      const middle = (from + to) / 2;
      if (to - from > 2 * half + 8 && top.free(middle - half, middle + half)) {
        top.take(middle - half, middle + half);
        this.parts.text.append(el("text", { x: middle, y: labelY, class: "quiet halo", "text-anchor": "middle" }, text));
      }
    }
    return narrow;
  }

  pauseBands(worker, y, bottom, top) {
    for (const [i, pause] of this.pauses.entries()) {
      if (pause.process !== worker || !this.scale.sees(pause.begin, pause.end)) continue;
      const from = this.scale.clip(pause.begin), to = this.scale.clip(pause.end);
      this.parts.back.append(el("rect", { x: from, y, width: Math.max(to - from, 1.5), height: bottom - y, class: "paused", "data-op": pause.op, "data-pause": i }));
      for (const text of pauseTexts(pause)) {
        const width = textWidth(text, true) + 8;
        const starts = [(from + to - width) / 2, from + 12, to - width - 12];
        const start = starts.find((s) => s >= from && s + width <= to && top.free(s, s + width));
        if (start === undefined) continue;
        top.take(start, start + width);
        this.parts.text.append(el("text", { x: start + 4, y: y + 15, class: "stopped halo" }, text));
        break;
      }
    }
  }

  // leaseBars draws what the worker believes over what the store granted.
  leaseBars(worker, y) {
    for (const [i, lease] of this.leases.entries()) {
      if (lease.process !== worker || !this.scale.sees(lease.begin, Math.max(lease.believes, lease.gone))) continue;
      const bar = (from, to, dy, name) => {
        const a = this.scale.clip(from), b = this.scale.clip(to);
        if (b - a > 0.3 && this.scale.sees(from, to)) {
          this.parts.bars.append(el("rect", { x: a, y: y + dy, width: b - a, height: 11, rx: Math.min(3, (b - a) / 2), class: name, "data-lease": i }));
        }
        return [a, b - a];
      };
      bar(lease.begin, Math.min(lease.believes, lease.gone), 0, "believes");
      if (lease.believes > lease.gone) {
        const [a, width] = bar(lease.gone, lease.believes, 0, "untrue");
        this.inBar("believes it holds, does not", a + width / 2, y + 9.5, width, "says halo", 11, true);
      }
      const [a, width] = bar(lease.begin, lease.sure, 18, "holds");
      bar(lease.sure, lease.gone, 18, "may");
      if (lease.token) this.inBar("token " + lease.token, a + 8, y + 27, width - 8, "token", 10, false);
    }
  }

  inBar(text, x, y, room, name, size, middle) {
    if (textWidth(text, middle, size) + 10 > room) return;
    this.parts.text.append(el("text", { x, y, class: name, "text-anchor": middle ? "middle" : "start" }, text));
  }

  storeLane(y) {
    const grants = this.ops.filter((op) => op.f === "acquire" && op.type === "ok" && op.process !== "store").map((op) => ({ ...op, mark: "end", at: op.end }));
    const ends = this.ops.filter((op) => op.process === "store");
    return this.lineLane(y, "store", "lock " + (this.lock.name || "not named"), this.numbers("store", ""), grants.concat(ends), (op) => this.storeLabel(op));
  }

  storeLabel(op) {
    if (op.f === "acquire") return "grant " + (op.token || "to " + op.process);
    const lease = this.leases.find((l) => l.process === op.target && l.gone === op.begin);
    return op.f + " " + (lease && lease.token ? lease.token : op.target ? "of " + op.target : op.text);
  }

  resourceLane(resource, y) {
    const marks = this.ops.filter((op) => op.resource === resource);
    return this.lineLane(y, "resource " + resource, "in commit order", this.numbers("resource", resource), marks, (op) => this.resourceLabel(op));
  }

  resourceLabel(op) {
    if (op.f !== "write" && !this.told.has(op.n)) return "";
    const number = op.seq ? "#" + op.seq + " " : "";
    const what = op.f === "write" ? op.value : op.label;
    const under = op.token ? " under " + op.token : "";
    const end = {
      refused: op.f === "write" ? ": refused" : "",
      failed: op.f === "write" ? ": failed" : "",
      unknown: op.f === "write" ? ": unknown" : "",
      stale: ": " + this.harm(op),
    }[op.mark] || "";
    return number + what + under + end;
  }

  // harm says what an accepted write that breaks a property did.
  harm(op) {
    const lost = this.lost.has(op.n);
    if (op.over) return lost ? op.over + " is gone" : "replaces " + op.over;
    return lost && !this.late.has(op.n) ? "an update is lost" : "stale";
  }

  faultLane(faults, y) {
    return this.lineLane(y, "faults", "", [], faults.map((op) => ({ ...op, mark: "fault" })), (op) => op.label);
  }

  // lineLane is a lane with its marks on a line, numbers above and labels below.
  lineLane(y, name, sub, numbers, marks, label) {
    const line = y + 30;
    this.parts.back.append(el("line", { x1: GUTTER, x2: this.scale.right, y1: line, y2: line, class: "rule" }));
    this.badges(numbers, y + 8);
    this.laneName(line + 2, name, sub ? [[15, sub]] : []);
    const rows = this.marks(marks, line, 15, label, 20);
    return line + 22 + rows * 15;
  }

  // marks draws the operations of one lane and labels them where there is room.
  // Operations of the story are large and labelled; others are large if they
  // stand alone, else thin strokes. Returns how many rows of labels it used.
  marks(ops, y, rowHeight, label, labelY = 4, first = new Row()) {
    const seen = ops.filter((op) => this.scale.sees(Math.min(op.begin, op.at), Math.max(op.end, op.at)));
    seen.sort((a, b) => a.at - b.at);
    const all = seen.map((op) => ({ op, x: this.scale.x(op.at), loud: op.mark === "stale" && (!this.story || !this.story.violation || this.told.has(op.n)), told: this.told.has(op.n) }));
    const rows = [first, new Row(), new Row(), new Row()];
    const labels = [];
    const columns = new Set();
    const big = [];
    for (const [i, m] of all.entries()) {
      const alone = (i === 0 || m.x - all[i - 1].x > 15) && (i + 1 === all.length || all[i + 1].x - m.x > 15);
      if (m.told || m.loud || alone || m.op.mark === "stale") big.push(m);
      else this.tick(m, y, columns, labelY === 4 ? rows[0] : null);
    }
    big.sort((a, b) => a.loud - b.loud); // the violation lies over everything else
    for (const m of big) {
      this.mark(m, y);
      if (labelY === 4) rows[0].take(m.x - 8, m.x + 8);
      const text = label(m.op);
      if (text && m.x >= GUTTER - 1 && m.x <= this.scale.right + 1) labels.push({ x: m.x, gap: labelY === 4 ? (m.op.mark === "stale" ? 13 : 10) : 4, text, told: m.told, loud: m.loud, n: m.op.n });
    }
    let used = 1;
    for (const l of place(labels, rows, GUTTER - 8, this.scale.right + 8)) {
      const ly = y + labelY + l.row * rowHeight;
      used = Math.max(used, l.row + 1);
      if (l.row > 0) this.parts.marks.append(el("path", { d: `M${l.x} ${y + 8}V${ly - 4}H${l.at}`, class: "leader" }));
      this.parts.text.append(el("text", { x: l.at, y: ly, class: "halo" + (l.loud ? " loud" : l.told ? " told" : ""), "text-anchor": l.anchor, "data-op": l.n }, l.text));
    }
    return used;
  }

  // tick draws one stroke for all operations of a kind in one column of pixels.
  tick(m, y, columns, row) {
    const x = Math.round(m.x);
    if (x < GUTTER - 1 || x > this.scale.right) return;
    const key = x + m.op.mark;
    if (columns.has(key)) return;
    columns.add(key);
    if (row) row.take(x - 2, x + 2);
    this.parts.marks.append(el("line", { x1: x, x2: x, y1: y - 5, y2: y + 5, class: "tick k-" + m.op.mark, "data-op": m.op.n }));
    this.parts.top.append(el("rect", { x: x - 1.5, y: y - 8, width: 3, height: 16, class: "hit", "data-op": m.op.n }));
    this.ring(m, y);
  }

  mark(m, y) {
    const end = m.op.end < 0 ? this.data.end : m.op.end;
    if (m.op.process !== "store" && m.op.mark !== "end" && this.scale.x(end) - this.scale.x(m.op.begin) > 14) {
      this.parts.marks.append(el("line", { x1: this.scale.clip(m.op.begin), x2: this.scale.clip(end), y1: y, y2: y, class: "span" }));
    }
    if (m.x < GUTTER - 1 || m.x > this.scale.right + 1) return;
    const g = el("g", { transform: `translate(${m.x} ${y})`, "data-op": m.op.n, class: "mark", "data-mark": m.op.mark });
    if (m.told) {
      g.setAttribute("tabindex", 0);
      g.setAttribute("role", "img");
      g.setAttribute("aria-label", "operation " + m.op.n + ": " + m.op.label);
    }
    g.append(...(shapes[m.op.mark] || shapes.step)(), el("rect", { x: -8, y: -9, width: 16, height: 18, class: "hit" }));
    this.parts.marks.append(g);
    this.ring(m, y);
  }

  ring(m, y) {
    if (m.op.n === this.chosen) this.parts.top.append(el("circle", { cx: m.x, cy: y, r: 12, class: "chosen" }));
  }

  // numbers are the sentences of the story that stand on a lane.
  numbers(lane, name) {
    if (!this.story || this.story.lock !== this.lock.name) return [];
    const mine = this.story.sentences.filter((s) => s.lane === lane && (lane === "store" || s.name === name) && (s.op >= 0 || s.at > 0));
    return mine.map((s) => ({ n: s.n, mood: s.mood, op: s.op, x: this.scale.x(this.where(s)) }))
      .filter((s) => s.x >= GUTTER - 1 && s.x <= this.scale.right + 1);
  }

  // where a sentence's number stands: above the mark of its operation.
  where(sentence) {
    const op = sentence.op >= 0 && sentence.lane === "resource" && this.ops.find((o) => o.n === sentence.op);
    return op ? op.at : sentence.at;
  }

  badges(numbers, y) {
    const row = spread(numbers, 19, GUTTER, this.scale.right);
    for (const s of row) {
      const mood = s.mood === "right" || s.mood === "wrong" ? " " + s.mood : "";
      if (Math.abs(s.at - s.x) > 3) this.parts.marks.append(el("path", { d: `M${s.at} ${y + 8}L${s.x} ${y + 15}`, class: "leader" }));
      const g = el("g", { transform: `translate(${s.at} ${y})`, "data-number": s.n });
      if (s.op >= 0) g.setAttribute("data-op", s.op);
      g.append(el("circle", { r: 8.5, class: "number" + mood }), el("text", { y: 4, class: "digit", "text-anchor": "middle" }, String(s.n)));
      this.parts.top.append(g);
    }
    return row;
  }
}

// pauseTexts says how long a worker stood still, from the longest text to the
// shortest.
function pauseTexts(pause) {
  const length = "stopped " + seconds(pause.end - pause.begin) + (pause.open ? " and not continued" : "");
  const notes = [];
  if (pause.point) notes.push("at " + pause.point);
  notes.push(pause.seen ? "seen by the kernel" : "not confirmed");
  return [length + " (" + notes.join(", ") + ")", length, "stopped"];
}
