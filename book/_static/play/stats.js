// The arithmetic of the playable pages, as mia_lib has it: tests/book/test_browser_play.py compares both.
"use strict";
window.play = window.play || {};
play.stats = (() => {
  const LANCZOS = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
  ];
  const TINY = 1e-300, FLOOR = 1e-12, LEAST = 1e-60; // the last two as in mia_lib.lira.choices

  function logGamma(x) {
    if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
    const t = x + 6.5;
    const sum = LANCZOS.reduce((total, c, k) => (k ? total + c / (x - 1 + k) : c), 0);
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
  }

  // A continued fraction b0 + a1 / (b1 + a2 / (b2 + ...)) by Lentz's method.
  function fraction(b0, term) {
    let f = b0 || TINY, c = f, d = 0;
    for (let k = 1; k < 100000; k++) {
      const [a, b] = term(k);
      d = 1 / (b + a * d || TINY);
      c = b + a / c || TINY;
      f *= c * d;
      if (Math.abs(c * d - 1) < 1e-15) break;
    }
    return f;
  }

  // The regularised incomplete beta function: Pr(Bin(n, x) >= k) for a = k, b = n - k + 1.
  function betaInc(a, b, x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - betaInc(b, a, 1 - x);
    const front = Math.exp(
      logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)
    );
    const rest = fraction(1, k => {
      const m = k >> 1;
      const up = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      const down = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
      return [k % 2 ? down : up, 1];
    });
    return front / (a * rest);
  }

  // The argument at which an increasing function reaches a value, halving the bracket.
  function solve(rising, value, low, high) {
    for (let k = 0; k < 200; k++) {
      const middle = (low + high) / 2;
      if (rising(middle) < value) low = middle; else high = middle;
    }
    return (low + high) / 2;
  }

  const clopperPearsonLower = (k, n, delta = 0.05) =>
    k === 0 ? 0 : solve(p => betaInc(k, n - k + 1, p), delta, 0, 1);
  const clopperPearsonUpper = (k, n, delta = 0.05) => 1 - clopperPearsonLower(n - k, n, delta);
  const clopperPearson = (k, n, delta = 0.05) =>
    [clopperPearsonLower(k, n, delta / 2), clopperPearsonUpper(k, n, delta / 2)];

  // log Phi(z) and Phi(z): a continued fraction in the tails, a series between them.
  function logNdtr(z) {
    if (z > 0) return Math.log1p(-Math.exp(logNdtr(-z)));
    const density = -z * z / 2 - 0.5 * Math.log(2 * Math.PI);
    if (z < -2) return density - Math.log(fraction(-z, k => [k, -z]));
    let term = -z, sum = term;
    for (let k = 1; term > 1e-18 && k < 200; k++) sum += term *= z * z / (2 * k + 1);
    return Math.log(0.5 - Math.exp(density) * sum);
  }
  const ndtr = z => z > 0 ? 1 - Math.exp(logNdtr(-z)) : Math.exp(logNdtr(z));
  const ndtri = p =>
    p > 0.5 ? -solve(z => ndtr(z), 1 - p, -40, 0) : solve(z => ndtr(z), p, -40, 0);

  // Guarantees: no more than one pair, and a Gaussian mechanism.
  function approximate(epsilon, delta) {
    const share = Math.exp(-epsilon);
    return {
      tprAt: fpr => Math.min(fpr / share + delta, 1 - share * Math.max(1 - delta - fpr, 0)),
      advantage: () => delta + (1 - delta) * Math.tanh(epsilon / 2),
    };
  }
  function gaussian(mu) {
    const at = epsilon => {
      const centre = epsilon / mu;
      const second = Math.exp(Math.min(epsilon + logNdtr(-centre - mu / 2), 0));
      return Math.max(ndtr(mu / 2 - centre) - second, 0);
    };
    return {
      mu,
      delta: at,
      tprAt: fpr => fpr <= 0 ? 0 : fpr >= 1 ? 1 : ndtr(ndtri(fpr) + mu),
      advantage: () => at(0),
    };
  }
  // The Gaussian mechanism that has this pair.
  const gaussianOf = (epsilon, delta) =>
    gaussian(solve(mu => gaussian(mu).delta(epsilon), delta, 1e-6, 100));

  // How many records a claim takes (mia_lib.metrics.resolution).
  function nonmembersNeeded(fpr, delta = 0.05, purpose = "certify") {
    const level = purpose === "certify" ? delta : delta / 4;
    return Math.max(1, Math.ceil(Math.log(level) / Math.log1p(-fpr)));
  }
  function halfEven(x) {
    const whole = Math.floor(x), rest = x - whole;
    return rest > 0.5 || (rest === 0.5 && whole % 2) ? whole + 1 : whole;
  }
  function membersNeeded(tpr, fpr, delta = 0.05, most = 200000) {
    for (let n = 1; n <= most; n++) {
      const k = halfEven(tpr * n);
      // the lower limit lies above fpr where k or more would be that rare at fpr
      if (k > 0 && betaInc(k, n - k + 1, fpr) < delta / 4) return n;
    }
    return null;
  }

  // Mean and squares about it of the values that a mask picks.
  function moments(values, picked) {
    let n = 0, total = 0, squares = 0;
    values.forEach((value, k) => { if (picked[k]) { n++; total += value; } });
    const mean = total / n;
    values.forEach((value, k) => { if (picked[k]) squares += (value - mean) ** 2; });
    return { n, mean, squares };
  }

  // LiRA's two Gaussians for every record, {IN, OUT} of {mean, variance}; shadow[s][i], member[s][i].
  function fitted(shadow, member, variance) {
    const n = shadow[0].length, sides = { IN: [], OUT: [] };
    for (let i = 0; i < n; i++) {
      const values = shadow.map(row => row[i]);
      sides.IN.push(moments(values, member.map(row => row[i])));
      sides.OUT.push(moments(values, member.map(row => !row[i])));
    }
    for (const side of Object.values(sides)) {
      const pooled = side.reduce((total, one) => total + one.squares, 0)
        / side.reduce((total, one) => total + one.n, 0);
      for (const one of side)
        one.variance = variance === "global" ? Math.max(pooled, LEAST)
          : Math.max(one.squares / one.n, FLOOR * pooled, LEAST);
    }
    return sides;
  }
  function likelihoodRatio(x, into, out) {
    const deviance = side => (x - side.mean) ** 2 / side.variance + Math.log(side.variance);
    return (deviance(out) - deviance(into)) / 2;
  }
  const online = (target, fit) =>
    target.map((x, i) => likelihoodRatio(x, fit.IN[i], fit.OUT[i]));

  // A ROC: called a member where score >= threshold.
  function roc(scores, member) {
    const order = scores.map((_, k) => k).sort((a, b) => scores[b] - scores[a]);
    const positives = member.filter(Boolean).length, negatives = member.length - positives;
    const curve = { fpr: [0], tpr: [0], thresholds: [Infinity], auc: 0 };
    let tp = 0, fp = 0;
    order.forEach((k, place) => {
      if (member[k]) tp++; else fp++;
      if (place + 1 < order.length && scores[order[place + 1]] === scores[k]) return;
      const last = curve.fpr.length - 1;
      curve.auc += (fp / negatives - curve.fpr[last]) * (tp / positives + curve.tpr[last]) / 2;
      curve.fpr.push(fp / negatives);
      curve.tpr.push(tp / positives);
      curve.thresholds.push(scores[k]);
    });
    curve.tprAt = fpr => Math.max(...curve.tpr.filter((_, k) => curve.fpr[k] <= fpr));
    return curve;
  }

  return {
    logGamma, betaInc, clopperPearson, clopperPearsonLower, ndtr, logNdtr, ndtri, approximate,
    gaussian, gaussianOf, nonmembersNeeded, membersNeeded, fitted, online, roc,
  };
})();
