// scale.js: the part of the history that is in view, and how times become pixels.

const NS = "http://www.w3.org/2000/svg";

// el makes an SVG element. Text goes through textContent only: names and values
// come from lock stores, and none of them is ever read as markup.
function el(name, attributes, text) {
  const e = document.createElementNS(NS, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (text !== undefined) e.textContent = text;
  return e;
}

function seconds(ns, digits = 3) {
  return (ns / 1e9).toFixed(digits) + " s";
}

function span(ns) {
  if (ns < 1e6) return (ns / 1e3).toFixed(0) + " \u00b5s";
  if (ns < 1e9) return (ns / 1e6).toFixed(ns < 1e7 ? 2 : 1) + " ms";
  return seconds(ns);
}

class Scale {
  constructor(left, right, least, most) {
    Object.assign(this, { left, right, least, most, begin: least, end: most });
  }

  get perPixel() {
    return (this.end - this.begin) / (this.right - this.left);
  }

  // show brings a span into view: never less than 20 us, never far outside.
  show(begin, end) {
    let width = Math.max(end - begin, 2e4);
    const all = Math.max((this.most - this.least) * 1.4, 2e4);
    if (width > all) {
      begin = this.least - (all - (this.most - this.least)) / 4;
      width = all;
    }
    const edge = width * 0.5;
    begin = Math.min(Math.max(begin, this.least - edge), this.most + edge - width);
    this.begin = begin;
    this.end = begin + width;
  }

  x(ns) {
    return this.left + (ns - this.begin) / this.perPixel;
  }

  at(x) {
    return this.begin + (x - this.left) * this.perPixel;
  }

  // clip is x held inside the picture, for bars that reach beyond it.
  clip(ns) {
    return Math.min(Math.max(this.x(ns), this.left), this.right);
  }

  sees(begin, end) {
    return end >= this.begin && begin <= this.end;
  }

  zoom(factor, x = (this.left + this.right) / 2) {
    const at = this.at(x);
    this.show(at - (at - this.begin) * factor, at + (this.end - at) * factor);
  }

  move(pixels) {
    const by = pixels * this.perPixel;
    this.show(this.begin + by, this.end + by);
  }

  // ticks are round times, at least 70 pixels apart.
  ticks() {
    const least = this.perPixel * 70;
    let step = Math.pow(10, Math.floor(Math.log10(least)));
    for (const times of [1, 2, 5, 10]) {
      if (step * times >= least) {
        step *= times;
        break;
      }
    }
    const digits = Math.min(Math.max(0, 9 - Math.floor(Math.log10(step) + 1e-9)), 6);
    const out = [];
    for (let t = Math.ceil(this.begin / step) * step; t <= this.end && out.length < 200; t += step) {
      if (t >= 0) out.push({ t, text: seconds(t, digits) });
    }
    return out;
  }
}
