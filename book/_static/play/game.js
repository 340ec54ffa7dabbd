// Play the game: twenty records of a model, member or not, beside LOSS and LiRA.
"use strict";
play.advantage = (right, n) => {
  // 2 Pr(right) - 1, with the Clopper-Pearson interval of the share of right answers
  const ends = play.stats.clopperPearson(right, n).map(share => 2 * share - 1);
  return { value: 2 * right / n - 1, low: ends[0], high: ends[1] };
};
play.ui.begin("game", data => {
  const { el, draw, choice, digit, table, chart } = play.ui;
  const rounds = data.phi.length / data.round, players = ["you", "LOSS", "LiRA"];
  const member = [...data.member].map(bit => bit === "1");
  const answers = {
    you: member.map(() => null),
    LOSS: data.phi.map(phi => phi >= data.threshold),
    LiRA: data.lira.map(score => score > 0),
  };
  let round = 0, asked = [];
  const title = el("h2", { tabindex: -1 }), cards = el("ol", { class: "play-cards" });
  const status = el("p", { role: "status" }), board = el("div");
  const reveal = el("button", { type: "button", onclick: show }, "Show who was a member");
  const next = el("button", { type: "button", hidden: true, onclick: forward }, "Next twenty");
  const word = is => is ? "member" : "not a member";
  const small = share => play.ui.rate(+share.toPrecision(2));

  function card(k) {
    const doubt = 1 / (1 + Math.exp(data.phi[k]));
    const ask = choice(`Record ${k - round * data.round + 1}`,
      [["1", "member"], ["0", "not"]], null, () => { answers.you[k] = ask.value() === "1"; });
    asked.push(ask);
    return el("li", { class: "play-card" },
      digit(data.pixels[k], `a handwritten ${data.label[k]}`),
      el("div", {},
        el("div", {}, `${doubt > 0.5 ? "takes it for " + data.second[k] + ", gives " : "gives "}`,
          el("strong", {}, `${data.label[k]}: ${doubt < 0.005 ? "all but " + small(doubt) : small(1 - doubt)}`)),
        ask.field, el("div", { class: "play-truth" })));
  }
  function begin() {
    asked = [];
    title.textContent = `Round ${round + 1} of ${rounds}`;
    const first = round * data.round;
    cards.replaceChildren(...Array.from({ length: data.round }, (_, k) => card(first + k)));
    reveal.hidden = false;
    next.hidden = true;
    status.textContent = "Answer all twenty, then look.";
  }
  const right = (name, from, to) =>
    member.slice(from, to).filter((is, k) => answers[name][from + k] === is).length;
  const shown = a => `${a.value.toFixed(2)} [${a.low.toFixed(2)}, ${a.high.toFixed(2)}]`;

  function show() {
    const first = round * data.round, last = first + data.round;
    const open = answers.you.slice(first, last).filter(answer => answer === null).length;
    if (open) {
      status.textContent = `${open} of twenty have no answer yet.`;
      return;
    }
    [...cards.children].forEach((one, k) => {
      const i = first + k, mark = name => answers[name][i] === member[i] ? "right" : "wrong";
      one.classList.add(mark("you") === "right" ? "play-right" : "play-wrong");
      one.querySelector(".play-truth").append(
        el("strong", {}, word(member[i])), el("br"),
        players.map(name => `${name} ${mark(name)}`).join(", "));
      asked[k].inputs.forEach(input => { input.disabled = true; });
    });
    const all = players.map(name => play.advantage(right(name, 0, last), last));
    const rows = players.map((name, k) => [
      name, `${right(name, first, last)} of ${data.round}`, `${right(name, 0, last)} of ${last}`,
      shown(all[k]),
    ]);
    const said = `Advantage after ${last} records: `
      + players.map((name, k) => `${name} ${shown(all[k])}`).join(", ");
    board.replaceChildren(
      table(`After ${last} records; advantage with its 95 % interval`,
        ["player", "right this round", "right in all", "advantage"], rows),
      chart({
        x: { low: 0.5, high: 3.5, ticks: [1, 2, 3], label: "", format: k => players[k - 1] },
        y: { low: -1, high: 1, ticks: [-1, -0.5, 0, 0.5, 1], label: "advantage" },
        lines: [{ points: [[0.5, 0], [3.5, 0]], kind: "chance", label: "guessing" }],
        dots: all.map((a, k) => ({ x: k + 1, y: a.value, low: a.low, high: a.high, kind: "abc"[k] })),
        said, height: 230,
      }));
    status.textContent = said;
    reveal.hidden = true;
    next.hidden = round + 1 === rounds;
  }
  function forward() {
    round++;
    begin();
    title.focus();
  }
  begin();
  return el("div", {}, title, cards, el("p", {}, reveal, " ", next), status, board);
});
