// What the playable pages share: elements, controls, and line charts in SVG that follow the theme.
"use strict";
window.play = window.play || {};
play.ui = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function set(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value != null) node.setAttribute(name, value);
    }
    node.append(...children.flat(Infinity).filter(child => child != null));
    return node;
  }
  const el = (tag, attributes = {}, ...children) =>
    set(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) =>
    set(document.createElementNS(SVG, tag), attributes, children);

  let count = 0;
  const fresh = () => `play-${++count}`;

  // A labelled drop-down list; entries are [value, text].
  function select(label, entries, changed) {
    const id = fresh();
    const node = el("select", { id, onchange: changed },
      entries.map(([value, text]) => el("option", { value }, text)));
    return { node, field: el("div", { class: "play-field" }, el("label", { for: id }, label), node) };
  }

  // A labelled slider over a list of stops, or over the numbers from low to high; says its value in words.
  function slider(label, stops, start, said, changed) {
    const id = fresh(), listed = Array.isArray(stops);
    const output = el("output", { for: id });
    const range = listed ? { min: 0, max: stops.length - 1, step: 1, value: start }
      : { ...stops, value: start };
    const node = el("input", { id, type: "range", ...range });
    const value = () => listed ? stops[Number(node.value)] : Number(node.value);
    const show = () => {
      output.textContent = said(value());
      node.setAttribute("aria-valuetext", said(value()));
    };
    node.addEventListener("input", () => { show(); changed(); });
    show();
    const set_to = number => {
      node.value = listed ? stops.indexOf(number) : number;
      show();
    };
    return {
      node, value, set: set_to,
      field: el("div", { class: "play-field" },
        el("label", { for: id }, label, " ", output), node),
    };
  }

  // Radio buttons in a fieldset; entries are [value, text].
  function choice(legend, entries, chosen, changed) {
    const name = fresh();
    const inputs = entries.map(([value]) =>
      el("input", { type: "radio", name, value, checked: value === chosen, onchange: changed }));
    return {
      inputs,
      value: () => (inputs.find(input => input.checked) || {}).value,
      field: el("fieldset", { class: "play-choice" }, el("legend", {}, legend),
        entries.map(([, text], k) => el("label", {}, inputs[k], " ", text))),
    };
  }

  // A digit as a picture: one grey square a pixel.
  function digit(pixels, label, size = 56) {
    const side = Math.sqrt(pixels.length);
    const squares = [...pixels].map((level, k) => {
      const grey = Math.round(255 * parseInt(level, 17) / 16);
      return draw("rect", {
        x: k % side, y: Math.floor(k / side), width: 1.02, height: 1.02,
        fill: `rgb(${grey},${grey},${grey})`,
      });
    });
    return draw("svg", {
      viewBox: `0 0 ${side} ${side}`, width: size, height: size, role: "img", "aria-label": label,
      class: "play-digit",
    }, squares);
  }

  function table(caption, head, rows) {
    return el("div", { class: "play-table", tabindex: 0, role: "region", "aria-label": caption },
      el("table", {}, el("caption", {}, caption),
        el("thead", {}, el("tr", {}, head.map(text => el("th", { scope: "col" }, text)))),
        el("tbody", {}, rows.map(([first, ...rest]) => el("tr", {},
          el("th", { scope: "row" }, first), rest.map(text => el("td", {}, text)))))));
  }

  // A chart. x and y: {low, high, log, ticks, label, format}. parts: lines {points, kind, label, at},
  // dots {x, y, low, high, kind, label}, and verticals {x, kind, label}.
  function chart({ x, y, lines = [], dots = [], verticals = [], said, height = 300 }) {
    const say = axis => axis.format || (value => `${+value.toPrecision(6)}`);
    const widest = y.hidden ? 0 : Math.max(...y.ticks.map(t => say(y)(t).length));
    const width = 380, left = 30 + 7.5 * widest, right = 26, top = 12, bottom = 44;
    const scale = (axis, from, to) => value => {
      const f = axis.log ? Math.log10 : Number;
      const held = Math.min(Math.max(value, axis.low), axis.high);
      return from + (to - from) * (f(held) - f(axis.low)) / (f(axis.high) - f(axis.low));
    };
    const px = scale(x, left, width - right), py = scale(y, height - bottom, top);
    const text = (where, words) => draw("text", where, words);
    const frame = draw("g", { class: "play-axes" },
      draw("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
      y.hidden ? null : draw("line", { x1: left, x2: left, y1: top, y2: height - bottom }),
      x.ticks.map(t => [
        draw("line", { x1: px(t), x2: px(t), y1: height - bottom, y2: height - bottom + 4 }),
        text({ x: px(t), y: height - bottom + 17, "text-anchor": "middle" }, say(x)(t)),
      ]),
      y.hidden ? null : y.ticks.map(t => [
        draw("line", { x1: left - 4, x2: left, y1: py(t), y2: py(t) }),
        text({ x: left - 7, y: py(t) + 4, "text-anchor": "end" }, say(y)(t)),
      ]),
      text({ x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, x.label),
      y.hidden ? null : text({
        x: 13, y: (top + height - bottom) / 2, "text-anchor": "middle",
        transform: `rotate(-90 13 ${(top + height - bottom) / 2})`,
      }, y.label));
    const path = points => "M" + points.map(p => `${px(p[0]).toFixed(1)},${py(p[1]).toFixed(1)}`).join("L");
    const legend = [...lines, ...dots, ...verticals].filter(part => part.label);
    const key = el("ul", { class: "play-key", "aria-hidden": "true" }, legend.map(part =>
      el("li", { class: `play-${part.kind}` }, draw("svg", { width: 26, height: 12 },
        part.points || part.low === undefined && part.y === undefined
          ? draw("line", { x1: 1, x2: 25, y1: 6, y2: 6 })
          : draw("circle", { cx: 13, cy: 6, r: 4 })), " ", part.label)));
    const picture = draw("svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said, class: "play-chart" },
      frame,
      verticals.map(v => draw("g", { class: `play-${v.kind}` },
        draw("line", { x1: px(v.x), x2: px(v.x), y1: top, y2: height - bottom }))),
      lines.map(l => draw("g", { class: `play-${l.kind}` }, draw("path", { d: path(l.points) }))),
      dots.map(d => draw("g", { class: `play-${d.kind}` },
        d.low === undefined ? null
          : draw("line", { x1: px(d.x), x2: px(d.x), y1: py(d.low), y2: py(d.high) }),
        draw("circle", { cx: px(d.x), cy: py(d.y), r: d.size || 4 }))));
    return el("figure", { class: "play-figure" }, picture, key);
  }

  const percent = (value, digits = 1) => `${(100 * value).toFixed(digits)}\u00a0%`;
  const rate = value => `${+(100 * value).toPrecision(3)}\u00a0%`;

  // Each page calls this with its name: it finds its place, reads its data, and takes the still table away.
  function begin(name, build) {
    const place = document.getElementById(`play-${name}`);
    if (!place) return;
    const data = JSON.parse(place.querySelector("script").textContent);
    const made = build(data);
    place.querySelector(".play-still").remove();
    place.append(made);
    place.classList.add("play-ready");
  }

  return { el, draw, select, slider, choice, digit, table, chart, percent, rate, begin };
})();
