"use strict";
// Shows, sorts and filters the findings. Everything is put on the page as text, never as markup.
(async () => {
  const PAGE = 25;
  const at = (id) => document.getElementById(id);
  const list = at("list");
  if (!list) return;

  const block = at("data");
  const data = block.type === "application/json" ? JSON.parse(block.textContent) : await unpacked(block.textContent);
  const findings = data.findings;
  findings.forEach((one, place) => { one.place = place; });
  const state = { key: "gravity", down: false, shown: PAGE, open: new Set(), all: false };
  const filters = { party: at("f-party"), kind: at("f-kind"), proof: at("f-proof") };

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const bdi = (text) => make("bdi", {}, text);
  const pre = (text, name) => make("pre", name ? { class: name } : {}, make("code", {}, text));
  const grouped = (number) => number.toLocaleString("en");

  function stated(one) {
    const parts = [`statement ${grouped(one.number)}`];
    if (one.user) parts.push(", asked by ", bdi(one.user));
    if (one.time) parts.push(`, ${one.time}`);
    if (one.source) parts.push(", ", bdi(one.source));
    return parts;
  }

  function answer(term) {
    const times = term.times === null ? "" : `, multiplied by ${term.times}`;
    const item = make("li", {},
      make("p", {}, make("b", {}, term.name), `: ${term.what}, ${term.value}${times}. From `, ...stated(term.statement), "."),
      pre(data.texts[term.sql ?? term.statement.sql]));
    if (term.sql !== null && term.statement.sql !== term.sql) {
      item.append(make("details", {}, make("summary", {}, "As it was logged"), pre(data.texts[term.statement.sql])));
    }
    return item;
  }

  function detail(one) {
    const proof = one.certificate;
    const whole = make("div", { class: "certificate" },
      make("p", { class: "sentence" }, proof.sentence),
      make("p", {}, `What remains possible for ${one.where} of `, bdi(one.name), `${one.row}: `,
        make("b", {}, one.left), ". Located by ", bdi(one.party), " with ", ...stated(one.first), "."));
    if (proof.equation) whole.append(pre(proof.equation, "equation"));
    whole.append(
      make("h4", {}, proof.terms.length === 1 ? "The answer that shows it" : "The answers that show it"),
      make("ol", { class: "answers" }, ...proof.terms.map(answer)),
      make("h4", {}, "To check it"),
      proof.sql === null
        ? make("p", {}, "No query can: that no other values agree with these answers is shown by a search over the possible values.")
        : pre(data.texts[proof.sql]),
      make("p", { class: "note" }, "Without any one of these answers the proof is gone."));
    return whole;
  }

  const NAMES = new Intl.Collator("en", { numeric: true });
  const ORDER = {
    name: (a, b) => NAMES.compare(a.name, b.name),
    party: (a, b) => NAMES.compare(a.party, b.party),
    gravity: (a, b) => a.gravity - b.gravity,
    proof: (a, b) => NAMES.compare(a.proof, b.proof),
    left: (a, b) => (a.width ?? Infinity) - (b.width ?? Infinity) || 0,
    first: (a, b) => a.first.number - b.first.number,
  };

  function haystack(one) {
    one.words ??= [one.name, one.record, one.where, one.party, one.first.user, one.first.time,
      ...one.certificate.terms.flatMap((term) => [data.texts[term.sql ?? term.statement.sql], data.texts[term.statement.sql]]),
      data.texts[one.first.sql]].join("\n").toLowerCase();
    return one.words;
  }

  function matching() {
    const wanted = at("f-text").value.trim().toLowerCase();
    const chosen = findings.filter((one) =>
      Object.entries(filters).every(([name, box]) => !box.value || one[name] === box.value) &&
      (!wanted || haystack(one).includes(wanted)));
    const sign = state.down ? -1 : 1;
    return chosen.sort((a, b) => sign * ORDER[state.key](a, b) || a.place - b.place);
  }

  function row(one) {
    const open = state.open.has(one.place);
    const button = make("button", { type: "button", "aria-expanded": String(open), "data-place": one.place }, bdi(one.name));
    const cells = make("tr", {},
      make("th", { scope: "row" }, button),
      make("td", { class: "desk" }, bdi(one.party)),
      make("td", {}, one.kind),
      make("td", {}, one.left),
      make("td", { class: "desk" }, one.proof),
      make("td", { class: "desk" }, `${grouped(one.first.number)}${one.when ? " · " + one.when : ""}`, make("small", {}, one.brief)));
    return open ? [cells, opened(one, button)] : [cells];
  }

  function opened(one, button) {
    button.setAttribute("aria-controls", `d${one.place}`);
    const wide = getComputedStyle(document.querySelector("th.desk")).display === "none" ? 3 : 6;
    return make("tr", { class: "detail", id: `d${one.place}` }, make("td", { colspan: String(wide) }, detail(one)));
  }

  function show() {
    const chosen = matching();
    const visible = state.all ? chosen : chosen.slice(0, state.shown);
    at("rows").replaceChildren(...visible.flatMap(row));
    for (const head of list.querySelectorAll("th[data-sort]")) {
      const sorted = head.dataset.sort === state.key;
      head.setAttribute("aria-sort", sorted ? (state.down ? "descending" : "ascending") : "none");
    }
    at("f-sort").value = [...at("f-sort").options].some((option) => option.value === state.key) ? state.key : "gravity";
    const of = chosen.length === findings.length ? "" : ` of ${grouped(findings.length)}`;
    at("count").textContent = chosen.length
      ? `${grouped(chosen.length)}${of} findings; ${grouped(visible.length)} shown.`
      : "No finding fits these filters.";
    at("more").hidden = visible.length === chosen.length;
    at("more").textContent = `Show ${Math.min(PAGE, chosen.length - visible.length)} more`;
    const folded = visible.filter((one) => !state.open.has(one.place)).length;
    at("printed").textContent = `Printed here: ${grouped(visible.length)} of ${grouped(findings.length)} findings; `
      + `the proofs of ${grouped(folded)} of these are folded. “Print with every proof”, in the page itself, opens them.`;
  }

  function sortBy(key) {
    state.down = state.key === key && !state.down;
    state.key = key;
    show();
  }

  list.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("button")?.closest("th");
    if (head) sortBy(head.dataset.sort);
  });

  at("rows").addEventListener("click", (event) => {
    const button = event.target.closest("button[data-place]");
    if (!button) return;
    const place = Number(button.dataset.place);
    const cells = button.closest("tr");
    if (state.open.delete(place)) {
      cells.nextElementSibling.remove();
      button.removeAttribute("aria-controls");
    } else {
      state.open.add(place);
      cells.after(opened(findings[place], button));
    }
    button.setAttribute("aria-expanded", String(state.open.has(place)));
  });

  at("f-sort").addEventListener("change", (event) => { state.down = false; state.key = event.target.value; show(); });
  const refilter = () => { state.shown = PAGE; show(); };
  let waiting = 0;
  at("f-text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refilter, 120); });
  for (const box of Object.values(filters)) box.addEventListener("change", refilter);

  at("more").addEventListener("click", () => {
    const first = state.shown;
    state.shown += PAGE;
    show();
    at("rows").querySelectorAll("button[data-place]")[first]?.focus();
  });

  at("print-all").addEventListener("click", () => {
    const open = new Set(state.open);
    state.all = true;
    for (const one of matching()) state.open.add(one.place);
    show();
    at("printed").textContent = `Printed here: ${grouped(matching().length)} of ${grouped(findings.length)} findings, each with its proof.`;
    window.addEventListener("afterprint", () => { state.all = false; state.open = open; show(); }, { once: true });
    window.print();
  });

  show();
  at("static").hidden = true;
  at("interactive").hidden = false;
})();
