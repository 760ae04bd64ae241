/**
 * Cache of pages of changes, shared by clients that read the same changes. Clients that follow the end of history all
 * request the page after the same cursor. That page is read once and kept for a few seconds. An additional client
 * therefore needs a connection to this server but not to the database.
 */
import { formatCursor, type ChangesPage, type ChangesRequest } from '../../model/push/changes.ts';
import { SharedWork, type Turns } from './turns.ts';

/** Reads one page. @throws the IndexerErrors of `readChanges` */
export type ReadPage = (request: ChangesRequest) => Promise<ChangesPage>;

/**
 * An encoded page. All clients get the same bytes, which are never copied. The bytes are empty if there are no changes.
 */
export interface SharedPage extends Omit<ChangesPage, 'changes'> {
  readonly bytes: Buffer;
}

export type ChangeForm = 'sse' | 'ndjson';

/** Maximum number of cached pages. Each page has a few hundred rows and is used by clients that are not far behind. */
const mostKept = 64;
/**
 * Maximum size of a cached page, in bytes. A larger page contains only one change, and it is read for each client
 * separately.
 */
const longestKept = 1_000_000;
/** Lifetime of a cached page, in milliseconds. Redactions and lost rights take effect after this time. */
const keptMs = 3_000;

export class ChangePages {
  readonly #readPage: ReadPage;
  readonly #turns: Turns;
  readonly #reading = new Map<string, SharedWork<SharedPage>>();
  readonly #kept = new Map<string, { readonly page: SharedPage; readonly until: number }>();
  #pagesRead = 0;

  /** @param turns limit concurrent reads of pages */
  constructor(read: ReadPage, turns: Turns) {
    this.#readPage = read;
    this.#turns = turns;
  }

  /** Number of pages read so far. */
  get read(): number {
    return this.#pagesRead;
  }

  /**
   * Returns the page after a cursor.
   * @param reader the reader whose turn is used for the read
   * @throws the IndexerErrors of `readChanges`
   */
  page(request: ChangesRequest, form: ChangeForm, reader: string): Promise<SharedPage> {
    const { role, template, party, eventTypes, after } = request;
    const key = JSON.stringify([form, role, template, party, eventTypes, formatCursor(after)]);
    const kept = this.#kept.get(key);
    if (kept !== undefined && performance.now() < kept.until) return Promise.resolve(kept.page);
    const reading = this.#reading.get(key) ?? new SharedWork(() => this.#read(key, request, form));
    this.#reading.set(key, reading);
    if (!reading.hasBegun) this.#turns.wait(reader, reading);
    return reading.result;
  }

  async #read(key: string, request: ChangesRequest, form: ChangeForm): Promise<SharedPage> {
    this.#pagesRead += 1;
    try {
      const page = sharedPage(await this.#readPage(request), form);
      // Only a page with changes is cached. An empty page is at the end of history, and the next commit would make it
      // outdated.
      if (page.bytes.length > 0) this.#keep(key, page);
      return page;
    } finally {
      this.#reading.delete(key);
    }
  }

  #keep(key: string, page: SharedPage): void {
    if (page.bytes.length > longestKept) return;
    // The entry is inserted again, so that it becomes the newest entry.
    this.#kept.delete(key);
    this.#kept.set(key, { page, until: performance.now() + keptMs });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function sharedPage({ changes, ...page }: ChangesPage, form: ChangeForm): SharedPage {
  return { ...page, bytes: Buffer.from(changes.map(form === 'sse' ? asEvent : asLine).join('')) };
}

type OneChange = ChangesPage['changes'][number];

/** The JSON that Postgres produces contains no line break. */
function asEvent({ offset, node, json }: OneChange): string {
  return `id: ${formatCursor({ offset, node })}\nevent: change\ndata: ${json}\n\n`;
}

function asLine({ json }: OneChange): string {
  return `${json}\n`;
}
