// Sorting, filtering and tooltips. The page shows every figure without this script.
"use strict";
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  // Sorting: a button in each sortable heading.
  for (const table of all("table.sortable")) {
    const headings = all("thead th", table);
    headings.forEach((heading, column) => {
      if (!heading.dataset.sort) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, headings, heading, column));
    });
  }

  function sort(table, headings, heading, column) {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    for (const other of headings) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const numeric = heading.dataset.sort === "number";
    const key = (row) => {
      const text = row.cells[column]?.dataset.value ?? "";
      if (!numeric) return text;
      return text === "" ? null : Number(text);
    };
    const compare = (a, b) => (numeric ? a - b : a.localeCompare(b, "en", { numeric: true }));
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => ({ row, key: key(row) }));
    rows.sort((a, b) => {
      // Rows without a figure stay at the end in either order.
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return descending ? compare(b.key, a.key) : compare(a.key, b.key);
    });
    body.append(...rows.map((one) => one.row));
  }

  // Filtering. The fragment of the address holds the state after a question mark, so that a link can carry it.
  const form = document.getElementById("filter");
  const count = document.getElementById("filter-count");
  const controls = all("select, input", form);
  const places = all("[data-workload]");
  form.hidden = false;

  function wanted() {
    return Object.fromEntries(controls.map((control) => [control.name, control.value]));
  }

  function apply() {
    const { workload = "", verdict = "", text = "" } = wanted();
    const needle = text.trim().toLowerCase();
    let shown = 0;
    let rows = 0;
    for (const place of places) {
      const data = place.dataset;
      const matches =
        (workload === "" || data.workload === workload) &&
        (verdict === "" || data.verdict === undefined || data.verdict === verdict) &&
        (needle === "" || holds(place, needle));
      place.hidden = !matches;
      if (place.tagName === "TR") {
        rows += 1;
        shown += matches ? 1 : 0;
      }
    }
    // Hide a statement without visible cases.
    for (const group of all("table.claims tbody")) {
      group.hidden = all("tr[data-workload]", group).every((row) => row.hidden);
    }
    const filtered = workload !== "" || verdict !== "" || needle !== "";
    count.textContent = filtered ? `${shown} of ${rows} rows` : "";
    if (filtered) for (const folded of all("details.folded")) folded.open = true;
  }

  // A section stays visible if anything in it matches.
  function holds(place, needle) {
    const own = (place.dataset.name ?? "").toLowerCase();
    if (own.includes(needle)) return true;
    return place.tagName !== "TR" && all("[data-name]", place).some((one) => one.dataset.name.toLowerCase().includes(needle));
  }

  function fragment(id) {
    const state = new URLSearchParams(Object.entries(wanted()).filter(([, value]) => value !== ""));
    const query = state.toString();
    return "#" + id + (query === "" ? "" : "?" + query);
  }

  function split() {
    const [id, query = ""] = location.hash.slice(1).split("?", 2);
    return { id, state: new URLSearchParams(query) };
  }

  function restore() {
    const { id, state } = split();
    for (const control of controls) {
      const value = state.get(control.name) ?? "";
      const known = control.tagName !== "SELECT" || Array.from(control.options).some((option) => option.value === value);
      control.value = known ? value : "";
    }
    apply();
    if (id !== "") document.getElementById(id)?.scrollIntoView();
  }

  function keep() {
    apply();
    history.replaceState(null, "", fragment(split().id));
  }

  form.addEventListener("input", keep);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const id = link.getAttribute("href").slice(1);
    const target = document.getElementById(id);
    if (!target) return;
    event.preventDefault();
    history.pushState(null, "", fragment(id));
    target.scrollIntoView();
    // Move the focus as a browser does for links, so that the keyboard continues there.
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
  });
  addEventListener("hashchange", restore);
  addEventListener("popstate", restore);
  restore();

  // Values under the pointer, from the position of a dot on its axis.
  const tip = document.getElementById("tip");
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  function time(ns) {
    const [size, unit] = units.find(([size]) => ns >= size) ?? [1, "ns"];
    return `${(ns / size).toPrecision(3)} ${unit}`;
  }
  for (const figure of all("figure[data-plot]")) {
    const { from, to, first, last, scale } = figure.dataset;
    const value = (x) => {
      const share = (x - first) / (last - first);
      return scale === "log" ? from * Math.pow(to / from, share) : Number(from) + share * (to - from);
    };
    figure.addEventListener("pointermove", (event) => {
      // The bar of the level may cover a dot.
      const dot = document.elementsFromPoint(event.clientX, event.clientY).find((one) => one.tagName === "circle");
      if (!dot) {
        tip.hidden = true;
        return;
      }
      tip.textContent = "about " + time(value(Number(dot.getAttribute("cx"))));
      tip.hidden = false;
      const box = tip.getBoundingClientRect();
      // The policy allows scripts to set styles of an element.
      tip.style.left = Math.min(event.clientX + 12, document.documentElement.clientWidth - box.width - 4) + "px";
      tip.style.top = Math.max(event.clientY - box.height - 8, 4) + "px";
    });
    figure.addEventListener("pointerleave", () => {
      tip.hidden = true;
    });
  }
})();
