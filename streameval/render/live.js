"use strict";

/* Swaps in what the server has rendered; without it, the page is complete and reloads. */
(() => {
  const RETRY = 5000;
  const REFRESH = 5000;
  const UNITS = [["d", 86400], ["h", 3600], ["min", 60]];
  let source = null;
  let timer = 0;
  let state = "connecting";

  const live = () => document.getElementById("live");

  /* a page is live while the newest row is recent, by the clock of the browser */
  const described = () => {
    if (state !== "connected") return state === "lost" ? "connection lost, trying again" : state;
    const seconds = Date.now() / 1000 - Number(live().dataset.newest ?? NaN);
    if (Number.isNaN(seconds)) return "connected";
    if (seconds < 60) return "live";
    const [unit, size] = UNITS.find(([, size]) => seconds >= size);
    return `${Math.floor(seconds / size)} ${unit} behind`;
  };

  const say = (next = state) => {
    state = next;
    const shown = document.getElementById("connection");
    const text = described();
    if (shown.textContent !== text) shown.textContent = text;
    shown.className = text === "live" ? "live" : text.endsWith("behind") ? "behind" : state;
  };

  /* times are written in UTC; here, in the time zone of the viewer too */
  const localize = (part) => {
    for (const time of part.querySelectorAll("time")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime()) || !at.getTimezoneOffset()) continue;
      const utc = time.textContent.replace(" UTC", "");
      const local = at.toLocaleString("sv").slice(0, utc.length);
      time.textContent = `${local} (${local.slice(0, 10) === utc.slice(0, 10) ? utc.slice(11) : utc} UTC)`;
    }
  };

  const show = (markup) => {
    const old = live();
    const next = new DOMParser().parseFromString(markup, "text/html").getElementById("live");
    localize(next);
    const focus = document.activeElement && document.activeElement.id;
    const scrolled = new Map();
    for (const part of old.querySelectorAll(".scroll[id]")) {
      scrolled.set(part.id, [part.scrollLeft, part.scrollTop]);
    }
    for (const part of old.querySelectorAll("details[open]")) {
      const fresh = next.querySelector(`#${part.id}`);
      if (fresh) fresh.open = true;
    }
    for (const fresh of next.querySelectorAll("article[id]")) {
      const before = document.getElementById(fresh.id);
      if (!before) continue;
      before.classList.remove("changed");
      if (before.isEqualNode(fresh)) fresh.replaceWith(before);
      else fresh.classList.add("changed");
    }
    old.replaceWith(next);
    for (const [id, [left, top]] of scrolled) {
      const part = document.getElementById(id);
      if (part) part.scrollTo(left, top);
    }
    if (focus && document.activeElement === document.body) {
      const part = document.getElementById(focus);
      if (part) part.focus({ preventScroll: true });
    }
    document.title = next.dataset.title;
    document.querySelector("link[rel=icon]").href = `icon.svg?${next.dataset.state}`;
    const announcement = document.getElementById("announcement");
    if (announcement.textContent !== next.dataset.summary) {
      announcement.textContent = next.dataset.summary;
    }
    say();
  };

  const open = () => {
    clearTimeout(timer);
    if (source || document.hidden) return;
    source = new EventSource(`events?after=${live().dataset.version}`);
    source.addEventListener("open", () => say("connected"));
    source.addEventListener("update", (event) => show(event.data));
    source.addEventListener("error", () => {
      say("lost");
      if (source && source.readyState === EventSource.CLOSED) {
        close();
        timer = setTimeout(open, RETRY);
      }
    });
  };

  const close = () => {
    if (source) source.close();
    source = null;
  };

  /* browsers allow few connections to a host: hidden tabs hold none */
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  setInterval(() => say(), REFRESH);
  localize(live());
  open();
})();
