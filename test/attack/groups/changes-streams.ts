/**
 * Attacks on streams of changes: unusual parameters, positions that no longer exist, and pages that the client never
 * reads.
 */
import { waitFor } from '../../support/wait-for.ts';
import { held, verdict, type Attempt, type Group } from '../attempt.ts';
import { ask, bearer, elsewhere } from '../wire/ask.ts';
import { flood, floodRow, survived } from '../wire/flood.ts';
import { talk } from '../wire/raw.ts';
import { requestRow } from '../wire/rows.ts';
import type { World } from '../world/world.ts';

const odd = [
  'after=-1',
  'after=1e99',
  'after=9223372036854775808',
  "after=1'--",
  'after=NaN',
  'after=0-0-0',
  'limit=-1',
  'role=postgres',
  'schema=pg_catalog',
  'after=0&after=5',
].map((query, at) =>
  requestRow({
    id: `changes-odd-parameter-${String(at + 1)}`,
    what: `/changes?${query}`,
    path: `/changes?${query}`,
    options: ({ tokens }) => ({ headers: bearer(tokens.all.token), most: 1, limitMs: 10_000 }),
    statuses: [400, 404, 410],
  }),
);

const hidden: readonly Attempt[] = ['', '&party=nobody::1220', '&template=x:Y:Z', '&kind=created'].map((more, at) => ({
  id: `changes-hidden-${String(at + 1)}`,
  what: `reads /changes from before a hidden update with the token of a limited role${more}`,
  expected: 'no id of a hidden update',
  run: async (world) => {
    const { updateId, contractId, offset } = world.hidden;
    const url = `${world.httpUrl}/changes?after=${String(offset - 1)}${more}`;
    const { body, status } = await ask(url, { headers: bearer(world.tokens.limited.token), limitMs: 3_000 });
    const isLeaked = body.includes(updateId) || body.includes(contractId);
    return verdict(!isLeaked, `status ${String(status)}, ${String(body.length)} characters`);
  },
}));

/** Value of a metric without labels. */
async function metric({ httpUrl }: World, name: string): Promise<number> {
  const text = await (await fetch(`${httpUrl}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)`, 'm').exec(text)?.[1] ?? NaN);
}

const streams = (world: World): Promise<number> => metric(world, 'indexer_changes_clients');

const places: readonly Attempt[] = [
  {
    id: 'changes-places-come-back',
    what: 'opens and leaves 100 streams in every stage of a response',
    expected: 'no place is held without a listener',
    run: async (world) => {
      const bearerLine = `Authorization: Bearer ${world.tokens.all.token}`;
      const text = `GET /changes?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n${bearerLine}\r\n\r\n`;
      const talks = Array.from({ length: 100 }, (_, nth) => talk(world.port, text.repeat(1 + (nth % 3))));
      for (const { socket } of talks.slice(0, 50)) socket.destroy();
      await ask(`${world.httpUrl}/livez`);
      for (const { socket } of talks) socket.destroy();
      const left = await waitFor(
        'no stream is open',
        async () => ((await streams(world)) === 0 ? 0 : undefined),
        15_000,
      ).catch(() => streams(world));
      return verdict(left === 0, `${String(left)} streams without a listener`);
    },
  },
  {
    id: 'changes-resumed-from-nowhere',
    what: 'resumes after an id that no event has, and after one that is not an id',
    expected: 'a refusal or an end, never another position',
    run: async ({ httpUrl, tokens }) => {
      const seen: number[] = [];
      for (const id of ['999999999999-0', 'x', '-1-0', '1e5-0', '0-0; drop']) {
        const { status } = await ask(`${httpUrl}/changes`, {
          headers: { ...bearer(tokens.all.token), 'last-event-id': id },
          most: 1,
          limitMs: 3_000,
        });
        seen.push(status);
      }
      return verdict(
        seen.slice(1).every((status) => status >= 400),
        `statuses ${seen.join(', ')}`,
      );
    },
  },
  {
    id: 'changes-of-another-page',
    what: 'a page of another origin opens streams of this machine',
    expected: 'status 403',
    run: async ({ httpUrl }) => {
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      const { status } = await ask(`${httpUrl}/changes?after=0`, { headers, most: 1 });
      return verdict(status === 403, `status ${String(status)}`);
    },
  },
  {
    id: 'changes-without-token',
    what: 'streams from elsewhere without a token',
    expected: 'status 401 or 403',
    run: async ({ httpUrl }) => {
      const { status } = await ask(`${httpUrl}/changes?after=0`, { headers: elsewhere, most: 1 });
      return status === 401 || status === 403
        ? held(`status ${String(status)}`)
        : verdict(false, `status ${String(status)}`);
    },
  },
];

export const changesMaxClients: Group = {
  name: 'changes-streams',
  what: 'streams of changes',
  quick: true,
  attempts: [...odd, ...hidden, ...places],
};

/** This limit is much longer than reading one page, and much shorter than reading all pages of the other token. */
const firstAnswerMs = 2_000;

const crowded: Attempt = {
  id: 'changes-of-another-token-delayed',
  what: 'opens 500 streams with 500 filters with one token, while another token sends requests continuously',
  expected: `each first response to the other token comes within ${String(firstAnswerMs / 1000)} s`,
  run: async (world) => {
    const { limited, all } = world.tokens;
    const text = `GET /changes?event_type=y{n} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${limited.token}\r\n\r\n`;
    const flooding = flood(world, { connections: 500, text, holdMs: 15_000 });
    const over = new AbortController();
    const ended = flooding.finally(() => over.abort());
    let [longestMs, answers] = [0, 0];
    while (!over.signal.aborted) {
      const begin = performance.now();
      const { status } = await ask(`${world.httpUrl}/changes`, { headers: bearer(all.token), most: 1 });
      longestMs = Math.max(longestMs, status === 200 ? performance.now() - begin : Infinity);
      answers += 1;
    }
    const found = survived(world, await ended);
    const seen = `${String(answers)} first answers, each within ${longestMs.toFixed(0)} ms; ${found.seen}`;
    return verdict(found.held && longestMs < firstAnswerMs, seen);
  },
};

const unread = { read: false, holdMs: 30_000 };

export const changesUnread: Group = {
  name: 'changes-unread',
  what: 'unread streams of changes, and many streams of one token',
  quick: false,
  attempts: [
    crowded,
    floodRow('changes-600-unread', '600 streams from different offsets, unread', {
      ...unread,
      connections: 600,
      text: 'GET /changes?after={n} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n',
    }),
    floodRow('changes-600-unread-lines', '600 streams of NDJSON from different offsets, unread', {
      ...unread,
      connections: 600,
      text: 'GET /changes?after={n} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nAccept: application/x-ndjson\r\n\r\n',
    }),
    floodRow('changes-unread-on-one-connection', '600 streams on one connection, unread', {
      ...unread,
      connections: 1,
      repeat: 600,
      text: 'GET /changes?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n',
    }),
    floodRow('changes-1000-unread-from-the-start', '1,000 streams from the start, unread', {
      ...unread,
      connections: 1_000,
      text: 'GET /changes?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n',
    }),
  ],
};
