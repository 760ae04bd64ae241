/** Grafana's substitutions for `$name`, `${name:format}` and the macros of its PostgreSQL data source. Pure. */

/** Time range of a dashboard and interval between its points, milliseconds. */
export interface View {
  readonly fromMs: number;
  readonly toMs: number;
  readonly intervalMs: number;
  /** Scrape interval, milliseconds. */
  readonly scrapeMs: number;
}

/** Selected values of a variable. `all` is used instead of "All" if the variable defines a value for it. */
export type Choice = { readonly values: readonly string[]; readonly all?: string | undefined };
export type Choices = ReadonlyMap<string, Choice>;

/** A duration in the format of PromQL and `$__interval`: `500ms`, `15s`, `2m`, `1h`, `1d`. */
export function duration(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const;
  const unit = units.find(([, size]) => ms >= size && ms % size === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}

/** Parses `15s`, `5m`, `1h` or `1d` to milliseconds. @throws Error for other formats */
export function milliseconds(text: string): number {
  const [, count = '', unit = ''] = /^(\d+)(ms|s|m|h|d|w)$/.exec(text.trim()) ?? [];
  const size = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }[unit];
  if (size === undefined) throw new Error(`"${text}" is not an interval`);
  return Number(count) * size;
}

/**
 * Substitutes the variables of the view and of the dashboard in PromQL.
 * @throws Error that names an unknown variable
 */
export function expandPromQl(expr: string, view: View, choices: Choices): string {
  const rate = Math.max(view.intervalMs + view.scrapeMs, 4 * view.scrapeMs);
  return replaceVariables(expr, (name, format) => {
    if (name === '__rate_interval') return duration(rate);
    return globalOf(name, view) ?? chosenValues(name, format ?? 'regex', choices);
  });
}

/**
 * Substitutes variables and macros in SQL. As in Grafana, the arguments of a macro end at the first `)`. A function
 * call inside a macro fails there, so it must fail here too.
 * @throws Error that names an unknown variable or macro
 */
export function expandSql(sql: string, view: View, choices: Choices): string {
  const text = replaceVariables(sql, (name, format, match) => {
    if (name.startsWith('__')) return globalOf(name, view) ?? match;
    return chosenValues(name, format ?? 'raw', choices);
  });
  return text.replaceAll(/\$(__\w+)\b\(([^)]*)\)/g, (_, macro: string, argumentList: string) =>
    expandMacro(
      macro,
      argumentList.split(/,\s*/).map((argument) => argument.trim()),
      view,
    ),
  );
}

function expandMacro(macro: string, args: readonly string[], view: View): string {
  const [column = '', width = ''] = args;
  const [from, to] = [quoteTime(view.fromMs), quoteTime(view.toMs)];
  const isColumnNeeded = column === '' && !['__timeFrom', '__timeTo'].includes(macro);
  if (isColumnNeeded) throw new Error(`missing time column argument for macro ${macro}`);
  switch (macro) {
    case '__time':
      return `${column} AS "time"`;
    case '__timeEpoch':
      return `extract(epoch from ${column}) as "time"`;
    case '__timeFilter':
      return `${column} BETWEEN ${from} AND ${to}`;
    case '__timeFrom':
      return from;
    case '__timeTo':
      return to;
    case '__timeGroup':
      return group(column, width);
    case '__timeGroupAlias':
      return `${group(column, width)} AS "time"`;
    case '__unixEpochFilter':
      return `${column} >= ${Math.floor(view.fromMs / 1000)} AND ${column} <= ${Math.floor(view.toMs / 1000)}`;
    default:
      throw new Error(`unknown macro $${macro}`);
  }
}

function group(column: string, width: string): string {
  const seconds = milliseconds(width.replaceAll(/['"]/g, '')) / 1000;
  return `floor(extract(epoch from ${column})/${seconds})*${seconds}`;
}

function quoteTime(ms: number): string {
  return `'${new Date(ms).toISOString()}'`;
}

function globalOf(name: string, view: View): string | undefined {
  switch (name) {
    case '__interval':
      return duration(view.intervalMs);
    case '__interval_ms':
      return String(view.intervalMs);
    case '__range':
      return duration(Math.round((view.toMs - view.fromMs) / 1000) * 1000);
    case '__range_s':
      return String(Math.round((view.toMs - view.fromMs) / 1000));
    case '__from':
      return String(view.fromMs);
    case '__to':
      return String(view.toMs);
    default:
      return undefined;
  }
}

function chosenValues(name: string, format: string, choices: Choices): string {
  const choice = choices.get(name);
  if (choice === undefined) throw new Error(`unknown variable $${name}`);
  const { values, all: allValue } = choice;
  if (allValue !== undefined) return allValue;
  switch (format) {
    case 'sqlstring':
      return values.map((value) => `'${value.replaceAll("'", "''")}'`).join(',');
    case 'regex':
      return values.length === 1 ? escapePattern(values[0] ?? '') : `(${values.map(escapePattern).join('|')})`;
    case 'raw':
      return values.join(',');
    default:
      throw new Error(`unknown format :${format} of $${name}`);
  }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\\$&`);
}

type VariableReplacer = (name: string, format: string | undefined, match: string) => string;

/** Matches `$name`, `${name}` and `${name:format}`, but not a `$1` in a regular expression. */
function replaceVariables(text: string, replace: VariableReplacer): string {
  return text.replaceAll(
    /\$\{([A-Za-z_]\w*)(?::(\w+))?\}|\$([A-Za-z_]\w*)/g,
    (match, bracedName: string | undefined, format: string | undefined, bareVariable: string | undefined) =>
      replace(bracedName ?? bareVariable ?? '', format, match),
  );
}
