// The one registry of keys: it makes the handlers, the badges on the page and the sheet behind "?".
// `also` is a second key for the same, `native` one the browser already handles.
// A letter does nothing while text is written, in a dialog, during composition, or when letters are off.

const rows = () => [...document.querySelectorAll("[data-row-link]")].filter((link) => link.offsetParent);
const row = (step) => {
  const all = rows();
  const here = all.indexOf(document.activeElement);
  const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + step));
  all[next]?.focus();
  all[next]?.closest("[data-row]")?.scrollIntoView({ block: "nearest" });
};
const press = (selector) => {
  const found = document.querySelector(selector);
  found?.click();
  return found !== null;
};
const go = (path) => () => { window.location.assign(path); };
const has = (selector) => () => document.querySelector(selector) !== null;
// What a page calls the thing stands on the element itself, so that the sheet says it in the page's words.
const named = (selector, words) => () => document.querySelector(selector)?.dataset.does ?? words;
const option = (key) => ({ keys: key, does: named(`[data-option="${key}"]`), badge: `[data-badge="${key}"]`, when: has(`[data-option="${key}"]`), run: () => press(`[data-option="${key}"]`) });

const KEYS = [
  ...[..."1234567890"].map(option),
  { keys: "Enter", does: named("[data-key-commit]"), badge: "[data-key-commit]", when: has("[data-key-commit]"), run: () => press("[data-key-commit]") },
  { keys: "Ctrl+Enter", does: () => `${named("[data-key-commit]")()}, also while writing`, when: has("textarea ~ * [data-key-commit]"), run: () => press("[data-key-commit]") },
  { keys: "s", does: "skip it", badge: "[data-key-skip]", when: has("[data-key-skip]"), run: () => press("[data-key-skip]") },
  { keys: "f", does: "flag it, or take the flag away", badge: "[data-key-flag]", when: has("[data-key-flag]"), run: () => press("[data-key-flag]") },
  { keys: "u", does: "undo your last decision", badge: "[data-key-undo]", when: has("[data-key-undo]"), run: () => press("[data-key-undo]") },
  { keys: "j", does: "next in the queue", badge: "[data-key-item-next]", when: has("[data-key-item-next]"), run: () => press("[data-key-item-next]") },
  { keys: "k", does: "previous in the queue", badge: "[data-key-item-previous]", when: has("[data-key-item-previous]"), run: () => press("[data-key-item-previous]") },
  { keys: "j", also: "ArrowDown", does: "next row", when: has("[data-row-link]"), run: () => row(1) },
  { keys: "k", also: "ArrowUp", does: "previous row", when: has("[data-row-link]"), run: () => row(-1) },
  { keys: "x", does: "open the row", native: "Enter", when: has("[data-row-link]"), run: () => { if (document.activeElement?.matches("[data-row-link]")) document.activeElement.click(); } },
  { keys: "v", does: "varied cases only, and all again", when: has("[data-key-varied]"), run: () => press("[data-key-varied]:not([aria-current])") || press("#tab-all") },
  { keys: "/", does: "search", badge: "[data-key-search]", when: has("[data-key-search]"), run: () => { const field = document.querySelector("[data-key-search]"); field?.focus(); field?.select(); } },
  { keys: "]", also: "n", does: named("[data-key-next]", "next case"), badge: "[data-key-next]", when: has("[data-key-next]"), run: () => press("[data-key-next]") },
  { keys: "[", also: "p", does: named("[data-key-previous]", "previous case"), badge: "[data-key-previous]", when: has("[data-key-previous]"), run: () => press("[data-key-previous]") },
  { keys: "g h", does: "go to home", run: go("/") },
  { keys: "g r", does: "go to runs", run: go("/runs/") },
  { keys: "g e", does: "go to experiments", run: go("/experiments/") },
  { keys: "g q", does: "go to the queue", run: go("/queue/") },
  { keys: "?", does: "this sheet", run: () => openSheet() },
];
const SEQUENCE_MS = 1200;
const OFF = "evalsite-letters-off";

let first = "";
let firstAt = 0;

const lettersOff = () => { try { return localStorage.getItem(OFF) === "1"; } catch { return false; } };

function writing(target) {
  return target.closest?.("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], dialog[open], [popover]:popover-open") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches?.("input[type=search], textarea")) { event.preventDefault(); event.target.blur(); return; }
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  if (event.ctrlKey || event.metaKey) {
    const chord = event.key === "Enter" && KEYS.find((key) => key.keys === "Ctrl+Enter");
    if (chord && chord.when()) { event.preventDefault(); chord.run(); }
    return;
  }
  // Enter on a link or a button is the browser's own.
  if (event.key === "Enter" && event.target.closest?.("a, button, summary")) return;
  if (writing(event.target) || lettersOff() && event.key.length === 1 && event.key !== "?") return;
  if (event.key.startsWith("Arrow") && !event.target.matches("[data-row-link]")) return;
  const both = first && event.timeStamp - firstAt < SEQUENCE_MS ? `${first} ${event.key}` : event.key;
  const usable = KEYS.filter((key) => !key.when || key.when());
  const found = usable.find((key) => key.keys === both) ?? usable.find((key) => key.keys === event.key || key.also === event.key);
  const begins = !found && usable.some((key) => key.keys.startsWith(`${event.key} `));
  first = begins ? event.key : "";
  firstAt = event.timeStamp;
  if (!found) return;
  event.preventDefault();
  found.run();
});

function make(tag, text, parent, css) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  if (css) element.className = css;
  parent?.append(element);
  return element;
}

function badge(keys, parent) {
  keys.split(" ").forEach((key) => make("kbd", key, parent));
}

function openSheet() {
  document.getElementById("keys-sheet")?.remove();
  const sheet = make("dialog", "", document.body, "sheet");
  sheet.id = "keys-sheet";
  sheet.setAttribute("aria-labelledby", "keys-title");
  const head = make("div", "", sheet, "sheet-head");
  make("h2", "Keys", head).id = "keys-title";
  const close = make("button", "Close", head, "btn");
  close.type = "button";
  close.addEventListener("click", () => sheet.close());
  KEYS.filter((key) => !key.when || key.when()).forEach((key) => {
    const line = make("div", "", sheet, "sheet-line");
    make("span", typeof key.does === "function" ? key.does() : key.does, line);
    const badges = make("span", "", line);
    badge(key.keys, badges);
    const other = key.also ?? key.native;
    if (other) { badges.append(" or "); badge(other.replace("ArrowDown", "↓").replace("ArrowUp", "↑"), badges); }
  });
  const label = make("label", "", sheet, "sheet-switch");
  const box = make("input", "", label);
  box.type = "checkbox";
  box.checked = !lettersOff();
  make("span", "Single keys are on", label);
  box.addEventListener("change", () => { localStorage.setItem(OFF, box.checked ? "0" : "1"); badges(); });
  sheet.addEventListener("close", () => sheet.remove());
  sheet.showModal();
}

function badges() {
  document.querySelectorAll("kbd[data-badge]").forEach((old) => old.remove());
  if (lettersOff()) return;
  KEYS.filter((key) => key.badge).forEach((key) => {
    document.querySelectorAll(key.badge).forEach((element) => {
      const shown = make("kbd", key.keys, null, "keys-only");
      shown.dataset.badge = "";
      shown.setAttribute("aria-hidden", "true");
      if (element.matches("input")) element.after(shown);
      else element.append(shown);
    });
  });
}

function start() {
  document.querySelectorAll("[data-keys-hint], [data-keys-sheet]").forEach((element) => { element.hidden = false; });
  document.querySelectorAll("[data-keys-sheet]").forEach((button) => button.addEventListener("click", () => {
    document.getElementById("user-menu")?.hidePopover?.();
    openSheet();
  }));
  badges();
}

start();
document.addEventListener("htmx:afterSettle", badges);
document.addEventListener("htmx:historyRestore", start);
