/** Client of `/changes`, built on a third-party EventSource client. */
import { EventSource } from 'eventsource';
import { tokenEvents } from '../../src/config/selection/event-names.ts';

export interface ReceivedEvents {
  /** Ids in order of arrival. */
  readonly ids: readonly string[];
  /** `change`, or the name of a token event. */
  readonly names: readonly string[];
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly ends: readonly string[];
  /** Status of the last response that was an error instead of a stream. */
  readonly refused: number | undefined;
  /** Resolves when the stream has begun. */
  readonly begun: Promise<void>;
  close(): void;
}

/** Listens, and reconnects automatically after a disconnect. */
export function listen(
  url: string,
  options: { readonly lastEventId?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): ReceivedEvents {
  const ids: string[] = [];
  const names: string[] = [];
  const data: Readonly<Record<string, unknown>>[] = [];
  const endReasons: string[] = [];
  let refusedStatus: number | undefined;
  const source = new EventSource(url, {
    fetch: (input, init) =>
      fetch(input, {
        ...init,
        headers: {
          ...init.headers,
          ...options.headers,
          ...(options.lastEventId === undefined || ids.length > 0 ? {} : { 'Last-Event-ID': options.lastEventId }),
        },
      }),
  });
  const whenStarted = new Promise<void>((resolve) => {
    source.addEventListener('open', () => resolve());
  });
  for (const name of ['change', ...tokenEvents]) {
    source.addEventListener(name, (event) => {
      ids.push(event.lastEventId);
      names.push(name);
      data.push(JSON.parse(String(event.data)) as Readonly<Record<string, unknown>>);
    });
  }
  for (const name of ['end', 'stopping']) {
    source.addEventListener(name, (event) => {
      if ('data' in event) endReasons.push(String(event.data));
    });
  }
  source.addEventListener('error', (event) => {
    refusedStatus = event.code ?? refusedStatus;
  });
  return {
    ids,
    names,
    data,
    ends: endReasons,
    get refused() {
      return refusedStatus;
    },
    begun: whenStarted,
    close: () => source.close(),
  };
}
