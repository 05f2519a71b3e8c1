// labels.js: finding room for labels, so that none lies over another.

const ruler = document.createElement("canvas").getContext("2d");

function textWidth(text, bold, size = 12) {
  ruler.font = (bold ? "600 " : "") + size + 'px system-ui, "DejaVu Sans", sans-serif';
  return ruler.measureText(text).width;
}

// Row is one line of a lane: what is taken on it, from left to right.
class Row {
  constructor() {
    this.taken = [];
  }

  free(from, to) {
    return this.taken.every((t) => to <= t.from || from >= t.to);
  }

  take(from, to) {
    this.taken.push({ from, to });
  }
}

// place puts the labels of one lane beside their marks. Each label is
// {x, gap, text, told, loud}; the rows come nearest first. Told labels, those of
// the story, are placed before all others and may use every row; the others use
// the first row only, and are left out where there is no room.
function place(labels, rows, left, right) {
  const order = labels.slice().sort((a, b) => (b.loud - a.loud) || (b.told - a.told) || a.x - b.x);
  const placed = [];
  for (const label of order) {
    const width = textWidth(label.text, label.told || label.loud) + 3;
    const spots = [
      { from: label.x + label.gap, to: label.x + label.gap + width, anchor: "start", x: label.x + label.gap },
      { from: label.x - label.gap - width, to: label.x - label.gap, anchor: "end", x: label.x - label.gap },
    ];
    // Of two marks close together the left one has its label on the left.
    if (order.some((o) => o !== label && o.told === label.told && (o.x > label.x || (o.x === label.x && o.n > label.n)) && o.x < label.x + width)) spots.reverse();
    let found = false;
    for (let r = 0; r < rows.length && !found; r++) {
      if (r > 0 && !label.told && !label.loud) break;
      for (const spot of spots) {
        if (spot.from < left || spot.to > right || !rows[r].free(spot.from, spot.to)) continue;
        rows[r].take(spot.from, spot.to);
        placed.push({ ...label, row: r, anchor: spot.anchor, at: spot.x });
        found = true;
        break;
      }
    }
  }
  return placed;
}

// spread moves numbers apart that would lie over each other, keeping their order.
function spread(numbers, room, left, right) {
  const row = numbers.slice().sort((a, b) => a.x - b.x || a.n - b.n);
  for (let i = 0; i < row.length; i++) {
    row[i].at = i > 0 ? Math.max(row[i].x, row[i - 1].at + room) : Math.max(row[i].x, left);
  }
  for (let i = row.length - 1; i >= 0; i--) {
    const most = i + 1 < row.length ? row[i + 1].at - room : right;
    row[i].at = Math.min(row[i].at, most);
  }
  return row;
}
