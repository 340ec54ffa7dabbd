// The record explorer: IN and OUT signals of a digit, LiRA's score, and the ROC of all digits.
"use strict";
play.ui.begin("records", data => {
  const { el, select, slider, choice, digit, table, chart, percent } = play.ui;
  const stats = play.stats;
  const sets = {
    digits: known(data, { one: "Record", many: "records", start: 8,
      classOf: c => `digit ${c}`, named: i => `record ${i + 1}` }),
    cifar10: known(data.cifar10, { one: "Image", many: "images", start: 3,
      classOf: c => data.cifar10.classes[c], named: i => `image ${data.cifar10.index[i]}` }),
  };
  const place = { pick: el("div"), signals: el("div"), score: el("p", { role: "status" }), roc: el("div"), rates: el("div") };
  let set, record = null, fit, scores, curve;

  const of = choice("Data", [["digits", "digits"], ["cifar10", "CIFAR-10"]], "digits", show);
  const label = select("Class", [], () => { records(); update(); });
  const target = select("Target", [], update);
  const models = select("Shadow models", [], refit);
  const spread = choice("Spread", [["per-example", "one for each record"], ["global", "one for all"]], "per-example", refit);
  const threshold = slider("Threshold of the score", { min: -5, max: 10, step: 0.25 }, 0, t => t.toFixed(2), update);

  // What does not change while a data set is looked at.
  function known(stored, words) {
    const masks = stored.member.map(row => [...row].map(bit => bit === "1"));
    const shadow = stored.phi.slice(0, stored.n_shadow), member = masks.slice(stored.n_shadow);
    const targets = stored.phi.slice(stored.n_shadow), everyone = member.flat();
    const all = stats.fitted(shadow, masks.slice(0, stored.n_shadow), "per-example");
    const apart = stored.label.map((_, i) => (all.IN[i].mean - all.OUT[i].mean)
      / Math.sqrt((all.IN[i].variance + all.OUT[i].variance) / 2));
    return { ...stored, ...words, masks, shadow, member, targets, everyone, apart, lossCurve: stats.roc(targets.flat(), everyone) };
  }
  function fill(list, entries, chosen) {
    list.node.replaceChildren(...entries.map(([value, text]) => el("option", { value }, text)));
    list.node.value = String(chosen);
  }
  function show() {
    set = sets[of.value()];
    fill(label, [...new Set(set.label)].sort((a, b) => a - b).map(c => [c, set.classOf(c)]), set.start);
    fill(target, set.targets.map((_, k) => [k, `model ${k + 1}`]), 0);
    fill(models, set.models.map(n => [n, String(n)]), set.n_shadow);
    records();
    refit();
  }
  function records() {
    const own = set.label.map((c, i) => c === Number(label.node.value) ? i : -1).filter(i => i >= 0)
      .sort((i, j) => set.apart[j] - set.apart[i]);
    const chosen = value => { record = Number(value); update(); };
    const words = `${set.one}, the most exposed first`;
    record = own[0];
    if (set.pixels) {
      const pick = choice(words, own.map(i => [String(i), digit(set.pixels[i], set.named(i), 34)]), String(record), () => chosen(pick.value()));
      pick.field.classList.add("play-thumbs");
      place.pick.replaceChildren(pick.field);
    } else {
      const pick = select(words, own.map(i => [i, set.named(i)]), () => chosen(pick.node.value));
      place.pick.replaceChildren(pick.field);
    }
  }
  function refit() {
    const n = Number(models.node.value);
    fit = stats.fitted(set.shadow.slice(0, n), set.masks.slice(0, n), spread.value());
    scores = set.targets.map(row => stats.online(row, fit));
    curve = stats.roc(scores.flat(), set.everyone);
    update();
  }
  function bell(side, low, high) {
    const sd = Math.sqrt(side.variance), points = [];
    for (let k = 0; k <= 120; k++) {
      const x = low + (high - low) * k / 120;
      points.push([x, Math.exp(-((x - side.mean) ** 2) / (2 * side.variance)) / sd]);
    }
    return points;
  }
  function update() {
    if (!fit) return;
    const n = Number(models.node.value), t = Number(target.node.value), cut = threshold.value();
    const name = set.named(record).replace(/^./, first => first.toUpperCase());
    const IN = fit.IN[record], OUT = fit.OUT[record], x = set.targets[t][record];
    const values = set.shadow.slice(0, n).map(row => row[record]);
    const low = Math.floor(Math.min(...values, x) - 1), high = Math.ceil(Math.max(...values, x) + 1);
    const bells = [bell(IN, low, high), bell(OUT, low, high)];
    const top = Math.max(...bells.flat().map(p => p[1]));
    const step = Math.max(1, Math.round((high - low) / 8)), ticks = [];
    for (let v = low; v <= high; v += step) ticks.push(v);
    const score = scores[t][record], truth = set.member[t][record], called = score >= cut;
    place.signals.replaceChildren(chart({
      x: { low, high, ticks, label: "signal: logit-scaled confidence" },
      y: { low: -0.25 * top, high: 1.05 * top, hidden: true, ticks: [] },
      lines: [{ points: bells[0], kind: "a", label: "IN models" }, { points: bells[1], kind: "b", label: "OUT models" }],
      dots: values.map((v, s) => ({
        x: v, y: (set.masks[s][record] ? -0.08 : -0.18) * top, kind: set.masks[s][record] ? "a" : "b", size: 3 })),
      verticals: [{ x, kind: "c", label: "the target" }],
      height: 250,
      said: `${name}: IN models at ${IN.mean.toFixed(1)}, spread ${Math.sqrt(IN.variance).toFixed(1)}; OUT models at ${OUT.mean.toFixed(1)}, spread ${Math.sqrt(OUT.variance).toFixed(1)}; the target at ${x.toFixed(1)}.`,
    }));
    place.score.replaceChildren(
      `${name}, model ${t + 1}: score `, el("strong", {}, Math.abs(score) < 1e5 ? score.toFixed(2) : score.toExponential(1)),
      `, ${called ? "called a member" : "not called a member"}, which is ${called === truth ? "right" : "wrong"}.`);
    const flat = scores.flat();
    const share = side => flat.filter((s, k) => set.everyone[k] === side && s >= cut).length
      / set.everyone.filter(is => is === side).length;
    const [tpr, fpr] = [share(true), share(false)];
    const line = c => c.fpr.map((f, k) => [Math.max(f, 1e-3), c.tpr[k]]).filter(p => p[1] > 0);
    const log = [0.001, 0.01, 0.1, 1];
    place.roc.replaceChildren(chart({
      x: { low: 1e-3, high: 1, log: true, ticks: log, label: "false-positive rate" },
      y: { low: 1e-3, high: 1, log: true, ticks: log, label: "true-positive rate" },
      lines: [
        { points: log.map(f => [f, f]), kind: "chance", label: "guessing" },
        { points: line(set.lossCurve), kind: "b", label: "LOSS" },
        { points: line(curve), kind: "a", label: "LiRA" },
      ],
      dots: [{ x: Math.max(fpr, 1e-3), y: Math.max(tpr, 1e-3), kind: "c", label: "your threshold", size: 6 }],
      said: `ROC of ${set.targets.length} targets: LiRA has AUC ${curve.auc.toFixed(3)}, LOSS ${set.lossCurve.auc.toFixed(3)}; your threshold has TPR ${percent(tpr)} at FPR ${percent(fpr)}.`,
    }));
    place.rates.replaceChildren(table(`All ${set.label.length} ${set.many} in ${set.targets.length} targets`, ["attack", "AUC", "TPR at FPR 1 %", "at your threshold"], [
      ["LiRA", curve.auc.toFixed(3), percent(curve.tprAt(0.01)), `TPR ${percent(tpr)}, FPR ${percent(fpr)}`],
      ["LOSS", set.lossCurve.auc.toFixed(3), percent(set.lossCurve.tprAt(0.01)), "has its own threshold"],
    ]));
  }
  show();
  return el("div", {},
    el("div", { class: "play-controls" }, of.field, label.field, target.field, models.field, spread.field, threshold.field),
    place.pick,
    el("div", { class: "play-pair" }, place.signals, place.roc), place.score, place.rates);
});
