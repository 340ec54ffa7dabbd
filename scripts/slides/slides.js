// Turn the slides by keyboard, buttons or address, and make each fit its frame.
(() => {
  const root = document.documentElement;
  const slides = [...document.querySelectorAll(".slide")];
  const largest = 1.25, smallest = 0.6; // of the size of the text
  root.classList.add("js");

  const place = () => Math.max(slides.findIndex((one) => `#${one.id}` === location.hash), 0);
  const show = () => {
    const now = place();
    slides.forEach((one, k) => {
      one.classList.toggle("now", k === now);
      one.setAttribute("aria-hidden", k !== now);
    });
    document.getElementById("place").textContent = `${now + 1} / ${slides.length}`;
  };
  const go = (to) => {
    const k = Math.min(Math.max(to, 0), slides.length - 1);
    history.replaceState(null, "", `#${slides[k].id}`);
    show();
  };
  const keys = {
    ArrowRight: () => go(place() + 1), PageDown: () => go(place() + 1), " ": () => go(place() + 1),
    ArrowLeft: () => go(place() - 1), PageUp: () => go(place() - 1),
    Home: () => go(0), End: () => go(slides.length - 1),
    n: () => root.classList.toggle("show-notes"),
  };
  addEventListener("keydown", (event) => {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!keys[key] || event.ctrlKey || event.altKey || event.metaKey) return;
    if (key === " " && event.target.tagName === "BUTTON") return; // a button is pressed by it
    event.preventDefault();
    keys[key]();
  });
  document.getElementById("back").addEventListener("click", () => go(place() - 1));
  document.getElementById("on").addEventListener("click", () => go(place() + 1));
  addEventListener("hashchange", show);

  const low = (one) => one.offsetTop + one.offsetHeight;
  // A picture takes what the text leaves; it must keep half of the frame. A table and
  // what is said of it keep off the margins.
  const full = (slide) => {
    const body = slide.querySelector(".body");
    const picture = slide.querySelector(".picture");
    const grid = slide.querySelector(".grid");
    return body.scrollHeight > body.clientHeight + 1 || body.scrollWidth > body.clientWidth + 1
      || (grid && grid.scrollWidth > grid.clientWidth)
      || (grid && low(body.lastElementChild) > body.clientHeight - parseFloat(getComputedStyle(body).paddingBottom))
      || (picture && picture.clientHeight < 0.5 * body.clientHeight);
  };
  // A displayed formula that is wider than its slide shrinks by itself.
  const narrow = (formula) => {
    formula.dataset.size ??= formula.style.fontSize || "100%";
    formula.style.fontSize = formula.dataset.size;
    const share = formula.clientWidth / formula.firstElementChild.getBoundingClientRect().width;
    const size = parseFloat(formula.dataset.size) * Math.max(0.98 * share, 0.4);
    if (share < 1) formula.style.fontSize = `${size}%`;
  };
  const fit = () => {
    for (const slide of slides) {
      slide.style.setProperty("--fit", 1);
      slide.querySelectorAll("mjx-container[display]").forEach(narrow);
      let size = slide.querySelector(".picture") ? 1 : largest;
      slide.style.setProperty("--fit", size);
      while (full(slide) && size > smallest) {
        size -= 0.05;
        slide.style.setProperty("--fit", size);
      }
    }
    root.dataset.ready = "yes";
  };
  show();
  addEventListener("load", async () => {
    if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
    await document.fonts.ready;
    fit();
    addEventListener("resize", fit);
  });
})();
