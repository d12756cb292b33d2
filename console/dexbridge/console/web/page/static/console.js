"use strict";
// Keeps the page as the server would show it now: an event says that something changed, the page is read again, and
// only the parts that differ are replaced. Without this script everything works, but does not move by itself.
(() => {
  const address = document.body.dataset.live;
  if (!address) return;
  const light = document.getElementById("light");
  const served = new Map();
  for (const part of document.querySelectorAll("[data-part]")) served.set(part.id, part.outerHTML);
  let reading = false;
  let again = false;

  const say = (word) => {
    if (light.textContent !== word) light.textContent = word;
    light.dataset.state = word;
  };

  const read = async () => {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.redirected) {
        location.reload();
        return;
      }
      if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      // The server is away; the event stream says when it is back.
    } finally {
      reading = false;
    }
    if (again) {
      again = false;
      setTimeout(read, 100);
    }
  };

  const show = (page) => {
    document.title = page.title;
    for (const part of page.querySelectorAll("[data-part]")) {
      const old = document.getElementById(part.id);
      if (!old || served.get(part.id) === part.outerHTML) continue;
      served.set(part.id, part.outerHTML);
      replace(old, document.adoptNode(part));
    }
  };

  // What a person has begun to write, opened or is on stays.
  const replace = (old, part) => {
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    for (const field of old.querySelectorAll("textarea[id]")) {
      const same = part.querySelector(`#${CSS.escape(field.id)}`);
      if (same && field.value) same.value = field.value;
    }
    for (const details of old.querySelectorAll("details[id][open]")) {
      const same = part.querySelector(`#${CSS.escape(details.id)}`);
      if (same) same.open = true;
    }
    const caret = active && "selectionStart" in active ? [active.selectionStart, active.selectionEnd] : null;
    old.replaceWith(part);
    if (!active) return;
    const same = active.id && document.getElementById(active.id);
    if (same) {
      same.focus({ preventScroll: true });
      if (caret && same.setSelectionRange) same.setSelectionRange(...caret);
    } else {
      document.getElementById("main").focus({ preventScroll: true });
    }
  };

  // What the model is writing; not stored, and gone as soon as something is.
  const write = (text) => {
    const draft = document.getElementById("draft");
    if (!draft) return;
    draft.textContent = text ? draft.textContent + text : "";
    draft.hidden = draft.textContent === "";
  };

  let events = null;
  const connect = () => {
    if (document.hidden) return;
    events = new EventSource(address);
    events.onopen = () => {
      say("live");
      read();
    };
    events.addEventListener("changed", () => {
      write("");
      read();
    });
    events.addEventListener("text", (event) => write(JSON.parse(event.data).text));
    events.onerror = () => {
      say("waiting");
      if (events && events.readyState === EventSource.CLOSED) {
        // Refused, not merely lost: perhaps the login is over. Reading the page finds out.
        events = null;
        setTimeout(() => {
          read();
          if (!events) connect();
        }, 2000);
      }
    };
  };
  connect();

  // Browsers open six connections to a server and no more; windows nobody looks at ask now and then instead.
  document.addEventListener("visibilitychange", () => {
    if (events) events.close();
    events = null;
    if (document.hidden) say("resting");
    else connect();
  });
  setInterval(() => {
    if (document.hidden) read();
  }, 15000);

  document.addEventListener("submit", (event) => {
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "1";
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
})();
