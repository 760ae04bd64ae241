/** Keys that a request must have although the API description of the participant calls some of them optional. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(async () => {
  await sandbox.close();
});

const commands = { commands: [], commandId: 'c', actAs: [] };
const prepare = { ...commands, synchronizerId: '', packageIdSelectionPreference: [] };
const execute = {
  preparedTransaction: '',
  partySignatures: { signatures: [] },
  deduplicationPeriod: { Empty: {} },
  submissionId: 's',
  hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V2',
};
const bodies: Readonly<Record<string, object>> = {
  '/v2/commands/submit-and-wait': commands,
  '/v2/commands/async/submit': commands,
  '/v2/interactive-submission/prepare': prepare,
  '/v2/interactive-submission/execute': execute,
  '/v2/interactive-submission/executeAndWait': execute,
  '/v2/interactive-submission/executeAndWaitForTransaction': execute,
};
const withoutKey = (body: object, key: string): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== key));

interface RequiredKeysRow {
  readonly path: string;
  readonly key: string;
  readonly body: object;
}
const nestedPath = '/v2/commands/submit-and-wait-for-transaction';
const cases: readonly RequiredKeysRow[] = [
  ...Object.entries(bodies).flatMap(([path, body]) =>
    Object.keys(body).map((key) => ({ path, key, body: withoutKey(body, key) })),
  ),
  ...Object.keys(commands).map((key) => ({
    path: nestedPath,
    key: `commands.${key}`,
    body: { commands: withoutKey(commands, key) },
  })),
];

it.each(cases)('a request body for $path is rejected if it lacks $key', async ({ path, key, body }) => {
  const response = await fetch(`${sandbox.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/plain; charset=UTF-8']);
  expect(await response.text()).toBe(`Invalid value for: body (Missing required field at '${key}')`);
});
