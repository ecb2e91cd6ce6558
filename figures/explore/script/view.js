// The page: its plots and controls, what the reader does with them, and when they are drawn.
const NEAR = 14; // pixels from a start at which it is taken
const PAUSE = 150; // milliseconds without a change after which slow pictures are drawn
const SLICE = 10; // milliseconds of a slow picture between two events
const TOLD = 120; // milliseconds between two changes of the lists while a slider moves
const plots = {}, views = {}, shows = [];
let state = read(location.hash.slice(1)), found = [], runs = [], velocity = null, waiting = false, pause = 0, told = 0;
const slow = {section: null, diagram: null};

// Redraw at the next frame; `slowly` also draws anew what takes longer.
function changed(slowly = true) {
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }
  clearTimeout(pause);
  pause = setTimeout(settled, PAUSE, slowly);
}

function draw() {
  const began = performance.now();
  found = findEquilibria(state, found);
  runs = trajectories(state);
  if (SIZE === 1 && MODEL.isMap) drawCobweb(plots.main, state, runs, found);
  else if (SIZE === 1) velocity = drawLine(plots.main, state, found);
  else drawPlane(plots.main, state, runs, found);
  drawSeries(plots.series, state, runs);
  if (plots.potential) drawPotential(plots.potential, state, found, velocity);
  if (began - told > TOLD) tell();
  page.frames.push(performance.now() - began);
  if (page.frames.length > 600) page.frames.shift();
}

// Sliders and lists, which are slower to lay out than plots are to draw.
function tell() {
  told = performance.now();
  shows.forEach(show => show());
  listEquilibria();
  caption();
}

function settled(slowly) {
  tell();
  const spelledNow = spelled(state);
  try {
    history.replaceState(null, "", `#${spelledNow}`);
  } catch {
    // inside of a notebook a page has no address of its own
  }
  texts();
  if (!slowly) return;
  if (plots.section) start("section", drawSection(plots.section, state));
  if (slow.diagram) start("diagram", drawDiagram(plots.diagram, state));
}

// Work on a slow picture between events; a new one for the same plot replaces it.
function start(name, work) {
  slow[name] = work;
  const go = () => {
    const began = performance.now();
    while (performance.now() - began < SLICE) {
      if (slow[name] !== work) return;
      if (work.next().done) {
        document.getElementById(`figure-${name}`).dataset.done = "true";
        return;
      }
    }
    setTimeout(go);
  };
  document.getElementById(`figure-${name}`).dataset.done = "false";
  go();
}

function listEquilibria() {
  const list = document.getElementById("equilibria"), number = value => shortened(value, 4);
  const eigenvalue = ([re, im]) => im ? `${number(re)} ${im < 0 ? "−" : "+"} ${number(abs(im))}i` : number(re);
  const rows = found.slice(0, 12).map(one => element("li", {},
    element("span", {class: "sign"}, MARKERS[one.kind].sign), ` ${one.type} (${one.x.map(number).join(", ")})`,
    element("span", {class: "eigenvalues"}, ` ${MODEL.isMap ? "multipliers" : "eigenvalues"} ${one.values.map(eigenvalue).join(", ")}`)));
  if (found.length > 12) rows.push(element("li", {}, `and ${found.length - 12} more`));
  const none = MODEL.isMap ? "No fixed point in the window" : "No equilibrium in the window";
  list.replaceChildren(...(rows.length ? rows : [element("li", {}, none)]));
}

function caption() {
  const names = MODEL.labels.filter((_, c) => isSeries(state, c)).map(name => {
    const color = COLORS.components[orderOf(state, MODEL.labels.indexOf(name))];
    return element("span", {style: `color: ${color}`}, `${name} `);
  });
  document.getElementById("caption-series").replaceChildren(...names);
  const signs = Object.entries(MARKERS).filter(([kind]) => found.some(one => one.kind === kind));
  const lines = [];
  if (SIZE > 1 && state.nullclines) {
    state.axes.forEach((k, c) => lines.push([COLORS.components[c], "—", MODEL.isMap ? `${MODEL.labels[k]} unchanged` : `${MODEL.labels[k]}′ = 0`]));
  }
  if (state.separatrices && !MODEL.forced && found.some(one => one.kind === "saddle")) {
    lines.push([COLORS.separatrix, "—", "unstable separatrix"], [COLORS.separatrix, "┄", "stable separatrix"]);
  }
  lines.push(...signs.map(([kind, {sign}]) => [COLORS.dark, sign, kind]));
  document.getElementById("legend").replaceChildren(
    ...lines.map(([color, sign, text]) => element("span", {}, element("span", {style: `color: ${color}`}, sign), ` ${text}`)));
  const stopped = {escaped: "A trajectory escapes.", singular: "A trajectory meets a singularity.",
                   steps: "A trajectory needs too many steps: the system is stiff, or it slides where its right-hand side jumps."};
  const ends = runs.flatMap(one => [one.forward, one.backward]).map(one => one && stopped[one.end]).filter(Boolean);
  document.getElementById("message").textContent = ends[0] || "";
}

function texts() {
  document.getElementById("command").value = command(state) || "This system has no name on the command line.";
  document.getElementById("python").value = python(state);
}

function titled(label, unit) {
  return unit ? `${label} (${unit})` : label;
}

function labels() {
  const title = k => titled(MODEL.labels[k], MODEL.units[k]);
  const [i, j] = state.axes, time = MODEL.isMap ? "step" : titled("time", MODEL.timeUnit);
  if (SIZE > 1) plots.main.label(title(i), title(j));
  else plots.main.label(title(0), MODEL.isMap ? `next ${title(0)}` : `velocity of ${title(0)}`);
  plots.series.label(time, "");
  if (plots.potential) plots.potential.label(title(0), "potential");
  if (plots.section) plots.section.label(title(i), SIZE > 1 ? title(j) : title(i));
  const swept = MODEL.parameters[state.swept];
  if (swept) plots.diagram?.label(titled(swept.label, swept.unit), title(i));
}

// Where a point of the main plot lies in the space of states.
function lifted(x, y) {
  const found = [...state.at];
  shownComponents().forEach((k, c) => { found[k] = rounded([x, y][c], state.box[k]); });
  return found;
}

// A number with as many digits as a window of this size shows.
function rounded(value, [low, high]) {
  const unit = 10 ** (Math.floor(Math.log10(high - low)) - 3);
  return Number((Math.round(value / unit) * unit).toPrecision(12));
}

function nearestStart({x, y}) {
  const [left, right, bottom, top] = plots.main.window, [width, height] = plots.main.size;
  const distances = state.starts.map(start => {
    const dx = (start[state.axes[0]] - x) / (right - left) * width;
    return SIZE > 1 ? Math.hypot(dx, (start[state.axes[1]] - y) / (top - bottom) * height) : abs(dx);
  });
  const k = distances.indexOf(Math.min(...distances));
  return distances[k] <= NEAR ? k : -1;
}

function shownComponents() {
  return SIZE === 1 ? [0] : state.axes;
}

// Move or scale the window about a point; `share` is that of its size.
function panned(dx, dy) {
  shownComponents().forEach((k, c) => { state.box[k] = state.box[k].map(end => end + [dx, dy][c]); });
  changed(false);
}

function zoomed(factor) {
  for (const k of shownComponents()) {
    const [low, high] = state.box[k], middle = (low + high) / 2;
    state.box[k] = [low, high].map(end => rounded(middle + factor * (end - middle), [low, high]));
  }
  changed();
}

function addStart(x, y) {
  state.starts.push(lifted(x, y));
  state.selected = state.starts.length - 1;
  changed();
}

function removeStart() {
  state.starts.splice(state.selected, 1);
  state.selected = Math.max(state.starts.length - 1, 0);
  changed();
}

function resetWindow() {
  state.box = MODEL.box.map(ends => [...ends]);
  changed();
}

function followMouse() {
  const {model} = plots.main;
  let held = null;
  model.on_event("tap", event => {
    const k = nearestStart(event);
    if (k < 0) addStart(event.x, event.y);
    else {
      state.selected = k;
      changed();
    }
  });
  model.on_event("panstart", event => { held = {start: nearestStart(event), x: event.x, y: event.y}; });
  model.on_event("pan", event => {
    if (!held) return;
    if (held.start < 0) {
      panned(held.x - event.x, held.y - event.y);
      plots.main.window = shownComponents().length === 2 ? shownComponents().flatMap(k => state.box[k]) : plots.main.window;
    } else {
      state.starts[held.start] = lifted(event.x, event.y);
      state.selected = held.start;
      changed(false);
    }
  });
  model.on_event("panend", () => {
    held = null;
    for (const k of shownComponents()) state.box[k] = state.box[k].map(end => rounded(end, state.box[k]));
    changed();
  });
  model.on_event("rangesupdate", ({x0, x1, y0, y1}) => { // after a turn of the wheel or a pinch
    const ends = [[x0, x1], [y0, y1]], close = (a, b) => abs(a - b) <= 1e-9 * abs(x1 - x0 + y1 - y0);
    shownComponents().forEach((k, c) => {
      if (!state.box[k].every((end, side) => close(end, ends[c][side]))) {
        state.box[k] = ends[c].map(end => rounded(end, ends[c]));
        changed();
      }
    });
  });
  plots.diagram?.model.on_event("tap", ({x}) => setValue(state.swept, x));
}

function setValue(k, value, ends = null) {
  if (ends) state.ranges[k] = ends;
  const [low, high] = state.ranges[k];
  state.ranges[k] = [Math.min(low, value), Math.max(high, value)];
  state.values[k] = value;
  changed();
}

function followKeys() {
  const share = 0.08, size = c => state.box[shownComponents()[c] ?? 0].reduce((low, high) => high - low);
  const keys = {
    ArrowLeft: () => panned(-share * size(0), 0), ArrowRight: () => panned(share * size(0), 0),
    ArrowDown: () => panned(0, -share * size(1)), ArrowUp: () => panned(0, share * size(1)),
    "+": () => zoomed(0.8), "=": () => zoomed(0.8), "-": () => zoomed(1.25), 0: resetWindow, Home: resetWindow,
    Enter: () => addStart(...state.axes.map(k => (state.box[k][0] + state.box[k][1]) / 2)),
    Delete: removeStart, Backspace: removeStart,
  };
  document.getElementById("figure-main").addEventListener("keydown", event => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button")) return;
    event.preventDefault();
    act();
  });
}

function buildControls() {
  const put = (id, ...made) => made.forEach(one => {
    document.getElementById(id).append(one.row);
    shows.push(one.show);
  });
  MODEL.parameters.forEach(({name, label, unit}, k) => {
    put("parameters", slider(name, titled(label, unit), () => [state.values[k], ...state.ranges[k]], (value, ends) => setValue(k, value, ends)));
  });
  if (MODEL.forced && !MODEL.isMap) {
    const end = () => Math.max(forcingPeriod(state) < Infinity ? forcingPeriod(state) : 10, state.time);
    put("parameters", slider("time", "time", () => [state.time, 0, end()], value => { state.time = value; changed(); }));
  }
  if (SIZE > 2) {
    [0, 1].forEach(side => put("plane", choice(side ? "upwards" : "across", MODEL.labels, () => state.axes[side], k => {
      if (k === state.axes[1 - side]) state.axes.reverse();
      else state.axes[side] = k;
      labels();
      hideAxes();
      changed();
    })));
    MODEL.names.forEach((name, k) => put("plane", slider(`start of ${name}`, MODEL.labels[k], () => [state.at[k], ...state.box[k]],
      (value, ends) => {
        state.at[k] = value;
        if (ends) state.box[k] = ends;
        state.starts.forEach(start => { start[k] = value; });
        changed();
      })));
  }
  const horizon = numberBox("length of trajectories", state.horizon, value => {
    state.horizon = Math.min(Math.max(value, MODEL.isMap ? 1 : 1e-6), 1e5);
    changed();
  });
  put("options", {row: element("label", {class: "choice"}, MODEL.isMap ? "steps" : "length in time", horizon),
                  show: () => { if (document.activeElement !== horizon) horizon.value = shortened(state.horizon, 8); }});
  const flag = (label, key) => checkbox(label, () => state[key], value => { state[key] = value; changed(false); });
  if (!MODEL.isMap) put("options", flag("backwards too", "backwards"));
  if (SIZE > 1 && !MODEL.isMap) put("options", flag("arrows", "field"));
  if (SIZE > 1) put("options", flag(MODEL.isMap ? "curves without change" : "nullclines", "nullclines"));
  if (SIZE === 2 && !MODEL.isMap && !MODEL.forced) put("options", flag("separatrices", "separatrices"));
  document.getElementById("options").append(
    button("Remove trajectory", removeStart), button("Remove all", () => { state.starts = []; state.selected = 0; changed(); }),
    button("Begin again", () => { state = initialState(); labels(); hideAxes(); changed(); }));
  if (plots.section) {
    const options = ["number", ...MODEL.parameters.map(one => `2π / ${one.label}`)];
    const period = numberBox("period of the section", forcingPeriod(state), value => {
      if (value > 0) state.forcing = {by: "", period: value};
      changed();
    });
    const by = choice("period", options, () => 1 + MODEL.parameters.findIndex(one => one.name === state.forcing.by), k => {
      state.forcing = k ? {by: MODEL.parameters[k - 1].name, period: 2 * Math.PI} : {by: "", period: forcingPeriod(state)};
      changed();
    });
    document.getElementById("tools-section").prepend(by.row, period);
    shows.push(by.show, () => { if (document.activeElement !== period) period.value = shortened(forcingPeriod(state), 8); });
  }
  if (SIZE > 1) {
    const series = choice("show", ["all", ...MODEL.labels], () => state.series + 1, k => { state.series = k - 1; changed(false); });
    document.getElementById("tools-series").prepend(series.row);
    shows.push(series.show);
  }
  if (plots.diagram) {
    const swept = choice("against", MODEL.parameters.map(one => one.label), () => state.swept, k => {
      state.swept = k;
      labels();
      start("diagram", drawDiagram(plots.diagram, state));
      changed(false);
    });
    document.getElementById("tools-diagram").prepend(
      swept.row, button("Sweep", () => start("diagram", drawDiagram(plots.diagram, state)), {id: "sweep"}));
    shows.push(swept.show);
  }
  buildTools();
}

// Sliders of a slice are shown for the components that do not span the plane.
function hideAxes() {
  if (SIZE < 3) return;
  const rows = document.querySelectorAll("#plane .slider");
  rows.forEach((row, k) => { row.hidden = state.axes.includes(k); });
}

function buildTools() {
  for (const name of Object.keys(plots)) {
    const file = ending => `${PAGE.file}-${name}.${ending}`;
    document.getElementById(`tools-${name}`).append(
      button("PNG", async () => download(file("png"), await image(name, "png"))),
      button("SVG", async () => download(file("svg"), await image(name, "svg"))),
      button("CSV", () => download(file("csv"), table(name))));
  }
  document.getElementById("tools-main").prepend(
    button("−", () => zoomed(1.25), {"aria-label": "zoom out"}), button("+", () => zoomed(0.8), {"aria-label": "zoom in"}),
    button("Reset", resetWindow, {"aria-label": "reset the window"}));
  for (const id of ["command", "python"]) {
    const area = document.getElementById(id);
    document.getElementById(`copy-${id}`).addEventListener("click", () => {
      area.select();
      navigator.clipboard?.writeText(area.value).catch(() => {});
    });
  }
}

// Numbers behind a plot: trajectories, or the points of a slow picture.
function table(name) {
  if (name === "section" || name === "diagram") {
    const {x, y} = plots[name].picture?.layers.dots ?? {x: [], y: []};
    const [i, j] = SIZE > 1 ? state.axes : [0, 0];
    const columns = name === "section" ? [MODEL.names[i], MODEL.names[j]] : [MODEL.parameters[state.swept].name, MODEL.names[i]];
    return csv(columns, x.map((value, k) => [value, y[k]]));
  }
  const rows = runs.flatMap(({forward, backward}, k) => [backward, forward].filter(Boolean).flatMap(run =>
    Array.from(run.t, (t, n) => [k + 1, t, ...run.x.map(one => one[n])])));
  return csv(["trajectory", MODEL.isMap ? "step" : "time", ...MODEL.names], rows);
}

// A plot as a blob; for SVG a copy of it is drawn with Bokeh's backend for SVG.
async function image(name, ending) {
  if (ending === "png") return views[name].export("png", true).to_blob();
  const host = element("div", {id: `copy-of-${name}`, class: "copy"});
  const original = document.getElementById(`plot-${name}`);
  [host.style.width, host.style.height] = [`${original.clientWidth}px`, `${original.clientHeight}px`];
  document.body.append(host);
  const item = structuredClone(PAGE.plots[name]);
  item.doc.roots[0].attributes.output_backend = "svg";
  const manager = await Bokeh.embed.embed_item(item, host.id);
  const view = [...manager][0], copy = new Plot(view.model.document);
  copy.window = plots[name].window;
  copy.label(plots[name].model.below[0].axis_label, plots[name].model.left[0].axis_label);
  copy.show(plots[name].picture ?? new Picture());
  await new Promise(resolve => setTimeout(resolve, 100));
  const blob = await view.export("svg").to_blob();
  manager.clear();
  host.remove();
  return blob;
}

async function begin() {
  for (const [name, item] of Object.entries(PAGE.plots)) {
    const manager = await Bokeh.embed.embed_item(item, `plot-${name}`);
    views[name] = [...manager][0];
    plots[name] = new Plot(views[name].model.document);
  }
  labels();
  buildControls();
  hideAxes();
  followMouse();
  followKeys();
  addEventListener("hashchange", () => {
    if (location.hash.slice(1) === spelled(state)) return;
    state = read(location.hash.slice(1));
    labels();
    hideAxes();
    changed();
  });
  addEventListener("resize", () => changed(false));
  draw();
  settled(true);
  page.ready = true;
}

// What tests look at.
const page = {ready: false, frames: [], get state() { return state; }, get found() { return found; }, get runs() { return runs; }};
globalThis.dynsimPage = page;
begin();
