// The story in pages of rows: a page far from the screen is an empty box of the height it had. So a recording
// of any length costs what is on the screen.
const PER_PAGE = 60;
const GUESS = 64;

const makePages = (home, rows, show) => {
  const pages = [];
  const filled = new Set();
  const fill = (page) => {
    if (filled.has(page)) return;
    filled.add(page);
    page.box.style.minHeight = "";
    page.box.replaceChildren(...rows.slice(page.first, page.last).map(show));
  };
  const empty = (page) => {
    if (!filled.delete(page)) return;
    page.box.style.minHeight = `${page.box.offsetHeight}px`;
    page.box.replaceChildren();
  };
  const watch = new IntersectionObserver(
    (seen) => seen.forEach((one) => (one.isIntersecting ? fill : empty)(pages[Number(one.target.dataset.page)])),
    { rootMargin: "1200px 0px" },
  );
  for (let first = 0; first < rows.length; first += PER_PAGE) {
    const last = Math.min(first + PER_PAGE, rows.length);
    const box = make("div", { "data-page": pages.length });
    box.style.minHeight = `${(last - first) * GUESS}px`;
    pages.push({ box, first, last });
    home.append(box);
    watch.observe(box);
  }
  return {
    go(at) {
      const page = pages[Math.floor(at / PER_PAGE)];
      if (!page) return;
      fill(page);
      const row = page.box.children[at - page.first];
      document.querySelectorAll(".row.hit").forEach((one) => one.classList.remove("hit"));
      row.classList.add("hit");
      row.scrollIntoView({ block: "center" });
    },
  };
};
