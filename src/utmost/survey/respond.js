// The respondent's browser draws: nothing but the drawn response ever leaves this page.
//
// The law is exactly that of Python's `respond`: a response names the true answer with probability named/of, integers
// from the form, and is otherwise a uniform set. All arithmetic is in BigInt; randomness is crypto.getRandomValues.

// ---- what the form promises, proved again ----

/** "3/2" or "2" as [numerator, denominator]. */
function rational(text) {
  if (!/^\d+(\/[1-9]\d*)?$/.test(text)) throw new Error(`${text} is not a number of this form.`);
  const [p, q = "1"] = text.split("/");
  return [BigInt(p), BigInt(q)];
}

/** A rational at or below e^epsilon: the ratio itself, or the first terms of the exponential series. */
export function growthBelow(level) {
  if (level.kind !== "pure") throw new Error("The form does not have a pure level.");
  if (level.ratio !== undefined) return rational(level.ratio);
  const [p, q] = rational(level.epsilon);
  const terms = 100n + 8n * (p / q + 1n);
  if (terms > 3000n) throw new Error("The form promises next to nothing.");
  let sum = 1n, term = 1n, scale = 1n; // sum / scale is the series so far, term / scale its last term
  for (let j = 1n; j <= terms; j++) {
    term *= p;
    sum = sum * q * j + term;
    scale *= q * j;
  }
  return [sum, scale];
}

/** How many times likelier a response is if it names the true answer: [numerator, denominator]. */
function odds(question) {
  const k = BigInt(question.categories.length), s = BigInt(question.size);
  const named = BigInt(question.named), of = BigInt(question.of);
  return [named * (k - s), (of - named) * s];
}

const atMost = ([a, b], [c, d]) => a * d <= c * b;

/** Refuse a form whose integers do not prove the level of every question, and all together the total. */
export function checkForm(form) {
  if (form.format !== "utmost-form" || form.version !== 1 || !form.questions?.length) {
    throw new Error("This is not a form that this page can read.");
  }
  let together = [1n, 1n];
  for (const question of form.questions) {
    const k = question.categories.length, s = question.size;
    const names = new Set(question.categories.map((name) => JSON.stringify(name)));
    if (!Number.isInteger(s) || s < 1 || s >= k || names.size !== k || !/^\d+$/.test(question.named) ||
        !/^\d+$/.test(question.of) || BigInt(question.named) >= BigInt(question.of)) {
      throw new Error("A question of this form is not well made.");
    }
    const found = odds(question);
    if (!atMost([1n, 1n], found) || !atMost(found, growthBelow(question.privacy))) {
      throw new Error("The numbers of this form do not prove what it promises for a question.");
    }
    together = [together[0] * found[0], together[1] * found[1]];
  }
  if (!atMost(together, growthBelow(form.privacy))) {
    throw new Error("The numbers of this form do not prove what it promises in all.");
  }
}

/** The most that somebody who sees everything, and held two answers for equally likely, can be sure of one: a share. */
export function surest(form) {
  const [a, b] = growthBelow(form.privacy);
  return Number(((a * 10n ** 12n) / (a + b))) / 1e12;
}

// ---- the draw ----

const pool = new Uint32Array(1024);
let left = 0;

/** 32 bits of the system's randomness, fetched some at a time; none is used twice. */
function randomWord() {
  if (left === 0) {
    crypto.getRandomValues(pool);
    left = pool.length;
  }
  const word = pool[--left];
  pool[left] = 0;
  return word;
}

/** A uniform whole number below n, exactly: as many bits as n has, thrown away where they are n or more. */
export function uniformBelow(n) {
  const bits = (n - 1n).toString(2).length;
  for (;;) {
    let number = 0n;
    for (let have = 0; have < bits; have += 32) number = (number << 32n) | BigInt(randomWord());
    number = BigInt.asUintN(bits, number);
    if (number < n) return number;
  }
}

/** The same for a number below 2^32, in plain numbers. */
function placeBelow(n) {
  const spare = Math.clz32(n - 1);
  for (;;) {
    const number = n > 1 ? randomWord() >>> spare : 0;
    if (number < n) return number;
  }
}

/** The positions that a response to one question names, in order; `truth` is the position of the true answer. */
export function draw(question, truth) {
  const k = question.categories.length, s = question.size;
  const chosen = []; // a uniform set among the other answers (Floyd)
  for (let newest = k - 1 - s; newest < k - 1; newest++) {
    const drawn = placeBelow(newest + 1);
    chosen.push(chosen.includes(drawn) ? newest : drawn);
  }
  const others = chosen.map((place) => (place >= truth ? place + 1 : place));
  const gone = placeBelow(s);
  if (uniformBelow(BigInt(question.of)) < BigInt(question.named)) others[gone] = truth;
  return others.sort((a, b) => a - b);
}

/** What is sent: the form it belongs to, a random number that lets a collector drop copies, and the responses. */
export function respond(form, identity, truths) {
  const responses = form.questions.map((question, i) => {
    const names = draw(question, truths[i]).map((place) => question.categories[place]);
    return question.size === 1 ? names[0] : names;
  });
  const receipt = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  return { form: identity.slice(0, 16), receipt, responses };
}

// ---- the page ----

const byId = (id) => document.getElementById(id);

function start() {
  const { form, identity, send } = JSON.parse(byId("form-data").textContent);
  const place = `utmost-form-${identity}`;
  try {
    checkForm(form);
  } catch (problem) {
    return stop(`${problem.message} Nothing was asked and nothing was sent.`);
  }
  let kept;
  try {
    localStorage.setItem(`${place}-try`, "1");
    localStorage.removeItem(`${place}-try`);
    kept = localStorage.getItem(place);
  } catch {
    return stop("This browser keeps nothing, so opening the page again would draw again and tell more about you. " +
      "Please open it in an ordinary window.");
  }
  byId("loading").hidden = true;
  if (kept) show(JSON.parse(kept), true);
  else byId("questions").hidden = false;

  byId("questions").addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = [...document.querySelectorAll("[data-question]")];
    const truths = fields.map((field) => {
      const chosen = field.querySelector("input:checked, select");
      return chosen && chosen.value !== "" ? Number(chosen.value) : -1;
    });
    const accept = byId("accept");
    const missing = truths.indexOf(-1);
    if (missing >= 0 || (accept && !accept.checked)) {
      const where = missing >= 0 ? fields[missing].querySelector("input, select") : accept;
      byId("missing").textContent = missing >= 0
        ? `Please answer question ${missing + 1}: ${fields[missing].querySelector("legend").textContent}`
        : "Please tick the box if you want to take part under this weak promise.";
      where.focus();
      return;
    }
    byId("missing").textContent = "";
    const already = localStorage.getItem(place); // another tab may have been quicker
    const sent = already ? JSON.parse(already) : { response: respond(form, identity, truths), sent: false };
    localStorage.setItem(place, JSON.stringify(sent)); // kept before it is shown
    byId("questions").reset(); // the true answers are forgotten
    show(sent, Boolean(already));
  });

  function show(state, again) {
    byId("questions").hidden = true;
    byId("review").hidden = false;
    byId("again").hidden = !again;
    const list = byId("responses");
    list.replaceChildren();
    form.questions.forEach((question, i) => {
      const named = question.size === 1 ? [state.response.responses[i]] : state.response.responses[i];
      const term = document.createElement("dt"), description = document.createElement("dd");
      term.textContent = question.question || form.title;
      description.textContent = named.map((name) => (typeof name === "string" ? name : JSON.stringify(name))).join(", ");
      list.append(term, description);
    });
    byId("text").value = JSON.stringify(state.response);
    if (send) byId("send").hidden = false;
    if (state.sent) sent();
    byId("review-title").focus();
  }

  function sent() {
    byId("send").disabled = true;
    byId("send").textContent = "Sent";
    byId("review-title").textContent = "This is what was sent, and nothing else";
    byId("status").textContent = "Your response was sent. Thank you! You can close this page.";
  }

  byId("send").addEventListener("click", async () => {
    const state = JSON.parse(localStorage.getItem(place));
    byId("status").textContent = "Sending…";
    try {
      const reply = await fetch(send, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(state.response),
        credentials: "omit", referrerPolicy: "no-referrer",
      });
      if (!reply.ok) throw new Error();
      localStorage.setItem(place, JSON.stringify({ ...state, sent: true }));
      sent();
    } catch {
      byId("status").textContent =
        "It could not be sent. Try again later on this device: the same response is kept. Or copy it and send it yourself.";
    }
  });
  byId("copy").addEventListener("click", async () => {
    byId("text").select();
    try {
      await navigator.clipboard.writeText(byId("text").value);
      byId("status").textContent = "Copied.";
    } catch {
      byId("status").textContent = "The text is selected: press Ctrl+C, or ⌘C, to copy it.";
    }
  });
  byId("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([byId("text").value + "\n"], { type: "application/json" }));
    link.download = "response.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

function stop(reason) {
  byId("loading").hidden = true;
  byId("refused").hidden = false;
  byId("reason").textContent = reason;
}

if (typeof document !== "undefined" && byId("form-data")) start();
