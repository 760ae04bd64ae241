/** Metrics of the process. `prom-client` adds the metrics of Node and of the operating system. */
import { counter, gauge } from './description.ts';

const stages = ['ledger', 'store', 'pipeline'] as const;
const booleanValues = ['true', 'false'] as const;

export const processSide = {
  buildInfo: gauge({
    name: 'build_info',
    help: 'Version and commit of this program; always 1.',
    use: 'Find the version that each process runs.',
    labels: {
      version: { words: 'the version of the package' },
      commit: {
        words: 'the git commit it was built from, with -modified when files differed; unknown if there is no commit',
      },
    },
  }),
  failures: counter({
    name: 'failures_total',
    help: 'Failures by stage. retryable="false": they need an operator or end the process.',
    use: 'Alert on retryable="false": every series exists from the start, so increase() sees the first failure.',
    labels: { stage: stages, retryable: booleanValues },
  }),
  errors: counter({
    name: 'errors_total',
    help: 'Failures by code.',
    use: 'The log has the remedy. A series appears with its first failure: alert on failures_total.',
    labels: {
      stage: stages,
      code: { words: 'the code of the error', first: ['UNEXPECTED'] },
      retryable: booleanValues,
    },
  }),
  retries: counter({
    name: 'retries_total',
    help: 'Failures that were retried.',
    use: 'One in five seconds for ten minutes: the cause is not temporary.',
    labels: { stage: stages },
  }),
  waits: gauge({
    name: 'wait_requests',
    help: 'Pending requests at /wait.',
    use: 'At the maximum, new ones get 503.',
  }),
  waitsMax: gauge({
    name: 'wait_requests_max',
    help: 'Maximum number of pending requests at /wait.',
    use: 'Compare with wait_requests.',
  }),
  changesClients: gauge({
    name: 'changes_clients',
    help: 'Clients connected to /changes.',
    use: 'At the maximum, new ones get 503.',
  }),
  changesClientsMax: gauge({
    name: 'changes_clients_max',
    help: 'Maximum number of clients of /changes.',
    use: 'Compare with changes_clients.',
  }),
  changesPages: counter({
    name: 'changes_pages_total',
    help: 'Pages of changes read from the database.',
    use: 'Grows with commits and distinct requests, not with the number of clients.',
  }),
  readerTokenLookupFailures: counter({
    name: 'reader_token_lookup_failures_total',
    help: 'Failed database reads of reader tokens.',
    use: 'Clients with a token get 503 meanwhile; the log has the first failure of several in a row.',
  }),
};
