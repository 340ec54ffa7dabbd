// How many? Records and models that a claim takes.
"use strict";
play.ui.begin("how_many", data => {
  const { el, select, slider, choice, table, chart, rate } = play.ui, stats = play.stats;
  const whole = n => n.toLocaleString("en"), result = el("div");
  const fprs = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001, 0.00001];
  const times = [1.5, 2, 3, 5, 10], levels = [0.1, 0.05, 0.01], advantages = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3];
  const shares = [0.5, 0.8, 0.9, 0.95];
  const kinds = { nonmembers: "non-members", members: "members", shadow: "shadow models", release: "published records" };
  const what = choice("How many", Object.entries(kinds), "nonmembers", changed);
  const fpr = slider("False-positive rate", fprs, 3, rate, update);
  const level = select("Certainty", levels.map(d => [d, `${100 * (1 - d)} %`]), update);
  const ratio = slider("TPR, in multiples of it", times, 1, t => `${t} times, ${rate(Math.min(t * fpr.value(), 1))}`, update);
  const ladder = select("Data", Object.keys(data.shadow).map(name => [name, name]), update);
  const share = slider("Wanted, of what the most models reach", shares, 2, s => `${100 * s} %`, update);
  const release = select("Generator", Object.keys(data.release).map(name => [name, name]), update);
  const wanted = slider("Tolerated advantage", advantages, 1, a => a.toFixed(2), update);
  level.node.value = "0.05";
  const fields = {
    nonmembers: [fpr, level], members: [fpr, ratio, level], shadow: [ladder, share], release: [release, wanted],
  };
  const controls = el("div", { class: "play-controls" });

  function changed() {
    controls.replaceChildren(...fields[what.value()].map(one => one.field));
    update();
  }
  const powers = (low, high) => {
    const ticks = [];
    for (let k = Math.ceil(Math.log10(low) - 1e-9); 10 ** k <= high * 1.001; k++) ticks.push(10 ** k);
    return ticks;
  };
  const say = (words, ...rest) => result.replaceChildren(el("p", { role: "status" }, words), ...rest);

  const answer = {
    nonmembers() {
      const delta = Number(level.node.value), purposes = ["certify", "interval"];
      const [certify, interval] = purposes.map(p => stats.nonmembersNeeded(fpr.value(), delta, p));
      const words = `To show with ${100 * (1 - delta)} % that an attack's false-positive rate is at most ${rate(fpr.value())}, ${whole(certify)} non-members must be tried and none accused. For an interval of the TPR at that rate whose lower end can lie above 0 it takes ${whole(interval)}.`;
      const axis = { log: true, low: 1e-5, high: 0.1 };
      say(words, chart({
        x: { ...axis, ticks: powers(1e-5, 0.1), label: "false-positive rate", format: rate },
        y: { log: true, low: 10, high: 1e6, ticks: powers(10, 1e6), label: "non-members", format: whole },
        lines: purposes.map((p, k) => ({
          points: fprs.map(f => [f, stats.nonmembersNeeded(f, delta, p)]), kind: "ab"[k],
          label: ["none accused certifies the rate", "the TPR can have a lower limit"][k] })),
        dots: [certify, interval].map(n => ({ x: fpr.value(), y: n, kind: "c", size: 5 })), said: words,
      }));
    },
    members() {
      const delta = Number(level.node.value), at = fpr.value(), tpr = Math.min(ratio.value() * at, 1);
      const n = stats.membersNeeded(tpr, at, delta);
      const words = n ? `An attack that finds ${rate(tpr)} of the members at a false-positive rate of ${rate(at)} is seen to beat guessing from about ${whole(n)} members on.`
        : `An attack that finds ${rate(tpr)} at a false-positive rate of ${rate(at)} takes more than 200,000 members.`;
      const most = 10 * (n || 200000), points = [], top = Math.min(1, 6 * tpr);
      for (let k = 0; k <= 24; k++) points.push(Math.max(1, Math.round(most ** (k / 24))));
      const limits = points.map(m => {
        const k = Math.round(tpr * m);
        return [m, stats.clopperPearsonLower(k, m, delta / 4), 1 - stats.clopperPearsonLower(m - k, m, delta / 4)];
      });
      say(words, chart({
        x: { log: true, low: 1, high: most, ticks: powers(1, most), label: "members", format: whole },
        y: { low: 0, high: top, ticks: [0, 1, 2, 3, 4].map(k => k * top / 4), label: "TPR and its limits", format: rate },
        lines: [
          { points: limits.map(l => [l[0], at]), kind: "chance", label: "guessing" },
          { points: limits.map(l => [l[0], l[1]]), kind: "a", label: "lower limit" },
          { points: limits.map(l => [l[0], l[2]]), kind: "b", label: "upper limit" },
        ],
        verticals: n ? [{ x: n, kind: "c", label: "enough" }] : [], said: words,
      }));
    },
    shadow() {
      const ladders = data.shadow[ladder.node.value], names = Object.keys(ladders);
      const enough = names.map(name => {
        const rows = ladders[name], full = rows[rows.length - 1][1];
        return rows.find(row => row[1] >= share.value() * full);
      });
      const words = `On ${ladder.node.value}, ${100 * share.value()} % of the TPR of 256 models are reached by ${names.map((name, k) => `${enough[k][0]} models with ${name}`).join(", ")}.`;
      const all = names.flatMap(name => ladders[name]), high = Math.max(...all.map(row => row[3])) * 1.05;
      say(words, chart({
        x: { log: true, low: 8, high: 256, ticks: [8, 16, 32, 64, 128, 256], label: "shadow models" },
        y: { low: 0, high, ticks: [0, high / 4, high / 2, 3 * high / 4].map(t => +t.toPrecision(1)), label: "TPR at FPR 0.1 %", format: rate },
        lines: names.map((name, k) => ({ points: ladders[name].map(row => [row[0], row[1]]), kind: "abcd"[k], label: name })),
        dots: names.flatMap((name, k) => ladders[name].map(row => ({ x: row[0], y: row[1], low: row[2], high: row[3], kind: "abcd"[k], size: 3 }))),
        said: words,
      }), table(`${ladder.node.value}: TPR at a false-positive rate of 0.1 %`, ["attack", "models for that share", "its TPR", "TPR with 256"],
        names.map((name, k) => [name, String(enough[k][0]), rate(enough[k][1]), rate(ladders[name][ladders[name].length - 1][1])])));
    },
    release() {
      const rows = data.release[release.node.value], limit = wanted.value();
      const over = rows.findIndex(row => row[3] > limit);
      const last = over < 0 ? rows[rows.length - 1] : rows[over - 1];
      const counted = row => row[0] === 1 ? "one published record" : `${whole(row[0])} published records`;
      const words = last ? `${release.node.value}: with up to ${counted(last)} the upper limit of the mean advantage, ${last[3].toFixed(3)}, stays at or below ${limit.toFixed(2)}.`
        : `${release.node.value}: already ${counted(rows[0])} may give an advantage above ${limit.toFixed(2)}, the upper limit being ${rows[0][3].toFixed(3)}.`;
      say(words, chart({
        x: { log: true, low: 1, high: 10000, ticks: powers(1, 10000), label: "published records", format: whole },
        y: { low: -0.05, high: 0.4, ticks: [0, 0.1, 0.2, 0.3, 0.4], label: "advantage", format: t => t.toFixed(1) },
        lines: [
          { points: [[1, limit], [10000, limit]], kind: "dashed", label: "tolerated" },
          { points: rows.map(row => [row[0], row[1]]), kind: "a", label: "mean over records, with interval" },
        ],
        dots: rows.map(row => ({ x: row[0], y: row[1], low: row[2], high: row[3], kind: "a" })), said: words,
      }));
    },
  };
  function update() { answer[what.value()](); }
  changed();
  return el("div", {}, what.field, controls, result);
});
