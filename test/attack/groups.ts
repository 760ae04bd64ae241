/** All groups of attempts, in the order in which they run. */
import type { Group } from './attempt.ts';
import { changesMaxClients, changesUnread } from './groups/changes-streams.ts';
import { commandLine } from './groups/command-line.ts';
import { consoleQuestions } from './groups/console-questions.ts';
import { files } from './groups/files.ts';
import { hostileLedger } from './groups/hostile-ledger.ts';
import { httpFloods } from './groups/http-floods.ts';
import { httpRequests } from './groups/http-requests.ts';
import { secretFiles } from './groups/secret-files.ts';
import { sharedResources } from './groups/shared-resources.ts';
import { sqlLimited, sqlLimitedSweeps } from './groups/sql-limited.ts';
import { sqlReader, sqlRedactor, sqlWriter } from './groups/sql-roles.ts';
import { tokenExpiry, tokens } from './groups/tokens.ts';
import { webhooks } from './groups/webhooks.ts';

export const groups: readonly Group[] = [
  httpRequests,
  consoleQuestions,
  changesMaxClients,
  tokens,
  sqlLimited,
  sqlReader,
  sqlWriter,
  sqlRedactor,
  sqlLimitedSweeps,
  tokenExpiry,
  httpFloods,
  changesUnread,
  sharedResources,
  commandLine,
  secretFiles,
  files,
  webhooks,
  hostileLedger,
];
