"use strict";

/* Swaps in what the server has rendered; without it, the page is complete and reloads. */
(() => {
  const RETRY = 5000;
  let source = null;
  let timer = 0;
  let state = ["connecting", ""];

  const live = () => document.getElementById("live");

  const say = (text, name) => {
    state = [text, name];
    const shown = document.getElementById("connection");
    shown.textContent = text;
    shown.className = name;
  };

  const show = (markup) => {
    const old = live();
    const next = new DOMParser().parseFromString(markup, "text/html").getElementById("live");
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
    const announcement = document.getElementById("announcement");
    if (announcement.textContent !== next.dataset.summary) {
      announcement.textContent = next.dataset.summary;
    }
    say(...state);
  };

  const open = () => {
    clearTimeout(timer);
    if (source || document.hidden) return;
    source = new EventSource(`events?after=${live().dataset.version}`);
    source.addEventListener("open", () => say("live", "live"));
    source.addEventListener("update", (event) => show(event.data));
    source.addEventListener("error", () => {
      say("connection lost, trying again", "lost");
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
  open();
})();
