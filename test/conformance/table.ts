/** The complete conformance table: every case as rows, with the rejections that all operations share. */
import { expect } from 'vitest';
import { isFrom, releases as all, type Release } from '../../packages/ledger-sandbox/src/wire/release.ts';
import type { StreamPath } from '../../src/ledger/transport/frame-stream.ts';
import { expectedOf, type OutcomeName } from './outcomes.ts';
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
  const requestBody = Buffer.from(body === 'json' ? '{' : '');
  const brokenCall: Call = ({ client }) => client.transport.requestText(method, pathOf(operation), requestBody);
  const invalidRequest = (name: string): Call => {
    const content = body === 'bytes' ? Buffer.from('PK') : body === 'json' ? {} : undefined;
    return ({ client }) => client.transport.requestText(method, pathOf(operation), content, { [name]: 'maybe' });
  };
  const queries = badQuery.map((name) => [`query parameter ${name}`, invalidRequest(name)] as const);
  return body === undefined ? queries : [[`body of ${body}`, brokenCall], ...queries];
}

/** Outcomes that end any running stream. */
const streamEnds: readonly OutcomeName[] = [
  'ACCESS_TOKEN_EXPIRED',
  'STALE_STREAM_AUTHORIZATION',
  'SERVICE_NOT_RUNNING',
];

function streamRefusals({ operation, call }: Case): readonly (readonly [OutcomeName, Refusal])[] {
  if (!operation.startsWith('WS ')) return [];
  const path = pathOf(operation) as StreamPath;
  const streamEndCases = streamEnds.map((outcome) => {
    const fault = { streamFailure: { failure: outcome as 'ACCESS_TOKEN_EXPIRED', path, times: 1 } };
    return [outcome, { run: call, fault }] as const;
  });
  const undecoded: Call = ({ stream }) => stream(path, [1]);
  return [['LEDGER_API_INTERNAL_ERROR', { run: undecoded }], ...streamEndCases];
}

function rowOf(apiCase: Case, outcome: Row['outcome'], refusal: Refusal, variantName = ''): Row {
  const { operation, as: user = 'reader', releases = all, readOnly = false } = apiCase;
  const success = outcome.startsWith('success');
  return {
    operation,
    outcome,
    how: variantName,
    as: refusal.as ?? user,
    releases: refusal.releases ?? (success ? releases : releases.filter((release) => release === '3.5')),
    readOnly: readOnly && refusal.fault === undefined && refusal.inSandbox !== true,
    fault: refusal.fault,
    call: refusal.run,
    check: (result, world) => {
      if (outcome === 'success') apiCase.check?.(result, world);
      else if (!success && expectedOf(outcome as OutcomeName).code === undefined) expect(result).toBeUndefined();
    },
  };
}

/**
 * The client refuses operations that a release has removed. This does not apply to streams, which only this suite
 * opens.
 */
function absentRows(apiCase: Case, missingReleases: readonly Release[]): readonly Row[] {
  const { call, as: user = 'reader', operation, deprecated = false } = apiCase;
  if (missingReleases.length === 0) return [];
  const outcome = deprecated && !operation.startsWith('WS ') ? 'removed' : '404 unknown path';
  const removedReleases =
    outcome === 'removed' ? missingReleases.filter((release) => isFrom(release, '3.7')) : missingReleases;
  const earlierReleases = missingReleases.filter((release) => !removedReleases.includes(release));
  return [
    rowOf(apiCase, outcome, { run: call, as: user, releases: removedReleases }),
    ...(earlierReleases.length === 0
      ? []
      : [rowOf(apiCase, '404 unknown path', { run: call, as: user, releases: earlierReleases })]),
  ];
}

function rowsOf(apiCase: Case): readonly Row[] {
  const {
    call,
    needs: credential = 'right',
    refused: refusedCases = {},
    also: extraCalls = {},
    as: user = 'reader',
  } = apiCase;
  // Release 3.6 rejects a deprecated operation before it checks anything.
  const disabled = (release: Release): boolean => apiCase.deprecated === true && release === '3.6';
  const missingReleases = all.filter((release) => apiCase.releases?.includes(release) === false && !disabled(release));
  const refusals = Object.entries(refusedCases).map(([outcome, spec]) => {
    const refusal = typeof spec === 'function' ? { run: spec } : spec;
    return rowOf(apiCase, outcome as OutcomeName, refusal);
  });
  return [
    rowOf(apiCase, 'success', { run: call }),
    ...Object.entries(extraCalls).map(([name, spec]) => {
      const variant = typeof spec === 'function' ? { run: spec } : spec;
      return rowOf(apiCase, `success (${name})`, { ...variant, inSandbox: true });
    }),
    ...(credential === 'nothing' ? [] : [rowOf(apiCase, '401', { run: call, as: 'stranger' })]),
    ...(credential === 'right' ? [rowOf(apiCase, '403', { run: call, as: 'nobody' })] : []),
    ...(apiCase.deprecated === true
      ? [rowOf(apiCase, 'DEPRECATED_API_DISABLED', { run: call, as: user, releases: ['3.6'] })]
      : []),
    ...absentRows(apiCase, missingReleases),
    ...undecodable(apiCase).map(([variant, brokenCall]) =>
      rowOf(apiCase, '400 text/plain', { run: brokenCall }, variant),
    ),
    ...streamRefusals(apiCase).map(([outcome, refusal]) => rowOf(apiCase, outcome, refusal)),
    ...refusals,
  ];
}

export const rows: readonly Row[] = cases.flatMap(rowsOf).filter(({ releases }) => releases.length > 0);
