// The timeline of a report: a canvas with the lanes of one or two runs, which the mouse and the keyboard move through.
// Where many slices share a pixel, that pixel shows the share of its time that each task type has. So a million slices are drawn in one pass.

const LANE = 18, TITLE = 22, STRIP = 34, AXIS = 24, LABELS = 170, MOST_LANES = 400, MOST_ARROWS = 300;
const DARK = new Set(["#0072b2", "#d55e00", "#b3261e"]);
const COMPUTING = "#009e73", REQUEST = "#d55e00", AHEAD = "#f0b27a", MESSAGE = "#0072b2", INK = "#1f2933", QUIET = "#616e7c", EMPTY = "#f2f4f7";

// What the trace calls a fact, and what a reader knows it as.
const FACTS = {
  waited_for_accesses_us: "waited for other tasks", ready_for_us: "waited for a worker", paused_for: "then paused, for",
  processor_us: "used the processor", data: "data", file: "file", offset: "from byte", bytes: "size", submitted_on: "submitted on",
  completed_on: "completed on", result: "result, bytes", error: "error", reason: "reason", task_name: "task", peer: "other rank",
  tag: "tag", channel: "communicator", direction: "direction", still_running: "still running at the end", order: "number of the message",
  still_in_flight: "still in flight at the end", still_outstanding: "still outstanding at the end", not_taken: "was never taken",
  waited_us: "the program waited", process: "process",
};

const YES = /^(still_|not_taken)/;
const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];

// Four digits, or all of those before the point.
function number(value) { return Math.abs(value) >= 1000 ? String(Math.round(value)) : value.toPrecision(4); }

function duration(nanoseconds) {
  const found = UNITS.find(([, size]) => Math.abs(nanoseconds) >= size);
  return found ? `${number(nanoseconds / found[1])} ${found[0]}` : `${Math.round(nanoseconds)} ns`;
}

// A time of the run, so exact that two that differ by `step` are told apart.
function moment(nanoseconds, step) {
  const [unit, size] = UNITS.find(one => Math.abs(nanoseconds) >= one[1]) || ["ns", 1];
  const value = nanoseconds / size, digits = size === 1 ? 0 : Math.min(9, Math.ceil(Math.log10(size / step)));
  return `${value.toFixed(Math.max(0, digits, size === 1 ? 0 : 3 - Math.floor(Math.log10(Math.abs(value)))))} ${unit}`;
}

function size(bytes) {
  for (const [unit, one] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
    if (bytes >= one) return `${number(bytes / one)} ${unit}`;
  return `${bytes} B`;
}

class Timeline {
  constructor(runs, canvas, tip, panel) {
    Object.assign(this, {runs, canvas, tip, panel, pen: canvas.getContext("2d", {alpha: false}), chosen: null, showsPath: false, drawn: 0});
    this.length = Math.max(1, ...runs.map(run => run.length));
    this.view = [0, this.length];
    this.scroller = canvas.parentElement;
    this.layOut();
    this.listen();
  }

  layOut() {
    this.strips = [];
    let y = AXIS;
    const add = (height, strip) => { this.strips.push({...strip, y, height}); y += height; };
    for (const run of this.runs) {
      if (this.runs.length > 1) add(TITLE, {title: run.title, run});
      for (const reason of this.reasons(run)) add(STRIP, {waits: reason, run, title: reason, most: run.workers});
      for (const group of run.groups) {
        add(group.folded ? STRIP : TITLE, {group, run});
        if (!group.folded) for (const lane of group.lanes.slice(0, MOST_LANES)) add(LANE, {lane, run});
        if (!group.folded && group.lanes.length > MOST_LANES) add(TITLE, {title: `${group.lanes.length - MOST_LANES} more`, run});
      }
      for (const counter of run.counters)
        if (!/^(requests in flight|messages outstanding)/.test(counter.name)) add(STRIP, {counter, run, title: counter.name});
    }
    this.height = y + 6;
    this.resize();
  }

  reasons(run) { return run.rows.wait ? [...new Set(run.rows.wait.name)].map(name => run.names[name]) : []; }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.scroller.clientWidth;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.later();
  }

  later() {
    if (!this.waits) this.waits = requestAnimationFrame(() => { this.waits = 0; this.draw(); });
  }

  get plot() { return Math.max(50, this.width - LABELS); }
  xOf(time) { return LABELS + (time - this.view[0]) / (this.view[1] - this.view[0]) * this.plot; }
  momentOf(time) { return moment(time, (this.view[1] - this.view[0]) / this.plot); }
  timeOf(x) { return this.view[0] + (x - LABELS) / this.plot * (this.view[1] - this.view[0]); }

  draw() {
    const {pen} = this;
    this.drawn = 0;
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, this.width, this.height);
    this.drawAxis();
    const top = this.scroller.scrollTop, bottom = top + this.scroller.clientHeight;
    for (const strip of this.strips) if (strip.y + strip.height >= top && strip.y <= bottom) this.drawStrip(strip);
    this.drawArrows();
  }

  drawAxis() {
    const {pen} = this, span = this.view[1] - this.view[0];
    let step = 10 ** Math.floor(Math.log10(span / this.plot * 90));
    for (const factor of [1, 2, 5, 10]) if (step * factor >= span / this.plot * 90) { step *= factor; break; }
    const [unit, one] = step >= 1e8 ? ["s", 1e9] : step >= 1e5 ? ["ms", 1e6] : step >= 100 ? ["µs", 1e3] : ["ns", 1];
    const digits = Math.max(0, -Math.floor(Math.log10(step / one) + 1e-9));
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (let time = Math.ceil(this.view[0] / step) * step; time <= this.view[1]; time += step) {
      const x = this.xOf(time);
      pen.fillStyle = "#e4e7eb";
      pen.fillRect(x, AXIS - 6, 1, this.height);
      pen.fillStyle = QUIET;
      pen.fillText(`${(time / one).toFixed(digits)} ${unit}`, x + 3, AXIS / 2);
    }
  }

  label(text, strip, style = INK, weight = "") {
    const {pen} = this;
    pen.fillStyle = "#fff";
    pen.fillRect(0, strip.y, LABELS, strip.height);
    pen.fillStyle = style;
    pen.font = `${weight} 12px system-ui, sans-serif`;
    pen.fillText(text, 6, strip.y + strip.height / 2, LABELS - 12);
  }

  drawStrip(strip) {
    if (strip.lane) {
      this.drawLane(strip);
      this.label(strip.lane.name, strip);
    } else if (strip.group) {
      const {group} = strip;
      if (group.folded) this.drawShare(strip, this.density(group.lanes.flatMap(lane => strip.run.pieces(lane)), null, strip.run), 0, group.rank !== 2 ? COMPUTING : group.title.includes("message") ? MESSAGE : REQUEST);
      this.label(`${group.folded ? "▸" : "▾"} ${group.title} (${group.lanes.length})`, strip, INK, "bold");
    } else if (strip.waits) {
      this.drawShare(strip, this.density(strip.run.lanes.filter(lane => lane.name.startsWith("worker")).flatMap(lane => strip.run.pieces(lane)), strip.waits, strip.run), strip.most, INK);
      this.label(strip.title, strip);
    } else if (strip.counter) {
      this.drawCounter(strip);
      this.label(strip.title, strip);
    } else {
      this.label(strip.title, strip, INK, "bold");
    }
  }

  colorOf(category, run, name) {
    if (category === "task") return run.kinds[Math.min(run.kindOfName[name], run.kinds.length - 1)][1];
    return {ahead: AHEAD, message: MESSAGE, failure: "#b3261e", wait: "#000"}[category] || REQUEST;
  }

  drawLane(strip) {
    const {pen} = this, y = strip.y + 1, height = strip.height - 2;
    pen.fillStyle = EMPTY;
    pen.fillRect(LABELS, y, this.plot, height);
    for (const [category, rows, from, to] of strip.run.pieces(strip.lane)) {
      if (category === "wait") this.drawSlices(strip.run, category, rows, from, to, y + height - 4, 4);
      else this.drawSlices(strip.run, category, rows, from, to, y, height);
    }
  }

  drawSlices(run, category, rows, from, to, y, height) {
    const {pen} = this, {begin, length, name, task} = rows, [left, right] = this.view, scale = this.plot / (right - left);
    const end = above(begin, right, from, to), path = this.showsPath && task ? run.onPath : null;
    const shares = new Map();
    let pixel = -1, onPath = false;
    const flush = () => {
      let bottom = y + height;
      for (const [color, width] of shares) {
        const part = Math.max(1, Math.min(1, width) * height);
        pen.fillStyle = color;
        pen.fillRect(LABELS + pixel, Math.max(y, bottom - part), 1, Math.min(part, bottom - y));
        bottom = Math.max(y + 1, bottom - part);
      }
      if (onPath) { pen.fillStyle = "#000"; pen.fillRect(LABELS + pixel, y, 1, 4); }
      shares.clear();
      onPath = false;
    };
    let chosen = -1;
    for (let i = above(rows.reach, left, from, to); i < end; ++i) {
      const x = (begin[i] - left) * scale, width = length[i] * scale;
      if (x + width < 0) continue;
      ++this.drawn;
      const marked = path && path[task[i]];
      if (width >= 1.5 || category === "failure") {
        if (shares.size) flush();
        const first = Math.max(0, x), wide = Math.max(category === "failure" ? 2 : 0.5, Math.min(this.plot, x + width) - first);
        const gap = wide > 4 ? 0.5 : 0;
        pen.globalAlpha = path && !marked ? 0.35 : 1;
        pen.fillStyle = this.colorOf(category, run, name[i]);
        pen.fillRect(LABELS + first, y, wide - gap, height);
        pen.globalAlpha = 1;
        if (marked) { pen.fillStyle = "#000"; pen.fillRect(LABELS + first, y, wide, 4); }
        if (wide > 46 && height > 10) this.write(run.names[name[i]], LABELS + first + 3, y + height / 2 + (marked ? 2 : 0), wide - 6, this.colorOf(category, run, name[i]));
      } else {
        const at = Math.max(0, Math.floor(x + width / 2));
        if (at !== pixel) { if (shares.size) flush(); pixel = at; }
        const color = this.colorOf(category, run, name[i]);
        shares.set(color, (shares.get(color) || 0) + width);
        if (marked) onPath = true;
      }
      if (this.chosen && this.chosen.rows === rows && this.chosen.row === i) chosen = i;
    }
    if (shares.size) flush();
    if (chosen >= 0) {
      pen.strokeStyle = "#000";
      pen.lineWidth = 2;
      pen.strokeRect(LABELS + (begin[chosen] - left) * scale - 1, y - 1, Math.max(3, length[chosen] * scale + 2), height + 2);
    }
  }

  write(text, x, y, width, ground) {
    const {pen} = this;
    pen.save();
    pen.beginPath();
    pen.rect(x, y - 10, width, 20);
    pen.clip();
    pen.fillStyle = DARK.has(ground) ? "#fff" : "#000";
    pen.font = "11px system-ui, sans-serif";
    pen.fillText(text, x, y);
    pen.restore();
  }

  // How many of these rows there are at a time, as a mean over each pixel.
  density(pieces, wanted, run) {
    const [left, right] = this.view, count = Math.ceil(this.plot), scale = count / (right - left);
    const mean = new Float64Array(count + 1), change = new Float64Array(count + 2);
    for (const [category, rows, from, to] of pieces) {
      if ((category === "wait") !== (wanted !== null) || category === "failure") continue;
      const end = above(rows.begin, right, from, to);
      for (let i = above(rows.reach, left, from, to); i < end; ++i) {
        if (wanted !== null && run.names[rows.name[i]] !== wanted) continue;
        const a = Math.max(0, (rows.begin[i] - left) * scale), b = Math.min(count, (rows.begin[i] + rows.length[i] - left) * scale);
        if (b <= a) continue;
        const first = Math.floor(a), last = Math.floor(b);
        if (first === last) { mean[first] += b - a; continue; }
        mean[first] += first + 1 - a;
        mean[last] += b - last;
        change[first + 1] += 1;
        change[last] -= 1;
        ++this.drawn;
      }
    }
    for (let i = 0, sum = 0; i < count; ++i) mean[i] += sum += change[i];
    return mean.subarray(0, count);
  }

  drawShare(strip, values, most, color, unit = " at once") {
    const {pen} = this, top = most || Math.max(1, ...values), height = strip.height - 4;
    pen.fillStyle = EMPTY;
    pen.fillRect(LABELS, strip.y + 2, this.plot, height);
    pen.fillStyle = color;
    for (let x = 0; x < values.length; ++x)
      if (values[x] > 0) {
        const part = Math.max(1, Math.min(1, values[x] / top) * height);
        pen.fillRect(LABELS + x, strip.y + 2 + height - part, 1, part);
      }
    strip.values = values;
    pen.fillStyle = QUIET;
    pen.font = "10px system-ui, sans-serif";
    pen.fillText(`up to ${Number(top.toPrecision(4))}${unit}`, LABELS + 4, strip.y + 9);
  }

  drawCounter(strip) {
    const {time, value} = strip.counter, count = Math.ceil(this.plot), values = new Float64Array(count);
    let most = 0;
    for (const one of value) most = Math.max(most, one);
    for (let x = 0; x < count; ++x) {
      const at = above(time, this.timeOf(LABELS + x), 0, time.length);
      values[x] = at > 0 ? value[at - 1] : 0;
    }
    this.drawShare(strip, values, most, "#56b4e9", "");
  }

  stripOf(run, lane) { return this.strips.find(strip => strip.lane === run.lanes[lane]); }

  // From where tasks end that the chosen one depends on, and to where those begin that depend on it.
  drawArrows() {
    if (!this.chosen || !this.chosen.task) return;
    const {run, task} = this.chosen, rows = run.rows.task, {pen} = this;
    const center = i => { const strip = this.stripOf(run, rows.lane[i]); return strip ? strip.y + strip.height / 2 : null; };
    const arrow = (from, to, color) => {
      if (from < 0 || to < 0) return;
      const a = this.xOf(rows.begin[from] + rows.length[from]), b = this.xOf(rows.begin[to]), y = center(from), z = center(to);
      if (y === null || z === null) return;
      pen.strokeStyle = pen.fillStyle = color;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(a, y);
      pen.bezierCurveTo(a + 25, y, b - 25, z, b, z);
      pen.stroke();
      pen.beginPath();
      pen.arc(b, z, 3, 0, 7);
      pen.fill();
    };
    pen.save();
    pen.beginPath();
    pen.rect(LABELS, 0, this.plot, this.height);
    pen.clip();
    for (const other of this.chosen.before.slice(0, MOST_ARROWS)) arrow(run.last[other + 1], run.first[task], "#000");
    for (const other of this.chosen.after.slice(0, MOST_ARROWS)) arrow(run.last[task], run.first[other + 1], "#0072b2");
    pen.restore();
  }

  // What is at a place of the canvas: the innermost slice of the lane, or one that is at most 3 pixels away.
  find(x, y) {
    const strip = this.strips.find(one => y >= one.y && y < one.y + one.height);
    if (!strip) return null;
    if (!strip.lane || x < LABELS) return {strip, run: strip.run};
    const time = this.timeOf(x), near = 3 * (this.view[1] - this.view[0]) / this.plot;
    let best = null, least = Infinity;
    for (const [category, rows, from, to] of strip.run.pieces(strip.lane)) {
      if (category === "wait" && y < strip.y + strip.height - 5) continue;
      for (let i = above(rows.begin, time + near, from, to) - 1; i >= from && rows.reach[i] >= time - near; --i) {
        const distance = Math.max(0, rows.begin[i] - time, time - rows.begin[i] - rows.length[i]) || (category === "wait" ? -1 : 0);
        if (distance < least) { least = distance; best = {strip, run: strip.run, category, rows, row: i, task: category === "task" && rows.task ? rows.task[i] : 0}; }
        if (distance <= 0) break;
      }
    }
    return best && least <= near ? best : {strip, run: strip.run};
  }

  // Pairs of what is known of a row.
  describe({run, rows, row, category, task}) {
    const lines = [["starts at", this.momentOf(rows.begin[row])], ["length", duration(rows.length[row])]];
    if (category === "failure") lines.pop();
    for (const key in rows.facts) {
      const value = rows.facts[key][row];
      if (Number.isNaN(value)) continue;
      const text = rows.texts.has(key) ? run.names[value] : key.endsWith("_us") ? duration(value * 1e3) : key === "bytes" ? size(value) : YES.test(key) ? "yes" : String(value);
      lines.push([FACTS[key] || key, text]);
    }
    if (task && run.onPath[task]) lines.push(["critical path", "yes"]);
    return lines;
  }

  showTip(found, x, y) {
    const {tip} = this;
    tip.hidden = !found || (!found.rows && (!found.strip.values || x < LABELS));
    if (tip.hidden) return;
    tip.replaceChildren();
    const title = document.createElement("b");
    tip.append(title);
    if (found.rows) {
      title.textContent = found.run.names[found.rows.name[found.row]];
      for (const [name, text] of this.describe(found)) {
        const line = document.createElement("div");
        line.textContent = `${name}: ${text}`;
        tip.append(line);
      }
    } else {
      const value = found.strip.values[Math.floor(x - LABELS)];
      title.textContent = found.strip.title || found.strip.group.title;
      const line = document.createElement("div");
      line.textContent = `at ${this.momentOf(this.timeOf(x))}: ${value === undefined ? "" : Number(number(value))}`;
      tip.append(line);
    }
    const box = this.scroller.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(box.width - tip.offsetWidth, x + 14))}px`;
    tip.style.top = `${y - this.scroller.scrollTop + 16}px`;
  }

  choose(found) {
    this.chosen = found && found.rows ? {...found, before: [], after: []} : null;
    if (this.chosen && this.chosen.task) [this.chosen.before, this.chosen.after] = found.run.neighbours(found.task - 1);
    this.showPanel();
    this.later();
  }

  chooseTask(run, task) {
    const row = run.first[task + 1], rows = run.rows.task;
    const half = Math.max((this.view[1] - this.view[0]) / 2, rows.length[row]), middle = rows.begin[row] + rows.length[row] / 2;
    if (rows.begin[row] < this.view[0] || rows.begin[row] > this.view[1]) this.look(middle - half, middle + half);
    this.choose({run, rows, row, task: task + 1, category: "task"});
  }

  showPanel() {
    const {panel, chosen} = this;
    panel.replaceChildren();
    panel.hidden = !chosen;
    if (!chosen) return;
    const add = (tag, text, to = panel) => { const element = document.createElement(tag); element.textContent = text; to.append(element); return element; };
    add("b", chosen.run.names[chosen.rows.name[chosen.row]]);
    add("span", ` on ${chosen.run.lanes[chosen.rows.lane[chosen.row]].name}: ${this.describe(chosen).map(pair => pair.join(" ")).join("; ")}`);
    for (const [words, others] of [["depends on", chosen.before], ["is needed by", chosen.after]]) {
      if (!chosen.task) continue;
      const line = add("div", `${words} ${others.length} task${others.length === 1 ? "" : "s"}${others.length ? ": " : ""}`);
      for (const other of others.slice(0, 12)) {
        const rows = chosen.run.rows.task, row = chosen.run.first[other + 1];
        if (row >= 0) add("button", `${chosen.run.names[rows.name[row]]} at ${this.momentOf(rows.begin[row])}`, line).onclick = () => this.chooseTask(chosen.run, other);
      }
      if (others.length > 12) add("span", ` and ${others.length - 12} more`, line);
    }
    if (chosen.run.edgesAreCut) add("div", "The run has more dependencies than a page holds: those of later tasks are left out.");
  }

  look(left, right) {
    const span = Math.min(this.length * 1.02, Math.max(20, right - left));
    left = Math.min(Math.max(-this.length * 0.01, left), this.length * 1.01 - span);
    this.view = [left, left + span];
    this.later();
  }

  zoom(factor, x = LABELS + this.plot / 2) {
    const time = this.timeOf(x);
    this.look(time - (time - this.view[0]) * factor, time + (this.view[1] - time) * factor);
  }

  move(share) {
    const by = (this.view[1] - this.view[0]) * share;
    this.look(this.view[0] + by, this.view[1] + by);
  }

  all() { this.view = [0, this.length]; this.later(); }

  listen() {
    const place = event => { const box = this.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    let held = null;
    this.canvas.addEventListener("pointerdown", event => {
      const [x, y] = place(event);
      held = {x, y, view: [...this.view], moved: false};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", event => {
      const [x, y] = place(event);
      if (held && Math.abs(x - held.x) > 3) held.moved = true;
      if (held && held.moved) {
        const by = (held.x - x) / this.plot * (held.view[1] - held.view[0]);
        this.tip.hidden = true;
        return this.look(held.view[0] + by, held.view[1] + by);
      }
      this.showTip(this.find(x, y), x, y);
    });
    this.canvas.addEventListener("pointerup", event => {
      const [x, y] = place(event), wasMoved = held && held.moved;
      held = null;
      if (wasMoved) return;
      const found = this.find(x, y);
      if (found && found.strip.group) {
        found.strip.group.folded = !found.strip.group.folded;
        this.layOut();
      } else {
        this.choose(found);
      }
    });
    this.canvas.addEventListener("pointercancel", () => { held = null; });
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("dblclick", event => {
      const found = this.find(...place(event));
      if (!found || !found.rows) return;
      const begin = found.rows.begin[found.row], length = Math.max(10, found.rows.length[found.row]);
      this.look(begin - length / 2, begin + 1.5 * length);
    });
    this.canvas.addEventListener("wheel", event => {
      if (place(event)[0] < LABELS) return;  // scrolls
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move((event.deltaX || event.deltaY) / 1000);
      else this.zoom(Math.exp(event.deltaY / 400), place(event)[0]);
    }, {passive: false});
    this.canvas.addEventListener("keydown", event => {
      const action = {w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7), a: () => this.move(-0.2), d: () => this.move(0.2), "+": () => this.zoom(0.7),
                      "-": () => this.zoom(1 / 0.7), ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2), f: () => this.all(),
                      c: () => this.togglePath(), Escape: () => this.choose(null)}[event.key];
      if (action && !event.ctrlKey && !event.metaKey) { event.preventDefault(); action(); }
    });
    this.scroller.addEventListener("scroll", () => this.later());
    window.addEventListener("resize", () => this.resize());
  }

  togglePath() {
    this.showsPath = !this.showsPath;
    const button = document.getElementById("path");
    if (button) button.setAttribute("aria-pressed", this.showsPath);
    this.later();
  }
}

async function show() {
  const told = document.getElementById("state");
  if (typeof DecompressionStream === "undefined") {
    told.textContent = "This browser is too old for the timeline: take one of 2023 or later.";
    return null;
  }
  const element = document.getElementById("packed");
  const {header, column} = await unpack(element.textContent);
  element.remove();
  const runs = header.runs.map(run => new Run(run, column));
  const timeline = new Timeline(runs, document.getElementById("timeline"), document.getElementById("tip"), document.getElementById("chosen"));
  const buttons = {closer: () => timeline.zoom(0.5), farther: () => timeline.zoom(2), all: () => timeline.all(), path: () => timeline.togglePath()};
  for (const name in buttons) {
    const button = document.getElementById(name);
    if (button) button.onclick = buttons[name];
  }
  timeline.draw();
  told.textContent = "";
  return timeline;
}

const report = {ready: show()};
