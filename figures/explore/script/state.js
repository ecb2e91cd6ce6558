// The state of a page, how its address spells it, and the commands that reproduce it. PAGE holds what the page knows.
const MODEL = {...PAGE.system, field, jacobian};
const SIZE = MODEL.names.length;

// Whether the components are of one size, so that one axis can show all of them.
function comparable() {
  const sizes = MODEL.box.map(([low, high]) => high - low);
  return Math.max(...sizes) <= 20 * Math.min(...sizes);
}

function initialState() {
  return {
    values: MODEL.parameters.map(one => one.value),
    ranges: MODEL.parameters.map(one => [...one.range]),
    axes: [...MODEL.plane],
    at: [...MODEL.start],
    box: MODEL.box.map(ends => [...ends]),
    starts: [[...MODEL.start]],
    selected: 0,
    horizon: MODEL.horizon,
    time: 0,
    backwards: false,
    field: true,
    nullclines: !MODEL.isMap,
    separatrices: SIZE === 2 && !MODEL.isMap,
    forcing: {...MODEL.forcing},
    swept: MODEL.swept,
    series: comparable() ? -1 : MODEL.plane[0],
  };
}

// Only what differs from the first state stands in the address, after the #.
function spelled(state) {
  const first = initialState(), found = new URLSearchParams(), same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const name = k => MODEL.parameters[k].name;
  state.values.forEach((value, k) => same(value, first.values[k]) || found.set(`p.${name(k)}`, value));
  state.ranges.forEach((ends, k) => same(ends, first.ranges[k]) || found.set(`range.${name(k)}`, ends));
  MODEL.names.forEach((component, k) => {
    if (!same(state.box[k], first.box[k])) found.set(`box.${component}`, state.box[k]);
    if (!state.axes.includes(k) && !same(state.at[k], first.at[k])) found.set(`at.${component}`, state.at[k]);
  });
  if (!same(state.axes, first.axes)) found.set("plane", state.axes.map(k => MODEL.names[k]));
  if (!same(state.starts, first.starts)) found.set("starts", state.starts.map(start => start.join(" ")).join(";"));
  for (const key of ["selected", "horizon", "time", "swept", "series"]) if (!same(state[key], first[key])) found.set(key, state[key]);
  for (const key of ["backwards", "field", "nullclines", "separatrices"]) {
    if (state[key] !== first[key]) found.set(key, +state[key]);
  }
  if (!same(state.forcing, first.forcing)) found.set("period", `${state.forcing.by} ${state.forcing.period}`);
  return found.toString();
}

// The state that an address spells; what it spells wrongly is left as it is.
function read(text) {
  const state = initialState(), given = new URLSearchParams(text);
  const numbers = (word, count) => {
    const found = word.split(/[ ,]+/).map(Number);
    return word.trim() && found.every(Number.isFinite) && found.length === count ? found : null;
  };
  const interval = word => {
    const found = numbers(word, 2);
    return found && found[0] < found[1] ? found : null;
  };
  const put = (key, change) => given.has(key) && change(given.get(key));
  MODEL.parameters.forEach(({name}, k) => {
    put(`p.${name}`, word => { state.values[k] = numbers(word, 1)?.[0] ?? state.values[k]; });
    put(`range.${name}`, word => { state.ranges[k] = interval(word) ?? state.ranges[k]; });
    state.ranges[k] = [Math.min(state.ranges[k][0], state.values[k]), Math.max(state.ranges[k][1], state.values[k])];
  });
  MODEL.names.forEach((name, k) => {
    put(`box.${name}`, word => { state.box[k] = interval(word) ?? state.box[k]; });
    put(`at.${name}`, word => { state.at[k] = numbers(word, 1)?.[0] ?? state.at[k]; });
  });
  put("plane", word => {
    const found = word.split(",").map(name => MODEL.names.indexOf(name));
    if (found.length === 2 && found[0] !== found[1] && !found.includes(-1)) state.axes = found;
  });
  put("starts", word => {
    const found = word.split(";").filter(Boolean).map(one => numbers(one, SIZE));
    if (found.every(Boolean)) state.starts = found;
  });
  put("horizon", word => { state.horizon = Math.max(numbers(word, 1)?.[0] ?? 0, 0) || state.horizon; });
  put("time", word => { state.time = numbers(word, 1)?.[0] ?? state.time; });
  put("swept", word => { if (Number(word) in MODEL.parameters) state.swept = Number(word); });
  put("series", word => { if (Number(word) === -1 || Number(word) in MODEL.names) state.series = Number(word); });
  put("selected", word => { state.selected = Number(word); });
  if (!(state.selected in state.starts)) state.selected = Math.max(state.starts.length - 1, 0);
  for (const key of ["backwards", "field", "nullclines", "separatrices"]) put(key, word => { state[key] = word === "1"; });
  put("period", word => {
    const [by, period] = word.split(" ");
    const known = by === "" || MODEL.parameters.some(one => one.name === by);
    if (known && Number(period) > 0 && Number(period) < Infinity) state.forcing = {by, period: Number(period)};
  });
  return state;
}

// The period of the forcing: a number, or a number over the parameter that is the frequency.
function forcingPeriod(state) {
  const k = MODEL.parameters.findIndex(one => one.name === state.forcing.by);
  return k < 0 ? state.forcing.period : abs(state.forcing.period / state.values[k]);
}

function shortened(value, digits = 6) {
  return String(Number(value.toPrecision(digits)));
}

// Parameters by name, with the entries of arrays together.
function grouped(state) {
  const found = new Map();
  MODEL.parameters.forEach(({name}, k) => {
    const base = name.replace(/\[.*\]$/, ""), value = String(state.values[k]);
    if (base === name) found.set(name, value);
    else found.set(base, [...(found.get(base) || []), value]);
  });
  return found;
}

function viewWindow(state) {
  return (SIZE === 1 ? [state.axes[0]] : state.axes).flatMap(k => state.box[k]);
}

// The command that draws this view; empty for a system without a name.
function command(state) {
  const {words} = PAGE.source;
  if (!words) return "";
  const found = ["dynsim", MODEL.isMap ? "section" : "portrait", words];
  const values = [...grouped(state)].map(([name, value]) => `${name}=${[value].flat().join(",")}`);
  if (values.length) found.push(`--parameters ${values.join(" ")}`); // also for names that options have
  const box = viewWindow(state).join(" "), start = state.starts[state.selected] ?? state.at;
  if (MODEL.isMap) {
    found.push(`--start ${start.join(" ")}`, `--count ${Math.max(2, Math.round(state.horizon))}`, "--transient 0");
    if (SIZE > 2) found.push(`--plane ${state.axes.map(k => MODEL.names[k]).join(" ")}`);
    return found.join(" ");
  }
  if (SIZE > 2) found.push(`--plane ${state.axes.map(k => MODEL.names[k]).join(" ")}`, `--start ${state.at.join(" ")}`);
  found.push(`--box ${box}`);
  const through = state.starts.flatMap(one => state.axes.map(k => one[k])).join(" ");
  if (SIZE > 1 && through) found.push(`--through ${through}`);
  if (MODEL.forced) found.push(`--time ${state.time}`);
  return found.join(" ");
}

// Ten lines of Python that compute and draw this view.
function python(state) {
  const list = numbers => `[${numbers.map(value => Number.isInteger(value) ? `${value}.0` : value).join(", ")}]`;
  const {imports, before, after, keywords} = PAGE.source;
  const parameters = [...grouped(state)].map(([name, value]) => {
    const text = Array.isArray(value) ? `[${value.join(", ")}]` : value;
    return keywords ? `${name}=${text}` : `${JSON.stringify(name)}: ${text}`;
  });
  const system = `system = ${before}${keywords ? parameters.join(", ") : `{${parameters.join(", ")}}`}${after}`;
  const start = list(state.starts[state.selected] ?? state.at);
  const lines = ["import numpy as np", "", "import dynsim as ds", "from analysis import dynamics as ad", ...imports, "", system];
  if (MODEL.isMap) {
    lines.splice(0, 2);
    lines.splice(lines.indexOf("from analysis import dynamics as ad"), 1);
    return [...lines, `run = ds.iterate(system, ${start}, ${Math.max(1, Math.round(state.horizon))})`, "print(run)",
            'run.plot().save("orbit.png")'].join("\n");
  }
  lines.push(`run = ds.simulate(system, ${start}, np.linspace(${state.time}, ${state.time + state.horizon}, 2001))`, "print(run)");
  lines.push('run.plot().save("run.png")');
  if (SIZE === 1) {
    lines.push(`print(ad.equilibria(system, np.linspace(${viewWindow(state).join(", ")}, 101)[:, None]))`);
    return lines.join("\n");
  }
  const options = SIZE > 2 ? [`axes=(${state.axes.join(", ")})`, `at=${list(state.at)}`] : [];
  const starts = state.starts.map(one => list(state.axes.map(k => one[k])));
  if (starts.length) options.push(`trajectories=np.array([${starts.join(", ")}])`);
  if (MODEL.forced) options.push(`t=${state.time}`);
  lines.push(`plane = ad.phase_plane(system, ${[list(viewWindow(state)), ...options].join(", ")})`, "print(plane)");
  return [...lines, 'plane.plot().save("portrait.png")'].join("\n");
}
