// table.js: the operations as a table with a filter.

const MAX_ROWS = 2000;

function answer(op) {
  const parts = [op.type];
  if (op.held) parts.push("held: " + op.held);
  if (op.error) parts.push(op.error);
  return parts.join(", ");
}

function who(op) {
  return op.process === "nemesis" || op.process === "store" ? op.process : "worker " + op.process;
}

function details(op) {
  const parts = [op.end < 0 ? "invoked " + seconds(op.begin, 6) + ", never answered" : "invoked " + seconds(op.begin, 6) + ", answered " + seconds(op.end, 6) + " (took " + span(op.end - op.begin) + ")"];
  if (op.lock) parts.push("lock " + op.lock);
  if (op.resource) parts.push("resource " + op.resource);
  if (op.grant) parts.push("grant " + op.grant);
  if (op.token) parts.push("token " + op.token);
  if (op.seq) parts.push("commit number " + op.seq);
  if (op.target) parts.push("target " + op.target);
  if (op.point) parts.push("point " + op.point);
  if (op.text) parts.push(op.text);
  parts.push(answer(op));
  return parts;
}

function row(op, picture) {
  const tr = document.createElement("tr");
  tr.dataset.op = op.n;
  if (picture.told.has(op.n)) tr.classList.add("told");
  if (op.mark === "stale") tr.classList.add("loud");
  if (op.n === picture.chosen) tr.classList.add("chosen-row");
  const target = op.process === "nemesis" ? [op.target, op.point].filter(Boolean).join(" at ") : [op.lock, op.resource].filter(Boolean).join(" / ");
  const cells = [op.n, seconds(op.begin, 6), op.end < 0 ? "" : span(op.end - op.begin), who(op), op.label, target, op.token || "", op.seq || "", answer(op)];
  const right = [0, 1, 2, 6, 7];
  for (const [i, text] of cells.entries()) {
    const td = document.createElement("td");
    td.textContent = text;
    if (right.includes(i)) td.className = "num";
    tr.append(td);
  }
  return tr;
}

// fillTable shows at most MAX_ROWS of the operations that match, those nearest to
// the middle of what is in focus, and says what it left out.
function fillTable(picture, focus, filter, onlyLock) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const all = picture.data.ops;
  const matching = all.filter((op) => {
    if (onlyLock && op.lock !== picture.lock.name && !(op.process === "nemesis" && picture.workers.includes(op.target))) return false;
    if (words.length === 0) return true;
    const text = [who(op), op.label, ...details(op)].join(" ").toLowerCase();
    return words.every((w) => text.includes(w));
  });
  let shown = matching;
  if (matching.length > MAX_ROWS) {
    const far = (op) => Math.max(focus.begin - op.begin, op.begin - focus.end, 0);
    shown = matching.slice().sort((a, b) => far(a) - far(b) || a.n - b.n).slice(0, MAX_ROWS).sort((a, b) => a.n - b.n);
  }
  document.getElementById("rows").replaceChildren(...shown.map((op) => row(op, picture)));
  let note = shown.length + " of " + all.length + " operations";
  if (shown.length < matching.length) note = "The " + shown.length + " operations nearest to what is in focus, of " + matching.length + " that match";
  if (all.length < picture.data.total) note += "; " + (picture.data.total - all.length) + " more are only in history.jsonl";
  document.getElementById("left-out").textContent = note + ".";
}
