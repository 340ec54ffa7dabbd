/* Before printing: wait for pictures, letters and formulas; make what is wider than a line smaller;
   then say what is in the file and what is wrong with it. */
async () => {
  await Promise.all([...document.images].map(image => image.complete || new Promise(done => {
    image.addEventListener("load", done);
    image.addEventListener("error", done);
  })));
  await MathJax.startup.promise;
  await document.fonts.ready;
  for (const one of document.querySelectorAll("main *")) {  // nothing scrolls on paper
    const style = getComputedStyle(one);
    if (/auto|scroll/.test(style.overflowX + style.overflowY)) {
      one.style.overflow = "visible";
      one.style.maxHeight = "none";
      one.style.height = "auto";
    }
  }
  const room = document.documentElement.clientWidth;
  const wide = "table, mjx-container[display], .framed svg";
  for (const one of document.querySelectorAll("main table"))  // a table of long texts takes the line
    if (one.offsetHeight > 50 * one.rows.length) one.style.width = "100%";
  const beyond = [...document.querySelectorAll(wide)].map(one => {
    const from = one.parentElement.getBoundingClientRect();
    const box = (one.querySelector(":scope > mjx-math") ?? one).getBoundingClientRect();
    return [one, (Math.min(from.right, room) - from.left) / box.width];
  }).filter(([, share]) => share < 1);
  for (const [one, share] of beyond) {
    const zoom = Math.max(0.3, share * 0.99);
    one.style.zoom = zoom;
    if (one.matches("table")) one.style.width = "auto";
  }
  const written = [...document.querySelectorAll(".math")];
  const tooWide = [...document.querySelectorAll("main *")].filter(one => {
    const box = one.getBoundingClientRect();
    return box.width && box.right > room + 2 && !one.closest("mjx-math, mjx-assistive-mml");
  });
  const cut = [...document.querySelectorAll("main *")].filter(one =>
    one.scrollHeight > one.clientHeight + 4 && one.clientHeight > 20 && !one.closest("mjx-container, svg") &&
    getComputedStyle(one).overflowY !== "visible");
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), unfinished = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("pre, code, script, style, .math")) continue;
    const found = node.data.match(/.{0,30}(\?\?|\{[a-z][a-z:.-]*\}`|\\\(|\\\[|\$\\).{0,30}/);
    if (found) unfinished.push(found[0]);
  }
  return {
    formulas: written.length,
    pictures: document.images.length,
    links: document.querySelectorAll("a[href^='https://inside.invalid/']").length,
    smaller: beyond.map(([, share]) => share),
    notTypeset:
      written.filter(one => !one.querySelector("mjx-container")).map(one => one.textContent),
    formulaErrors: [...document.querySelectorAll("mjx-merror")].map(one => one.textContent),
    brokenImages: [...document.images].filter(one => !one.naturalWidth).map(one => one.src),
    unfinished,
    cut: cut.slice(0, 20).map(one => `${one.closest("article")?.id}: ${one.tagName}.${one.className}`),
    tooWide: tooWide.slice(0, 20).map(one =>
      `${one.closest("article")?.id}: ${one.tagName}.${one.className} ` +
      `${one.textContent.slice(0, 60)}`),
  };
}
