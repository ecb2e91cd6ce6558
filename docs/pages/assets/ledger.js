// Filters of the table of statements: a row is shown if it has every chosen value and every word that is searched.
(function () {
  const form = document.querySelector(".ledger-filters");
  if (!form) return;
  const rows = Array.from(document.querySelectorAll(".ledger-table tbody tr"));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const names = ["paper", "finding", "evidence"];

  function filter() {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, k) => {
      const chosen = names.every((name) => !form.elements[name].value || row.dataset[name] === form.elements[name].value);
      row.hidden = !(chosen && words.every((word) => texts[k].includes(word)));
      if (!row.hidden) shown += 1;
    });
    form.querySelector("output").textContent = shown + " of " + rows.length;
    const state = new URLSearchParams();
    ["words", ...names].forEach((name) => { if (form.elements[name].value) state.set(name, form.elements[name].value); });
    history.replaceState(null, "", state.toString() ? "#" + state : location.pathname.split("/").pop());
  }

  new URLSearchParams(location.hash.slice(1)).forEach((value, name) => { if (form.elements[name]) form.elements[name].value = value; });
  form.addEventListener("input", filter);
  filter();
})();
