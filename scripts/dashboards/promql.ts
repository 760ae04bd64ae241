/** Extracts the names in a PromQL expression from its text. Prometheus checks the syntax. Pure. */

const references = new Set(
  (
    'by without on ignoring group_left group_right and or unless bool offset sum min max avg count stddev stdvar ' +
    'topk bottomk quantile count_values group inf nan'
  ).split(' '),
);

export interface Selector {
  readonly metric: string;
  /** Names of the labels in the matchers of the selector. */
  readonly labels: readonly string[];
}

/** All series selectors, in the order of the text. */
export function selectorsOf(expr: string): readonly Selector[] {
  const exprWithoutStrings = withoutLists(expr.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));
  const selectors: Selector[] = [];
  for (const match of exprWithoutStrings.matchAll(/([a-zA-Z_:][\w:]*)\s*(\(|\{([^}]*)\})?/g)) {
    const [, name = '', matchSuffix, innerText = ''] = match;
    const precedingChar = exprWithoutStrings[match.index - 1] ?? '';
    // A name preceded by a digit or `[` is the unit of a number or of a duration.
    if (matchSuffix === '(' || references.has(name.toLowerCase()) || /[\d[$]/.test(precedingChar)) continue;
    selectors.push({
      metric: name,
      labels: [...innerText.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, labelName = '']) => labelName),
    });
  }
  return selectors;
}

/** Ranges of `rate`, `irate` and `increase`, e.g. `$__rate_interval`. */
export function rateRanges(expr: string): readonly string[] {
  return [...expr.matchAll(/\b(?:rate|irate)\s*\([^[]*\[([^\]]*)\]/g)].map(([, range = '']) => range);
}

/** Removes lists of labels, as in `by (le)` and `on (x) group_left (y)`, and durations, as in `[5m]`. */
function withoutLists(expr: string): string {
  return expr
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ');
}
