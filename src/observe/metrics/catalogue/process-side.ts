/** Is the process healthy? Beside these, `prom-client` adds those of Node and of the process. */
import { counter, gauge } from './description.ts';

const stages = ['ledger', 'store', 'pipeline'] as const;
const answers = ['true', 'false'] as const;

export const processSide = {
  buildInfo: gauge({
    name: 'build_info',
    help: 'Version and commit of this program; always 1.',
    use: 'Which version runs where.',
    labels: {
      version: { words: 'the version of the package' },
      commit: { words: 'the git commit it was built from, with -modified when files differed; else unknown' },
    },
  }),
  failures: counter({
    name: 'failures_total',
    help: 'Failures by stage; not retryable are those that need an operator or end the process.',
    use: 'Alert on retryable="false": every series is there from the start, so increase() sees the first failure.',
    labels: { stage: stages, retryable: answers },
  }),
  errors: counter({
    name: 'errors_total',
    help: 'Failures by code.',
    use: 'Look up the code in the log, which has the remedy. A series appears with its first failure: alert on failures_total.',
    labels: { stage: stages, code: { words: 'the code of the error', first: ['UNEXPECTED'] }, retryable: answers },
  }),
  retries: counter({
    name: 'retries_total',
    help: 'Failures after which another attempt was planned.',
    use: 'One in five seconds for ten minutes: something does not pass by itself.',
    labels: { stage: stages },
  }),
  waits: gauge({
    name: 'wait_requests',
    help: 'Requests at /wait that have no answer yet.',
    use: 'Near the maximum new ones are refused with 503.',
  }),
  waitsMax: gauge({
    name: 'wait_requests_max',
    help: 'How many requests may wait at /wait.',
    use: 'Compare wait_requests with it.',
  }),
  changesClients: gauge({
    name: 'changes_clients',
    help: 'Clients that listen at /changes.',
    use: 'Near the maximum new ones are refused with 503.',
  }),
  changesClientsMax: gauge({
    name: 'changes_clients_max',
    help: 'How many clients may listen at /changes.',
    use: 'Compare changes_clients with it.',
  }),
  changesPages: counter({
    name: 'changes_pages_total',
    help: 'Pages of changes read from the database for those who listen.',
    use: 'Grows with commits and with different questions, not with how many listen.',
  }),
  readerTokenLookupFailures: counter({
    name: 'reader_token_lookup_failures_total',
    help: 'Failed database reads of reader tokens.',
    use: 'Clients with a token get 503 meanwhile; the log has the first failure of several in a row.',
  }),
};
