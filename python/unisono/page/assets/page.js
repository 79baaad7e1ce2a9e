// SPDX-License-Identifier: BSD-3-Clause
// Filters, sorting, explanations and the colour scheme. Everything that is shown is in the page already.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// --- Filters: rows say by data-... what they are of; what they do not say does not keep them away. ---

const tools = document.querySelector(".tools");
const filters = { operation: "#by-operation", place: "#by-place", region: "#by-region" };

function chosen(name) {
  const select = document.querySelector(filters[name]);
  return select && select.value ? select : null;
}

function isShown(row) {
  const { operation, layout, communicator, region } = row.dataset;
  const by = { operation: chosen("operation"), place: chosen("place"), region: chosen("region") };
  if (by.operation && operation && !operation.split(" ").includes(by.operation.value)) return false;
  if (by.region && region !== undefined && `region/${region}` !== by.region.value) return false;
  if (!by.place) return true;
  const isOne = by.place.value.startsWith("communicator/");
  if (isOne && communicator !== undefined) return `communicator/${communicator}` === by.place.value;
  return layout === undefined || layout === by.place.selectedOptions[0].dataset.layout;
}

function filter() {
  for (const row of all("main [data-operation], main [data-layout], main [data-region]")) row.toggleAttribute("hidden", !isShown(row)); // svg has no property for it
  for (const panel of all(".panel")) {
    const rows = all("[data-operation]", panel);
    panel.classList.toggle("is-empty", rows.length > 0 && rows.every((row) => row.hasAttribute("hidden")));
  }
  for (const group of all("[data-roving]")) rove(group);
}

// --- Sorting: the heads of columns become buttons. ---

function valueOf(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.value;
  return value === undefined ? cell.textContent.trim() : Number(value);
}

function compare(first, second) {
  return typeof first === "number" ? first - second : first.localeCompare(second, undefined, { numeric: true });
}

function sort(table, head) {
  const heads = [...head.parentElement.cells];
  const column = heads.indexOf(head);
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const isNumber = rows.some((row) => row.cells[column].dataset.value !== undefined);
  const before = head.getAttribute("aria-sort");
  const isDescending = before ? before === "ascending" : isNumber; // the largest numbers first
  rows.sort((a, b) => compare(valueOf(a, column), valueOf(b, column)) * (isDescending ? -1 : 1));
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
  body.append(...rows);
}

function makeSortable(table) {
  for (const head of table.tHead.rows[0].cells) {
    if (head.classList.contains("track")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, head));
  }
}

// --- Explanations: what stands in title attributes, for mouse and keyboard alike. ---

const tip = document.getElementById("tip");
let explained = null;

function explain(element) {
  if (explained) explained.removeAttribute("aria-describedby");
  explained = element;
  tip.hidden = element === null;
  if (element === null) return;
  element.setAttribute("aria-describedby", "tip");
  tip.textContent = element.dataset.tip;
  const at = element.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left + at.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
  const isAbove = at.bottom + tip.offsetHeight + 8 > innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${isAbove ? Math.max(4, at.top - tip.offsetHeight - 6) : at.bottom + 6}px`;
}

function takeTitles() {
  for (const element of all("main [title]")) {
    element.dataset.tip = element.title;
    element.removeAttribute("title");
  }
  for (const title of all("main svg title")) {
    title.parentElement.dataset.tip = title.textContent;
    title.parentElement.setAttribute("aria-label", title.textContent);
    title.remove();
  }
}

// --- The keyboard: one stop for each chart, arrows from there to the nearest neighbour. ---

const isVisible = (element) => element.getClientRects().length > 0;
const stops = (group) => all("[data-tip]", group).filter(isVisible);

function rove(group) {
  const there = stops(group);
  const current = there.find((element) => element.tabIndex === 0) || there[0];
  for (const element of all("[data-tip]", group)) element.tabIndex = element === current ? 0 : -1;
}

const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function centre(element) {
  const at = element.getBoundingClientRect();
  return [at.left + at.width / 2, at.top + at.height / 2];
}

function neighbour(group, from, [right, down]) {
  const [x, y] = centre(from);
  let best = null;
  let least = Infinity;
  for (const element of stops(group)) {
    const [otherX, otherY] = centre(element);
    const ahead = (otherX - x) * right + (otherY - y) * down;
    const aside = Math.abs((otherX - x) * down) + Math.abs((otherY - y) * right);
    // In the same line first: going aside counts more than going far.
    const distance = ahead + 4 * aside;
    if (element !== from && ahead > 0.5 && distance < least) [best, least] = [element, distance];
  }
  return best;
}

function step(event) {
  const group = event.target.closest("[data-roving]");
  const way = ways[event.key];
  if (!group || !way || event.target.dataset.tip === undefined) return;
  event.preventDefault();
  const next = neighbour(group, event.target, way);
  if (!next) return;
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

// --- Colour scheme, saving, printing ---

function changeTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
}

function save() {
  const link = document.createElement("a");
  const blob = new Blob([document.getElementById("data").textContent], { type: "application/json" });
  link.href = URL.createObjectURL(blob);
  link.download = "unisono-page.json";
  link.click();
  URL.revokeObjectURL(link.href);
}

takeTitles();
all("table.sortable").forEach(makeSortable);
for (const selector of Object.values(filters)) document.querySelector(selector)?.addEventListener("change", filter);
tools.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("show-all").addEventListener("click", () => {
  tools.reset();
  filter();
});
document.getElementById("theme").addEventListener("click", changeTheme);
document.getElementById("save").addEventListener("click", save);
document.addEventListener("mouseover", (event) => explain(event.target.closest("[data-tip]")));
document.addEventListener("focusin", (event) => explain(event.target.closest("[data-tip]")));
document.addEventListener("focusout", () => explain(null));
// What scrolls the page may be that the element has been reached: then it stays explained.
document.addEventListener("scroll", () => explain(explained?.matches(":hover, :focus") ? explained : null), true);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") explain(null);
  step(event);
});
addEventListener("beforeprint", () => all("details").forEach((element) => { element.open = true; }));
tools.hidden = false;
filter();
