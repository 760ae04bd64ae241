/** Causes at the participant, and at the proxies in front of it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Faults } from '../../../packages/ledger-sandbox/src/faults/faults.ts';
import type { AlertCause } from './cause.ts';
import type { Answer, Certificate } from './gateway.ts';
import type { CauseWorld } from './world.ts';

const updatesPath = '/v2/updates';

type CauseSteps = Pick<AlertCause, 'provoke' | 'end'>;

/**
 * All requests and streams get this response while the cause lasts. Open streams are ended, so that they get it too.
 */
const respondCause = (override: Answer): CauseSteps => ({
  provoke: ({ gateway }) => {
    gateway.answer = override;
    gateway.cut();
  },
  end: ({ gateway }) => {
    gateway.answer = undefined;
  },
});

/** A fault of the ledger. @param timing `at once`: open streams are closed, because the fault affects new streams */
function fault<Name extends keyof Faults>(
  name: Name,
  value: Faults[Name],
  timing: 'next' | 'at once' = 'next',
): CauseSteps {
  return {
    provoke: ({ sandbox, gateway }) => {
      sandbox.faults[name] = value;
      if (timing === 'at once') gateway.cut();
    },
    end: ({ sandbox }) => {
      sandbox.faults[name] = undefined;
    },
  };
}

/** Opens the port again with this certificate; null: without TLS; undefined: with the original certificate. */
const reopenGateway =
  (certificate?: Certificate | null) =>
  async ({ gateway }: CauseWorld): Promise<void> => {
    await gateway.close();
    await gateway.open(certificate);
  };

const refusal = (status: number, code: string, grpcCodeValue: number): Answer => ({
  status,
  type: 'application/json',
  body: JSON.stringify({ code, cause: 'refused', context: {}, errorCategory: -1, grpcCodeValue, resources: [] }),
});

/** Replaces the ledger by another participant, or by another history. */
const replaceParticipant =
  (options: { readonly participantId?: string; readonly updates: number }) =>
  async (world: CauseWorld): Promise<void> => {
    const otherSandbox = await startSandbox({
      seed: 77,
      limits: { checkpointIntervalMs: 500 },
      ...(options.participantId !== undefined && { participantId: options.participantId }),
    });
    world.closing.push(() => otherSandbox.close());
    generateHistory(otherSandbox.ledger, { seed: 77, updates: options.updates });
    world.gateway.target = Number(new URL(otherSandbox.url).port);
    world.gateway.cut();
  };

function certificateOf(name: string): Certificate {
  const file = (fileName: string): string => readFileSync(certificatePath(`${name}${fileName}.pem`), 'utf8');
  return { cert: file(''), key: file('-key') };
}

function certificatePath(file: string): string {
  const certificateFolder = '../../support/certificates/';
  const certificatePaths = [certificateFolder, `../../../../../test/support/certificates/`].find((folder) => {
    try {
      readFileSync(new URL(`${folder}${file}`, import.meta.url));
      return true;
    } catch {
      return false;
    }
  });
  return fileURLToPath(new URL(`${certificatePaths ?? certificateFolder}${file}`, import.meta.url));
}

const tlsOptions = {
  certificate: certificateOf('server'),
  env: (): Readonly<Record<string, string>> => ({ LEDGER_CA_FILE: certificatePath('ca.pem') }),
};

export const participantCauses: readonly AlertCause[] = [
  {
    group: 'Participant',
    what: 'nothing listens on its port',
    soon: { code: 'LEDGER_UNREACHABLE', state: 'backing_off' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerLedgerUnreachable'],
    provoke: ({ gateway }) => gateway.close(),
    end: ({ gateway }) => gateway.open(),
  },
  {
    group: 'Participant',
    what: 'its machine is disconnected: connections hang',
    soon: { code: 'LEDGER_UNREACHABLE', state: 'ledger_timeout' },
    within: 15,
    later: { code: 'LEDGER_UNREACHABLE', state: 'backing_off' },
    also: ['LEDGER_PING_TIMEOUT', 'LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerLedgerUnreachable'],
    provoke: ({ gateway }) => gateway.hang(),
    end: ({ gateway }) => gateway.resume(),
  },
  {
    group: 'Participant',
    what: 'a gateway returns 503 for it',
    soon: { code: 'LEDGER_UNAVAILABLE', state: 'backing_off' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerLedgerUnreachable'],
    ...respondCause({ status: 503, type: 'text/html', body: '<html>no healthy upstream</html>' }),
  },
  {
    group: 'Participant',
    what: 'it is overloaded and returns 429',
    soon: { code: 'LEDGER_UNAVAILABLE', state: 'backing_off' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerLedgerUnreachable'],
    ...respondCause(refusal(429, 'too many requests', 8)),
  },
  {
    group: 'Participant',
    what: 'it returns 500',
    soon: { code: 'LEDGER_INTERNAL', state: 'backing_off' },
    later: { code: 'LEDGER_INTERNAL', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerParked'],
    ...respondCause(refusal(500, 'NA', 13)),
  },
  {
    group: 'Participant',
    what: 'it refuses the token (401)',
    soon: { code: 'LEDGER_UNAUTHENTICATED', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerParked'],
    ...respondCause(refusal(401, 'UNAUTHENTICATED', 16)),
  },
  {
    group: 'Participant',
    what: 'the user lost its right to read (403)',
    soon: { code: 'LEDGER_PERMISSION_DENIED', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerParked'],
    ...fault('streamFailure', { path: updatesPath, failure: 'PERMISSION_DENIED' }, 'at once'),
  },
  {
    group: 'Participant',
    what: 'its address returns a web page',
    soon: { code: 'LEDGER_NOT_A_LEDGER', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerParked'],
    ...respondCause({ status: 200, type: 'text/html', body: '<html><h1>Welcome</h1></html>' }),
  },
  {
    group: 'Participant',
    what: 'a gateway closes each stream before its first frame',
    soon: { code: 'LEDGER_STREAM_CLOSED', state: 'backing_off' },
    alerts: ['IndexerNoWriter'],
    ...fault('close', { path: updatesPath, code: 1001 }),
  },
  {
    group: 'Participant',
    what: 'its certificate is not trusted',
    soon: { code: 'LEDGER_TLS', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED', 'LEDGER_UNREACHABLE'],
    alerts: ['IndexerParked'],
    world: tlsOptions,
    provoke: reopenGateway(certificateOf('client')),
    end: reopenGateway(),
  },
  {
    group: 'Participant',
    what: 'its port no longer speaks TLS',
    soon: { code: 'LEDGER_TLS', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED', 'LEDGER_UNREACHABLE'],
    alerts: ['IndexerParked'],
    world: tlsOptions,
    provoke: reopenGateway(null),
    end: reopenGateway(),
  },
  {
    group: 'Participant',
    what: 'its address leads to another participant',
    soon: { code: 'PARTICIPANT_CHANGED', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerParked'],
    provoke: replaceParticipant({ participantId: `other::1220${'ab'.repeat(32)}`, updates: 400 }),
  },
  {
    group: 'Participant',
    what: 'it was reset, and has another history',
    soon: { code: 'HISTORY_CHANGED', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerParked'],
    provoke: replaceParticipant({ updates: 2_000 }),
  },
  {
    group: 'Participant',
    what: 'it was reset to before the checkpoint, or a replica lags behind',
    soon: { code: 'LEDGER_BEHIND_CHECKPOINT', state: 'backing_off' },
    later: { code: 'LEDGER_BEHIND_CHECKPOINT', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerParked'],
    provoke: replaceParticipant({ updates: 5 }),
  },
  {
    group: 'Participant',
    what: 'it was pruned past the checkpoint',
    soon: { code: 'LEDGER_PRUNED', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED', 'LEDGER_UNREACHABLE'],
    alerts: ['IndexerParked', 'IndexerPrunedPastCheckpoint'],
    provoke: async ({ gateway, sandbox }) => {
      await gateway.close();
      generateHistory(sandbox.ledger, { seed: 5, updates: 30 });
      sandbox.ledger.pruneTo(sandbox.ledger.ledgerEnd() - 2);
      await gateway.open();
    },
  },
  {
    group: 'Participant',
    what: 'its frames arrive truncated',
    soon: { code: 'UPDATE_UNDECODABLE', state: 'parked' },
    alerts: ['IndexerParked'],
    ...fault('invalidJson', { path: updatesPath }),
  },
  {
    group: 'Participant',
    what: 'an update is larger than LEDGER_MAX_FRAME_BYTES',
    soon: { code: 'LEDGER_FRAME_TOO_LARGE', state: 'parked' },
    alerts: ['IndexerParked'],
    world: { env: () => ({ LEDGER_MAX_FRAME_BYTES: '1MiB' }) },
    ...fault('oversizedFrames', { path: updatesPath, bytes: 3_000_000 }),
  },
  {
    group: 'Participant',
    what: 'it repeats an offset',
    soon: { code: 'LEDGER_OUT_OF_ORDER', state: 'parked' },
    alerts: ['IndexerParked'],
    ...fault('swapUpdates', { path: updatesPath }),
  },
  {
    group: 'Participant',
    what: 'an update lacks fields',
    soon: { code: 'UPDATE_UNDECODABLE', state: 'parked' },
    alerts: ['IndexerParked'],
    ...fault('dropKeys', { path: updatesPath, keys: ['recordTime', 'effectiveAt', 'updateId'] }),
  },
  {
    group: 'Participant',
    what: 'it refuses the package of a template of the filter',
    soon: { code: 'LEDGER_PACKAGE_UNKNOWN', state: 'parked' },
    alerts: ['IndexerParked'],
    also: ['LEDGER_STREAM_CLOSED'],
    ...fault('streamFailure', { path: updatesPath, failure: 'TEMPLATES_OR_INTERFACES_NOT_FOUND' }, 'at once'),
  },
  {
    group: 'Participant',
    what: 'the stream is open, but requests for the ledger end fail',
    soon: { state: 'live' },
    also: ['LEDGER_UNAVAILABLE'],
    alerts: ['IndexerRetryStorm'],
    // The clock is ten times faster, so the intervals between frames appear ten times longer.
    world: { env: () => ({ INDEXER_LEDGER_TIMEOUT: '60s' }) },
    ...fault('answer', { path: '/v2/state/ledger-end', as: 'RESOURCE_EXHAUSTED' }),
  },
];
