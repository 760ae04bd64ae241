/**
 * The end of a look at interfaces that came later: what was gathered of their views, up to the very checkpoint of the
 * stream, becomes part of it in one transaction. Contracts are the stream's own; a view of another one is not taken.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { lockStream, maintain } from './maintenance.ts';
import { mapTemplates, removeRedacted } from './staged-rows.ts';
import { dropStaging, stagingSchema } from './staging.ts';

export interface ViewMerge {
  readonly interfaces: readonly string[];
  /** Contracts active at this offset, or begun after it, were gathered. */
  readonly completeFrom: number;
  readonly checkpoint: number;
  readonly epoch: number;
}

/**
 * To be called by the holder of the writer lock only; the epoch rises. Resolves to the number of views.
 * @throws IndexerError CHECKPOINT_MOVED (fenced) unless the stream is where the views end
 */
export function mergeViews(database: Database, merge: ViewMerge): Promise<number> {
  return maintain(database, async (client) => {
    const stream = await lockStream(client);
    if (stream?.checkpoint !== merge.checkpoint || stream.epoch !== merge.epoch) {
      throw new IndexerError('the stream moved while views were merged: another writer is at work', {
        code: 'CHECKPOINT_MOVED',
      });
    }
    const staged = escapeIdentifier(stagingSchema(database.schema, 'interfaces'));
    await mapTemplates(client, staged);
    await removeRedacted(client, staged);
    const views = await copyViews(client, staged);
    await client.query(
      'update filter_interfaces set complete_from = $2, noted_at = now() where interface_id = any ($1)',
      [merge.interfaces, merge.completeFrom],
    );
    // Names that are new are read by the next session.
    await client.query('update stream set epoch = epoch + 1');
    await dropStaging(client, database.schema, 'interfaces');
    return views;
  });
}

/** @returns how many are new */
async function copyViews(client: ClientBase, staged: string): Promise<number> {
  const { rowCount } = await client.query(
    `insert into interface_views ("offset", node_id, interface_pk, status_code, view, status_message, status_details,
                                  implementation_package_id, redaction_id)
     select v."offset", v.node_id, i.ours, v.status_code, v.view, v.status_message, v.status_details,
            v.implementation_package_id, v.redaction_id
       from ${staged}.interface_views v
       join ${staged}.template_map i on i.staged = v.interface_pk
       join ${staged}.contracts s on s."offset" = v."offset" and s.node_id = v.node_id
       join contracts c on c."offset" = v."offset" and c.node_id = v.node_id and c.contract_id = s.contract_id
     on conflict do nothing`,
  );
  return rowCount ?? 0;
}
