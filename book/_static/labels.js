/* The theme's toggles in the tree of pages are pictures without a text: name each after the page
   whose sections it opens, so that a screen reader can say what it does. */
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("details > summary")) {
    if (toggle.textContent.trim() || toggle.hasAttribute("aria-label")) continue;
    const page = toggle.closest("li")?.querySelector("a");
    toggle.setAttribute("aria-label", `Sections of ${page ? page.textContent.trim() : "this page"}`);
  }
});
