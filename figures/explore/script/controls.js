// Sliders, boxes and buttons: elements of HTML that change the state and say so.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function numberBox(name, value, change, attributes = {}) {
  return element("input", {
    type: "number", step: "any", value: shortened(value, 8), "aria-label": name,
    onchange: event => Number.isFinite(event.target.valueAsNumber) && change(event.target.valueAsNumber), ...attributes,
  });
}

// A slider with a box for its value and boxes for its ends; `show` writes new values into them.
function slider(name, label, read, write) {
  const [value, low, high] = read();
  const step = (a, b) => Math.max((b - a) / 400, Number.MIN_VALUE);
  const range = element("input", {
    type: "range", min: low, max: high, step: step(low, high), "aria-label": name, id: `slider-${name}`,
    oninput: event => write(event.target.valueAsNumber, null),
  });
  const box = numberBox(`value of ${name}`, value, given => write(given, null));
  const ends = [0, 1].map(side => numberBox(`${side ? "highest" : "lowest"} ${name}`, [low, high][side], given => {
    const [now, ...found] = read();
    found[side] = given;
    if (found[0] < found[1]) write(Math.min(Math.max(now, found[0]), found[1]), found);
    else show();
  }, {class: "end"}));
  const show = () => {
    const [now, ...found] = read();
    [range.min, range.max, range.step] = [...found, step(...found)];
    range.value = now;
    if (document.activeElement !== box) box.value = shortened(now, 8);
    ends.forEach((end, side) => { if (document.activeElement !== end) end.value = shortened(found[side], 4); });
  };
  range.value = value;
  const row = element("div", {class: "slider"}, element("label", {for: range.id}, label), box, ends[0], range, ends[1]);
  return {row, show};
}

function checkbox(label, read, write) {
  const input = element("input", {type: "checkbox", onchange: event => write(event.target.checked)});
  const show = () => { input.checked = read(); };
  show();
  return {row: element("label", {class: "check"}, input, label), show};
}

function choice(label, options, read, write) {
  const select = element("select", {"aria-label": label, onchange: event => write(Number(event.target.value))});
  options.forEach((option, k) => select.append(element("option", {value: k}, option)));
  const show = () => { select.value = read(); };
  show();
  return {row: element("label", {class: "choice"}, label, select), show};
}

function button(label, press, attributes = {}) {
  return element("button", {type: "button", onclick: press, ...attributes}, label);
}

function download(name, blob) {
  const link = element("a", {download: name, href: URL.createObjectURL(blob)});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function csv(columns, rows) {
  const cell = value => typeof value === "number" ? String(value) : `"${String(value).replaceAll('"', '""')}"`;
  return new Blob([[columns, ...rows].map(row => row.map(cell).join(",")).join("\n"), "\n"], {type: "text/csv"});
}
