{
const make = (tag, has, ...kids) => {
 const made = Object.assign(document.createElement(tag), has);
 made.append(...kids);
 return made;
};
const safe = act => { try { return act(); } catch {} };

// The address keeps tables as shown, the tab the theme
const kept = new URLSearchParams(location.search);
const keep = (name, value) => {
 if (value) kept.set(name, value); else kept.delete(name);
 safe(() => history.replaceState(0, "", "?" + kept + location.hash));
};
const themes = ["system", "light", "dark"];
let theme = Math.max(0, themes.indexOf(safe(() => sessionStorage.theme)));
const say = () => "Theme: " + (document.documentElement.dataset.theme = themes[theme]);
const nav = document.querySelector(".contents");
nav.prepend(make("button", {className: "theme", textContent: say(), onclick() {
 theme = (theme + 1) % 3;
 this.textContent = say();
 safe(() => sessionStorage.theme = themes[theme]);
}}));
nav.querySelector("details").open = innerWidth > 640;

// Numbers: 0.12, −0.1, 1,234, 45 %, 12 of 30, [a, b], 1 min 20 s.
const seconds = {ms: .001, s: 1, min: 60, h: 3600};
const number = text => {
 text = text.replaceAll("−", "-").replace(/(\d),(?=\d{3})/g, "$1").replace(/^[[(<>≤≥~$\s]+/, "");
 const part = /^([\d.]+) of ([\d.]+)/.exec(text);
 if (part) return part[1] / part[2];
 const times = [...text.matchAll(/(-?[\d.]+) (ms|s|min|h)\b/g)];
 if (times[0]?.index == 0) return times.reduce((sum, t) => sum + t[1] * seconds[t[2]], 0);
 return +(/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?(?![\w.-])/i.exec(text)?.[0] ?? NaN);
};
const words = new Intl.Collator("en", {numeric: true});

for (const table of document.querySelectorAll(".table:not(.answer *,.header *,.rankings,.numbers,.t-cards)>table")) {
 const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
 if (rows.length < 3) continue;
 const key = table.caption.id.slice(4), tools = make("div", {className: "tools", role: "group", ariaLabel: table.caption.textContent});

 const order = by => {
  const at = Math.abs(by) - 1;
  heads.forEach((head, i) => head.ariaSort = i != at ? null : by > 0 ? "ascending" : "descending");
  const cells = rows.map(row => {
   const text = by && row.cells[at].textContent.trim() || "—";
   return {row, text, value: number(text), none: /^(—|0 of 0)/.test(text)};
  });
  const num = cells.every(cell => cell.none || !isNaN(cell.value));
  cells.sort((a, b) => a.none - b.none || (a.none ? 0 : by * (num ? a.value - b.value : words.compare(a.text, b.text))));
  body.append(...cells.map(cell => cell.row));
 };
 heads.forEach((head, i) => head.append(make("button", {onclick() {
  const by = head.ariaSort == "ascending" ? -i - 1 : head.ariaSort ? 0 : i + 1;
  order(by);
  keep(key + ".sort", by);
 }}, ...head.childNodes)));
 const by = +kept.get(key + ".sort");
 if (heads[Math.abs(by) - 1]) order(by);

 if (rows.length > 10) {
  const texts = rows.map(row => row.textContent.toLowerCase()), count = make("output");
  const find = () => {
   const all = field.value.toLowerCase().split(/\s+/);
   let n = 0;
   rows.forEach((row, i) => n += !(row.hidden = all.some(part => !texts[i].includes(part))));
   count.value = n + " of " + rows.length + " rows";
  };
  const field = make("input", {type: "search", value: kept.get(key + ".find") ?? "", oninput() {
   find();
   keep(key + ".find", field.value);
  }});
  find();
  tools.append(make("label", {}, "Search ", field), count);
 }

 if (rows.length > 10 || heads.length > 6) {
  const hidden = new Set(kept.get(key + ".hide")?.split(",").map(Number));
  const hide = i => [...rows, table.tHead.rows[0]].forEach(row => row.cells[i].hidden = hidden.has(i));
  tools.append(make("details", {}, make("summary", {}, "Columns"), make("div", {}, ...heads.map((head, i) => {
   if (i) hide(i);
   return make("label", {}, make("input", {type: "checkbox", checked: !hidden.has(i), onchange() {
    hidden[this.checked ? "delete" : "add"](i);
    hide(i);
    keep(key + ".hide", [...hidden].join());
   }}), " ", head.textContent);
  }).slice(1))));
 }
 if (tools.firstChild) table.parentNode.before(tools);
}
}
