/** Extracts the names in a PromQL expression from its text. Prometheus checks the syntax. Pure. */

const words = new Set(
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
  const bare = withoutLists(expr.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));
  const found: Selector[] = [];
  for (const match of bare.matchAll(/([a-zA-Z_:][\w:]*)\s*(\(|\{([^}]*)\})?/g)) {
    const [, name = '', after, inner = ''] = match;
    const before = bare[match.index - 1] ?? '';
    // A name preceded by a digit or `[` is the unit of a number or of a duration.
    if (after === '(' || words.has(name.toLowerCase()) || /[\d[$]/.test(before)) continue;
    found.push({ metric: name, labels: [...inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label) });
  }
  return found;
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
