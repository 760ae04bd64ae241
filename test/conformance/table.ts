/** The complete conformance table: every case as rows, with the rejections that all operations share. */
import { expect } from 'vitest';
import { isFrom, releases as all, type Release } from '../../packages/ledger-sandbox/src/wire/release.ts';
import type { StreamPath } from '../../src/ledger/transport/frame-stream.ts';
import { expectedOf, type Outcome } from './outcomes.ts';
import type { Call, Case, Refusal, Row } from './rows/row.ts';
import { commandCases } from './rows/rows-commands.ts';
import { completionCases } from './rows/rows-completions.ts';
import { contractCases, stateCases } from './rows/rows-state.ts';
import { interactiveCases } from './rows/rows-interactive.ts';
import { nodeCases, packageCases } from './rows/rows-node.ts';
import { partyCases } from './rows/rows-parties.ts';
import { lookupCases, updateCases } from './rows/rows-updates.ts';
import { userCases } from './rows/rows-users.ts';

export const cases: readonly Case[] = [
  ...nodeCases,
  ...packageCases,
  ...commandCases,
  ...completionCases,
  ...stateCases,
  ...contractCases,
  ...updateCases,
  ...lookupCases,
  ...partyCases,
  ...userCases,
  ...interactiveCases,
];

/** The path of the operation, with a value for each parameter. */
function pathOf(operation: string): string {
  return (operation.split(' ')[1] ?? '').replaceAll(/\{[^}]+\}/gu, 'nobody');
}

/** Calls that the typed client never makes, with a body or query that cannot be decoded. */
function undecodable({ operation, body, badQuery = [] }: Case): readonly (readonly [string, Call])[] {
  const method = operation.split(' ')[0] as 'GET' | 'POST' | 'PATCH';
  const sent = Buffer.from(body === 'json' ? '{' : '');
  const broken: Call = ({ client }) => client.transport.requestText(method, pathOf(operation), sent);
  const wrong = (name: string): Call => {
    const content = body === 'bytes' ? Buffer.from('PK') : body === 'json' ? {} : undefined;
    return ({ client }) => client.transport.requestText(method, pathOf(operation), content, { [name]: 'maybe' });
  };
  const queries = badQuery.map((name) => [`query parameter ${name}`, wrong(name)] as const);
  return body === undefined ? queries : [[`body of ${body}`, broken], ...queries];
}

/** Outcomes that end any running stream. */
const streamEnds: readonly Outcome[] = ['ACCESS_TOKEN_EXPIRED', 'STALE_STREAM_AUTHORIZATION', 'SERVICE_NOT_RUNNING'];

function streamRefusals({ operation, call }: Case): readonly (readonly [Outcome, Refusal])[] {
  if (!operation.startsWith('WS ')) return [];
  const path = pathOf(operation) as StreamPath;
  const ends = streamEnds.map((outcome) => {
    const fault = { streamFailure: { failure: outcome as 'ACCESS_TOKEN_EXPIRED', path, times: 1 } };
    return [outcome, { run: call, fault }] as const;
  });
  const undecoded: Call = ({ stream }) => stream(path, [1]);
  return [['LEDGER_API_INTERNAL_ERROR', { run: undecoded }], ...ends];
}

function rowOf(of: Case, outcome: Row['outcome'], refusal: Refusal, how = ''): Row {
  const { operation, as = 'reader', releases = all, readOnly = false } = of;
  const success = outcome.startsWith('success');
  return {
    operation,
    outcome,
    how,
    as: refusal.as ?? as,
    releases: refusal.releases ?? (success ? releases : releases.filter((release) => release === '3.5')),
    readOnly: readOnly && refusal.fault === undefined && refusal.inSandbox !== true,
    fault: refusal.fault,
    call: refusal.run,
    check: (result, world) => {
      if (outcome === 'success') of.check?.(result, world);
      else if (!success && expectedOf(outcome as Outcome).code === undefined) expect(result).toBeUndefined();
    },
  };
}

/**
 * The client refuses operations that a release has removed. This does not apply to streams, which only this suite
 * opens.
 */
function absentRows(of: Case, absent: readonly Release[]): readonly Row[] {
  const { call, as = 'reader', operation, deprecated = false } = of;
  if (absent.length === 0) return [];
  const outcome = deprecated && !operation.startsWith('WS ') ? 'removed' : '404 unknown path';
  const removed = outcome === 'removed' ? absent.filter((release) => isFrom(release, '3.7')) : absent;
  const earlier = absent.filter((release) => !removed.includes(release));
  return [
    rowOf(of, outcome, { run: call, as, releases: removed }),
    ...(earlier.length === 0 ? [] : [rowOf(of, '404 unknown path', { run: call, as, releases: earlier })]),
  ];
}

function rowsOf(of: Case): readonly Row[] {
  const { call, needs = 'right', refused = {}, also = {}, as = 'reader' } = of;
  // Release 3.6 rejects a deprecated operation before it checks anything.
  const disabled = (release: Release): boolean => of.deprecated === true && release === '3.6';
  const absent = all.filter((release) => of.releases?.includes(release) === false && !disabled(release));
  const refusals = Object.entries(refused).map(([outcome, spec]) => {
    const refusal = typeof spec === 'function' ? { run: spec } : spec;
    return rowOf(of, outcome as Outcome, refusal);
  });
  return [
    rowOf(of, 'success', { run: call }),
    ...Object.entries(also).map(([name, spec]) => {
      const variant = typeof spec === 'function' ? { run: spec } : spec;
      return rowOf(of, `success (${name})`, { ...variant, inSandbox: true });
    }),
    ...(needs === 'nothing' ? [] : [rowOf(of, '401', { run: call, as: 'stranger' })]),
    ...(needs === 'right' ? [rowOf(of, '403', { run: call, as: 'nobody' })] : []),
    ...(of.deprecated === true ? [rowOf(of, 'DEPRECATED_API_DISABLED', { run: call, as, releases: ['3.6'] })] : []),
    ...absentRows(of, absent),
    ...undecodable(of).map(([how, broken]) => rowOf(of, '400 text/plain', { run: broken }, how)),
    ...streamRefusals(of).map(([outcome, refusal]) => rowOf(of, outcome, refusal)),
    ...refusals,
  ];
}

export const rows: readonly Row[] = cases.flatMap(rowsOf).filter(({ releases }) => releases.length > 0);
