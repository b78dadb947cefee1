// The screen of one cited source: the draft as it is typed, the hold that is renewed, and reasons where needed.
// Everything here is a help: without it the same form works by its buttons.

const form = document.getElementById("decision");
if (form) start(form);

function start(form) {
  const reason = form.elements.reason;
  const saved = form.querySelector("[data-draft]");
  const heldLine = document.querySelector("[data-held]");
  const lease = Number(form.dataset.leaseSeconds);
  const loaded = performance.now();
  let until = loaded + 1000 * Number(form.dataset.seconds);
  let renewing = false;
  let lost = false;

  // -- talking to the site ---------------------------------------------------------------------------------

  async function post(url) {
    const answer = await fetch(url, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: { "HX-Request": "true", "HX-Current-URL": window.location.href },
      signal: AbortSignal.timeout(15000),
    });
    if (answer.headers.get("HX-Redirect")) throw new Error("signed out");
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  }

  // -- the draft -------------------------------------------------------------------------------------------

  let timer = 0;
  let wait = 0;
  let changes = 0;
  let kept = 0;
  let typedSince = 0;

  function say(text, bad) {
    saved.textContent = text;
    saved.classList.toggle("is-bad", Boolean(bad));
  }

  async function keep() {
    const now = changes;
    typedSince = 0;
    try {
      const answer = await post(form.dataset.draftUrl);
      kept = Math.max(kept, now);
      wait = 0;
      say(`draft saved ${answer.saved}`);
    } catch (error) {
      wait = Math.min(30, wait ? 2 * wait : 2);
      const out = error.message === "signed out";
      say(out ? "not saved: you are signed out. Sign in in another tab; this page keeps your text and goes on trying" : "not saved, retrying", true);
      timer = window.setTimeout(keep, 1000 * wait);
    }
  }

  function changed() {
    changes += 1;
    window.clearTimeout(timer);
    // After a pause in typing, and every three seconds without one.
    typedSince ||= performance.now();
    timer = window.setTimeout(keep, performance.now() - typedSince > 3000 ? 0 : 600);
  }

  form.addEventListener("input", changed);
  window.addEventListener("pagehide", () => {
    if (kept < changes && !sent) navigator.sendBeacon(form.dataset.draftUrl, new URLSearchParams(new FormData(form)));
  });
  window.addEventListener("beforeunload", (event) => {
    // Only when the site could not be reached: otherwise what was typed is on its way.
    if (wait && kept < changes && !sent) event.preventDefault();
  });

  // -- a reason where one is needed ------------------------------------------------------------------------

  function needed() {
    reason.required = Boolean(form.querySelector("[data-says-why]:checked"));
  }

  form.addEventListener("change", needed);
  form.addEventListener("click", (event) => {
    // A role chosen by its key leads on to the reason it asks for.
    if (!event.isTrusted && event.target.matches("[data-says-why]") && !reason.value) reason.focus();
  });
  needed();

  // -- sending once ----------------------------------------------------------------------------------------

  let sent = false;
  let leaving = null;
  document.addEventListener("submit", (event) => {
    if (sent) { event.preventDefault(); return; }
    window.clearTimeout(timer);
    if (kept < changes) {
      // What was just typed is kept before any form leaves the page: neither a session that ended nor a page
      // that is drawn anew may cost it.
      event.preventDefault();
      const { target, submitter } = event;
      leaving ??= keep().then(() => {
        leaving = null;
        if (kept >= changes) target.requestSubmit(submitter);
      });
      return;
    }
    sent = event.target === form;
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });

  // -- the hold --------------------------------------------------------------------------------------------

  const left = () => Math.max(0, Math.round((until - performance.now()) / 1000));

  function show() {
    if (!heldLine || lost) return;
    const seconds = left();
    heldLine.textContent = seconds ? `held ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` : "your hold ended; nobody has taken it yet";
  }

  async function renew() {
    if (renewing || lost || sent) return;
    renewing = true;
    try {
      const answer = await post(form.dataset.renewUrl);
      if (answer.held) until = performance.now() + 1000 * answer.seconds;
      else {
        lost = true;
        heldLine.textContent = "your hold ended and somebody else has it; you can still save, both answers are kept";
        heldLine.classList.add("is-bad");
      }
    } catch {
      // Asked again at the next tick; the countdown tells how long there is.
    }
    renewing = false;
  }

  function tick() {
    show();
    if (document.visibilityState === "visible" && left() < lease / 2) renew();
  }

  window.setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
  tick();
}
