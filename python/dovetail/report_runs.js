// The runs of a report as they are packed into the page, and what may be asked of them. report_packing.py says how they are packed.
"use strict";

const LANES_THAT_ARE_OPEN = 64, OTHER_LANES_THAT_ARE_OPEN = 8;
const LAST = ["wait", "failure"];

async function unpack(text) {
  const characters = atob(text), packed = new Uint8Array(characters.length);
  for (let i = 0; i < packed.length; ++i) packed[i] = characters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const types = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array};
  const column = place => {
    const at = 4 + length + place.at;
    if (types[place.type]) return new types[place.type](buffer, at, place.count);
    const halves = new Uint32Array(buffer, at, place.count), whole = new Float64Array(place.count / 2);
    for (let i = 0, sum = 0; i < whole.length; ++i) {
      // Two's complement: a difference may be negative where a lane begins.
      const value = halves[2 * i] + (halves[2 * i + 1] | 0) * 4294967296;
      whole[i] = place.type === "times" ? sum += value : value;
    }
    return whole;
  };
  return {header, column};
}

// The rows of one category of a run, sorted by lane and begin. `reach`: until when the lane's rows so far go, so that it never falls within a lane.
function rowsOf(packed, column, lanes) {
  const rows = {lane: column(packed.lane), begin: column(packed.begin), length: column(packed.length), name: column(packed.name),
                task: packed.task ? column(packed.task) : null, facts: {}, texts: new Set(packed.texts), from: new Uint32Array(lanes + 1)};
  for (const key in packed.facts) rows.facts[key] = column(packed.facts[key]);
  const count = rows.begin.length, reach = rows.reach = new Float64Array(count);
  for (let i = 0; i < count; ++i) {
    const end = rows.begin[i] + rows.length[i];
    reach[i] = i > 0 && rows.lane[i - 1] === rows.lane[i] ? Math.max(reach[i - 1], end) : end;
    rows.from[rows.lane[i] + 1] = i + 1;
  }
  for (let lane = 0; lane < lanes; ++lane) rows.from[lane + 1] = Math.max(rows.from[lane + 1], rows.from[lane]);
  return rows;
}

// The first index from `low` on, below `high`, whose value is greater.
function above(values, value, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle; else low = middle + 1;
  }
  return low;
}

class Run {
  constructor(packed, column) {
    Object.assign(this, {title: packed.title, length: packed.length, names: packed.names, tasks: packed.tasks, rows: {},
                         workers: packed.workers, edgesAreCut: packed.edgesAreCut, pathLength: packed.pathLength});
    this.lanes = packed.lanes.map(([name, process, track, isThread], number) => ({name, process, track, isThread, number, run: this}));
    this.kinds = [...packed.kinds, ["other", "#8d99a6"]];
    this.kindOfName = column(packed.kindOfName);
    // What marks a part of a slice is drawn behind it.
    for (const category of Object.keys(packed.rows).sort((a, b) => LAST.indexOf(a) - LAST.indexOf(b))) this.rows[category] = rowsOf(packed.rows[category], column, this.lanes.length);
    this.counters = packed.counters.map(one => ({name: one.name, time: column(one.time), value: column(one.value)}));
    this.path = column(packed.path);
    this.onPath = new Uint8Array(this.tasks + 1);
    for (const task of this.path) this.onPath[task + 1] = 1;
    const to = column(packed.edgeTo), back = column(packed.edgeBack);
    this.edges = {to, from: Float64Array.from(to, (task, i) => task - back[i])};
    this.placeTasks();
    this.groups = this.grouped(packed.processes);
  }

  // The first and the last slice of each task.
  placeTasks() {
    const rows = this.rows.task;
    this.first = new Int32Array(this.tasks + 1).fill(-1);
    this.last = new Int32Array(this.tasks + 1).fill(-1);
    if (!rows || !rows.task) return;
    const {task, begin} = rows;
    for (let i = 0; i < begin.length; ++i) {
      const number = task[i];
      if (this.first[number] < 0 || begin[i] < begin[this.first[number]]) this.first[number] = i;
      if (this.last[number] < 0 || begin[i] >= begin[this.last[number]]) this.last[number] = i;
    }
  }

  // Workers first, then other threads, then requests and messages, which are folded.
  grouped(processes) {
    const groups = new Map();
    for (const lane of [...this.lanes].sort((a, b) => a.process - b.process || a.track - b.track)) {
      const {isThread} = lane, isWorker = isThread && lane.name.startsWith("worker");
      const what = processes[lane.process] || "";
      const title = isWorker ? what.replace(/tasks$/, "workers") : isThread ? what.replace(/tasks$/, "other threads") : what;
      const rank = isWorker ? 0 : isThread ? 1 : 2, key = `${rank} ${lane.process}`;
      if (!groups.has(key)) groups.set(key, {title, lanes: [], rank, run: this, isGroup: true});
      groups.get(key).lanes.push(lane);
    }
    let open = 0;
    const sorted = [...groups.values()].sort((a, b) => a.rank - b.rank || a.lanes[0].process - b.lanes[0].process);
    for (const group of sorted) {
      open += group.lanes.length;
      group.folded = group.rank === 2 || open > LANES_THAT_ARE_OPEN || (group.rank === 1 && group.lanes.length > OTHER_LANES_THAT_ARE_OPEN);
    }
    return sorted;
  }

  // Pieces of rows, [category, rows, from, to], of a lane, in the order in which they are drawn.
  pieces(lane) {
    const answer = [];
    for (const category in this.rows) {
      const rows = this.rows[category], from = rows.from[lane.number], to = rows.from[lane.number + 1];
      if (from < to) answer.push([category, rows, from, to]);
    }
    return answer;
  }

  neighbours(task) {
    const before = [], after = [], {to, from} = this.edges;
    for (let i = 0; i < to.length; ++i) {
      if (to[i] === task) before.push(from[i]);
      if (from[i] === task) after.push(to[i]);
    }
    return [before, after];
  }
}
