(() => {
  'use strict';
  // What is folded away belongs on paper.
  let folded = [];
  addEventListener('beforeprint', () => {
    folded = [...document.querySelectorAll('details:not([open])')];
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener('afterprint', () => folded.forEach((one) => { one.open = false; }));

  const valueOf = (cell, kind) => {
    if (kind === 'text') return cell.textContent.trim().toLowerCase();
    const text = cell.dataset.value;
    return text === undefined || text === '' ? NaN : Number(text);
  };
  // Cells without a value come last, whatever the direction.
  const compare = (a, b, sign) => {
    const missing = (value) => value === '' || Number.isNaN(value);
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return (a < b ? -1 : a > b ? 1 : 0) * sign;
  };
  const sort = (table, column, header) => {
    const ascending = header.getAttribute('aria-sort') !== 'ascending';
    for (const other of header.parentElement.cells) other.removeAttribute('aria-sort');
    header.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    const kind = header.dataset.sort;
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [valueOf(row.cells[column], kind), row]);
    keyed.sort((x, y) => compare(x[0], y[0], ascending ? 1 : -1));
    body.append(...keyed.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll('table.sortable')) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      if (!header.dataset.sort) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener('click', () => sort(table, column, header));
    });
  }

  for (const form of document.querySelectorAll('form.filter')) {
    const rows = [...document.getElementById(form.dataset.table).tBodies[0].rows];
    const apply = () => {
      const words = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const shown = rows.filter((row) => {
        const text = row.textContent.replaceAll('\u00a0', ' ').toLowerCase();
        const fits = words.every((word) => text.includes(word))
          && (form.arm.value === '' || row.dataset.arm === form.arm.value)
          && (form.verdict.value === '' || row.dataset.verdict === form.verdict.value);
        row.hidden = !fits;
        return fits;
      });
      form.querySelector('output').value = `${shown.length} of ${rows.length} rows`;
    };
    form.addEventListener('input', apply);
    form.addEventListener('submit', (event) => event.preventDefault());
    form.hidden = false;
    apply();
  }

  // What scrolls sideways must be within reach of the keyboard, in every browser.
  const reach = () => {
    for (const one of document.querySelectorAll('.chart')) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
      else one.removeAttribute('tabindex');
    }
  };
  addEventListener('resize', reach);
  document.addEventListener('toggle', reach, true);
  reach();
})();
