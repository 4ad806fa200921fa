// What the theme lacks for keyboards and screen readers: names of landmarks, and focus in what scrolls.
const complete = () => {
  document.querySelector("nav.md-path")?.setAttribute("aria-label", "Breadcrumbs");
  document.querySelectorAll("nav.md-code__nav").forEach((nav, i) => nav.setAttribute("aria-label", `Code ${i + 1}`));
  document.querySelectorAll(".md-typeset__scrollwrap, pre > code").forEach((each) => (each.tabIndex = 0));
};
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
complete();
