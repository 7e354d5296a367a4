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
  const UTC = /(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?: UTC)?/;
  const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  const ZONE = new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium" });

  const zoned = (day, time) => {
    const at = new Date(`${day}T${time}Z`);
    return Number.isNaN(at.getTime()) ? "" : ZONE.format(at).slice(0, day.length + 1 + time.length);
  };

  const beside = (_, day, time) => {
    const local = zoned(day, time);
    if (!local || local === `${day} ${time}`) return _;
    return `${local} (${local.startsWith(day) ? time : `${day} ${time}`} UTC)`;
  };

  /* tables have no space for both: UTC is in their tooltips */
  const localizeTable = (table) => {
    const head = table.tHead.rows[0].cells[0];
    const starts = [...table.tBodies[0].rows].map((row) => row.cells[0]);
    const found = starts.map((cell) =>
      /^(?:(\d{4}-\d\d-\d\d)[T ])?(\d\d:\d\d(?::\d\d)?)(.*)$/.exec(cell.textContent));
    if (!starts.length || found.includes(null)) return;
    const local = found.map(([, day, time]) => zoned(day ?? head.textContent, time));
    if (local.includes("")) return;
    const days = new Set(local.map((text) => text.slice(0, 10)));
    starts.forEach((cell, index) => {
      const [, day, time, rest] = found[index];
      cell.title = `${day ?? head.textContent} ${time} UTC`;
      cell.textContent = (days.size === 1 ? local[index].slice(11) : local[index]) + rest;
    });
    head.textContent = days.size === 1 ? [...days][0] : "Start";
  };

  /* days stay in UTC, times of day do not; a tick at midnight has the day instead */
  const localizeAxis = (picture) => {
    const ticks = [...picture.querySelectorAll("[data-at]")];
    const moments = ticks.map((tick) => new Date(tick.dataset.at));
    const length = Math.max(...ticks.map((tick) => tick.textContent.includes(":") * tick.textContent.length));
    if (!(length && moments.some((at) => at.getTimezoneOffset()))) return;
    const days = moments.map((at) => DAY.format(at));
    const times = moments.map((at) => ZONE.format(at).slice(11));
    ticks.forEach((tick, index) => {
      const { textContent: utc, dataset: { at } } = tick;
      const tip = document.createElementNS(tick.namespaceURI, "title");
      tip.textContent = `${at.slice(0, 10)} ${utc.includes(":") ? utc : "00:00"} UTC`;
      const isMidnight = times[index] === "00:00:00";
      tick.replaceChildren(isMidnight ? days[index] : times[index].slice(0, length), tip);
    });
    const minutes = -moments[0].getTimezoneOffset();
    const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
    const zone = `UTC${minutes < 0 ? "\u2212" : "+"}${hours}${rest ? `:${rest}` : ""}`;
    const day = times.includes("00:00:00") ? "" : `${days[0]} `;
    picture.querySelector(".name:not([transform])").textContent =
      `${day}${moments[0].getFullYear()}, ${zone}`;
  };

  const localize = (part) => {
    for (const one of part.querySelectorAll("time, dd, .within")) {
      if (!one.firstElementChild) one.textContent = one.textContent.replace(UTC, beside);
    }
    part.querySelectorAll("table").forEach(localizeTable);
    part.querySelectorAll("figure svg").forEach(localizeAxis);
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
