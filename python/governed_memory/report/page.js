"use strict";
{
  // Everything that a record says is put in as text, never as markup.
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const rows = (table) => {
    const fields = Object.keys(table);
    return (table[fields[0]] || []).map((_, place) => Object.fromEntries(fields.map((field) => [field, data.pool[table[field][place]]])));
  };
  const plural = (count, one, many = one + "s") => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
  const distinct = (values) => [...new Set(values)].filter((value) => value !== null).sort();

  // A list with its form, in pages: what is not on the page is not in the document.
  const listing = ({ name, items, size, draw, words, passes, selects }) => {
    const form = byId(`${name}-form`);
    const text = byId(`${name}-text`);
    let page = 0;
    let found = items;
    let applied;
    for (const [field, options] of Object.entries(selects)) {
      byId(`${name}-${field}`).replaceChildren(...options.map(([value, label]) => make("option", { value }, label)));
    }
    const show = () => {
      const last = Math.max(0, Math.ceil(found.length / size) - 1);
      page = Math.min(page, last);
      const from = page * size;
      byId(`${name}-list`).replaceChildren(...found.slice(from, from + size).map(draw));
      const range = found.length > size ? `, ${from + 1} to ${Math.min(from + size, found.length)} shown` : "";
      byId(`${name}-count`).textContent = `${words(found.length)} of ${items.length.toLocaleString("en")}${range}`;
      const turn = (step, label, stops) => make("button", { type: "button", disabled: stops, onclick: () => { page += step; show(); byId(`${name}-title`).scrollIntoView(); } }, label);
      byId(`${name}-pages`).replaceChildren(
        ...(last ? [turn(-1, "Earlier", page === 0), make("span", {}, `page ${page + 1} of ${last + 1}`), turn(1, "Later", page === last)] : []),
      );
    };
    const filter = () => {
      const asked = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = Object.fromEntries(Object.keys(selects).map((field) => [field, byId(`${name}-${field}`).value]));
      // leaving the search box is a change too: the list must not be drawn anew under the pointer
      const now = JSON.stringify([asked, chosen]);
      if (now === applied) return;
      applied = now;
      found = items.filter((item) => passes(item, chosen) && asked.every((word) => item.search().includes(word)));
      page = 0;
      show();
    };
    let waiting;
    form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
    form.addEventListener("change", filter);
    form.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
    form.addEventListener("reset", () => setTimeout(filter));
    filter();
    return { filter, text };
  };
  const searched = (item, parts) => {
    let known;
    item.search = () => (known ??= parts().filter(Boolean).join("\n").toLowerCase());
    return item;
  };
  const choices = (values, all) => [["", all], ...values.map((value) => [value, value])];

  // Findings
  const SEVERITIES = { error: ["must be mended", "bad"], warning: ["warning", "warn"], waived: ["waived", ""], baselined: ["in the baseline", ""] };
  const badge = ([label, kind]) => make("span", { class: `badge ${kind}` }, label);
  const findings = rows(data.findings).map((item) => searched(item, () => [item.record_id, item.concept_id, item.rule_id, item.store_id, item.party_id, item.party_role]));
  const findingRow = (item) => {
    const rule = data.rules[item.rule_id];
    const concept = item.concept_id === null ? "" : make("button", { type: "button", class: "plain text", onclick: () => seek("concepts", item.concept_id, item.store_id) }, item.concept_id);
    return make("tr", {},
      make("td", {}, badge(SEVERITIES[item.severity])),
      make("td", { class: "text" }, item.store_id),
      make("th", { scope: "row", class: "text" }, item.record_id ?? "(the store)"),
      make("td", {}, concept),
      make("td", {}, make("code", {}, item.rule_id), ` · level ${rule.level} ${rule.requirement}`, make("br"), `${rule.summary}. ${rule.fix}.`),
      make("td", { class: "text" }, item.party_id ?? "nobody named", item.party_role ? ` (${item.party_role})` : ""),
    );
  };
  const lists = {};
  lists.findings = listing({
    name: "findings", items: findings, size: 20, draw: findingRow, words: (count) => plural(count, "finding"),
    selects: {
      severity: [["", "everything"], ...Object.entries(SEVERITIES).map(([value, [label]]) => [value, label])],
      store: choices(distinct(findings.map((item) => item.store_id)), "all stores"),
      party: choices(distinct(findings.map((item) => item.party_id)), "everybody"),
      rule: choices(Object.keys(data.rules), "all rules"),
    },
    passes: (item, chosen) =>
      (!chosen.severity || item.severity === chosen.severity) && (!chosen.store || item.store_id === chosen.store) &&
      (!chosen.party || item.party_id === chosen.party) && (!chosen.rule || item.rule_id === chosen.rule),
  });

  // Concepts. How an answer is called, and how it looks; who is told what has been decided before.
  const OUTCOMES = {
    decided: ["one answer", "ok"], answered: ["answered", "ok"], several: ["several answers", "note"], unresolved: ["conflict", "bad"],
    abstained: ["conflict", "bad"], refused: ["refused", "warn"], empty: ["nothing in force", "none"],
    out_of_scope: ["only for classes of questions", ""],
  };
  const day = (text) => Date.parse(text) / 864e5;
  const span = (from, to) => (from === null ? (to === null ? "on every day" : `until ${to}`) : to === null ? `from ${from} on` : `${from} to ${to}`);
  const grouped = (items) => {
    const groups = new Map();
    for (const item of items) {
      const key = `${item.store_id}\n${item.concept_id}`;
      if (groups.has(key)) groups.get(key).push(item);
      else groups.set(key, [item]);
    }
    return groups;
  };
  const recordsOf = grouped(rows(data.records));
  const periodsOf = grouped(rows(data.periods));
  const answers = new Map(rows(data.concepts).map((item) => [`${item.store_id}\n${item.concept_id}`, item]));
  const findingsOf = grouped(findings);
  const concepts = [...recordsOf].map(([key, records]) => {
    const [{ store_id, concept_id }] = records;
    const answer = answers.get(key) ?? { outcome: null, has_conflict: false, has_gap: false };
    const item = { ...answer, store_id, concept_id, key, records, findings: (findingsOf.get(key) ?? []).length };
    return searched(item, () => [concept_id, store_id, ...records.flatMap((record) => [record.record_id, record.value, record.concept_owner, record.source_id])]);
  });

  const ticks = (from, to) => {
    const months = (to - from) / 30.44;
    const step = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 24000].find((size) => months / size <= 6) ?? 24000;
    const first = new Date(from * 864e5);
    const found = [];
    let number = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth() + 1) / step) * step;
    for (; ; number += step) {
      const date = new Date(0);
      date.setUTCFullYear(Math.floor(number / 12), number % 12, 1);
      const at = date.getTime() / 864e5;
      if (at > to) return found;
      if (at >= from) found.push([at, date.toISOString().slice(0, step % 12 ? 7 : 4)]);
    }
  };
  const SHOWN = 100;
  const timeline = (concept, all = false) => {
    const periods = periodsOf.get(concept.key) ?? [];
    const dates = [data.on_date, ...concept.records.flatMap((record) => [record.from, record.to]), ...periods.flatMap((period) => [period.starts_on, period.ends_on])];
    const days = dates.filter((text) => text !== null).map(day);
    let low = Infinity;
    let high = -Infinity;
    for (const number of days) { low = Math.min(low, number); high = Math.max(high, number); }
    const margin = Math.max(15, (high - low) * 0.06);
    low -= margin / 3;
    high += margin;
    const share = (number) => `${(100 * (number - low)) / (high - low)}%`;
    const placed = (kind, from, to) => {
      const mark = make("i", { class: kind });
      const start = from === null ? low : day(from);
      const end = to === null ? high : day(to) + 1;
      mark.style.left = share(start);
      if (to !== undefined) mark.style.width = `${(100 * (end - start)) / (high - low)}%`;
      return mark;
    };
    const grid = () => [...ticks(low, high).map(([at]) => { const line = make("i", { class: "tick" }); line.style.left = share(at); return line; }), placed("today", data.on_date)];
    // a label at the very end would run into what stands beside the axis
    const axis = ticks(low, high).filter(([at]) => at < low + (high - low) * 0.92).map(([at, label]) => { const line = make("i", { class: "tick" }, label); line.style.left = share(at); return line; });
    const head = make("tr", {}, make("th", { scope: "col" }, "Record"), make("th", { scope: "col", class: "track" }, make("span", { class: "hidden" }, "Drawn over time"), ...axis), make("th", { scope: "col" }, "In force, and how it ended"));

    const bands = [...new Set(periods.map((period) => period.question_class_id))].map((question) => {
      const mine = periods.filter((period) => period.question_class_id === question);
      const told = mine.filter((period) => !(period.outcome === "empty" && (period.starts_on === null || period.ends_on === null)) && !["decided", "answered"].includes(period.outcome));
      const lines = told.slice(0, 12).map((period) =>
        make("li", { class: "text" }, `${OUTCOMES[period.outcome][0]}, ${span(period.starts_on, period.ends_on)}`,
          period.record_ids && period.outcome !== "refused" ? `: ${period.record_ids.map((id) => id ?? "(no identifier)").join(", ")}` : "", period.withheld_count ? `; ${period.withheld_count} withheld` : ""));
      if (told.length > 12) lines.push(make("li", {}, `and ${told.length - 12} more`));
      const marks = mine.filter((period) => period.outcome !== "empty" || (period.starts_on !== null && period.ends_on !== null))
        .map((period) => placed(`band ${OUTCOMES[period.outcome][1]}`, period.starts_on, period.ends_on));
      return make("tr", {}, make("th", { scope: "row", class: "text" }, question === null ? "The answer without a class of question" : `The answer to questions of ${question}`),
        make("td", { class: "track", "aria-hidden": "true" }, ...grid(), ...marks), make("td", {}, lines.length ? make("ul", {}, ...lines) : "one answer at a time"));
    });

    const shown = all ? concept.records : concept.records.slice(0, SHOWN);
    const lines = new Map();
    const near = (record, on) => {
      for (const other of shown) {
        if (other === record || other.record_id === record.ended_by || other.ended_by === record.record_id) lines.get(other)?.classList.toggle("near", on);
      }
    };
    const body = shown.map((record) => {
      const kind = ["bar", record.is_current ? "current" : "", record.to === null ? "open" : "", record.is_restricted ? "restricted" : ""].join(" ");
      const value = record.is_restricted && record.value === null ? "restricted: not shown here" : record.value;
      const period = record.from === null ? "" : span(record.from, record.to);
      const owner = [record.concept_owner, record.source_id && `source ${record.source_id}`].filter(Boolean).join(", ");
      const line = make("tr", { onpointerenter: () => near(record, true), onpointerleave: () => near(record, false) },
        make("th", { scope: "row", class: "text" }, record.record_id ?? "(no identifier)", record.is_restricted ? make("span", {}, " ", badge(["restricted", "note"])) : null,
          record.about ? make("span", { class: "quiet" }, ` about ${record.about}`) : null, make("div", { class: "value", title: value ?? "" }, value ?? "")),
        make("td", { class: "track", "aria-hidden": "true" }, ...grid(), ...(record.from === null ? [] : [placed(kind, record.from, record.to)])),
        make("td", { class: "text" }, [period, record.note].filter(Boolean).join("; "), owner ? make("div", { class: "quiet" }, owner) : null));
      lines.set(record, line);
      return line;
    });
    const table = make("table", { class: "timeline" }, make("caption", { class: "hidden" }, `Timeline of ${concept.concept_id} in ${concept.store_id}`), make("thead", {}, head), make("tbody", {}, ...bands, ...body));
    const key = [["bar current", "in force on the day of the checks"], ["bar", "at other times"], ["bar restricted", "restricted"], ["band bad", "conflict"], ["band none", "nothing in force"]];
    const legend = make("p", { class: "legend", "aria-hidden": "true" }, ...key.map(([look, words]) => make("span", {}, make("i", { class: look }), words)));
    const rest = concept.records.length - shown.length;
    const more = rest ? make("button", { type: "button", onclick: (event) => event.target.closest(".body").replaceChildren(...timeline(concept, true)) }, `Show the other ${rest.toLocaleString("en")} records`) : null;
    const jump = concept.findings ? make("p", {}, make("button", { type: "button", class: "plain", onclick: () => seek("findings", concept.concept_id, concept.store_id) }, `${plural(concept.findings, "finding")} on this concept`)) : null;
    return [legend, make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Timeline of ${concept.concept_id}` }, table), more, jump].filter(Boolean);
  };
  const conceptItem = (concept) => {
    const body = make("div", { class: "body" });
    const details = make("details", { ontoggle: () => { if (details.open && !body.hasChildNodes()) body.append(...timeline(concept)); } },
      make("summary", {}, make("b", { class: "text" }, concept.concept_id), make("span", { class: "quiet text" }, concept.store_id), make("span", { class: "quiet" }, plural(concept.records.length, "record")),
        concept.findings ? make("span", { class: "quiet" }, plural(concept.findings, "finding")) : null,
        concept.has_gap ? badge(["gap", ""]) : null,
        concept.has_conflict && OUTCOMES[concept.outcome]?.[1] !== "bad" ? badge(["conflict at another time", ""]) : null,
        OUTCOMES[concept.outcome] ? badge(OUTCOMES[concept.outcome]) : null),
      body);
    return make("li", {}, details);
  };
  const STATES = {
    "": ["all concepts", () => true],
    conflict: ["conflict on the day of the checks", (item) => OUTCOMES[item.outcome]?.[0] === "conflict"],
    ever: ["conflict at any time", (item) => item.has_conflict],
    empty: ["nothing in force on that day", (item) => item.outcome === "empty"],
    gap: ["a gap between answers", (item) => item.has_gap],
    scoped: ["only for classes of questions", (item) => item.outcome === "out_of_scope"],
    several: ["several answers", (item) => item.outcome === "several"],
    refused: ["refused", (item) => item.outcome === "refused"],
    restricted: ["with restricted records", (item) => item.records.some((record) => record.is_restricted)],
    findings: ["with findings", (item) => item.findings > 0],
  };
  lists.concepts = listing({
    name: "concepts", items: concepts, size: 25, draw: conceptItem, words: (count) => plural(count, "concept"),
    selects: {
      store: choices(distinct(concepts.map((item) => item.store_id)), "all stores"),
      state: Object.entries(STATES).map(([value, [label]]) => [value, label]),
    },
    passes: (item, chosen) => (!chosen.store || item.store_id === chosen.store) && STATES[chosen.state][1](item),
  });

  const seek = (name, words, store) => {
    byId(`${name}-form`).reset();
    lists[name].text.value = words;
    byId(`${name}-store`).value = store;
    setTimeout(() => { lists[name].filter(); byId(`${name}-title`).scrollIntoView(); lists[name].text.focus({ preventScroll: true }); }, 10);
  };

  // Colours, remembered where the browser lets a local page remember anything.
  const theme = byId("theme");
  const paint = () => { document.documentElement.style.colorScheme = theme.value; };
  try { theme.value = localStorage.getItem("gmem-theme") ?? theme.value; } catch { /* not remembered */ }
  if (theme.selectedIndex < 0) theme.selectedIndex = 0;
  paint();
  theme.addEventListener("change", () => { paint(); try { localStorage.setItem("gmem-theme", theme.value); } catch { /* not remembered */ } });
}
