// What the checks ask of a page. This is evaluated in a world of its own beside the page: it sees the document, and not
// the names of the page's script. Checks return findings: sentences on what is wrong, none where all is well.
//
// Nothing here uses a timer, because a page whose scripts are switched off has none; frames it has.

globalThis.probe = (() => {
    const FIELDS = ["workload", "verdict", "text"];
    const MOST_EXAMPLES = 3;

    // The next picture has been painted.
    const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));

    // Waits until something holds, for as long as the tests have patience; returns whether it does.
    async function until(holds) {
        const end = performance.now() + probe.patience;
        while (!holds()) {
            if (performance.now() > end) {
                return false;
            }
            await painted();
        }
        return true;
    }

    // Waits until a check finds nothing, and returns what it finds after all.
    async function settled(check) {
        await until(() => check().length === 0);
        return check();
    }

    const all = (selector, root = document) => [...root.querySelectorAll(selector)];

    // An element in words.
    function name(element) {
        const id = element.id ? `#${element.id}` : "";
        const classes = [...element.classList].map((word) => `.${word}`).join("");
        const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
        return `<${element.localName}${id}${classes}>${text ? ` “${text}”` : ""}`;
    }

    // One sentence for many elements, or none for none.
    function about(elements, says) {
        if (elements.length === 0) {
            return [];
        }
        const more = elements.length > MOST_EXAMPLES ? `, and ${elements.length - MOST_EXAMPLES} more` : "";
        return [`${says}: ${elements.slice(0, MOST_EXAMPLES).map(name).join(", ")}${more}`];
    }

    const visible = (element) => element.checkVisibility({ visibilityProperty: true });

    // Scrolls to an element without the way there, and returns the center of its first line in the window.
    function bring(element) {
        element.scrollIntoView({ behavior: "instant", block: "center", inline: "center" });
        const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
        return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    }

    // ---- In every view

    // Nothing makes the page wider than the window. The scroll bar takes a part of it, so the room is what is left.
    function unfit() {
        const root = document.scrollingElement;
        const room = root.clientWidth;
        if (root.scrollWidth <= room) {
            return [];
        }
        const scrolls = (element) => /auto|scroll|hidden|clip/.test(getComputedStyle(element).overflowX);
        function sticksOut(element) {
            if (element.getBoundingClientRect().right <= room) {
                return false;
            }
            for (let outer = element.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
                if (scrolls(outer)) {
                    return false;
                }
            }
            return true;
        }
        const wide = all("body *").filter(sticksOut);
        const innermost = wide.filter((element) => !wide.some((other) => other !== element && element.contains(other)));
        const says = `the page is ${root.scrollWidth} px wide in a window with room for ${room} px`;
        return wide.length ? about(innermost, says) : [says];
    }

    // The element that a fragment leads to; what stands behind a question mark is the state of the filter.
    function targetOf(fragment) {
        const id = decodeURIComponent(fragment.replace(/^#/, "").split("?")[0]);
        if (id === "" || id === "top") {
            return document.documentElement;
        }
        return document.getElementById(id) ?? document.getElementsByName(id)[0] ?? null;
    }

    function deadLinks() {
        const dead = all('a[href^="#"]').filter((link) => !targetOf(link.getAttribute("href")));
        const names = new Set(dead.map((link) => link.getAttribute("href")));
        return about(dead, `links to ${[...names].join(", ")} lead nowhere`);
    }

    function doubleIds() {
        const seen = new Set();
        const again = all("[id]").filter((element) => seen.has(element.id) || !seen.add(element.id));
        return about(again, "ids are there twice");
    }

    // Names of something outside the page. Most would be asked for at once, but a hint to a browser leaves no trace.
    function outside() {
        const inside = (value) => /^\s*(#|data:|$)/.test(value);
        const attributes = ["src", "srcset", "poster", "data", "background", "manifest"];
        const named = attributes.flatMap((attribute) => all(`[${attribute}]`).map((element) => [element, attribute]));
        named.push(...all("link, image, use").map((element) => [element, "href"]));
        const out = named.filter(([element, attribute]) => !inside(element.getAttribute(attribute) ?? ""));
        return about(out.map(([element]) => element), "names something outside the page");
    }

    // Script-only elements exist only with the script.
    function partsOfTheScript(script) {
        const form = document.querySelector("form#filter");
        const findings = [];
        if (form && visible(form) !== script) {
            findings.push(script ? "the script does not show the filter" : "the filter is there without its script");
        }
        if (!script) {
            findings.push(...about(all("th[data-sort] button").filter(visible), "a button without its script"));
        }
        return findings;
    }

    function colors() {
        const { color, backgroundColor } = getComputedStyle(document.body);
        return `${color} on ${backgroundColor}`;
    }

    // ---- The filter

    const control = (field) => document.querySelector(`form#filter [name="${field}"]`);
    const fields = () => FIELDS.filter(control);
    const filtered = () => all("[data-workload]");

    // A page that lists other pages has only a text to look for.
    function filterParts(whole) {
        const choices = whole ? ["select[name=workload]", "select[name=verdict]"] : [];
        const wanted = [...choices, "input[type=search][name=text]", "output#filter-count"];
        const missing = wanted.filter((selector) => !document.querySelector(`form#filter ${selector}`));
        const findings = missing.map((selector) => `the filter has no ${selector}`);
        if (filtered().length === 0) {
            findings.push("there is no element with data-workload");
        }
        return findings;
    }

    // Whether an element itself is asked for; undefined where it does not say what would decide it.
    function asked(element, want) {
        const { workload, verdict, name } = element.dataset;
        if (want.workload && workload !== want.workload) {
            return false;
        }
        if (want.verdict && verdict !== undefined && verdict !== want.verdict) {
            return false;
        }
        if (want.text && name !== undefined) {
            const text = want.text.toLowerCase();
            if (!name.toLowerCase().includes(text)) {
                const elsewhere = `${workload} ${element.textContent}`.toLowerCase().includes(text);
                return elsewhere ? undefined : false;
            }
        }
        return (want.verdict && verdict === undefined) || (want.text && name === undefined) ? undefined : true;
    }

    // Whether an element is to be shown, and undefined where it may be: what is asked for needs what it lies in.
    function expected(element, want) {
        const itself = asked(element, want);
        const within = () => all("[data-workload]", element).some((inner) => asked(inner, want) !== false);
        return itself === false && within() ? undefined : itself;
    }

    // The fragment that says so.
    const fragment = (want, anchor) => `#${anchor}?${new URLSearchParams(want)}`;

    const asWords = (want) => new URLSearchParams(want).toString() || "nothing";

    // The fragment is the anchor and what the filter is set to, without what it is not set to.
    function fragmentFindings(want, anchor) {
        const [before, state] = location.hash.replace(/^#/, "").split("?");
        const found = Object.fromEntries(new URLSearchParams(state ?? ""));
        const same = fields().every((field) => (found[field] ?? "") === (want[field] ?? ""));
        const tidy = state !== "" && Object.values(found).every((value) => value !== "");
        if (same && tidy && Object.keys(found).every((field) => FIELDS.includes(field)) && before === anchor) {
            return [];
        }
        return [`with a filter for ${asWords(want)} at “${anchor}” the fragment is “${location.hash}”`];
    }

    function filterFindings(want, anchor) {
        const what = `with a filter for ${asWords(want)}`;
        const set = fields().filter((field) => control(field).value !== (want[field] ?? ""));
        const elements = filtered();
        const shown = (element) => element.closest("[hidden]") === null;
        const left = elements.filter((element) => expected(element, want) === false && shown(element));
        const lost = elements.filter((element) => expected(element, want) === true && !shown(element));
        const painted = elements.filter((element) => element.hidden && visible(element));
        const uncounted = Object.keys(want).length > 0 && !countText();
        return [
            ...set.map((field) => `${what} the field ${field} is “${control(field).value}”`),
            ...about(left, `${what} this is still there`),
            ...about(lost, `${what} this is not there`),
            ...about(painted, `${what} this is hidden and still visible`),
            ...(uncounted ? [`${what} nothing is counted`] : []),
            ...fragmentFindings(want, anchor),
        ];
    }

    // Sets the fields as a user would, one after the other.
    function choose(want) {
        for (const field of fields().map(control)) {
            const value = want[field.name] ?? "";
            if (field.value !== value) {
                field.value = value;
                field.dispatchEvent(new Event("input", { bubbles: true }));
                field.dispatchEvent(new Event("change", { bubbles: true }));
            }
        }
    }

    const filterSettled = (want, anchor) => settled(() => filterFindings(want, anchor));

    function valuesOffered(field) {
        const options = [...(control(field)?.options ?? [])];
        return options.map(({ value }) => value).filter((value) => value);
    }

    // The choices one after the other, and nothing at the end.
    function choices() {
        const of = (field) => valuesOffered(field).map((value) => ({ [field]: value }));
        return [...of("workload"), ...of("verdict"), {}];
    }

    // Two things to ask for, the first of them the hardest.
    function wishes() {
        const judged = filtered().filter(({ dataset }) => dataset.workload && dataset.verdict);
        const both = judged.map(({ dataset: { workload, verdict } }) => ({ workload, verdict }));
        const texts = textsToLookFor().map((text) => ({ text }));
        return [...both.slice(0, 1), ...choices().slice(0, -1), ...texts].slice(0, 2);
    }

    async function filterChoices() {
        for (const want of choices()) {
            choose(want);
            const findings = await filterSettled(want, "");
            if (findings.length > 0) {
                return findings;
            }
        }
        return [];
    }

    // Elements with values that no control offers.
    function unofferedValues() {
        return ["workload", "verdict"].filter(control).flatMap((field) => {
            const offered = valuesOffered(field);
            const unknown = filtered().filter(({ dataset }) => dataset[field] && !offered.includes(dataset[field]));
            return about(unknown, `a ${field} that the filter does not offer`);
        });
    }

    // Possible searches: the name of an element, and of one within another.
    function textsToLookFor() {
        const named = filtered().filter(({ dataset }) => dataset.name);
        const within = named.find((element) => element.parentElement.closest("[data-workload]"));
        return [...new Set([named[0], within].filter((element) => element).map(({ dataset }) => dataset.name))];
    }

    const countText = () => document.querySelector("#filter-count").textContent.trim();

    // A link within the page that can be clicked while the filter is set, with its place in the window: one that leads
    // out of sight, if there is one.
    function linkToClick() {
        let near = null;
        for (const link of all('a[href^="#"]').filter(visible)) {
            const anchor = decodeURIComponent(link.getAttribute("href").slice(1).split("?")[0]);
            const target = targetOf(anchor);
            if (!anchor || anchor === location.hash.slice(1).split("?")[0] || !target || !visible(target)) {
                continue;
            }
            const { x, y } = bring(link);
            // Some are beyond the window until they have the focus.
            if (!link.contains(document.elementFromPoint(x, y))) {
                continue;
            }
            const { top } = target.getBoundingClientRect();
            if (top < 0 || top >= innerHeight) {
                return { x, y, anchor };
            }
            near ??= { link, anchor };
        }
        return near && { ...bring(near.link), anchor: near.anchor };
    }

    // The window shows the beginning of what the anchor names.
    function anchorFindings(anchor) {
        const target = targetOf(anchor);
        const { left, top, width, height } = target.getBoundingClientRect();
        if (top < -1 || top >= innerHeight) {
            return [`“${anchor}” is ${top} px from the top of the window`];
        }
        // A heading that stays in the window must not lie over it.
        const over = width && height ? document.elementFromPoint(left + 1, top + 1) : null;
        const covers = over && !over.contains(target) && !target.contains(over);
        return covers ? about([over], `“${anchor}” lies under this`) : [];
    }

    const arrived = (anchor) => settled(() => anchorFindings(anchor));

    // ---- Tables

    const sortable = () => all("table.sortable th[data-sort]");
    const bodyRows = (th) => [...th.closest("table").tBodies].map((body) => [...body.rows]);
    const cellIn = (row, th) => [...row.cells].slice(th.cellIndex, th.cellIndex + 1);
    const cellsOf = (th) => bodyRows(th).map((rows) => rows.flatMap((row) => cellIn(row, th)));
    const valuesOf = (th) => cellsOf(th).map((cells) => cells.map((cell) => cell.dataset.value ?? ""));
    const label = (th) => `column “${th.textContent.trim().replace(/\s+/g, " ")}”`;

    // Whether each value may stand before the next. Texts have more than one good order, and any of them will do.
    function inOrder(values, kind, direction) {
        const sign = direction === "ascending" ? 1 : -1;
        const rises = (list, compare) => list.every((value, i) => i === 0 || sign * compare(list[i - 1], value) <= 0);
        if (kind === "number") {
            const there = values.map((value) => value.trim() !== "" && Number.isFinite(Number(value)));
            // Rows without a value are at one end.
            const edges = there.filter((is, i) => i > 0 && is !== there[i - 1]).length;
            return edges <= 1 && rises(values.filter((_, i) => there[i]).map(Number), (a, b) => a - b);
        }
        const orders = [
            (a, b) => (a < b ? -1 : Number(a > b)),
            (a, b) => a.localeCompare(b),
            (a, b) => a.localeCompare(b, undefined, { numeric: true }),
        ];
        const present = values.filter((value) => value !== "");
        return orders.some((order) => rises(present, order));
    }

    function sortFindings(th, direction, rows) {
        const findings = [];
        const marked = all("[aria-sort]", th.closest("tr"));
        const others = marked.filter((other) => other !== th && other.ariaSort !== "none");
        if (th.ariaSort !== direction) {
            findings.push(`${label(th)} is to be ${direction}, and aria-sort says ${th.ariaSort}`);
        }
        if (!valuesOf(th).every((values) => inOrder(values, th.dataset.sort, direction))) {
            const values = valuesOf(th).flat();
            findings.push(`${label(th)} is not ${direction}: ${values.slice(0, 8).join(", ")}`);
        }
        if (bodyRows(th).flat().length !== rows) {
            findings.push(`${label(th)} had ${rows} rows before it was sorted`);
        }
        return [...findings, ...about(others, "aria-sort is left over")];
    }

    // Two different values, which sorting needs to have an effect.
    const tells = (th) => new Set(valuesOf(th).flat()).size > 1;

    function sortParts() {
        const bare = sortable().flatMap((th) => cellsOf(th).flat()).filter((cell) => cell.dataset.value === undefined);
        return [
            ...about(sortable().filter((th) => !th.querySelector("button")), "a column to sort without a button"),
            ...about(bare, "a cell of a column to sort without data-value"),
        ];
    }

    async function sortByEachColumn() {
        for (const th of sortable()) {
            const rows = bodyRows(th).flat().length;
            for (const direction of ["ascending", "descending"]) {
                th.querySelector("button").click();
                const findings = await settled(() => sortFindings(th, direction, rows));
                if (findings.length > 0) {
                    return findings;
                }
            }
        }
        return [];
    }

    // The column that is sorted with real clicks and keys, remembered for the questions that follow.
    let column;

    function columnToSort() {
        column = sortable().find((th) => tells(th) && visible(th));
        return column ? bring(column.querySelector("button")) : null;
    }

    function columnIs(direction) {
        return settled(() => sortFindings(column, direction, bodyRows(column).flat().length));
    }

    const focusOnButton = () => column.querySelector("button").focus();
    const buttonHasFocus = () => document.activeElement === column.querySelector("button");

    // ---- Points of plots

    // Of each plot that can be seen, the point with the least room beside it.
    function points() {
        const right = (circle) => circle.getBoundingClientRect().right;
        const last = (circles) => circles.reduce((most, circle) => (right(circle) > right(most) ? circle : most));
        const plots = all("figure[data-plot]").map((figure) => all("svg circle", figure).filter(visible));
        return plots.filter((circles) => circles.length > 0).map(last);
    }

    const pointAt = (index) => bring(points()[index]);

    const tip = () => document.getElementById("tip");
    const tipIsThere = () => tip() !== null && !tip().hidden && visible(tip());

    function tipFindings(index) {
        const figure = points()[index].closest("figure").id || `plot ${index + 1}`;
        if (!tipIsThere()) {
            return [`${figure}: no #tip when the pointer is over a point`];
        }
        const { left, right, top, bottom } = tip().getBoundingClientRect();
        const findings = [];
        if (!tip().textContent.trim()) {
            findings.push(`${figure}: an empty #tip`);
        }
        // Less than a pixel is how sizes are rounded.
        const room = document.scrollingElement.clientWidth;
        if (Math.min(left, top) <= -1 || right >= room + 1 || bottom >= innerHeight + 1) {
            findings.push(`${figure}: #tip reaches beyond the window, from ${left}, ${top} to ${right}, ${bottom}`);
        }
        return findings;
    }

    const tipShown = (index) => settled(() => tipFindings(index));
    const tipGone = () => settled(() => (tipIsThere() ? ["#tip stays when the pointer has left"] : []));

    // ---- Accessibility

    // Opens what is folded, so that rules see all of it.
    function unfold() {
        for (const details of all("details")) {
            details.open = true;
        }
    }

    // What axe-core has against the page. Its own requests for style sheets are switched off: there are none to fetch.
    async function axeFindings() {
        unfold();
        await painted();
        const { violations } = await axe.run(document, { resultTypes: ["violations"], preload: false });
        const places = new Map();
        for (const { id, impact, help, nodes } of violations) {
            for (const { target, failureSummary } of impact === "serious" || impact === "critical" ? nodes : []) {
                const what = `${id} (${impact}), ${help}: ${failureSummary.trim().replace(/\s*\n\s*/g, " ")}`;
                places.set(what, [...(places.get(what) ?? []), target.join(" ")]);
            }
        }
        return [...places].map(([what, targets]) => `${what}; at ${targets.join(", ")}`);
    }

    return {
        patience: 0,
        painted,
        unfit,
        deadLinks,
        doubleIds,
        outside,
        partsOfTheScript,
        colors,
        filterParts,
        unofferedValues,
        filterChoices,
        filterSettled,
        choose,
        textsToLookFor,
        countText,
        linkToClick,
        arrived,
        fragment,
        wishes,
        bringField: (field) => bring(control(field)),
        hasFilter: () => document.querySelector("form#filter") !== null,
        canSort: () => sortable().length > 0,
        sortParts,
        sortByEachColumn,
        columnToSort,
        columnIs,
        focusOnButton,
        buttonHasFocus,
        countPoints: () => points().length,
        pointAt,
        tipShown,
        tipGone,
        unfold,
        axeFindings,
    };
})();

// Nothing to hand over: what an expression comes to is sent to the tests.
undefined;
