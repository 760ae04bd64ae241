/**
 * Pages of changes for many who read the same. Whoever follows the end of history asks for the page behind the same place: it
 * is read once and kept for those who come a moment later, so that clients cost connections of theirs and none of the database.
 */
import { formatCursor, type ChangesPage, type ChangesWanted } from '../../model/push/changes.ts';
import { SharedWork, type Turns } from './turns.ts';

/** Reads one page. @throws IndexerError as `readChanges` does */
export type ReadPage = (wanted: ChangesWanted) => Promise<ChangesPage>;

/** A page as it is sent: the same bytes for all who are sent it, none of them copied. Empty without changes. */
export interface SharedPage extends Omit<ChangesPage, 'changes'> {
  readonly bytes: Buffer;
}

export type ChangeForm = 'sse' | 'ndjson';

/** Pages that are kept: of some hundred rows each, for those who are not far behind. */
const mostKept = 64;
/** Bytes of one page that is kept; a larger one holds one change, and is read by each. */
const longestKept = 1_000_000;
/** How long, milliseconds: what is redacted, or not a reader's any more, is not sent for longer. */
const keptMs = 3_000;

export class ChangePages {
  readonly #readPage: ReadPage;
  readonly #turns: Turns;
  readonly #reading = new Map<string, SharedWork<SharedPage>>();
  readonly #kept = new Map<string, { readonly page: SharedPage; readonly until: number }>();
  #pagesRead = 0;

  /** @param turns at which pages are read */
  constructor(read: ReadPage, turns: Turns) {
    this.#readPage = read;
    this.#turns = turns;
  }

  /** Pages that were read so far. */
  get read(): number {
    return this.#pagesRead;
  }

  /**
   * The page behind a place.
   * @param reader whose turn it takes to read it
   * @throws IndexerError as `readChanges` does
   */
  page(wanted: ChangesWanted, form: ChangeForm, reader: string): Promise<SharedPage> {
    const { role, template, party, eventTypes, after } = wanted;
    const key = JSON.stringify([form, role, template, party, eventTypes, formatCursor(after)]);
    const kept = this.#kept.get(key);
    if (kept !== undefined && performance.now() < kept.until) return Promise.resolve(kept.page);
    const reading = this.#reading.get(key) ?? new SharedWork(() => this.#read(key, wanted, form));
    this.#reading.set(key, reading);
    if (!reading.hasBegun) this.#turns.wait(reader, reading);
    return reading.result;
  }

  async #read(key: string, wanted: ChangesWanted, form: ChangeForm): Promise<SharedPage> {
    this.#pagesRead += 1;
    try {
      const page = sharedPage(await this.#readPage(wanted), form);
      // Behind the end something else comes with the next commit; what lies between two places stays as it is.
      if (page.bytes.length > 0) this.#keep(key, page);
      return page;
    } finally {
      this.#reading.delete(key);
    }
  }

  #keep(key: string, page: SharedPage): void {
    if (page.bytes.length > longestKept) return;
    // As the newest, whatever was there.
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

/** JSON that Postgres writes has no line break in it. */
function asEvent({ offset, node, json }: OneChange): string {
  return `id: ${formatCursor({ offset, node })}\nevent: change\ndata: ${json}\n\n`;
}

function asLine({ json }: OneChange): string {
  return `${json}\n`;
}
