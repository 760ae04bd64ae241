/** Tables of webhooks, reader tokens and reads for users of the participant. */
import type { TableEntry } from './entry.ts';

export const readerTables = {
  // The writer stores the last delivered position of each webhook.
  webhooks: {
    survivesReset: true,
    nodes: 'coordinator',
    writer: { update: 'state, cursor_offset, cursor_node, missed, problem, problem_at, moved_at' },
    limited: 'none',
    carried: 'wholly',
  },
  // Its rows contain URLs and secrets.
  webhook_secrets: { survivesReset: true, nodes: 'coordinator', limited: 'no policy', carried: 'wholly' },
  webhook_dead_letters: {
    nodes: 'coordinator',
    writer: { insert: true, update: 'attempts, problem, replay, failed_at', delete: true },
    limited: 'none',
    carried: 'wholly',
  },
  reader_tokens: { survivesReset: true, nodes: 'coordinator', limited: 'no policy', carried: 'wholly' },
  // Its rows name the parties of users.
  node_sessions: {
    survivesReset: true,
    nodes: 'coordinator',
    writer: { insert: true, delete: true },
    limited: 'no policy',
  },
} as const satisfies Readonly<Record<string, TableEntry>>;
