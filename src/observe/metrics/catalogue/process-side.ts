/** Metrics of the process. `prom-client` adds the metrics of Node and of the operating system. */
import { counter, gauge, histogram, type LabelValues } from './description.ts';

const stages = ['ledger', 'store', 'pipeline'] as const;
const booleanValues = ['true', 'false'] as const;

const apiRoute: LabelValues = {
  words: 'the name of the route (`operationId` in /api/openapi.json), or other',
  first: ['other'],
};

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
  apiRequests: counter({
    name: 'api_requests_total',
    help: 'Requests to /api, by route and status.',
    use: '503: reads reach the time limit, or the database cannot be read.',
    labels: { route: apiRoute, status: { words: 'the HTTP status', first: ['200'] } },
  }),
  apiSeconds: histogram({
    name: 'api_request_seconds',
    help: 'Time of requests to /api, with the wait for an offset and for a connection.',
    use: 'Growing on all routes: more requests arrive than the connections of /api can answer.',
    labels: { route: apiRoute },
  }),
  readerTokenLookupFailures: counter({
    name: 'reader_token_lookup_failures_total',
    help: 'Failed database reads of reader tokens.',
    use: 'Clients with a token get 503 meanwhile; the log has the first failure of several in a row.',
  }),
};
