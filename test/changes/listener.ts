/** Client of `/changes`, built on a third-party EventSource client. */
import { EventSource } from 'eventsource';

export interface Heard {
  /** Ids in order of arrival. */
  readonly ids: readonly string[];
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
  more: { readonly lastEventId?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Heard {
  const ids: string[] = [];
  const data: Readonly<Record<string, unknown>>[] = [];
  const ends: string[] = [];
  let refused: number | undefined;
  const source = new EventSource(url, {
    fetch: (input, init) =>
      fetch(input, {
        ...init,
        headers: {
          ...init.headers,
          ...more.headers,
          ...(more.lastEventId === undefined || ids.length > 0 ? {} : { 'Last-Event-ID': more.lastEventId }),
        },
      }),
  });
  const begun = new Promise<void>((resolve) => {
    source.addEventListener('open', () => resolve());
  });
  source.addEventListener('change', (event) => {
    ids.push(event.lastEventId);
    data.push(JSON.parse(String(event.data)) as Readonly<Record<string, unknown>>);
  });
  for (const name of ['end', 'stopping']) {
    source.addEventListener(name, (event) => {
      if ('data' in event) ends.push(String(event.data));
    });
  }
  source.addEventListener('error', (event) => {
    refused = event.code ?? refused;
  });
  return {
    ids,
    data,
    ends,
    get refused() {
      return refused;
    },
    begun,
    close: () => source.close(),
  };
}
