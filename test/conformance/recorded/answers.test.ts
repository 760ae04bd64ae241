/**
 * Sends recorded requests of a participant to the sandbox, over the same transport. Each response must have the same
 * status, content type, close code and keys. A rejection must also have the same values.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { fixture, fixtureLines } from '../../support/wire/fixtures.ts';
import { expiresIn, sharedSecret, token } from '../../support/tokens.ts';
import { comparable, type IgnoredPart } from './comparable.ts';
import { recordedResponse, replay, type RecordedExchange } from './exchange.ts';
import { secret, startScene, users } from './scene.ts';

const recordings = (name: string): readonly RecordedExchange[] =>
  JSON.parse(fixture(`recordings/${name}`)) as readonly RecordedExchange[];
const signer = sharedSecret(secret);

/** Responses that the sandbox cannot reproduce: which part is not compared, and why. */
const differences: Readonly<Record<string, readonly [IgnoredPart, string]>> = {
  'openapi head': ['body', 'the sandbox has its own descriptions'],
  'asyncapi head': ['body', 'the sandbox has its own descriptions'],
};
for (const [name, [ignoredPart, ignoreReason]] of Object.entries(differences))
  console.log(`not compared: the ${ignoredPart} of ${name}: ${ignoreReason}`);

/** The actual and the recorded response, in a common form. Both must be equal. */
async function recordedAndLive(
  url: string,
  exchange: RecordedExchange,
  bearer?: string,
): Promise<readonly [unknown, unknown]> {
  const expected = recordedResponse(exchange);
  const ignoredPart = differences[exchange.name]?.[0];
  // Only the beginning of a long response was recorded. If no frame was recorded, the sandbox must not send one.
  const frames = Math.max(1, expected.frames.length);
  const actual = await replay(url, exchange, bearer);
  return [comparable(actual, frames, ignoredPart), comparable(expected, frames, ignoredPart)];
}

describe('sandbox without authorization', () => {
  const exchanges = recordings('errors.json');
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startScene({ ledgerEnd: 652, recorded: exchanges });
  });
  afterAll(async () => {
    await sandbox.close();
  });

  it.each(exchanges)('returns the recorded response to “$name”', async (exchange) => {
    const [actual, expected] = await recordedAndLive(sandbox.url, exchange);
    expect(actual).toEqual(expected);
  });
});

describe('GET /v2/version', () => {
  it('returns every recorded feature with the same limits', async () => {
    await using sandbox = await startSandbox();
    const response = await fetch(`${sandbox.url}/v2/version`);
    const { version, ...features } = JSON.parse(fixture('recordings/core/version.json')) as {
      readonly version: string;
    };
    expect(version).toMatch(/^3\.5\./u);
    expect(await response.json()).toEqual({ version: expect.stringMatching(/^3\.5\./u) as string, ...features });
  });
});

describe('user without read rights', () => {
  const exchanges = recordings('auth/errors-of-a-user-without-read-rights.json');
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startScene({ ledgerEnd: 447, recorded: exchanges, sandbox: { auth: { secret, users } } });
  });
  afterAll(async () => {
    await sandbox.close();
  });

  it.each(exchanges)('receives the recorded response to “$name”', async (exchange) => {
    // The request was recorded without a header, because the recording is of the response to an untrusted client.
    const bearer = exchange.name === 'updates no auth' ? undefined : await token(signer, { sub: 'participant_admin' });
    const [actual, expected] = await recordedAndLive(sandbox.url, exchange, bearer);
    expect(actual).toEqual(expected);
  });
});

interface HttpCase {
  readonly case: string;
  readonly http: string;
}

describe('rejected token', () => {
  const cases = fixtureLines('recordings/auth/http-refusals.jsonl').map((line) => JSON.parse(line) as HttpCase);
  const headers: Readonly<Record<string, () => Promise<string>>> = {
    'no-token': () => Promise.resolve('Bearer'),
    expired: async () => `Bearer ${await token(signer, { sub: 'reader', exp: expiresIn(-1_000) })}`,
    'lifetime-one-hour': async () => `Bearer ${await token(signer, { sub: 'reader', exp: expiresIn(3_600_000) })}`,
    'unknown-user': async () => `Bearer ${await token(signer, { sub: 'nobody-knows' })}`,
    'bad-signature': async () => `Bearer ${await token(sharedSecret('another secret of the same length or so'))}`,
  };

  it.each(cases)('receives the recorded HTTP response: $case', async ({ case: name, http }) => {
    await using sandbox = await startSandbox({ auth: { secret, users } });
    const authorization = (await headers[name]?.()) ?? '';
    const response = await fetch(`${sandbox.url}/v2/state/ledger-end`, { headers: { authorization } });
    const actual = {
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      body: await response.text(),
      frames: [],
    };
    const [head = '', body = ''] = http.split('\r\n\r\n');
    const status = Number(/^HTTP\/1.1 (\d+)/u.exec(head)?.[1]);
    const contentType = /^content-type: (.*)$/imu.exec(head)?.[1]?.trim() ?? '';
    expect(comparable(actual, 0)).toEqual(comparable({ status, contentType, body, frames: [] }, 0));
  });
});

/** Values that all other recordings have, and that are missing in these recordings. */
const usualExchange: Partial<RecordedExchange> = {
  protocols: ['daml.ws.auth'],
  upgrade: { 'sec-websocket-protocol': 'daml.ws.auth' },
};
const defaultExchange: Partial<RecordedExchange> = { headers: { 'content-type': 'application/json' } };

describe('pruned sandbox', () => {
  const [offsets, ...recordedAnswers] = recordings('pruned/answers.json') as readonly (RecordedExchange & {
    readonly p?: object;
  })[];
  const exchanges = recordedAnswers.map((exchange): RecordedExchange => ({
    ...(exchange.answer === undefined ? usualExchange : defaultExchange),
    ...exchange,
  }));
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startScene({ ledgerEnd: 762, recorded: exchanges, pruned: 355 });
  });
  afterAll(async () => {
    await sandbox.close();
  });

  it('reports its pruned offset', async () => {
    const response = await fetch(`${sandbox.url}/v2/state/latest-pruned-offsets`);
    expect(await response.json()).toEqual(offsets?.p);
  });

  it.each(exchanges)('returns the recorded response to “$name”', async (exchange) => {
    const [actual, expected] = await recordedAndLive(sandbox.url, exchange);
    expect(actual).toEqual(expected);
  });
});
