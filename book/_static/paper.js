/* A page is printed in the light and with everything unfolded, whatever its reader has chosen; afterwards it is as it
   was. Solutions are unfolded by what folds them. */
(() => {
  const root = document.documentElement;
  let theme, folded = [];
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    folded = [...document.querySelectorAll("article details:not([open])")];
    folded.forEach(one => { one.open = true; });
  });
  addEventListener("afterprint", () => {
    root.dataset.theme = theme;
    folded.forEach(one => { one.open = false; });
  });
})();
