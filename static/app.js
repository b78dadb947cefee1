// What every page needs beside htmx: a bar for failed requests, and rows that open where they are clicked.

const bar = document.getElementById("error-bar");

function say(text) {
  bar.querySelector("[data-error-text]").textContent = text;
  bar.hidden = false;
}

function clock() {
  return new Date().toISOString().slice(11, 19) + " UTC";
}

bar.querySelector("[data-error-close]").addEventListener("click", () => { bar.hidden = true; });
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  say(status >= 500
    ? `The site could not answer (${status}, ${clock()}). What you see may be old; nothing is lost.`
    : `That was refused (${status}, ${clock()}). Load the page again to see why.`);
});
document.addEventListener("htmx:sendError", () => say(`The site cannot be reached (${clock()}). What you see may be old.`));
document.addEventListener("htmx:timeout", () => say(`The site did not answer in time (${clock()}). What you see may be old.`));
document.addEventListener("htmx:afterOnLoad", (event) => {
  if (event.detail.xhr.status < 400) bar.hidden = true;
});

// A click anywhere in a row opens it, unless it selects text or means another control.
document.addEventListener("click", (event) => {
  const row = event.target.closest("[data-row]");
  if (!row || event.defaultPrevented || event.target.closest("a, button, input, label, summary")) return;
  if (String(window.getSelection())) return;
  const link = row.querySelector("[data-row-link]");
  if (!link) return;
  if (event.ctrlKey || event.metaKey) window.open(link.href, "_blank", "noopener");
  else link.click();
});
