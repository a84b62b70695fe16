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
  const growth = growthBelow(form.privacy);
  if (!atMost(together, growth)) {
    throw new Error("The numbers of this form do not prove what it promises in all.");
  }
  if (!atMost(growth, MOST_ODDS)) {
    throw new Error("The form promises next to nothing: somebody who sees your response could be sure of your answers.");
  }
}

/** The largest e^epsilon that the page can state: a guess is right at most 99.999 times in 100. */
const MOST_ODDS = [99999n, 1n];

/** Whether a form promises less than epsilon = 5 does, so that taking part has to be accepted. */
export function isWeak(form) {
  return !atMost(growthBelow(form.privacy), growthBelow({ kind: "pure", epsilon: "5" }));
}

/** How often in 100 something of odds a : b happens, never sounding smaller than it is: rounded up, near 100 finely. */
export function timesInHundred([a, b]) {
  const up = (scale) => Number((100n * scale * a + a + b - 1n) / (a + b)) / Number(scale);
  return String(100n * a < 99n * (a + b) ? up(1n) : up(1000n));
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
const MOST_BUTTONS = 12; // up to so many answers are buttons; more are a list to choose from

/** A new element with attributes, texts and other elements in it. */
function element(kind, attributes = {}, ...content) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

/** An answer in words. */
const words = (name) => (typeof name === "string" ? name : JSON.stringify(name));

/** A level as experts write it. */
const levelWords = ({ epsilon, ratio }) => `${ratio === undefined ? epsilon : `ln(${ratio})`}-DP`;

/** Everything a person reads before answering, from the form that was proved and that responses are drawn from. */
function render(form, identity, send) {
  const counted = form.questions.length > 1 ? "all your responses together" : "your response";
  document.title = byId("title").textContent = form.title;
  const parts = form.introduction.split("\n").filter((part) => part.trim());
  byId("introduction").append(...parts.map((part) => element("p", {}, part)));
  byId("guess").textContent = `Somebody who sees ${counted}, and thought two of your possible answers equally likely, ` +
    `can guess the right one at most ${timesInHundred(growthBelow(form.privacy))} times in 100. Without it: 50 times.`;
  byId("shares").append(...form.questions.map((question) => {
    const k = question.categories.length, s = question.size, named = BigInt(question.named);
    const several = s > 1 ? ` (it names ${s} of the ${k} answers)` : "";
    const times = timesInHundred([named, BigInt(question.of) - named]);
    return element("li", {}, `${question.question || form.title}: ${levelWords(question.privacy)}, and the response ` +
      `names your own answer at most ${times} times in 100${several}, and by chance others instead`);
  }));
  byId("level").textContent = `In the language of experts: ${levelWords(form.privacy)} for ${counted} (local ` +
    "differential privacy). This page has checked the numbers behind it, and draws from the same numbers. " +
    `Form ${identity.slice(0, 16)}.`;
  byId("promise").hidden = false;
  byId("asked").append(...form.questions.map((question, i) => fieldFor(question, i, form)));
  byId("weak").hidden = !isWeak(form);
  byId("sending").textContent = send ? "Send it" : "Hand it in";
}

/** One question: buttons, or a list where there are many answers. */
function fieldFor(question, number, form) {
  const name = `q${number}`, answers = question.categories.map(words);
  const body = answers.length <= MOST_BUTTONS
    ? answers.map((answer, i) => element("label", { class: "answer" },
        element("input", { type: "radio", name, value: i }), element("span", {}, answer)))
    : [element("label", { for: name, class: "small" }, "Your answer"),
       element("select", { id: name }, element("option", { value: "" }, "Choose…"),
         ...answers.map((answer, i) => element("option", { value: i }, answer)))];
  return element("fieldset", { "data-question": "" }, element("legend", {}, question.question || form.title), ...body);
}

function start() {
  const { form, identity, send } = JSON.parse(byId("form-data").textContent);
  const place = `utmost-form-${identity}`;
  try {
    checkForm(form);
    render(form, identity, send);
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
    if (missing >= 0 || (isWeak(form) && !accept.checked)) {
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
      description.textContent = named.map(words).join(", ");
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
  byId("promise").hidden = byId("questions").hidden = true;
  byId("reason").textContent = reason;
}

if (typeof document !== "undefined" && byId("form-data")) start();
