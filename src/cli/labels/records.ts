/**
 * Records of a label file, CSV or JSON, with their line numbers. Problems name lines and columns, never contents, because
 * labels must not get into logs.
 */

/** One record: its line in the file, and its values by column. A missing or empty value is absent. */
export interface FileRecord {
  readonly line: number;
  readonly values: ReadonlyMap<string, string>;
}

export interface LineProblem {
  readonly line: number;
  readonly problem: string;
}

interface FileRecords {
  readonly records: readonly FileRecord[];
  readonly problems: readonly LineProblem[];
}

/** The records of a file with a header line, as RFC 4180 describes it. @param columns the known columns */
export function csvRecords(text: string, columns: readonly string[]): FileRecords {
  const lines = csvLines(text.replace(/^\uFEFF/, ''));
  if (typeof lines === 'number') {
    return { records: [], problems: [{ line: lines, problem: 'a quoted value does not end, or text follows it' }] };
  }
  const [header, ...rows] = lines;
  if (header === undefined) return { records: [], problems: [{ line: 1, problem: 'there is no header line' }] };
  const names = header.cells.map((name) => name.trim());
  const problems = headerProblems(names, columns).map((problem) => ({ line: header.line, problem }));
  if (problems.length > 0) return { records: [], problems };
  const records: FileRecord[] = [];
  for (const { line, cells } of rows) {
    if (cells.length === 1 && cells[0] === '') continue;
    if (cells.length === names.length)
      records.push({ line, values: filled(names.map((name, at) => [name, cells[at] ?? ''])) });
    else problems.push({ line, problem: `expected ${String(names.length)} values, got ${String(cells.length)}` });
  }
  return { records, problems };
}

function headerProblems(names: readonly string[], columns: readonly string[]): readonly string[] {
  return names.flatMap((name, at) => {
    const column = `column ${String(at + 1)} of the header`;
    if (!columns.includes(name)) return [`${column} is not one of: ${columns.join(', ')}`];
    return names.indexOf(name) < at ? [`${column} repeats an earlier column`] : [];
  });
}

function filled(values: readonly (readonly [string, string])[]): ReadonlyMap<string, string> {
  return new Map(values.filter(([, value]) => value !== ''));
}

interface CsvLine {
  readonly line: number;
  readonly cells: readonly string[];
}

/** The lines, or the number of the line that cannot be read. */
function csvLines(text: string): readonly CsvLine[] | number {
  const lines: CsvLine[] = [];
  let cells: string[] = [];
  let [line, firstLine] = [1, 1];
  for (let at = 0; at < text.length || cells.length > 0;) {
    const isQuoted = text[at] === '"';
    const end = isQuoted ? quoteEnd(text, at + 1) : nextOf(/[",\r\n]/g, text, at);
    if (end === undefined) return line;
    const cell = text.slice(isQuoted ? at + 1 : at, end);
    cells.push(isQuoted ? cell.replaceAll('""', '"') : cell);
    line += lineBreaks(cell);
    at = isQuoted ? end + 1 : end;
    const isBreak = text[at] === '\n' || text.startsWith('\r\n', at);
    if (at < text.length && text[at] !== ',' && !isBreak) return line;
    if (text[at] === ',') {
      at += 1;
      continue;
    }
    lines.push({ line: firstLine, cells });
    at += text[at] === '\r' ? 2 : 1;
    line += 1;
    [cells, firstLine] = [[], line];
  }
  return lines;
}

/** Position of the quotation mark that ends a value; two of them are part of the value. */
function quoteEnd(text: string, from: number): number | undefined {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return undefined;
}

/** Position of the next match, or the end of the text. */
function nextOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

function lineBreaks(text: string): number {
  return text.split('\n').length - 1;
}

/** The records of a list of JSON objects, or of one JSON object after another. @param columns the known fields */
export function jsonRecords(text: string, columns: readonly string[]): FileRecords {
  const records: FileRecord[] = [];
  const problems: LineProblem[] = [];
  for (const { line, json } of jsonObjects(text)) {
    const value = json === undefined ? undefined : parsed(json);
    if (value === undefined) {
      problems.push({ line, problem: 'expected a list of JSON objects, or one JSON object per line' });
      break;
    }
    const fields = Object.entries(value);
    if (fields.some(([name]) => !columns.includes(name))) {
      problems.push({ line, problem: `a field is not one of: ${columns.join(', ')}` });
    }
    for (const [name, field] of fields) {
      if (columns.includes(name) && field !== null && typeof field === 'object') {
        problems.push({ line, problem: `${name} has to be a text, a number or a boolean` });
      }
    }
    records.push({ line, values: filled(fields.map(([name, field]) => [name, textOf(field)])) });
  }
  return { records, problems };
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** Undefined for text that is not a JSON object. The message of the parser quotes the text, so it is not used. */
function parsed(json: string): object | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The outermost objects of a list, or of the complete text, with the lines on which they begin. An entry without JSON
 * marks text that is not part of an object.
 */
function* jsonObjects(text: string): Generator<{ readonly line: number; readonly json: string | undefined }> {
  let [line, depth, start, startLine, isInList] = [1, 0, 0, 1, false];
  for (let at = text.startsWith('\uFEFF') ? 1 : 0; at < text.length;) {
    const character = text[at] ?? '';
    const next = character === '"' ? textEnd(text, at + 1) : at + 1;
    if (character === '{') {
      if (depth === 0) [start, startLine] = [at, line];
      depth += 1;
    } else if (character === '}' && depth > 0) {
      depth -= 1;
      if (depth === 0) yield { line: startLine, json: text.slice(start, next) };
    } else if (depth === 0 && character === '[' && !isInList) isInList = true;
    else if (depth === 0 && !/[\s,\]]/.test(character)) {
      yield { line, json: undefined };
      return;
    }
    line += lineBreaks(text.slice(at, next));
    at = next;
  }
  if (depth > 0) yield { line: startLine, json: undefined };
}

/** Position after the quotation mark that ends a JSON text, or the end of the file. */
function textEnd(text: string, from: number): number {
  for (let at = nextOf(/["\\]/g, text, from); at < text.length; at = nextOf(/["\\]/g, text, at + 2)) {
    if (text[at] === '"') return at + 1;
  }
  return text.length;
}
