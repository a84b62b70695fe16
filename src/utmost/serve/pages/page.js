// Makes the pages follow: every change of a form shows its plan or picture. Nothing here is needed to use them.

const shown = document.getElementById("shown");

function following(form) {
  let waiting, request;
  const show = async () => {
    const fields = new URLSearchParams(new FormData(form));
    fields.delete("token");
    request?.abort();
    request = new AbortController();
    shown.classList.add("waiting");
    try {
      const reply = await fetch(`${form.dataset.follow}?${fields}`, { signal: request.signal });
      if (reply.ok) shown.innerHTML = await reply.text();
      shown.classList.remove("waiting");
    } catch (problem) {
      if (problem.name !== "AbortError") shown.classList.remove("waiting");
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 200);
  });
  return show;
}

// What a column's public facts say stands, in grey, where nothing is filled in.
function withFacts(form) {
  const column = form.elements.column;
  const say = () => {
    for (const field of form.querySelectorAll("[data-fact]")) {
      field.placeholder = column.selectedOptions[0]?.dataset[field.dataset.fact] ?? field.dataset.else;
    }
  };
  column.addEventListener("input", say);
  say();
}

// A slider for the privacy level, in equal factors from 0.01 to 10.
function withSlider(field) {
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: -2, max: 1, step: 0.02, value: Math.log10(Number(field.value) || 0.5) });
  slider.setAttribute("aria-label", "privacy, by a slider");
  slider.addEventListener("input", () => {
    field.value = Number((10 ** Number(slider.value)).toPrecision(2));
  });
  field.addEventListener("input", () => {
    if (Number(field.value) > 0) slider.value = Math.log10(Number(field.value));
  });
  field.after(slider);
}

for (const form of document.querySelectorAll("form[data-follow]")) {
  if (form.elements.column) withFacts(form);
  for (const field of form.querySelectorAll("[data-slider]")) withSlider(field);
  for (const slider of form.querySelectorAll("input[type=range]")) {
    const told = form.querySelector(`output[for="${slider.id}"]`);
    if (told) slider.addEventListener("input", () => (told.value = slider.value));
  }
  const show = following(form);
  if (form.method === "post" && !shown.querySelector("dl, .problem")) show();
}

for (const form of document.querySelectorAll("form[data-choose]")) {
  form.addEventListener("change", () => form.requestSubmit());
}
