// What does epsilon buy? Limits of any attack, and what our attacks found.
"use strict";
play.ui.begin("epsilon", data => {
  const { el, select, slider, choice, table, chart, rate } = play.ui, stats = play.stats;
  const place = el("div"), shown = [0.001, 0.01, 0.1];
  const share = value => (100 * value).toFixed(1);
  const tenth = value => `${+value.toPrecision(3)}`;
  const way = choice("What is known", [["training", "a training: noise, rate, steps"], ["pair", "one pair: ε and δ"]], "training", changed);
  const ours = select("A training of ours", [["", "none, choose below"], ...data.ours.map((one, k) => [k, one.name])], () => changed());
  const noise = slider("Noise", data.noises, 3, tenth, update);
  const sampling = slider("Share of the records in a step", data.rates, 3, rate, update);
  const steps = slider("Steps", data.steps, 3, n => n.toLocaleString("en"), update);
  const delta = select("δ", data.deltas.map((d, k) => [k, d.toExponential(0)]), () => update());
  const power = slider("ε", { min: -2, max: 1.5, step: 0.05 }, 0, k => tenth(10 ** k), () => update());
  delta.node.value = ours.node.value = "1";
  const training = el("div", { class: "play-controls" }, ours.field);
  const own = el("div", { class: "play-controls" }, noise.field, sampling.field, steps.field);
  const pair = el("div", { class: "play-controls" }, power.field);

  function changed() {
    training.hidden = way.value() !== "training";
    pair.hidden = !training.hidden;
    own.hidden = training.hidden || ours.node.value !== "";
    update();
  }
  // What is known, as {epsilon, whole: {tpr at data.fprs, advantage}, points}.
  function chosen(k) {
    if (way.value() === "pair") {
      const epsilon = 10 ** power.value(), whole = stats.gaussianOf(epsilon, data.deltas[k]);
      return { epsilon, tpr: data.fprs.map(whole.tprAt), advantage: whole.advantage(), points: [],
        name: `the Gaussian mechanism with this pair, noise ${tenth(1 / whole.mu)}` };
    }
    if (ours.node.value !== "") {
      const one = data.ours[Number(ours.node.value)];
      return { ...one, epsilon: one.epsilon[k], said: `Noise ${tenth(one.mechanism[0])}, ${rate(one.mechanism[1])} of the records in a step, ${one.mechanism[2].toLocaleString("en")} steps. ` };
    }
    const at = (data.noises.indexOf(noise.value()) * data.rates.length
      + data.rates.indexOf(sampling.value())) * data.steps.length + data.steps.indexOf(steps.value());
    return { epsilon: data.epsilon[at][k], tpr: data.tpr[at], advantage: data.advantage[at],
      points: [], name: "this training" };
  }
  function update() {
    const k = Number(delta.node.value), one = chosen(k);
    const alone = stats.approximate(one.epsilon, data.deltas[k]);
    const at = fpr => one.tpr[data.fprs.findIndex(f => Math.abs(f / fpr - 1) < 1e-6)];
    const log = [1e-4, 1e-3, 0.01, 0.1, 1], kinds = ["c", "d", "b"];
    const attacks = [...new Set(one.points.map(p => p[0]))];
    const said = `${one.said || ""}At δ = ${data.deltas[k].toExponential(0)}, ε is ${tenth(one.epsilon)}. No attack has an advantage above ${one.advantage.toFixed(3)}, on average over trainings, or finds more than ${rate(at(0.01))} of members at a false-positive rate of 1 %.`;
    const axis = { low: 1e-4, high: 1, log: true, ticks: log, format: rate };
    place.replaceChildren(
      el("p", { role: "status" }, said),
      chart({
        x: { ...axis, label: "false-positive rate" }, y: { ...axis, label: "true-positive rate" },
        lines: [
          { points: log.map(f => [f, f]), kind: "chance", label: "guessing" },
          { points: data.fprs.map(f => [f, alone.tprAt(f)]), kind: "dashed", label: "limit, if only ε and δ are known" },
          { points: data.fprs.map((f, i) => [f, one.tpr[i]]), kind: "a", label: `limit of ${one.name}` },
        ],
        dots: one.points.map(p => {
          const at_ = attacks.indexOf(p[0]);
          const first = one.points.find(q => q[0] === p[0]) === p;
          return { x: p[1], y: p[2], low: p[3], high: p[4], kind: kinds[at_], label: first ? `attack that sees ${p[0] === "LiRA" ? "outputs (LiRA)" : p[0]}` : null };
        }),
        said, height: 330,
      }),
      table("The most that any attack reaches", ["known", "advantage", ...shown.map(f => `TPR at FPR ${rate(f)}`)], [
        [one.name, one.advantage.toFixed(3), ...shown.map(f => rate(at(f)))],
        ["ε and δ alone", alone.advantage().toFixed(3), ...shown.map(f => rate(alone.tprAt(f)))],
        ...attacks.map(name => [`measured: ${name}, in %`, "", ...shown.map(f => {
          const p = one.points.find(q => q[0] === name && Math.abs(q[1] / f - 1) < 1e-6);
          return p ? `${share(p[2])} [${share(Math.max(p[3], 0))}, ${share(p[4])}]` : "";
        })]),
      ]));
  }
  changed();
  return el("div", {}, el("div", { class: "play-controls" }, way.field, delta.field), training, own, pair, place);
});
