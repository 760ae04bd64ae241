/**
 * The page at `/query` and its requests. A request can run one reading statement (with rows or CSV as the result), run
 * `explain`, or search names of templates and parties. Responses contain payloads, so access is checked first. A few
 * queries may run at a time, each with a limit on time, rows and bytes.
 */
import type { ServerResponse } from 'node:http';
import { csvLine, escapeFormula } from '../../model/push/csv.ts';
import type { NodeRights } from '../../model/push/node-rights.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import { scrub } from '../figures/scrub.ts';
import type {
  ConsoleCallerName,
  ConsoleExplained,
  ConsoleFailure,
  ConsoleGuide,
  ConsoleRows,
} from './console-messages.ts';
import { loadDocument, type PageDocument } from './page-document.ts';

export type StatementAnswer = Omit<ConsoleRows, 'milliseconds'>;

/** Reads from the database. These reads have separate limits on the time of a statement and on bytes. */
export interface ConsoleReads {
  ask(
    statement: string,
    bounds: { readonly rows: number; readonly characters: number },
    stop: AbortSignal,
  ): Promise<StatementAnswer>;
  search(text: string, stop: AbortSignal): Promise<StatementAnswer>;
  /** Views and tables that the caller may read. */
  views(stop: AbortSignal): Promise<StatementAnswer>;
  /** Explains an id, in lines for display. */
  explain(id: string): Promise<string>;
}

/** A database login that was created for a token. */
export interface TokenLogin {
  readonly name: string;
  readonly password: string;
  /** Id of the token. */
  readonly token: string;
  readonly role: string;
}

/** A user of the participant, who reads with the login for all users. */
export interface NodeUserRights {
  readonly user: string;
  readonly rights: NodeRights;
}

/** A caller with a token. */
export type ConsoleCaller = TokenLogin | NodeUserRights;

export interface ConsolePageOptions {
  /** For callers on this machine. */
  readonly reads: ConsoleReads;
  /** For callers with a token. */
  readonly readsOf: (caller: ConsoleCaller) => ConsoleReads;
  readonly guide: Omit<ConsoleGuide, 'caller'>;
  /** Whether tokens of the participant are accepted. */
  readonly takesNodeTokens: boolean;
}

export interface ConsoleAnswer {
  readonly status: number;
  /** Media type. */
  readonly type: string;
  readonly body: string;
}

/** Limits on results for display. */
const displayLimits = { rows: 1_000, characters: 4_000_000 };
/** Limits on a CSV export. A larger result is not exported at all. */
const exportLimits = { rows: 100_000, characters: 16_000_000 };
/** Maximum number of concurrent queries of this machine, and of each token, so that no caller blocks another. */
const maxConcurrent = 3;
/** Maximum number of concurrent queries of all tokens. A database can take this load in addition to its writer. */
const maxConcurrentOfTokens = 12;
/** Id of callers on this machine; no login and no user has it. */
const localCaller = '';
/**
 * Milliseconds. A statement is cancelled from another connection this long after its time limit, because a statement
 * can remove the limit of its own session.
 */
const graceMs = 500;

/** Statuses of failures that a retry does not fix. */
const statuses: Readonly<Record<string, number>> = { QUERY_REFUSED: 400, READER_TOKEN_LOGIN_REFUSED: 403 };

/** The last one uses the others, and starts the page. */
const consoleScripts = (
  'token questions address statements words suggest editor completion views ' +
  'chart-plan chart results labels explained search console'
).split(' ');

type ConsoleRead = (reads: ConsoleReads, text: string, stop: AbortSignal) => Promise<string | ConsoleAnswer>;

export class ConsolePage {
  readonly #document: PageDocument = loadDocument({
    page: 'console/console.html',
    styles: ['page.css', 'tables.css', 'outline.css', 'console/console.css', 'screens.css', 'console/views.css'],
    scripts: ['format.js', 'elements.js', ...consoleScripts.map(consoleFile)],
    library: { script: 'uplot/dist/uPlot.iife.min.js', style: 'uplot/dist/uPlot.min.css' },
  });
  readonly #html: string;
  readonly #options: ConsolePageOptions;
  readonly #guide: ConsolePageOptions['guide'];
  /** Number of running queries by caller: a login, or this machine. */
  readonly #underWay = new Map<string, number>();

  constructor(options: ConsolePageOptions) {
    this.#options = options;
    this.#guide = options.guide;
    // Callers that are refused must know it, too.
    const kinds = options.takesNodeTokens ? 'reader participant' : 'reader';
    this.#html = this.#document.html.replace('data-tokens="reader"', `data-tokens="${kinds}"`);
  }

  /** Responds to GET: the same document for all callers, without contents. */
  answerPage(response: ServerResponse): void {
    response.writeHead(200, this.#document.headers);
    response.end(this.#html);
  }

  /**
   * Responds to a POST with this body. Never rejects.
   * @param closeSignal aborted when the client has disconnected
   * @param caller with a token; undefined if the request comes from this machine without one
   */
  async answer(path: string, body: string, closeSignal: AbortSignal, caller?: ConsoleCaller): Promise<ConsoleAnswer> {
    if (path === '/query/guide') return json(200, this.#guideFor(caller));
    const kind = this.#kinds[path];
    if (kind === undefined) return json(404, { error: 'not found', paths: Object.keys(this.#kinds) });
    const text = kind.field === undefined ? '' : fieldOf(body, kind.field);
    if (text === undefined) return json(400, { error: `expected a JSON object with one text, ${kind.field ?? ''}` });
    const callerId = idOf(caller);
    if (this.#isBusy(callerId)) return json(503, { error: 'too many queries are running: stop one, or wait for it' });
    const { reads, readsOf } = this.#options;
    const callerReads = caller === undefined ? reads : readsOf(caller);
    this.#count(callerId, 1);
    const consoleAnswer = await this.#limited((stop) => kind.read(callerReads, text, stop), closeSignal);
    this.#count(callerId, -1);
    return consoleAnswer;
  }

  #guideFor(caller: ConsoleCaller | undefined): ConsoleGuide {
    return { ...this.#guide, caller: nameOf(caller) };
  }

  #isBusy(caller: string): boolean {
    const countOfTokens = [...this.#underWay].reduce(
      (sum, [callerId, count]) => (callerId === localCaller ? sum : sum + count),
      0,
    );
    return (
      (this.#underWay.get(caller) ?? 0) >= maxConcurrent ||
      (caller !== localCaller && countOfTokens >= maxConcurrentOfTokens)
    );
  }

  #count(caller: string, change: 1 | -1): void {
    const count = (this.#underWay.get(caller) ?? 0) + change;
    if (count === 0) this.#underWay.delete(caller);
    else this.#underWay.set(caller, count);
  }

  readonly #kinds: Readonly<Record<string, { readonly field?: string; readonly read: ConsoleRead }>> = {
    '/query': {
      field: 'statement',
      read: async (reads, text, stop) => this.#rows(reads.ask(text, displayLimits, stop)),
    },
    '/query/csv': {
      field: 'statement',
      read: async (reads, text, stop) => csvOf(await reads.ask(text, exportLimits, stop)),
    },
    '/query/search': { field: 'text', read: async (reads, text, stop) => this.#rows(reads.search(text, stop)) },
    '/query/views': { read: async (reads, _text, stop) => this.#rows(reads.views(stop)) },
    '/query/explain': { field: 'id', read: (reads, text) => this.#explained(reads, text) },
  };

  async #limited(
    runRead: (stop: AbortSignal) => ReturnType<ConsoleRead>,
    closeSignal: AbortSignal,
  ): Promise<ConsoleAnswer> {
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    const limit = setTimeout(abort, 1000 * this.#guide.maxSeconds + graceMs);
    if (closeSignal.aborted) abort();
    closeSignal.addEventListener('abort', abort, { once: true });
    try {
      const consoleAnswer = await runRead(stop.signal);
      return typeof consoleAnswer === 'string'
        ? { status: 200, type: jsonType, body: `${consoleAnswer}\n` }
        : consoleAnswer;
    } catch (thrown) {
      return this.#failure(thrown);
    } finally {
      clearTimeout(limit);
      closeSignal.removeEventListener('abort', abort);
    }
  }

  #failure(thrown: unknown): ConsoleAnswer {
    const { code, message, remedy } = toIndexerError(thrown);
    if (code === 'STORE_STATEMENT_TIMEOUT') {
      const timeoutFailure: ConsoleFailure = {
        error: `it took longer than ${String(this.#guide.maxSeconds)} s, or was cancelled`,
        code,
        remedy: 'request fewer rows, or run `ledger-indexer query "…"` in a shell',
      };
      return json(504, timeoutFailure);
    }
    const failure: ConsoleFailure = { error: scrub(message), code, remedy };
    return json(statuses[code] ?? 503, failure);
  }

  async #explained(reads: ConsoleReads, id: string): Promise<string> {
    const explanation: ConsoleExplained = { text: await reads.explain(id) };
    return JSON.stringify(explanation);
  }

  async #rows(pendingAnswer: Promise<StatementAnswer>): Promise<string> {
    const startedAtMs = performance.now();
    const statementAnswer = await pendingAnswer;
    const consoleRows: ConsoleRows = { ...statementAnswer, milliseconds: Math.round(performance.now() - startedAtMs) };
    return JSON.stringify(consoleRows);
  }
}

function nameOf(caller: ConsoleCaller | undefined): ConsoleCallerName {
  if (caller === undefined) return { kind: 'machine' };
  return 'user' in caller ? { kind: 'user', name: caller.user } : { kind: 'role', name: caller.role };
}

function idOf(caller: ConsoleCaller | undefined): string {
  if (caller === undefined) return localCaller;
  return 'user' in caller ? `node ${caller.user}` : caller.name;
}

function consoleFile(name: string): string {
  return `console/${name}.js`;
}

/** The text of this field, which must be the only field of the body. */
function fieldOf(body: string, field: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const [entry, ...extraEntries] = Object.entries(parsed ?? {});
    if (entry?.[0] !== field || extraEntries.length > 0) return undefined;
    return typeof entry[1] === 'string' ? entry[1] : undefined;
  } catch {
    return undefined;
  }
}

/** CSV with a header row. Texts that a spreadsheet would read as a formula are escaped. */
function csvOf({ columns, rows, complete }: StatementAnswer): ConsoleAnswer {
  if (!complete) {
    const remedy = 'request fewer rows, or write all rows with `ledger-indexer query "…" --csv`';
    return json(413, { error: `more than ${String(exportLimits.rows)} rows or 16 MB: not exported`, remedy });
  }
  const line = (row: readonly (string | null)[]): string =>
    csvLine(row.map((value, index) => (columns[index]?.isNumber === true ? value : escapeFormula(value))));
  const lines = [csvLine(columns.map(({ name }) => escapeFormula(name))), ...rows.map(line)];
  return { status: 200, type: 'text/csv; charset=utf-8', body: lines.join('') };
}

const jsonType = 'application/json; charset=utf-8';

function json(status: number, body: unknown): ConsoleAnswer {
  return { status, type: jsonType, body: `${JSON.stringify(body)}\n` };
}
