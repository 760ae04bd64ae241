/**
 * Sends recorded requests of a participant to the sandbox, over the same transport. Each response must have the same
 * status, content type, close code and keys. A rejection must also have the same values.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { fixture, fixtureLines } from '../../support/wire/fixtures.ts';
import { endsIn, sharedSecret, token } from '../../support/tokens.ts';
import { comparable, type Ignored } from './comparable.ts';
import { recordedAnswer, replay, type Recorded } from './exchange.ts';
import { secret, startScene, users } from './scene.ts';

const recordings = (name: string): readonly Recorded[] =>
  JSON.parse(fixture(`recordings/${name}`)) as readonly Recorded[];
const signer = sharedSecret(secret);

/** Responses that the sandbox cannot reproduce: which part is not compared, and why. */
const differences: Readonly<Record<string, readonly [Ignored, string]>> = {
  'openapi head': ['body', 'the sandbox has its own descriptions'],
  'asyncapi head': ['body', 'the sandbox has its own descriptions'],
};
for (const [name, [what, why]] of Object.entries(differences))
  console.log(`not compared: the ${what} of ${name}: ${why}`);

/** The actual and the recorded response, in a common form. Both must be equal. */
async function bothAnswers(url: string, recorded: Recorded, bearer?: string): Promise<readonly [unknown, unknown]> {
  const expected = recordedAnswer(recorded);
  const ignored = differences[recorded.name]?.[0];
  // Only the beginning of a long response was recorded. If no frame was recorded, the sandbox must not send one.
  const frames = Math.max(1, expected.frames.length);
  const actual = await replay(url, recorded, bearer);
  return [comparable(actual, frames, ignored), comparable(expected, frames, ignored)];
}

describe('sandbox without authorization', () => {
  const recorded = recordings('errors.json');
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startScene({ ledgerEnd: 652, recorded });
  });
  afterAll(async () => {
    await sandbox.close();
  });

  it.each(recorded)('returns the recorded response to “$name”', async (one) => {
    const [actual, expected] = await bothAnswers(sandbox.url, one);
    expect(actual).toEqual(expected);
  });
});

describe('GET /v2/version', () => {
  it('returns every recorded feature with the same limits', async () => {
    await using sandbox = await startSandbox();
    const answer = await fetch(`${sandbox.url}/v2/version`);
    const { version, ...features } = JSON.parse(fixture('recordings/core/version.json')) as {
      readonly version: string;
    };
    expect(version).toMatch(/^3\.5\./u);
    expect(await answer.json()).toEqual({ version: expect.stringMatching(/^3\.5\./u) as string, ...features });
  });
});

describe('user without read rights', () => {
  const recorded = recordings('auth/errors-of-a-user-without-read-rights.json');
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startScene({ ledgerEnd: 447, recorded, sandbox: { auth: { secret, users } } });
  });
  afterAll(async () => {
    await sandbox.close();
  });

  it.each(recorded)('receives the recorded response to “$name”', async (one) => {
    // The request was recorded without a header, because the recording is of the response to an untrusted client.
    const bearer = one.name === 'updates no auth' ? undefined : await token(signer, { sub: 'participant_admin' });
    const [actual, expected] = await bothAnswers(sandbox.url, one, bearer);
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
    expired: async () => `Bearer ${await token(signer, { sub: 'reader', exp: endsIn(-1_000) })}`,
    'lifetime-one-hour': async () => `Bearer ${await token(signer, { sub: 'reader', exp: endsIn(3_600_000) })}`,
    'unknown-user': async () => `Bearer ${await token(signer, { sub: 'nobody-knows' })}`,
    'bad-signature': async () => `Bearer ${await token(sharedSecret('another secret of the same length or so'))}`,
  };

  it.each(cases)('receives the recorded HTTP response: $case', async ({ case: name, http }) => {
    await using sandbox = await startSandbox({ auth: { secret, users } });
    const authorization = (await headers[name]?.()) ?? '';
    const answer = await fetch(`${sandbox.url}/v2/state/ledger-end`, { headers: { authorization } });
    const actual = {
      status: answer.status,
      contentType: answer.headers.get('content-type') ?? '',
      body: await answer.text(),
      frames: [],
    };
    const [head = '', body = ''] = http.split('\r\n\r\n');
    const status = Number(/^HTTP\/1.1 (\d+)/u.exec(head)?.[1]);
    const contentType = /^content-type: (.*)$/imu.exec(head)?.[1]?.trim() ?? '';
    expect(comparable(actual, 0)).toEqual(comparable({ status, contentType, body, frames: [] }, 0));
  });
});

/** Values that all other recordings have, and that are missing in these recordings. */
const usual: Partial<Recorded> = {
  protocols: ['daml.ws.auth'],
  upgrade: { 'sec-websocket-protocol': 'daml.ws.auth' },
};
const usualHttp: Partial<Recorded> = { headers: { 'content-type': 'application/json' } };

describe('pruned sandbox', () => {
  const [offsets, ...kept] = recordings('pruned/answers.json') as readonly (Recorded & { readonly p?: object })[];
  const recorded = kept.map((one): Recorded => ({ ...(one.answer === undefined ? usual : usualHttp), ...one }));
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startScene({ ledgerEnd: 762, recorded, pruned: 355 });
  });
  afterAll(async () => {
    await sandbox.close();
  });

  it('reports its pruned offset', async () => {
    const answer = await fetch(`${sandbox.url}/v2/state/latest-pruned-offsets`);
    expect(await answer.json()).toEqual(offsets?.p);
  });

  it.each(recorded)('returns the recorded response to “$name”', async (one) => {
    const [actual, expected] = await bothAnswers(sandbox.url, one);
    expect(actual).toEqual(expected);
  });
});
