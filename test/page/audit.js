// Runs in the browser and evaluates to a list of problems.
(() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isSeen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  if (document.documentElement.lang === '') wrong.push('the document has no language');
  if (all('h1').length !== 1) wrong.push('there is not one h1');
  for (const landmark of ['header', 'main', 'footer', 'nav[aria-label]']) {
    if (all(landmark).length !== 1) wrong.push(`there is not one ${landmark}`);
  }
  for (const section of all('section')) {
    const by = section.getAttribute('aria-labelledby');
    const name = by === null ? section.getAttribute('aria-label') : document.getElementById(by)?.textContent;
    if (!name) wrong.push(`a section has no name: ${section.className}`);
  }
  for (const control of all('a, button')) {
    const shown = control.textContent.trim();
    const name = control.getAttribute('aria-label') ?? shown;
    if (name === '') wrong.push(`a control has no name: ${control.outerHTML.slice(0, 80)}`);
    if (!name.includes(shown)) wrong.push(`"${shown}" is called something else: ${name}`);
  }
  const names = all('button').map((button) => button.getAttribute('aria-label') ?? button.textContent);
  if (new Set(names).size !== names.length) wrong.push('two buttons have the same name');
  for (const picture of all('svg')) {
    if (picture.getAttribute('aria-hidden') === 'true') continue;
    if (!picture.getAttribute('aria-label')) wrong.push('a plot has no text');
  }
  for (const table of all('table')) {
    if (table.caption === null) wrong.push('a table has no caption');
    for (const head of table.querySelectorAll('th')) if (head.scope === '') wrong.push('a column has no scope');
  }
  for (const bar of all('[role=progressbar]')) {
    if (!bar.getAttribute('aria-label')) wrong.push('a progress bar has no name');
  }
  const ids = all('[id]').map((element) => element.id);
  if (new Set(ids).size !== ids.length) wrong.push('two elements have the same id');
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page is wider than the window');

  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const channel = (value) => (value <= 0.03928 * 255 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([red, green, blue]) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
  const groundOf = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const opacityOf = (element) => {
    let opacity = 1;
    for (let at = element; at !== null; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    return opacity;
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (words.currentNode.textContent.trim() === '' || !isSeen(element) || element.closest('style, script, .sr'))
      continue;
    const ground = groundOf(element);
    const opacity = opacityOf(element);
    const ink = parse(getComputedStyle(element).color).map(
      (value, nth) => value * opacity + ground[nth] * (1 - opacity),
    );
    const [dark, light] = [luminance(ink), luminance(ground)].sort((left, right) => left - right);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5)
      wrong.push(`contrast ${contrast.toFixed(2)}: ${words.currentNode.textContent.trim().slice(0, 40)}`);
  }
  return [...new Set(wrong)];
})();
