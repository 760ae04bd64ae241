/**
 * Cache of pages of changes, shared by clients that read the same changes. Clients that follow the end of history all
 * request the page after the same cursor. That page is read once and kept for a few seconds. An additional client
 * therefore needs a connection to this server but not to the database.
 */
import { formatCursor, type ChangesPage, type ChangesRequest } from '../../model/push/changes.ts';
import { SharedWork, type FairQueue } from './turns.ts';

/** Reads one page. @throws the IndexerErrors of `readChanges` */
export type LoadPage = (request: ChangesRequest) => Promise<ChangesPage>;

/**
 * An encoded page. All clients get the same bytes, which are never copied. The bytes are empty if there are no changes.
 */
export interface SharedPage extends Omit<ChangesPage, 'changes'> {
  readonly bytes: Buffer;
}

export type ChangeForm = 'sse' | 'ndjson';

/** Maximum number of cached pages. Each page has a few hundred rows and is used by clients that are not far behind. */
const maxCachedPages = 64;
/**
 * Maximum size of a cached page, in bytes. A larger page contains only one change, and it is read for each client
 * separately.
 */
const longestKept = 1_000_000;
/** Lifetime of a cached page, in milliseconds. Redactions and lost rights take effect after this time. */
const cacheMs = 3_000;

export class ChangePages {
  readonly #readPage: LoadPage;
  readonly #turns: FairQueue;
  readonly #reading = new Map<string, SharedWork<SharedPage>>();
  readonly #kept = new Map<string, { readonly page: SharedPage; readonly until: number }>();
  #pagesRead = 0;

  /** @param readQueue limit concurrent reads of pages */
  constructor(loadPage: LoadPage, readQueue: FairQueue) {
    this.#readPage = loadPage;
    this.#turns = readQueue;
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
  page(request: ChangesRequest, format: ChangeForm, reader: string): Promise<SharedPage> {
    const { role, rights, template, party, eventTypes, projection, selection, until, after } = request;
    const filter = [template, party, eventTypes, projection, selection, until];
    const key = JSON.stringify([format, role, rights?.key, filter, formatCursor(after)]);
    const cachedPage = this.#kept.get(key);
    if (cachedPage !== undefined && performance.now() < cachedPage.until) return Promise.resolve(cachedPage.page);
    const pendingRead = this.#reading.get(key) ?? new SharedWork(() => this.#read(key, request, format));
    this.#reading.set(key, pendingRead);
    if (!pendingRead.hasBegun) this.#turns.wait(reader, pendingRead);
    return pendingRead.result;
  }

  async #read(key: string, request: ChangesRequest, format: ChangeForm): Promise<SharedPage> {
    this.#pagesRead += 1;
    try {
      const page = sharedPage(await this.#readPage(request), format);
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
    this.#kept.set(key, { page, until: performance.now() + cacheMs });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxCachedPages && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function sharedPage({ changes, ...page }: ChangesPage, format: ChangeForm): SharedPage {
  const { version } = page.next;
  const lines = changes.map((change) =>
    format === 'sse' ? formatEvent(change, version) : formatLine(change, version),
  );
  return { ...page, bytes: Buffer.from(lines.join('')) };
}

type SingleChange = ChangesPage['changes'][number];

/** The JSON that Postgres produces contains no line break. */
function formatEvent({ offset, node, json, event }: SingleChange, version: string | undefined): string {
  return `id: ${formatCursor({ offset, node, version })}\nevent: ${event ?? 'change'}\ndata: ${json}\n\n`;
}

/** An event has its position in its JSON. A row need not have it, so its id precedes it. */
function formatLine({ offset, node, json, update }: SingleChange, version: string | undefined): string {
  return update === undefined ? `${json}\n` : `{"id":"${formatCursor({ offset, node, version })}","row":${json}}\n`;
}
