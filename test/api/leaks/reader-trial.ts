/** Sends requests of one reader to all routes of one history, and compares the answers with SQL and with the model. */
import type { Client } from 'pg';
import type { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { storedRoutes } from '../../../src/store/api/routes.ts';
import type { PrivateHistory } from '../../security/privacy-history.ts';
import { allowedRows } from '../../security/privacy-world.ts';
import { expectedRows } from './expected-rows.ts';
import { readAs, type LeakReader, type ServedHistory } from './leak-world.ts';
import { ParameterValues, requestsTo, requestTo, type LeakRequest } from './requests.ts';
import { offsetWord, VisibleWords, wordsOf } from './visible-words.ts';

export interface TrialFacts {
  readonly requests: number;
  /** Rows that were compared with SQL. */
  readonly rows: number;
  /** Words of answers that were compared with the model. */
  readonly words: number;
  /** Requests for ids that the reader may not see. */
  readonly hidden: number;
  /** Answers with an error, which were compared with the model too. */
  readonly refused: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

type Row = Readonly<Record<string, unknown>>;

/** Columns with an offset of the history. */
const offsetColumns = ['offset', 'created_at_offset', 'archived_at_offset', 'ended_at_offset'];
/** Routes whose rows are offset ranges, which all readers may see. */
const publicRanges = new Set(['coverage']);
/** Ids that no history contains. */
const unknownIds: Readonly<Record<string, string>> = {
  contract_id: '00ff',
  update_id: '1220ff',
  command_id: 'no command',
};
/** Starts of the words of ids, by parameter. */
const idStarts: Readonly<Record<string, string>> = { contract_id: '00c', update_id: '1220', command_id: 'command ' };

/** Routes whose rows are rows of one table of the model, with the columns of its key. */
const tablesOfRoutes = [
  ['contracts', 'contracts', { state: 'all' }, (row: Row) => String(row['created_at_offset'])],
  ['exercises', 'exercises', {}, (row: Row) => `${String(row['offset'])}:${String(row['node_id'])}`],
  ['updates', 'updates', {}, (row: Row) => String(row['offset'])],
  ['commands', 'completions', {}, (row: Row) => String(row['offset'])],
] as const;

export class ReaderTrial {
  readonly facts: Record<keyof TrialFacts, number> = { requests: 0, rows: 0, words: 0, hidden: 0, refused: 0 };
  readonly routesWithRows = new Set<string>();
  readonly #served: ServedHistory;
  readonly #history: PrivateHistory;
  readonly #reader: LeakReader;
  readonly #words: VisibleWords;
  readonly #values: ParameterValues;
  readonly #problems: object[] = [];

  constructor(served: ServedHistory, history: PrivateHistory, reader: LeakReader, random: Random) {
    [this.#served, this.#history, this.#reader] = [served, history, reader];
    this.#words = new VisibleWords(history);
    this.#values = new ParameterValues(random, this.#words, history.lastOffset);
  }

  /**
   * @param client session of the owner
   * @returns what differs, and words that leaked
   */
  async run(client: Client): Promise<readonly object[]> {
    await readAs(client, this.#reader, async () => {
      for (const route of storedRoutes) {
        for (const request of requestsTo(route, this.#values)) await this.#compare(request, client);
      }
    });
    for (const route of storedRoutes) await this.#compareHidden(route);
    for (const [name, table, query, keyOf] of tablesOfRoutes) await this.#compareKeys(name, table, query, keyOf);
    await this.#checkCounts();
    return this.#problems;
  }

  #report(path: string, problem: object): void {
    this.#problems.push({ reader: this.#reader.name, path, ...problem });
  }

  async #get(path: string, query: Readonly<Record<string, string>>): Promise<Answer> {
    const headers = { 'x-forwarded-for': '10.0.0.1', authorization: `Bearer ${this.#reader.token}` };
    const target = `${path}?${new URLSearchParams(query).toString()}`;
    const response = await fetch(`${this.#served.url}${target}`, { headers });
    const answer = { status: response.status, text: await response.text() };
    this.facts.requests += 1;
    if (![200, 400, 404].includes(answer.status)) this.#report(target, answer);
    if (answer.status !== 200) this.facts.refused += 1;
    this.#checkWords(path, query, answer);
    return answer;
  }

  /** No word of the answer may be hidden, except those of the request. */
  #checkWords(path: string, query: Readonly<Record<string, string>>, { text }: Answer): void {
    const { parties } = this.#reader;
    const sent = wordsOf([decodeURIComponent(path), ...Object.values(query)].join('\n'));
    const { rows = [] } = JSON.parse(text) as { readonly rows?: readonly Row[] };
    const offsets = publicRanges.has(path.replace('/api/', '')) ? [] : rows.flatMap(offsetsOf);
    for (const word of new Set([...wordsOf(text), ...offsets])) {
      if (sent.has(word)) continue;
      this.facts.words += 1;
      if (!this.#words.has(word)) this.#report(path, { query, unknown: word });
      else if (parties !== undefined && !this.#words.isVisible(word, parties))
        this.#report(path, { query, leaked: word });
    }
  }

  /** The rows of all pages; undefined if the request is refused. */
  async #rows(path: string, query: Readonly<Record<string, string>>): Promise<readonly Row[] | undefined> {
    const rows: Row[] = [];
    for (let cursor: Readonly<Record<string, string>> = {}; ;) {
      const { status, text } = await this.#get(path, { ...query, ...cursor });
      if (status !== 200) return undefined;
      const page = JSON.parse(text) as { readonly rows: readonly Row[]; readonly next: string | null };
      rows.push(...page.rows);
      if (page.next === null) return rows;
      cursor = { cursor: page.next };
    }
  }

  async #compare(request: LeakRequest, client: Client): Promise<void> {
    const { route, path, query } = request;
    if (route.answers === 'object') {
      const { status } = await this.#get(path, query);
      if (status === 200) this.routesWithRows.add(route.name);
      return;
    }
    const rows = await this.#rows(path, query);
    const expected = (await expectedRows(route, request, client)) ?? [];
    const found = (rows ?? []).map((row) => JSON.stringify(row)).sort();
    this.facts.rows += found.length;
    if (found.length > 0) this.routesWithRows.add(route.name);
    if (found.join('\n') === expected.join('\n')) return;
    const tooMany = found.filter((line) => !expected.includes(line)).slice(0, 2);
    const missing = expected.filter((line) => !found.includes(line)).slice(0, 2);
    this.#report(path, { query, rows: found.length, expected: expected.length, tooMany, missing });
  }

  /** An id that the reader may not see is answered as one that does not exist. */
  async #compareHidden(route: LeakRequest['route']): Promise<void> {
    const { parties } = this.#reader;
    for (const { name, inPath } of route.parameters) {
      const start = idStarts[name];
      if (inPath !== true || start === undefined || parties === undefined) continue;
      const unseen = this.#words.startingWith(start).filter((word) => !this.#words.isVisible(word, parties));
      const unknown = unknownIds[name] ?? '';
      const sent = requestTo(route, this.#values, { [name]: unknown });
      const answerToUnknown = await this.#get(sent.path, sent.query);
      for (const word of unseen.slice(0, 3)) {
        const hidden = requestTo(route, this.#values, { [name]: word });
        const answer = await this.#get(hidden.path, sent.query);
        this.facts.hidden += 1;
        if (answer.status !== answerToUnknown.status || answer.text.replaceAll(word, unknown) !== answerToUnknown.text)
          this.#report(hidden.path, { answer, answerToUnknown });
      }
    }
  }

  /** The rows are exactly those of the model. */
  async #compareKeys(
    name: string,
    table: string,
    query: Readonly<Record<string, string>>,
    keyOf: (row: Row) => string,
  ): Promise<void> {
    const path = storedRoutes.find((route) => route.name === name)?.path ?? '';
    const rows = (await this.#rows(path, { ...query, limit: '1000' })) ?? [];
    // The key of a contract contains its node, which the rows do not have.
    const expected = allowedRows(this.#history.rows, table, this.#reader.parties).map((key) =>
      table === 'contracts' ? (key.split(':')[0] ?? '') : key,
    );
    const found = rows.map(keyOf).toSorted();
    if (found.join() !== expected.toSorted().join()) this.#report(path, { query, found, expected });
  }

  /** Counts of rows are those of the rows that the reader may see. */
  async #checkCounts(): Promise<void> {
    if (this.#reader.parties === undefined) return;
    const templates = (await this.#rows('/api/templates', { limit: '1000' })) ?? [];
    for (const { template_fqn: name, active, activated } of templates) {
      if (Number(active ?? 0) !== 0 || Number(activated ?? 0) !== 0)
        this.#report('/api/templates', { name, active, activated });
    }
    const range = { from: '20', to: String(this.#history.lastOffset), limit: '1000' };
    const counted = (await this.#rows('/api/diff', range)) ?? [];
    const listed = (await this.#rows('/api/diff/contracts', range)) ?? [];
    for (const { template_fqn: name, created, after } of counted) {
      const changes = listed.filter((row) => row['template_fqn'] === name);
      if (Number(created) > changes.length || Number(after) > changes.length)
        this.#report('/api/diff', { name, created, after, listed: changes.length });
    }
  }
}

function offsetsOf(row: Row): readonly string[] {
  return offsetColumns.flatMap((column) => {
    const value = row[column];
    return typeof value === 'number' ? [offsetWord(value)] : [];
  });
}
