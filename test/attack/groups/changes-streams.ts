/**
 * Attacks on streams of changes: unusual parameters, positions that no longer exist, and pages that the client never
 * reads.
 */
import { waitFor } from '../../support/wait-for.ts';
import { heldVerdict, verdict, type Attempt, type Group } from '../attempt.ts';
import { requestQueryPage, bearer, forwardedHeaders } from '../wire/ask.ts';
import { flood, floodRow, survivalVerdict } from '../wire/flood.ts';
import { openRawConnection } from '../wire/raw.ts';
import { requestRow } from '../wire/rows.ts';
import type { World } from '../world/world.ts';

const oddQueries = [
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
].map((query, index) =>
  requestRow({
    id: `changes-odd-parameter-${String(index + 1)}`,
    what: `/changes?${query}`,
    path: `/changes?${query}`,
    options: ({ tokens }) => ({ headers: bearer(tokens.all.token), most: 1, limitMs: 10_000 }),
    statuses: [400, 404, 410],
  }),
);

const hiddenAttempts: readonly Attempt[] = ['', '&party=nobody::1220', '&template=x:Y:Z', '&kind=created'].map(
  (queryText, index) => ({
    id: `changes-hidden-${String(index + 1)}`,
    what: `reads /changes from before a hidden update with the token of a limited role${queryText}`,
    expected: 'no id of a hidden update',
    run: async (world) => {
      const { updateId, contractId, offset } = world.hidden;
      const url = `${world.httpUrl}/changes?after=${String(offset - 1)}${queryText}`;
      const { body, status } = await requestQueryPage(url, {
        headers: bearer(world.tokens.limited.token),
        limitMs: 3_000,
      });
      const isLeaked = body.includes(updateId) || body.includes(contractId);
      return verdict(!isLeaked, `status ${String(status)}, ${String(body.length)} characters`);
    },
  }),
);

/** Value of a metric without labels. */
async function metric({ httpUrl }: World, name: string): Promise<number> {
  const text = await (await fetch(`${httpUrl}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)`, 'm').exec(text)?.[1] ?? NaN);
}

const streams = (world: World): Promise<number> => metric(world, 'indexer_changes_clients');

const positionAttempts: readonly Attempt[] = [
  {
    id: 'changes-places-come-back',
    what: 'opens and leaves 100 streams in every stage of a response',
    expected: 'no place is held without a listener',
    run: async (world) => {
      const bearerLine = `Authorization: Bearer ${world.tokens.all.token}`;
      const text = `GET /changes?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n${bearerLine}\r\n\r\n`;
      const rawConnections = Array.from({ length: 100 }, (_, index) =>
        openRawConnection(world.port, text.repeat(1 + (index % 3))),
      );
      for (const { socket } of rawConnections.slice(0, 50)) socket.destroy();
      await requestQueryPage(`${world.httpUrl}/livez`);
      for (const { socket } of rawConnections) socket.destroy();
      const closedStreams = await waitFor(
        'no stream is open',
        async () => ((await streams(world)) === 0 ? 0 : undefined),
        15_000,
      ).catch(() => streams(world));
      return verdict(closedStreams === 0, `${String(closedStreams)} streams without a listener`);
    },
  },
  {
    id: 'changes-resumed-from-nowhere',
    what: 'resumes after an id that no event has, and after one that is not an id',
    expected: 'a refusal or an end, never another position',
    run: async ({ httpUrl, tokens }) => {
      const statuses: number[] = [];
      for (const id of ['999999999999-0', 'x', '-1-0', '1e5-0', '0-0; drop']) {
        const { status } = await requestQueryPage(`${httpUrl}/changes`, {
          headers: { ...bearer(tokens.all.token), 'last-event-id': id },
          most: 1,
          limitMs: 3_000,
        });
        statuses.push(status);
      }
      return verdict(
        statuses.slice(1).every((status) => status >= 400),
        `statuses ${statuses.join(', ')}`,
      );
    },
  },
  {
    id: 'changes-of-another-page',
    what: 'a page of another origin opens streams of this machine',
    expected: 'status 403',
    run: async ({ httpUrl }) => {
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      const { status } = await requestQueryPage(`${httpUrl}/changes?after=0`, { headers, most: 1 });
      return verdict(status === 403, `status ${String(status)}`);
    },
  },
  {
    id: 'changes-without-token',
    what: 'streams from elsewhere without a token',
    expected: 'status 401 or 403',
    run: async ({ httpUrl }) => {
      const { status } = await requestQueryPage(`${httpUrl}/changes?after=0`, { headers: forwardedHeaders, most: 1 });
      return status === 401 || status === 403
        ? heldVerdict(`status ${String(status)}`)
        : verdict(false, `status ${String(status)}`);
    },
  },
];

export const changesMaxClients: Group = {
  name: 'changes-streams',
  what: 'streams of changes',
  quick: true,
  attempts: [...oddQueries, ...hiddenAttempts, ...positionAttempts],
};

/** This limit is much longer than reading one page, and much shorter than reading all pages of the other token. */
const firstAnswerMs = 2_000;

const crowdedAttempt: Attempt = {
  id: 'changes-of-another-token-delayed',
  what: 'opens 500 streams with 500 filters with one token, while another token sends requests continuously',
  expected: `each first response to the other token comes within ${String(firstAnswerMs / 1000)} s`,
  run: async (world) => {
    const { limited: limitedToken, all: allToken } = world.tokens;
    const text = `GET /changes?party=y{n}::1220&unseen=allow HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${limitedToken.token}\r\n\r\n`;
    const flooding = flood(world, { connections: 500, text, holdMs: 15_000 });
    const abortFlood = new AbortController();
    const whenFlooded = flooding.finally(() => abortFlood.abort());
    let [longestMs, responseCount] = [0, 0];
    while (!abortFlood.signal.aborted) {
      const startMs = performance.now();
      const { status } = await requestQueryPage(`${world.httpUrl}/changes`, {
        headers: bearer(allToken.token),
        most: 1,
      });
      longestMs = Math.max(longestMs, status === 200 ? performance.now() - startMs : Infinity);
      responseCount += 1;
    }
    const outcomeFound = survivalVerdict(world, await whenFlooded);
    const observation = `${String(responseCount)} first answers, each within ${longestMs.toFixed(0)} ms; ${outcomeFound.seen}`;
    return verdict(outcomeFound.held && longestMs < firstAnswerMs, observation);
  },
};

const unreadOptions = { read: false, holdMs: 30_000 };

export const changesUnread: Group = {
  name: 'changes-unread',
  what: 'unread streams of changes, and many streams of one token',
  quick: false,
  attempts: [
    crowdedAttempt,
    floodRow('changes-600-unread', '600 streams from different offsets, unread', {
      ...unreadOptions,
      connections: 600,
      text: 'GET /changes?after={n} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n',
    }),
    floodRow('changes-600-unread-lines', '600 streams of NDJSON from different offsets, unread', {
      ...unreadOptions,
      connections: 600,
      text: 'GET /changes?after={n} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nAccept: application/x-ndjson\r\n\r\n',
    }),
    floodRow('changes-unread-on-one-connection', '600 streams on one connection, unread', {
      ...unreadOptions,
      connections: 1,
      repeat: 600,
      text: 'GET /changes?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n',
    }),
    floodRow('changes-1000-unread-from-the-start', '1,000 streams from the start, unread', {
      ...unreadOptions,
      connections: 1_000,
      text: 'GET /changes?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n',
    }),
  ],
};
