// The record explorer: IN and OUT signals of a digit, LiRA's score, and the ROC of all digits.
"use strict";
play.ui.begin("records", data => {
  const { el, select, slider, choice, digit, table, chart, percent } = play.ui;
  const stats = play.stats, masks = data.member.map(row => [...row].map(bit => bit === "1"));
  const targets = { phi: data.phi.slice(data.n_shadow), member: masks.slice(data.n_shadow) };
  const everyone = targets.member.flat();
  const lossCurve = stats.roc(targets.phi.flat(), everyone);
  const place = { thumbs: el("div"), signals: el("div"), score: el("p", { role: "status" }), roc: el("div"), rates: el("div") };
  let record = null, fit, scores, curve;

  const label = select("Class", [...Array(10).keys()].map(c => [c, `digit ${c}`]), () => { thumbs(); update(); });
  const target = select("Target", targets.phi.map((_, k) => [k, `model ${k + 1}`]), update);
  const models = select("Shadow models", data.models.map(n => [n, String(n)]), refit);
  const spread = choice("Spread", [["per-example", "one for each record"], ["global", "one for all"]], "per-example", refit);
  const threshold = slider("Threshold of the score", { min: -5, max: 10, step: 0.25 }, 0, t => t.toFixed(2), update);
  models.node.value = "64";
  label.node.value = "8";

  const all = stats.fitted(data.phi.slice(0, data.n_shadow), masks.slice(0, data.n_shadow), "per-example");
  const apart = data.label.map((_, i) => (all.IN[i].mean - all.OUT[i].mean)
    / Math.sqrt((all.IN[i].variance + all.OUT[i].variance) / 2));
  function thumbs() {
    const own = data.label.map((c, i) => c === Number(label.node.value) ? i : -1).filter(i => i >= 0)
      .sort((i, j) => apart[j] - apart[i]);
    record = own[0];
    const pick = choice("Record, the most exposed first", own.map(i => [String(i), digit(data.pixels[i], `record ${i + 1}`, 34)]), String(record),
      () => { record = Number(pick.value()); update(); });
    pick.field.classList.add("play-thumbs");
    place.thumbs.replaceChildren(pick.field);
  }
  function refit() {
    const n = Number(models.node.value);
    fit = stats.fitted(data.phi.slice(0, n), masks.slice(0, n), spread.value());
    scores = targets.phi.map(row => stats.online(row, fit));
    curve = stats.roc(scores.flat(), everyone);
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
    const IN = fit.IN[record], OUT = fit.OUT[record], x = targets.phi[t][record];
    const values = data.phi.slice(0, n).map(row => row[record]);
    const low = Math.floor(Math.min(...values, x) - 1), high = Math.ceil(Math.max(...values, x) + 1);
    const bells = [bell(IN, low, high), bell(OUT, low, high)];
    const top = Math.max(...bells.flat().map(p => p[1]));
    const step = Math.max(1, Math.round((high - low) / 8)), ticks = [];
    for (let v = low; v <= high; v += step) ticks.push(v);
    const score = scores[t][record], truth = targets.member[t][record], called = score >= cut;
    place.signals.replaceChildren(chart({
      x: { low, high, ticks, label: "signal: logit-scaled confidence" },
      y: { low: -0.25 * top, high: 1.05 * top, hidden: true, ticks: [] },
      lines: [{ points: bells[0], kind: "a", label: "IN models" }, { points: bells[1], kind: "b", label: "OUT models" }],
      dots: values.map((v, s) => ({
        x: v, y: (masks[s][record] ? -0.08 : -0.18) * top, kind: masks[s][record] ? "a" : "b", size: 3 })),
      verticals: [{ x, kind: "c", label: "the target" }],
      height: 250,
      said: `Record ${record + 1}: IN models at ${IN.mean.toFixed(1)}, spread ${Math.sqrt(IN.variance).toFixed(1)}; OUT models at ${OUT.mean.toFixed(1)}, spread ${Math.sqrt(OUT.variance).toFixed(1)}; the target at ${x.toFixed(1)}.`,
    }));
    place.score.replaceChildren(
      `Record ${record + 1}, model ${t + 1}: score `, el("strong", {}, Math.abs(score) < 1e5 ? score.toFixed(2) : score.toExponential(1)),
      `, ${called ? "called a member" : "not called a member"}, which is ${called === truth ? "right" : "wrong"}.`);
    const flat = scores.flat();
    const share = side => flat.filter((s, k) => everyone[k] === side && s >= cut).length
      / everyone.filter(is => is === side).length;
    const [tpr, fpr] = [share(true), share(false)];
    const line = c => c.fpr.map((f, k) => [Math.max(f, 1e-3), c.tpr[k]]).filter(p => p[1] > 0);
    const log = [0.001, 0.01, 0.1, 1];
    place.roc.replaceChildren(chart({
      x: { low: 1e-3, high: 1, log: true, ticks: log, label: "false-positive rate" },
      y: { low: 1e-3, high: 1, log: true, ticks: log, label: "true-positive rate" },
      lines: [
        { points: log.map(f => [f, f]), kind: "chance", label: "guessing" },
        { points: line(lossCurve), kind: "b", label: "LOSS" },
        { points: line(curve), kind: "a", label: "LiRA" },
      ],
      dots: [{ x: Math.max(fpr, 1e-3), y: Math.max(tpr, 1e-3), kind: "c", label: "your threshold", size: 6 }],
      said: `ROC of ten targets: LiRA has AUC ${curve.auc.toFixed(3)}, LOSS ${lossCurve.auc.toFixed(3)}; your threshold has TPR ${percent(tpr)} at FPR ${percent(fpr)}.`,
    }));
    place.rates.replaceChildren(table(`All ${data.label.length} records in ten targets`, ["attack", "AUC", "TPR at FPR 1 %", "at your threshold"], [
      ["LiRA", curve.auc.toFixed(3), percent(curve.tprAt(0.01)), `TPR ${percent(tpr)}, FPR ${percent(fpr)}`],
      ["LOSS", lossCurve.auc.toFixed(3), percent(lossCurve.tprAt(0.01)), "has its own threshold"],
    ]));
  }
  thumbs();
  refit();
  return el("div", {},
    el("div", { class: "play-controls" }, label.field, target.field, models.field, spread.field, threshold.field),
    place.thumbs,
    el("div", { class: "play-pair" }, place.signals, place.roc), place.score, place.rates);
});
