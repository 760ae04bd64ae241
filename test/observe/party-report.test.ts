/** Parties of the filter that the participant does not know are logged once, and listed until they are known. */
import { expect, it } from 'vitest';
import { reportUnknownParties } from '../../src/observe/log/party-report.ts';
import { waitFor } from '../support/wait-for.ts';

const [alice, bob] = ['alice::1220aa', 'bob::1220bb'];

it('the party report lists unknown parties until they are known, and logs each party once', async () => {
  const knownParties = new Set([alice]);
  let requests = 0;
  const unknownOf = (parties: readonly string[]) => {
    requests += 1;
    // The participant is briefly unreachable.
    if (requests === 2) return Promise.reject(new Error('away'));
    const unknown = parties.filter((party) => !knownParties.has(party));
    return Promise.resolve(unknown.map((party) => ({ party, sentence: `no party ${party}` })));
  };
  const jobs = { partiesUnknown: [] as readonly string[] };
  const lines: unknown[] = [];
  const logger = { warn: (line: unknown) => lines.push(line), debug: () => undefined };
  const stop = new AbortController();
  const watched = reportUnknownParties({
    parties: [alice, bob],
    unknownOf,
    jobs,
    logger,
    stop: stop.signal,
    everyMs: 5,
  });
  await waitFor('it has requested them again', () => (requests > 2 ? true : undefined));
  expect(jobs.partiesUnknown).toEqual([bob]);
  knownParties.add(bob);
  await watched;
  expect(jobs.partiesUnknown).toEqual([]);
  expect(lines).toEqual([`no party ${bob}: correct LEDGER_PARTIES, unless it will exist later`]);
});
